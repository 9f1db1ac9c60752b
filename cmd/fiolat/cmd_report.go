package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	"fiolat/internal/command/report"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func reportCommand(u *ui.UI) *cli.Command {
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
		Flags: append(slices.Concat(severalKinds(logFlags("direction,host,job")), pickFlags(), esFlags(new(command.Elasticsearch))),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "report.html", Usage: "`FILE` for the page"},
			yesFlag(), verboseFlag(),
		),
		Action: actionOf(u, readReportOptions, report.Run),
	}
}

func readReportOptions(c *cli.Context) (o report.Options, err error) {
	var bad errs.Faults
	o.Logs, err = logOptions(c)
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	if len(o.Logs.Paths) == 1 {
		o.Place, err = placeOf(o.Logs.Paths, o.Elasticsearch.Addresses, c.IsSet)
		bad.Add(err)
	} else {
		for _, path := range o.Logs.Paths {
			bad.Add(rejectLogFlags(command.Locate(path), errs.Printable(path), c.IsSet))
		}
	}
	if !c.IsSet("kind") && o.Place != command.InLogs {
		o.Logs.Kinds = command.EveryKind // all that are stored
	}
	if c.IsSet("percentiles") {
		o.Percentiles = o.Logs.Config.Settings.Percentiles
	}
	o.File, o.Yes = c.String("output"), c.Bool("yes")
	return o, bad.Err()
}

// placeOf returns where the named run is, or an error if a flag is given that a stored run does not take.
func placeOf(args []string, addresses []string, given func(flag string) bool) (command.Place, error) {
	if len(args) != 1 {
		if given("es") {
			return 0, errs.Usagef("--es: name one run")
		}
		return command.InLogs, nil
	}
	place := command.Locate(args[0])
	if place == command.Stored && len(addresses) == 0 {
		place = command.InLogs // its error says that there is no such file
	}
	return place, rejectLogFlags(place, "this run", given)
}

// rejectLogFlags returns an error if a flag for logs is given and the run is stored.
func rejectLogFlags(place command.Place, run string, given func(flag string) bool) error {
	if place == command.InLogs {
		return nil
	}
	for _, f := range logFlags("") {
		name := f.Names()[0]
		if name == "percentiles" || name == "workers" || name == "dry-run" || name == "fail-on-sla" || name == "kind" ||
			name == "run-id" && place == command.InDirectory {
			continue
		}
		if given(name) {
			return errs.Usagef("--%s: %s is stored, and its settings cannot be changed", name, run)
		}
	}
	return nil
}
