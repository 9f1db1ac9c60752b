package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/command"
	summarycmd "fiolat/internal/command/summary"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func summaryCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "summary",
		Usage:     "a row of figures for each run and direction",
		ArgsUsage: "PATH|RUN...",
		Description: "fiolat summary runs\n" +
			"fiolat summary --where 'read p99 < 50ms' --sort -iops runs\n" +
			"fiolat summary --by host --format csv runs/today\n\n" +
			"A directory is searched: each run below it has its rows, with the job options in which the runs differ. " +
			"A run that left only fio's JSON (json+) counts, too. " + orStored +
			" A job that syncs (fsync, fdatasync, sync_file_range) has a row for its syncs, whose latency fio " +
			"reports in its JSON only.",
		Flags: append(slices.Concat(wholeRunFlags("50,99,99.9"), pickFlags(), esFlags(new(command.Elasticsearch))),
			&cli.StringSliceFlag{Name: "where", Usage: "only runs for which `RULE` holds, such as 'read p99 < 1ms', " +
				"'sync max < 50ms' or 'iops >= 10000'; can be repeated"},
			&cli.StringFlag{Name: "sort", Usage: "order runs by `[-]METRIC`, such as 'read p99' or -iops: - puts the " +
				"largest first (default: by path)"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, markdown, csv, " +
				"json or ndjson"},
			unitFlag(),
		),
		Action: actionOf(u, readSummaryOptions, summarycmd.Run),
	}
}

// orStored says in the help what an argument may be.
const orStored = "PATH is logs (a file, a directory, a glob) or a directory of documents (ingest --output), RUN a " +
	"run in Elasticsearch. " + runIs

// wholeRunFlags returns the log flags of commands that print figures of whole runs.
func wholeRunFlags(percentiles string) []cli.Flag {
	flags := slices.DeleteFunc(logFlags(""), func(f cli.Flag) bool {
		return slices.Contains([]string{"fio-json", "dry-run", "run-id", "run-name", "label", "part", "sla", "sla-file",
			"fail-on-sla", "interval", "accuracy", "grid", "start", "offset", "offsets", "align"}, f.Names()[0])
	})
	for _, f := range flags {
		if s, ok := f.(*cli.StringFlag); ok && s.Name == "percentiles" {
			s.Value = percentiles
		}
	}
	return flags
}

func unitFlag() cli.Flag {
	return &cli.StringFlag{Name: "unit", Value: "auto", Usage: "`UNIT` of latencies in tables: ns, us, ms, s, or " +
		"auto: what suits each column; in CSV auto is us"}
}

func readSummaryOptions(c *cli.Context) (o summarycmd.Options, err error) {
	var bad errs.Faults
	o.Logs, err = oneKindOptions(c)
	bad.Add(err)
	o.Format, err = wordOf(c, "format")
	bad.Add(err)
	o.Unit, err = wordOf(c, "unit")
	bad.Add(err)
	for _, text := range c.StringSlice("where") {
		rule, wrong := fio.ParseRule(text)
		if wrong != nil {
			bad.Add(errs.Usagef("--where: %v", wrong))
		}
		o.Where = append(o.Where, rule)
	}
	if text := c.String("sort"); text != "" {
		name, descending := strings.CutPrefix(text, "-")
		m, wrong := fio.ParseMetric(name)
		if wrong != nil {
			bad.Add(errs.Usagef("--sort: %v", wrong))
		}
		o.Sort, o.Descending = &m, descending
	}
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
