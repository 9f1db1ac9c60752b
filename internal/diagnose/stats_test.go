package diagnose

import (
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
