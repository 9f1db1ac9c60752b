// Package runsource finds the runs that arguments name, and reads them: logs on this host, directories of documents,
// and runs in Elasticsearch by id, name or label.
package runsource

import (
	"context"
	"fmt"
	"slices"

	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/diagnose"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// Source is one kind of latency of one run, from logs or stored.
type Source struct {
	Run     *pipeline.Run
	Process func(context.Context, pipeline.Sink) (*pipeline.Summary, error)
	// Reread passes the leaves to a sink once more; nil if they can be read only once.
	Reread func(context.Context, pipeline.Sink) error
	// Notes returns the notes on the run, the earliest first; nil if it is not in Elasticsearch.
	Notes func(context.Context) ([]diagnose.Note, error)
}

// OneSource says which run to read, and how.
type OneSource struct {
	Logs          Logs // Paths may also name a stored run
	Elasticsearch Elasticsearch
	Place         Place      // of what Paths names
	Runs          []*KindRun // of the logs; nil: not yet discovered
	Percentiles   []float64  // of a stored run; none: those that it has
	By            []string   // of a stored run; nil: as it was stored
	Why           string     // one run is wanted, for the error about several
	Yes           bool       // ask for no confirmation
	NoID, Pauses  bool       // see plan.Config
}

// Sources returns the kinds of latency of the one run that the paths name. Call done when they are no longer needed,
// also after an error.
func (o *OneSource) Sources(ctx context.Context, u *ui.UI) (sources []Source, done func(), err error) {
	if o.Place == InLogs {
		cfg := o.Logs.Pipeline(u)
		cfg.NoID, cfg.Pauses = o.NoID, o.Pauses
		cfg.Allow = ConfirmQuanta(u, o.Yes || o.Logs.DryRun)
		runs := o.Runs
		if runs == nil {
			if runs, err = o.Logs.DiscoverKinds(u); err != nil {
				return nil, func() {}, err
			}
		}
		plans, failed := oneRun(ctx, u, runs, cfg, o.Why)
		for _, p := range plans {
			sources = append(sources, Source{Run: p.Run, Process: p.Process, Reread: Reread(p)})
		}
		return sources, func() { ClosePlans(plans); u.ProgressDone() }, failed
	}
	done = func() {}
	var c *client.Client
	if o.Place == Stored {
		if c, err = o.Elasticsearch.Connect(u); err != nil {
			return nil, done, err
		}
		done = func() { _ = c.Close() } // it was only read
	}
	sources, err = o.stored(ctx, u, c)
	return sources, done, err
}

// stored returns the stored kinds of latency of a run: in Elasticsearch, or with no client in a directory.
func (o *OneSource) stored(ctx context.Context, u *ui.UI, c *client.Client) (out []Source, err error) {
	name, prefix, runID := o.Logs.Paths[0], o.Elasticsearch.Prefix, o.Logs.Config.RunID
	var there []fio.Kind
	if c != nil {
		run, none := stored.FindRun(ctx, c, prefix, name)
		if none != nil {
			return nil, none
		}
		runID = run.Run.ID
		there, err = stored.Kinds(ctx, c, prefix, runID)
	} else {
		there, err = stored.KindsDir(name, runID)
	}
	if err != nil {
		return nil, err
	}
	options := replay.Options{Workers: o.Logs.Config.Workers, Percentiles: o.Percentiles, By: o.By,
		Pick: o.Logs.Config.Pick}
	for _, kind := range o.Logs.Kinds.List {
		if !slices.Contains(there, kind) && len(there) > 0 {
			if o.Logs.Kinds.All {
				continue
			}
			return nil, &fio.ParseError{File: name, Msg: fmt.Sprintf("no %v latencies are stored, only %v", kind,
				there[0]), Hint: "--kind all takes those that are there"}
		}
		var r *replay.Replay
		if c != nil {
			r, err = stored.Open(ctx, c, prefix, runID, kind)
		} else {
			r, err = stored.OpenDir(name, runID, kind)
		}
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && r.Run.ID != out[0].Run.ID {
			return nil, fio.Usagef("%s holds the runs %q and %q; say which with --run-id", fio.Printable(name),
				out[0].Run.ID, r.Run.ID)
		}
		if options.Percentiles == nil { // all kinds get those of the first
			options.Percentiles = r.Run.Percentiles
		}
		if len(out) == 0 {
			SaySource(u, name, c, [2]string{r.Run.ID, r.Run.Name})
		}
		again := options
		again.LeavesOnly, again.By = true, nil
		source := Source{Run: r.Run}
		source.Process = func(ctx context.Context, sink pipeline.Sink) (*pipeline.Summary, error) {
			return r.Process(ctx, options, sink)
		}
		source.Reread = func(ctx context.Context, sink pipeline.Sink) error {
			_, err := r.Process(ctx, again, sink)
			return err
		}
		if c != nil {
			source.Notes = func(ctx context.Context) ([]diagnose.Note, error) { return Notes(ctx, c, prefix, r.Run) }
		}
		out = append(out, source)
	}
	return out, nil
}

// SaySource prints which stored runs, by id and name, an argument stands for. The client is nil for those in a
// directory.
func SaySource(u *ui.UI, argument string, c *client.Client, runs ...[2]string) {
	text := fmt.Sprintf("%d runs of %s", len(runs), fio.Printable(argument))
	if len(runs) == 1 {
		text = "the run " + fio.Printable(runs[0][0])
		if name := runs[0][1]; name != "" {
			text += " (" + fio.Printable(name) + ")"
		}
	}
	from := "the documents in " + fio.Printable(argument)
	if c != nil {
		from = fio.Printable(c.String())
	}
	u.Say("info", "reading    %s, from %s", text, from)
}

// Reread returns a function that passes the leaves of a run to a sink once more, nil if a log can be read only once.
func Reread(p *plan.Plan) func(context.Context, pipeline.Sink) error {
	if ReadOnce(p.Sources()) != "" {
		return nil
	}
	return func(ctx context.Context, sink pipeline.Sink) error { return p.Reread(ctx, sink, nil) }
}

// Notes returns the notes on a stored run, the earliest first.
func Notes(ctx context.Context, c *client.Client, prefix string, run *pipeline.Run) (out []diagnose.Note, err error) {
	notes, err := stored.Notes(ctx, c, prefix, []string{run.ID})
	for _, n := range notes {
		out = append(out, diagnose.Note{AtMS: n.At.UnixMilli() - run.Start/1e6, Text: n.Text})
	}
	return out, err
}
