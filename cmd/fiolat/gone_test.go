package main

import (
	"encoding/json"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
)

// TestDeletedMonth: of a run whose month was deleted, runs and summary have the figures of its document, and report
// says what is gone.
func TestDeletedMonth(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	must(t, "ingest", "--es", s.URL, "--run-id", "R", "--start", "2026-03-01T00:00:00Z", real+"/exact")
	summary := func() (rows []any) {
		t.Helper()
		code, stdout, stderr := fiolat(t, nil, "summary", "--es", s.URL, "--format", "json", "--percentiles", "50,99",
			"R")
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &rows); err != nil || len(rows) < 2 {
			t.Fatal(rows, err)
		}
		for _, row := range rows {
			for _, name := range []string{"ci", "ci_at_least", "seconds"} { // of independent I/Os, and of documents
				delete(row.(map[string]any), name)
			}
		}
		return rows
	}
	before := summary()
	if _, stdout, _ := fiolat(t, nil, "runs", "--es", s.URL); strings.Contains(stdout, "figures only") {
		t.Error(stdout)
	}
	for _, kind := range []string{"histogram", "percentiles"} {
		s.Drop("fio-" + kind + "-2026.03")
	}
	after := summary()
	if d := near("", after, before); d != "" {
		t.Error(d)
	}
	_, stdout, _ := fiolat(t, nil, "runs", "--es", s.URL)
	if !strings.Contains(stdout, "figures only") {
		t.Error(stdout)
	}
	refused(t, exitInput, []string{"0 leaves are stored", "lifecycle policy", "fiolat runs, summary"}, "report", "-o",
		t.TempDir()+"/r.html", "--es", s.URL, "R")
	refused(t, exitInput, []string{"0 leaves are stored"}, "summary", "--es", s.URL, "--from", "1", "R")
}
