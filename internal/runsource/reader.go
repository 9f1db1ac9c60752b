package runsource

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// Reader reads the runs that arguments name: logs, fio's JSON without logs, directories of documents, and runs in
// Elasticsearch. Close it when done.
type Reader struct {
	Logs          *Logs // how to read runs that are logs; Paths is not used
	Elasticsearch *Elasticsearch
	UI            *ui.UI
	WarnSyncs     bool // warn about jobs that sync, if no output shows the syncs

	client *client.Client // nil until it is needed
}

// Close closes the connection to Elasticsearch, if there is one.
func (r *Reader) Close() {
	if r.client != nil {
		_ = r.client.Close() // what was written has been acknowledged
	}
}

// LabelPrefix begins an argument that names all runs with a label.
const LabelPrefix = "label:"

// Connect returns the connection to Elasticsearch, made at the first call. name is the argument to be looked up there.
func (r *Reader) Connect(name string) (_ *client.Client, err error) {
	if len(r.Elasticsearch.Addresses) == 0 {
		return nil, fio.Usagef("%s: no such file or directory; if it is a run in Elasticsearch, pass --es URL",
			fio.Printable(name))
	}
	if r.client == nil {
		r.client, err = r.Elasticsearch.Connect(r.UI)
	}
	return r.client, err
}

// Runs says what Each does with the runs that it finds.
type Runs struct {
	// Run makes the sink for a run of that name.
	Run func(name string) pipeline.Sink
	// Totals takes a run of which there is only fio's JSON. If nil, there must be logs.
	Totals func(*ingest.Totals) error
	// Split divides a directory that holds consecutive runs; see ingest.Input.Split.
	Split bool
}

