package main

import (
	"context"
	"iter"
	"slices"
	"strings"

	"fiolat/analysis/history"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

// historyReader reads the figures of runs.
type historyReader struct {
	*historyOptions
	source runsource.Reader
	runs   []history.Run
	seen   map[string]string  // names by id
	failed []error            // of runs that are not among them
	gated  [][]history.Result // what --fail-if-changed judges, by series
}

func newHistoryReader(o *historyOptions, u *ui.UI) *historyReader {
	r := &historyReader{historyOptions: o, seen: map[string]string{}}
	o.logs.Config.Settings.By = []string{fio.ByDirection}
	o.logs.Failed = &r.failed
	r.source = runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u, WarnSyncs: true, WarnFormats: true,
		Totals: true}
	if o.failIfChanged > 0 && slices.ContainsFunc(o.metrics, fio.Metric.Latency) {
		r.source.Rule = "--fail-if-changed"
	}
	return r
}

func (r *historyReader) read(ctx context.Context) error {
	if len(r.named) == 0 {
		return r.add(ctx, r.source.Filter(ctx, r.filter.RunFilter))
	}
	for _, name := range r.named { // one by one, as each file is a run
		if err := r.add(ctx, r.source.Find(ctx, name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *historyReader) add(ctx context.Context, found iter.Seq2[*runsource.Run, error]) error {
	for one, err := range found {
		if err != nil {
			return err
		}
		run, err := one.History(ctx)
		if err != nil {
			return err
		}
		if run == nil {
			continue
		}
		if other, twice := r.seen[run.ID]; twice {
			return fio.Usagef("%s and %s are the same run: leave one out",
				fio.Printable(other), fio.Printable(run.Title()))
		}
		r.seen[run.ID] = run.Title()
		r.runs = append(r.runs, *run)
	}
	return nil
}

func (r *historyReader) sayRolledUp() {
	var names []string
	for i := range r.runs {
		if run := &r.runs[i]; run.RolledUp {
			names = append(names, fio.Printable(run.Title()))
		}
	}
	n, more := len(names), ""
	if n > 3 {
		names, more = names[:3], ", ..."
	}
	if n > 0 {
		r.source.UI.Say("info", "rolled up: %d of %s: %s", n, fio.Several(len(r.runs), "run"),
			strings.Join(names, ", ")+more)
	}
}
