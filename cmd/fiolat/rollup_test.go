package main

import (
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// keptByRollup are the fields of the document of a run that a rollup leaves as they were; limits aside.
var keptByRollup = []string{"diagnosis", "outliers", "sla", "summary", "tail"}

// isFound reports whether a document is an event that a diagnosis found.
func isFound(doc map[string]any) bool {
	action := object(doc, "event")["action"]
	return action == esmodel.ActionStraggler || action == esmodel.ActionOutlier
}

// found returns what a rollup leaves as it was in the document of a run.
func found(t *testing.T, es, prefix, run string) map[string]any {
	t.Helper()
	own := ownDocument(t, es, prefix, run)
	out := map[string]any{"end": object(own, "run")["end"]}
	for _, field := range keptByRollup {
		out[field] = own[field]
	}
	for direction, of := range object(own, "whole") {
		out["limits of "+direction] = of.(map[string]any)["limits"]
	}
	for _, doc := range documentsIn(t, es, prefix+"-event-*", run) {
		if isFound(doc) {
			delete(doc, "run")
			delete(doc, "interval")
			delete(object(doc, "event"), "ingested")
			out[fmt.Sprint(doc)] = true
		}
	}
	return out
}

// rollUpDocs are all documents of a run but its notes, by what they are of, without what names it and what is found.
func rollUpDocs(t *testing.T, es, prefix, run string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, kind := range []string{"-percentiles-*", "-histogram-*", "-event-*"} {
		for _, doc := range documentsIn(t, es, prefix+kind, run) {
			if isFound(doc) {
				continue
			}
			delete(doc, "run")
			// Whole numbers of I/Os: where half of one was rounded up, another last digit rounds it down.
			delete(object(doc, "latency"), "histogram")
			delete(doc, "_doc_count")
			delete(object(doc, "latency"), "buckets") // some may be left out
			if kind == "-percentiles-*" {
				exactOnly(doc)
			}
			key := fmt.Sprint(kind, doc["@timestamp"], doc["scope"], doc["host"], doc["fio"], doc["event"])
			if out[key] != nil {
				t.Fatalf("two documents are of %s", key)
			}
			out[key] = doc
		}
	}
	if len(out) == 0 {
		t.Fatalf("run %s has no documents", run)
	}
	own := ownDocument(t, es, prefix, run)
	delete(own, "rollup")
	delete(object(own, "run"), "title") // has the id
	delete(object(own, "run"), "end")
	for _, field := range keptByRollup {
		delete(own, field)
	}
	for _, of := range object(own, "whole") {
		delete(of.(map[string]any), "limits")
	}
	object(own, "settings")["coarseness"] = nil
	out["run"] = own
	return out
}

// exactOnly removes what depends on the order of I/Os that are near in latency: stored counts are rounded.
func exactOnly(doc map[string]any) {
	for _, of := range []string{"latency", "tail", "concurrency", "at_least"} {
		delete(doc, of)
	}
}

// near says where two values of JSON differ by more than the rounding of stored counts; "" if nowhere.
func near(at string, got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k := range w {
			if least, ok := w[k].(float64); ok && g[k] == nil && least < 0.001 {
				continue
			}
			if strings.HasSuffix(at, ".limits") && g[k] == nil {
				continue // resampled: a rounded count may tell too little
			}
			if d := near(at+"."+k, g[k], w[k]); d != "" {
				return d
			}
		}
		for k := range g {
			if _, ok := w[k]; !ok {
				return at + "." + k + " is too much"
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return fmt.Sprintf("%s: %d elements, want %d", at, len(g), len(w))
		}
		for i := range w {
			if d := near(fmt.Sprint(at, "[", i, "]"), g[i], w[i]); d != "" {
				return d
			}
		}
		return ""
	case float64:
		within := 0.005
		if strings.Contains(at, ".limits.") || strings.Contains(at, ".sla.") || strings.Contains(at, ".ci.") {
			within = 1.0 / 64 // the neighbouring bucket
		}
		if g, ok := got.(float64); ok && math.Abs(g-w) <= within*math.Max(math.Abs(w), 1) {
			return ""
		}
	default:
		if reflect.DeepEqual(got, want) {
			return ""
		}
	}
	return fmt.Sprintf("%s is %v, want %v", at, got, want)
}

func nearDocs(t *testing.T, got, want map[string]map[string]any) {
	t.Helper()
	for key, doc := range want {
		if got[key] == nil {
			t.Fatalf("no document is of %s", key)
		}
		if d := near("", got[key], doc); d != "" {
			t.Fatalf("%s: %s", key, d)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d documents, want %d", len(got), len(want))
	}
}

// What was rolled up is what an ingest with the long interval makes of the same logs. With -short, of two folders with
// each setting.
func TestRollup(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	folders, err := filepath.Glob(real + "/*")
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	settings := []struct {
		name             string
		fine, long, both []string
	}{
		{name: "overlap", fine: []string{"1s"}, long: []string{"4s"}},
		{name: "inflight", fine: []string{"500ms"}, long: []string{"3s"}, both: []string{"--align", "inflight",
			"--grid", "run"}},
		{name: "coarse", fine: []string{"1s"}, long: []string{"2s", "--coarseness", "5"}, both: []string{"--grid",
			"epoch", "--by", "direction,host,job,log", "--sla", "all p50 < 300us", "--sla",
			"read p90 < 1ms for 2 intervals"}},
	}
	if testing.Short() {
		folders = folders[len(folders)-2*len(settings):]
	}
	for i, folder := range folders {
		tt := settings[i%len(settings)]
		name := tt.name + "-" + filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ingest := func(id string, interval []string) {
				args := slices.Concat([]string{"ingest", "--es", s.URL, "--index-prefix", name, "--yes",
					"--run-id", id, "--run-name", "n", "--interval"}, interval, tt.both)
				if !strings.HasSuffix(folder, "/epoch") {
					args = append(args, "--start", "2026-10-31T23:59:50Z")
				}
				must(t, append(args, folder)...)
			}
			ingest("R", tt.fine)
			ingest("W", tt.long)
			finer := found(t, s.URL, name, "R")
			rollup := append([]string{"rollup", "--es", s.URL, "--index-prefix", name, "R", "--interval"}, tt.long...)
			must(t, rollup...)
			nearDocs(t, rollUpDocs(t, s.URL, name, "R"), rollUpDocs(t, s.URL, name, "W"))
			if d := near("", found(t, s.URL, name, "R"), finer); d != "" {
				t.Errorf("not what it was before: %s", d)
			}
			before := documentsIn(t, s.URL, name+"-*", "R")
			must(t, rollup...)
			if !reflect.DeepEqual(documentsIn(t, s.URL, name+"-*", "R"), before) {
				t.Error("the second rollup changed documents")
			}
			refused(t, exitInput, []string{"multiple"}, "rollup", "--es", s.URL, "--index-prefix", name, "R",
				"--interval", "5001ms")
		})
	}
}

