package report

import (
	"testing"
	"time"

	"fiolat/analysis/history"
	"fiolat/fio"
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

// TestHistoryAxis: the picture's axis holds all values and confidence limits of the runs; on its logarithm there is no
// place for 0 and less.
func TestHistoryAxis(t *testing.T) {
	t.Parallel()
	ns := func(v float64) *float64 { return &v }
	r := &history.Result{Runs: []history.Point{{Value: ns(2e5)}, {}, {Value: ns(3e7), Limits: fio.Limits{Low: ns(-5),
		High: ns(9e7)}}, {Value: ns(0)}}}
	y := historyPanel(&history.Series{Unordered: true}, r).Y
	if !y.Log || !(y.Min > 0 && y.Min < 2e5 && y.Min > 1e5 && y.Max > 9e7 && y.Max < 2e8) {
		t.Errorf("from %g to %g", y.Min, y.Max)
	}
}
