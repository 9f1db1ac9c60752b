package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
	"fiolat/internal/command"
	"fiolat/internal/command/merge"
	"fiolat/internal/command/rollup"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

func rollupCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "rollup",
		Usage:     "add up the quanta of stored runs into longer ones, and delete the short ones",
		ArgsUsage: "[RUN...]",
		Description: "fiolat rollup --es http://localhost:9200 --older-than 30d --interval 1m\n" +
			"fiolat rollup --interval 10s --coarseness 3 nightly-4711\n\n" +
			"A run that was rolled up is what an ingest of its logs with that interval and coarseness would have " +
			"made of them: histograms are added up exactly, and percentiles, limits and SLA verdicts are computed " +
			"anew. The short quanta are deleted once Elasticsearch has counted all of the long ones; a rollup that " +
			"was interrupted is finished by the same command. There is no way back but to ingest the logs again. " +
			runIs,
		Flags: append(esFlags(new(command.Elasticsearch)), takeOverFlag(), verboseFlag(),
			&cli.DurationFlag{Name: "interval", Category: catRun, Usage: "`DURATION` of the long quanta, a multiple " +
				"of the runs' own"},
			&cli.IntFlag{Name: "coarseness", Category: catRun, Value: -1, Usage: "`N` to merge 2^N neighbouring " +
				"buckets of fio's, 0 to 6 (default: as they are)"},
			&cli.StringFlag{Name: "older-than", Category: catFilter, Usage: "runs that started before that `AGE`, " +
				"such as 12h, 30d, 8w"},
			&cli.StringSliceFlag{Name: "label", Category: catFilter, Usage: "runs with the label `KEY=VALUE`; can " +
				"be repeated"},
			&cli.IntFlag{Name: "workers", Category: catInput, Usage: "number of quanta to add up at a time (default: " +
				"one per processor); does not change results"},
			&cli.BoolFlag{Name: "dry-run", Category: catInput, Usage: "write and delete nothing, print what would " +
				"be written"},
		),
		Action: actionOf(u, readRollupOptions, runRollup),
	}
}

func runRollup(ctx context.Context, o rollup.Options, u *ui.UI) error {
	o.Merge = func(ctx context.Context, run string, kind fiolog.Kind, percentiles []float64) error {
		return merge.Run(ctx, merge.Options{Elasticsearch: o.Elasticsearch, Run: run, Kind: kind, SkipIncomplete: true,
			Replay: replay.Options{AcrossHosts: true, Workers: o.Workers, Percentiles: percentiles}}, u)
	}
	return rollup.Run(ctx, o, u)
}

func readRollupOptions(c *cli.Context) (o rollup.Options, err error) {
	var bad errs.Faults
	o = rollup.Options{Runs: c.Args().Slice(), Workers: c.Int("workers"), DryRun: c.Bool("dry-run"),
		To: pipeline.Grain{Interval: int64(c.Duration("interval")), Coarseness: c.Int("coarseness")}}
	if d := c.Duration("interval"); !c.IsSet("interval") && !c.IsSet("coarseness") {
		bad.Add(errs.Usagef("fiolat rollup: pass --interval, --coarseness, or both"))
	} else if c.IsSet("interval") && d < time.Millisecond {
		bad.Add(errs.Usagef("--interval %v: want 1ms or more", d))
	}
	if n := o.To.Coarseness; c.IsSet("coarseness") && (n < 0 || n > fiohist.MaxCoarseness) {
		bad.Add(errs.Usagef("--coarseness %d: want 0 to %d", n, fiohist.MaxCoarseness))
	}
	if o.Workers < 0 {
		bad.Add(errs.Usagef("--workers %d: want 1 or more", o.Workers))
	}
	switch chosen := c.IsSet("older-than") || c.IsSet("label"); {
	case chosen && len(o.Runs) > 0:
		bad.Add(errs.Usagef("name runs, or choose them by --older-than and --label, not both"))
	case !chosen && len(o.Runs) == 0:
		bad.Add(errs.Usagef("fiolat rollup: name runs, or choose them by --older-than or --label"))
	}
	if v := c.String("older-than"); v != "" {
		if !age().MatchString(v) {
			bad.Add(errs.Usagef("--older-than %q: want an age such as 12h, 30d or 8w", v))
		}
		o.Filter.Until = "now-" + v
	}
	o.Filter.Labels, err = pairs("--label", c.StringSlice("label"))
	bad.Add(err)
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
