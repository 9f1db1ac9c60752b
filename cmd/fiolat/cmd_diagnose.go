package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	"fiolat/internal/command/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func diagnoseCommand(u *ui.UI) *cli.Command {
	// The tests choose the grouping and the percentiles. Flags that describe the run do not apply.
	flags := slices.DeleteFunc(logFlags(""), func(f cli.Flag) bool {
		return slices.Contains([]string{"by", "percentiles", "dry-run", "run-name", "label", "part", "sla", "sla-file",
			"fail-on-sla"}, f.Names()[0])
	})
	return &cli.Command{
		Name:      "diagnose",
		Usage:     "who makes the tail, what happened when, and how loaded it was",
		ArgsUsage: "PATH...|DIR|RUN",
		Description: "fiolat diagnose runs/today\n" +
			"fiolat diagnose --format json runs/today | jq .stragglers\n" +
			"fiolat diagnose --es http://localhost:9200 RUN\n\n" +
			"PATH is a log, a directory that is searched, or a glob; DIR is what ingest --output wrote. " + runIs +
			" Prints sentences, the worst first: hosts, jobs and logs that stand out among their peers, stalls and " +
			"slow-downs, when the run was steady, and how many I/Os were in flight. Of a stored run only what its " +
			"--by splits is compared. docs/diagnose.md explains the tests.",
		Flags: append(slices.Concat(flags, pickFlags(), esFlags(new(command.Elasticsearch))),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table or json"},
			&cli.StringFlag{Name: "unit", Value: "us", Usage: "`UNIT` of latencies in tables: ns, us or ms"},
		),
		Action: actionOf(u, readDiagnoseOptions, diagnose.Run),
	}
}

func readDiagnoseOptions(c *cli.Context) (o diagnose.Options, err error) {
	var bad errs.Faults
	o.Logs, err = oneKindOptions(c)
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	if len(o.Logs.Paths) == 1 && len(o.Elasticsearch.Addresses) > 0 || len(o.Logs.Paths) == 1 &&
		command.Locate(o.Logs.Paths[0]) == command.InDirectory {
		_, err = placeOf(o.Logs.Paths, o.Elasticsearch.Addresses, c.IsSet)
		bad.Add(err)
	}
	o.Format, err = wordOf(c, "format")
	bad.Add(err)
	o.Unit, err = wordOf(c, "unit")
	bad.Add(err)
	return o, bad.Err()
}
