// Package report is fiolat report: it makes an HTML page of a run.
package report

import (
	"context"
	"fmt"
	"slices"

	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/ingest/fiolog"
	"fiolat/internal/command"
	"fiolat/internal/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// Options are what fiolat report is asked for.
type Options struct {
	Logs          command.Logs // or, in Paths, what is stored
	Elasticsearch command.Elasticsearch
	Place         command.Place // of what Paths names
	Percentiles   []float64     // of a stored run; none: those that it has
	File          string        // for the page
	Yes           bool          // does not ask
}

// Run writes the page of one run.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	var sources []kindSource
	var err error
	if o.Place != command.InLogs {
		var client *client.Client
		if o.Place == command.Stored {
			if client, err = o.Elasticsearch.Connect(u); err != nil {
				return err
			}
			defer client.Close() //nolint:errcheck // it was only read
		}
		sources, err = o.storedKinds(ctx, client)
	} else {
		var plans []*plan.Plan
		cfg := o.Logs.Pipeline(u)
		cfg.Allow = command.Allow(u, o.Yes || o.Logs.DryRun)
		plans, err = o.Logs.OneRun(ctx, u, cfg, "a page is of one")
		defer command.ClosePlans(plans)
		defer u.ProgressDone()
		for _, p := range plans {
			sources = append(sources, kindSource{p.Run, p.Process, command.Again(p)})
		}
	}
	if err != nil {
		return err
	}
	file := command.NewPage(o.File, o.Logs.DryRun, len(sources))
	defer file.Discard()
	var sums []*pipeline.Summary
	full := diagnose.Full{Again: sources[0].again}
	file.Findings = func() []string { return full.Diagnosis.Sentences() }
	for i, s := range sources {
		sink := file.Kind(i)
		if i == 0 {
			sink = command.Tee{&full, sink}
		}
		var sum *pipeline.Summary
		if sum, err = s.process(ctx, sink); err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	u.ProgressDone()
	if err = file.Publish(); err != nil {
		return err
	}
	for i, s := range sums {
		command.KindAccount(u, sources[i].run, s, len(sums))
	}
	if o.Logs.DryRun {
		u.Say("info", "dry run: %d bytes would be written", file.Size)
	} else {
		u.Say("info", "page       %s, %d bytes", errs.Printable(file.Path), file.Size)
	}
	return command.FailOnSLA(o.Logs.FailOnSLA, sums[0])
}

// kindSource is one kind of a run, from logs or stored.
type kindSource struct {
	run     *pipeline.Run
	process func(context.Context, pipeline.Sink) (*pipeline.Summary, error)
	// again passes on the leaves once more; nil: they can be read only once.
	again func(context.Context, pipeline.Sink) error
}

// storedKinds are the kinds of latency of which a run is stored: in Elasticsearch, or with
// no client in a directory.
func (o *Options) storedKinds(ctx context.Context, client *client.Client) (out []kindSource, err error) {
	name, prefix, runID := o.Logs.Paths[0], o.Elasticsearch.Prefix, o.Logs.Config.RunID
	var there []fiolog.Kind
	if client != nil {
		run, none := stored.FindRun(ctx, client, prefix, name)
		if none != nil {
			return nil, none
		}
		runID = run.Run.ID
		there, err = stored.Kinds(ctx, client, prefix, runID)
	} else {
		there, err = stored.KindsDir(name, runID)
	}
	if err != nil {
		return nil, err
	}
	options := replay.Options{Workers: o.Logs.Config.Workers, Percentiles: o.Percentiles}
	for _, kind := range o.Logs.Kinds.List {
		if !slices.Contains(there, kind) && len(there) > 0 {
			if o.Logs.Kinds.All {
				continue
			}
			return nil, &errs.ParseError{File: name, Msg: fmt.Sprintf("no %v latencies are stored, but %v", kind,
				there[0]), Hint: "--kind all takes those that are there"}
		}
		var r *replay.Replay
		if client != nil {
			r, err = stored.Open(ctx, client, prefix, runID, kind)
		} else {
			r, err = stored.OpenDir(name, runID, kind)
		}
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && r.Run.ID != out[0].run.ID {
			return nil, errs.Usagef("%s holds the runs %q and %q; say which with --run-id", errs.Printable(name),
				out[0].run.ID, r.Run.ID)
		}
		if options.Percentiles == nil { // of all kinds those of the first
			options.Percentiles = r.Run.Percentiles
		}
		out = append(out, kindSource{r.Run, func(ctx context.Context, sink pipeline.Sink) (*pipeline.Summary, error) {
			return r.Process(ctx, options, sink)
		}, func(ctx context.Context, sink pipeline.Sink) error {
			_, err := r.Process(ctx, replay.Options{LeavesOnly: true, Workers: options.Workers}, sink)
			return err
		}})
	}
	return out, nil
}
