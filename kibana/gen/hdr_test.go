package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/internal/testkit"
	"fiolat/kibana/kibanatest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

var hdrDigits = [...]int{2, 3}

// merged is what HDR makes of histogram documents, by digits, and the exact histogram.
type merged struct {
	hdr   [len(hdrDigits)]*kibanatest.HDR
	exact fiohist.Hist
}

// mergedRun is a sink that compares each interval, and the whole run, with what HDR answers over the run's histogram
// documents: of each host and of all together, by direction.
type mergedRun struct {
	pipeline.Discard
	t     *testing.T
	name  string
	enc   *esmodel.Encoder
	run   *pipeline.Run
	whole map[fio.Dims]*merged
	half  float64                   // half a bucket of the logs, relative
	off   [len(hdrDigits)][]float64 // how far answers are off, in percent
}

func (s *mergedRun) Begin(_ context.Context, run *pipeline.Run) error {
	s.enc, s.run, s.whole = esmodel.NewEncoder("fio", run), run, map[fio.Dims]*merged{}
	return nil
}

func (s *mergedRun) Interval(_ context.Context, q *pipeline.Interval) error {
	now := map[fio.Dims]*merged{}
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if !esmodel.HasDocument(leaf.Hist) {
			continue
		}
		doc, err := s.enc.Histogram(nil, q, leaf)
		if err != nil {
			return err
		}
		var d struct {
			Latency struct {
				Histogram struct {
					Values []float64
					Counts []int64
				}
			}
		}
		if err = json.Unmarshal(doc, &d); err != nil {
			return err
		}
		all := fio.Dims{Direction: leaf.Dims.Direction}
		for _, to := range []map[fio.Dims]*merged{now, s.whole} {
			for _, of := range slices.Compact([]fio.Dims{leaf.Dims, all}) {
				if to[of] == nil {
					to[of] = new(merged)
					for d, digits := range hdrDigits {
						to[of].hdr[d] = kibanatest.NewHDR(digits)
					}
				}
				to[of].exact.AddHist(leaf.Hist)
				for k, v := range d.Latency.Histogram.Values {
					for _, h := range to[of].hdr {
						h.Add(v, d.Latency.Histogram.Counts[k])
					}
				}
			}
		}
	}
	s.compare(q.Rows, now)
	return nil
}

func (s *mergedRun) End(_ context.Context, sum *pipeline.Summary) error {
	s.compare(sum.Total, s.whole)
	return nil
}

// compare compares the rows where ten I/Os or more lie above the percentile. An answer is at most half a bucket of the
// logs and one of HDR's off the exact percentile, within a hundredth of an I/O of its rank, which may lie between two
// I/Os far apart.
func (s *mergedRun) compare(rows []pipeline.Row, answers map[fio.Dims]*merged) {
	for i := range rows {
		r := &rows[i]
		of := answers[r.Dims]
		if r.Scope != "direction" && r.Scope != "host+direction" || of == nil {
			continue
		}
		for i, p := range s.run.Percentiles {
			if r.Stats.Samples*(1-p/100) < 10 || slices.Contains(r.Stats.AtLeast, i) {
				continue
			}
			beside := 1 / r.Stats.Samples
			near := of.exact.Stats(s.run.Geometry, []float64{p - beside, p + beside}, r.Limits).Percentiles
			for d, h := range of.hdr {
				got, _ := h.Percentile(p)
				want := min(max(got, near[0]), near[1])
				// Below 64 ns fio's buckets are as wide as at 64 ns.
				width := 1 / math.Exp2(math.Floor(math.Log2(math.Pow10(hdrDigits[d])))+1)
				if bound := max(want, 64)*s.half + want*width; math.Abs(got-want) > bound {
					s.t.Errorf("%s, %+v, %d digits: p%v of %.3f: %.4g, want %.4g±%.3g", s.name, r.Dims, hdrDigits[d], p,
						r.Stats.Samples, got, want, bound)
				}
				if want >= 64 {
					s.off[d] = append(s.off[d], 100*math.Abs(got/want-1))
				}
			}
		}
	}
}

// How far the answers of HDR over histogram documents are from the exact percentiles of intervals of 1, 5 and 20 s and
// of whole runs, of one host and of all, of hosts that start together and apart; docs/queries.md has the table.
func TestHowExactHDRIs(t *testing.T) {
	testkit.NotRaced(t)
	folders, _ := filepath.Glob("../../testdata/fio/*")
	table := "| log_hist_coarseness | digits | percentiles compared | median | worst seen | bound |\n" +
		"|---|---|---:|---:|---:|---:|\n"
	for _, coarseness := range []int{0, 2, 3, 6} {
		s := &mergedRun{t: t, half: math.Exp2(float64(coarseness)) / 128}
		for _, folder := range folders {
			for _, apart := range []time.Duration{0, 370 * time.Millisecond} {
				settings := fio.Settings{Percentiles: []float64{50, 90, 95, 99, 99.9},
					By:    []string{"direction", "host"},
					Align: "overlap", Grid: "run", RecordTime: "end", Repair: "auto", Restore: true, SkipBad: true,
					Coarseness: coarseness}
				if apart > 0 {
					settings.Offsets = map[string]time.Duration{"127.0.0.2": apart}
				}
				if filepath.Base(folder) != "cluster" && apart > 0 || filepath.Base(folder) == "epoch" && coarseness < 3 {
					continue // one host; logs that are that coarse
				}
				for _, interval := range []time.Duration{1, 5, 20} {
					ins, err := ingest.Discover([]string{folder}, ingest.DiscoverOptions{Kind: fio.Clat})
					if err != nil {
						t.Fatal(err)
					}
					s.name = fmt.Sprintf("%s, %v apart, intervals of %d s, coarseness %d", filepath.Base(folder), apart,
						interval, coarseness)
					settings.Interval = interval * time.Second
					plan, err := plan.Prepare(t.Context(), ins[0], plan.Config{Settings: settings})
					if err == nil {
						_, err = plan.Process(t.Context(), s)
						plan.Close()
					}
					if err != nil {
						t.Fatalf("%s: %v", s.name, err)
					}
				}
			}
		}
		for d, digits := range hdrDigits {
			off, width := s.off[d], 1/math.Exp2(math.Floor(math.Log2(math.Pow10(digits)))+1)
			slices.Sort(off)
			if len(off) < 500 {
				t.Fatalf("only %d percentiles were compared", len(off))
			}
			table += fmt.Sprintf("| %d | %d | %d | %.1f %% | %.1f %% | %.1f %% |\n", coarseness, digits, len(off),
				off[len(off)/2], off[len(off)-1], 100*(s.half+width))
		}
	}
	samePart(t, "../../docs/queries.md", "hdr", table)
}