// Each reads the runs that the arguments name, in order. Files that are named one by one come first, and are read
// together.
func (r *Reader) Each(ctx context.Context, arguments []string, to Runs) error {
	defer r.UI.Hold()()
	var files []string
	var others []string
	for _, a := range arguments {
		if info, err := os.Stat(a); Locate(a) == InLogs && (err != nil || !info.IsDir()) {
			files = append(files, a)
			continue
		}
		others = append(others, a)
	}
	if len(files) > 0 {
		if err := r.local(ctx, files, to); err != nil {
			return err
		}
	}
	for _, a := range others {
		var err error
		switch Locate(a) {
		case InDirectory:
			err = r.directory(ctx, a, to)
		case Stored:
			err = r.stored(ctx, a, to)
		default:
			err = r.local(ctx, []string{a}, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// local reads logs and fio's JSON.
func (r *Reader) local(ctx context.Context, paths []string, to Runs) error {
	logs := *r.Logs
	logs.Paths = paths
	cfg := logs.Pipeline(r.UI)
	runs, err := logs.Discover(r.UI, cfg.Settings.Kind, false)
	if to.Totals == nil && (err == nil || ingest.IsNoLogs(err)) && logs.FindFailed(r.UI, runs) && err != nil {
		return nil
	}
	if err != nil && (to.Totals == nil || !ingest.IsNoLogs(err)) {
		return err
	}
	none := err
	var totals []*ingest.Totals
	if to.Totals != nil {
		var warnings []string
		if totals, warnings, err = ingest.DiscoverTotals(paths, runs, ingest.DiscoverOptions{
			Stdin: r.UI.Stdin, SkipBad: cfg.Settings.SkipBad}); err != nil {
			return err
		}
		for _, w := range warnings {
			r.UI.Warn(w)
		}
	}
	if len(runs)+len(totals) == 0 {
		return none
	}
	cfg.Progress = r.UI.Progress(Size(runs), "reading "+fio.Printable(strings.Join(paths, ", ")))
	defer r.UI.ProgressDone()
	for _, found := range runs {
		divided := []*ingest.Input{found}
		if to.Split {
			divided = found.Split()
		}
		for _, in := range divided {
			if err := r.process(ctx, in, cfg, to.Run(in.Root)); err != nil {
				return err
			}
		}
	}
	for _, t := range totals {
		if logs.failed(r.UI, t, runs) && cfg.Settings.SkipBad {
			continue
		}
		if err := to.Totals(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) process(ctx context.Context, in *ingest.Input, cfg plan.Config, to pipeline.Sink) error {
	plan, err := plan.Prepare(ctx, in, cfg)
	if err != nil {
		return err
	}
	defer plan.Close()
	if _, err = plan.Process(ctx, to); err == nil && r.WarnSyncs {
		err = WarnSyncs(r.UI, plan.Run)
	}
	return err
}

func (r *Reader) replay(ctx context.Context, name string, run *replay.Replay, err error, to Runs) error {
	if err != nil {
		return err
	}
	SayRolledUp(r.UI, run.Run)
	for _, w := range run.Warnings {
		r.UI.Warn(w)
	}
	cfg := &r.Logs.Config
	_, err = run.Process(ctx, replay.Options{Percentiles: cfg.Settings.Percentiles, Workers: cfg.Workers,
		Pick: cfg.Pick}, to.Run(name))
	if err == nil && r.WarnSyncs {
		err = WarnSyncs(r.UI, run.Run)
	}
	return err
}

// directory reads the runs whose documents are in a directory.
func (r *Reader) directory(ctx context.Context, dir string, to Runs) error {
	kind := r.Logs.Config.Settings.Kind
	found, err := stored.DirFigures(dir, kind)
	if err != nil {
		return err
	}
	var ids []string
	var taken [][2]string
	for i := range found {
		if id := found[i].Run.ID; !slices.Contains(ids, id) { // else another part of the run
			ids, taken = append(ids, id), append(taken, [2]string{id, found[i].Run.Name})
		}
	}
	if len(ids) == 0 {
		ids = []string{""} // OpenDir says why
	} else {
		SaySource(r.UI, dir, nil, taken...)
	}
	for _, id := range ids {
		name := dir
		if len(ids) > 1 {
			name = id
		}
		run, bad := stored.OpenDir(dir, id, kind)
		if err = r.replay(ctx, name, run, bad, to); err != nil {
			return err
		}
	}
	return nil
}

// stored reads a run in Elasticsearch, or all runs with a label.
func (r *Reader) stored(ctx context.Context, argument string, to Runs) error {
	es, err := r.Connect(argument)
	if err != nil {
		return err
	}
	runs, err := r.find(ctx, es, argument)
	if err != nil {
		return err
	}
	SaySource(r.UI, argument, es, runs...)
	for _, found := range runs {
		name := argument
		if len(runs) > 1 {
			name = found[0]
		}
		run, bad := stored.Open(ctx, es, r.Elasticsearch.Prefix, found[0], r.Logs.Config.Settings.Kind)
		if err := r.replay(ctx, name, run, bad, to); err != nil {
			return err
		}
	}
	return nil
}

// find returns the ids and names of the runs that an argument names; those of a label with the earliest first.
func (r *Reader) find(ctx context.Context, es *client.Client, argument string) (found [][2]string, err error) {
	label, ok := strings.CutPrefix(argument, LabelPrefix)
	if !ok {
		run, bad := stored.FindRun(ctx, es, r.Elasticsearch.Prefix, argument)
		if bad != nil {
			return nil, bad
		}
		return [][2]string{{run.Run.ID, run.Run.Name}}, nil
	}
	k, v, ok := strings.Cut(label, "=")
	if !ok || k == "" {
		return nil, fio.Usagef("%q: want label:KEY=VALUE", argument)
	}
	runs, err := stored.ListRuns(ctx, es, r.Elasticsearch.Prefix, stored.RunFilter{Labels: map[string]string{k: v}})
	if err != nil {
		return nil, err
	}
	for i := len(runs) - 1; i >= 0; i-- {
		found = append(found, [2]string{runs[i].Run.ID, runs[i].Run.Name})
	}
	if len(found) == 0 {
		err = &fio.ParseError{File: argument, Msg: "no run has this label", Hint: "see fiolat runs"}
	}
	return found, err
}

// SayRolledUp prints that a run was rolled up, if it was.
func SayRolledUp(u *ui.UI, run *pipeline.Run) {
	if fine := run.Fine.Interval; fine > 0 {
		u.Say("info", "run %s was rolled up: its quanta of %v are of %v", fio.Printable(run.ID), time.Duration(fine),
			time.Duration(run.Interval))
	}
}
