package stored

import (
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
)

// TestMarkGone: only of a complete run, whose months have no index, are its intervals said to be gone.
func TestMarkGone(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	run := esmodeltest.Run() // in August 2026
	if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 4)); err != nil {
		t.Fatal(err)
	}
	const from, to = "2024-02-03T10:00:00Z", "2024-02-03T10:05:00Z"
	for _, tt := range []struct {
		name, id, start string
		end             *string
		status          esmodel.Status
		gone            bool
	}{
		{"deleted month", "old", from, new(to), esmodel.StatusComplete, true},
		{"a month that is there", "new", "2026-08-31T10:00:00Z", new("2026-08-31T10:05:00Z"),
			esmodel.StatusComplete, false},
		{"documents elsewhere", run.ID, from, new(to), esmodel.StatusComplete, false},
		{"without an end", "old", from, nil, esmodel.StatusComplete, false},
		{"without a start", "old", "", new(to), esmodel.StatusComplete, false},
		{"not complete", "old", from, new(to), esmodel.StatusRunning, false},
	} {
		var r RunSummary
		r.Run.ID, r.Run.Start, r.Run.End, r.Run.Status = tt.id, tt.start, tt.end, tt.status
		all := []RunSummary{r}
		if err := MarkGone(t.Context(), c, "fio", all); err != nil || all[0].FiguresOnly != tt.gone {
			t.Errorf("%s: %t, %v; want %t", tt.name, all[0].FiguresOnly, err, tt.gone)
		}
	}
}
