package main

import (
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
)

// TestDeleteSeveral: runs are deleted by name, label and age; who ended less than an hour ago is not old.
func TestDeleteSeveral(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	logs := madeRun(t, 1, 100*time.Microsecond)
	for id, start := range map[string]string{"old": "2026-01-01T00:00:00Z", "older": "2025-01-01T00:00:00Z",
		"other": "2025-01-01T00:00:00Z", "named1": "2025-01-01T00:00:00Z", "named2": "2025-01-01T00:00:00Z",
		"new": time.Now().UTC().Add(-30 * time.Minute).Format(time.RFC3339)} {
		label := "series=a"
		if id == "other" {
			label = "series=b"
		}
		must(t, "ingest", "--es", s.URL, "--start", start, "--run-id", id, "--label", label, "--interval", "10s", logs)
	}
	left := func() (ids []string) {
		for _, id := range []string{"named1", "named2", "new", "old", "older", "other"} {
			if len(documentsIn(t, s.URL, "fio-run", id)) > 0 {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for _, tt := range []struct{ args, left string }{
		{"named1 named2 named1", "new old older other"},
		{"--older-than 0d --label series=b", "new old older"},
		{"--older-than 0d", "new"},
		{"--label series=a", ""},
		{"--older-than 1d", ""},
	} {
		must(t, append([]string{"delete", "--yes", "--es", s.URL}, strings.Fields(tt.args)...)...)
		if got := strings.Join(left(), " "); got != tt.left {
			t.Errorf("delete %s: left are %q, want %q", tt.args, got, tt.left)
		}
	}
	refused(t, exitUsage, []string{"not both"}, "delete", "--yes", "--es", s.URL, "--older-than", "1d", "x")
	refused(t, exitInput, []string{"no such run"}, "delete", "--yes", "--es", s.URL, "x")
}
