package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

type rollupOptions struct {
	es       runsource.Elasticsearch
	chosen   chosenRuns
	interval time.Duration
	to       pipeline.Grain // a Coarseness below 0 is each run's own
	workers  int
	dryRun   bool
	ask      bool // before anything is replaced
}

func rollupCommand(u *ui.UI) *cli.Command {
	o := &rollupOptions{}
	return &cli.Command{
		Name: "rollup",
		Flags: append(esFlags(&o.es), verboseFlag(),
			&cli.DurationFlag{Name: "interval", Destination: &o.interval,
				Usage: "`DURATION` of the long intervals, a multiple of the runs' own"},
			&cli.IntFlag{Name: "coarseness", Category: catRun, Value: -1, Destination: &o.to.Coarseness,
				Usage: "add up 2^`N` neighbouring buckets, 0 to 6, to save space (default: as stored)"},
			o.chosen.olderThanFlag(), o.chosen.labelFlag(),
			&cli.IntFlag{Name: "workers", Category: catInput, Destination: &o.workers,
				Usage: "number of intervals to add up at a time (default: one per processor)"},
			&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun,
				Usage: "write nothing, print what would be written"},
			&cli.BoolFlag{Name: "yes", Usage: "do not ask on a terminal"},
		),
		Action: action(u, o),
	}
}

func (o *rollupOptions) check(c *cli.Context, bad *fio.Faults) {
	o.to.Interval = int64(o.interval)
	o.ask = !c.Bool("yes") && !o.dryRun && ui.IsTerminal(c.App.Reader)
	if !c.IsSet("interval") && !c.IsSet("coarseness") {
		bad.Add(fio.Usagef("fiolat rollup: pass --interval, --coarseness, or both"))
	} else if c.IsSet("interval") && o.interval < time.Millisecond {
		bad.Add(fio.Usagef("--interval %v: want 1ms or more", o.interval))
	}
	if n := o.to.Coarseness; c.IsSet("coarseness") && (n < 0 || n > fiohist.MaxCoarseness) {
		bad.Add(fio.Usagef("--coarseness %d: want 0 to %d", n, fiohist.MaxCoarseness))
	}
	if o.workers < 0 {
		bad.Add(fio.Usagef("--workers %d: want 1 or more", o.workers))
	}
	o.chosen.check(c, bad)
	checkES(c, &o.es, bad)
}

// run rolls up runs, one after the other. A failure does not stop the others.
func (o *rollupOptions) run(ctx context.Context, u *ui.UI) error {
	c, err := o.es.Connect(u)
	if err != nil {
		return err
	}
	defer c.Close()
	runs, err := o.chosen.find(ctx, c, o.es.Prefix)
	if err != nil {
		return err
	}
	var ids []string
	for _, run := range runs {
		ids = append(ids, run.Run.ID)
	}
	if o.ask && len(ids) > 0 {
		for _, run := range runs {
			fmt.Fprintln(u.Stderr, runLine(&run))
		}
		if !ui.Confirm(u.Stdin, u.Stderr, fmt.Sprintf("roll up %s to %s? Only the logs bring the finer ones back. [y/N] ",
			fio.Several(len(ids), "run"), o.grain())) {
			return errors.New("not rolled up")
		}
	}
	r := roller{rollupOptions: o, c: c, u: u}
	var failed []error
	done := 0
	for _, id := range ids {
		worked, err := r.one(ctx, id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			failed = append(failed, err)
		} else if worked {
			done++
		}
	}
	text := "%s rolled up, %d already as coarse, %d failed"
	if o.dryRun {
		text = "%s would be rolled up, %d already as coarse, %d cannot be"
	}
	u.Say("info", text, fio.Several(done, "run"), len(ids)-done-len(failed), len(failed))
	return errors.Join(failed...)
}

// grain names what runs are rolled up to.
func (o *rollupOptions) grain() string {
	switch {
	case o.to.Interval == 0:
		return fmt.Sprintf("coarseness %d", o.to.Coarseness)
	case o.to.Coarseness < 0:
		return fmt.Sprintf("intervals of %v", o.interval)
	}
	return fmt.Sprintf("intervals of %v at coarseness %d", o.interval, o.to.Coarseness)
}

type roller struct {
	*rollupOptions
	c *client.Client
	u *ui.UI
}