// A run that was rolled up is the same as before to compare, and history and runs say what it is.
func TestRolledUp(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	logs := madeRun(t, 1, 100*time.Microsecond)
	for _, id := range []string{"before", "after"} {
		must(t, "ingest", "--es", s.URL, "--start", "2026-10-31T23:59:50Z", "--run-id", id, "--label", "when="+id, logs)
	}
	diagnosed := func() string {
		code, stdout, stderr := fiolat(t, nil, "diagnose", "--es", s.URL, "after")
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return stdout
	}
	finer := diagnosed()
	must(t, "rollup", "--es", s.URL, "--interval", "2s", "--coarseness", "3", "--label", "when=after")
	c := compareJSON(t, exitOK, "--es", s.URL, "--run-noise", "0%", "--margin", "25%", "before", "after")
	checked := 0
	for _, row := range c.Comparisons[0].Rows {
		if strings.HasPrefix(row.Metric, "p") {
			checked++
			if row.Verdict != "same" || math.Abs(*row.Change) > 1e-4 {
				t.Errorf("%+v, change %v, %v to %v: want the same", row, *row.Change, *row.Low, *row.High)
			}
		}
	}
	if checked != 3*5 {
		t.Errorf("%d rows of p50, p90, p95, p99 and p99.9, want 15", checked)
	}
	for _, tt := range []struct {
		command, said, printed string
	}{
		{"history", "rolled up: 1 of 2 runs: ", `"rolled_up":true`},
		{"runs", "2 runs, 1 of them rolled up", `"from_ms": 1000`},
		{"summary after", "intervals of 1s at coarseness 0 became 2s at coarseness 3", `"percentiles":{"50":`},
	} {
		args := append(strings.Fields(tt.command), "--es", s.URL, "--format", "json")
		code, stdout, stderr := fiolat(t, nil, args...)
		if code != exitOK || !strings.Contains(stdout, tt.printed) {
			t.Errorf("%s: exit %d, no %s in\n%s", tt.command, code, tt.printed, stdout)
		}
		if tt.command == "runs" {
			_, _, stderr = fiolat(t, nil, tt.command, "--es", s.URL)
		}
		if !strings.Contains(stderr, tt.said) {
			t.Errorf("%s says %s, want %s", tt.command, stderr, tt.said)
		}
	}
	must(t, "rollup", "--es", s.URL, "--interval", "30s", "after")
	if coarser := diagnosed(); coarser != finer || strings.Contains(finer, "Too short") {
		t.Errorf("the diagnosis was\n%sand is\n%s", finer, coarser)
	}
	must(t, "ingest", "--es", s.URL, "--run-id", "JSON", real+"/exact/fio.json") // one interval of 12.003 s
	must(t, "rollup", "--es", s.URL, "--interval", "1m", "JSON")
}

