package esmodel

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
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
}

func (s *tallies) Begin(_ context.Context, run *pipeline.Run) error {
	s.run, s.enc, s.of = run, NewEncoder("fio", run), map[fio.Dims]*tally{}
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
		for k, i := range s.enc.rounder.Index {
			whole[i] = float64(s.enc.rounder.Counts[k])
		}
		for i := 1; i < len(exact); i++ {
			exact[i] += exact[i-1]
			whole[i] += whole[i-1]
		}
		of.exact, of.whole = append(of.exact, exact), append(of.whole, whole)
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
// bucket's edge, ten documents in a row within three.
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
