package fiohist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fiolat/internal/testkit"
)

// slowRound is what Rounder does, over all ways there are: cost[i][n] is the smallest sum
// of squares of the errors below the edges up to bucket i with n of the buckets that may be
// rounded up. missed is what the quantum misses below each edge.
func slowRound(rests map[int]float64, missed []float64, h *Hist, columns int) []int64 {
	value, shift := make([]float64, columns), make([]float64, columns)
	over := 0.0
	for i := range shift {
		if over += rests[i]; missed == nil || h.Count(i) == 0 && rests[i] == 0 {
			continue
		}
		n := 0.0
		for j := i; j < columns && (j == i || h.Count(j) == 0 && rests[j] == 0); j++ {
			shift[i] += missed[j]
			n++
		}
		shift[i] = (shift[i]/n - over) / 2
	}
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
			if miss := sum + shift[i] - float64(n); !math.IsInf(least, 1) {
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
	below := 0.0
	for i := range missed {
		below += h.Count(i) - float64(counts[i])
		missed[i] += below
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
			const leaves = 4
			var fast Rounder
			var left [leaves]Remainder
			misses := make(Misses, 100)
			rests := [leaves]map[int]float64{{}, {}, {}, {}}
			var sums, wholes [leaves][100]float64
			worst := 0.0
			for q := range 200 {
				leaf := q % leaves
				if leaf == 0 { // another quantum
					clear(misses)
				}
				missed := slices.Clone(misses)
				sum, given := &sums[leaf], &wholes[leaf]
				h := new(Hist)
				for range tt.buckets {
					h.Add(r.IntN(100), tt.weight())
				}
				index, weight := h.Sparse(nil, nil)
				fast.Round(index, weight, &left[leaf], misses)
				want := slowRound(rests[leaf], missed, h, 100)
				for i, m := range misses {
					if math.Abs(m-missed[i]) > 1e-6 {
						t.Fatalf("quantum %d, edge %d: %v are missed, want %v", q, i, m, missed[i])
					}
					worst = max(worst, math.Abs(m))
				}
				for k, i := range fast.Index {
					given[i] += float64(fast.Counts[k])
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
					if miss := math.Abs(given[i] - sum[i]); miss > 1+1e-6 {
						t.Fatalf("quantum %d, bucket %d: %v of %v", q, i, given[i], sum[i])
					}
				}
			}
			if worst > 3 {
				t.Errorf("a quantum is %.2f I/Os off", worst)
			}
		})
	}
}
