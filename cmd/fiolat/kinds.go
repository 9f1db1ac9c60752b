package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/ingest"
	"fiolat/pipeline"
)

// kinds are the kinds of latency that --kind names, in that order.
type kinds struct {
	list []ingest.Kind
	all  bool // those that are not there are left out
}

// severalKinds says of --kind that it takes a list.
func severalKinds(flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		if f, ok := f.(*cli.StringFlag); ok && f.Name == "kind" {
			f.Usage = "kinds of latency, a `LIST` of clat (from histogram logs, else from those of write_lat_log), slat, lat: all under one run.id, that of the first; all: those that are there; rules (--sla) are about the first"
		}
	}
	return flags
}

// everyKind is --kind all.
var everyKind = kinds{[]ingest.Kind{ingest.Clat, ingest.Slat, ingest.Lat}, true}

func kindList(v string) (k kinds, err error) {
	if v == "all" {
		return everyKind, nil
	}
	for _, name := range strings.Split(v, ",") {
		kind, err := latency(strings.TrimSpace(name))
		if err != nil {
			return k, err
		}
		if !slices.Contains(k.list, kind) {
			k.list = append(k.list, kind)
		}
	}
	return k, nil
}

// kindRun is one run: its logs of each kind.
type kindRun struct {
	kinds
	inputs []*ingest.Input
	of     []ingest.Kind // parallel to inputs
}

// discoverKinds finds the runs below the paths, each with its logs of all the kinds.
func (o *Logs) discoverKinds(u *ui) ([]*kindRun, error) {
	k := o.Kinds
	type key struct {
		root string
		nth  int // of the runs with that root: files named one by one may lie in a folder that is searched
	}
	var out []*kindRun
	at := map[key]*kindRun{}
	of := map[string]ingest.Kind{} // by path
	var none error
	for _, kind := range k.list {
		runs, err := o.discover(u, kind, k.all)
		var missing *ingest.NoLogsError
		if k.all && errors.As(err, &missing) {
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
				if other, twice := of[l.Path]; twice {
					return nil, usagef("%s: it may be of %v or of %v, for its name does not say; name one of them with --kind", ingest.Printable(l.Path), other, kind)
				}
				of[l.Path] = kind
			}
			seen[in.Root]++
			r := at[key{in.Root, seen[in.Root]}]
			if r == nil {
				r = &kindRun{kinds: k}
				at[key{in.Root, seen[in.Root]}] = r
				out = append(out, r)
			}
			r.inputs, r.of = append(r.inputs, in), append(r.of, kind)
		}
	}
	if len(out) == 0 {
		return nil, none
	}
	for _, r := range out {
		for _, kind := range k.list {
			if !k.all && !slices.Contains(r.of, kind) {
				return nil, &ingest.ParseError{File: r.inputs[0].Root, Msg: fmt.Sprintf("no %v logs, but of %v", kind, r.of[0]), Hint: "--kind all takes those that are there"}
			}
		}
	}
	return out, nil
}

// prepare reads the heads of a run's logs, kind by kind. All have the run.id that the
// first has, and the longest interval that any has: else they would not lie side by
// side. Close the plans when done, also those that come with an error.
func (r *kindRun) prepare(ctx context.Context, cfg pipeline.Config) (plans []*pipeline.Plan, err error) {
	said := map[string]bool{}
	warn := cfg.Warn
	cfg.Warn = func(msg string) { // what is wrong with the folder is so for each kind
		if !said[msg] {
			warn(msg)
		}
		said[msg] = true
	}
	longest := 0
	for i, in := range r.inputs {
		cfg.Settings.Kind = r.of[i]
		plan, err := pipeline.Prepare(ctx, in, cfg)
		var none *ingest.NoLogsError
		if last := i == len(r.of)-1; errors.As(err, &none) && r.all && !(last && len(plans) == 0) {
			cfg.Warn(fmt.Sprintf("left out: no %v logs that can be read", r.of[i])) // of averages, for one
			continue
		}
		if err != nil {
			return plans, err
		}
		plans = append(plans, plan)
		if plan.Run.Interval > plans[longest].Run.Interval {
			longest = i
		}
		cfg.RunID, cfg.Settings.SLA = plans[0].Run.ID, nil // what is promised is of one kind
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

func closePlans(plans []*pipeline.Plan) {
	for _, p := range plans {
		p.Close()
	}
}

// firsts are the runs' inputs of their first kinds, inputs those of all.
func firsts(runs []*kindRun) (out []*ingest.Input) {
	for _, r := range runs {
		out = append(out, r.inputs[0])
	}
	return out
}

func inputs(runs []*kindRun) (out []*ingest.Input) {
	for _, r := range runs {
		out = append(out, r.inputs...)
	}
	return out
}

// oneRun are the plans of the one run below the paths; more is an error that says why
// one is wanted.
func (o *Logs) oneRun(ctx context.Context, u *ui, cfg pipeline.Config, why string) ([]*pipeline.Plan, error) {
	runs, err := o.discoverKinds(u)
	if err != nil {
		return nil, err
	}
	if len(runs) > 1 {
		return nil, usagef("these are %d runs, and %s: name one of %s", len(runs), why, roots(firsts(runs)))
	}
	cfg.Progress = u.progress(size(inputs(runs)), "reading")
	return runs[0].prepare(ctx, cfg)
}

// kindAccount prints the account of one kind; of several it says which.
func (u *ui) kindAccount(run *pipeline.Run, s *pipeline.Summary, of int) {
	if of > 1 {
		u.say("info", "%v:", run.Kind)
	}
	u.account(s, nil, "")
}
