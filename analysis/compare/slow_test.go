package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRatioLimits: exact limits of a ratio of counts, and how often they cover it.
func TestRatioLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b, low, high, p float64 }{
		"none to eight":   {0, 8, 1.71, math.Inf(1), 0.0078},
		"eight to none":   {8, 0, 0, 0.585, 0.0078},
		"two to thirteen": {2, 13, 1.47, 59.3, 0.0074},
		"the same":        {5, 5, 0.23, 4.35, 1},
		"many":            {5000, 6000, 1.155, 1.247, 0},
	} {
		low, high, p := ratioLimits(c.a, c.b, 60, 60)
		got := [2]float64{0, math.Inf(1)}
		if low != nil {
			got[0] = *low
		}
		if high != nil {
			got[1] = *high
		}
		for i, want := range []float64{c.low, c.high} {
			if got[i] != want && math.Abs(got[i]/want-1) > 0.01 {
				t.Errorf("%s: limits %v, want %g and %g", name, got, c.low, c.high)
				break
			}
		}
		if math.Abs(p-c.p) > 0.0002 {
			t.Errorf("%s: p %g, want %g", name, p, c.p)
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	poisson := func(mean float64) (n float64) {
		for left := rng.ExpFloat64(); left < mean; left += rng.ExpFloat64() {
			n++
		}
		return n
	}
	missed := 0
	for range 2000 { // twice the rate in a third of the time
		low, high, _ := ratioLimits(poisson(12), poisson(8), 60, 20)
		if low != nil && *low > 2 || high != nil && *high < 2 {
			missed++
		}
	}
	if missed > 120 {
		t.Errorf("the limits miss the ratio in %d of 2000", missed)
	}
}

// TestScatter: repeats that differ more than independent I/Os do.
func TestScatter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts []float64
		want   bool
	}{
		"alike":     {[]float64{4, 6, 5}, false},
		"scattered": {[]float64{0, 0, 30}, true},
		"two runs":  {[]float64{0, 30}, false},
		"none":      {[]float64{0, 0, 0}, false},
	} {
		seconds := make([]float64, len(c.counts))
		for i := range seconds {
			seconds[i] = 60
		}
		if got := scatter(c.counts, seconds); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
