package fiohist

import (
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/internal/testkit"
)

// slowRound is what Rounder does, over all ways there are: cost[i][n] is the smallest sum
// of squares of the errors below the edges up to bucket i with n of the buckets that may be
// rounded up.
func slowRound(rests map[int]float64, h *Hist, columns int) []int64 {
	value := make([]float64, columns)
	for i := range value {
		value[i] = rests[i] + h.Count(i)
		if near := math.Round(value[i]); math.Abs(value[i]-near) < 1e-6 {
			value[i] = near
		}
	}
	counts, cost, sum := make([]int64, columns), map[int]float64{0: 0}, 0.0
	up := make([]map[int]bool, columns)
	for i, v := range value {
		up[i] = map[int]bool{}
		if h.Count(i) == 0 && rests[i] == 0 {
			continue
		}
		counts[i] = int64(math.Max(math.Floor(v), 0))
		sum += v - float64(counts[i])
		next := map[int]float64{}
		for n := range columns {
			least := math.Inf(1)
			if c, ok := cost[n]; ok {
				least = c
			}
			if c, ok := cost[n-1]; ok && v > float64(counts[i]) && c < least {
				least, up[i][n] = c, true
			}
			if math.IsInf(least, 1) && n > len(cost) {
				break
			}
			if miss := sum - float64(n); !math.IsInf(least, 1) {
				next[n] = least + float64(miss*miss)
			}
		}
		cost = next
	}
	best := -1
	for n := range columns {
		if c, ok := cost[n]; ok && (best < 0 || c < cost[best]) {
			best = n
		}
	}
	for i := columns - 1; i >= 0; i-- {
		if up[i][best] {
			counts[i]++
			best--
		}
		rests[i] = value[i] - float64(counts[i])
	}
	return counts
}

// Over all histograms of a series, each bucket is its exact sum rounded down or up, and what
// is left to choose is chosen as well as can be.
func TestRounderEqualsItsSlowTwin(t *testing.T) {
	testkit.NotRaced(t)
	r := rand.New(rand.NewPCG(5, 9))
	shares := []float64{0.1, 0.25, 0.5, 1.0 / 3, 1, 1e-9, 7.3}
	for _, tt := range []struct {
		name    string
		buckets int
		weight  func() float64
	}{
		{"shares of I/Os", 60, func() float64 { return shares[r.IntN(len(shares))] }},
		{"anything", 60, r.Float64},
		{"few", 5, func() float64 { return r.Float64() * 0.2 }},
		{"whole", 20, func() float64 { return float64(r.IntN(4)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fast Rounder
			var left Remainder
			rests, sum, given := map[int]float64{}, make([]float64, 100), make([]int64, 100)
			for q := range 200 {
				h := new(Hist)
				for range tt.buckets {
					h.Add(r.IntN(100), tt.weight())
				}
				index, weight := h.Sparse(nil, nil)
				fast.Round(index, weight, &left)
				want := slowRound(rests, h, 100)
				for k, i := range fast.Index {
					given[i] += fast.Counts[k]
					if fast.Counts[k] != want[i] {
						t.Fatalf("quantum %d, bucket %d: %d, want %d", q, i, fast.Counts[k], want[i])
					}
					want[i] = 0
				}
				for i, n := range want {
					if n != 0 {
						t.Fatalf("quantum %d, bucket %d: none, want %d", q, i, n)
					}
					sum[i] += h.Count(i)
					if miss := math.Abs(float64(given[i]) - sum[i]); miss > 1+1e-6 {
						t.Fatalf("quantum %d, bucket %d: %d of %v", q, i, given[i], sum[i])
					}
				}
			}
		})
	}
}
