package picture

import (
	"fmt"
	"math"
	"testing"
)

// TestAround: an axis holds all values with as much air above as below, and has at least three round ticks within.
func TestAround(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{{1000}, {1000, 1010}, {300, 7e4}, {90, 4e9}, {2e6, 3e6, 1e6}} {
		a := Around(values, func(v float64) string { return fmt.Sprintf("%g", v) })
		lo, hi := math.Inf(1), 0.0
		for _, v := range values {
			lo, hi = min(lo, v), max(hi, v)
		}
		below, above := lo/a.Min, a.Max/hi
		if !a.Log || below < 1.05 || math.Abs(above/below-1) > 1e-9 || above > 3 {
			t.Errorf("%v: from %g to %g", values, a.Min, a.Max)
		}
		if len(a.Ticks) < 3 {
			t.Errorf("%v: ticks %v", values, a.Ticks)
		}
		for _, tick := range a.Ticks {
			if tick.At < a.Min*0.99 || tick.At > a.Max*1.01 || tick.Text != fmt.Sprintf("%g", tick.At) {
				t.Errorf("%v: tick %v of an axis from %g to %g", values, tick, a.Min, a.Max)
			}
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		axis     Axis
		at, want float64
	}{
		{Axis{Min: 10, Max: 20}, 10, 0},
		{Axis{Min: 10, Max: 20}, 15, 0.5},
		{Axis{Min: 10, Max: 20}, 20, 1},
		{Axis{Min: 10, Max: 20}, 25, 1},
		{Axis{Min: 10, Max: 20}, 0, 0},
		{Axis{Min: 1e3, Max: 1e9, Log: true}, 1e6, 0.5},
		{Axis{Min: 1e3, Max: 1e9, Log: true}, 0, 0},
	} {
		if got := tc.axis.share(tc.at); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%g on %+v: %g, want %g", tc.at, tc.axis, got, tc.want)
		}
	}
}
