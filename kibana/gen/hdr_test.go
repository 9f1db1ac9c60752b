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
	"fiolat/ingest"
	"fiolat/internal/testkit"
	"fiolat/kibana/kibanatest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// wholeRuns is a sink that adds up the histogram documents of a run by direction, as HDR does.
type wholeRuns struct {
	pipeline.Discard
	digits int
	enc    *esmodel.Encoder
	hdr    map[string]*kibanatest.HDR
	rows   []pipeline.Row // of the whole run, exact
}

func (s *wholeRuns) Begin(_ context.Context, run *pipeline.Run) error {
	s.enc, s.hdr = esmodel.NewEncoder("fio", run), map[string]*kibanatest.HDR{}
	return nil
}

func (s *wholeRuns) Quantum(_ context.Context, q *pipeline.Quantum) error {
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if leaf.Hist.Sum() == 0 {
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
		h := s.hdr[leaf.Dims.Direction]
		if h == nil {
			h = kibanatest.NewHDR(s.digits)
			s.hdr[leaf.Dims.Direction] = h
		}
		for k, v := range d.Latency.Histogram.Values {
			h.Add(v, d.Latency.Histogram.Counts[k])
		}
	}
	return nil
}

func (s *wholeRuns) End(_ context.Context, sum *pipeline.Summary) error {
	s.rows = sum.Total
	return nil
}

// How far the answers of HDR over a whole run's histogram documents are from the exact percentiles, where ten
// I/Os or more lie above them. An answer is at most half a bucket of the logs and one of HDR's off; the table of
// docs/queries.md is what is seen over the runs of testdata/fio.
func TestHowExactHDRIs(t *testing.T) {
	testkit.NotRaced(t)
	folders, _ := filepath.Glob("../../testdata/fio/*")
	percents := []float64{50, 90, 95, 99, 99.9}
	table := "| log_hist_coarseness | digits | percentiles compared | median | worst seen | bound |\n" +
		"|---|---|---:|---:|---:|---:|\n"
	for _, coarseness := range []int{0, 2, 3, 6} {
		for _, digits := range []int{2, 3} {
			half, width := math.Exp2(float64(coarseness))/128, 1/math.Exp2(math.Floor(math.Log2(math.Pow10(digits)))+1)
			var off []float64
			for _, folder := range folders {
				ins, err := ingest.Discover([]string{folder}, ingest.DiscoverOptions{Kind: fio.Clat})
				if err != nil {
					t.Fatal(err)
				}
				for _, interval := range []time.Duration{250 * time.Millisecond, time.Second} {
					s := &wholeRuns{digits: digits}
					plan, err := plan.Prepare(t.Context(), ins[0], plan.Config{Settings: fio.Settings{
						Interval: interval, Percentiles: percents, By: []string{"direction", "host"}, Align: "overlap",
						Grid:       "run",
						RecordTime: "end", Repair: "auto", Restore: true, SkipBad: true, Coarseness: coarseness}})
					if err != nil && filepath.Base(folder) == "epoch" && coarseness < 3 {
						continue // its logs are that coarse
					}
					if err == nil {
						_, err = plan.Process(t.Context(), s)
						plan.Close()
					}
					if err != nil {
						t.Fatalf("%s: %v", folder, err)
					}
					for _, r := range s.rows {
						if r.Scope != "direction" || r.Stats.Samples == 0 {
							continue
						}
						for i, p := range percents {
							got, _ := s.hdr[r.Dims.Direction].Percentile(p)
							want := r.Stats.Percentiles[i]
							if r.Stats.Samples*(1-p/100) < 10 || slices.Contains(r.Stats.AtLeast, i) {
								continue
							}
							// Below 64 ns fio's buckets are as wide as at 64 ns.
							if bound := max(want, 64)*half + want*width; math.Abs(got-want) > bound {
								const form = "%s, %s, %ss, coarseness %d, %d digits: p%v of %.0f: %.4g, want %.4g±%.3g"
								t.Errorf(form, filepath.Base(folder), interval, r.Dims.Direction, coarseness, digits, p,
									r.Stats.Samples,
									got, want, bound)
							}
							if want >= 64 {
								off = append(off, 100*math.Abs(got/want-1))
							}
						}
					}
				}
			}
			slices.Sort(off)
			if len(off) < 100 {
				t.Fatalf("only %d percentiles were compared", len(off))
			}
			table += fmt.Sprintf("| %d | %d | %d | %.1f %% | %.1f %% | %.1f %% |\n", coarseness, digits, len(off),
				off[len(off)/2], off[len(off)-1], 100*(half+width))
		}
	}
	samePart(t, "../../docs/queries.md", "hdr", table)
}
