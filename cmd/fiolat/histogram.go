package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/ui"
)

type histogramOptions struct{ printOptions }

func histogramCommand(u *ui.UI) *cli.Command {
	o := &histogramOptions{}
	return &cli.Command{
		Name:      "histogram",
		Usage:     "histograms over time, on standard output",
		ArgsUsage: "PATH...|DIR|RUN",
		Description: "fiolat histogram --interval 10s --by direction -o buckets.csv runs/today\n" +
			"fiolat histogram --format parquet --by direction -o buckets.parquet runs/today\n" +
			"fiolat histogram --es http://localhost:9200 --format ndjson RUN\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input; DIR is what ingest " +
			"--output wrote. " + runIs + " A path that exists comes first.\n\n" +
			"It has the edges and the count of each bucket that is not empty.",
		Flags: append(
			slices.Concat(o.logs.flags(logFlags{kinds: true,
				without: []string{"percentiles", "dry-run", "sla", "fail-on-sla"}}),
				pickFlags(&o.logs.Config.Pick, false), esFlags(&o.es)),
			&cli.GenericFlag{Name: "format",
				Value: oneOf(&o.render.Format, "format", "csv", "ndjson", "parquet"),
				Usage: "`FORMAT` of the output: csv, ndjson or parquet"},
			&cli.GenericFlag{Name: "unit",
				Value: withDefault("us", oneOf(&o.render.Unit, "unit", "ns", "us", "ms", "s")),
				Usage: "`UNIT` of latencies in csv and parquet: ns, us, ms or s"},
			noTotalFlag(&o.render.NoTotal), yesFlag(&o.yes), verboseFlag(),
		),
		Action: action(u, o),
	}
}

func (o *histogramOptions) check(c *cli.Context, bad *errs.Faults) {
	o.printOptions.check(c, bad)
	if c.IsSet("unit") && o.render.Format == "ndjson" {
		bad.Add(fio.Usagef("--unit: latencies in ndjson are always ns"))
	}
}

// run prints the histograms of one run.
func (o *histogramOptions) run(ctx context.Context, u *ui.UI) error {
	return o.print(ctx, u, "histograms are of one run", render.NewHistogram)
}
