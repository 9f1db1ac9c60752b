package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
	"fiolat/pipeline"
)

func mergeCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "exact percentiles of a run whose hosts were ingested apart",
		ArgsUsage: "RUN",
		Description: "on each host:  fiolat ingest --es http://es:9200 --run-id R --part $(hostname) --start TIME logs\n" +
			"then, once:    fiolat merge --es http://es:9200 --parts 40 R\n\n" +
			"Reads the stored histograms of all parts back, adds them up, and writes the scopes across hosts and the document of the run: " +
			"what an ingest of all logs at once would have written, to the last bit where the hosts have names. " +
			"Again it changes nothing; after another part has arrived it replaces what the merge before has written.",
		Flags: append(esFlags(), takeOverFlag(),
			&cli.IntFlag{Name: "parts", Category: catRun, Usage: "`N` parts must be there, or nothing is merged (default: as many as there are)"},
			&cli.BoolFlag{Name: "skip-incomplete", Category: catRun, Usage: "leave out parts that are still running or not all there; each is named (default: nothing is merged then)"},
			&cli.StringFlag{Name: "kind", Category: catSplit, Value: "clat", Usage: "`KIND` of latency that the parts were ingested with: clat, slat or lat"},
			&cli.StringFlag{Name: "percentiles", Category: catSplit, Usage: "the percentiles wanted: a `LIST` of numbers from 0 to 100 (default: those of the parts)"},
			&cli.IntFlag{Name: "workers", Category: catInput, Usage: "quanta added up at a time (default: one per processor); changes no result"},
			&cli.BoolFlag{Name: "fail-on-sla", Category: catSLA, Usage: "exit with 4 if a rule that the parts were ingested with is broken by the whole"},
			&cli.BoolFlag{Name: "dry-run", Category: catInput, Usage: "do everything but write: say what would be written"},
			&cli.StringFlag{Name: "output", Category: catES, Value: defaultOutput, Usage: "`DIR` for what could not be sent or was refused"},
		),
		Action: action(u, readMergeOptions, mergeRun),
	}
}

// mergeOptions are what fiolat merge is asked for.
type mergeOptions struct {
	Elasticsearch  Elasticsearch
	Run            string // its run.id
	Kind           ingest.Kind
	Parts          int  // that must be there; 0: as many as there are
	SkipIncomplete bool // leaves out parts that are not complete
	Replay         pipeline.ReplayOptions
	FailOnSLA      bool
	DryRun         bool
}

func readMergeOptions(c *cli.Context) (o mergeOptions, err error) {
	var bad faults
	if c.NArg() != 1 {
		bad.add(usagef("fiolat merge: name one run, its run.id"))
	}
	o = mergeOptions{
		Run: c.Args().First(), Parts: c.Int("parts"), SkipIncomplete: c.Bool("skip-incomplete"),
		Replay:    pipeline.ReplayOptions{AcrossHosts: true, Workers: c.Int("workers")},
		FailOnSLA: c.Bool("fail-on-sla"), DryRun: c.Bool("dry-run"),
	}
	if v := c.String("percentiles"); v != "" {
		o.Replay.Percentiles, err = percentileList(v)
		bad.add(err)
	}
	for _, flag := range []string{"workers", "parts"} {
		if c.Int(flag) < 0 {
			bad.add(usagef("--%s %d: want 1 or more", flag, c.Int(flag)))
		}
	}
	o.Kind, err = latency(c.String("kind"))
	bad.add(err)
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	return o, bad.err()
}

func mergeRun(ctx context.Context, o mergeOptions, u *ui) error {
	prefix := o.Elasticsearch.Prefix
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	runs, err := esmodel.StoredRuns(ctx, client, prefix, o.Run, o.Kind)
	if err != nil {
		return err
	}
	parts, warnings, err := mergeable(&o, runs)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		u.warn(w)
	}
	replay, err := esmodel.ReplayStored(client, prefix, parts)
	if err != nil {
		return err
	}
	replay.Warnings = warnings
	var w esmodel.Writer = esmodel.NewCountWriter()
	if !o.DryRun {
		if w, err = o.Elasticsearch.Writer(client, false); err != nil {
			return err
		}
	}
	sink := esmodel.NewSink(w, esmodel.SinkOptions{Prefix: prefix})
	summary, err := replay.Process(ctx, o.Replay, sink)
	err = sink.Close(ctx, err)
	if err = u.concluded(&o.Elasticsearch, o.DryRun, replay.Run, summary, sink.Report(), err); err != nil {
		return err
	}
	return failOnSLA(o.FailOnSLA, summary)
}

// mergeable are the parts to merge, and what is to be said about those that are not.
func mergeable(o *mergeOptions, runs []*esmodel.StoredRun) (parts []*esmodel.StoredRun, warnings []string, err error) {
	cannot := func(hint, format string, args ...any) error {
		return &ingest.ParseError{File: fmt.Sprintf("run %q", o.Run), Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, r := range runs {
		switch {
		case r.Run.Part == "" && len(r.Run.Parts) == 0:
			return nil, nil, cannot("fiolat delete it if its hosts are to be ingested apart", "it was ingested as a whole: there is nothing to merge")
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
			names = append(names, ingest.Printable(p.Run.Part))
		}
		slices.Sort(names)
		return nil, nil, cannot("ingest what is missing, then merge", "%d complete parts are there, --parts wants %d: %s", len(parts), want, strings.Join(names, ", "))
	}
	return parts, warnings, nil
}
