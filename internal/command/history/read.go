package history

import (
	"cmp"
	"context"
	"fmt"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/ingest"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/history"
	"fiolat/internal/ui"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// reader reads runs as figures: from the documents of runs, or from what they were made of.
type reader struct {
	*Options
	ui     *ui.UI
	client *client.Client // nil until it is needed
	runs   []history.Run
	seen   map[string]string // names by id
}

func (r *reader) close() {
	if r.client != nil {
		_ = r.client.Close() // what was written has been acknowledged
	}
}

func (r *reader) connect() (err error) {
	if r.client == nil {
		r.client, err = r.Elasticsearch.Connect(r.ui)
	}
	return err
}

// read reads all runs that are asked for.
func (r *reader) read(ctx context.Context) error {
	r.seen = map[string]string{}
	kind := r.Logs.Config.Settings.Kind
	if len(r.Runs) == 0 {
		if err := r.connect(); err != nil {
			return err
		}
		found, err := stored.ListFigures(ctx, r.client, r.Elasticsearch.Prefix, r.Filter, kind)
		if err != nil {
			return err
		}
		return r.figures(ctx, found, r.stored)
	}
	for _, name := range r.Runs {
		if err := r.argument(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// argument reads the runs that an argument names.
func (r *reader) argument(ctx context.Context, name string) error {
	kind := r.Logs.Config.Settings.Kind
	switch command.Locate(name) {
	case command.InDirectory:
		found, err := stored.DirFigures(name, kind)
		if err == nil && len(found) == 0 {
			err = &errs.ParseError{File: name, Msg: fmt.Sprintf("no document of a run of %s", kind),
				Hint: "it takes the *.ndjson files that fiolat ingest --output wrote"}
		}
		if err != nil {
			return err
		}
		return r.figures(ctx, found, func(_ context.Context, id string) (*replay.Replay, error) {
			return stored.OpenDir(name, id, kind)
		})
	case command.Stored:
		if len(r.Elasticsearch.Addresses) == 0 {
			return errs.Usagef("%s: no such file or directory, and no Elasticsearch to find a run of that id or name "+
				"in: pass --es URL", errs.Printable(name))
		}
		if err := r.connect(); err != nil {
			return err
		}
		run, err := stored.FindRun(ctx, r.client, r.Elasticsearch.Prefix, name)
		if err != nil {
			return err
		}
		found, err := stored.RunFigures(ctx, r.client, r.Elasticsearch.Prefix, run.Run.ID, kind)
		if err != nil {
			return err
		}
		return r.figures(ctx, found, r.stored)
	}
	logs := r.Logs
	logs.Paths = []string{name}
	found, err := logs.Discover(r.ui, kind, false)
	if err != nil {
		return err
	}
	cfg := logs.Pipeline(r.ui)
	cfg.Settings.By = []string{"direction"}
	cfg.Progress = r.ui.Progress(command.Size(found), "reading "+errs.Printable(name))
	defer r.ui.ProgressDone()
	for _, in := range found {
		w := &command.WholeRun{}
		if err = process(ctx, in, cfg, w); err != nil {
			return err
		}
		run, bad := w.History()
		run.Name = cmp.Or(run.Name, in.Root)
		if err = r.add(run, bad); err != nil {
			return err
		}
	}
	return nil
}

func process(ctx context.Context, in *ingest.Input, cfg plan.Config, w *command.WholeRun) error {
	prepared, err := plan.Prepare(ctx, in, cfg)
	if err != nil {
		return err
	}
	defer prepared.Close()
	_, err = prepared.Process(ctx, w)
	return err
}

func (r *reader) stored(ctx context.Context, id string) (*replay.Replay, error) {
	return stored.Open(ctx, r.client, r.Elasticsearch.Prefix, id, r.Logs.Config.Settings.Kind)
}

// figures takes runs as their documents have them. Those without a histogram of the whole run, of an
// older fiolat or in parts that were not merged, are read from the documents of their quanta, which
// open gives.
func (r *reader) figures(ctx context.Context, found []stored.Figures,
	open func(context.Context, string) (*replay.Replay, error)) error {
	done := map[string]bool{}
	for i := range found {
		f := &found[i]
		if done[f.Run.ID] {
			continue
		}
		done[f.Run.ID] = true
		if f.Run.Status != esmodel.StatusComplete {
			r.ui.Warn(fmt.Sprintf("left out: run %s is %s", errs.Printable(f.Run.ID), f.Run.Status))
			continue
		}
		run, err := command.StoredHistory(ctx, f, open, r.Logs.Config.Workers)
		if err = r.add(run, err); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) add(run history.Run, err error) error {
	if err != nil {
		return err
	}
	if _, twice := r.seen[run.ID]; twice {
		return errs.Usagef("%s and %s are the same run: a run and its copy make the spread look small",
			errs.Printable(r.seen[run.ID]), errs.Printable(run.Title()))
	}
	r.seen[run.ID] = run.Title()
	r.runs = append(r.runs, run)
	return nil
}
