package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/times"
	esstored "fiolat/esmodel/stored"
	"fiolat/internal/command/runs"
	"fiolat/internal/errs"
	"fiolat/internal/lazyregexp"
	"fiolat/internal/metric"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

const catFilter = "WHICH RUNS"

func runsCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "the runs that are in Elasticsearch, the latest first",
		Description: "fiolat runs --es http://localhost:9200 --since 7d --label cluster=b7\n" +
			"fiolat runs --last 20 --sort '-read p99'\n" +
			"fiolat runs --option bs=4k --option rw=randread --format json\n" +
			"fiolat runs --size --until 90d\n\n" +
			"A line for each run, with the shortest id by which other commands find it. Of a run with several " +
			"kinds of latency the figures are those of the first kind in its line. With --size, a run that was " +
			"rolled up has the interval that it had before in brackets.",
		Flags: slices.Concat(esFlags(), filterFlags(), []cli.Flag{
			&cli.IntFlag{Name: "last", Category: catFilter, Usage: "only the `N` runs that started last"},
			&cli.StringFlag{Name: "sort", Usage: "by `METRIC`, the smallest first, or -METRIC, the largest first: " +
				"start, or [DIRECTION] and p99, iops, mean, ..."},
			&cli.StringFlag{Name: "direction", Value: pipeline.All, Usage: "figures of `DIRECTION`: all, read, " +
				"write, trim or sync"},
			&cli.BoolFlag{Name: "size", Usage: "instead of figures, the number of each run's documents, and about " +
				"how many bytes they take in Elasticsearch, without replicas"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table or json"},
			&cli.StringFlag{Name: "unit", Value: "us", Usage: "`UNIT` of latencies in the table: ns, us or ms"},
		}),
		Action: action(u, readRunsOptions, runs.List),
	}
}

func readRunsOptions(c *cli.Context) (o runs.ListOptions, err error) {
	var bad errs.Faults
	if c.NArg() > 0 {
		bad.Add(errs.Usagef("fiolat runs takes no arguments: %q", c.Args().First()))
	}
	o.Size = c.Bool("size")
	o.Format, err = oneOf(c, "format")
	bad.Add(err)
	o.Direction, err = oneOf(c, "direction")
	bad.Add(err)
	if o.Last = c.Int("last"); c.IsSet("last") && o.Last < 1 {
		bad.Add(errs.Usagef("--last %d: want a number of runs", o.Last))
	}
	by, down := strings.CutPrefix(c.String("sort"), "-")
	if o.Down = down; by != "" && by != "start" {
		m, wrong := metric.Parse(by)
		if wrong != nil {
			bad.Add(errs.Usagef("--sort %v, or start", wrong))
		}
		if len(strings.Fields(by)) == 1 {
			m.Direction = o.Direction
		}
		o.Sort = &m
	} else if by == "" {
		o.Down = true
	}
	o.Unit, err = oneOf(c, "unit")
	bad.Add(err)
	o.Filter, err = readFilter(c)
	bad.Add(err)
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}

// filterFlags choose among the runs in Elasticsearch.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "label", Category: catFilter, Usage: "runs with the label `KEY=VALUE`; can be " +
			"repeated"},
		&cli.StringSliceFlag{Name: "option", Category: catFilter, Usage: "runs in which fio's job option " +
			"`KEY=VALUE` occurs; can be repeated"},
		&cli.StringFlag{Name: "since", Category: catFilter, Usage: "runs that started at `TIME` or later: RFC " +
			"3339, a day, or an age such as 90m, 12h, 7d, 4w"},
		&cli.StringFlag{Name: "until", Category: catFilter, Usage: "runs that started before `TIME`"},
	}
}

func readFilter(c *cli.Context) (f esstored.RunFilter, err error) {
	var bad errs.Faults
	f.Labels, err = pairs("--label", c.StringSlice("label"))
	bad.Add(err)
	f.Options, err = pairs("--option", c.StringSlice("option"))
	bad.Add(err)
	f.Since, err = moment("--since", c.String("since"))
	bad.Add(err)
	f.Until, err = moment("--until", c.String("until"))
	bad.Add(err)
	return f, bad.Err()
}

var age = lazyregexp.New(`^[0-9]{1,6}[smhdw]$`)

// moment parses a time for a filter: an age, returned as Elasticsearch date math, or what --start takes.
func moment(flag, v string) (string, error) {
	if age().MatchString(v) {
		return "now-" + v, nil
	}
	t, err := times.Start(v)
	if err != nil || t == "mtime" {
		return "", errs.Usagef("%s %q: want a time such as 2026-01-31T12:00:00Z, or an age such as 12h or 7d", flag, v)
	}
	return t, nil
}
