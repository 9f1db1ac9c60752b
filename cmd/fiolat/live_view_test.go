package main

import (
	"bytes"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// TestViewLate: a direction that begins late has no lines for the time before, and its sparkline begins with that time.
func TestViewLate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newLiveView(&ui.UI{Stderr: &out})
	run := &pipeline.Run{ID: "r", Interval: 1e9, Percentiles: []float64{50}}
	run.Settings.By = []string{"direction"}
	row := func(direction string, ios float64) pipeline.Row {
		r := pipeline.Row{Scope: "direction", Dims: fio.Dims{Direction: direction}, Covered: 1e9}
		r.Stats = fiohist.Stats{Samples: ios, Percentiles: []float64{1e6}}
		return r
	}
	whole := pipeline.Row{Scope: "run", Covered: 1e9}
	for _, err := range []error{
		v.Begin(t.Context(), run),
		v.Interval(t.Context(), &pipeline.Interval{Rows: []pipeline.Row{whole, row("read", 9)}}),
		v.Interval(t.Context(), &pipeline.Interval{Offset: 1e9, Rows: []pipeline.Row{{Scope: "run"}}}), // nothing ran
		v.Late(t.Context(), &pipeline.Interval{Rows: []pipeline.Row{row("write", 0)}}),
		v.Late(t.Context(), &pipeline.Interval{Offset: 1e9, Rows: []pipeline.Row{{Scope: "direction",
			Dims: fio.Dims{Direction: "write"}}}}),
		v.Interval(t.Context(), &pipeline.Interval{Offset: 2e9,
			Rows: []pipeline.Row{whole, row("read", 9), row("write", 9)}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(out.String(), "\n"); got != 3 || strings.Count(out.String(), "write") != 1 {
		t.Errorf("%d lines, want that of the run and two of intervals:\n%s", got, out.String())
	}
	if got := sparkline(v.past["write"]); len(v.past["write"]) != 2 || !strings.HasPrefix(got, "·") {
		t.Errorf("writes are drawn as %q", got)
	}
}
