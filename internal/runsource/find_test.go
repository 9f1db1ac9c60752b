package runsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/internal/testkit"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// titles are the titles of runs, by spaces, and the error after them.
func titles(runs iter.Seq2[*Run, error]) (string, error) {
	var out []string
	for run, err := range runs {
		if err != nil {
			return strings.Join(out, " "), err
		}
		name := run.Title
		if run.Totals != nil {
			name = "json:" + filepath.Base(run.Totals.Root)
		}
		out = append(out, name)
	}
	return strings.Join(out, " "), nil
}

// TestFindStored: which runs in Elasticsearch an argument names, the earliest first; what names none is an error that
// says where to look.
func TestFindStored(t *testing.T) {
	t.Parallel()
	_, c := clienttest.StandIn(t)
	for i, id := range []string{"late", "early", "other"} {
		w, err := delivery.NewBulkWriter(c, delivery.BulkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		store(t, w, "nightly-"+id, func(r *pipeline.Run) {
			r.Name, r.Labels = id, map[string]string{"env": "lab"}
			if r.Start -= int64(i) * 3600e9; id == "other" {
				r.Labels = map[string]string{"env": "field"}
			}
		})
	}
	for argument, tt := range map[string]struct{ want, err, says string }{
		"nightly-late":    {"nightly-late", "", "reading    the run"},
		"early":           {"early", "", "reading    the run"},
		"nightly-l":       {"nightly-l", "", "nightly-late"},
		"label:env=lab":   {"nightly-early nightly-late", "", "2 runs of label:env=lab"},
		"label:env=field": {"label:env=field", "", "nightly-other"},
		"label:env=none":  {"", "no run has this label", ""},
		"label:env":       {"", "want label:KEY=VALUE", ""},
		"label:=lab":      {"", "want label:KEY=VALUE", ""},
		"nothing":         {"", "nothing", ""},
		"night":           {"", "there is no such run", ""}, // fewer than six letters
	} {
		r, said := reader(c)
		got, err := titles(r.Find(t.Context(), argument))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %+v", argument, got, err, tt)
		}
		for run, err := range r.Find(t.Context(), argument) {
			if err != nil {
				break
			}
			docs, bad := run.Documents(t.Context())
			f, also := run.Figures(t.Context())
			if bad != nil || also != nil || len(docs) != 1 || docs[0].Run.ID != run.ID || f.Run.ID != run.ID {
				t.Errorf("%s: %v, %v, %d documents, %+v", argument, bad, also, len(docs), f)
			}
		}
		if !strings.Contains(said.String(), tt.says) {
			t.Errorf("%s: said %q, want %q", argument, said, tt.says)
		}
	}
	r, _ := reader(c)
	by := stored.RunFilter{Labels: map[string]string{"env": "lab"}}
	if got, err := titles(r.Filter(t.Context(), by)); got != "nightly-early nightly-late" || err != nil {
		t.Errorf("by a filter: %s, %v", got, err)
	}
	for range r.Filter(t.Context(), by) {
		break // asks for no more
	}
	for range r.Find(t.Context(), "label:env=lab") {
		break
	}
	if _, err := r.One(t.Context(), "one is read", "label:env=lab"); err == nil ||
		!strings.Contains(err.Error(), "found 2 runs, but one is read: name one of nightly-early, nightly-late") {
		t.Errorf("two of a label: %v", err)
	}
	run, err := r.One(t.Context(), "one is read", "nightly-early")
	if err != nil {
		t.Fatal(err)
	}
	of, err := stored.FindRun(t.Context(), c, "fio", "nightly-early")
	if err != nil {
		t.Fatal(err)
	}
	at := esmodeltest.At - int64(time.Hour) + 1500e6
	note := stored.Note{Run: of, At: at, Offset: 1500e6, Text: "cable pulled"}
	if _, err = stored.Annotate(t.Context(), c, "fio", note); err != nil {
		t.Fatal(err)
	}
	sources, done, err := run.Open(t.Context())
	defer done()
	if err != nil || len(sources) != 1 {
		t.Fatal(len(sources), err)
	}
	full, err := run.Diagnosis(t.Context(), sources[0])
	if err != nil || len(full.Notes) != 1 || full.Notes[0].AtMS != 1500 || full.Notes[0].Text != "cable pulled" ||
		full.Reread == nil || full.Kept != nil {
		t.Errorf("notes of a run: %+v, %v", full, err)
	}
}

