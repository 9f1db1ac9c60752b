package runsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// Kinds are the kinds of latency that --kind names, in that order.
type Kinds struct {
	List []fio.Kind
	All  bool // leave out kinds that are not there
}

// EveryKind is --kind all.
var EveryKind = Kinds{List: []fio.Kind{fio.Clat, fio.Slat, fio.Lat}, All: true}

// KindRun holds the logs of one run, by kind.
type KindRun struct {
	Kinds
	Inputs []*ingest.Input // of each kind that is there
	of     []fio.Kind      // parallel to Inputs
}

// ReadOnce is the path of the first log that cannot be read again; "" if all can.
func (r *KindRun) ReadOnce() string {
	for _, in := range r.Inputs {
		if path := ReadOnce(in.Logs); path != "" {
			return path
		}
	}
	return ""
}

// Split divides the logs of a folder in which runs follow each other, as ingest.Input.Split does.
func (r *KindRun) Split() (out []*KindRun) {
	for i, in := range r.Inputs {
		parts := in.Split()
		if i > 0 && len(parts) != len(out) {
			return []*KindRun{r}
		}
		for k, part := range parts {
			if i == 0 {
				out = append(out, &KindRun{Kinds: r.Kinds, of: r.of})
			}
			out[k].Inputs = append(out[k].Inputs, part)
		}
	}
	return out
}

