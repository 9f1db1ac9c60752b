package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// maxSlices limits --slice: each slice reads the states of all of them.
const maxSlices = 1000

type mergeOptions struct {
	es             runsource.Elasticsearch
	name           string // of the run: its run.id, the beginning of it, or its name
	kind           fio.Kind
	parts          int          // that must be there; 0: as many as there are
	skipIncomplete bool         // leave out parts that are not complete
	slice          replay.Slice // of its quanta; the zero value is all of them, in this process
	replay         replay.Options
	failOnSLA      bool
	dryRun         bool
}

func mergeCommand(u *ui.UI) *cli.Command {
	o := &mergeOptions{replay: replay.Options{AcrossHosts: true}}
	return &cli.Command{
		Name:      "merge",
		Usage:     "exact percentiles of a run whose hosts were ingested apart",
		ArgsUsage: "RUN",
		Description: "on each host:  fiolat ingest --es http://es:9200 --run-id R --part $(hostname) --start TIME " +
			"logs\n" +
			"then, once:    fiolat merge --es http://es:9200 --parts 40 R\n\n" +
			"Reads the stored histograms of all parts back, adds them up, and writes the scopes across hosts and the " +
			"document of the run: " +
			"what an ingest of all logs at once would have written, to the last bit where the hosts have names. " +
			"Running it again changes nothing; after another part has arrived, it replaces the merge before. " +
			"While a part is ingested again, and until the next merge, the merged run is partial. " +
			runIs,
		Flags: append(esFlags(&o.es), takeOverFlag(), verboseFlag(),
			&cli.IntFlag{Name: "parts", Destination: &o.parts,
				Usage: "merge only if there are `N` parts (default: as many as there are)"},
			&cli.BoolFlag{Name: "skip-incomplete", Destination: &o.skipIncomplete,
				Usage: "leave out parts that are running or incomplete, and name each (default: merge nothing then)"},
			&cli.GenericFlag{Name: "slice", Value: parsed(&o.slice, "", readSlice),
				Usage: "merge only the quanta of slice `N/OF`, such as 3/8; the last slice to end, on whatever " +
					"machine, writes the document of the run (default: all quanta)"},
			&cli.GenericFlag{Name: "kind",
				Value: withDefault("clat", parsed(&o.kind, "", anyKind, append(fio.KindNames(), "sync")...)),
				Usage: "`KIND` of latency that the parts were ingested with: clat, slat, lat, or sync (of live)"},
			&cli.GenericFlag{Name: "percentiles",
				Value: parsed(&o.replay.Percentiles, "", readPercentiles),
				Usage: "percentiles: a `LIST` of numbers from 0 to 100 (default: those of the parts)"},
			&cli.IntFlag{Name: "workers", Category: catInput, Destination: &o.replay.Workers,
				Usage: "number of quanta to add up at a time (default: one per processor); does not change results"},
			&cli.BoolFlag{Name: "fail-on-sla", Destination: &o.failOnSLA,
				Usage: "exit with 4 if the merged run breaks an SLA rule of its parts"},
			&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun,
				Usage: "write nothing, print what would be written"},
			&cli.StringFlag{Name: "output", Value: defaultOutput,
				Usage: "`DIR` for documents that could not be sent or were refused"},
		),
		Action: action(u, o),
	}
}

// readSlice parses --slice.
func readSlice(text string) (s replay.Slice, err error) {
	n, of, _ := strings.Cut(text, "/")
	var e1, e2 error
	s.N, e1 = strconv.Atoi(n)
	s.Of, e2 = strconv.Atoi(of)
	if errors.Join(e1, e2) != nil || s.N < 1 || s.N > s.Of || s.Of > maxSlices {
		err = fio.Usagef("--slice %s: want N/OF, such as 3/8, with OF up to %d", fio.Printable(text), maxSlices)
	}
	return s, err
}

// anyKind parses a kind of latency, or sync.
func anyKind(text string) (fio.Kind, error) {
	if text == fio.Sync.String() {
		return fio.Sync, nil
	}
	return latency(text)
}

func (o *mergeOptions) check(c *cli.Context, bad *errs.Faults) {
	if o.name = c.Args().First(); c.NArg() != 1 {
		bad.Add(fio.Usagef("fiolat merge: name one run"))
	}
	if o.dryRun && c.IsSet("slice") {
		bad.Add(fio.Usagef("--dry-run and --slice: a dry run is of the whole run"))
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
	m := merger{mergeOptions: o, u: u, client: client, run: run}
	if o.slice.Of == 0 {
		return m.whole(ctx, nil, run.Process)
	}
	return m.oneSlice(ctx, runs)
}

type merger struct {
	*mergeOptions
	u      *ui.UI
	client *client.Client
	run    *replay.Replay
}

// replayer passes a run to a sink; see replay.Replay.Process.
type replayer func(context.Context, replay.Options, pipeline.Sink) (*pipeline.Summary, error)

// whole writes the document of the run, and what slices have not sent. slices counts what they have sent, by index.
func (m *merger) whole(ctx context.Context, slices map[string]int64, process replayer) error {
	o, u, run, prefix := m.mergeOptions, m.u, m.run, m.es.Prefix
	var w delivery.Writer = delivery.NewCountWriter()
	var err error
	if !o.dryRun {
		if w, err = writerTo(&o.es, m.client, false); err != nil {
			return err
		}
	}
	again := func(ctx context.Context, sink pipeline.Sink) error {
		_, failed := run.Process(ctx, replay.Options{LeavesOnly: true, Workers: o.replay.Workers}, sink)
		return failed
	}
	s := sinks{noise: new(compare.Series), diagnosis: diagnosisOf(u, "", again)}
	summary, err := process(ctx, o.replay,
		s.to(w, delivery.SinkOptions{Prefix: prefix, RowsOnly: true, Slices: slices}))
	if err = s.documents.Close(ctx, err); errors.Is(err, delivery.ErrMerged) {
		return err
	}
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
		case r.Status == esmodel.StatusComplete && r.Claim == nil:
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
