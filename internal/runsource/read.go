package runsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiolat/analysis/compare"
	"fiolat/analysis/diagnose"
	"fiolat/analysis/figures"
	"fiolat/analysis/history"
	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// Source is one kind of latency of a run that is being read.
type Source struct {
	Run     *pipeline.Run
	Process func(context.Context, pipeline.Sink) (*pipeline.Summary, error)
	// Reread passes the leaves to a sink once more; nil if they can be read only once.
	Reread func(context.Context, pipeline.Sink) error
	// Unmeasured says why fio measured no latency; "" if it did.
	Unmeasured string

	warnings []string
}

// Open reads the head of a run: its kinds of latency. Call done when they are no longer needed, also after an error.
func (run *Run) Open(ctx context.Context) (sources []Source, done func(), err error) {
	defer func() {
		for _, s := range sources {
			if err == nil && s.Unmeasured != "" && run.reader.Rule != "" {
				err = noLatencies(run.Title, run.reader.Rule, s.Unmeasured)
			}
		}
	}()
	if run.Logs == nil {
		sources, err = run.openStored(ctx)
		return sources, func() {}, err
	}
	u := run.reader.UI
	progress := func() func(int64) { return u.Progress(Size(run.Logs.Inputs), "reading "+fio.Printable(run.Title)) }
	cfg := run.reader.Logs.Pipeline(u)
	cfg.Progress = progress()
	plans, err := run.Logs.Prepare(ctx, cfg)
	for _, p := range plans {
		source := Source{Run: p.Run, Process: p.Process, Unmeasured: p.Account.Unmeasured}
		if run.ReadOnce() == "" {
			source.Reread = func(ctx context.Context, sink pipeline.Sink) error {
				u.ProgressDone()
				return p.Reread(ctx, sink, progress())
			}
		}
		sources = append(sources, source)
	}
	return sources, func() { ClosePlans(plans); u.ProgressDone() }, err
}

// ReadOnce is the path of the first log that cannot be read again; "" if all can.
func (run *Run) ReadOnce() string {
	if run.Logs == nil {
		return ""
	}
	return run.Logs.ReadOnce()
}

// Unlogged are runs without logs whose documents are beside the logs of the run; known once it was read.
func (run *Run) Unlogged() (runs []*ingest.JSONRun) {
	if run.Logs == nil {
		return nil
	}
	for _, m := range run.Logs.Inputs[0].WithoutLog() { // the inputs of all kinds have the same documents
		runs = append(runs, ingest.NewJSONRun(m))
	}
	return runs
}

// openStored is Open for a stored run.
func (run *Run) openStored(ctx context.Context) (sources []Source, err error) {
	docs, err := run.Documents(ctx)
	if err != nil {
		return nil, err
	}
	r := run.reader
	options := replay.Options{Workers: r.Logs.Config.Workers, Percentiles: r.Percentiles, By: r.By,
		Pick: r.Logs.Config.Pick, LeavesOnly: r.Logs.Config.LeavesOnly}
	for _, kind := range r.Logs.Kinds.List {
		if !slices.ContainsFunc(docs, func(d *esmodel.StoredRun) bool { return d.Run.Kind == kind }) {
			if r.Logs.Kinds.All {
				continue
			}
			return nil, run.without(kind, docs)
		}
		var back *replay.Replay
		if run.dir != "" {
			back, err = stored.OpenDir(run.dir, run.ID, kind)
		} else {
			back, err = stored.Open(ctx, r.Client, r.Elasticsearch.Prefix, run.ID, kind)
		}
		if err != nil {
			return nil, err
		}
		if options.Percentiles == nil { // all kinds get those of the first
			options.Percentiles = back.Run.Percentiles
		}
		again := options
		again.LeavesOnly, again.By = true, nil
		unmeasured := ""
		if !slices.ContainsFunc(docs, func(d *esmodel.StoredRun) bool {
			return d.Run.Kind == kind && d.End > d.Run.FirstInterval
		}) {
			unmeasured = (&ingest.JSONRun{Metas: back.Run.Metas}).Unmeasured(kind)
		}
		sources = append(sources, Source{
			Run:        back.Run,
			Unmeasured: unmeasured,
			Process: func(ctx context.Context, sink pipeline.Sink) (*pipeline.Summary, error) {
				return back.Process(ctx, options, sink)
			},
			Reread: func(ctx context.Context, sink pipeline.Sink) error {
				_, err := back.Process(ctx, again, sink)
				return err
			},
			warnings: back.Warnings,
		})
	}
	if len(sources) == 0 {
		return nil, run.without(r.Logs.Kinds.List[0], docs)
	}
	if of := sources[0].Run; of.Fine.Interval > 0 {
		r.UI.Say("info", "run %s was rolled up: intervals of %v at coarseness %d became %v at coarseness %d",
			fio.Printable(run.ID), time.Duration(of.Fine.Interval), of.Fine.Coarseness, time.Duration(of.Interval),
			of.Geometry.Coarseness)
	}
	return sources, nil
}

