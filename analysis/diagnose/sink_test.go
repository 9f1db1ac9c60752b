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
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
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

// rows keeps those of each interval, by its time.
type rows struct {
	pipeline.Discard
	run *pipeline.Run
	at  map[int64][]pipeline.Row
}

func (r *rows) Begin(_ context.Context, run *pipeline.Run) error {
	r.run, r.at = run, map[int64][]pipeline.Row{}
	return nil
}

func (r *rows) Interval(_ context.Context, q *pipeline.Interval) error {
	at := r.run.Start + q.Offset
	r.at[at] = append(r.at[at], slices.Clone(q.Rows)...)
	return nil
}

func (r *rows) Late(ctx context.Context, q *pipeline.Interval) error { return r.Interval(ctx, q) }

// TestTail compares what documents say of each interval of each host, job and log, with the runs that have all logs but
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
				want := p99Of(rest.at[at], r.Dims.Direction)
				name := fmt.Sprintf("%s at %d: %s, %s", filepath.Base(folder), at, key, r.Dims.Direction)
				if compared++; want == nil && r.TailPart.Without != -1 {
					t.Errorf("%s: without is %v, and there are no others", name, r.TailPart.Without)
				} else if want != nil && *want < longest(rest.at[at], r.Dims.Direction) { // not cut to whole I/Os
					same(t, name, &r.TailPart.Without, want)
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("compared only %d", compared)
	}
}

// p99Of is that of a direction, or of all, in the rows of an interval; nil without I/O.
func p99Of(of []pipeline.Row, direction string) *float64 {
	for i := range of {
		if r := &of[i]; (r.Scope == "run" || r.Scope == "direction") && r.Dims.Direction == direction &&
			!r.Stats.Empty() {
			return &r.Stats.Percentiles[slices.Index(Percentiles, pipeline.TailPercentile)]
		}
	}
	return nil
}

// longest is the maximum of a direction, or of all, in the rows of an interval.
func longest(of []pipeline.Row, direction string) float64 {
	for i := range of {
		if r := &of[i]; (r.Scope == "run" || r.Scope == "direction") && r.Dims.Direction == direction {
			return r.Stats.Max
		}
	}
	return 0
}

