package fiohist

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTail compares each part of a histogram with what is left when all others are added up.
func TestTail(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 1))
	var tail Tail
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for n := range 400 {
		g := Geometry{Groups: GroupsV3, Coarseness: n % (MaxCoarseness + 1), Unit: 1}
		parts := make([]*Hist, 1+r.IntN(6))
		var all Hist
		for i := range parts {
			parts[i] = new(Hist)
			for range r.IntN(40) {
				w := float64(1 + r.IntN(1000))
				if n%2 == 0 {
					w *= r.Float64()
				}
				bucket := r.IntN(g.Columns())
				if n%3 == 0 { // most of it in few buckets, as real latencies are
					bucket = min(bucket, r.IntN(g.Columns()), r.IntN(g.Columns()))
				}
				parts[i].Add(bucket, w)
			}
			if n%5 == 0 {
				parts[i] = parts[i].Pack()
			}
			all.AddHist(parts[i])
		}
		p := []float64{50, 90, 99, 99.9}[r.IntN(4)]
		tail.Read(&all, g, p)
		stats := all.Stats(g, []float64{p}, Limits{})
		if stats.Empty() {
			continue
		}
		edge := stats.Percentiles[0] // in the percentile's bucket, or its upper edge
		for i, part := range parts {
			var ranks Ranks
			ranks.Read(part, g)
			got := tail.Part(&ranks, Limits{Max: 1 << 30, Known: n%7 == 0})
			if part.Sum() == 0 {
				if got != nil {
					t.Errorf("%d: %+v of a part without I/O", n, got)
				}
				continue
			}
			var others Hist
			for k, o := range parts {
				if k != i {
					others.AddHist(o)
				}
			}
			without := -1.0
			if s := others.Stats(g, []float64{p}, Limits{Max: 1 << 30, Known: n%7 == 0}); !s.Empty() {
				without = s.Percentiles[0]
			}
			above := func(h *Hist) (sum float64) {
				for b := range g.Columns() {
					if float64(g.Lower(b)) >= edge && b != g.Last() || b == g.Last() && float64(g.Lower(b)) > edge {
						sum += h.Count(b)
					}
				}
				return sum
			}
			share := -1.0
			if above(&all) > 0 {
				share = above(part) / above(&all)
			}
			if !near(got.Share, share) || !near(got.Expected, part.Sum()/all.Sum()) || !near(got.Without, without) {
				t.Fatalf("%d: part %d of %d, p%g of %v: %+v; want share %v, expected %v, without %v", n, i, len(parts),
					p, g, *got, share, part.Sum()/all.Sum(), without)
			}
		}
	}
}
