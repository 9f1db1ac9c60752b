package compare

import (
	"context"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/ingest"
	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/history"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// reader reads the runs that arguments name.
type reader struct {
	*Options
	ui     *ui.UI
	client *client.Client // nil until it is needed
}

func (r *reader) close() {
	if r.client != nil {
		_ = r.client.Close() // it was only read from
	}
}

// labelled begins the name of all runs with a label.
const labelled = "label:"

// group reads the runs of an argument: those of a path or a stored run, of label:KEY=VALUE, or of
// NAME= and a list of these.
func (r *reader) group(ctx context.Context, argument string) (*compare.Group, error) {
	g := &compare.Group{Name: argument}
	members := []string{argument}
	if command.Locate(argument) == command.Stored && !strings.HasPrefix(argument, labelled) {
		if name, list, ok := strings.Cut(argument, "="); ok {
			g.Name, members = name, strings.Split(list, ",")
		}
	}
	for _, member := range members {
		if member == "" || g.Name == "" {
			return nil, errs.Usagef("%q: want NAME=RUN,RUN,...", argument)
		}
		if err := r.read(ctx, member, g); err != nil {
			return nil, err
		}
	}
	var loads []string
	for i, run := range g.Runs {
		if slices.ContainsFunc(g.Runs[:i], func(s *compare.Series) bool { return s.ID == run.ID }) {
			return nil, errs.Usagef("%s is in %s twice: a run and its copy make the spread look small",
				errs.Printable(run.Name), errs.Printable(g.Name))
		}
		if run.Workload != "" && !slices.Contains(loads, run.Workload) {
			loads = append(loads, run.Workload)
		}
	}
	if len(loads) > 1 {
		r.ui.Warn(errs.Printable(g.Name) + " holds runs of different workloads, which are no repeats: " +
			errs.Printable(strings.Join(loads, "; ")))
	}
	return g, nil
}

// since reads the runs with a label that are of the same workload as a run and began before it, from the
// last change point of any of their numbers on.
func (r *reader) since(ctx context.Context, name string, run *compare.Series) (*compare.Group, error) {
	label, ok := strings.CutPrefix(name, labelled)
	k, v, pair := strings.Cut(label, "=")
	if !ok || !pair || k == "" {
		return nil, errs.Usagef("--baseline %q: want label:KEY=VALUE", name)
	}
	if err := r.connect(name); err != nil {
		return nil, err
	}
	kind := r.Logs.Config.Settings.Kind
	found, err := stored.ListFigures(ctx, r.client, r.Elasticsearch.Prefix,
		stored.RunFilter{Labels: map[string]string{k: v}}, kind)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, id string) (*replay.Replay, error) {
		return stored.Open(ctx, r.client, r.Elasticsearch.Prefix, id, kind)
	}
	var runs []history.Run
	for i := range found {
		f := &found[i]
		if f.Run.Status != esmodel.StatusComplete || f.Run.ID == run.ID || i > 0 && f.Run.ID == found[i-1].Run.ID ||
			strings.Join(f.Fio.Workload, ", ") != run.Workload || !run.Began(f.Start) {
			continue
		}
		one, bad := command.StoredHistory(ctx, f, open, r.Logs.Config.Workers)
		if bad != nil {
			return nil, bad
		}
		runs = append(runs, one)
	}
	g := &compare.Group{Name: name}
	from := 0
	for _, s := range history.Split(runs, nil) { // one, as they are of one workload
		runs = s.Runs
		for _, metric := range history.Analyse(&s, history.Defaults) {
			for _, c := range metric.Changes {
				from = max(from, c.Index)
			}
		}
	}
	if from > 0 {
		g.Name += ", since its change at " + runs[from].Start.Format(time.RFC3339)
	}
	if n := len(runs) - from; n < compare.BaselineRuns {
		return nil, errs.Usagef("--baseline %s: %d runs of this workload before %s, and it takes %d to know what one "+
			"more would differ by", errs.Printable(g.Name), n, errs.Printable(run.Name), compare.BaselineRuns)
	}
	for _, one := range runs[from:] {
		s := &compare.Series{Name: one.ID}
		back, bad := open(ctx, one.ID)
		if bad == nil {
			_, bad = back.Process(ctx, replay.Options{Percentiles: r.Logs.Config.Settings.Percentiles,
				Workers: r.Logs.Config.Workers}, s)
		}
		if bad != nil {
			return nil, bad
		}
		g.Runs = append(g.Runs, s)
	}
	return g, nil
}