// without returns the error for a kind of latency of which there is no document.
func (run *Run) without(kind fio.Kind, docs []*esmodel.StoredRun) error {
	there := docs[0].Run.Kind
	for _, d := range docs {
		there = min(there, d.Run.Kind)
	}
	return &fio.ParseError{File: run.Title, Msg: fmt.Sprintf("no %v latencies are stored, only %v", kind, there),
		Hint: fmt.Sprintf("pass --kind %v", there)}
}

// Process reads a run of one kind of latency, and prints its warnings.
func (run *Run) Process(ctx context.Context, sink pipeline.Sink) error {
	if run.Logs != nil {
		run.reader.met(pipeline.FormatVersion)
	}
	source, err := run.process(ctx, sink)
	for _, w := range source.warnings {
		run.reader.UI.Warn(w)
	}
	if err == nil && run.reader.WarnSyncs {
		err = WarnSyncs(run.reader.UI, source.Run)
	}
	return err
}

func (run *Run) process(ctx context.Context, sink pipeline.Sink) (Source, error) {
	sources, done, err := run.Open(ctx)
	defer done()
	if err != nil {
		return Source{}, err
	}
	_, err = sources[0].Process(ctx, sink)
	return sources[0], err
}

// Documents returns what is stored of a run: of each kind of latency its document and those of its parts.
func (run *Run) Documents(ctx context.Context) (docs []*esmodel.StoredRun, err error) {
	run.say()
	defer func() {
		for _, d := range docs {
			if err == nil {
				run.reader.met(d.Format)
			}
		}
	}()
	if run.dir != "" {
		return stored.RunsDir(run.dir, run.ID)
	}
	docs, err = stored.Runs(ctx, run.reader.Client, run.reader.Elasticsearch.Prefix, run.ID)
	if err == nil && len(docs) == 0 {
		err = esmodel.Fault(run.ID, "", "see fiolat runs", "it was deleted")
	}
	return docs, err
}

// Figures returns the figures of a stored run, or if it is not merged, of one of its parts.
func (run *Run) Figures(ctx context.Context) (*stored.Figures, error) {
	if run.figures != nil {
		run.reader.met(run.figures.Run.Format)
		return run.figures, nil
	}
	run.say()
	var found []stored.Figures
	var err error
	kind := run.reader.Logs.Config.Settings.Kind
	if run.dir != "" {
		found, err = stored.DirFigures(run.dir, run.ID, kind)
	} else {
		found, err = stored.RunFigures(ctx, run.reader.Client, run.reader.Elasticsearch.Prefix, run.ID, kind)
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Run.ID == run.ID {
			run.reader.met(found[i].Run.Format)
			return &found[i], nil
		}
	}
	docs, err := run.Documents(ctx)
	if err == nil {
		err = run.without(kind, docs)
	}
	return nil, err
}

// Diagnosis returns a sink that diagnoses the run of a source, with its notes. A whole run that was rolled up has the
// diagnosis of its finer intervals.
func (run *Run) Diagnosis(ctx context.Context, source Source) (*diagnose.Full, error) {
	full := &diagnose.Full{Reread: source.Reread}
	if cfg := &run.reader.Logs.Config; source.Run.Fine.Interval > 0 && cfg.Pick.Empty() {
		docs, err := run.Documents(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if d.Run.Part == "" && d.Run.Kind == source.Run.Kind && len(d.Diagnosis) > 0 {
				if full.Kept, err = diagnose.ReadStored(d.Diagnosis); err != nil {
					return nil, err
				}
			}
		}
	}
	if run.ID == "" || run.dir != "" {
		return full, nil
	}
	notes, err := stored.Notes(ctx, run.reader.Client, run.reader.Elasticsearch.Prefix, []string{run.ID})
	for _, n := range notes {
		full.Notes = append(full.Notes, diagnose.Note{AtMS: n.At.UnixMilli() - source.Run.Start/1e6, Text: n.Text})
	}
	return full, err
}

