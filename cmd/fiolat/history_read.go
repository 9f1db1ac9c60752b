package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/history"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// historyReader reads the figures of runs: from their documents, or from logs.
type historyReader struct {
	*historyOptions
	source runsource.Reader
	client *client.Client // nil until it is needed
	runs   []history.Run
	seen   map[string]string // names by id
	failed []error           // of runs that are not among them
}

func newHistoryReader(o *historyOptions, u *ui.UI) *historyReader {
	logs := o.logs.Logs
	logs.Config.Settings.By = []string{"direction"}
	r := &historyReader{historyOptions: o, seen: map[string]string{}}
	logs.Failed = &r.failed
	r.source = runsource.Reader{Logs: &logs, Elasticsearch: &o.es, UI: u, WarnSyncs: true}
	return r
}

// connect connects to Elasticsearch, where an argument is to be looked up.
func (r *historyReader) connect(argument string) (err error) {
	r.client, err = r.source.Connect(argument)
	return err
}

func (r *historyReader) read(ctx context.Context) error {
	defer r.source.UI.Hold()()
	kind := r.logs.Config.Settings.Kind
	if len(r.named) == 0 {
		if err := r.connect(""); err != nil {
			return err
		}
		found, err := stored.ListFigures(ctx, r.client, r.es.Prefix, r.filter.RunFilter, kind)
		if err != nil {
			return err
		}
		return r.figures(ctx, found, r.stored)
	}
	for _, name := range r.named {
		if err := r.argument(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *historyReader) argument(ctx context.Context, name string) error {
	kind := r.logs.Config.Settings.Kind
	switch runsource.Locate(name) {
	case runsource.InDirectory:
		found, err := stored.DirFigures(name, kind)
		if err == nil && len(found) == 0 {
			err = &fio.ParseError{File: name, Msg: fmt.Sprintf("no document of a run of %s", kind),
				Hint: "pass a directory written by fiolat ingest --output"}
		}
		if err != nil {
			return err
		}
		r.sayTaken(name, nil, found)
		return r.figures(ctx, found, func(_ context.Context, id string) (*replay.Replay, error) {
			return stored.OpenDir(name, id, kind)
		})
	case runsource.Stored:
		if err := r.connect(name); err != nil {
			return err
		}
		run, err := stored.FindRun(ctx, r.client, r.es.Prefix, name)
		if err != nil {
			return err
		}
		found, err := stored.RunFigures(ctx, r.client, r.es.Prefix, run.Run.ID, kind)
		if err != nil {
			return err
		}
		r.sayTaken(name, r.client, found)
		return r.figures(ctx, found, r.stored)
	}
	return r.source.Each(ctx, []string{name}, runsource.Runs{Run: func(root string) pipeline.Sink {
		return &historyLogs{root: root, to: r}
	}})
}

func (r *historyReader) sayTaken(argument string, c *client.Client, found []stored.Figures) {
	var runs [][2]string
	for i := range found {
		if run := [2]string{found[i].Run.ID, found[i].Run.Name}; !slices.Contains(runs, run) { // else another part
			runs = append(runs, run)
		}
	}
	runsource.SaySource(r.source.UI, argument, c, runs...)
}

// historyLogs is the sink of a run that is read from logs.
type historyLogs struct {
	runsource.HistorySink
	root string // its name if it has no other
	to   *historyReader
}

// End adds the run.
func (l *historyLogs) End(ctx context.Context, sum *pipeline.Summary) error {
	if err := l.HistorySink.End(ctx, sum); err != nil {
		return err
	}
	run, err := l.History()
	run.Name = cmp.Or(run.Name, l.root)
	return l.to.add(run, err)
}

func (r *historyReader) stored(ctx context.Context, id string) (*replay.Replay, error) {
	return stored.Open(ctx, r.client, r.es.Prefix, id, r.logs.Config.Settings.Kind)
}

// figures adds the complete ones of runs whose documents were found. For open see
// runsource.StoredHistory.
func (r *historyReader) figures(ctx context.Context, found []stored.Figures,
	open func(context.Context, string) (*replay.Replay, error)) error {
	done := map[string]bool{}
	for i := range found {
		f := &found[i]
		if done[f.Run.ID] {
			continue
		}
		done[f.Run.ID] = true
		if f.Run.Status != esmodel.StatusComplete {
			r.source.UI.Warn(fmt.Sprintf("left out: run %s is %s", fio.Printable(f.Run.ID), f.Run.Status))
			continue
		}
		run, err := runsource.StoredHistory(ctx, f, open, r.logs.Config.Workers)
		if err = r.add(run, err); err != nil {
			return err
		}
		runsource.WarnStoredSyncs(r.source.UI, f)
	}
	return nil
}

func (r *historyReader) add(run history.Run, err error) error {
	if err != nil {
		return err
	}
	if _, twice := r.seen[run.ID]; twice {
		return fio.Usagef("%s and %s are the same run: a run and its copy make the spread look small",
			fio.Printable(r.seen[run.ID]), fio.Printable(run.Title()))
	}
	r.seen[run.ID] = run.Title()
	r.runs = append(r.runs, run)
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
		r.source.UI.Say("info", "%d of %d runs were rolled up: %s", n, len(r.runs), strings.Join(names, ", ")+more)
	}
}
