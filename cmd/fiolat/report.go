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
	"fiolat/internal/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

type reportOptions struct {
	logs        logOptions // Paths may also name a stored run
	es          runsource.Elasticsearch
	place       runsource.Place // of what Paths names
	percentiles []float64       // of a stored run; none: those that it has
	file        string          // for the page
	yes         bool            // ask for no confirmation
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
	if len(o.logs.Paths) == 1 {
		var err error
		o.place, err = placeOf(o.logs.Paths, o.es.Addresses, c.IsSet)
		bad.Add(err)
	} else {
		for _, path := range o.logs.Paths {
			bad.Add(rejectLogFlags(runsource.Locate(path), fio.Printable(path), c.IsSet))
		}
	}
	if !c.IsSet("kind") && o.place != runsource.InLogs {
		o.logs.Kinds = runsource.EveryKind // all that are stored
	}
	if c.IsSet("percentiles") {
		o.percentiles = o.logs.Config.Settings.Percentiles
	}
}

// placeOf returns where the named run is, or an error if a flag is given that a stored run does not take.
func placeOf(args []string, addresses []string, given func(flag string) bool) (runsource.Place, error) {
	if len(args) != 1 {
		if given("es") {
			return 0, fio.Usagef("--es: name one run")
		}
		return runsource.InLogs, nil
	}
	place := runsource.Locate(args[0])
	if place == runsource.Stored && len(addresses) == 0 {
		place = runsource.InLogs // its error says that there is no such file
	}
	return place, rejectLogFlags(place, "this run", given)
}

// rejectLogFlags returns an error if a flag for logs is given and the run is stored.
func rejectLogFlags(place runsource.Place, run string, given func(flag string) bool) error {
	if place == runsource.InLogs {
		return nil
	}
	for _, f := range new(logOptions).flags(logFlags{}) {
		name := f.Names()[0]
		if name == "percentiles" || name == "workers" || name == "dry-run" || name == "fail-on-sla" || name == "kind" ||
			name == "run-id" && place == runsource.InDirectory {
			continue
		}
		if given(name) {
			return fio.Usagef("--%s: %s is stored, and its settings cannot be changed", name, run)
		}
	}
	return nil
}

// run writes the page of one run, of two that are compared, or the curve of a sweep.
func (o *reportOptions) run(ctx context.Context, u *ui.UI) error {
	n, found, err := o.count(u)
	switch {
	case ingest.IsNoLogs(err):
		if e := o.curve(ctx, u); !errors.Is(e, curve.ErrOneSetting) {
			return e
		}
		return err
	case err != nil:
		return err
	case n > 1:
		return o.runs(ctx, n, u)
	}
	return o.one(ctx, found, u)
}

// one writes the page of one run. found is that run, nil if it was not looked for yet.
func (o *reportOptions) one(ctx context.Context, found []*runsource.KindRun, u *ui.UI) error {
	source := runsource.OneSource{
		Logs:          o.logs.Logs,
		Elasticsearch: o.es,
		Place:         o.place,
		Runs:          found,
		Percentiles:   o.percentiles,
		Why:           "a page shows one",
		Yes:           o.yes,
		Pauses:        true,
	}
	sources, done, err := source.Sources(ctx, u)
	defer done()
	if err != nil {
		return err
	}
	file := newPageFile(o.file, o.logs.DryRun, len(sources))
	defer file.Discard()
	var sums []*pipeline.Summary
	full := diagnose.Full{Reread: sources[0].Reread}
	if notes := sources[0].Notes; notes != nil {
		if full.Notes, err = notes(ctx); err != nil {
			return err
		}
	}
	for i, s := range sources {
		out := sinks{page: file, nth: i}
		if i == 0 {
			out.diagnosis = &full
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
