package report

import (
	"testing"
	"time"

	"fiolat/analysis/history"
)

// Runs of one day are told by the time.
func TestDayOf(t *testing.T) {
	var s history.Series
	for _, start := range []string{"2026-01-17T02:00:00Z", "2026-01-18T02:00:00Z", "2026-01-18T23:30:00Z"} {
		at, err := time.Parse(time.RFC3339, start)
		if err != nil {
			t.Fatal(err)
		}
		s.Runs = append(s.Runs, history.Run{Start: at})
	}
	for i, want := range []string{"2026-01-17", "2026-01-18 02:00", "2026-01-18 23:30"} {
		if got := dayOf(&s, i); got != want {
			t.Errorf("run %d: %q, want %q", i+1, got, want)
		}
	}
}
