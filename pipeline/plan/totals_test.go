package plan

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// planned runs a folder through the pipeline and returns plan and rows.
func planned(t *testing.T, s pipeline.Settings, dir string) (*Plan, *pipelinetest.Collect) {
	t.Helper()
	p, err := prepare(t, Config{Settings: s, Warn: func(w string) { t.Log(w) }}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c := new(pipelinetest.Collect)
	if _, err := p.Process(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return p, c
}

// complete checks that logged + restored is fio's own total, for each entry of the
// JSON and direction.
func complete(t *testing.T, p *Plan) {
	t.Helper()
	type key struct {
		entry *fiojson.Entry
		dir   string
	}
	got, want := map[key]float64{}, map[key]float64{}
	for _, r := range p.Report() {
		if r.Entry == nil {
			t.Fatalf("%s: no entry in fio's JSON was found for it", r.Source.Path)
		}
		for _, d := range r.Dirs {
			k := key{r.Entry, d.Direction}
			got[k] += d.IOs + d.Restored
			want[k] = float64(d.Counted)
		}
	}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("job %s, %s: %v I/Os logged or restored, fio counted %v", k.entry.JobName, k.dir, got[k], w)
		}
	}
	if a := p.Account; !a.CountedKnown || a.Missing != a.Restored {
		t.Errorf("account: missing %v, restored %v", a.Missing, a.Restored)
	}
}

// sameBins checks that bucket by bucket what is in the quanta, logged or restored, makes fio's bins.
func sameBins(t *testing.T, c *pipelinetest.Collect) {
	t.Helper()
	got, want := map[pipeline.Dims]*fiohist.Hist{}, map[pipeline.Dims][]uint64{}
	for _, l := range c.Leaves {
		if got[l.Dims] == nil {
			got[l.Dims] = new(fiohist.Hist)
		}
		got[l.Dims].AddHist(l.Hist)
	}
	for _, m := range c.Run.Metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			for d := range e.Dirs {
				bins, err := e.Dirs[d].Kind[c.Run.Kind].Counts(c.Run.Geometry)
				if err != nil {
					t.Fatal(err)
				}
				dims := pipeline.Dims{Host: e.Host, Job: e.JobName, Direction: fiolog.Direction(d).String()}
				if want[dims] == nil {
					want[dims] = make([]uint64, c.Run.Geometry.Columns())
				}
				for b, n := range bins {
					want[dims][b] += n
				}
			}
		}
	}
	for dims, bins := range want {
		for b, n := range bins {
			in := 0.0
			if h := got[dims]; h != nil {
				in = h.Count(b)
			}
			if math.Abs(in-float64(n)) > 1e-6 {
				t.Errorf("%+v, bucket %d: %v I/Os, fio counted %d", dims, b, in, n)
			}
		}
	}
	if len(got) == 0 {
		t.Error("no I/O")
	}
}

// TestRealTotals: repaired and restored, the real logs hold what fio counted, and
// restoring changes nothing before the last stamp.
func TestRealTotals(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "exact", "gaps", "slow", "epoch", "trim", "latkinds", "cluster",
		"garbled", "startdelay", "live"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			s := pipelinetest.Settings()
			s.Interval, s.By = time.Second, []string{"host", "job", "direction"}
			p, with := planned(t, s, filepath.Join(real, folder))
			complete(t, p)
			sameBins(t, with)
			if want := map[string]int{"cluster": 4, "garbled": 2}[folder]; p.Account.LogsRepaired != want {
				t.Errorf("%d logs repaired, want %d", p.Account.LogsRepaired, want)
			}

			s.Restore = false
			_, without := planned(t, s, filepath.Join(real, folder))
			last := int64(1 << 62) // of any log and direction, on the run's clock
			for _, r := range p.Report() {
				for _, d := range r.Dirs {
					if d.Records == 0 {
						continue
					}
					at := int64(d.Last) + r.Start
					if r.Absolute {
						at = int64(d.Last) - p.Run.Start
					}
					last = min(last, at)
				}
			}
			same := 0
			for i, row := range without.Rows {
				if without.Offsets[i]+int64(s.Interval) > last {
					continue
				}
				same++
				if row.Stats.Samples != with.Rows[i].Stats.Samples || row.Stats.Mean != with.Rows[i].Stats.Mean {
					t.Errorf("%s at %d ms: %v I/Os, restored %v", row.Dims.Direction, without.Offsets[i]/msec,
						row.Stats.Samples, with.Rows[i].Stats.Samples)
				}
			}
			if same == 0 {
				t.Error("no quantum ends before the last stamp")
			}
		})
	}
}
