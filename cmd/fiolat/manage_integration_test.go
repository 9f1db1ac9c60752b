//go:build integration

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fiolat/kibana"
)

// withPrefix is a prefix of its own on the real server, whose indices go at the end.
func withPrefix(t *testing.T, name string) (es, prefix string) {
	es, prefix = server(t), fmt.Sprintf("it-%s-%d", name, os.Getpid())
	t.Cleanup(func() {
		var indices map[string]any
		ask(t, "GET", es+"/"+prefix+"-*", "", &indices)
		for name := range indices {
			ask(t, "DELETE", es+"/"+name, "", nil)
		}
		ask(t, "DELETE", es+"/_index_template/"+prefix+"-*", "", nil)
	})
	return es, prefix
}

// TestServerManage lists, compares, notes on and deletes runs in the real Elasticsearch.
func TestServerManage(t *testing.T) {
	es, prefix := withPrefix(t, "manage")
	on := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := fiolat(t, nil, append([]string{args[0], "--es", es, "--index-prefix", prefix},
			args[1:]...)...)
		if code != want {
			t.Fatalf("%v: exit %d, want %d\n%s", args, code, want, stderr)
		}
		return stdout, stderr
	}
	base, slower := madeRun(t, 1, 100*time.Microsecond), madeRun(t, 2, 120*time.Microsecond)
	on(exitOK, "ingest", "--start", "2026-01-31T23:59:00Z", "--run-id", "r1", "--run-name", "nightly", "--label",
		"cluster=b7", base)
	on(exitOK, "ingest", "--start", "2026-02-02T00:00:00Z", "--run-id", "r2", "--run-name", "weekly", "--label",
		"cluster=b7", slower)
	on(exitOK, "ingest", "--run-id", "r3", "--run-name", "weekly", "--label", "cluster=c1", real+"/randrw")

	list := func(args ...string) string {
		t.Helper()
		stdout, _ := on(exitOK, append([]string{"runs", "--format", "json"}, args...)...)
		var runs []struct {
			Run struct{ ID, Status string }
			Fio struct{ Version []string }
		}
		if err := json.Unmarshal([]byte(stdout), &runs); err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, r := range runs {
			if r.Run.Status != "complete" {
				t.Errorf("%+v", r)
			}
			ids = append(ids, r.Run.ID)
		}
		return strings.Join(ids, " ")
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"r3 r2 r1", nil},
		{"r2 r1", []string{"--label", "cluster=b7"}},
		{"r2", []string{"--label", "cluster=b7", "--since", "2026-02-01"}},
		{"r1", []string{"--until", "2026-02-01"}},
		{"r3", []string{"--option", "rw=randrw"}},
		{"", []string{"--option", "rw=read"}},
		{"", []string{"--label", "cluster=none"}},
		{"", []string{"--since", "2126-01-01"}},
		{"r3 r2", []string{"week"}},
		{"r3 r2 r1", []string{"nightly", "r3", "weekly"}},
		{"r2", []string{"r2"}},
		{"r2 r1", []string{"cluster=b7"}},
		{"r2", []string{"cluster=b7", "weekly"}},
		{"", []string{"cluster=b7", "cluster=c1"}},
		{"", []string{"eekly"}},
		{"r3 r2", []string{"--last", "2"}},
		{"r2 r3", []string{"--last", "2", "--sort", "start"}},
		{"r1 r2", []string{"--label", "cluster=b7", "--sort", "read p50"}},
		{"r2 r1", []string{"--label", "cluster=b7", "--sort", "-read p50"}},
	} {
		if got := list(tt.args...); got != tt.want {
			t.Errorf("runs %v: %q, want %q", tt.args, got, tt.want)
		}
	}
	table, _ := on(exitOK, "runs", "--label", "cluster=b7")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 1+2 || !strings.Contains(lines[1],
		"weekly") || !strings.Contains(lines[1], "cluster=b7") {
		t.Errorf("two runs with reads and writes in a table:\n%s", table)
	}

	stdout, _ := on(exitOK, "runs", "--size", "--format", "json")
	var sizes struct {
		Runs  []struct{ Bytes int64 }
		Total struct{ Documents, Bytes int64 }
	}
	if err := json.Unmarshal([]byte(stdout), &sizes); err != nil {
		t.Fatal(err)
	}
	var all struct {
		Indices map[string]struct {
			Primaries struct {
				Docs  struct{ Count, Deleted float64 }
				Store struct {
					Bytes float64 `json:"size_in_bytes"`
				}
			}
		}
	}
	ask(t, "GET", es+"/"+prefix+"-*/_stats/docs,store", "", &all)
	var live, bytes float64 // without what deleted documents take
	for _, i := range all.Indices {
		of := i.Primaries
		live += of.Docs.Count
		bytes += of.Store.Bytes * of.Docs.Count / max(1, of.Docs.Count+of.Docs.Deleted)
	}
	if len(sizes.Runs) != 3 || float64(sizes.Total.Documents) != live ||
		math.Abs(float64(sizes.Total.Bytes)-bytes) > 5000 {
		t.Errorf("runs take %+v, indices %v documents and %v bytes", sizes, live, bytes)
	}
	for _, r := range sizes.Runs {
		if r.Bytes < sizes.Total.Bytes/20 {
			t.Errorf("runs of much the same logs take %+v", sizes)
		}
	}

	// A run is found by the short id in the table, and without a name by that of its folder.
	on(exitOK, "ingest", real+"/gaps")
	for line := range strings.Lines(func() string { out, _ := on(exitOK, "runs"); return out }()) {
		if n := utf8.RuneCountInString(line); n > 121 {
			t.Errorf("%d columns: %s", n, line)
		}
		if f := strings.Fields(line); f[2] == "gaps" {
			if len(f[1]) != 8 {
				t.Errorf("the id is not short: %s", line)
			}
			on(exitOK, "label", f[1], "found=by-id")
			on(exitOK, "label", "gaps", "found=by-name")
		}
	}
	if got := list("--label", "found=by-name"); len(got) != 32 {
		t.Errorf("of the label of the run in folder gaps: %q", got)
	}
	on(exitOK, "delete", "--yes", "gaps")
	on(exitUsage, "runs", "--sort", "p999x")
	on(exitUsage, "label", "r1")
	on(exitUsage, "label", "r1", "novalue")
	on(exitInput, "label", "nobody", "a=b")

	// Comparing what is stored, where counts are rounded, is comparing the logs.
	ids := compareJSON(t, exitCompare, "--es", es, "--index-prefix", prefix, "--run-noise", "0%", "--fail-if",
		"read p50 +10%", "nightly", "r2")
	logs := compareJSON(t, exitCompare, "--run-noise", "0%", "--fail-if", "read p50 +10%", base, slower)
	for i, want := range logs.Comparisons[0].Rows {
		got := ids.Comparisons[0].Rows[i]
		if got.Direction != want.Direction || got.Metric != want.Metric || got.Verdict != want.Verdict ||
			math.Abs(*got.Change-*want.Change) > 1e-4 {
			t.Errorf("stored %+v, logs %+v", got, want)
		}
	}
	if _, stderr := on(exitUsage, "compare", "nightly", "weekly"); !strings.Contains(stderr, "r2") ||
		!strings.Contains(stderr, "r3") {
		t.Errorf("two runs of one name: %s", stderr)
	}
	on(exitInput, "compare", "nightly", "nobody")

	// Notes: one document however often it is noted, with its place in the run.
	on(exitOK, "annotate", "--at", "+90s", "nightly", `osd.12 "down"`)
	on(exitOK, "annotate", "--at", "2026-02-01T00:00:30Z", "r1", `osd.12 "down"`)
	if _, stderr := on(exitOK, "annotate", "--at", "-5s", "r1", "before it began"); !strings.Contains(stderr,
		"not within the run") {
		t.Errorf("a note outside the run: %s", stderr)
	}
	on(exitInput, "annotate", "--at", "+1s", "nobody", "x")
	notes := func() map[string]json.RawMessage { return withoutOutliers(t, es, prefix+"-event-*") }
	found := false
	for _, n := range notes() {
		var d struct {
			Timestamp string `json:"@timestamp"`
			Run       map[string]any
			Labels    map[string]string
			Interval  map[string]float64
			Event     map[string]string
			Message   string
		}
		if err := json.Unmarshal(n, &d); err != nil {
			t.Fatal(err)
		}
		found = found || d.Timestamp == "2026-02-01T00:00:30.000Z" && d.Run["id"] == "r1" &&
			d.Run["name"] == "nightly" && d.Labels["cluster"] == "b7" &&
			d.Interval["offset_ms"] == 90e3 && d.Event["action"] == "note" && d.Message == `osd.12 "down"`
	}
	if n := len(notes()); n != 2 || !found {
		t.Errorf("%d notes, want 2: %s", n, notes())
	}
	// Labels of a run and its notes change, and those of its intervals with another ingest, which keeps them and the
	// name.
	labels := func(pattern, run string) (out map[string]int) {
		out = map[string]int{}
		for _, source := range documents(t, es, prefix+pattern) {
			var d struct {
				Run    struct{ ID, Name string }
				Labels map[string]string
			}
			if err := json.Unmarshal(source, &d); err != nil {
				t.Fatal(err)
			}
			if d.Run.ID == run {
				out[fmt.Sprint(d.Run.Name, d.Labels)]++
			}
		}
		return out
	}
	if _, stderr := on(exitOK, "label", "nightly", "series=n", "cluster=b8"); !strings.Contains(stderr,
		"1 of run, 2 of event") {
		t.Errorf("label: %s", stderr)
	}
	now := "nightlymap[cluster:b8 series:n]"
	if r, e, h := labels("-run", "r1"), labels("-event-*", "r1"), labels("-histogram-*", "r1"); r[now] != 1 ||
		e[now] != 2 || h["nightlymap[cluster:b7]"] == 0 || len(h) != 1 {
		t.Errorf("labels of the run %v, of its notes %v, of its quanta %v", r, e, h)
	}
	// They outlive another ingest, which replaces all else.
	on(exitOK, "ingest", "--interval", "7s", "--start", "2026-01-31T23:59:00Z", "--run-id", "r1", base)
	if r, p := labels("-run", "r1"), labels("-percentiles-*", "r1"); r[now] != 1 || p[now] == 0 || len(p) != 1 {
		t.Errorf("after another ingest: labels of the run %v, of its quanta %v", r, p)
	}
	written := documents(t, es, prefix+"-percentiles-*")
	on(exitOK, "ingest", "--interval", "7s", "--start", "2026-01-31T23:59:00Z", "--run-id", "r1", base)
	if !reflect.DeepEqual(written, documents(t, es, prefix+"-percentiles-*")) {
		t.Error("a third ingest changes documents")
	}
	on(exitOK, "label", "--remove", "series", "r1", "cluster=b7")
	if n := len(notes()); n != 2 {
		t.Errorf("%d notes are left after another ingest, want 2", n)
	}

	// Delete: all of that run and nothing else, over two months.
	kinds := []string{"-run", "-histogram-*", "-percentiles-*", "-event-*"}
	count := func() (of map[string]int) {
		of = map[string]int{}
		for _, kind := range kinds {
			for _, source := range documents(t, es, prefix+kind) {
				var d struct{ Run struct{ ID string } }
				if err := json.Unmarshal(source, &d); err != nil {
					t.Fatal(err)
				}
				of[kind+" "+d.Run.ID]++
			}
		}
		return of
	}
	before := count()
	on(exitUsage, "delete", "nightly") // nobody to ask
	on(exitInput, "delete", "--yes", "nobody")
	on(exitUsage, "delete", "--yes", "weekly") // two of them
	if !reflect.DeepEqual(count(), before) {
		t.Fatal("something was deleted")
	}
	// As an interrupted delete leaves it: without the run's own document.
	for id, source := range documents(t, es, prefix+"-run") {
		if strings.Contains(string(source), `"id":"r2"`) {
			ask(t, "DELETE", es+"/"+prefix+"-run/_doc/"+id+"?refresh=true", "", nil)
		}
	}
	on(exitOK, "delete", "--yes", "r2")
	_, stderr := on(exitOK, "delete", "--yes", "nightly")
	want := fmt.Sprintf("1 of run, %d of histogram, %d of percentiles, 2 of event", before["-histogram-* r1"],
		before["-percentiles-* r1"])
	if !strings.Contains(stderr, want) {
		t.Errorf("want %q in %s", want, stderr)
	}
	for key := range before {
		if !strings.HasSuffix(key, " r3") {
			delete(before, key)
		}
	}
	if after := count(); !reflect.DeepEqual(after, before) {
		t.Errorf("left are %v, want %v", after, before)
	}
	on(exitInput, "delete", "--yes", "nightly")
}

