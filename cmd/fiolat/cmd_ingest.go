package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
	"fiolat/pipeline"
)

const defaultOutput = "fiolat-out"

func ingestCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "ingest",
		Usage:     "the main job: logs into Elasticsearch, or into a directory",
		ArgsUsage: "PATH...",
		Description: "fiolat ingest --es http://localhost:9200 runs/today\n" +
			"fiolat ingest --es https://es:9200 --es-user perf --es-password-file ~/.es --run-name 'osd 12 down' --label ceph=19.2 runs/today\n" +
			"fiolat ingest --output today.docs runs/today && fiolat load --es http://localhost:9200 today.docs\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. A tree with several runs is ingested as several runs. " +
			"Without an Elasticsearch the same documents go into --output DIR, ready for _bulk.",
		Flags: append(append(severalKinds(logFlags("direction,host")), esFlags()...),
			outputFlag(), takeOverFlag(),
		),
		Action: action(u, readIngestOptions, ingestLogs),
	}
}

// ingestOptions are what fiolat ingest is asked for.
type ingestOptions struct {
	Logs          Logs
	Elasticsearch Elasticsearch // without addresses documents become files
}

func readIngestOptions(c *cli.Context) (o ingestOptions, err error) {
	var bad faults
	o.Logs, err = logOptions(c)
	bad.add(err)
	bad.add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	bad.add(esmodel.CheckLabels(o.Logs.Config.Labels))
	return o, bad.err()
}

func ingestLogs(ctx context.Context, o ingestOptions, u *ui) error {
	cfg := o.Logs.pipeline(u)
	cfg.NeedStart = true
	runs, err := o.Logs.discoverKinds(u)
	if err != nil {
		return err
	}
	if len(runs) > 1 && cfg.RunID != "" {
		return usagef("--run-id names one run, but these are %d: %s", len(runs), roots(firsts(runs)))
	}
	var client *esmodel.Client
	if len(o.Elasticsearch.Addresses) > 0 && !o.Logs.DryRun {
		if client, err = o.Elasticsearch.Connect(u); err != nil {
			return err
		}
		defer client.Close()
	}
	cfg.Progress = u.progress(size(inputs(runs)), "ingesting")
	var errs []error
	for _, run := range runs {
		if len(runs) > 1 {
			u.say("info", "run in %s:", ingest.Printable(run.inputs[0].Root))
		}
		err := ingestRun(ctx, &o, u, client, run, cfg, len(runs) == 1)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // one bad run must not keep the others from being seen
			errs = append(errs, err)
		}
		var trust *esmodel.TrustError
		var no *esmodel.ForbiddenError
		if errors.As(err, &trust) || errors.As(err, &no) && no.Status == http.StatusUnauthorized {
			break // all others would hear the same
		}
	}
	return errors.Join(errs...)
}

func roots(runs []*ingest.Input) string {
	var names []string
	for _, r := range runs {
		names = append(names, ingest.Printable(r.Root))
	}
	return strings.Join(names, ", ")
}

// ingestRun takes one run from its logs to its last document, kind by kind, and where
// documents are files to a page beside them. alone says that no other run is ingested.
func ingestRun(ctx context.Context, o *ingestOptions, u *ui, client *esmodel.Client, run *kindRun, cfg pipeline.Config,
	alone bool) error {
	plans, err := run.prepare(ctx, cfg)
	defer closePlans(plans)
	if err != nil {
		return err
	}
	var file *page
	if client == nil && !o.Logs.DryRun {
		name := "report.html"
		if !alone { // the id of a run that has others beside it is a hash
			name = "report." + plans[0].Run.ID + ".html"
		}
		file = newPage(filepath.Join(o.Elasticsearch.Spool, name), false, len(plans))
		defer file.discard()
	}
	var first *pipeline.Summary
	var files []string
	for i, plan := range plans {
		if len(plans) > 1 {
			u.say("info", "%v:", plan.Run.Kind)
		}
		summary, written, err := ingestKind(ctx, o, u, client, plan, file, i)
		if err != nil {
			return err
		}
		files = append(files, written...)
		if i == 0 {
			first = summary
		}
	}
	if file != nil {
		for _, f := range append(files, file.path) {
			u.say("info", "  %s", f)
		}
		u.say("info", "to send them: fiolat load --es URL %s", filepath.Clean(o.Elasticsearch.Spool))
	}
	return failOnSLA(o.Logs.FailOnSLA, first)
}

// ingestKind takes one kind of a run, the nth of the page, to its last document, and
// returns the files written.
func ingestKind(ctx context.Context, o *ingestOptions, u *ui, client *esmodel.Client, plan *pipeline.Plan, file *page,
	nth int) (summary *pipeline.Summary, files []string, err error) {
	var w esmodel.Writer
	if o.Logs.DryRun {
		w = esmodel.NewCountWriter()
	} else if w, err = o.Elasticsearch.Writer(client, false); err != nil {
		return nil, nil, err
	}
	sink := esmodel.NewSink(w, esmodel.SinkOptions{Prefix: o.Elasticsearch.Prefix})
	sinks := tee{sink}
	if file != nil {
		sinks = append(sinks, file.kind(nth))
	}
	summary, err = plan.Process(ctx, sinks)
	if err = sink.Close(ctx, err); err == nil && file != nil && nth+1 == len(file.kinds) {
		err = file.publish()
	}
	report := sink.Report()
	err = u.concluded(&o.Elasticsearch, o.Logs.DryRun, plan.Run, summary, report, err)
	return summary, report.Files, err
}

// concluded tells what became of the documents of a run, and returns err.
func (u *ui) concluded(o *Elasticsearch, dryRun bool, run *pipeline.Run, summary *pipeline.Summary,
	report esmodel.Report, err error) error {
	for _, warning := range report.Warnings {
		u.warn(warning)
	}
	if summary != nil {
		u.account(summary, report, documentsText(run, report))
	}
	var incomplete *esmodel.IncompleteError
	if errors.As(err, &incomplete) {
		u.unfinished(o, report)
	}
	if err == nil && dryRun {
		u.say("info", "dry run: %d documents, %d bytes would be written", report.Total().Made, report.Total().Bytes)
	}
	return err
}

// documentsText is the account's line on documents.
func documentsText(run *pipeline.Run, r esmodel.Report) string {
	t := r.Total()
	where := fmt.Sprintf("%d indexed", t.Indexed)
	if t.Written > 0 {
		where = fmt.Sprintf("%d written", t.Written)
	}
	text := fmt.Sprintf("documents  %d made, %s, %d refused, %d spooled, %d lost; %d of other generations deleted (run %s)",
		t.Made, where, t.Refused, t.Spooled, t.Lost, t.Deleted, ingest.Printable(run.ID))
	for _, refusal := range r.Refusals {
		text += fmt.Sprintf("\nrefused    %d: %s", refusal.Count, refusal)
	}
	return text
}
