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
			"fiolat histogram --format hgrm --only direction=read -o read.hgrm runs/today\n" +
			"fiolat histogram --format hlog --by host -o today.hlog runs/today\n" +
			"fiolat histogram --es http://localhost:9200 --format ndjson RUN\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input; DIR is what ingest " +
			"--output wrote. " + runIs + " A path that exists comes first.\n\n" +
			"csv, ndjson and parquet have the edges and the count of each bucket that is not empty. hgrm is " +
			"HdrHistogram's percentile distribution, one for the whole run or for what --only, --from and --to " +
			"choose. hlog is its interval log, for HistogramLogProcessor: values are ns, and --by makes tags such as " +
			"host=h1;direction=read. hgrm and hlog hold whole I/Os, each in the middle of fio's bucket.",
		Flags: append(
			slices.Concat(o.logs.flags(logFlags{kinds: true, run: true,
				without: []string{"percentiles", "sla", "sla-file", "fail-on-sla"}}),
				pickFlags(&o.logs.Config.Pick, false), esFlags(&o.es)),
			&cli.GenericFlag{Name: "format",
				Value: oneOf(&o.render.Format, "format", "csv", "ndjson", "parquet", "hgrm", "hlog"),
				Usage: "`FORMAT` of the output: csv, ndjson, parquet, hgrm or hlog"},
			&cli.GenericFlag{Name: "unit",
				Value: withDefault("us", oneOf(&o.render.Unit, "unit", "ns", "us", "ms", "s")),
				Usage: "`UNIT` of latencies in csv, parquet and hgrm: ns, us, ms or s"},
			noTotalFlag(&o.render.NoTotal), yesFlag(&o.yes), verboseFlag(),
		),
		Action: action(u, o),
	}
}

func (o *histogramOptions) check(c *cli.Context, bad *errs.Faults) {
	o.printOptions.check(c, bad)
	format := o.render.Format
	hdr := format == "hgrm" || format == "hlog"
	if hdr && len(o.logs.Kinds.List) > 1 {
		bad.Add(fio.Usagef("--format %s is for one --kind", format))
	}
	if c.IsSet("unit") && (format == "ndjson" || format == "hlog") {
		bad.Add(fio.Usagef("--unit: latencies in %s are always ns", format))
	}
	if format != "hgrm" {
		return
	}
	if len(o.logs.Config.Settings.By) > 0 || o.logs.interval != "" && !o.whole {
		bad.Add(fio.Usagef("--format hgrm is one distribution: choose what it is of with --only, --from and --to, " +
			"not --by and --interval; --format hlog has them all"))
	}
	o.whole = true
}

// run prints the histograms of one run.
func (o *histogramOptions) run(ctx context.Context, u *ui.UI) error {
	return o.print(ctx, u, "histograms are of one run", render.NewHistogram)
}
