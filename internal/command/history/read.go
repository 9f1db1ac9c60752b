package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/ingest"
	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/fiohist"
	"fiolat/internal/history"
	"fiolat/internal/ui"
	"fiolat/pipeline"
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
		return r.figures(ctx, found, func(_ context.Context, id string) (*pipeline.Replay, error) {
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
		w := &whole{}
		if err = process(ctx, in, cfg, w); err != nil {
			return err
		}
		if w.run.Name == "" {
			w.run.Name = in.Root
		}
		if err = r.add(w.history()); err != nil {
			return err
		}
	}
	return nil
}

func process(ctx context.Context, in *ingest.Input, cfg pipeline.Config, w *whole) error {
	plan, err := pipeline.Prepare(ctx, in, cfg)
	if err != nil {
		return err
	}
	defer plan.Close()
	w.sum, err = plan.Process(ctx, command.Tee{w, &w.noise})
	return err
}

func (r *reader) stored(ctx context.Context, id string) (*pipeline.Replay, error) {
	return stored.Open(ctx, r.client, r.Elasticsearch.Prefix, id, r.Logs.Config.Settings.Kind)
}

// figures takes runs as their documents have them. Those without a histogram of the whole run, of an
// older fiolat or in parts that were not merged, are read from the documents of their quanta, which
// open gives.
func (r *reader) figures(ctx context.Context, found []stored.Figures,
	open func(context.Context, string) (*pipeline.Replay, error)) error {
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
		run := history.Run{ID: f.Run.ID, Name: f.Run.Name, Start: f.Start, Labels: f.Labels,
			Workload: strings.Join(f.Fio.Workload, "; ")}
		if f.Whole == nil || f.Run.Part != "" {
			replay, err := open(ctx, f.Run.ID)
			w := &whole{}
			if err == nil {
				w.sum, err = replay.Process(ctx, pipeline.ReplayOptions{Workers: r.Logs.Config.Workers},
					command.Tee{w, &w.noise})
			}
			if err != nil {
				return err
			}
			of, err := w.history()
			if err != nil {
				return err
			}
			run.Directions = of.Directions
		} else {
			run.Directions = map[string]*history.Direction{}
			for direction, w := range f.Whole {
				iops, _ := f.Summary[direction]["iops"].(float64)
				d, err := newDirection(w, f.Geometry, iops)
				if err != nil {
					return fmt.Errorf("run %s, %s: %w", errs.Printable(f.Run.ID), direction, err)
				}
				run.Directions[direction] = d
			}
		}
		if err := r.add(run, nil); err != nil {
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

// newDirection makes the figures of a direction of what a document holds of it.
func newDirection(w *esmodel.Whole, g fiohist.Geometry, iops float64) (*history.Direction, error) {
	h, bounds, err := w.Hist(g)
	d := &history.Direction{Geometry: g, Hist: h, Bounds: bounds, IOPS: iops, Limits: map[string][2]float64{}}
	for name, l := range w.Limits {
		d.Limits[strings.ReplaceAll(name, "_", ".")] = [2]float64{l.Low, l.High}
	}
	return d, err
}

// whole takes a run, and keeps its sums alone.
type whole struct {
	run   *pipeline.Run
	noise compare.Series
	sum   *pipeline.Summary
}

func (w *whole) Begin(_ context.Context, run *pipeline.Run) error {
	w.run = run
	return nil
}

func (w *whole) Quantum(context.Context, *pipeline.Quantum) error { return nil }

func (w *whole) End(context.Context, *pipeline.Summary) error { return nil }

// history makes a run of it, with the numbers that its document would have.
func (w *whole) history() (run history.Run, err error) {
	run = history.Run{ID: w.run.ID, Name: w.run.Name, Labels: w.run.Labels,
		Workload: strings.Join(w.run.Workloads(), "; "), Directions: map[string]*history.Direction{}}
	if w.run.StartKnown {
		run.Start = startOf(w.run.Start)
	}
	noise := w.noise.Noise(w.run.Percentiles)
	for i := range w.sum.Total {
		row := &w.sum.Total[i]
		if !slices.Contains([]string{"run", "direction"}, row.Scope) {
			continue
		}
		d := row.Dims.Direction
		found := esmodel.NewWhole(row, w.run.Geometry, noise[d])
		if run.Directions[d], err = newDirection(found, w.run.Geometry, row.IOPS); err != nil {
			return run, err
		}
	}
	return run, nil
}
