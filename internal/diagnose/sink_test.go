package diagnose

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// pass gives the logs of paths to a sink; keep says which of them.
func pass(t *testing.T, paths []string, workers int, keep func(*ingest.Log) bool, by []string,
	sink pipeline.Sink) *pipeline.Summary {
	t.Helper()
	runs, err := ingest.Discover(paths, ingest.DiscoverOptions{Kind: fio.Clat})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v: %d runs, %v", paths, len(runs), err)
	}
	if keep != nil {
		logs, _, err := ingest.Match(runs[0])
		if err != nil {
			t.Fatal(err)
		}
		var some []*ingest.Source
		for _, l := range logs {
			if keep(l) {
				some = append(some, l.Source)
			}
		}
		runs[0].Logs = some
	}
	settings := fio.Defaults()
	settings.Grid, settings.By, settings.Percentiles, settings.Restore = "epoch", by, Percentiles, false
	plan, err := plan.Prepare(context.Background(), runs[0], plan.Config{Workers: workers,
		Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	sum, err := plan.Process(context.Background(), sink)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// rows keeps those of each quantum, by its time.
type rows struct {
	pipeline.Discard
	run *pipeline.Run
	at  map[int64][]pipeline.Row
}

func (r *rows) Begin(_ context.Context, run *pipeline.Run) error {
	r.run, r.at = run, map[int64][]pipeline.Row{}
	return nil
}

func (r *rows) Quantum(_ context.Context, q *pipeline.Quantum) error {
	at := r.run.Start + q.Offset
	r.at[at] = append(r.at[at], slices.Clone(q.Rows)...)
	return nil
}

func (r *rows) Late(ctx context.Context, q *pipeline.Quantum) error { return r.Quantum(ctx, q) }

// TestTail compares what documents say of each quantum of each host, job and log, with the runs that have all logs but
// theirs.
func TestTail(t *testing.T) {
	folders, _ := filepath.Glob("../../testdata/fio/*")
	compared := 0
	for _, folder := range folders {
		var all rows
		pass(t, []string{folder}, 2, nil, By, &all)
		others := map[string]*rows{}
		for at, some := range all.at {
			for i := range some {
				r := &some[i]
				dimension, _ := strings.CutSuffix(r.Scope, "+direction")
				d := slices.Index(dimensions, dimension)
				if d < 0 || r.TailPart == nil {
					continue
				}
				value := [3]string{r.Dims.Host, r.Dims.Job, r.Dims.Log}[d]
				key := dimension + " " + value
				rest := others[key]
				if rest == nil {
					rest = new(rows)
					pass(t, []string{folder}, 2, func(l *ingest.Log) bool {
						return [3]string{l.Host, l.Job, l.LogName}[d] != value
					}, []string{"direction"}, rest)
					others[key] = rest
				}
				want := p99(rest.at[at], r.Dims.Direction)
				name := fmt.Sprintf("%s at %d: %s, %s", filepath.Base(folder), at, key, r.Dims.Direction)
				if compared++; want == nil && r.TailPart.Without != -1 {
					t.Errorf("%s: without is %v, and there are no others", name, r.TailPart.Without)
				} else if want != nil {
					same(t, name, &r.TailPart.Without, want)
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("compared only %d", compared)
	}
}

// p99 is that of a direction, or of all, in the rows of a quantum; nil without I/O.
func p99(of []pipeline.Row, direction string) *float64 {
	for i := range of {
		if r := &of[i]; (r.Scope == "run" || r.Scope == "direction") && r.Dims.Direction == direction &&
			!r.Stats.Empty() {
			return &r.Stats.Percentiles[slices.Index(Percentiles, pipeline.TailPercentile)]
		}
	}
	return nil
}

// TestWithout compares Pooled and Without with the percentiles of runs that have all logs, and all but those of the
// value.
func TestWithout(t *testing.T) {
	folders, _ := filepath.Glob("../../testdata/fio/*")
	compared := 0
	for _, folder := range folders {
		runs, err := ingest.Discover([]string{folder}, ingest.DiscoverOptions{Kind: fio.Clat})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s: %v", folder, err)
		}
		logs, _, err := ingest.Match(runs[0])
		if err != nil {
			t.Fatal(err)
		}
		for d, dimension := range dimensions {
			of := func(l *ingest.Log) string { return [3]string{l.Host, l.Job, l.LogName}[d] }
			values := map[string]bool{}
			for _, l := range logs {
				values[of(l)] = true
			}
			if delete(values, ""); len(values) < 2 {
				continue
			}
			var forced []Straggler
			for value := range values {
				for _, direction := range []string{"read", "write", "trim"} {
					for _, p := range Percentiles {
						forced = append(forced, Straggler{Dimension: dimension, Value: value, Direction: direction,
							Percentile: p, Lift: 1, since: math.MinInt64, until: math.MaxInt64})
					}
				}
			}
			second := newSecond(forced)
			all := pass(t, []string{folder}, 2, nil, By, second)
			rest := map[string]*pipeline.Summary{}
			for value := range values {
				rest[value] = pass(t, []string{folder}, 2, func(l *ingest.Log) bool { return of(l) != value },
					[]string{"direction"}, new(rows))
			}
			for _, s := range second.Stragglers() {
				name := fmt.Sprintf("%s: %s %s, %s p%g", filepath.Base(folder), s.Dimension, s.Value, s.Direction,
					s.Percentile)
				same(t, name, s.Pooled, percentile(all, &s))
				same(t, name+" without", s.Without, percentile(rest[s.Value], &s))
				if s.Without != nil {
					compared++
				}
			}
		}
	}
	if compared < 50 {
		t.Errorf("compared only %d", compared)
	}
}

func percentile(sum *pipeline.Summary, s *Straggler) *float64 {
	for i := range sum.Total {
		r := &sum.Total[i]
		if r.Scope != "direction" || r.Dims.Direction != s.Direction || r.Stats.Empty() {
			continue
		}
		for k, p := range Percentiles {
			if p == s.Percentile {
				return &r.Stats.Percentiles[k]
			}
		}
	}
	return nil
}

func same(t *testing.T, what string, got, want *float64) {
	t.Helper()
	switch {
	case got == nil && want == nil:
	case got == nil || want == nil || math.Abs(*got-*want) > 1e-9**want:
		t.Errorf("%s: got %v, want %v", what, text(got), text(want))
	}
}

func text(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

func TestSameForAnyNumberOfWorkers(t *testing.T) {
	diagnose := func(workers int) *Diagnosis {
		var w Watch
		pass(t, []string{"../../testdata/fio/randrw"}, workers, nil, By, &w)
		return w.Diagnose(w.Stragglers(), nil)
	}
	if one, four := diagnose(1), diagnose(4); !reflect.DeepEqual(one, four) {
		t.Errorf("1 worker: %+v\n4 workers: %+v", one, four)
	}
}

// TestLoad compares the number of I/Os in flight with what the job allows: the reads of slow take 1.5 s and its
// writes 0.7 s each, so its queue of 16 is always full.
func TestLoad(t *testing.T) {
	var w Watch
	pass(t, []string{"../../testdata/fio/slow"}, 1, nil, By, &w)
	l := w.Load()
	if l == nil || l.Limit == nil || *l.Limit != 16 || math.Abs(l.Mean-16) > 1.6 {
		t.Errorf("got %+v, want 16 of 16", l)
	}
}

// TestLoadOfPick: only the jobs that are looked at have I/Os in flight.
func TestLoadOfPick(t *testing.T) {
	const folder = "../../testdata/fio/cluster"
	all := diagnosePath(t, folder)
	one := diagnosePath(t, folder, all.run.Logs[0].Host)
	if a, b := all.Load(), one.Load(); *b.Limit >= *a.Limit {
		t.Errorf("%v of %v for one host, %v of %v for all", b.Mean, *b.Limit, a.Mean, *a.Limit)
	}
}
