package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/compare"
	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/indices"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

const defaultOutput = "fiolat-out"

type ingestOptions struct {
	logs   logOptions
	es     runsource.Elasticsearch // without addresses documents become files
	format string                  // of the files
	yes    bool                    // ask for no confirmation
}

func ingestCommand(u *ui.UI) *cli.Command {
	o := &ingestOptions{}
	return &cli.Command{
		Name: "ingest",
		Flags: append(append(o.logs.flags(logFlags{by: "direction,host", kinds: true, stored: true}),
			esFlags(&o.es)...),
			outputFlag(), &cli.GenericFlag{Name: "format",
				Value: oneFormat(&o.format, delivery.Bulk, delivery.NDJSON),
				Usage: "`FORMAT` of files: bulk, for fiolat load; or ndjson, documents alone, a file for each kind"},
			yesFlag(&o.yes), verboseFlag(),
		),
		Action: action(u, o),
	}
}

func (o *ingestOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.check(c, bad)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	if o.format != delivery.Bulk {
		if len(o.es.Addresses) > 0 {
			bad.Add(fio.Usagef("--format %s is for files, and with an Elasticsearch there are none: leave out --es "+
				"and ELASTICSEARCH_URL", o.format))
		}
		if o.logs.DryRun {
			bad.Add(fio.Usagef("--dry-run counts what --format bulk writes: leave out --format %s", o.format))
		}
	}
	bad.Add(esmodel.CheckLabels(o.logs.Config.Labels))
}

// run writes the documents of all runs that it finds to Elasticsearch, or into files.
func (o *ingestOptions) run(ctx context.Context, u *ui.UI) error {
	var failed []error
	o.logs.Failed = &failed
	runs, err := o.logs.DiscoverKinds(u)
	cfg := o.logs.Pipeline(u)
	cfg.Pauses = true
	cfg.NeedStart = true
	cfg.Allow = runsource.ConfirmIntervals(u, o.yes || o.logs.DryRun)
	if err == nil || ingest.IsNoLogs(err) {
		o.logs.FindFailed(u, runsource.Inputs(runs))
	}
	if err != nil {
		return cmp.Or(errors.Join(failed...), err)
	}
	if cfg.RunID == "" { // with it the user says that it is one run
		var parts []*runsource.KindRun
		for _, run := range runs {
			parts = append(parts, run.Split()...)
		}
		runs = parts
	}
	if len(runs) > 1 && cfg.RunID != "" {
		return fio.Usagef("--run-id names one run, but these are %d: %s", len(runs), runsource.Roots(runs))
	}
	var es *client.Client
	if len(o.es.Addresses) > 0 && !o.logs.DryRun {
		if es, err = o.es.Connect(u); err != nil {
			return err
		}
		defer es.Close()
	}
	cfg.Progress = u.Progress(runsource.Size(runsource.Inputs(runs)), "ingesting")
	if len(runs) > 1 {
		defer u.Hold()()
	}
	for _, run := range runs {
		if len(runs) > 1 {
			u.Say("info", "run in %s:", fio.Printable(run.Inputs[0].Root))
		}
		err := o.ingestRun(ctx, u, es, run, cfg, len(runs) == 1)
		var found *indices.MismatchError
		if errors.As(err, &found) && found.Found < found.Made && run.ReadOnce() == "" && ctx.Err() == nil {
			u.Say("warning", "run %q has %d %s documents where %d were made: something else replaced them, and it is "+
				"ingested once more", found.Run, found.Found, found.Kind, found.Made)
			err = o.ingestRun(ctx, u, es, run, cfg, len(runs) == 1)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // a bad run must not stop the others
			failed = append(failed, err)
		}
		var trust *client.TrustError
		var no *client.ForbiddenError
		if errors.As(err, &trust) || errors.As(err, &no) && no.Status == http.StatusUnauthorized {
			break // all others would fail the same way
		}
	}
	return errors.Join(failed...)
}

// ingestRun ingests one run, kind by kind. If documents become files it writes a page
// beside them. alone reports whether no other run is ingested.
func (o *ingestOptions) ingestRun(ctx context.Context, u *ui.UI, es *client.Client, run *runsource.KindRun,
	cfg plan.Config, alone bool) error {
	release := u.Hold()
	plans, err := run.Prepare(ctx, cfg)
	defer runsource.ClosePlans(plans)
	release()
	if err != nil {
		return err
	}
	var file *pageFile
	if es == nil && !o.logs.DryRun {
		name := "report.html"
		if !alone { // the id of one of several runs is a hash, fit for a file name
			name = "report." + plans[0].Run.ID + ".html"
		}
		file = newPageFile(filepath.Join(o.es.Spool, name), false, len(plans), nil)
		file.beside = true
		defer file.Discard()
	}
	var first *pipeline.Summary
	var files []string
	for i, plan := range plans {
		if len(plans) > 1 {
			u.Say("info", "%v:", plan.Run.Kind)
		}
		summary, written, err := o.ingestKind(ctx, u, es, plan, file, i)
		if err != nil {
			return err
		}
		files = append(files, written...)
		if i == 0 {
			first = summary
		}
	}
	if file != nil {
		for _, f := range append(files, file.Path) {
			u.Say("info", "  %s", f)
		}
		next := "to look at it: open " + file.Path + " in a browser"
		if o.format == delivery.Bulk {
			next += "; to send the documents: fiolat load --es URL " + filepath.Clean(o.es.Spool)
		}
		u.Say("info", "%s", next)
	}
	return failOnSLA(o.logs.FailOnSLA, first)
}

// ingestKind ingests one kind of a run, the nth of the page, and returns the files
// written.
func (o *ingestOptions) ingestKind(ctx context.Context, u *ui.UI, es *client.Client, plan *plan.Plan,
	file *pageFile, nth int) (summary *pipeline.Summary, files []string, err error) {
	var w delivery.Writer
	if o.logs.DryRun {
		w = delivery.NewCountWriter()
	} else if w, err = writerTo(&o.es, es, false); err != nil {
		return nil, nil, err
	}
	if dir, ok := w.(*delivery.DirWriter); ok {
		dir.Format = o.format
	}
	s := sinks{noise: new(compare.Series), diagnosis: diagnosisOf(u, plan.Run.Part, runsource.Reread(plan)), page: file,
		nth: nth}
	dry := new(esmodel.Space)
	if o.logs.DryRun {
		s.watchers = []pipeline.Sink{dry}
	}
	summary, err = plan.Process(ctx, s.chain(w, delivery.SinkOptions{Prefix: o.es.Prefix}))
	err = s.documents.Close(ctx, err)
	if err == nil && file != nil && file.Last(nth) {
		err = file.Publish()
	}
	report := s.documents.Report()
	err = printOutcome(&o.es, u, o.logs.DryRun, plan.Run, summary, report, err)
	if err == nil && o.logs.DryRun {
		u.Say("info", "%v", dry)
	}
	if nth == 0 && err == nil {
		err = runsource.WarnSyncs(u, plan.Run)
	}
	if nth == 0 && err == nil && es != nil && plan.Run.Named && plan.Run.Part == "" {
		err = stored.Rename(ctx, es, o.es.Prefix, plan.Run)
	}
	return summary, report.Files, err
}
