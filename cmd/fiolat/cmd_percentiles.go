package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/command"
	"fiolat/internal/command/percentiles"
	"fiolat/internal/errs"
	"fiolat/internal/like"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

func percentilesCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "percentiles",
		Usage:     "percentiles over time, on standard output",
		ArgsUsage: "PATH...|DIR|RUN",
		Description: "fiolat percentiles --interval 10s --by direction runs/today\n" +
			"fiolat percentiles --interval run --only direction=read runs/today      one row for the whole run\n" +
			"fiolat percentiles --from 3:00 --to 4:00 runs/today                     the minute from 3:00 on\n" +
			"fiolat percentiles --by host --wide p99 runs/today                      hosts side by side\n" +
			"fiolat percentiles --es http://localhost:9200 --format csv -o run.csv RUN\n" +
			"zcat big_clat_hist.1.log.gz | fiolat percentiles -\n" +
			"fiolat percentiles --like fio-histo-log-pctiles --time-quantum 10 -- *_clat_hist.*.log\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input; DIR is what ingest " +
			"--output wrote. " + runIs + " A path that exists comes first. Of a stored run the interval is that of " +
			"its documents, or run; --by can name what it was stored by. " +
			"--like PROGRAM (fio-histo-log-pctiles or fiologparser_hist) reads everything after it as that program " +
			"reads its own command line, and prints what it prints.",
		Flags: append(
			slices.Concat(severalKinds(logFlags("")), pickFlags(), esFlags(new(command.Elasticsearch))),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, csv, json or " +
				"ndjson"},
			&cli.StringFlag{
				Name:  "unit",
				Value: "auto",
				Usage: "`UNIT` of latencies in tables and csv: ns, us, ms, s, " +
					"or auto: what suits each column; in csv auto is us",
			},
			&cli.BoolFlag{Name: "limits", Usage: "show 95 % limits of each percentile, in an interval the sampling " +
				"limits of independent I/Os, with --interval run wider ones for bursts, in tables and " +
				"csv; json and ndjson always have them"},
			&cli.StringFlag{
				Name: "wide",
				Usage: "in tables and csv a row for each time, with `FIGURE` (p99 or another " +
					"percentile, mean, min, max, stddev, iops, concurrency or samples) of each --by host, job, ... " +
					"in a column of its own",
			},
			&cli.BoolFlag{Name: "no-total", Usage: "leave out the rows that add up others"},
			&cli.StringFlag{Name: "like", Usage: "print what `PROGRAM` prints; its own flags follow"},
			yesFlag(), verboseFlag(),
		),
		Action: actionOf(u, readPercentilesOptions, percentiles.Run),
	}
}

var errNotLike = errors.New("not --like")

// runLike handles percentiles --like PROGRAM, whose arguments the library must not parse. For any other command line
// it returns errNotLike.
func runLike(ctx context.Context, u *ui.UI, args []string) error {
	if len(args) < 2 || args[1] != "percentiles" {
		return errNotLike
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		if program, ok := strings.CutPrefix(a, "--like="); ok {
			return like.Run(ctx, program, args[i+1:], u.Stdout, u.Stderr)
		}
		if a == "--like" {
			if i+1 == len(args) {
				return errs.Usagef("--like: want %s", strings.Join(like.Programs, " or "))
			}
			return like.Run(ctx, args[i+1], args[i+2:], u.Stdout, u.Stderr)
		}
	}
	return errNotLike
}

func readPercentilesOptions(c *cli.Context) (o percentiles.Options, err error) {
	var bad errs.Faults
	o.Logs, err = logOptions(c)
	bad.Add(err)
	o.Whole = c.String("interval") == wholeRun
	o.Render.Format, err = wordOf(c, "format")
	bad.Add(err)
	o.Render.Unit, err = wordOf(c, "unit")
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	o.Place, err = placeOf(o.Logs.Paths, o.Elasticsearch.Addresses, func(flag string) bool {
		return c.IsSet(flag) && flag != "by" && !(flag == "interval" && o.Whole)
	})
	bad.Add(err)
	o.Render.Limits, o.Render.NoTotal, o.Yes = c.Bool("limits"), c.Bool("no-total"), c.Bool("yes")
	settings := &o.Logs.Config.Settings
	if wide := c.String("wide"); wide != "" {
		bad.Add(readWide(&o, wide))
	}
	if o.Place == command.InLogs || c.IsSet("percentiles") || c.IsSet("wide") {
		o.Percentiles = settings.Percentiles
	}
	return o, bad.Err()
}

// readWide parses --wide and adds its percentile to those computed.
func readWide(o *percentiles.Options, wide string) error {
	settings := &o.Logs.Config.Settings
	m, err := fio.ParseMetric(wide)
	name := strings.TrimPrefix(m.String(), "all ")
	switch {
	case wide != "stddev" && (err != nil || m.Percentile == 0 && !slices.Contains(render.Figures, m.Name)):
		return errs.Usagef("--wide %q: want p99 or another percentile, or %s", wide, strings.Join(render.Figures, ", "))
	case wide == "stddev":
		name = wide
	case m.Direction != pipeline.All:
		return errs.Usagef("--wide %q: say --wide %s --only direction=%s", wide, m.Name, m.Direction)
	}
	switch {
	case len(settings.By) == 0:
		return errs.Usagef("--wide %s: say with --by what is to lie side by side, such as --by host", wide)
	case o.Render.Format != "table" && o.Render.Format != "csv":
		return errs.Usagef("--wide is for --format table and csv")
	case len(o.Logs.Kinds.List) > 1:
		return errs.Usagef("--wide is for one --kind")
	case o.Render.Limits:
		return errs.Usagef("--limits and --wide exclude each other")
	}
	if o.Render.Wide = name; m.Percentile > 0 && !slices.Contains(settings.Percentiles, m.Percentile) {
		settings.Percentiles = append(settings.Percentiles, m.Percentile)
	}
	return nil
}