// DiscoverKinds finds the runs below the paths, each with its logs of all the kinds.
func (o *Logs) DiscoverKinds(u *ui.UI) ([]*KindRun, error) {
	k := o.Kinds
	o.tree = o.listed.Take(o.Paths...)
	type key struct {
		root string
		nth  int // of the runs with that root: files named one by one may lie in a directory that is searched
	}
	var out []*KindRun
	at := map[key]*KindRun{}
	of := map[string]fio.Kind{} // by path
	var none error
	for _, kind := range k.List {
		runs, err := o.Discover(u, kind, k.All)
		var missing *fio.NoLogsError
		if k.All && errors.As(err, &missing) {
			if none == nil {
				none = err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		seen := map[string]int{}
		for _, in := range runs {
			for _, l := range in.Logs {
				if other, twice := of[l.Path]; twice && l.JSON == nil {
					return nil, fio.Usagef("%s: its name does not say whether it logs %v or %v; choose one with "+
						"--kind", fio.Printable(l.Path), other, kind)
				}
				of[l.Path] = kind
			}
			seen[in.Root]++
			r := at[key{in.Root, seen[in.Root]}]
			if r == nil {
				r = &KindRun{Kinds: k}
				at[key{in.Root, seen[in.Root]}] = r
				out = append(out, r)
			}
			r.Inputs, r.of = append(r.Inputs, in), append(r.of, kind)
		}
	}
	if len(out) == 0 {
		return nil, none
	}
	for _, r := range out {
		for _, kind := range k.List {
			if !k.All && !slices.Contains(r.of, kind) {
				return nil, &fio.ParseError{File: r.Inputs[0].Root, Msg: fmt.Sprintf("no %v logs, only %v", kind,
					r.of[0]), Hint: "--kind all takes those that are there"}
			}
		}
	}
	return out, nil
}

// DiscoverAny is Discover for the first kind or, if there are only logs of others, for one of these.
func (o *Logs) DiscoverAny(u *ui.UI) (runs []*ingest.Input, found fio.Kind, err error) {
	o.tree = o.listed.Take(o.Paths...)
	defer func() { o.tree = nil }()
	for _, found = range append([]fio.Kind{o.Config.Settings.Kind}, EveryKind.List...) {
		runs, err = o.Discover(u, found, false)
		none, is := errors.AsType[*fio.NoLogsError](err)
		if !is || !none.Other {
			break
		}
	}
	return runs, found, err
}

// Prepare reads the heads of a run's logs, kind by kind. All kinds get the run.id of the
// first, and the longest interval of any, so that their intervals match. Close the plans when
// done, also those that come with an error.
func (r *KindRun) Prepare(ctx context.Context, cfg plan.Config) (plans []*plan.Plan, err error) {
	said := map[string]bool{}
	warn := cfg.Warn
	cfg.Warn = func(msg string) { // warnings about the directory come with each kind
		if !said[msg] {
			warn(msg)
		}
		said[msg] = true
	}
	longest := 0
	for i, in := range r.Inputs {
		cfg.Settings.Kind = r.of[i]
		plan, err := plan.Prepare(ctx, in, cfg)
		var none *fio.NoLogsError
		if last := i == len(r.of)-1; errors.As(err, &none) && r.All && !(last && len(plans) == 0) {
			cfg.Warn(fmt.Sprintf("left out: no %v logs that can be read", r.of[i])) // such as logs of averages
			continue
		}
		if err != nil {
			return plans, err
		}
		plans = append(plans, plan)
		if why := plan.Account.Unmeasured; why != "" {
			if err = unmeasured(in, cfg, why); err != nil {
				return plans, err
			}
		}
		if plan.Run.Interval > plans[longest].Run.Interval {
			longest = i
		}
		cfg.RunID, cfg.Settings.SLA = plans[0].Run.ID, nil // SLA rules are about one kind
	}
	for _, p := range plans {
		if l := plans[longest]; p.Run.Interval != l.Run.Interval {
			chosen := l.Account.Interval
			if chosen != nil {
				of := *chosen
				of.Reason = fmt.Sprintf("for %v: %s", l.Run.Kind, of.Reason)
				chosen = &of
			}
			if err := p.Regrid(time.Duration(l.Run.Interval), chosen); err != nil {
				return plans, err
			}
		}
	}
	return plans, nil
}

// unmeasured says what fio's JSON has of a run without latencies. A rule about latencies is an error.
func unmeasured(in *ingest.Input, cfg plan.Config, why string) error {
	if len(cfg.Settings.SLA) > 0 {
		return noLatencies(in.Root, "--sla", why)
	}
	rows, _, err := figures.FromJSON(&ingest.JSONRun{Root: in.Root, Metas: in.Metas}, cfg.Settings.Kind, nil, nil,
		&cfg.Pick)
	var said []string
	for i := range rows {
		r := &rows[i]
		text := fio.Grouped(r.Samples) + " " + pipeline.IOs(r.Direction)
		if r.IOPS != nil && r.BytesPerSecond != nil {
			text += fmt.Sprintf(" (%.4g IOPS, %.4g MiB/s)", *r.IOPS, *r.BytesPerSecond/(1<<20))
		}
		said = append(said, text)
	}
	cfg.Warn(fmt.Sprintf("%s: no latencies; by fio's JSON %s", fio.Printable(in.Root), strings.Join(said, ", ")))
	return err
}

// noLatencies is the error for a flag with a rule about latencies, of a run that has none.
func noLatencies(name, flag, why string) error {
	return &fio.ParseError{File: name, Msg: "no latencies, and " + flag + " is about them: fio measured none, " + why,
		Hint: "run fio again without that option"}
}

// ClosePlans closes all plans.
func ClosePlans(plans []*plan.Plan) {
	for _, p := range plans {
		p.Close()
	}
}

// Inputs returns the inputs of all kinds of the runs.
func Inputs(runs []*KindRun) (out []*ingest.Input) {
	for _, r := range runs {
		out = append(out, r.Inputs...)
	}
	return out
}

// Reread returns a function that passes the leaves of a run to a sink once more, nil if a log can be read only once.
func Reread(p *plan.Plan) func(context.Context, pipeline.Sink) error {
	if ReadOnce(p.Sources()) != "" {
		return nil
	}
	return func(ctx context.Context, sink pipeline.Sink) error { return p.Reread(ctx, sink, nil) }
}

// Roots returns the folders of the runs, for messages.
func Roots(runs []*KindRun) string {
	var names []string
	for _, r := range runs {
		names = append(names, fio.Printable(r.Inputs[0].Root))
	}
	return strings.Join(names, ", ")
}
