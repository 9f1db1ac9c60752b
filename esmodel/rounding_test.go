package esmodel

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/report/charts"
)

// tally holds what the documents of a leaf say: by document and bucket, the I/Os below the
// bucket's upper edge.
type tally struct{ exact, whole [][]float64 }

// tallies is a sink that makes histogram documents.
type tallies struct {
	pipeline.Discard
	run *pipeline.Run
	enc *Encoder
	of  map[fio.Dims]*tally
	// alone has each leaf rounded for itself.
	alone bool
	// quantum is how far the documents of any quantum and direction are off together, below any edge.
	quantum float64
}

func (s *tallies) Begin(_ context.Context, run *pipeline.Run) error {
	s.run, s.enc, s.of = run, NewEncoder("fio", run), map[fio.Dims]*tally{}
	return nil
}

func (s *tallies) Quantum(_ context.Context, q *pipeline.Quantum) error {
	off := map[string][]float64{}
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if leaf.Hist.Sum() == 0 {
			continue
		}
		if s.alone {
			s.enc.offset = -1 // of no quantum: forget the others
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
		for k, i := range s.enc.rounder.Index {
			whole[i] = float64(s.enc.rounder.Counts[k])
		}
		for i := 1; i < len(exact); i++ {
			exact[i] += exact[i-1]
			whole[i] += whole[i-1]
		}
		if off[leaf.Dims.Direction] == nil {
			off[leaf.Dims.Direction] = make([]float64, len(exact))
		}
		for i := range exact {
			off[leaf.Dims.Direction][i] += whole[i] - exact[i]
		}
		of.exact, of.whole = append(of.exact, exact), append(of.whole, whole)
	}
	for _, edges := range off {
		for _, miss := range edges {
			s.quantum = max(s.quantum, math.Abs(miss))
		}
	}
	return nil
}

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
// bucket's edge, ten documents in a row within three, and so the documents of a quantum.
func TestWholeCountsOfLogs(t *testing.T) {
	testkit.NotRaced(t)
	folders, _ := filepath.Glob("../testdata/fio/*")
	more, _ := filepath.Glob("../ingest/fiolog/testdata/logs/*")
	tested := 0
	for _, folder := range append(folders, more...) {
		ins, err := ingest.Discover([]string{folder}, ingest.DiscoverOptions{Kind: fio.Clat})
		if err != nil {
			t.Fatal(err)
		}
		for _, split := range []struct{ align, by string }{{"overlap", "direction,host,job,log"}, {"inflight",
			"direction,host"}} {
			for _, interval := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, time.Second} {
				name := strings.Join([]string{filepath.Base(folder), split.align, interval.String()}, " ")
				s := new(tallies)
				plan, err := plan.Prepare(t.Context(), ins[0], plan.Config{Settings: fio.Settings{
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
				if s.quantum > 3 {
					t.Errorf("%s: a quantum is %.3f I/Os off", name, s.quantum)
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

// The histograms of many hosts, added up over a quantum and direction: each host's windows begin at another time, so
// that most of its counts are fractions. Rounded each for itself they are as far off as panels of live runs say.
func TestWholeCountsOfHosts(t *testing.T) {
	testkit.NotRaced(t)
	for _, tt := range []struct {
		name       string
		hosts, ios int
		parts      int // quanta a window
		alone      bool
		most       float64
	}{
		{"50 hosts, quanta of a quarter of a window", 50, 300, 4, false, 16},
		{"500 hosts, quanta of a window", 500, 60, 1, false, 16},
		{"50 hosts, each for itself", 50, 300, 4, true, charts.RankMiss * math.Sqrt(50)},
		{"500 hosts, each for itself", 500, 60, 1, true, charts.RankMiss * math.Sqrt(500)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			run := esmodeltest.Run()
			run.Geometry = fiohist.Geometry{Groups: 29, Unit: 1}
			s := &tallies{run: run, enc: NewEncoder(DefaultPrefix, run), of: map[fio.Dims]*tally{},
				alone: tt.alone}
			draw := func() *fiohist.Hist { // a window: 3 % of the I/Os are slow
				h := new(fiohist.Hist)
				for range tt.ios {
					ns := 100e3 * math.Exp(0.3*r.NormFloat64())
					if r.IntN(100) < 3 {
						ns *= 5 + 30*r.ExpFloat64()
					}
					h.Add(run.Geometry.Index(int64(ns)), 1)
				}
				return h
			}
			before, after := make([]*fiohist.Hist, tt.hosts), make([]*fiohist.Hist, tt.hosts)
			phase := make([]float64, tt.hosts)
			for h := range phase {
				after[h], phase[h] = draw(), r.Float64()
			}
			for n := range 40 {
				q := &pipeline.Quantum{Offset: int64(n) * 1e9}
				for h := range phase {
					if n%tt.parts == 0 {
						before[h], after[h] = after[h], draw()
					}
					share := 1 / float64(tt.parts)
					earlier := min(max(phase[h]-float64(n%tt.parts)*share, 0), share) // of the window before
					dims := fio.Dims{Host: strconv.Itoa(h), Direction: "read"}
					leaf := pipeline.Leaf{Dims: dims, Hist: new(fiohist.Hist)}
					before[h].Each(func(i int, w float64) { leaf.Hist.Add(i, w*earlier) })
					after[h].Each(func(i int, w float64) { leaf.Hist.Add(i, w*(share-earlier)) })
					q.Leaves = append(q.Leaves, leaf)
				}
				if err := s.Quantum(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			if s.quantum > tt.most {
				t.Errorf("a quantum is %.2f I/Os off below an edge, want %.2f at most", s.quantum, tt.most)
			}
		})
	}
}
