package main

import (
	"path/filepath"
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

// TestDeleteNoteInRedMonth: a note can have any time, so it may be in a month that cannot be read and that is none of
// the run's. Deleting the run says so, and again by its id when that month is back removes the note.
func TestDeleteNoteInRedMonth(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	on := func(args ...string) (stderr string) {
		t.Helper()
		code, _, stderr := fiolat(t, nil, append([]string{args[0], "--es", s.URL, "--max-wait", "1s"}, args[1:]...)...)
		if code != exitOK {
			t.Fatalf("%s: exit %d\n%s", args, code, stderr)
		}
		return stderr
	}
	on("ingest", "--run-id", "noted", real+"/randrw")
	on("annotate", "--at", "2024-02-03T00:00:00Z", "noted", "firmware of 2024")
	const month = "fio-event-2024.02"
	s.SetRed(month, true)
	on("ingest", "--run-id", "noted", "--run-name", "renamed", real+"/randrw")
	on("label", "noted", "a=b")
	on("rollup", "--interval", "10s", "noted")
	on("report", "-o", filepath.Join(t.TempDir(), "x.html"), "noted")
	on("annotate", "--at", "+1s", "noted", "another")
	if stderr := on("delete", "--yes", "noted"); !strings.Contains(stderr, month) ||
		!strings.Contains(stderr, "notes on what is deleted may be left there") {
		t.Errorf("nothing is said of the note:\n%s", stderr)
	}
	s.SetRed(month, false)
	if n := len(s.Docs(month)); n != 1 {
		t.Fatalf("%d notes in the month that could not be read, want 1", n)
	}
	on("delete", "--yes", "noted")
	if n := len(s.Docs("fio-*")); n != 0 {
		t.Errorf("%d documents are left", n)
	}
}
