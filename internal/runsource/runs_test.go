package runsource

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// reader reads with the defaults, and what it says into said.
func reader(c *client.Client) (r *Reader, said *bytes.Buffer) {
	said = &bytes.Buffer{}
	return &Reader{Logs: &Logs{Command: "summary", Config: plan.Config{Settings: fio.Defaults()},
		Kinds: Kinds{List: []fio.Kind{fio.Clat}}}, Elasticsearch: &Elasticsearch{Prefix: "fio",
		Addresses: []string{"http://stand-in"}}, UI: ui.New(strings.NewReader(""), said, said), Client: c}, said
}

// store ingests a run of 60 reads in two seconds; change may change it before.
func store(t *testing.T, w delivery.Writer, id string, change ...func(*pipeline.Run)) *pipeline.Run {
	t.Helper()
	run := esmodeltest.Run()
	run.ID, run.Name, run.Settings = id, "one", fio.Defaults()
	run.Settings.By = []string{fio.ByDirection, fio.ByHost}
	run.Logs = run.Logs[:1]
	run.Logs[0].End, run.Metas = 2e9, nil
	for _, f := range change {
		f(run)
	}
	h := new(fiohist.Hist)
	h.Add(300, 50)
	h.Add(700, 10)
	row := pipeline.Row{Scope: "run", Dims: fio.Dims{Direction: "read"}, Hist: h, IOPS: 30, IOPSKnown: true,
		Covered: 2e9, Stats: h.Stats(run.Geometry, run.Percentiles, fiohist.Limits{})}
	leaf := pipeline.Leaf{Dims: fio.Dims{Host: "alpha", Job: "job1", Direction: "read"}, Hist: h, Logs: 1}
	sum := &pipeline.Summary{Intervals: 1, End: 2e9, Total: []pipeline.Row{row},
		Account: pipeline.Account{Logs: 1, Logged: 60}}
	s := delivery.NewSink(w, delivery.SinkOptions{})
	err := s.Begin(t.Context(), run)
	if err == nil {
		err = s.Interval(t.Context(), &pipeline.Interval{Leaves: []pipeline.Leaf{leaf}, Rows: []pipeline.Row{row}})
	}
	if err == nil {
		err = s.End(t.Context(), sum)
	}
	if err = s.Close(t.Context(), err); err != nil {
		t.Fatal(err)
	}
	return run
}

