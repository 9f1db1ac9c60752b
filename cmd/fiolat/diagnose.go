package main

import (
	"context"
	"fmt"
	"math"
	"slices"

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
}

func diagnoseCommand(u *ui.UI) *cli.Command {
	o := &diagnoseOptions{}
	return &cli.Command{
		Name: "diagnose",
		// The tests choose the grouping and the percentiles. Flags that describe the run do not apply.
		Flags: append(slices.Concat(o.logs.flags(logFlags{without: []string{"by", "percentiles", "dry-run", "run-name",
			"label", "part", "sla", "fail-on-sla"}}), pickFlags(&o.logs.Config.Pick, false),
			esFlags(&o.es)),
			&cli.GenericFlag{Name: "format", Value: oneOf(&o.format, "format", "table", "json"),
				Usage: "`FORMAT`: table or json"},
			fileFlag(".json"),
		),
		Action: action(u, o),
	}
}

func (o *diagnoseOptions) check(c *cli.Context, bad *fio.Faults) {
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
	if sources[0].Run.Timeless() && !sources[0].Unmeasured {
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
	for _, text := range d.Sentences(math.MaxInt) {
		fmt.Fprintln(u.Stdout, fio.Printable(text))
	}
	return nil
}
