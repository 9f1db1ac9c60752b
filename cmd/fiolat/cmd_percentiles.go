package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/internal/like"
	"fiolat/pipeline"
)

func percentilesCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "percentiles",
		Usage:     "percentiles over time, on standard output",
		ArgsUsage: "PATH...",
		Description: "fiolat percentiles --interval 10s --by direction runs/today\n" +
			"fiolat percentiles --format ndjson --percentiles 50,99,99.99 'host*_clat_hist.*.log*'\n" +
			"zcat big_clat_hist.1.log.gz | fiolat percentiles -\n" +
			"fiolat percentiles --like fio-histo-log-pctiles --time-quantum 10 -- *_clat_hist.*.log\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. " +
			"--like PROGRAM (fio-histo-log-pctiles or fiologparser_hist) reads everything after it as that program reads its own command line, and prints what it prints.",
		Flags: append(severalKinds(logFlags("")),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, csv, json or ndjson"},
			&cli.StringFlag{Name: "unit", Value: "us", Usage: "`UNIT` of latencies in tables and csv: ns, us or ms"},
			&cli.BoolFlag{Name: "limits", Usage: "show the 95 % confidence limits of each percentile in tables and csv; json and ndjson always have them"},
			&cli.StringFlag{Name: "like", Usage: "answer as `PROGRAM` does, from its own flags that follow"},
		),
		Action: action(u, readPercentilesOptions, percentiles),
	}
}

var errNotLike = errors.New("not --like")

// runLike handles percentiles --like PROGRAM, whose arguments are not ours.
func runLike(ctx context.Context, u *ui, args []string) error {
	if len(args) < 2 || args[1] != "percentiles" {
		return errNotLike
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		if program, ok := strings.CutPrefix(a, "--like="); ok {
			return like.Run(ctx, program, args[i+1:], u.stdout, u.stderr)
		}
		if a == "--like" {
			if i+1 == len(args) {
				return usagef("--like: want %s", strings.Join(like.Programs, " or "))
			}
			return like.Run(ctx, args[i+1], args[i+2:], u.stdout, u.stderr)
		}
	}
	return errNotLike
}

// percentilesOptions are what fiolat percentiles is asked for.
type percentilesOptions struct {
	Logs   Logs
	Format string // table, csv, json or ndjson
	Unit   string // of latencies in tables and csv: ns, us or ms
	Limits bool   // shows confidence limits in tables and csv
}

func readPercentilesOptions(c *cli.Context) (o percentilesOptions, err error) {
	var bad faults
	o.Logs, err = logOptions(c)
	bad.add(err)
	o.Format, err = oneOf(c, "format", "table", "csv", "json", "ndjson")
	bad.add(err)
	o.Unit, err = oneOf(c, "unit", "ns", "us", "ms")
	bad.add(err)
	bad.add(needPaths(o.Logs))
	o.Limits = c.Bool("limits")
	return o, bad.err()
}

func percentiles(ctx context.Context, o percentilesOptions, u *ui) error {
	cfg := o.Logs.pipeline(u)
	cfg.Nameless = o.Format != "json"
	plans, err := o.Logs.oneRun(ctx, u, cfg, "percentiles of one make sense")
	defer closePlans(plans)
	if err != nil {
		return err
	}
	var written counter
	out := bufio.NewWriterSize(io.MultiWriter(&written, discardIf(o.Logs.DryRun, u.stdout)), 64<<10)
	var sums []*pipeline.Summary
	sink := newRenderer(o.Format, o.Unit, o.Limits, out)
	sink.of = len(plans)
	for _, plan := range plans {
		var s *pipeline.Summary
		if s, err = plan.Process(ctx, sink); err != nil {
			break
		}
		sums = append(sums, s)
	}
	u.progressDone()
	if ferr := out.Flush(); err == nil && ferr != nil {
		return ferr
	}
	if err != nil {
		return err
	}
	for i, s := range sums {
		u.kindAccount(plans[i].Run, s, len(plans))
	}
	if o.Logs.DryRun {
		u.say("info", "dry run: %d bytes would be written to standard output", written)
	}
	return failOnSLA(o.Logs.FailOnSLA, sums[0])
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func discardIf(yes bool, w io.Writer) io.Writer {
	if yes {
		return io.Discard
	}
	return w
}