// TestWithout compares the percentiles of all, and of all but a host, job or log, with those of runs that have these
// logs only.
func TestWithout(t *testing.T) {
	folders, _ := filepath.Glob("../../testdata/fio/*")
	compared := 0
	for _, folder := range folders {
		var w Watch
		all := pass(t, []string{folder}, 2, nil, By, &w)
		var second secondPass
		second.board = w.board
		for _, g := range w.board.groups {
			for v := range g.names {
				second.hits = append(second.hits, hit{who: who{group: g, members: []int{v}},
					when: when{window: window{0, w.board.blocks()}}, direction: g.direction, shape: level{}})
			}
		}
		pass(t, []string{folder}, 2, nil, By, &second)
		rest := map[string]*pipeline.Summary{}
		for i := range second.hits {
			h := &second.hits[i]
			f := w.finding(h, 1)
			if f.P99Without == nil {
				continue
			}
			d, who := h.group.dimension, f.Who[0]
			key := f.Dimension + who
			if rest[key] == nil {
				rest[key] = pass(t, []string{folder}, 2, func(l *ingest.Log) bool {
					return [3]string{l.Host, l.Job, l.LogName}[d] != who
				}, []string{"direction"}, new(rows))
			}
			name := fmt.Sprintf("%s: %s, %s", filepath.Base(folder), key, f.Direction)
			same(t, name, f.P99, percentile(all, f.Direction))
			same(t, name+" without", f.P99Without, percentile(rest[key], f.Direction))
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("compared only %d", compared)
	}
}

func percentile(sum *pipeline.Summary, direction string) *float64 {
	for i := range sum.Total {
		if r := &sum.Total[i]; r.Scope == "direction" && r.Dims.Direction == direction && !r.Stats.Empty() {
			return &r.Stats.Percentiles[slices.Index(Percentiles, 99)]
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
		return w.Diagnose()
	}
	if one, four := diagnose(1), diagnose(4); !reflect.DeepEqual(one, four) {
		t.Errorf("1 worker: %+v\n4 workers: %+v", one, four)
	}
}

// TestLoad: the reads of slow take 1.5 s and its writes 0.7 s each, so its queue of 16 is full; of the cluster a host
// has a part.
func TestLoad(t *testing.T) {
	for _, c := range []struct{ folder, host, want string }{
		{"../../testdata/fio/slow", "", "On average 15.9 of at most 16 I/Os were in flight."},
		{"../../testdata/fio/cluster", "", "On average 0.361 of at most 4 I/Os were in flight."},
		{"../../testdata/fio/cluster", "127.0.0.2", "On average 0.187 of at most 2 I/Os were in flight."},
	} {
		var hosts []string
		if c.host != "" {
			hosts = []string{c.host}
		}
		if got := diagnosePath(t, c.folder, hosts...).load(); got == nil || got.Text != c.want {
			t.Errorf("%s %s: %+v", c.folder, c.host, got)
		}
	}
}

func TestSetsLoad(t *testing.T) {
	for _, c := range []struct {
		name, value string
		read, write bool
	}{
		{"iodepth", "16", false, false},
		{"rate_iops", "100", true, true},
		{"rate_iops", "100,", true, false},
		{"rate_iops", ",0", false, false},
		{"rate", ",2m", false, true},
		{"thinktime", "0", false, false},
		{"thinktime", "1ms", true, true},
	} {
		log := &pipeline.Log{Log: &ingest.Log{Entry: &fiojson.Entry{Options: map[string]string{c.name: c.value}},
			Meta: &fiojson.Document{}}}
		if read, write := setsLoad(log, 0), setsLoad(log, 1); read != c.read || write != c.write {
			t.Errorf("%+v: %v, %v", c, read, write)
		}
	}
	if setsLoad(&pipeline.Log{}, 0) {
		t.Error("of a stored run nothing is known")
	}
}

// TestCourses: another course begins where a job begins or ends, be it by one log of several, or while it stands still.
func TestCourses(t *testing.T) {
	t.Parallel()
	const n = 30
	span := func(from, to int) []bool {
		of := make([]bool, n)
		for k := from; k < to; k++ {
			of[k] = true
		}
		return of
	}
	type log struct {
		job            string
		whole, stalled []bool
	}
	for _, tt := range []struct {
		name string
		logs []log
		want []window
	}{
		{"one job", []log{{"a", span(0, n), span(0, 0)}}, []window{{0, n}}},
		{"one after the other", []log{{"a", span(0, 10), span(0, 0)}, {"b", span(10, n), span(0, 0)}},
			[]window{{0, 10}, {10, n}}},
		{"the second log is longer", []log{{"a", span(0, 10), span(0, 0)}, {"a", span(0, 20), span(0, 0)}},
			[]window{{0, 20}}},
		{"the first log is longer", []log{{"a", span(0, 20), span(0, 0)}, {"a", span(5, 10), span(0, 0)}},
			[]window{{0, 20}}},
		{"stalled at its end", []log{{"a", span(0, 10), span(10, 20)}}, []window{{0, 20}}},
		{"stalled at its start", []log{{"a", span(10, 20), span(0, 10)}}, []window{{0, 20}}},
	} {
		w := &Watch{run: &pipeline.Run{}, board: newBoard(fiohist.Fio3, 0, second)}
		w.board.intervals = n
		all := &times{}
		for _, l := range tt.logs {
			all.add(&pipeline.Log{Log: &ingest.Log{Job: l.job}}, l.whole, l.stalled, false)
		}
		var got []window
		for _, c := range w.courses("read", all, func(int) member { return member{} }) {
			got = append(got, c.window)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
