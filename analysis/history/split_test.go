package history

import (
	"testing"
	"time"

	"fiolat/ingest/fiojson"
)

// TestSplitOrder: series are sorted by name, those of one name by their first run, and the runs of each by start and
// id.
func TestSplitOrder(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC) }
	const older, newer fiojson.Sameness = "direct=0", "direct=1"
	got := ""
	for _, s := range Split([]Run{
		{ID: "g", Workload: "write", Start: at(1)}, {ID: "f", Workload: "read", Start: at(9), Sameness: newer},
		{ID: "e", Workload: "read", Start: at(8), Sameness: newer},
		{ID: "b", Workload: "read", Start: at(5), Sameness: older},
		{ID: "a", Workload: "read", Start: at(5), Sameness: older},
	}) {
		for _, r := range s.Runs {
			got += r.ID
		}
		got += " "
	}
	if got != "ab ef g " {
		t.Errorf("series %q", got)
	}
}
