package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
)

// splice makes n seconds of a steady run in which from to to (in seconds) something is wrong: each I/O takes slow
// times as long, and only the share rest of them is done.
func splice(rng *rand.Rand, dev *device, n int, from, to, slow, rest float64) *timeline {
	tl := newTimeline(dev.geometry, 0, second)
	for i, h := range dev.resample(rng, n, 5) {
		bad := max(min(to, float64(i+1))-max(from, float64(i)), 0)
		out := new(fiohist.Hist)
		h.Each(func(b int, w float64) {
			out.Add(b, w*(1-bad))
			if bad > 0 && rest > 0 {
				out.Add(dev.geometry.Index(int64(dev.geometry.Middle(b)*slow)), w*bad*rest)
			}
		})
		tl.Add(int64(i)*second, []leaf{{Direction: "read", Hist: out}})
	}
	return tl
}

func TestIncidents(t *testing.T) {
	testkit.NotRaced(t)
	dev := together(readPeers(t))
	for _, c := range []struct {
		name       string
		slow, rest float64
		least      int // of 100
	}{
		{"stall", 1, 0, 95},
		{"all slower by half", 1.5, 1, 85},
		{"a third of the I/Os missing", 1, 2.0 / 3, 95},
		{"twice as slow, half of the I/Os", 2, 0.5, 95},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, right := draws(t, 8), 0
			for seed := range n {
				rng := rand.New(rand.NewPCG(uint64(seed), 3))
				from := 60 + rng.Float64()*400
				to := from + 1 + rng.Float64()*59
				tl := splice(rng, &dev, 600, from, to, c.slow, c.rest)
				found := ""
				ok := false
				for _, s := range tl.Segments(nil) {
					if s.Kind == Incident {
						found += fmt.Sprintf(" %d-%d (%s)", s.FromMS, s.ToMS, s.Why)
						ok = math.Abs(float64(s.FromMS)/1000-from) <= 1 && math.Abs(float64(s.ToMS)/1000-to) <= 1
					}
				}
				if ok {
					right++
				} else {
					t.Logf("run %d: %.1f to %.1f s: found%s", seed, from, to, found)
				}
			}
			t.Logf("%d of %d", right, n)
			if right*100 < c.least*n {
				t.Errorf("onset and end within a quantum in %d of %d", right, n)
			}
		})
	}
}

// TestStallOfShortRun: the I/Os per second are those that fio saw on a bindfs on a busy machine, which stood still from
// 9.1 to 14.4 s.
func TestStallOfShortRun(t *testing.T) {
	dev := together(readPeers(t))
	tl := newTimeline(dev.geometry, 0, second)
	for i, n := range []float64{117, 114, 178, 83, 110, 117, 98, 124, 154, 10, 0, 0, 0, 0, 77, 141, 173, 209, 147, 102,
		96, 86, 98, 114, 64, 84, 115, 97} {
		out := new(fiohist.Hist)
		whole := dev.seconds[i].Sum()
		dev.seconds[i].Each(func(b int, w float64) { out.Add(b, w*n/whole) })
		tl.Add(int64(i)*second, []leaf{{Direction: "read", Hist: out}})
	}
	var found []Segment
	for _, s := range tl.Segments(nil) {
		if s.Kind != Steady {
			found = append(found, s)
		}
	}
	if len(found) != 1 || found[0].Kind != Incident || math.Abs(float64(found[0].FromMS)-9100) > 1000 ||
		math.Abs(float64(found[0].ToMS)-14400) > 1000 {
		t.Errorf("%+v", found)
	}
}

func TestNoIncidents(t *testing.T) {
	testkit.NotRaced(t)
	dev := together(readPeers(t))
	rng := rand.New(rand.NewPCG(1, 4))
	n := min(draws(t, 10), 60)
	for _, s := range splice(rng, &dev, 600*n, 0, 0, 1, 1).Segments(nil) {
		if s.Kind != Steady {
			t.Errorf("%d steady minutes: %+v", 10*n, s)
		}
	}
	wrong := 0
	for range n {
		for _, s := range splice(rng, &dev, 600, 0, 0, 1, 1).Segments(nil) {
			if s.Kind != Steady {
				wrong++
				t.Logf("ten steady minutes: %+v", s)
			}
		}
	}
	if wrong > 1 {
		t.Errorf("%d false incidents in %d runs of ten minutes, want at most 1", wrong, n)
	}
}

func TestWarmUp(t *testing.T) {
	dev := together(readPeers(t))
	n, right := draws(t, 8), 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		end := 20 + rng.IntN(100)
		tl := newTimeline(dev.geometry, 0, second)
		for i, h := range dev.resample(rng, 600, 5) {
			// A fresh SSD writes three times as fast until its spare blocks are used up, and then falls off.
			fast := 1 + 2*min(max(float64(end-i)/10, 0), 1)
			out := new(fiohist.Hist)
			h.Each(func(b int, w float64) { out.Add(dev.geometry.Index(int64(dev.geometry.Middle(b)/fast)), w*fast) })
			tl.Add(int64(i)*second, []leaf{{Direction: "read", Hist: out}})
		}
		s := tl.Segments(nil)
		if s[0].Kind == WarmUp && math.Abs(float64(s[0].ToMS)/1000-float64(end)) <= 2 {
			right++
		} else {
			t.Logf("run %d: end %d: %+v", seed, end, s[0])
		}
	}
	t.Logf("%d of %d", right, n)
	if right*100 < 95*n {
		t.Errorf("end of the warm-up within 2 quanta in %d of %d", right, n)
	}
}