// one rolls up one run, all kinds of latency and all parts of it, and reports whether there was anything to do.
func (r *roller) one(ctx context.Context, id string) (worked bool, err error) {
	runs, err := stored.Runs(ctx, r.c, r.es.Prefix, id)
	if err != nil {
		return false, err
	}
	for kind := range fio.Sync + 1 {
		of := slices.DeleteFunc(slices.Clone(runs), func(run *esmodel.StoredRun) bool { return run.Run.Kind != kind })
		some, bad := r.kind(ctx, id, kind, of)
		worked = worked || some
		if bad != nil {
			return worked, bad
		}
	}
	return worked, nil
}

// kind rolls up one kind of latency of a run or of its parts. Parts that were merged are merged again.
func (r *roller) kind(ctx context.Context, id string, kind fio.Kind, runs []*esmodel.StoredRun) (
	worked bool, err error,
) {
	var merged *esmodel.StoredRun
	for _, run := range runs {
		if run.Run.Part == "" && len(run.Run.Parts) > 0 {
			merged = run
			continue
		}
		some, bad := r.part(ctx, run)
		worked = worked || some
		if bad != nil {
			return worked, bad
		}
	}
	if merged == nil || r.dryRun {
		return worked, nil
	}
	if runs, err = stored.Runs(ctx, r.c, r.es.Prefix, id, kind); err != nil {
		return worked, err
	}
	var parts []pipeline.Part
	for _, run := range runs {
		if run.Run.Part != "" {
			parts = append(parts, pipeline.Part{Name: run.Run.Part, Generation: run.Run.Generation})
		}
	}
	for _, part := range merged.Run.Parts {
		if merged.Status == esmodel.StatusComplete && slices.Contains(parts, part) {
			continue
		}
		again := mergeOptions{es: r.es, name: id, kind: kind, skipIncomplete: true, finer: merged,
			replay: replay.Options{AcrossHosts: true, Workers: r.workers, Percentiles: merged.Run.Percentiles}}
		return true, again.run(ctx, r.u)
	}
	return worked, nil
}

// part rolls up one part of a run, or a run without parts.
func (r *roller) part(ctx context.Context, run *esmodel.StoredRun) (worked bool, err error) {
	prefix := r.es.Prefix
	if run.Rolling == esmodel.RollUpCounted && !r.dryRun {
		if err = stored.FinishRollUp(ctx, r.c, prefix, run); err != nil {
			return false, err
		}
		worked = true
	} else if run.Status != esmodel.StatusComplete && run.Rolling != esmodel.RollUpWriting {
		return false, run.Incomplete()
	}
	to := pipeline.Grain{Interval: max(r.to.Interval, run.Run.Interval),
		Coarseness: max(r.to.Coarseness, run.Run.Geometry.Coarseness)}
	if run.Run.Timeless() { // it has one interval
		to.Interval = run.Run.Interval
	}
	if to == (pipeline.Grain{Interval: run.Run.Interval, Coarseness: run.Run.Geometry.Coarseness}) {
		return worked, nil
	}
	name := fio.RunName(run.Run.ID, run.Run.Name)
	if run.Run.Part != "" {
		name += ", part " + fio.Printable(run.Run.Part)
	}
	r.u.Say("info", "run %s, %v: intervals of %v at coarseness %d become %v at coarseness %d; diagnosis, SLA verdicts, "+
		"length and summary stay", name, run.Run.Kind, time.Duration(run.Run.Interval), run.Run.Geometry.Coarseness,
		time.Duration(to.Interval), to.Coarseness)
	return true, r.rollUp(ctx, run, to)
}

func (r *roller) rollUp(ctx context.Context, from *esmodel.StoredRun, to pipeline.Grain) error {
	before := from.State()
	run := stored.Part(r.c, r.es.Prefix, from)
	if err := run.RollUp(to); err != nil {
		return err
	}
	var w delivery.Writer = delivery.NewCountWriter()
	if !r.dryRun {
		way := r.es
		way.Spool = "" // a rollup can be repeated from what is stored
		var err error
		if w, err = writerTo(&way, r.c, false); err != nil {
			return err
		}
	}
	kept, err := keptDiagnosis(from)
	if err != nil {
		return err
	}
	s := sinks{diagnosis: kept}
	summary, err := run.Process(ctx, replay.Options{Workers: r.workers},
		s.chain(w, delivery.SinkOptions{Prefix: r.es.Prefix, Read: &before, RollUp: true}))
	err = s.documents.Close(ctx, err)
	if err = printOutcome(&r.es, r.u, r.dryRun, run.Run, summary, s.documents.Report(), err); err != nil {
		return fmt.Errorf("run %s is not rolled up: %w", fio.Printable(run.Run.ID), err)
	}
	return nil
}