// Of a run whose intervals were deleted the document has the sums, and nothing else.
func TestSumsOfADocument(t *testing.T) {
	t.Parallel()
	s, c := clienttest.StandIn(t)
	w, err := delivery.NewBulkWriter(c, delivery.BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	store(t, w, "a")
	for _, d := range s.Docs("fio-histogram-*") {
		s.Drop(d.Index)
	}
	for _, tt := range []struct {
		name    string
		change  func(*Reader)
		samples float64 // 0: the run is gone
	}{
		{"sums", func(*Reader) {}, 60},
		{"of its direction", func(r *Reader) { r.Logs.Config.Pick.Directions = []string{"read"} }, 60},
		{"of another direction", func(r *Reader) { r.Logs.Config.Pick.Directions = []string{"write"} }, -1},
		{"of hosts", func(r *Reader) { r.Logs.Config.Settings.By = []string{fio.ByHost} }, 0},
		{"of one host", func(r *Reader) { r.Logs.Config.Pick.Hosts = []string{"alpha"} }, 0},
		{"of one job", func(r *Reader) { r.Logs.Config.Pick.Jobs = []string{"job1"} }, 0},
		{"of a time", func(r *Reader) { r.Logs.Config.Pick.From = &pipeline.Moment{Since: time.Second} }, 0},
	} {
		r, said := reader(c)
		tt.change(r)
		rows, err := r.SummaryRows(t.Context(), []string{"a"}, nil)
		gone := errors.As(err, new(*replay.GoneError))
		switch {
		case tt.samples > 0 && (err != nil || len(rows) != 1 || rows[0].Samples != tt.samples || *rows[0].IOPS != 30 ||
			*rows[0].Seconds != 2 || !strings.Contains(said.String(), "intervals were deleted")):
			t.Errorf("%s: %+v, %v, said %s", tt.name, rows, err, said)
		case tt.samples == 0 && (!gone || len(rows) > 0), tt.samples < 0 && len(rows) > 0:
			t.Errorf("%s: %+v, %v", tt.name, rows, err)
		}
	}
	// The document goes, too: an error, not a run without rows.
	r, _ := reader(c)
	for run, err := range r.Find(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		for at, name := range []string{"Begin", "Interval", "End"} {
			sink := &failing{at: at}
			if err = run.sums(t.Context(), sink, errors.New("gone")); !errors.Is(err, errFailed) || sink.calls != at+1 {
				t.Errorf("%s fails: %v after %d calls", name, err, sink.calls)
			}
		}
		s.Drop("fio-run")
		if err = run.sums(t.Context(), &Kept{}, errors.New("gone")); !errors.As(err, new(*fio.ParseError)) {
			t.Errorf("the document is deleted: %v", err)
		}
	}
}

// failing is a sink of which one call fails.
type failing struct {
	Kept
	at, calls int
}

var errFailed = errors.New("failed")

func (f *failing) call() error {
	if f.calls++; f.calls == f.at+1 {
		return errFailed
	}
	return nil
}

func (f *failing) Begin(context.Context, *pipeline.Run) error         { return f.call() }
func (f *failing) Interval(context.Context, *pipeline.Interval) error { return f.call() }
func (f *failing) End(context.Context, *pipeline.Summary) error       { return f.call() }

// A run has the same figures from a folder of documents and from Elasticsearch; without its intervals, too.
func TestHistoryOfStored(t *testing.T) {
	t.Parallel()
	s, c := clienttest.StandIn(t)
	w, err := delivery.NewBulkWriter(c, delivery.BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	store(t, w, "a")
	partial := esmodeltest.Run()
	partial.ID = "p"
	if w, err = delivery.NewBulkWriter(c, delivery.BulkConfig{}); err != nil {
		t.Fatal(err)
	}
	half := delivery.NewSink(w, delivery.SinkOptions{})
	if err = half.Close(t.Context(), errors.Join(half.Begin(t.Context(), partial), errors.New("bad"))); err == nil {
		t.Fatal("no error")
	}
	dir := t.TempDir()
	files, err := delivery.NewDirWriter(dir, "fio")
	if err != nil {
		t.Fatal(err)
	}
	store(t, files, "a")
	for _, at := range []string{dir, "a", "deleted", "p"} {
		r, said := reader(c)
		name := at
		if at == "deleted" {
			name = "a"
			for _, d := range s.Docs("fio-histogram-*") {
				s.Drop(d.Index)
			}
		}
		for run, err := range r.Find(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			got, err := run.History(t.Context())
			if at == "p" {
				if got != nil || err != nil {
					t.Errorf("a partial run: %+v, %v", got, err)
				}
				continue
			}
			if err != nil || got.ID != "a" || got.Name != "one" || !got.Start.Equal(time.Unix(0, esmodeltest.At)) ||
				got.RolledUp || len(got.Directions) != 1 || got.Directions["read"].IOPS != 30 ||
				got.Directions["read"].Hist.Sum() != 60 {
				t.Errorf("%s: %+v, %v", at, got, err)
			}
		}
		if strings.Contains(said.String(), "left out: run") != (at == "p") {
			t.Errorf("%s: said %s", at, said)
		}
	}
}

const real = "../../testdata/fio/"

// A run of logs is named by its folder.
func TestHistoryOfLogs(t *testing.T) {
	t.Parallel()
	r, _ := reader(nil)
	run, err := r.One(t.Context(), "one is read", real+"gaps")
	if err != nil {
		t.Fatal(err)
	}
	got, err := run.History(t.Context())
	if err != nil || got.Name != "gaps" || got.Directions["read"] == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where a run is looked for: files first, then Elasticsearch.
func TestLocate(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"logs/x_clat_hist.1.log": "", "docs/fio-run.a.ndjson": "", "empty/y": ""})
	for name, want := range map[string]Place{
		"logs": InLogs, "logs/x_clat_hist.1.log": InLogs, "logs/*.log": InLogs, "logs/x_clat_hist.1.log/y": InLogs,
		"docs": InDirectory, "docs/fio-run.a.ndjson": InLogs, "empty": InLogs, "none": Stored, "none/*.log": Stored,
	} {
		if got := new(Logs).Locate(dir + "/" + name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]Place{"-": InLogs, "label:env=x": Stored, "20260831-a": Stored} {
		if got := new(Logs).Locate(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// Paths of logs are one search, all else is looked for one by one, in order.
func TestGroups(t *testing.T) {
	got := groups([]string{"a", "L1", "b", "L2"}, func(a string) bool { return a[0] == 'L' })
	if want := [][]string{{"L1", "L2"}, {"a"}, {"b"}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q", got)
	}
	if got := groups(nil, func(string) bool { return true }); len(got) != 0 {
		t.Errorf("%q of nothing", got)
	}
}

// A command that needs one run says which there are; what no run is called is an error that says where to look.
func TestOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, id := range []string{"a", "b"} {
		w, err := delivery.NewDirWriter(dir, "fio")
		if err != nil {
			t.Fatal(err)
		}
		store(t, w, id)
	}
	r, _ := reader(nil)
	var usage *fio.UsageError
	if _, err := r.One(t.Context(), "one is drawn", dir); !errors.As(err, &usage) ||
		!strings.Contains(err.Error(), "--run-id which of a, b") {
		t.Errorf("two runs: %v", err)
	}
	r.Logs.Config.RunID = "b"
	if run, err := r.One(t.Context(), "one is drawn", dir); err != nil || run.ID != "b" || run.Title != dir {
		t.Errorf("one of them: %+v, %v", run, err)
	}
	r.Elasticsearch.Addresses = nil
	var fault *fio.ParseError
	if _, err := r.One(t.Context(), "one is drawn", "none"); !errors.As(err, &fault) || fault.File != "none" {
		t.Errorf("no run: %v", err)
	}
	r.Logs.Kinds.List = []fio.Kind{fio.Slat}
	run, err := r.One(t.Context(), "one is drawn", dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = run.Open(t.Context()); !errors.As(err, &fault) || fault.Hint != "pass --kind clat" {
		t.Errorf("another kind of latency: %v", err)
	}
}

// Memory is bounded where there is much to hold, and time is saved where there is little; GOGC decides if it is set.
func TestCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, tt := range []struct {
		name, gogc, command string
		json                bool
		want                int
	}{
		{"few logs", "", "percentiles", false, gcFewLogs},
		{"few logs to ingest", "", "ingest", false, 100},
		{"few logs, and JSON to read with them", "", "percentiles", true, 100},
		{"told", "50", "percentiles", false, 100},
	} {
		t.Setenv("GOGC", tt.gogc)
		debug.SetGCPercent(100)
		dir := testkit.Files(t, map[string]string{
			"x_clat_hist.1.log": "1000, 0, 4096" + strings.Repeat(", 0", 1855) + ", 1\n"})
		if tt.json {
			testkit.Write(t, dir, "x.json", `{"fio version":"fio-3.36","jobs":[{"jobname":"x",`+
				`"job options":{"write_hist_log":"x"}}]}`)
		}
		o := &Logs{Command: tt.command, Paths: []string{dir}, Config: plan.Config{Settings: fio.Defaults()}}
		runs, err := o.Discover(ui.New(nil, &bytes.Buffer{}, &bytes.Buffer{}), fio.Clat, false)
		if got := debug.SetGCPercent(100); err != nil || len(runs) != 1 || got != tt.want {
			t.Errorf("%s: %d, want %d (%d runs, %v)", tt.name, got, tt.want, len(runs), err)
		}
	}
}
