package main

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command/percentiles"
	"fiolat/internal/errs"
	"fiolat/internal/like"
	"fiolat/internal/ui"
)

func percentilesCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "percentiles",
		Usage:     "percentiles over time, on standard output",
		ArgsUsage: "PATH...",
		Description: "fiolat percentiles --interval 10s --by direction runs/today\n" +
			"fiolat percentiles --format ndjson --percentiles 50,99,99.99 'host*_clat_hist.*.log*'\n" +
			"zcat big_clat_hist.1.log.gz | fiolat percentiles -\n" +
			"fiolat percentiles --like fio-histo-log-pctiles --time-quantum 10 -- *_clat_hist.*.log\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. " +
			"--like PROGRAM (fio-histo-log-pctiles or fiologparser_hist) reads everything after it as that program " +
			"reads its own command line, and prints what it prints.",
		Flags: append(severalKinds(logFlags("")),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, csv, json or " +
				"ndjson"},
			&cli.StringFlag{Name: "unit", Value: "us", Usage: "`UNIT` of latencies in tables and csv: ns, us or ms"},
			&cli.BoolFlag{Name: "limits", Usage: "show the 95 % confidence limits of each percentile in tables and " +
				"csv; json and ndjson always have them"},
			&cli.StringFlag{Name: "like", Usage: "print what `PROGRAM` prints; its own flags follow"},
			yesFlag(),
		),
		Action: action(u, readPercentilesOptions, percentiles.Run),
	}
}

var errNotLike = errors.New("not --like")

// runLike handles percentiles --like PROGRAM, whose arguments are not ours.
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
	o.Format, err = oneOf(c, "format", "table", "csv", "json", "ndjson")
	bad.Add(err)
	o.Unit, err = oneOf(c, "unit", "ns", "us", "ms")
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Limits, o.Yes = c.Bool("limits"), c.Bool("yes")
	return o, bad.Err()
}