// TestFindLogs: the runs of paths: those of logs, then with Totals those of which there is only fio's JSON.
func TestFindLogs(t *testing.T) {
	t.Parallel()
	job := func(n, errno int) string {
		return fmt.Sprintf(`{"fio version":"fio-3.36","timestamp_ms":1795225577000,"jobs":[{"jobname":"j","error":%d,`+
			`"read":{"total_ios":%d,"runtime":1000,"clat_ns":{"N":%d,"min":5,"max":9,"bins":{"7":%d}}}}]}`, errno, n,
			n, n)
	}
	record := "1000, 0, 4096" + strings.Repeat(", 3", 1856) + "\n"
	dir := testkit.Files(t, map[string]string{"a/x_clat_hist.1.log": record, "b/x_clat_hist.1.log": record + record,
		"c/fio.json": job(4, 0), "d/fio.json": job(0, 5), "e/a/x_clat_hist.1.log": record, "e/c/fio.json": job(4, 0)})
	for _, tt := range []struct {
		name   string
		change func(*Reader)
		paths  []string
		want   string // titles
		failed int
		says   string
	}{
		{"logs", func(*Reader) {}, []string{"a", "b"}, "a b", 0, ""},
		{"and totals", func(r *Reader) { r.Totals = true }, []string{"a", "c"}, "a json:c", 0, ""},
		{"one that failed", func(r *Reader) { r.Totals, r.Logs.Failed = true, new([]error) }, []string{"a", "d"},
			"a json:d", 1, ""},
		{"one that failed, skipped", func(r *Reader) {
			r.Totals, r.Logs.Failed, r.Logs.Config.Settings.SkipBad = true, new([]error), true
		}, []string{"a", "d"}, "a", 0, "left out: "},
		{"one that failed, without totals", func(r *Reader) { r.Logs.Failed = new([]error) }, []string{"a", "d"}, "a",
			1, ""},
		{"totals beside logs", func(r *Reader) { r.Logs.Failed = new([]error) }, []string{"e"}, "e/a", 0,
			"c: not used: a run of which there is only fio's JSON"},
	} {
		r, said := reader(nil)
		tt.change(r)
		var paths []string
		for _, p := range tt.paths {
			paths = append(paths, filepath.Join(dir, p))
		}
		got, err := titles(r.Find(t.Context(), paths...))
		failed := 0
		if r.Logs.Failed != nil {
			failed = len(*r.Logs.Failed)
		}
		got = strings.ReplaceAll(got, dir+"/", "")
		if err != nil || got != tt.want || failed != tt.failed || !strings.Contains(said.String(), tt.says) ||
			tt.says == "" && said.Len() > 0 {
			t.Errorf("%s: %q, %d failed, %v, said %s", tt.name, got, failed, err, said)
		}
	}
	r, _ := reader(nil)
	r.Totals, r.Rule = true, "--fail-on"
	unmeasured := strings.Replace(job(0, 0), `"total_ios":0`, `"total_ios":9`, 1)
	_, err := titles(r.Find(t.Context(), testkit.Files(t, map[string]string{"fio.json": unmeasured})))
	if err == nil || !strings.Contains(err.Error(), "--fail-on is about them") {
		t.Errorf("a rule without latencies: %v", err)
	}
	o := &Logs{Paths: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}}
	in, err := o.Discover(ui.New(nil, &bytes.Buffer{}, &bytes.Buffer{}), fio.Clat, false)
	if err != nil || Size(in) != int64(3*len(record)) || ReadOnce(in[0].Logs) != "" {
		t.Errorf("%d bytes, %v", Size(in), err)
	}
}

// TestKindsOfRun: all kinds of latency of a run are one run, with one id and one interval; a kind that is missing is an
// error unless all that there are were asked for.
func TestKindsOfRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		kinds Kinds
		path  string
		want  string
		err   string
	}{
		{"all", EveryKind, "latkinds", "clat slat lat", ""},
		{"two", Kinds{List: []fio.Kind{fio.Lat, fio.Clat}}, "latkinds", "lat clat", ""},
		{"all that there are", EveryKind, "gaps", "clat", ""},
		{"one that is not", Kinds{List: []fio.Kind{fio.Slat}}, "gaps", "", "slat"},
	} {
		r, _ := reader(nil)
		r.Logs.Kinds, r.Logs.Config.Settings.Kind = tt.kinds, tt.kinds.List[0]
		run, err := r.One(t.Context(), "one is read", real+tt.path)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil {
			continue
		}
		sources, done, err := run.Open(t.Context())
		var kinds []string
		for _, s := range sources {
			kinds = append(kinds, s.Run.Kind.String())
			if s.Run.ID != sources[0].Run.ID || s.Run.Interval != sources[0].Run.Interval || s.Reread == nil {
				t.Errorf("%s: %v is run %s, want %s", tt.name, s.Run.Kind, s.Run.ID, sources[0].Run.ID)
			}
		}
		if done(); err != nil || strings.Join(kinds, " ") != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, kinds, err, tt.want)
		}
	}
}

