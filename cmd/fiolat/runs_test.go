package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
	"fiolat/report/render"
)

var listedRuns = strings.ReplaceAll(`[
 {"run":{"id":"0123456789abcdef0123456789abcdef","name":"tonight's run after the switch was replaced",
   "status":"complete","start":"2026-11-22T02:00:00.500Z","end":"2026-11-22T02:01:00.500Z"},
  "labels":{"series":"nightly","build":"19.2.1-4-gdeadbeef","cluster":"b7","osds":"240"},"host":{"name":["a","b"]},
  "fio":{"kind":"lat"},"summary":{"all":{"iops":1,"p50":9e9,"p99":9e9,"p99_9":9e9}}},
 {"run":{"id":"0123456789abcdef0123456789abcdef","name":"tonight's run after the switch was replaced",
   "status":"complete","start":"2026-11-22T02:00:00.500Z","end":"2026-11-22T02:01:00.500Z"},
  "labels":{"series":"nightly","build":"19.2.1-4-gdeadbeef","cluster":"b7","osds":"240"},"host":{"name":["a","b"]},
  "fio":{"kind":"clat"},"summary":{"all":{"iops":12345.6,"p50":81234,"p99":1234567,"p99_9":22345678},
   "read":{"iops":10,"p50":1000,"p99":3000,"p99_9":4000}}},
 {"run":{"id":"nightly-7","status":"complete","start":"2026-11-21T02:00:00Z","end":"2026-11-21T02:01:00Z"},
  "host":{},"fio":{"kind":"clat"},"summary":{"all":{"iops":2,"p50":2000,"p99":2000,"p99_9":2000},
   "read":{"iops":10,"p50":1000,"p99":2000,"p99_9":4000}}},
 {"run":{"id":"nightly-6","part":"h1","status":"running","start":"2026-11-20T02:00:00Z"},"host":{"name":["h1"]},
  "fio":{"kind":"clat"},"interval":{"ms":60000},"rollup":{"from_ms":500}}]`,
	`"run":{`, fmt.Sprintf(`"run":{"format_version":%d,`,
		pipeline.FormatVersion))