// History returns the figures of a run for history. Of a stored run that is not complete, or whose intervals were
// deleted and whose document has no histograms, it returns nil, and warns.
func (run *Run) History(ctx context.Context) (*history.Run, error) {
	totals := run.Totals
	if run.Logs != nil {
		sink := &Kept{}
		err := run.Process(ctx, sink)
		if of := run.useless(err); len(of) == 1 {
			totals = of[0]
		} else if err != nil {
			return nil, err
		} else {
			out, err := sink.history()
			out.Name = cmp.Or(out.Name, run.Title)
			return out, err
		}
	}
	if totals != nil {
		return run.ofTotals(totals)
	}
	f, err := run.Figures(ctx)
	if err != nil {
		return nil, err
	}
	if f.Run.Status != esmodel.StatusComplete {
		run.reader.UI.Warn(fmt.Sprintf("left out: run %s is %s", fio.RunName(f.Run.ID, f.Run.Name), f.Run.Status))
		return nil, nil
	}
	WarnStoredSyncs(run.reader.UI, f)
	out := &history.Run{ID: f.Run.ID, Name: f.Run.Name, Stored: f.Run.Title, Start: f.Start, Labels: f.Labels,
		RolledUp: f.RollUp.MS > 0, Workload: strings.Join(f.Fio.Workload, "; "), Sameness: f.Sameness,
		Directions: map[string]*history.Direction{}}
	// They have none of an older fiolat, if the run is not merged, or if it has no latencies.
	if f.Run.Part != "" || len(f.Histograms) == 0 {
		sink := &Kept{}
		_, err = run.process(ctx, sink)
		if errors.As(err, new(*replay.GoneError)) {
			run.reader.UI.Warn("left out: " + err.Error())
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		of, bad := sink.history()
		out.Directions = of.Directions
		return out, bad
	}
	for direction, w := range f.Histograms {
		iops, _ := f.Summary[direction]["iops"].(float64)
		if out.Directions[direction], err = newDirection(w, f.Geometry, iops); err != nil {
			return nil, fmt.Errorf("run %s, %s: %w", fio.Printable(f.Run.ID), direction, err)
		}
	}
	return out, nil
}

// useless returns what fio's JSON has beside logs that cannot be used, by the error of reading them, and says so.
func (run *Run) useless(err error) []*ingest.JSONRun {
	var why *fio.ParseError
	if !errors.As(err, &why) || !why.Useless || run.Logs == nil || len(run.Logs.Inputs[0].Metas) == 0 {
		return nil
	}
	run.reader.UI.Warn(fmt.Sprintf("%s: its logs are not used: %s: %s", fio.Printable(run.Title),
		fio.Printable(why.File), why.Msg))
	return run.Logs.Inputs[0].JSONRuns()
}

// ofTotals is History for fio's JSON alone. Of a run that failed it returns nil.
func (run *Run) ofTotals(t *ingest.JSONRun) (*history.Run, error) {
	settings := &run.reader.Logs.Config.Settings
	if t.Failure() != nil { // it is among Logs.Failed
		return nil, nil
	}
	rows, bins, err := figures.FromJSON(t, settings.Kind, settings.By, settings.Percentiles, new(pipeline.Pick))
	if err != nil {
		return nil, err
	}
	of := &pipeline.Run{Metas: t.Metas, Kind: settings.Kind, Percentiles: settings.Percentiles}
	out := &history.Run{ID: t.ID, Name: t.Root, Start: t.Start(), Workload: strings.Join(of.Workloads(), "; "),
		Sameness:   fiojson.SamenessOf(t.Metas),
		Directions: map[string]*history.Direction{}}
	for i := range rows {
		r := &rows[i]
		d := &history.Direction{Hist: r.Hist, Geometry: r.Geometry, Bounds: r.Bounds}
		if r.IOPS != nil {
			d.IOPS = *r.IOPS
		}
		if r.Hist == nil {
			d.Own = r.Values()
		}
		if r.Direction != fio.Sync.String() {
			out.Directions[r.Direction] = d
		}
	}
	if !bins {
		run.reader.UI.Warn(fio.Printable(t.Root) + ": only fio's own percentiles, of single jobs, since fio's JSON has " +
			"no histograms: run fio with --output-format=json+")
	}
	return out, WarnSyncs(run.reader.UI, of)
}

// newDirection makes the figures of a direction from what a document holds of it.
func newDirection(w *esmodel.RunHistogram, g fiohist.Geometry, iops float64) (*history.Direction, error) {
	h, bounds, err := w.Hist(g)
	d := &history.Direction{Geometry: g, Hist: h, Bounds: bounds, IOPS: iops, Limits: map[string][2]float64{}}
	for name, l := range w.Limits {
		d.Limits[strings.ReplaceAll(name, "_", ".")] = [2]float64{l.Low, l.High}
	}
	return d, err
}

// Kept is a sink that keeps a run, its sums and what compare needs of it.
type Kept struct {
	compare.Series
	Run *pipeline.Run
	Sum *pipeline.Summary
}

// Begin keeps the run.
func (w *Kept) Begin(ctx context.Context, run *pipeline.Run) error {
	w.Run = run
	return w.Series.Begin(ctx, run)
}

// End keeps the sums.
func (w *Kept) End(ctx context.Context, sum *pipeline.Summary) error {
	w.Sum = sum
	return w.Series.End(ctx, sum)
}

// history returns the run with the numbers that its document would have.
func (w *Kept) history() (*history.Run, error) {
	run := &history.Run{ID: w.Run.ID, Name: w.Run.Name, Stored: w.Run.Title(), Labels: w.Run.Labels,
		Workload: strings.Join(w.Run.Workloads(), "; "), Sameness: fiojson.SamenessOf(w.Run.Metas),
		Directions: map[string]*history.Direction{}}
	if w.Run.StartKnown {
		run.Start = time.Unix(0, w.Run.Start).UTC()
	}
	noise := w.Noise(w.Run.Percentiles)
	for i := range w.Sum.Total {
		row := &w.Sum.Total[i]
		d := row.Dims.Direction
		if fio.Undirected(row.Scope) != fio.RunScope {
			continue
		}
		var err error
		run.Directions[d], err = newDirection(esmodel.NewRunHistogram(row, w.Run.Geometry, noise[d]), w.Run.Geometry,
			row.IOPS)
		if err != nil {
			return nil, err
		}
	}
	return run, nil
}
