package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/diagnose"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

type diagnoseOptions struct {
	logs   logOptions // Paths may also name a stored run
	es     runsource.Elasticsearch
	format string
	single bool  // --outliers
	above  int64 // ns; 0 is outliers.Threshold
	worst  int   // how many outliers are listed; 0 is Group.Worst's
}

func diagnoseCommand(u *ui.UI) *cli.Command {
	o := &diagnoseOptions{}
	return &cli.Command{
		Name: "diagnose",
		// The tests choose the grouping and the percentiles. Flags that describe the run do not apply.
		Flags: append(slices.Concat(o.logs.flags(logFlags{without: []string{"by", "percentiles", "dry-run", "run-name",
			"label", "part", "sla", "fail-on-sla"}}), pickFlags(&o.logs.Config.Pick, false),
			esFlags(&o.es)),
			verboseFlag(), widthFlag(),
			&cli.BoolFlag{Name: "outliers", Destination: &o.single,
				Usage: "list single I/Os far above the rest: when, how long, and whether they recur evenly"},
			&cli.GenericFlag{Name: "above", Value: parsed(&o.above, "--above: ", latencyAbove),
				Usage: "outliers take `LATENCY` or longer, such as 1ms; usually 10 times p99.9, 100us at least"},
			&cli.IntFlag{Name: "worst", Destination: &o.worst,
				Usage: "list the longest `N` outliers"},
			&cli.GenericFlag{Name: "format", Value: oneFormat(&o.format, "table", "json", "csv", "parquet"),
				Usage: "`FORMAT`: table, json, csv or parquet: a row for each finding and host, or outlier"},
			fileFlag(".csv"),
		),
		Action: answerTo(u, o),
	}
}

func (o *diagnoseOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.oneKind(c, bad)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	o.logs.checkStored(&o.es, c.IsSet, bad)
	o.single = o.single || c.IsSet("above") || c.IsSet("worst")
	if c.IsSet("worst") && o.worst < 1 {
		bad.Add(fio.Usagef("--worst %d: want a number of outliers", o.worst))
	}
}

// latencyAbove parses --above.
func latencyAbove(text string) (int64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fio.Usagef("%q: want a latency such as 1ms or 500us", text)
	}
	return d.Nanoseconds(), nil
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
	if sources[0].Run.Timeless() && sources[0].Unmeasured == "" {
		return pipeline.NoTimes(run.Title, "there is nothing to diagnose; run fio with write_hist_log=NAME and "+
			"log_hist_msec=1000")
	}
	full, err := run.Diagnosis(ctx, sources[0])
	if err == nil {
		full.Above = o.above
		_, err = sources[0].Process(ctx, full)
	}
	if err == nil {
		err = runsource.WarnSyncs(u, sources[0].Run)
	}
	if err != nil {
		return err
	}
	u.ProgressDone()
	if o.single {
		return o.printOutliers(u, full.Outliers())
	}
	return o.print(u, full.Diagnosis)
}

func (o *diagnoseOptions) print(u *ui.UI, d *diagnose.Diagnosis) error {
	switch o.format {
	case "json":
		return ui.PrintJSON(u.Stdout, d, " ")
	case "csv", "parquet":
		return o.printFindings(u, d)
	}
	for _, text := range d.Sentences(math.MaxInt) {
		fmt.Fprintln(u.Stdout, fio.Printable(text))
	}
	return nil
}
