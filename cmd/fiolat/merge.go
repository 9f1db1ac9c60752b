package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/compare"
	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

type mergeOptions struct {
	es             runsource.Elasticsearch
	name           string // of the run: its run.id, the beginning of it, or its name
	kind           fio.Kind
	parts          int  // that must be there; 0: as many as there are
	skipIncomplete bool // leave out parts that are not complete
	replay         replay.Options
	finer          *esmodel.StoredRun // what was merged before its parts were rolled up; nil: they were not
	failOnSLA      string
	dryRun         bool
}

func mergeCommand(u *ui.UI) *cli.Command {
	o := &mergeOptions{replay: replay.Options{AcrossHosts: true}}
	return &cli.Command{
		Name: "merge",
		Flags: append(esFlags(&o.es), verboseFlag(),
			&cli.IntFlag{Name: "parts", Destination: &o.parts,
				Usage: "merge only if there are `N` parts"},
			&cli.BoolFlag{Name: "skip-incomplete", Destination: &o.skipIncomplete,
				Usage: "leave out parts that are not complete, and name them (default: merge nothing then)"},
			&cli.GenericFlag{Name: "kind",
				Value: withDefault("clat", parsed(&o.kind, "", anyKind)),
				Usage: "`KIND` of latency: clat, slat, lat, or sync (of live)"},
			&cli.GenericFlag{Name: "percentiles",
				Value: parsed(&o.replay.Percentiles, "", readPercentiles),
				Usage: "`LIST` of percentiles (default: those of the parts)"},
			&cli.IntFlag{Name: "workers", Category: catInput, Destination: &o.replay.Workers,
				Usage: "number of intervals to add up at a time (default: one per processor)"},
			failOnSLAFlag(&o.failOnSLA),
			&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun,
				Usage: "write nothing, print what would be written"},
			outputFlag(),
		),
		Action: action(u, o),
	}
}

// anyKind parses a kind of latency, or sync.
func anyKind(text string) (fio.Kind, error) {
	if text == fio.Sync.String() {
		return fio.Sync, nil
	}
	return latency(text)
}

func (o *mergeOptions) check(c *cli.Context, bad *fio.Faults) {
	o.name = c.Args().First()
	if c.NArg() != 1 {
		bad.Add(fio.Usagef("fiolat merge: name one run"))
	}
	for _, flag := range []string{"workers", "parts"} {
		if c.Int(flag) < 0 {
			bad.Add(fio.Usagef("--%s %d: want 1 or more", flag, c.Int(flag)))
		}
	}
	checkES(c, &o.es, bad)
}

// run adds up the parts of a run.
func (o *mergeOptions) run(ctx context.Context, u *ui.UI) error {
	prefix := o.es.Prefix
	client, found, err := o.es.Find(ctx, u, o.name)
	if err != nil {
		return err
	}
	defer client.Close()
	o.name = found.Run.ID
	runs, err := stored.Runs(ctx, client, prefix, o.name, o.kind)
	if err != nil {
		return err
	}
	parts, warnings, err := mergeable(o, runs)
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
	var read esmodel.State // of what was merged before
	for _, r := range runs {
		if r.Run.Part == "" {
			read = r.State()
		}
	}
	return o.merge(ctx, u, client, run, read)
}

// merge writes the scopes across hosts and the document of the run.
func (o *mergeOptions) merge(ctx context.Context, u *ui.UI, c *client.Client, run *replay.Replay,
	read esmodel.State,
) error {
	var w delivery.Writer = delivery.NewCountWriter()
	var err error
	if !o.dryRun {
		if w, err = writerTo(&o.es, c, false); err != nil {
			return err
		}
	}
	again := func(ctx context.Context, sink pipeline.Sink) error {
		_, failed := run.Process(ctx, replay.Options{LeavesOnly: true, Workers: o.replay.Workers}, sink)
		return failed
	}
	var s sinks
	if o.finer == nil {
		s.noise, s.diagnosis = new(compare.Series), diagnosisOf(u, "", again)
	} else if s.diagnosis, err = keptDiagnosis(o.finer); err != nil {
		return err
	}
	summary, err := run.Process(ctx, o.replay,
		s.chain(w, delivery.SinkOptions{Prefix: o.es.Prefix, Read: &read, RowsOnly: true, Finer: o.finer != nil}))
	err = s.documents.Close(ctx, err)
	if err = printOutcome(&o.es, u, o.dryRun, run.Run, summary, s.documents.Report(), err); err != nil {
		return err
	}
	return failOnSLA(o.failOnSLA, summary)
}

// mergeable returns the parts to merge, and warnings about those left out.
func mergeable(o *mergeOptions, runs []*esmodel.StoredRun) (parts []*esmodel.StoredRun, warnings []string, err error) {
	cannot := func(hint, format string, args ...any) error {
		return &fio.ParseError{File: fmt.Sprintf("run %q", o.name), Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, r := range runs {
		switch {
		case r.Run.Part == "" && len(r.Run.Parts) == 0:
			return nil, nil, cannot("fiolat delete it if its hosts are to be ingested apart",
				"it was ingested as a whole: there is nothing to merge")
		case r.Run.Part == "":
		case r.Status == esmodel.StatusComplete && r.Owner == nil:
			parts = append(parts, r)
		case !o.skipIncomplete:
			return nil, nil, fmt.Errorf("%w, or pass --skip-incomplete to merge the others", r.Incomplete())
		default:
			warnings = append(warnings, fmt.Sprintf("left out: part %q is %s", r.Run.Part, r.Status))
		}
	}
	slices.Sort(warnings)
	if len(parts) == 0 {
		return nil, nil, cannot("see fiolat ingest --part", "no complete part of it is in %s-run",
			o.es.Prefix)
	}
	if want := o.parts; want != 0 && want != len(parts) {
		var names []string
		for _, p := range parts {
			names = append(names, fio.Printable(p.Run.Part))
		}
		slices.Sort(names)
		return nil, nil, cannot("ingest what is missing, then merge", "%d complete parts are there, --parts wants "+
			"%d: %s", len(parts), want, strings.Join(names, ", "))
	}
	return parts, warnings, nil
}
