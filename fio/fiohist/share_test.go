package fiohist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShares: whatever the cuts, shares are whole parts that add up to all, in any order.
func TestShares(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 20))
	for range 200 {
		var c Sparse
		for b := range uint16(1 + r.IntN(300)) {
			c.Add(3*b, float64(1+r.IntN(1<<r.IntN(32))))
		}
		cuts := []float64{0, 1}
		for range r.IntN(20) {
			cuts = append(cuts, r.Float64()*math.Pow(10, -float64(r.IntN(12))))
		}
		slices.Sort(cuts)
		var parts []Sparse
		for k, upTo := range cuts[1:] {
			var part Sparse
			part.Share(&c, cuts[k], upTo)
			parts = append(parts, part)
		}
		var rest, one Sparse
		c.Split(&rest, &one)
		if one.Sum() != 1 {
			t.Fatalf("one I/O is shared out as %v", one.Sum())
		}
		for _, shares := range [][]Sparse{parts, {rest, one}} {
			r.Shuffle(len(shares), func(i, k int) { shares[i], shares[k] = shares[k], shares[i] })
			var sum Hist
			for _, part := range shares {
				for _, n := range part.Count {
					if n <= 0 || n*Parts != math.Floor(n*Parts) {
						t.Fatalf("a share of %v I/Os", n)
					}
				}
				sum.AddAll(part.Index, part.Count, 0)
			}
			var got Sparse
			if got.Set(&sum); !slices.Equal(got.Index, c.Index) || !slices.Equal(got.Count, c.Count) {
				t.Fatalf("shares %v of %v add up to %v", shares, c, got)
			}
		}
	}
}
