// Package merge implements fiolat merge: it adds up a run whose hosts were ingested apart.
package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/stored"
	"fiolat/ingest/fiolog"
	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// Options are the options of fiolat merge.
type Options struct {
	Elasticsearch  command.Elasticsearch
	Run            string // its run.id, the beginning of it, or its name
	Kind           fiolog.Kind
	Parts          int          // that must be there; 0: as many as there are
	SkipIncomplete bool         // leave out parts that are not complete
	Slice          replay.Slice // of its quanta; the zero value is all of them, in this process
	Replay         replay.Options
	FailOnSLA      bool
	DryRun         bool
}

// Run adds up the parts of a run.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	prefix := o.Elasticsearch.Prefix
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	found, err := stored.FindRun(ctx, client, prefix, o.Run)
	if err != nil {
		return err
	}
	o.Run = found.Run.ID
	runs, err := stored.Runs(ctx, client, prefix, o.Run, o.Kind)
	if err != nil {
		return err
	}
	parts, warnings, err := mergeable(&o, runs)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		u.Warn(w)
	}
	run, err := stored.Replay(client, prefix, parts)
	if err != nil {
		return err
	}
	run.Warnings = warnings
	m := merger{Options: &o, u: u, client: client, run: run}
	if o.Slice.Of == 0 {
		return m.whole(ctx, nil, run.Process)
	}
	return m.slice(ctx, runs)
}

type merger struct {
	*Options
	u      *ui.UI
	client *client.Client
	run    *replay.Replay
}

// process passes a run to a sink; see replay.Replay.Process.
type process func(context.Context, replay.Options, pipeline.Sink) (*pipeline.Summary, error)

// whole writes the document of the run, and what slices have not sent. slices counts what they have sent, by index.
func (m *merger) whole(ctx context.Context, slices map[string]int64, process process) error {
	o, u, run, prefix := m.Options, m.u, m.run, m.Elasticsearch.Prefix
	var w delivery.Writer = delivery.NewCountWriter()
	var err error
	if !o.DryRun {
		if w, err = o.Elasticsearch.Writer(m.client, false); err != nil {
			return err
		}
	}
	again := func(ctx context.Context, sink pipeline.Sink) error {
		_, failed := run.Process(ctx, replay.Options{LeavesOnly: true, Workers: o.Replay.Workers}, sink)
		return failed
	}
	noise, diagnosis := new(compare.Series), command.Diagnosis(u, again)
	sink := delivery.NewSink(w,
		delivery.SinkOptions{Prefix: prefix, RowsOnly: true, Noise: noise, Diagnosis: diagnosis, Slices: slices})
	summary, err := process(ctx, o.Replay, command.Tee{noise, diagnosis, sink})
	if err = sink.Close(ctx, err); errors.Is(err, delivery.ErrMerged) {
		return err
	}
	if err = o.Elasticsearch.PrintOutcome(u, o.DryRun, run.Run, summary, sink.Report(), err); err != nil {
		return err
	}
	return command.FailOnSLA(o.FailOnSLA, summary)
}

// mergeable returns the parts to merge, and warnings about those left out.
func mergeable(o *Options, runs []*esmodel.StoredRun) (parts []*esmodel.StoredRun, warnings []string, err error) {
	cannot := func(hint, format string, args ...any) error {
		return &errs.ParseError{File: fmt.Sprintf("run %q", o.Run), Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, r := range runs {
		switch {
		case r.Run.Part == "" && len(r.Run.Parts) == 0:
			return nil, nil, cannot("fiolat delete it if its hosts are to be ingested apart",
				"it was ingested as a whole: there is nothing to merge")
		case r.Run.Part == "":
		case r.Status == esmodel.StatusComplete && r.Claim == nil:
			parts = append(parts, r)
		case !o.SkipIncomplete:
			return nil, nil, fmt.Errorf("%w, or pass --skip-incomplete to merge the others", r.Incomplete())
		default:
			warnings = append(warnings, fmt.Sprintf("left out: part %q is %s", r.Run.Part, r.Status))
		}
	}
	slices.Sort(warnings)
	if len(parts) == 0 {
		return nil, nil, cannot("see fiolat ingest --part", "no complete part of it is in %s-run",
			o.Elasticsearch.Prefix)
	}
	if want := o.Parts; want != 0 && want != len(parts) {
		var names []string
		for _, p := range parts {
			names = append(names, errs.Printable(p.Run.Part))
		}
		slices.Sort(names)
		return nil, nil, cannot("ingest what is missing, then merge", "%d complete parts are there, --parts wants "+
			"%d: %s", len(parts), want, strings.Join(names, ", "))
	}
	return parts, warnings, nil
}