// Parts are rolled up one by one, and merged again.
func TestRollupParts(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	run := partedRuns(t)["renamed"]
	ingest := func(id, part, interval, dir string) {
		args := append([]string{"ingest", "--start", "2026-10-31T23:59:50Z", "--grid", "epoch", "--run-id", id,
			"--part", part, "--es", s.URL}, run.flags...)
		must(t, append(args, "--interval", interval, dir)...)
	}
	for name, dir := range run.parts {
		ingest("R", name, "2s", dir)
	}
	must(t, "merge", "--es", s.URL, "R")
	ingest("W", "", "6s", run.whole)
	must(t, "rollup", "--es", s.URL, "--interval", "6s", "R")
	rolled, whole := acrossHosts(t, s.URL, "fio", "R"), acrossHosts(t, s.URL, "fio", "W")
	for key := range whole {
		exactOnly(rolled[key])
		exactOnly(whole[key])
	}
	nearDocs(t, rolled, whole)
	got, want := ownDocument(t, s.URL, "fio", "R"), ownDocument(t, s.URL, "fio", "W")
	if d := near("", got["summary"], want["summary"]); d != "" {
		t.Error(d)
	}
}

// Interrupted at any request that writes or deletes, and run again: nothing is lost, nothing is there twice.
func TestRollupInterrupted(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	ingest := func(id, interval string) {
		must(t, "ingest", "--es", s.URL, "--start", "2026-10-31T23:59:50Z", "--run-id", id, "--run-name", "n",
			"--interval", interval, real+"/randrw")
	}
	rollup := []string{"rollup", "--es", s.URL, "--interval", "4s", "R"}
	var left atomic.Int64 // bulk requests until none passes any more
	left.Store(math.MaxInt64)
	s.Inject(esmodeltest.Fault{Times: -1, Status: http.StatusForbidden, Match: func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/_bulk") && left.Add(-1) < 0
	}})
	ingest("W", "4s")
	want := rollUpDocs(t, s.URL, "fio", "W")
	for n := int64(0); ; n++ {
		left.Store(math.MaxInt64)
		ingest("R", "1s")
		left.Store(n)
		code, _, _ := fiolat(t, nil, rollup...)
		left.Store(math.MaxInt64)
		if code == exitOK {
			if n < 4 {
				t.Errorf("a rollup took %d bulk requests", n)
			}
			return
		}
		must(t, rollup...)
		nearDocs(t, rollUpDocs(t, s.URL, "fio", "R"), want)
	}
}

// TestGrain: a rollup is named by what it changes.
func TestGrain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		interval   time.Duration
		coarseness int
		want       string
	}{
		{0, 3, "coarseness 3"},
		{time.Minute, -1, "intervals of 1m0s"},
		{time.Minute, 3, "intervals of 1m0s at coarseness 3"},
	} {
		o := rollupOptions{interval: tt.interval}
		o.to.Interval, o.to.Coarseness = int64(tt.interval), tt.coarseness
		if got := o.grain(); got != tt.want {
			t.Errorf("%v, %d: %q, want %q", tt.interval, tt.coarseness, got, tt.want)
		}
	}
}
