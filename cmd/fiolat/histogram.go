package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/ui"
	"fiolat/report/render"
)

type histogramOptions struct{ printOptions }

func histogramCommand(u *ui.UI) *cli.Command {
	o := &histogramOptions{}
	return &cli.Command{
		Name: "histogram",
		Flags: append(
			slices.Concat(o.logs.flags(logFlags{kinds: true,
				without: []string{"percentiles", "dry-run", "sla", "fail-on-sla"}}),
				pickFlags(&o.logs.Config.Pick, false), esFlags(&o.es)),
			&cli.GenericFlag{Name: "format",
				Value: oneFormat(&o.render.Format, "csv", "ndjson", "parquet"),
				Usage: "`FORMAT`: csv, ndjson or parquet"},
			&cli.GenericFlag{Name: "unit", Value: withDefault("us", oneOf(&o.render.Unit, "unit", render.Units...)),
				Usage: "`UNIT` of latencies, except in ndjson: ns, us, ms, s; or auto, us"},
			noTotalFlag(&o.render.NoTotal), fileFlag(".csv"), yesFlag(&o.yes), verboseFlag(),
		),
		Action: answerTo(u, o),
	}
}

func (o *histogramOptions) check(c *cli.Context, bad *fio.Faults) {
	o.printOptions.check(c, bad)
	if c.IsSet("unit") && o.render.Format == "ndjson" {
		bad.Add(fio.Usagef("--unit: latencies in ndjson are always ns"))
	}
}

// run prints the histograms of one run.
func (o *histogramOptions) run(ctx context.Context, u *ui.UI) error {
	return o.print(ctx, u, "histograms are of one run", render.NewHistogram)
}
