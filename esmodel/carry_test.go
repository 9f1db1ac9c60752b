package esmodel

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// slowWhole is what rounder does, over all ways there are: cost[i][n] is the smallest sum
// of squares of the errors below the edges up to bucket i with n of the buckets that may be
// rounded up.
func slowWhole(rests map[int]float64, h *fiohist.Hist, columns int) []int64 {
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

// tally holds what the documents of a leaf say: by document and bucket, the I/Os below the
// bucket's upper edge.
type tally struct{ exact, whole [][]float64 }

// tallies is a sink that makes histogram documents.
type tallies struct {
	run *pipeline.Run
	enc *Encoder
	of  map[pipeline.Dims]*tally
}

func (s *tallies) Begin(_ context.Context, run *pipeline.Run) error {
	s.run, s.enc, s.of = run, NewEncoder("fio", run), map[pipeline.Dims]*tally{}
	return nil
}

func (s *tallies) Quantum(_ context.Context, q *pipeline.Quantum) error {
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if leaf.Samples == 0 {
			continue
		}
		if _, err := s.enc.Histogram(nil, q, leaf); err != nil {
			return err
		}
		of := s.of[leaf.Dims]
		if of == nil {
			of = new(tally)
			s.of[leaf.Dims] = of
		}
		exact, whole := make([]float64, s.run.Geometry.Columns()), make([]float64, s.run.Geometry.Columns())
		leaf.Hist.Each(func(i int, w float64) { exact[i] = w })
		for k, i := range s.enc.whole.index {
			whole[i] = float64(s.enc.whole.counts[k])
		}
		for i := 1; i < len(exact); i++ {
			exact[i] += exact[i-1]
			whole[i] += whole[i-1]
		}
		of.exact, of.whole = append(of.exact, exact), append(of.whole, whole)
	}
	return nil
}

func (s *tallies) End(context.Context, *pipeline.Summary) error { return nil }

// off is how far the whole counts are off below any edge: of all documents together, and
// of up to ten in a row.
func (of *tally) off() (all, ten float64) {
	for i := range of.exact[0] {
		miss := []float64{0} // up to each document
		for q := range of.exact {
			miss = append(miss, miss[q]+of.whole[q][i]-of.exact[q][i])
			for _, before := range miss[max(q-9, 0) : q+1] {
				ten = max(ten, math.Abs(miss[q+1]-before))
			}
		}
		all = max(all, math.Abs(miss[len(of.exact)]))
	}
	return all, ten
}

// On every folder of logs: the whole run within one I/O of the exact one below every
// bucket's edge, ten documents in a row within three.
func TestWholeCountsOfLogs(t *testing.T) {
	folders, _ := filepath.Glob("../testdata/fio/*")
	more, _ := filepath.Glob("../ingest/fiolog/testdata/logs/*")
	tested := 0
	for _, folder := range append(folders, more...) {
		ins, err := ingest.Discover([]string{folder}, ingest.DiscoverOptions{Kind: fiolog.Clat})
		if err != nil {
			t.Fatal(err)
		}
		for _, split := range []struct{ align, by string }{{"overlap", "direction,host,job,log"}, {"inflight",
			"direction,host"}} {
			for _, interval := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, time.Second} {
				name := strings.Join([]string{filepath.Base(folder), split.align, interval.String()}, " ")
				s := new(tallies)
				plan, err := plan.Prepare(t.Context(), ins[0], plan.Config{Settings: pipeline.Settings{
					Interval: interval, Percentiles: []float64{50}, By: strings.Split(split.by, ","),
					Align: split.align, Grid: "run",
					RecordTime: "end", Repair: "auto", Restore: true, SkipBad: true, Coarseness: -1}})
				if err == nil {
					_, err = plan.Process(t.Context(), s)
					plan.Close()
				}
				if err != nil && !strings.Contains(folder, "log_compression") { // which holds pointers
					t.Errorf("%s: %v", name, err)
				}
				for d, of := range s.of {
					tested++
					if all, ten := of.off(); all > 1 || ten > 3 {
						t.Errorf("%s %+v: the whole run is %.3f I/Os off, ten quanta %.3f", name, d, all, ten)
					}
				}
			}
		}
	}
	if tested < 150 {
		t.Errorf("only %d leaves were looked at", tested)
	}
}

// Over all documents of a leaf, each bucket is its exact sum rounded down or up, and what
// is left to choose is chosen as well as can be.
func TestRounderEqualsItsSlowTwin(t *testing.T) {
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
			var fast rounder
			var left rest
			rests, sum, given := map[int]float64{}, make([]float64, 100), make([]int64, 100)
			for q := range 200 {
				h := new(fiohist.Hist)
				for range tt.buckets {
					h.Add(r.IntN(100), tt.weight())
				}
				index, weight := h.Sparse(nil, nil)
				fast.round(index, weight, &left)
				want := slowWhole(rests, h, 100)
				for k, i := range fast.index {
					given[i] += fast.counts[k]
					if fast.counts[k] != want[i] {
						t.Fatalf("quantum %d, bucket %d: %d, want %d", q, i, fast.counts[k], want[i])
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
