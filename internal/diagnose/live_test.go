package diagnose

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// said keeps what Live says, with the quantum that it was said at.
type said struct {
	pipeline.Sink
	stragglers []pipeline.Straggler
	at         []int64
}

func (s *said) Begin(context.Context, *pipeline.Run) error { return nil }

func (s *said) Quantum(_ context.Context, q *pipeline.Quantum) error {
	for _, one := range q.Stragglers {
		s.stragglers, s.at = append(s.stragglers, one), append(s.at, q.Offset/second)
	}
	return nil
}

// follow passes quanta of 20 hosts to a Live, as they come once a second; faults says what host bad has in quantum i.
func follow(t *testing.T, seed uint64, n int, bad int, faults func(i int) fault) (out said) {
	t.Helper()
	dev := readDevice(t, "../../testdata/fio/randrw/*.log")
	rng := rand.New(rand.NewPCG(seed, 9))
	hists := dev.resample(rng, n, 5)
	synctest.Test(t, func(t *testing.T) {
		live := NewLive(&out)
		begin := time.Now()
		run := &pipeline.Run{Geometry: dev.geometry, Interval: second, Live: true, Start: begin.UnixNano()}
		if err := live.Begin(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		for i, h := range hists {
			time.Sleep(time.Second)
			q := &pipeline.Quantum{Offset: int64(time.Since(begin)) - second, Rows: make([]pipeline.Row, 1)}
			for _, l := range shareOut(rng, dev.geometry, h, 20, 500, bad, faults(i)) {
				q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Host: l.By[0], Direction: l.Direction},
					Hist: l.Hist, Limits: fiohist.Limits{}})
			}
			if err := live.Quantum(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	})
	return out
}

// TestLive: a host that is slow twice, from 30 to 50 s and from 90 to 110 s.
func TestLive(t *testing.T) {
	n, right := draws(t, 3), 0
	for seed := range n {
		bad := seed % 20
		got := follow(t, uint64(seed), 140, bad, func(i int) fault {
			if i >= 30 && i < 50 || i >= 90 && i < 110 {
				return all(1.3)
			}
			return nil
		})
		ok := len(got.stragglers) == 4
		for k, s := range got.stragglers {
			if !ok {
				break
			}
			want := []int64{30, 50, 90, 110}[k]
			ok = s.Value == fmt.Sprintf("host%02d", bad) && s.Dims.Host == s.Value && s.Ended == (k%2 == 1) &&
				s.Start/second >= want-1 && s.Start/second <= want+1 && got.at[k] >= want && got.at[k] <= want+5 &&
				s.End == (got.at[k]+1)*second && strings.Contains(s.Text, "host "+s.Value)
		}
		if ok {
			right++
		} else {
			t.Logf("run %d, %d: %+v at %v", seed, bad, got.stragglers, got.at)
		}
	}
	t.Logf("%d of %d", right, n)
	if right*100 < 95*n {
		t.Errorf("begin and end within a quantum, and said within five, in %d of %d runs", right, n)
	}
}

// TestLiveNobody: nothing is wrong.
func TestLiveNobody(t *testing.T) {
	n, wrong := draws(t, 1), 0
	for seed := range n {
		got := follow(t, uint64(seed)+1000, max(6*n, 100), -1, func(int) fault { return nil })
		if len(got.stragglers) > 0 {
			wrong++
			t.Logf("run %d: %+v at %v", seed, got.stragglers, got.at)
		}
	}
	if wrong*100 > 5*n && wrong > 0 {
		t.Errorf("somebody named in %d of %d runs", wrong, n)
	}
}

// TestLiveForgets: memory does not grow with the run.
func TestLiveForgets(t *testing.T) {
	dev := together(readPeers(t))
	p := newPeers(dev.geometry, 0, second)
	for i := range 3 * int64(lookback) {
		p.Add(i*second, []leaf{{Direction: "read", By: [3]string{"a"}, Hist: dev.seconds[0]},
			{Direction: "read", By: [3]string{"b"}, Hist: dev.seconds[1]}})
		for p.quanta > lookback {
			p.forget()
		}
	}
	if len(p.groups[0].blocks) != lookback || p.first != 2*int64(lookback)*second || p.fold != 1 {
		t.Errorf("%d blocks from %d s, %d quanta each", len(p.groups[0].blocks), p.first/second, p.fold)
	}
	s := Straggler{Dimension: "host", Value: "b", Direction: "read", since: p.first, until: p.first + 3*second}
	p.except(&s)
	gone := func(b block) bool { return b.members[1] == member{} }
	if !gone(p.groups[0].blocks[2]) || slices.ContainsFunc(p.groups[0].blocks[3:], gone) {
		t.Error("not the first three quanta were left out")
	}
}
