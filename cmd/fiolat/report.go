package main

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/curve"
	"fiolat/internal/errs"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

type reportOptions struct {
	logs        logOptions // Paths may also name stored runs
	es          runsource.Elasticsearch
	percentiles []float64 // of --percentiles; nil: not given
	kinds       bool      // --kind names several
	file        string    // for the page
	yes         bool      // ask for no confirmation
}

func reportCommand(u *ui.UI) *cli.Command {
	o := &reportOptions{}
	return &cli.Command{
		Name:      "report",
		Usage:     "one self-contained HTML page of a run, of two runs, or of a sweep",
		ArgsUsage: "PATH...|DIR...|RUN...",
		Description: "fiolat report -o today.html runs/today\n" +
			"fiolat report -o today.html --by direction,host,job --percentiles 50,99,99.99 runs/today\n" +
			"fiolat report -o today.html --kind all runs/today                  slat, clat and lat side by side, and " +
			"whether they add up\n" +
			"fiolat report -o today.html today.docs                              documents of ingest --output; " +
			"--run-id names one run\n" +
			"fiolat report -o today.html --es http://localhost:9200 RUN          a run in Elasticsearch\n" +
			"fiolat report -o both.html runs/before runs/after                   two runs, compared\n" +
			"fiolat report -o curve.html depths                                  the runs of a sweep: latency " +
			"against load\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input; DIR is what ingest " +
			"--output wrote. " + runIs + " A path that exists comes first. Of a stored run only --percentiles and " +
			"--kind can be chosen anew; without --kind it has all kinds of latency that are stored. " +
			"Two runs are compared, the first being the baseline. Of more, which must differ in their job " +
			"options, the page has the curve that fiolat curve prints. " +
			"The page of a run has percentiles over time, a heat map, the percentile spectrum, the distribution, " +
			"tables of all of them, and where the numbers come from. It loads nothing from anywhere.",
		Flags: append(slices.Concat(o.logs.flags(logFlags{by: "direction,host,job", kinds: true}),
			pickFlags(&o.logs.Config.Pick, false), esFlags(&o.es)),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "report.html", Destination: &o.file,
				Usage: "`FILE` for the page"},
			yesFlag(&o.yes), verboseFlag(),
		),
		Action: action(u, o),
	}
}

func (o *reportOptions) check(c *cli.Context, bad *errs.Faults) {
	o.logs.check(c, bad)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	stored := o.logs.checkStored(&o.es, c.IsSet, bad)
	if o.kinds = len(o.logs.Kinds.List) > 1; stored && !c.IsSet("kind") {
		o.logs.Kinds = runsource.EveryKind // all that are stored
	}
	if c.IsSet("percentiles") {
		o.percentiles = o.logs.Config.Settings.Percentiles
	}
}

// run writes the page of one run, of two that are compared, or the curve of a sweep.
func (o *reportOptions) run(ctx context.Context, u *ui.UI) error {
	o.logs.Config.Pauses, o.logs.Config.Allow = true, runsource.ConfirmQuanta(u, o.yes || o.logs.DryRun)
	r := &runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u, Percentiles: o.percentiles}
	defer r.Close()
	var found []*runsource.Run
	var err error
	for run, bad := range r.Find(ctx, o.logs.Paths...) {
		if err = bad; err == nil {
			found = append(found, run)
		}
	}
	switch {
	case ingest.IsNoLogs(err):
		if e := o.curve(ctx, r); !errors.Is(e, curve.ErrOneSetting) {
			return e
		}
		return err
	case err != nil:
		return err
	case len(found) == 1:
		return o.one(ctx, found[0], u)
	}
	return o.several(ctx, r, found)
}

// one writes the page of one run.
func (o *reportOptions) one(ctx context.Context, run *runsource.Run, u *ui.UI) error {
	sources, done, err := run.Open(ctx)
	defer done()
	if err != nil {
		return err
	}
	file := newPageFile(o.file, o.logs.DryRun, len(sources))
	defer file.Discard()
	var sums []*pipeline.Summary
	full, err := run.Diagnosis(ctx, sources[0])
	if err != nil {
		return err
	}
	for i, s := range sources {
		out := sinks{page: file, nth: i}
		if i == 0 {
			out.diagnosis = full
		}
		var sum *pipeline.Summary
		if sum, err = s.Process(ctx, out.to(nil, delivery.SinkOptions{})); err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	u.ProgressDone()
	if err = file.Publish(); err != nil {
		return err
	}
	for i, s := range sums {
		kindAccount(u, sources[i].Run, s, len(sums))
	}
	o.written(file, u)
	return failOnSLA(o.logs.FailOnSLA, sums[0])
}

func (o *reportOptions) written(file *pageFile, u *ui.UI) {
	if o.logs.DryRun {
		u.Say("info", "dry run: %d bytes would be written", file.Size)
	} else {
		u.Say("info", "page       %s, %d bytes", fio.Printable(file.Path), file.Size)
	}
}
