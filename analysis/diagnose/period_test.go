package diagnose

import (
	"math"
	"slices"
	"testing"
)

// TestPeriodOf: the period is that of the series, or of all together, that chance explains least.
func TestPeriodOf(t *testing.T) {
	t.Parallel()
	const length = 200
	high := func(at ...int) []float64 {
		x := make([]float64, length)
		for _, t := range at {
			x[t] = 3
		}
		return x
	}
	every := func(step, from, n int) (at []int) {
		for k := range n {
			at = append(at, from+k*step)
		}
		return at
	}
	for _, tt := range []struct {
		name           string
		series         [][]float64
		every          float64 // blocks; 0: none
		events, bursts int
	}{
		{"nothing", [][]float64{high(), high(), high()}, 0, 0, 0},
		{"one series", [][]float64{high(every(20, 7, 9)...), high(), high()}, 20, 9, 9},
		{"the second of three", [][]float64{high(), high(every(25, 3, 7)...), high()}, 25, 7, 7},
		{"too few in each, enough together", [][]float64{high(10, 50, 90), high(30, 70, 110), high()}, 20, 6, 6},
		{"more together than in the first", [][]float64{high(every(40, 0, 5)...), high(every(40, 20, 5)...),
			high()}, 20, 10, 10},
		{"others disturb it", [][]float64{high(every(20, 7, 9)...), high(33, 78, 154), high()}, 20, 9, 9},
	} {
		p := periodOf(tt.series)
		switch {
		case tt.every == 0:
			if p != nil {
				t.Errorf("%s: every %v blocks, want none", tt.name, p.every)
			}
		case p == nil:
			t.Errorf("%s: none, want every %v blocks", tt.name, tt.every)
		case math.Abs(p.every-tt.every) > 1e-9 || len(p.events) != tt.events || len(p.bursts) != tt.bursts:
			t.Errorf("%s: every %v blocks, %d events of %d bursts; want %v, %d of %d", tt.name, p.every, len(p.events),
				len(p.bursts), tt.every, tt.events, tt.bursts)
		}
	}
}

// TestBesides: a direction that is twice as slow in the bursts of another is told with the times of these, and the
// course is as if they had not been.
func TestBesides(t *testing.T) {
	t.Parallel()
	times := []window{{4, 8}, {15, 18}, {24, 29}}
	for _, tt := range []struct {
		name   string
		factor float64
		found  bool
	}{{"twice as slow", 2, true}, {"as ever", 1, false}, {"faster", 0.5, false}} {
		c := &course{window: window{0, 40}, means: make([]float64, 40)}
		n := make([]float64, 40)
		for q := range c.x {
			c.x[q] = make([]float64, 40)
		}
		for _, w := range times {
			for b := w.from; b < w.to; b++ {
				n[b] = 100
				c.means[b], c.x[p50][b] = math.Log(tt.factor), math.Log(tt.factor)
			}
		}
		h := c.besides("write", n)
		if (h != nil) != tt.found {
			t.Fatalf("%s: %+v", tt.name, h)
		}
		if h == nil {
			continue
		}
		if !slices.Equal(h.times, times) || h.measure != p50 || math.Abs(h.size-math.Log(2)) > 1e-9 {
			t.Errorf("%s: %v as slow at %v, want 2 at %v", tt.name, math.Exp(h.size), h.times, times)
		}
		if v := slices.Max(c.x[p50]); math.Abs(v) > 1e-9 {
			t.Errorf("%s: %v is left of it", tt.name, v)
		}
	}
}