// runLines lays the table of runs out without a terminal.
func runLines(t *testing.T, rows []runKinds, short map[string]string, sizes map[string]stored.Size, o *runsOptions,
) []string {
	t.Helper()
	var out strings.Builder
	if err := runsTable(rows, short, sizes, o).Print(&out, render.Style{Format: "table", Unit: o.unit}); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// TestTable: a line for each run, with all of it.
func TestTable(t *testing.T) {
	var docs []stored.RunSummary
	if err := json.Unmarshal([]byte(listedRuns), &docs); err != nil {
		t.Fatal(err)
	}
	short := map[string]string{docs[0].Run.ID: "01234567", "nightly-7": "nightly-7", "nightly-6": "nightly-6"}
	lines := runLines(t, perRun(docs), short, nil, &runsOptions{unit: "us"})
	for i, line := range lines {
		for _, number := range [][]string{nil, {"12346", "81.23", "1235", "22346", "clat,lat", "1m0s", "01234567"},
			{"nightly-7"}, {"nightly-6 (h1)", "running", "-"}}[i] {
			if !strings.Contains(line, number) {
				t.Errorf("no %s in %s", number, line)
			}
		}
	}
	auto := runLines(t, perRun(docs), short, nil, &runsOptions{unit: "auto"})
	for _, text := range []string{"p50_us", "p99_ms", " 1.235 "} {
		if !strings.Contains(auto[0]+auto[1], text) {
			t.Errorf("--unit auto: no %q in\n%s\n%s", text, auto[0], auto[1])
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d lines, want the head and 3 runs:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

// TestSizes: each run is counted once, however many parts and kinds it has.
func TestSizes(t *testing.T) {
	var docs []stored.RunSummary
	if err := json.Unmarshal([]byte(strings.ReplaceAll(listedRuns, "nightly-7", "nightly-6")), &docs); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]stored.Size{docs[0].Run.ID: {Documents: 30, Bytes: 1500e3}, "nightly-6": {Documents: 12,
		Bytes: 2e9}, "filtered": {Documents: 1, Bytes: 1}}
	rows := perRun(docs)
	lines := runLines(t, rows, map[string]string{docs[0].Run.ID: "01234567", "nightly-6": "nightly-6"}, sizes,
		&runsOptions{size: true})
	for i, want := range []string{"documents", " 30  1.500 ", " 12   2000 ", " 1m0s (500ms)          -      - "} {
		if !strings.Contains(lines[i]+" ", want) {
			t.Errorf("no %q in %q", want, lines[i])
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d lines, want the head and 3 runs:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	if all := sizesOf(rows, sizes); len(all.Runs) != 2 || all.Total != (stored.Size{Documents: 42, Bytes: 2001500e3}) {
		t.Errorf("%+v", all)
	}
}

func TestOrder(t *testing.T) {
	var docs []stored.RunSummary
	if err := json.Unmarshal([]byte(listedRuns), &docs); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by   string
		down bool
		want string
	}{
		{"", true, "0123 nigh7 nigh6"},
		{"", false, "nigh6 nigh7 0123"},
		{"iops", false, "nigh7 0123 nigh6"},
		{"iops", true, "0123 nigh7 nigh6"},
		{"read p99", true, "0123 nigh7 nigh6"},
		{"read p99.9", true, "0123 nigh7 nigh6"}, // equal: the latest first
	} {
		o := &runsOptions{down: c.down}
		if c.by != "" {
			m, err := fio.ParseMetric(c.by)
			if err != nil {
				t.Fatal(err)
			}
			o.sort = &m
		}
		rows := perRun(docs)
		orderRuns(rows, o)
		var got []string
		for _, r := range rows {
			id := r[0].Run.ID
			got = append(got, id[:4]+strings.TrimPrefix(strings.TrimPrefix(id, "0123456789abcdef0123456789abcdef"),
				"nightly-"))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q, down %v: %s, want %s", c.by, c.down, s, c.want)
		}
	}
}

// A run in the format of another version is named by runs and setup, refused by what reads it, and can be deleted.
func TestRuns_OtherFormat(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	out := t.TempDir()
	for _, id := range []string{"new", "old"} {
		must(t, "ingest", "--es", s.URL, "--run-id", id, "../../testdata/fio/gaps")
	}
	must(t, "ingest", "--output", out, "--run-id", "old", "../../testdata/fio/gaps")
	edit := func(source []byte) []byte {
		return []byte(strings.Replace(string(source), fmt.Sprintf(`"format_version":%d,`, pipeline.FormatVersion), "",
			1))
	}
	for _, d := range s.Docs("fio-run") {
		if strings.Contains(string(d.Source), `"id":"old"`) {
			if status, answer := testkit.Request(t, "PUT", s.URL+"/fio-run/_doc/"+d.ID+"?refresh=true",
				edit(d.Source)); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
		}
	}
	file := out + "/fio-run.old.ndjson"
	source, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, edit(source), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	const named, refused = "1 run stored by another version of fiolat", `run "old": an older fiolat stored it`
	for _, tt := range []struct {
		args []string
		exit int
		want string // on standard error
	}{
		{[]string{"runs", "--es", s.URL}, exitOK, named},
		{[]string{"setup", "--es", s.URL}, exitOK, named},
		{[]string{"summary", "--es", s.URL, "old"}, exitInput, refused},
		{[]string{"percentiles", "--es", s.URL, "old"}, exitInput, refused},
		{[]string{"rollup", "--es", s.URL, "--interval", "1m", "old"}, exitInput, refused},
		{[]string{"percentiles", out}, exitInput, refused},
		{[]string{"load", "--es", s.URL, out}, exitInput, refused},
		{[]string{"percentiles", "--es", s.URL, "new"}, exitOK, ""},
		{[]string{"delete", "--es", s.URL, "--yes", "old"}, exitOK, ""},
		{[]string{"runs", "--es", s.URL}, exitOK, ""},
	} {
		code, stdout, stderr := fiolat(t, nil, tt.args...)
		if code != tt.exit || !strings.Contains(stderr, tt.want) ||
			tt.want == "" && strings.Contains(stderr, "version of fiolat") ||
			tt.args[0] == "runs" && strings.Contains(stdout, "other format") != (tt.want != "") {
			t.Errorf("%v: exit %d\n%s\n%s", tt.args, code, stdout, stderr)
		}
	}
}

// TestRunsByWord: a run is found by the beginning of each word of its name, and by nothing within one.
func TestRunsByWord(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	succeed(t, "ingest", "--es", s.URL, "--run-name", "before (disk swap) é", real+"/gaps")
	for text, found := range map[string]bool{"before": true, "swap": true, "(disk": true, "disk swap": true,
		"wap": false,
		"sw*": false, ".": false, "é": true, strings.Repeat("swap", 100): false} {
		code, stdout, stderr := fiolat(t, nil, "runs", "--es", s.URL, text)
		if code != exitOK || strings.Contains(stdout, "disk swap") != found {
			t.Errorf("%s: exit %d, found: want %v\n%s%s", text, code, found, stdout, stderr)
		}
	}
}

// Before anything is stored, the list of runs says what to do.
func TestNoIndexYet(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	s.Inject(esmodeltest.Fault{Times: -1, Status: http.StatusNotFound, Type: "index_not_found_exception",
		Match: func(r *http.Request) bool { return strings.Contains(r.URL.Path, "none-run,") }})
	refused(t, exitInput, []string{"index none-run: it does not exist", "fiolat setup"}, "runs", "--es", s.URL,
		"--index-prefix", "none")
}
