package runsource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/summary"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// SummaryRows returns the rows of all runs that the paths of logs name, with the percentiles of its settings and those
// that metrics need.
func SummaryRows(ctx context.Context, logs Logs, es *Elasticsearch, metrics []fio.Metric, u *ui.UI) (
	[]summary.Row, error) {
	settings := &logs.Config.Settings
	settings.Percentiles, settings.By = slices.Clone(settings.Percentiles), slices.Clone(settings.By)
	for _, m := range metrics {
		if m.Percentile > 0 && !slices.Contains(settings.Percentiles, m.Percentile) {
			settings.Percentiles = append(settings.Percentiles, m.Percentile)
		}
	}
	if !slices.Contains(settings.By, "direction") {
		settings.By = append(settings.By, "direction")
	}
	r := Reader{Logs: &logs, Elasticsearch: es, UI: u}
	defer r.Close()
	var rows []summary.Row
	without, timeless := 0, 0
	logs.Config.WholeRun = true
	err := r.Each(ctx, logs.Paths, Runs{
		Split: true,
		Run: func(name string) pipeline.Sink {
			return &summary.Collector{Name: name, By: settings.By, To: func(more []summary.Row) {
				rows = append(rows, more...)
			}}
		},
		Totals: func(t *ingest.Totals) error {
			if logs.Config.Pick.Timed() {
				timeless++
				return nil
			}
			more, bins, err := summary.FromTotals(t, settings.Kind, settings.By, settings.Percentiles,
				&logs.Config.Pick)
			if rows = append(rows, more...); err == nil && !bins {
				without++
			}
			return err
		},
	})
	if timeless > 0 {
		u.Say("warning", "%s left out, since there is only fio's JSON, which has no times of I/Os: leave out "+
			"--from and --to", runs(timeless, "is", "are"))
	}
	if without > 0 {
		u.Say("warning", "%s no percentiles, since fio's JSON has no histograms: run fio with --output-format=json+",
			runs(without, "has", "have"))
	}
	if err == nil && len(rows) == 0 && (logs.Failed == nil || len(*logs.Failed) == 0) {
		err = &fio.ParseError{File: strings.Join(logs.Paths, ", "), Msg: "no I/O found"}
	}
	return rows, err
}

// runs formats a number of runs, with the verb for one or for more.
func runs(n int, one, more string) string {
	if n == 1 {
		return "1 run " + one
	}
	return fmt.Sprintf("%d runs %s", n, more)
}
