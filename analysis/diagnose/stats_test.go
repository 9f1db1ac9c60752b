package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNth compares with sorting.
func TestNth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		v := make([]float64, 1+rng.IntN(40))
		for i := range v {
			v[i] = float64(rng.IntN(1 + rng.IntN(50)))
		}
		sorted, k := slices.Sorted(slices.Values(v)), rng.IntN(len(v))
		if got := nth(slices.Clone(v), k); got != sorted[k] {
			t.Fatalf("%d of %v: %v, want %v", k, v, got, sorted[k])
		}
		want := (sorted[(len(v)-1)/2] + sorted[len(v)/2]) / 2
		if got := median(v); got != want {
			t.Fatalf("median of %v: %v, want %v", sorted, got, want)
		}
	}
}

// TestApart: 150 I/Os per second for a third of the time, otherwise 400, as steady as a limited rate.
func TestApart(t *testing.T) {
	x := slices.Repeat([]float64{-math.Log(400)}, 60)
	for at := 20; at < 40; at++ {
		x[at] = -math.Log(150)
	}
	if w, p, _ := apart(x, scan(60, 1), iops); w != (window{20, 40}) || p > 1e-9 {
		t.Errorf("%v by a chance of %g", w, p)
	}
}
