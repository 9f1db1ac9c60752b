package pipeline

import (
	"path/filepath"
	"testing"
	"time"

	"fiolat/ingest"
	"fiolat/ingest/fiojson"
)

// planned runs a folder through the pipeline and returns plan and rows.
func planned(t *testing.T, s Settings, dir string) (*Plan, *collect) {
	t.Helper()
	ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
	if err != nil || len(ins) != 1 {
		t.Fatalf("%d runs, %v", len(ins), err)
	}
	p, err := Prepare(t.Context(), ins[0], Config{Settings: s, Warn: func(w string) { t.Log(w) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c := new(collect)
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

// TestRealTotals: repaired and restored, the real logs hold what fio counted, and
// restoring changes nothing before the last stamp.
func TestRealTotals(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "exact", "gaps", "slow", "epoch", "trim", "latkinds", "cluster",
		"garbled", "startdelay", "live"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			s := settings()
			s.Interval = time.Second
			p, with := planned(t, s, filepath.Join(real, folder))
			complete(t, p)
			for _, tail := range p.tails {
				// Bucket by bucket: what is logged and what was restored make fio's bins.
				bins, err := tail.counted()
				if err != nil {
					t.Fatal(err)
				}
				got := make([]float64, len(bins))
				for _, l := range tail.members {
					l.dirs[tail.dir].sums.Each(func(b int, n float64) { got[b] += n })
				}
				for i, b := range tail.counts.Index {
					got[b] += tail.counts.Count[i]
				}
				for b, want := range bins {
					if got[b] != float64(want) {
						t.Errorf("%s %v, bucket %d: %v I/Os, fio counted %d", tail.entry.JobName, tail.dir, b, got[b],
							want)
					}
				}
			}
			if want := map[string]int{"cluster": 4, "garbled": 2}[folder]; p.Account.LogsRepaired != want {
				t.Errorf("%d logs repaired, want %d", p.Account.LogsRepaired, want)
			}

			s.Restore = false
			_, without := planned(t, s, filepath.Join(real, folder))
			last := int64(1 << 62) // of any log and direction, on the run's clock
			for _, l := range p.logs {
				for d := range l.dirs {
					if l.dirs[d].seen {
						last = min(last, l.dirs[d].last*msec+l.shift)
					}
				}
			}
			same := 0
			for i, row := range without.rows {
				if without.offsets[i]+int64(s.Interval) > last {
					continue
				}
				same++
				if row.Stats.Samples != with.rows[i].Stats.Samples || row.Stats.Mean != with.rows[i].Stats.Mean {
					t.Errorf("%s at %d ms: %v I/Os, restored %v", row.Dims.Direction, without.offsets[i]/msec,
						row.Stats.Samples, with.rows[i].Stats.Samples)
				}
			}
			if same == 0 {
				t.Error("no quantum ends before the last stamp")
			}
		})
	}
}
