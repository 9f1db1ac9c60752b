package plan

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// leafAt is a leaf with the start of its interval.
type leafAt struct {
	offset int64
	dims   fio.Dims
	hist   *fiohist.Hist
}

// keepLeaves keeps the leaves of a run.
type keepLeaves struct {
	pipelinetest.Collect
	leaves []leafAt
}

func (k *keepLeaves) Interval(ctx context.Context, q *pipeline.Interval) error {
	for i := range q.Leaves {
		copied := new(fiohist.Hist)
		copied.AddHist(q.Leaves[i].Hist)
		k.leaves = append(k.leaves, leafAt{q.Offset, q.Leaves[i].Dims, copied})
	}
	return k.Collect.Interval(ctx, q)
}

// pickSlowly adds up what is picked of the leaves of a whole run, bucket by bucket.
func pickSlowly(leaves []leafAt, interval, from, to int64, p *pipeline.Pick) (kept map[int]float64, away float64) {
	kept = map[int]float64{}
	for _, l := range leaves {
		overlap := min(l.offset+interval, to) - max(l.offset, from)
		share := math.Max(float64(overlap), 0) / float64(interval)
		if !p.Holds(l.dims) {
			share = 0
		}
		l.hist.Each(func(bucket int, n float64) {
			if share > 0 {
				kept[bucket] += share * n
			}
			away += (1 - share) * n
		})
	}
	return kept, away
}

// TestPick: what is picked of a run is what a slow program picks of all of its leaves, however it is split, and the
// rest is counted.
func TestPick(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"cluster", "randrw", "gaps", "trim"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			run := func(config Config) *keepLeaves {
				p, err := prepare(t, config, filepath.Join(real, folder))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(p.Close)
				k := new(keepLeaves)
				if _, err := p.Process(t.Context(), k); err != nil {
					t.Fatal(err)
				}
				return k
			}
			s := fio.Defaults()
			s.By = []string{"host", "job", "direction"}
			whole := run(Config{Settings: s})
			end, interval := whole.Sum.End, whole.Run.Interval
			var hosts, jobs []string
			for _, l := range whole.Run.Logs {
				hosts, jobs = append(hosts, l.Host), append(jobs, l.Job)
			}
			r := rand.New(rand.NewPCG(7, 21))
			for n := range 12 {
				var p pipeline.Pick
				if host := hosts[r.IntN(len(hosts))]; r.IntN(2) == 0 && host != "" {
					p.Hosts = []string{host}
				}
				if r.IntN(2) == 0 {
					p.Jobs = []string{jobs[r.IntN(len(jobs))]}
				}
				if r.IntN(2) == 0 {
					p.Directions = []string{[]string{"read", "write", "trim"}[r.IntN(3)]}
				}
				from, to := int64(math.MinInt64), int64(math.MaxInt64)
				if r.IntN(2) == 0 {
					from = r.Int64N(end - interval)
					p.From = &pipeline.Moment{Since: time.Duration(from)}
				}
				if r.IntN(2) == 0 {
					to = max(from, 0) + 1 + r.Int64N(end-max(from, 0))
					p.To = &pipeline.Moment{Since: time.Duration(to)}
				}
				some := s
				if r.IntN(2) == 0 {
					some.By = nil
				}
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					want, away := pickSlowly(whole.leaves, interval, from, to, &p)
					got := run(Config{Settings: some, Pick: p})
					sum := map[int]float64{}
					for _, l := range got.leaves {
						l.hist.Each(func(bucket int, n float64) { sum[bucket] += n })
					}
					near := func(what string, got, want, off float64) {
						if math.Abs(got-want) > off {
							t.Errorf("%+v: %s %v, want %v", p, what, got, want)
						}
					}
					const part = 1.0 / fiohist.Parts // each log's count is rounded at either end
					off, total := 2*part*float64(len(whole.Run.Logs)), 0.0
					for bucket, n := range want {
						near(fmt.Sprintf("bucket %d has", bucket), sum[bucket], n, off)
						total += n
					}
					for bucket, n := range sum {
						near(fmt.Sprintf("bucket %d has", bucket), n, want[bucket], off)
					}
					a := &got.Sum.Account
					near("left out", a.PickedAway, away, off*float64(len(want)))
					near("placed", a.Placed, total, off*float64(len(want)))
					near("in all", a.Placed+a.PickedAway, a.Logged+a.Restored, 0)
					first, begin := got.Offsets, max(from, 0)
					if len(first) > 0 && (first[0]+interval <= begin || first[0] > begin) {
						t.Errorf("%+v: the first row is at %d", p, first[0])
					}
				})
			}
		})
	}
}

// TestPickWhole: with Whole the edges of what is picked are those of intervals, so that I/Os are shared out once.
func TestPickWhole(t *testing.T) {
	t.Parallel()
	s := fio.Defaults()
	p, err := prepare(t, Config{Settings: s, WholeRun: true, Pick: pipeline.Pick{
		From: &pipeline.Moment{Since: 1500 * time.Millisecond}, To: &pipeline.Moment{Since: 3250 * time.Millisecond}}},
		filepath.Join(real, "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if p.Run.Interval != int64(250*time.Millisecond) {
		t.Errorf("an interval of %v", time.Duration(p.Run.Interval))
	}
}

// TestPickOfNothing: a run without I/O has nothing to pick, and that is an error, not a panic.
func TestPickOfNothing(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"z_clat_hist.1.log": "", "fio.json": `{"fio version":"fio-3.33","jobs":[` +
		`{"jobname":"z","error":5,"job options":{"write_hist_log":"z","log_hist_msec":"1000"},` +
		`"read":{"total_ios":0}}]}`})
	at := &pipeline.Moment{Text: "0"}
	later := &pipeline.Moment{Text: "1s", Since: time.Second}
	for _, tt := range []struct {
		name string
		pick pipeline.Pick
		want string
	}{
		{"from", pipeline.Pick{From: at}, "--from 0: "},
		{"to", pipeline.Pick{To: later}, "--to 1s: "},
		{"both", pipeline.Pick{From: at, To: later}, "--to 1s: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := process(t, Config{Settings: fio.Defaults(), Pick: tt.pick}, dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
