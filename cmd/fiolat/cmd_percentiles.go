package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/ingest"
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
		Action: func(c *cli.Context) error { return percentiles(c.Context, u, c) },
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

func percentiles(ctx context.Context, u *ui, c *cli.Context) error {
	var bad faults
	cfg, k, err := u.configKinds(c)
	bad.add(err)
	format, err := oneOf(c, "format", "table", "csv", "json", "ndjson")
	bad.add(err)
	unit, err := oneOf(c, "unit", "ns", "us", "ms")
	bad.add(err)
	args, err := paths(c)
	bad.add(err)
	if err = bad.err(); err != nil {
		return err
	}
	cfg.Nameless = format != "json"
	plans, err := u.oneRun(ctx, c, args, cfg, k, "percentiles of one make sense")
	defer closePlans(plans)
	if err != nil {
		return err
	}
	var written counter
	out := bufio.NewWriterSize(io.MultiWriter(&written, discardIf(c.Bool("dry-run"), u.stdout)), 64<<10)
	var sums []*pipeline.Summary
	sink := newRenderer(format, unit, c.Bool("limits"), out)
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
	if c.Bool("dry-run") {
		u.say("info", "dry run: %d bytes would be written to standard output", written)
	}
	return failOnSLA(c, sums[0])
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

// How much garbage the collector lets gather, in percent of what is in use. With many
// logs less than Go's 100 %, with which the peak over a thousand logs depends on when a
// collection happens to run: 162 MB for 2,160 s and 213 MB for 21,600 s; with 30 % it is
// 145 and 147 MB, for 4 % more processor time. Of few logs that hold little (see
// pipeline.Config.Hold) more saves 7 % of the processor time of `percentiles` over 32 logs
// of 600 s, for 7 MB; an ingest would take twice the memory.
const (
	manyLogs    = 200
	garbageMany = 30
	garbageFew  = 400
)

// discover finds the runs below the paths; any leaves out what is of other kinds only.
func discover(u *ui, c *cli.Context, args []string, kind ingest.Kind, any bool) ([]*ingest.Input, error) {
	runs, err := ingest.Discover(args, ingest.DiscoverOptions{Kind: kind, Any: any, FioJSON: c.StringSlice("fio-json"), Stdin: u.stdin})
	logs, little := 0, c.Command.Name == "percentiles"
	for _, in := range runs {
		logs += len(in.Logs)
		little = little && len(in.Metas) == 0 && !in.LargeWindows()
	}
	switch {
	case os.Getenv("GOGC") != "":
	case logs >= manyLogs:
		debug.SetGCPercent(garbageMany)
	case little:
		debug.SetGCPercent(garbageFew)
	}
	return runs, err
}
