// Package percentiles is fiolat percentiles: it prints percentiles over time.
package percentiles

import (
	"bufio"
	"context"
	"io"

	"fiolat/internal/command"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// Options are what fiolat percentiles is asked for.
type Options struct {
	Logs   command.Logs
	Format string // table, csv, json or ndjson
	Unit   string // of latencies in tables and csv: ns, us or ms
	Limits bool   // shows confidence limits in tables and csv
	Yes    bool   // does not ask
}

// Run prints the percentiles of one run.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	cfg := o.Logs.Pipeline(u)
	cfg.NoID = o.Format != "json"
	cfg.Allow = command.Allow(u, o.Yes || o.Logs.DryRun)
	plans, err := o.Logs.OneRun(ctx, u, cfg, "percentiles of one make sense")
	defer command.ClosePlans(plans)
	if err != nil {
		return err
	}
	var written command.Counter
	out := bufio.NewWriterSize(io.MultiWriter(&written, discardIf(o.Logs.DryRun, u.Stdout)), 64<<10)
	var sums []*pipeline.Summary
	sink := render.New(o.Format, o.Unit, o.Limits, out)
	sink.Of = len(plans)
	for _, plan := range plans {
		var s *pipeline.Summary
		if s, err = plan.Process(ctx, sink); err != nil {
			break
		}
		sums = append(sums, s)
	}
	u.ProgressDone()
	if ferr := out.Flush(); err == nil && ferr != nil {
		return ferr
	}
	if err != nil {
		return err
	}
	for i, s := range sums {
		command.KindAccount(u, plans[i].Run, s, len(plans))
	}
	if o.Logs.DryRun {
		u.Say("info", "dry run: %d bytes would be written to standard output", written)
	}
	return command.FailOnSLA(o.Logs.FailOnSLA, sums[0])
}

func discardIf(yes bool, w io.Writer) io.Writer {
	if yes {
		return io.Discard
	}
	return w
}
