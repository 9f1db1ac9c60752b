package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/esmodeltest"
)

// slowReads writes a log of 40 s with a record of 500 reads of about 20 us each 100 ms, in which one read took 6.3 ms
// in every third of the first 3 n records.
func slowReads(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	var log strings.Builder
	for k := range 400 {
		slow := 0
		if k%3 == 1 && k < 3*n {
			slow = 1
		}
		none := func(n int) string { return strings.Repeat(", 0", n) }
		fmt.Fprintf(&log, "%d, 0, 4096%s, 500%s, %d%s\n", (k+1)*100, none(600), none(519), slow, none(1856-1121))
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "made_clat_hist.1.log"), []byte(log.String()), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "made.fio"), []byte("[made]\nrw=randread\nwrite_hist_log=made\n"+
			"log_hist_msec=100\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// outlierEvents returns the events of outliers of a run, by their time.
func outlierEvents(t *testing.T, es, prefix, run string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, doc := range documentsIn(t, es, prefix+"-event-*", run) {
		if object(doc, "event")["action"] == esmodel.ActionOutlier {
			out[doc["@timestamp"].(string)] = doc
		}
	}
	return out
}

// TestOutlierEvents: the longest outliers of a run are events, which go with its generation, and stay at a rollup.
func TestOutlierEvents(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	logs := slowReads(t, 8)
	ingest := func(interval, id, logs string) {
		t.Helper()
		must(t, "ingest", "--es", s.URL, "--yes", "--run-id", id, "--start", "2026-10-31T23:59:59Z", "--interval",
			interval, logs)
	}
	check := func(want ...string) {
		t.Helper()
		got := outlierEvents(t, s.URL, "fio", "few")
		if len(got) != len(want) {
			t.Fatalf("%d outliers, want %d: %v", len(got), len(want), got)
		}
		for _, at := range want {
			doc := got[at]
			if doc == nil {
				t.Fatalf("no outlier at %s: %v", at, got)
			}
			of := object(doc, "outlier")
			if ns, _ := of["latency"].(float64); of["ios"] != 1.0 || ns < 6.2e6 || ns > 6.4e6 ||
				object(doc, "fio")["direction"] != "read" || object(doc, "run")["id"] != "few" {
				t.Errorf("%v", doc)
			}
		}
		own := ownDocument(t, s.URL, "fio", "few")
		if n := object(own, "outliers"); n["found"] != float64(len(want)) || n["ios"] != float64(len(want)) ||
			object(own, "run")["status"] != "complete" {
			t.Errorf("%v, want %d", n, len(want))
		}
	}
	times := []string{"2026-10-31T23:59:59.100Z", "2026-10-31T23:59:59.400Z", "2026-10-31T23:59:59.700Z",
		"2026-11-01T00:00:00.000Z", "2026-11-01T00:00:00.300Z", "2026-11-01T00:00:00.600Z", "2026-11-01T00:00:00.900Z",
		"2026-11-01T00:00:01.200Z"} // in two months
	ingest("100ms", "few", logs)
	check(times...)
	ingest("100ms", "few", logs)
	check(times...)
	must(t, "rollup", "--es", s.URL, "few", "--interval", "2s")
	check(times...)
	ingest("10s", "few", logs) // all in one interval
	if got := outlierEvents(t, s.URL, "fio", "few"); len(got) != 1 {
		t.Errorf("%d outliers are left, want one of 8 reads: %v", len(got), got)
	}
	must(t, "delete", "--es", s.URL, "--yes", "few")
	if got := outlierEvents(t, s.URL, "fio", "few"); len(got) != 0 {
		t.Errorf("of a deleted run: %v", got)
	}
	ingest("100ms", "many", slowReads(t, 130))
	own := object(ownDocument(t, s.URL, "fio", "many"), "outliers")
	if got := outlierEvents(t, s.URL, "fio", "many"); len(got) != 100 || own["found"] != 130.0 {
		t.Errorf("%d events of %v outliers, want 100 of 130", len(got), own)
	}
}
