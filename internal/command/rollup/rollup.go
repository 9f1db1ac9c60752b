// Package rollup implements fiolat rollup: it adds up the quanta of stored runs into longer ones.
package rollup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/stored"
	"fiolat/ingest/fiolog"
	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// Options are the options of fiolat rollup.
type Options struct {
	Elasticsearch command.Elasticsearch
	Runs          []string         // by id, name, or the beginning of an id; none: those that Filter lets through
	Filter        stored.RunFilter // of runs that are not named
	To            pipeline.Grain   // a Coarseness below 0 is that of each run
	Workers       int
	DryRun        bool
	// Merge merges the complete parts of a run.
	Merge func(ctx context.Context, run string, kind fiolog.Kind, percentiles []float64) error
}

// Run rolls up runs, one after the other. A failure does not stop the others.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	c, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := o.ids(ctx, c)
	if err != nil {
		return err
	}
	r := roller{Options: &o, c: c, u: u}
	var failed []error
	done := 0
	for _, id := range ids {
		worked, err := r.run(ctx, id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			failed = append(failed, err)
		} else if worked {
			done++
		}
	}
	text := "%d runs rolled up, %d were already as coarse, %d failed"
	if o.DryRun {
		text = "%d runs would be rolled up, %d are already as coarse, %d cannot be"
	}
	u.Say("info", text, done, len(ids)-done-len(failed), len(failed))
	return errors.Join(failed...)
}

// ids returns the ids of the runs to roll up.
func (o *Options) ids(ctx context.Context, c *client.Client) (ids []string, err error) {
	prefix := o.Elasticsearch.Prefix
	var found []stored.RunSummary
	if len(o.Runs) == 0 {
		found, err = stored.ListRuns(ctx, c, prefix, o.Filter)
	}
	for _, name := range o.Runs {
		run, bad := stored.FindRun(ctx, c, prefix, name)
		if bad != nil {
			return nil, bad
		}
		found = append(found, *run)
	}
	for _, r := range found {
		if !slices.Contains(ids, r.Run.ID) {
			ids = append(ids, r.Run.ID)
		}
	}
	return ids, err
}

type roller struct {
	*Options
	c *client.Client
	u *ui.UI
}

// run rolls up one run, all kinds of latency and all parts of it, and reports whether there was anything to do.
func (r *roller) run(ctx context.Context, id string) (worked bool, err error) {
	runs, err := stored.Runs(ctx, r.c, r.Elasticsearch.Prefix, id)
	if err != nil {
		return false, err
	}
	for kind := range fiolog.Sync + 1 {
		of := slices.DeleteFunc(slices.Clone(runs), func(run *esmodel.StoredRun) bool { return run.Run.Kind != kind })
		some, bad := r.kind(ctx, id, kind, of)
		if worked = worked || some; bad != nil {
			return worked, bad
		}
	}
	return worked, nil
}

// kind rolls up one kind of latency of a run or of its parts. Parts that were merged are merged again.
func (r *roller) kind(ctx context.Context, id string, kind fiolog.Kind, runs []*esmodel.StoredRun) (
	worked bool, err error,
) {
	var merged *esmodel.StoredRun
	for _, run := range runs {
		if run.Run.Part == "" && len(run.Run.Parts) > 0 {
			merged = run
			continue
		}
		some, bad := r.part(ctx, run)
		if worked = worked || some; bad != nil {
			return worked, bad
		}
	}
	if merged == nil || r.DryRun {
		return worked, nil
	}
	if runs, err = stored.Runs(ctx, r.c, r.Elasticsearch.Prefix, id, kind); err != nil {
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
		return true, r.Merge(ctx, id, kind, merged.Run.Percentiles)
	}
	return worked, nil
}

// part rolls up one part of a run, or a run without parts.
func (r *roller) part(ctx context.Context, run *esmodel.StoredRun) (worked bool, err error) {
	prefix := r.Elasticsearch.Prefix
	if run.Rolling == esmodel.RollUpCounted && !r.DryRun {
		if err = stored.FinishRollUp(ctx, r.c, prefix, run, r.Elasticsearch.TakeOver); err != nil {
			return false, err
		}
		worked = true
	} else if run.Status != esmodel.StatusComplete && run.Rolling != esmodel.RollUpWriting {
		return false, run.Incomplete()
	}
	to := pipeline.Grain{Interval: max(r.To.Interval, run.Run.Interval),
		Coarseness: max(r.To.Coarseness, run.Run.Geometry.Coarseness)}
	if to == (pipeline.Grain{Interval: run.Run.Interval, Coarseness: run.Run.Geometry.Coarseness}) {
		return worked, nil
	}
	name := errs.Printable(run.Run.ID)
	if run.Run.Part != "" {
		name += ", part " + errs.Printable(run.Run.Part)
	}
	r.u.Say("info", "run %s, %v: quanta of %v become %v", name, run.Run.Kind, time.Duration(run.Run.Interval),
		time.Duration(to.Interval))
	return true, r.rollUp(ctx, run, to)
}

func (r *roller) rollUp(ctx context.Context, from *esmodel.StoredRun, to pipeline.Grain) error {
	before := from.Run.Generation
	run := stored.Part(r.c, r.Elasticsearch.Prefix, from)
	if err := run.RollUp(to); err != nil {
		return err
	}
	var w delivery.Writer = delivery.NewCountWriter()
	if !r.DryRun {
		way := r.Elasticsearch
		way.Spool = "" // a rollup can be repeated from what is stored
		var err error
		if w, err = way.Writer(r.c, false); err != nil {
			return err
		}
	}
	noise := new(compare.Series)
	options := delivery.SinkOptions{Prefix: r.Elasticsearch.Prefix, Noise: noise, RollUp: before}
	sinks := command.Tee{noise}
	if run.Run.Part == "" {
		diagnosis := command.Diagnosis(r.u, func(ctx context.Context, sink pipeline.Sink) error {
			_, err := run.Process(ctx, replay.Options{LeavesOnly: true, Workers: r.Workers}, sink)
			return err
		})
		options.Diagnosis, sinks = diagnosis, append(sinks, diagnosis)
	} else {
		stalls := new(diagnose.Part)
		options.Diagnosis, sinks = stalls, append(sinks, stalls)
	}
	sink := delivery.NewSink(w, options)
	summary, err := run.Process(ctx, replay.Options{Workers: r.Workers}, append(sinks, sink))
	err = sink.Close(ctx, err)
	if err = r.Elasticsearch.PrintOutcome(r.u, r.DryRun, run.Run, summary, sink.Report(), err); err != nil {
		return fmt.Errorf("run %s is not rolled up: %w", errs.Printable(run.Run.ID), err)
	}
	return nil
}
