package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	historycmd "fiolat/internal/command/history"
	"fiolat/internal/errs"
	"fiolat/internal/history"
	"fiolat/internal/ui"
)

func historyCommand(u *ui.UI) *cli.Command {
	// Flags that identify or describe one run, that write, or that choose figures of a quantum do not apply.
	flags := slices.DeleteFunc(logFlags(""), func(f cli.Flag) bool {
		return slices.Contains([]string{"by", "fio-json", "dry-run", "run-id", "run-name", "label", "part", "sla",
			"sla-file", "fail-on-sla", "percentiles"}, f.Names()[0])
	})
	return &cli.Command{
		Name:      "history",
		Usage:     "change points over the runs of a series",
		ArgsUsage: "[RUN|PATH...]",
		Description: "fiolat history --es http://localhost:9200 --label series=nightly\n" +
			"fiolat history --es http://localhost:9200 --label series=nightly --fail-if-changed 3 -o history.html\n" +
			"fiolat history --metric 'read p99' --metric iops --format json runs/*\n\n" +
			"The runs are those in Elasticsearch that have the labels and options given, or those named: a RUN in " +
			"Elasticsearch, a directory of documents (ingest --output), or logs. Runs of the same workload, and of " +
			"the same value of each --split, are a series, sorted by their start; runs with an unknown start keep " +
			"the order given. docs/history.md explains how changes are found.",
		Flags: slices.Concat(flags, esFlags(new(command.Elasticsearch)), new(runFilter).flags(), []cli.Flag{
			&cli.StringFlag{Name: "percentiles", Hidden: true, Value: "50,90,95,99,99.9"}, // those with limits
			&cli.IntFlag{Name: "last", Category: catFilter, Usage: "the last `N` runs of each series"},
			&cli.StringSliceFlag{Name: "split", Category: catFilter, Usage: "runs that differ in the label `KEY` are " +
				"of different series; can be repeated"},
			&cli.StringSliceFlag{Name: "metric", Usage: "`METRIC` to look at: [read|write|trim|all] and p99 or " +
				"another percentile, mean, iops or histogram, such as 'read p99'; can be repeated (default: p50, " +
				"p99, p99.9, iops and histogram of each direction)"},
			&cli.IntFlag{Name: "fail-if-changed", Usage: "exit 5 for changes that were not reported before, each " +
				"once with --store or --state; at first, and without these, those that the last `N` runs of a series " +
				"brought"},
			&cli.StringFlag{Name: "min-change", Value: "5%", Usage: "the smallest change for which --fail-if-changed " +
				"exits with 5, in `PERCENT`"},
			&cli.StringFlag{Name: "state", Usage: "`FILE` in which --fail-if-changed remembers what it reported " +
				"(default: in Elasticsearch with --store, else nowhere)"},
			&cli.BoolFlag{Name: "store", Usage: "store the change points as events in Elasticsearch, and delete " +
				"those of the same series and metrics that no longer hold"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` for a self-contained HTML page"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, markdown, csv or " +
				"json (an object per metric and line)"},
			&cli.StringFlag{Name: "unit", Value: "us", Usage: "`UNIT` of latencies in tables and on the page: ns, us " +
				"or ms"},
		}),
		Action: actionOf(u, readHistoryOptions, historycmd.Run),
	}
}

func readHistoryOptions(c *cli.Context) (o historycmd.Options, err error) {
	var bad errs.Faults
	o.Logs, err = oneKindOptions(c)
	bad.Add(err)
	o.Runs = o.Logs.Paths
	o.Format, err = wordOf(c, "format")
	bad.Add(err)
	o.Unit, err = wordOf(c, "unit")
	bad.Add(err)
	o.Filter, err = readFilter(c)
	bad.Add(err)
	o.Split, o.Store, o.Page = c.StringSlice("split"), c.Bool("store"), c.String("output")
	for _, name := range []string{"last", "fail-if-changed"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			bad.Add(errs.Usagef("--%s %d: want a number of runs", name, c.Int(name)))
		}
	}
	number, wrong := strconv.ParseFloat(strings.TrimSuffix(c.String("min-change"), "%"), 64)
	if wrong != nil || !(number >= 0 && number <= 1000) {
		bad.Add(errs.Usagef("--min-change %s: want a percentage such as 5%%", errs.Printable(c.String("min-change"))))
	}
	o.MinChange = number / 100
	if o.State = c.String("state"); o.State != "" && c.Int("fail-if-changed") == 0 {
		bad.Add(errs.Usagef("--state is for --fail-if-changed"))
	}
	o.Last, o.FailIfChanged = c.Int("last"), c.Int("fail-if-changed")
	for _, text := range c.StringSlice("metric") {
		m, wrong := history.Metrics.Parse(text)
		if wrong != nil {
			bad.Add(errs.Usagef("--metric %v", wrong))
		}
		o.Metrics = append(o.Metrics, m)
		if p := m.Percentile; p > 0 && !slices.Contains(o.Logs.Config.Settings.Percentiles, p) {
			o.Logs.Config.Settings.Percentiles = append(o.Logs.Config.Settings.Percentiles, p)
		}
	}
	if len(o.Metrics) == 0 {
		o.Metrics = history.Defaults
	}
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	switch es := len(o.Elasticsearch.Addresses) > 0; {
	case len(o.Runs) == 0 && !es:
		bad.Add(errs.Usagef("fiolat history: name runs, or pass --es URL"))
	case o.Store && (len(o.Runs) > 0 || !es):
		bad.Add(errs.Usagef("--store is for runs in Elasticsearch that are chosen by --label, --option or time: what " +
			"is stored belongs to such a series"))
	}
	if len(o.Runs) > 0 && (c.IsSet("label") || c.IsSet("option") || c.IsSet("since") || c.IsSet("until")) {
		bad.Add(errs.Usagef("--label, --option, --since and --until choose among the runs in Elasticsearch, and have " +
			"no meaning for runs that are named"))
	}
	return o, bad.Err()
}
