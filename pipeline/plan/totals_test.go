package plan

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline/pipelinetest"
)

// planned runs a folder through the pipeline and returns plan and rows.
func planned(t *testing.T, s fio.Settings, dir string) (*Plan, *pipelinetest.Collect) {
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

// sameBins checks that bucket by bucket what is in the intervals, logged or restored, makes fio's bins.
func sameBins(t *testing.T, c *pipelinetest.Collect) {
	t.Helper()
	got, want := map[fio.Dims]*fiohist.Hist{}, map[fio.Dims][]uint64{}
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
				dims := fio.Dims{Host: e.Host, Job: e.JobName, Direction: fio.Direction(d).String()}
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
			s := fio.Defaults()
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

// TestMixedLimits: of a job with unified_rw_reporting=mixed, no direction is known to be idle, so the limits of another
// job do not hold for its I/Os.
func TestMixedLimits(t *testing.T) {
	t.Parallel()
	job := func(name, rw, limits string) string {
		return fmt.Sprintf(`{"jobname":%q,"job options":{"rw":%q,"write_hist_log":"x","log_hist_msec":"1000"},`+
			`"mixed":{"total_ios":1000,"runtime":1000,"clat_ns":{%s,"N":1000}}}`, name, rw, limits)
	}
	_, c := planned(t, fio.Defaults(), files(t, map[string]string{
		"fio.json": `{"fio version":"fio-3.36","jobs":[` + job("a", "randread", `"min":90000,"max":120000`) + "," +
			job("b", "randrw", `"min":9000000,"max":12000000`) + "]}",
		"x_clat_hist.1.log": record(1000, fio.Read, map[int]int{11: 1000}),
		"x_clat_hist.2.log": record(1000, fio.Read, map[int]int{18: 600}) +
			record(1000, fio.Write, map[int]int{18: 400}),
	}))
	for _, r := range c.Rows {
		if p99 := r.Stats.Percentiles[3]; p99 < 9e6 || p99 > 17e6 {
			t.Errorf("%s %s: p99 of %v ns", r.Scope, r.Dims.Direction, p99)
		}
	}
}

// TestInFlightAtRuntime: I/Os that fio issued before the job's runtime was over complete up to their latency later.
func TestInFlightAtRuntime(t *testing.T) {
	t.Parallel()
	s := fio.Defaults()
	s.Interval = 500 * time.Millisecond
	slow := fiohist.Fio3.Middle(fiohist.Fio3.Index(900e6))
	_, c := planned(t, s, files(t, map[string]string{
		"x_clat_hist.1.log": record(1000, fio.Read, map[int]int{11: 5}) + record(2000, fio.Read, map[int]int{11: 5}),
		"fio.json": fmt.Sprintf(`{"fio version":"fio-3.36","jobs":[{"jobname":"x","job options":{"write_hist_log":"x",`+
			`"log_hist_msec":"1000","ioengine":"libaio","iodepth":"8","runtime":"2"},"read":{"total_ios":18,`+
			`"runtime":2800,"clat_ns":{"N":18,"min":100000,"max":900000000,"bins":{"%.0f":10,"%.0f":8}}}}]}`,
			fiohist.Fio3.Middle(11<<6), slow),
	}))
	for i, r := range c.Rows {
		if at := c.Offsets[i] / 1e6; r.Scope == "run" && at == 2500 && math.Abs(r.Stats.Samples-3) < 0.01 {
			return
		}
	}
	t.Error("of the 8 I/Os from 2.0 to 2.8 s, want 3 from 2.5 s on")
}

// TestRestoredLastBucket: I/Os that only fio's JSON counts are in the account, too, if they are in the last bucket.
func TestRestoredLastBucket(t *testing.T) {
	t.Parallel()
	g := fiohist.Fio3
	_, c := planned(t, fio.Defaults(), files(t, map[string]string{
		"x_clat_hist.1.log": record(1000, fio.Read, map[int]int{11: 5, 28: 2}),
		"fio.json": fmt.Sprintf(`{"fio version":"fio-3.36","jobs":[{"jobname":"x","job options":{"write_hist_log":"x",`+
			`"log_hist_msec":"1000","ioengine":"libaio","iodepth":"4"},"read":{"total_ios":10,"runtime":1500,`+
			`"clat_ns":{"N":10,"min":100000,`+
			`"max":20000000000,"bins":{"%.0f":5,"%.0f":5}}}}]}`, g.Middle(11<<6), g.Middle(g.Last())),
	}))
	if a := c.Sum.Account; a.Restored != 3 || a.LastBucket != 5 {
		t.Errorf("%v restored, %v in the last bucket; want 3 and 5", a.Restored, a.LastBucket)
	}
}
