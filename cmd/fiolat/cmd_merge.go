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
		Action: func(c *cli.Context) error { return mergeRun(c.Context, u, c) },
	}
}

func mergeRun(ctx context.Context, u *ui, c *cli.Context) error {
	var bad faults
	if c.NArg() != 1 {
		bad.add(usagef("fiolat merge: name one run, its run.id"))
	}
	o := pipeline.ReplayOptions{AcrossHosts: true, Workers: c.Int("workers")}
	var err error
	if v := c.String("percentiles"); v != "" {
		o.Percentiles, err = percentileList(v)
		bad.add(err)
	}
	for _, flag := range []string{"workers", "parts"} {
		if c.Int(flag) < 0 {
			bad.add(usagef("--%s %d: want 1 or more", flag, c.Int(flag)))
		}
	}
	kind, err := latency(c.String("kind"))
	bad.add(err)
	prefix := c.String("index-prefix")
	bad.add(esmodel.CheckPrefix(prefix))
	if err = bad.err(); err != nil {
		return err
	}
	client, err := u.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	runs, err := esmodel.StoredRuns(ctx, client, prefix, c.Args().First(), kind)
	if err != nil {
		return err
	}
	parts, warnings, err := mergeable(c, runs)
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
	if !c.Bool("dry-run") {
		if w, err = esmodel.NewBulkWriter(client, esmodel.BulkConfig{Prefix: prefix, SpoolDir: c.String("output"), TakeOver: c.Bool("take-over")}); err != nil {
			return err
		}
	}
	sink := esmodel.NewSink(w, esmodel.SinkOptions{Prefix: prefix})
	summary, err := replay.Process(ctx, o, sink)
	err = sink.Close(ctx, err)
	if err = u.concluded(c, replay.Run, summary, sink.Report(), err); err != nil {
		return err
	}
	return failOnSLA(c, summary)
}

// mergeable are the parts to merge, and what is to be said about those that are not.
func mergeable(c *cli.Context, runs []*esmodel.StoredRun) (parts []*esmodel.StoredRun, warnings []string, err error) {
	id := c.Args().First()
	cannot := func(hint, format string, args ...any) error {
		return &ingest.ParseError{File: fmt.Sprintf("run %q", id), Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, r := range runs {
		switch {
		case r.Run.Part == "" && len(r.Run.Parts) == 0:
			return nil, nil, cannot("fiolat delete it if its hosts are to be ingested apart", "it was ingested as a whole: there is nothing to merge")
		case r.Run.Part == "":
		case r.Status == esmodel.StatusComplete && r.Claim == nil:
			parts = append(parts, r)
		case !c.Bool("skip-incomplete"):
			return nil, nil, fmt.Errorf("%w, or pass --skip-incomplete to merge the others", r.Incomplete())
		default:
			warnings = append(warnings, fmt.Sprintf("left out: part %q is %s", r.Run.Part, r.Status))
		}
	}
	slices.Sort(warnings)
	if len(parts) == 0 {
		return nil, nil, cannot("see fiolat ingest --part", "no complete part of it is in %s-run", c.String("index-prefix"))
	}
	if want := c.Int("parts"); want != 0 && want != len(parts) {
		var names []string
		for _, p := range parts {
			names = append(names, ingest.Printable(p.Run.Part))
		}
		slices.Sort(names)
		return nil, nil, cannot("ingest what is missing, then merge", "%d complete parts are there, --parts wants %d: %s", len(parts), want, strings.Join(names, ", "))
	}
	return parts, warnings, nil
}
