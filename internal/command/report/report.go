// Package report implements fiolat report: it makes an HTML page of a run.
package report

import (
	"context"
	"errors"

	"fiolat/ingest"
	"fiolat/internal/command"
	"fiolat/internal/curve"
	"fiolat/internal/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// Options are the options of fiolat report.
type Options struct {
	Logs          command.Logs // Paths may also name a stored run
	Elasticsearch command.Elasticsearch
	Place         command.Place // of what Paths names
	Percentiles   []float64     // of a stored run; none: those that it has
	File          string        // for the page
	Yes           bool          // ask for no confirmation
}

// Run writes the page of one run, of two that are compared, or the curve of a sweep.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	n, found, err := o.count(u)
	switch {
	case ingest.IsNoLogs(err):
		if e := o.curve(ctx, u); !errors.Is(e, curve.ErrOneSetting) {
			return e
		}
		return err
	case err != nil:
		return err
	case n > 1:
		return o.runs(ctx, n, u)
	}
	return o.one(ctx, found, u)
}

// one writes the page of one run. found is that run, nil if it was not looked for yet.
func (o *Options) one(ctx context.Context, found []*command.KindRun, u *ui.UI) error {
	source := command.OneSource{
		Logs:          o.Logs,
		Elasticsearch: o.Elasticsearch,
		Place:         o.Place,
		Runs:          found,
		Percentiles:   o.Percentiles,
		Why:           "a page shows one",
		Yes:           o.Yes,
		Pauses:        true,
	}
	sources, done, err := source.Sources(ctx, u)
	defer done()
	if err != nil {
		return err
	}
	file := command.NewPage(o.File, o.Logs.DryRun, len(sources))
	defer file.Discard()
	var sums []*pipeline.Summary
	full := diagnose.Full{Reread: sources[0].Reread}
	if notes := sources[0].Notes; notes != nil {
		if full.Notes, err = notes(ctx); err != nil {
			return err
		}
	}
	file.Findings = func() []string { return full.Diagnosis.Sentences() }
	for i, s := range sources {
		sink := file.Kind(i)
		if i == 0 {
			sink = command.Tee{&full, sink}
		}
		var sum *pipeline.Summary
		if sum, err = s.Process(ctx, sink); err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	u.ProgressDone()
	if err = file.Publish(); err != nil {
		return err
	}
	for i, s := range sums {
		command.KindAccount(u, sources[i].Run, s, len(sums))
	}
	o.written(file, u)
	return command.FailOnSLA(o.Logs.FailOnSLA, sums[0])
}

func (o *Options) written(file *command.Page, u *ui.UI) {
	if o.Logs.DryRun {
		u.Say("info", "dry run: %d bytes would be written", file.Size)
	} else {
		u.Say("info", "page       %s, %d bytes", errs.Printable(file.Path), file.Size)
	}
}