// connect makes the client that name needs.
func (r *reader) connect(name string) (err error) {
	if len(r.Elasticsearch.Addresses) == 0 {
		return errs.Usagef("%s: no such file or directory, and no Elasticsearch to find a run of that id or name "+
			"in: pass --es URL", errs.Printable(name))
	}
	if r.client == nil {
		r.client, err = r.Elasticsearch.Connect(r.ui)
	}
	return err
}

// read adds what a member of a group names: logs, a directory of documents, or what is in
// Elasticsearch.
func (r *reader) read(ctx context.Context, name string, to *compare.Group) error {
	logs := r.Logs
	logs.Paths = []string{name}
	cfg := logs.Pipeline(r.ui)
	add := func(name string) *compare.Series {
		s := &compare.Series{Name: name}
		to.Runs = append(to.Runs, s)
		return s
	}
	replayed := func(name string, run *replay.Replay, err error) error {
		if err == nil {
			_, err = run.Process(ctx, replay.Options{Percentiles: cfg.Settings.Percentiles,
				Workers: cfg.Workers}, add(name))
		}
		return err
	}
	switch command.Locate(name) {
	case command.InDirectory:
		runs, err := stored.DirFigures(name, cfg.Settings.Kind)
		if err == nil && len(runs) == 0 {
			run, bad := stored.OpenDir(name, "", cfg.Settings.Kind) // which says why not
			return replayed(name, run, bad)
		}
		for i, found := range runs {
			if i > 0 && found.Run.ID == runs[i-1].Run.ID {
				continue // another part of it
			}
			label := name
			if found.Run.ID != runs[0].Run.ID || found.Run.ID != runs[len(runs)-1].Run.ID {
				label = found.Run.ID
			}
			if err == nil {
				run, bad := stored.OpenDir(name, found.Run.ID, cfg.Settings.Kind)
				err = replayed(label, run, bad)
			}
		}
		return err
	case command.Stored:
		runs, err := r.find(ctx, name)
		for _, found := range runs {
			if err == nil {
				run, bad := stored.Open(ctx, r.client, r.Elasticsearch.Prefix, found.Run.ID, cfg.Settings.Kind)
				label := name
				if len(runs) > 1 {
					label = found.Run.ID
				}
				err = replayed(label, run, bad)
			}
		}
		return err
	}
	runs, err := logs.Discover(r.ui, cfg.Settings.Kind, false)
	if err != nil {
		return err
	}
	cfg.Progress = r.ui.Progress(command.Size(runs), "reading "+errs.Printable(name))
	defer r.ui.ProgressDone()
	for _, run := range runs {
		label := name
		if len(runs) > 1 {
			label = run.Root
		}
		if err = process(ctx, run, cfg, add(label)); err != nil {
			return err
		}
	}
	return nil
}

func process(ctx context.Context, run *ingest.Input, cfg plan.Config, to pipeline.Sink) error {
	plan, err := plan.Prepare(ctx, run, cfg)
	if err != nil {
		return err
	}
	defer plan.Close()
	_, err = plan.Process(ctx, to)
	return err
}

// find are the runs in Elasticsearch that a name means: one, or those of a label, the earliest first.
func (r *reader) find(ctx context.Context, name string) (runs []stored.RunSummary, err error) {
	if err = r.connect(name); err != nil {
		return nil, err
	}
	label, ok := strings.CutPrefix(name, labelled)
	if !ok {
		run, bad := stored.FindRun(ctx, r.client, r.Elasticsearch.Prefix, name)
		if bad != nil {
			return nil, bad
		}
		return []stored.RunSummary{*run}, nil
	}
	k, v, ok := strings.Cut(label, "=")
	if !ok || k == "" {
		return nil, errs.Usagef("%q: want label:KEY=VALUE", name)
	}
	runs, err = stored.ListRuns(ctx, r.client, r.Elasticsearch.Prefix,
		stored.RunFilter{Labels: map[string]string{k: v}})
	if err == nil && len(runs) == 0 {
		err = &errs.ParseError{File: name, Msg: "no run has this label", Hint: "see fiolat runs"}
	}
	slices.Reverse(runs)
	return runs, err
}
