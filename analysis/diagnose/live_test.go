package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fiolat/pipeline"
)

// said keeps what Live says, with the interval that it was said at.
type said struct {
	pipeline.Sink
	stragglers []pipeline.Straggler
	at         []int64
}

func (s *said) Begin(context.Context, *pipeline.Run) error { return nil }

func (s *said) Interval(_ context.Context, q *pipeline.Interval) error {
	for _, one := range q.Stragglers {
		s.stragglers, s.at = append(s.stragglers, one), append(s.at, q.Offset/second)
	}
	return nil
}

// follow passes the intervals of 20 hosts to a Live, as they come once a second. One host is slow twice, for 20 s from
// 30 and from 90 s on, or none is.
func follow(t *testing.T, seed uint64, n int, slow bool) (out said, bad string) {
	t.Helper()
	dev := simDevices[seed%2*2]
	run := draw(seed, &dev, nil, 20, n)
	if slow {
		f := simFault{to: 1, factor: 2}
		faulty := draw(seed, &dev, &f, 20, n)
		bad = faulty.bad[0]
		for i, q := range faulty.intervals {
			if i >= 30 && i < 50 || i >= 90 && i < 110 {
				at := slices.Index(faulty.hosts, bad)
				run.intervals[i].Leaves[at] = q.Leaves[at]
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		live := NewLive(&out)
		begin := time.Now()
		run.run.Live, run.run.Start = true, begin.UnixNano()
		if err := live.Begin(t.Context(), run.run); err != nil {
			t.Fatal(err)
		}
		for _, q := range run.intervals {
			time.Sleep(time.Second)
			q.Offset = int64(time.Since(begin)) - second
			if err := live.Interval(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	})
	return out, bad
}

// TestLive: the slow host is named twice, and its ends, within an interval, and said within six.
func TestLive(t *testing.T) {
	n, right := draws(t, 2), 0
	for seed := range n {
		got, bad := follow(t, uint64(seed), 140, true)
		ok := len(got.stragglers) == 4
		for k, s := range got.stragglers {
			if !ok {
				break
			}
			want := []int64{30, 50, 90, 110}[k]
			ok = s.Who == bad && s.Dims.Host == bad && s.Ended == (k%2 == 1) && s.Start/second >= want-1 &&
				s.Start/second <= want+1 && got.at[k] >= want && got.at[k] <= want+6 &&
				s.End == (got.at[k]+1)*second && strings.Contains(strings.ToLower(s.Text), "host "+bad)
		}
		if right += btoi(ok); !ok {
			t.Logf("run %d, %s: %+v at %v", seed, bad, got.stragglers, got.at)
		}
	}
	t.Logf("%d of %d", right, n)
	if right*100 < 90*n {
		t.Errorf("begin and end within a quantum, and said within six, in %d of %d runs", right, n)
	}
}

// TestLiveNobody: nothing is wrong.
func TestLiveNobody(t *testing.T) {
	n, wrong := draws(t, 1), 0
	for seed := range n {
		got, _ := follow(t, uint64(seed)+1000, 300, false)
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
	run := draw(1, &simDevices[0], nil, 2, 3)
	b := newBoard(run.run.Geometry, 0, second)
	for i := range 3 * int64(lookback) {
		leaves := leavesOf(nil, run.intervals[i%3])
		b.add(i*second, leaves, new(pools).collect(leaves), nil)
		for b.intervals > lookback {
			b.forget()
		}
	}
	g := b.groups[0]
	if len(g.blocks) != lookback || len(b.pooled["read"]) != lookback || b.first != 2*int64(lookback)*second ||
		b.fold != 1 {
		t.Errorf("%d blocks from %d s, %d quanta each", len(g.blocks), b.first/second, b.fold)
	}
	b.except(&standing{group: g, member: 1, since: b.first, until: b.first + 3*second})
	gone := func(block []member) bool { return block[1] == member{} }
	if !gone(g.blocks[2]) || slices.ContainsFunc(g.blocks[3:], gone) {
		t.Error("not the first three quanta were left out")
	}
}

// BenchmarkLive is one interval of a run of many hosts, after as many intervals as are looked back.
func BenchmarkLive(b *testing.B) {
	for _, hosts := range []int{20, 100} {
		b.Run(fmt.Sprintf("%d hosts", hosts), func(b *testing.B) {
			run := draw(1, &simDevices[0], nil, hosts, 32)
			run.run.Live = true
			live, n := NewLive(new(said)), int64(0)
			if err := live.Begin(b.Context(), run.run); err != nil {
				b.Fatal(err)
			}
			step := func() {
				q := *run.intervals[n%32]
				q.Offset = n * second
				if err := live.Interval(b.Context(), &q); err != nil {
					b.Fatal(err)
				}
				n++
			}
			for n < lookback {
				step()
			}
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e7, "%-of-a-core")
		})
	}
}
