package runsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fiolat/analysis/figures"
	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// SummaryRows returns the rows of all runs that arguments name, with the percentiles of its settings and those that
// metrics need.
func (r *Reader) SummaryRows(ctx context.Context, arguments []string, metrics []fio.Metric) ([]figures.Row, error) {
	settings := &r.Logs.Config.Settings
	settings.Percentiles, settings.By = slices.Clone(settings.Percentiles), slices.Clone(settings.By)
	for _, m := range metrics {
		if m.Percentile > 0 && !slices.Contains(settings.Percentiles, m.Percentile) {
			settings.Percentiles = append(settings.Percentiles, m.Percentile)
		}
	}
	if !slices.Contains(settings.By, fio.ByDirection) {
		settings.By = append(settings.By, fio.ByDirection)
	}
	r.Logs.Config.WholeRun, r.Totals, r.Percentiles = true, true, settings.Percentiles
	var rows []figures.Row
	add := func(more []figures.Row) { rows = append(rows, more...) }
	without, timeless := 0, 0
	var err error
	var totals []*ingest.JSONRun
	for run, bad := range r.Find(ctx, arguments...) {
		totals = nil
		switch {
		case bad != nil:
			err = bad
		case run.Totals == nil:
			sink := &figures.Collector{Name: run.Title, By: settings.By, To: add}
			var only bool
			only, err = run.ProcessSums(ctx, sink)
			if only {
				r.UI.Warn(fmt.Sprintf("run %s: intervals were deleted; these are the figures of its document, with "+
					"limits of independent I/Os", fio.Printable(run.Title)))
			}
			var unusable *fio.ParseError
			totals = run.useless(err)
			if totals != nil {
				err = nil
			} else if r.Logs.Failed != nil && errors.As(err, &unusable) { // the other runs have rows, too
				r.Logs.leaveOut(r.UI, err)
				err = nil
			}
			totals = append(totals, run.Unlogged()...)
		case r.Logs.Config.Pick.NeedsLogs():
			timeless++
		default:
			totals = append(totals, run.Totals)
		}
		for _, t := range totals {
			if err != nil || r.Logs.Config.Pick.NeedsLogs() {
				break
			}
			var more []figures.Row
			var bins bool
			more, bins, err = figures.FromJSON(t, settings.Kind, settings.By, settings.Percentiles,
				&r.Logs.Config.Pick)
			if add(more); err == nil && !bins {
				without++
			}
			r.warnPercentiles(t, more)
			if i := slices.IndexFunc(more, func(row figures.Row) bool { return row.Unmeasured != "" }); i >= 0 {
				r.UI.Warn(fmt.Sprintf("%s: no latencies: fio measured none, %s", fio.Printable(t.Root),
					more[i].Unmeasured))
			}
		}
		if err != nil {
			break
		}
	}
	if timeless > 0 {
		r.UI.Say("warning", "%s left out, since there is only fio's JSON, which has no times of I/Os and no "+
			"logs: leave out --from, --to and --only log=", runs(timeless, "is", "are"))
	}
	if without > 0 {
		r.UI.Say("warning", "%s only fio's own percentiles, of single jobs, since fio's JSON has no histograms: run fio "+
			"with --output-format=json+", runs(without, "has", "have"))
	}
	if err == nil && len(rows) == 0 && (r.Logs.Failed == nil || len(*r.Logs.Failed) == 0) {
		err = &fio.ParseError{File: strings.Join(arguments, ", "), Msg: "no I/O found"}
	}
	return rows, err
}

// warnPercentiles names wanted percentiles that fio's JSON of a run, which has no histograms, lacks (percentile_list).
func (r *Reader) warnPercentiles(t *ingest.JSONRun, rows []figures.Row) {
	for i := range rows {
		has := rows[i].Reported
		lacks := slices.DeleteFunc(slices.Clone(r.Percentiles), func(p float64) bool {
			return slices.Contains(has, fio.Percentile(p))
		})
		if len(has) == 0 || len(lacks) == 0 {
			continue
		}
		var names []string
		for _, p := range lacks {
			names = append(names, "p"+fio.Percentile(p))
		}
		r.UI.Warn(fmt.Sprintf("%s: fio's JSON has no %s, but percentiles %s", fio.Printable(t.Root), fio.List(names, "or"),
			strings.Join(has, ", ")))
		return
	}
}

// ProcessSums is Process for a sink that can do without intervals. Of a run of which only the document is left, it
// begins the sink again, with one interval that holds the sums of each direction, and reports true. Where more is asked
// for, the run is an error.
func (run *Run) ProcessSums(ctx context.Context, sink pipeline.Sink) (figuresOnly bool, err error) {
	err = run.Process(ctx, sink)
	if errors.As(err, new(*replay.GoneError)) {
		err = run.sums(ctx, sink, err)
		return err == nil, err
	}
	return false, err
}

// sums passes the sums of a run's document to the sink. Where more is asked for, it returns gone.
func (run *Run) sums(ctx context.Context, sink pipeline.Sink, gone error) error {
	settings, f := &run.reader.Logs.Config.Settings, (*stored.Figures)(nil)
	docs, err := run.Documents(ctx)
	if err == nil {
		f, err = run.Figures(ctx)
	}
	if err != nil {
		return err
	}
	pick := &run.reader.Logs.Config.Pick
	if f.Histograms == nil || f.Run.Part != "" || len(settings.By) > 1 || pick.NeedsLogs() ||
		len(pick.Hosts)+len(pick.Jobs) > 0 {
		return gone
	}
	at := slices.IndexFunc(docs, func(d *esmodel.StoredRun) bool {
		return d.Run.Part == "" && d.Run.Kind == settings.Kind
	})
	of := *docs[at].Run
	of.Percentiles, of.Settings.By = run.reader.Percentiles, settings.By
	q := pipeline.Interval{Whole: true}
	for _, d := range fio.MetricDirections() {
		w := f.Histograms[d]
		if w == nil || d != fio.All && !pick.HoldsDirection(d) || d == fio.All && len(pick.Directions) > 0 {
			continue
		}
		h, limits, err := w.Hist(f.Geometry)
		if err != nil {
			return fmt.Errorf("run %s, %s: %w", fio.Printable(run.ID), d, err)
		}
		row := pipeline.Row{Scope: fio.RunScope, Dims: fio.Dims{Direction: d}, Whole: true,
			Stats: h.Stats(f.Geometry, of.Percentiles, limits), Limits: limits, Hist: h}
		row.IOPS, row.IOPSKnown = f.Summary[d]["iops"].(float64)
		if row.IOPS > 0 {
			row.Covered = int64(row.Stats.Samples / row.IOPS * 1e9)
		}
		q.Rows = append(q.Rows, row)
		if d != fio.All {
			q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: row.Dims, Hist: h, Limits: limits})
		}
	}
	if run.reader.WarnSyncs {
		WarnStoredSyncs(run.reader.UI, f)
	}
	if err = sink.Begin(ctx, &of); err == nil {
		err = sink.Interval(ctx, &q)
	}
	if err == nil {
		err = sink.End(ctx, &pipeline.Summary{Total: q.Rows})
	}
	return err
}

// runs formats a number of runs, with the verb for one or for more.
func runs(n int, one, more string) string {
	if n == 1 {
		return "1 run " + one
	}
	return fmt.Sprintf("%d runs %s", n, more)
}