// TestConfig: secrets are read from files, and what cannot be read is named by its flag.
func TestConfig(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"pw": " secret \n", "key": "k\n", "ca": "PEM"})
	o := Elasticsearch{User: "me", PasswordFile: dir + "/pw", APIKeyFile: dir + "/key", CACertFile: dir + "/ca"}
	t.Setenv("FIOLAT_ES_PACE", "timeout=20s flush=131072")
	cfg, err := o.Config()
	if err != nil || cfg.Password != "secret" || cfg.APIKey != "k" || string(cfg.CACert) != "PEM" ||
		cfg.MaxWait != -1 || cfg.MaxUnreached != client.ConnectWait ||
		cfg.Timeout != 20*time.Second || cfg.FlushBytes != 131072 {
		t.Errorf("%+v, %v", cfg, err)
	}
	o.MaxWait, o.MaxWaitGiven = time.Minute, true
	if cfg, err = o.Config(); err != nil || cfg.MaxWait != time.Minute || cfg.MaxUnreached != 0 {
		t.Errorf("%v, %v, %v", cfg.MaxWait, cfg.MaxUnreached, err)
	}
	for flag, bad := range map[string]Elasticsearch{"--es-password-file": {PasswordFile: dir + "/none"},
		"--es-api-key-file": {APIKeyFile: dir + "/none"}, "--es-ca-cert": {CACertFile: dir + "/none"}} {
		if _, err := bad.Config(); err == nil || !strings.Contains(err.Error(), flag+":") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for _, pace := range []string{"timeout=soon", "flush=much", "speed=1"} {
		t.Setenv("FIOLAT_ES_PACE", pace)
		if _, err := (&Elasticsearch{}).Config(); err == nil || !strings.Contains(err.Error(), pace) {
			t.Errorf("%s: %v", pace, err)
		}
	}
	t.Setenv("FIOLAT_ES_PACE", "")
	_, _, err = (&Elasticsearch{}).Find(context.Background(), ui.New(nil, &bytes.Buffer{}, &bytes.Buffer{}), "a")
	if err == nil || !strings.Contains(err.Error(), "pass --es URL or set ELASTICSEARCH_URL") {
		t.Errorf("nowhere: %v", err)
	}
}

// TestSyncWarnings: what is said of jobs that sync, where no row shows the syncs.
func TestSyncWarnings(t *testing.T) {
	t.Parallel()
	bins := fiojson.NewBins([]fiojson.Bin{{NS: 1000, Count: 9}, {NS: 900_000, Count: 1}})
	entry := func(job string, n uint64, options ...string) fiojson.Entry {
		e := fiojson.Entry{JobName: job, Options: map[string]string{}}
		for _, o := range options {
			e.Options[o] = "1"
		}
		if n > 0 {
			e.Sync = fiojson.Totals{N: n, Min: 1000, Max: 900_000, Bins: bins}
		}
		return e
	}
	for _, tt := range []struct {
		name    string
		entries []fiojson.Entry
		kind    fio.Kind
		want    []string // parts of a sentence each
	}{
		{"none", []fiojson.Entry{entry("a", 0)}, fio.Clat, nil},
		{"counted", []fiojson.Entry{entry("a", 10, "fsync")}, fio.Clat, []string{
			"10 syncs of a (fsync=1) are in no log"}},
		{"counted, without an option", []fiojson.Entry{entry("a", 10)}, fio.Clat, []string{"the longest 900"}},
		{"not counted", []fiojson.Entry{entry("b", 0, "fdatasync")}, fio.Clat, []string{
			"syncs of b (fdatasync=1) are in no log, and fio's JSON has none"}},
		{"at the end", []fiojson.Entry{entry("c", 0, "end_fsync")}, fio.Clat, []string{
			"the syncs at the end of a job: those of c (end_fsync=1)"}},
		{"all of them, twice", []fiojson.Entry{entry("a", 10, "fsync"), entry("b", 0, "fdatasync"),
			entry("c", 0, "end_fsync"), entry("c", 0, "end_fsync")}, fio.Clat,
			[]string{"10 syncs of a", "of b", "of c (end_fsync=1)"}},
		{"shown", []fiojson.Entry{entry("a", 10, "fsync")}, fio.Sync, nil},
	} {
		run := &pipeline.Run{Kind: tt.kind, Geometry: fiohist.Fio3, Percentiles: []float64{50, 99},
			Metas: []*fiojson.Document{{Version: "fio-3.36", Entries: tt.entries}}}
		said, err := syncWarnings(run)
		if err != nil || len(said) != len(tt.want) {
			t.Errorf("%s: said %q, %v", tt.name, said, err)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(said[i], want) || strings.Count(said[i], "end_fsync") > 1 {
				t.Errorf("%s: said %q, want %q", tt.name, said[i], want)
			}
		}
	}
	for _, tt := range []struct {
		of   []float64
		want int
	}{{nil, -1}, {[]float64{99.9}, -1}, {[]float64{50, 99, 90}, 1}, {[]float64{95, 99.9}, 0}} {
		if got := tailOf(tt.of); got != tt.want {
			t.Errorf("tail of %v: %d, want %d", tt.of, got, tt.want)
		}
	}
}

// TestConfirmIntervals: without a terminal to ask at, far too many intervals are an error unless --yes is passed.
func TestConfirmIntervals(t *testing.T) {
	t.Parallel()
	u := ui.New(strings.NewReader("y\n"), &bytes.Buffer{}, &bytes.Buffer{})
	if ConfirmIntervals(u, true) != nil {
		t.Error("asks, though the answer is known")
	}
	var usage *fio.UsageError
	if err := ConfirmIntervals(u, false)(900, 7); !errors.As(err, &usage) ||
		!strings.Contains(err.Error(), "900 intervals, but is only long enough for 7") {
		t.Errorf("%v", err)
	}
}
