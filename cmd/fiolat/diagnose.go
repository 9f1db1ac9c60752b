package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

type diagnoseOptions struct {
	logs   logOptions // Paths may also name a stored run
	es     runsource.Elasticsearch
	format string
	unit   string // of latencies in tables
}

func diagnoseCommand(u *ui.UI) *cli.Command {
	o := &diagnoseOptions{}
	return &cli.Command{
		Name:      "diagnose",
		Usage:     "who makes the tail, what happened when, and how loaded it was",
		ArgsUsage: "PATH...|DIR|RUN",
		Description: "fiolat diagnose runs/today\n" +
			"fiolat diagnose --format json runs/today | jq .stragglers\n" +
			"fiolat diagnose --es http://localhost:9200 RUN\n\n" +
			"PATH is a log, a directory that is searched, or a glob; DIR is what ingest --output wrote. " + runIs +
			" Prints sentences, the worst first: hosts, jobs and logs that stand out among their peers, stalls and " +
			"slow-downs, when the run was steady, and how many I/Os were in flight. Of a stored run only what its " +
			"--by splits is compared. docs/diagnose.md explains the tests.",
		// The tests choose the grouping and the percentiles. Flags that describe the run do not apply.
		Flags: append(slices.Concat(o.logs.flags(logFlags{without: []string{"by", "percentiles", "dry-run", "run-name",
			"label", "part", "sla", "fail-on-sla"}}), pickFlags(&o.logs.Config.Pick, false),
			esFlags(&o.es)),
			&cli.GenericFlag{Name: "format", Value: oneOf(&o.format, "format", "table", "json"),
				Usage: "`FORMAT` of the output: table or json"},
			&cli.GenericFlag{Name: "unit", Value: oneOf(&o.unit, "unit", "us", "ns", "ms"),
				Usage: "`UNIT` of latencies in tables: ns, us or ms"},
		),
		Action: action(u, o),
	}
}

func (o *diagnoseOptions) check(c *cli.Context, bad *errs.Faults) {
	o.logs.oneKind(c, bad)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	o.logs.checkStored(&o.es, c.IsSet, bad)
}

// run prints the diagnosis of one run. It reads the run again if a host, job or log stands out.
func (o *diagnoseOptions) run(ctx context.Context, u *ui.UI) error {
	cfg := &o.logs.Config
	cfg.Settings.By, cfg.Settings.Percentiles = diagnose.By, diagnose.Percentiles
	cfg.LeavesOnly, cfg.Pauses = true, true
	r := runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u}
	defer r.Close()
	run, err := r.One(ctx, "a diagnosis is of one", o.logs.Paths...)
	if err != nil {
		return err
	}
	if path := run.ReadOnce(); path != "" {
		return fio.Usagef("a diagnosis may read the logs twice, and %s can be read only once: save it to a file",
			fio.Printable(path))
	}
	sources, done, err := run.Open(ctx)
	defer done()
	if err != nil {
		return err
	}
	if sources[0].Run.Timeless() {
		return pipeline.NoTimes(run.Title, "there is nothing to diagnose; run fio with write_hist_log=NAME and "+
			"log_hist_msec=1000")
	}
	full, err := run.Diagnosis(ctx, sources[0])
	if err == nil {
		_, err = sources[0].Process(ctx, full)
	}
	if err == nil {
		err = runsource.WarnSyncs(u, sources[0].Run)
	}
	if err != nil {
		return err
	}
	u.ProgressDone()
	return o.print(u, full.Diagnosis)
}

func (o *diagnoseOptions) print(u *ui.UI, d *diagnose.Diagnosis) error {
	if o.format == "json" {
		return ui.PrintJSON(u.Stdout, d, " ")
	}
	out := bufio.NewWriter(u.Stdout)
	for _, f := range d.Findings {
		fmt.Fprintln(out, fio.Printable(f.Text))
	}
	if len(d.Stragglers) > 0 {
		fmt.Fprintln(out)
		w := &render.Tabs{Out: out, Width: ui.Columns(u.Stdout)}
		fmt.Fprintln(w, strings.Join([]string{"straggler", "direction", "percentile", "share", "expected", "lift",
			"pooled", "without", "since", "until", "quanta"}, "\t"))
		for i := range d.Stragglers {
			s := &d.Stragglers[i]
			fmt.Fprintf(w, "%s %s\t%s\tp%s\t%.1f %%\t%.1f %%\t%.2f\t%s\t%s\t%s\t%s\t%d\n", s.Dimension,
				fio.Printable(s.Value), s.Direction, fio.Percentile(s.Percentile), s.Share*100, s.Expected*100,
				s.Lift, o.latency(s.Pooled), o.latency(s.Without), fio.Clock(s.SinceMS), fio.Clock(s.UntilMS),
				s.Quanta)
		}
		w.Flush() //nolint:errcheck // to a bufio.Writer
	}
	if len(d.Segments) > 0 {
		fmt.Fprintln(out)
		w := &render.Tabs{Out: out, Width: ui.Columns(u.Stdout)}
		fmt.Fprintf(w, "from\tto\tdirection\tsegment\tIOPS\tp50\tp99\tworst p99\n")
		for i := range d.Segments {
			s := &d.Segments[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", fio.Clock(s.FromMS), fio.Clock(s.ToMS),
				s.Direction, s.Kind, fio.Number(s.IOPS), o.latency(s.P50), o.latency(s.P99),
				o.latency(s.WorstP99))
		}
		w.Flush() //nolint:errcheck // to a bufio.Writer
	}
	return out.Flush()
}

// latency formats a latency in ns; nil is unknown.
func (o *diagnoseOptions) latency(ns *float64) string {
	if ns == nil {
		return "-"
	}
	v := *ns / fio.Divisors[o.unit]
	return fio.Number(v) + " " + o.unit
}