// Groups of stored runs by their label are the groups of the same runs' logs, in the same table, and again when the
// server is asked again.
func TestServerCompareLabels(t *testing.T) {
	es, prefix := withPrefix(t, "compare-labels")
	groups := []string{"before=", "after="}
	for n := range 6 {
		dir := madeRun(t, uint64(n+1), time.Duration(100+20*(n%2))*time.Microsecond)
		build := fmt.Sprintf("19.%d", n%2+1)
		must(t, "ingest", "--es", es, "--index-prefix", prefix, "--interval", "1s", "--label", "build="+build,
			"--run-id", fmt.Sprintf("r%d", n), "--start", fmt.Sprintf("2026-01-31T%02d:00:00Z", n), dir)
		groups[n%2] += strings.Repeat(",", min(n/2, 1)) + dir
	}
	for _, format := range []string{"table", "json"} {
		args := []string{"compare", "--interval", "1s", "--format", format, "--fail-if", "read p50 +10%"}
		code, logs, stderr := fiolat(t, nil, append(args, groups...)...)
		if code != exitCompare {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		if format == "json" { // stored counts are rounded
			logs = ""
		}
		for range 2 {
			code, stored, stderr := fiolat(t, nil, append(args, "--es", es, "--index-prefix", prefix,
				"before=label:build=19.1", "after=label:build=19.2")...)
			if code != exitCompare || stored != cmp.Or(logs, stored) {
				t.Errorf("exit %d\n%s\nfrom labels\n%s\nfrom logs\n%s", code, stderr, stored, logs)
			}
			logs = stored
		}
	}
}

// TestServerAlertWindow asks with the search of the rule for SLA breaches, as Kibana makes it, what a rule sees of a
// run that ended long ago: all its breaches when they are stored, or loaded later, and none when that is repeated.
func TestServerAlertWindow(t *testing.T) {
	es, prefix := withPrefix(t, "alert")
	var rule struct {
		Params struct {
			TimeField, EsQuery string
			Index              []string
		}
	}
	var bundle strings.Builder
	if err := kibana.Write(&bundle, prefix); err != nil {
		t.Fatal(err)
	}
	k := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, id, ok := strings.Cut(r.URL.Path, "/api/alerting/rule/")
		switch body, _ := io.ReadAll(r.Body); {
		case ok && strings.Contains(string(body), "sla-breach"):
			if err := json.Unmarshal(body, &rule); err != nil {
				t.Error(err)
			}
			fallthrough
		case ok:
			fmt.Fprintf(w, `{"id":%q}`, id)
		case r.URL.Path == "/api/status":
			io.WriteString(w, `{"version":{"number":"9.2.0"}}`)
		case strings.HasSuffix(r.URL.Path, "/_find"):
			io.WriteString(w, `{"total":0,"saved_objects":[]}`)
		default:
			fmt.Fprintf(w, `{"success":true,"successCount":%d}`, strings.Count(bundle.String(), "\n")-1)
		}
	}))
	defer k.Close()
	on := func(args ...string) {
		t.Helper()
		code, _, stderr := fiolat(t, nil, append([]string{args[0], "--index-prefix", prefix}, args[1:]...)...)
		if code != exitOK {
			t.Fatalf("%v: exit %d\n%s", args, code, stderr)
		}
	}
	t.Setenv("ELASTICSEARCH_URL", "")
	fiolat(t, nil, "setup", "--index-prefix", prefix, "--kibana", k.URL, "--alert-rules")
	if rule.Params.TimeField == "" {
		t.Fatal("no rule was made")
	}
	seen := func(since time.Time) (n int) {
		t.Helper()
		index := strings.Join(rule.Params.Index, ",")
		ask(t, "POST", es+"/"+index+"/_refresh", "", nil)
		var q struct{ Query json.RawMessage }
		if err := json.Unmarshal([]byte(rule.Params.EsQuery), &q); err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"size":0,"query":{"bool":{"filter":[%s,{"range":{%q:{"gte":%q,"lte":%q,`+
			`"format":"strict_date_optional_time"}}}]}},"aggs":{"n":{"value_count":{"field":"run.id"}}}}`, q.Query,
			rule.Params.TimeField, since.UTC().Format(time.RFC3339Nano), time.Now().UTC().Format(time.RFC3339Nano))
		var reply struct {
			Aggregations struct{ N struct{ Value int } }
		}
		ask(t, "POST", es+"/"+index+"/_search", body, &reply)
		return reply.Aggregations.N.Value
	}
	next := func() time.Time { // what is stored from now on has another millisecond
		time.Sleep(2 * time.Millisecond)
		return time.Now().Truncate(time.Millisecond)
	}
	sla := []string{"--sla", "read p99 < 1us", "--sla", "write p50 < 1us", real + "/randrw"}
	ingest := append([]string{"ingest", "--es", es, "--run-id", "batch"}, sla...)
	began := next()
	on(ingest...)
	breaches := seen(began)
	if old := time.Now().Add(-15 * time.Minute); breaches == 0 || seen(old) != breaches {
		t.Errorf("a rule sees %d breaches, %d in its window", breaches, seen(old))
	}
	again := next()
	on(ingest...)
	if n := seen(again); n != 0 || seen(began) != breaches {
		t.Errorf("a repeated ingest alerts %d times, and %d of %d breaches are there", n, seen(began), breaches)
	}
	dir := t.TempDir()
	on(append([]string{"ingest", "--output", dir, "--run-id", "later"}, sla...)...)
	loaded := next()
	on("load", "--es", es, dir)
	if n := seen(loaded); n != breaches {
		t.Errorf("of what was loaded later a rule sees %d breaches, want %d", n, breaches)
	}
	again = next()
	on("load", "--es", es, dir)
	if n := seen(again); n != 0 {
		t.Errorf("a repeated load alerts %d times", n)
	}
	again = next()
	on(append([]string{"ingest", "--es", es, "--run-id", "batch", "--label", "a=b"}, sla...)...)
	if n := seen(again); n != breaches {
		t.Errorf("an ingest with other settings alerts %d times, want %d", n, breaches)
	}
}
