// Package runsource answers which runs the arguments of a command name, and reads them: logs on this host, directories
// of documents, and runs in Elasticsearch by id, the beginning of an id, name or label.
package runsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/ui"
)

// Place is where a run is.
type Place int

// The places of runs.
const (
	InLogs      Place = iota // log files on this host
	InDirectory              // documents that fiolat ingest --output wrote
	Stored                   // in Elasticsearch, if anywhere
)

// IsHere reports whether an argument names something on this host, as far as that can be told.
func IsHere(name string) bool {
	_, err := os.Stat(name)
	failed := slices.ContainsFunc([]error{fs.ErrPermission, syscall.EIO, syscall.ENOTDIR, syscall.ESTALE},
		func(how error) bool { return errors.Is(err, how) }) // it may be there
	if err == nil || failed || name == "-" {
		return true
	}
	if _, _, ok := ingest.PartOf(name); ok {
		return true
	}
	matches, err := ingest.Glob(name)
	return err != nil || len(matches) > 0
}

// Locate returns where the run is that an argument names. Files come before runs in Elasticsearch.
func (o *Logs) Locate(name string) Place {
	at, known := o.places[name]
	if known {
		return at
	}
	switch {
	case !IsHere(name):
		at = Stored
	case o.hasDocuments(name):
		at = InDirectory
	default:
		at = InLogs
	}
	if o.places == nil {
		o.places = map[string]Place{}
	}
	o.places[name] = at
	return at
}

// hasDocuments reports whether a name is that of a directory with documents of runs. It may have many other files.
func (o *Logs) hasDocuments(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() && slices.ContainsFunc(o.listed.List(name), func(file string) bool {
		run, ok := strings.CutSuffix(file, ".ndjson")
		return ok && strings.Contains(run, "-run.")
	})
}

// Reader finds the runs that arguments name. Close it when done.
type Reader struct {
	Logs          *Logs // how to read runs; Paths is not used
	Elasticsearch *Elasticsearch
	UI            *ui.UI
	Percentiles   []float64 // of stored runs; nil: those that they have
	By            []string  // of stored runs; nil: as they were stored
	Totals        bool      // find runs that left only fio's JSON, too
	Several       string    // advice where there are several runs for One
	WarnSyncs     bool      // warn about jobs that sync, if no output shows the syncs
	Rule          string    // a flag with a rule about latencies, which runs without any are an error for
	WarnFormats   bool      // warn about runs whose figures were found in different ways

	Client *client.Client // nil until Connect

	older, newer, said bool // which formats there were, and whether that was said
}

// exactFormat is the first format of documents in which maxima are those of whole I/Os and shares of I/Os are exact.
const exactFormat = 12

// met notes the format of a run's documents; of logs it is pipeline.FormatVersion.
func (r *Reader) met(format int) {
	r.older, r.newer = r.older || format < exactFormat, r.newer || format >= exactFormat
	if r.WarnFormats && r.older && r.newer && !r.said {
		r.said = true
		r.UI.Warn("some of these runs were stored by an older fiolat: their max, and high percentiles of few I/Os, can " +
			"differ from the others' by more than 1 % for that reason alone; ingest their logs again if you have them")
	}
}

// Run is a run that an argument names. It is from logs, stored, or has only Totals.
type Run struct {
	Title  string // what messages call it
	Logs   *KindRun
	Totals *ingest.JSONRun
	ID     string // of a stored run

	reader  *Reader
	dir     string          // of a stored run; "": it is in Elasticsearch
	figures *stored.Figures // of a stored run; nil: not yet read
	say     func()          // prints where a stored run is read from; the first call for an argument counts
}

// Close closes the connection to Elasticsearch, if there is one.
func (r *Reader) Close() {
	if r.Client != nil {
		_ = r.Client.Close() // what was written has been acknowledged
	}
}

// Connect returns the connection to Elasticsearch, made at the first call.
func (r *Reader) Connect() (_ *client.Client, err error) {
	if r.Client == nil {
		r.Client, err = r.Elasticsearch.Connect(r.UI)
	}
	return r.Client, err
}

// One returns the one run that arguments name; paths of logs are searched together. The error for several says why one
// is wanted.
func (r *Reader) One(ctx context.Context, why string, arguments ...string) (*Run, error) {
	var found []*Run
	for _, group := range groups(arguments, func(a string) bool { return r.Logs.Locate(a) == InLogs }) {
		runs, err := r.look(ctx, group, r.local)
		if err != nil {
			return nil, err
		}
		found = append(found, runs...)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	var inputs []*ingest.Input
	how := "name one of"
	for _, run := range found {
		if run.Logs != nil {
			inputs = append(inputs, run.Logs.Inputs[0])
		}
		names = append(names, fio.Printable(run.Title))
		if run.dir != "" {
			how = "say with --run-id which of"
		}
	}
	text := fmt.Sprintf("%s %s", how, fio.Some(names))
	if len(inputs) == len(found) && ingest.MayBeHosts(inputs) {
		text = HostsOrRepeats + "; else " + text
	} else if r.Several != "" {
		text += "; " + r.Several
	}
	return nil, fio.Usagef("found %d runs, but %s: %s", len(found), why, text)
}

// HostsOrRepeats is what to do with runs of ingest.MayBeHosts.
const HostsOrRepeats = "if they are the hosts of one run, pass --hosts-by folder; if they are repeats, see `fiolat " +
	"compare` and `fiolat history`"

// Find yields the runs that arguments name, in order; an error is the last. Files that are named one by one come first,
// and are one run; a folder in which runs follow each other holds several.
func (r *Reader) Find(ctx context.Context, arguments ...string) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		defer r.UI.Hold()()
		for _, group := range groups(arguments, r.together(arguments)) {
			found, err := r.look(ctx, group, r.divided)
			for _, run := range found {
				if !yield(run, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// together returns a function that tells the arguments that are searched together: files or, if no file is among them,
// folders of logs and of their JSON.
func (r *Reader) together(arguments []string) func(string) bool {
	var files, folders []string
	for _, a := range arguments {
		if r.Logs.Locate(a) != InLogs {
			continue
		} else if info, err := os.Stat(a); err == nil && info.IsDir() {
			folders = append(folders, a)
		} else {
			files = append(files, a)
		}
	}
	if len(files) == 0 && len(folders) > 1 {
		files = ingest.Together(folders, ingest.DiscoverOptions{Kind: r.Logs.Config.Settings.Kind})
	}
	return func(a string) bool { return slices.Contains(files, a) }
}

// groups returns the arguments that are searched together, if any, and then each of the others.
func groups(arguments []string, together func(string) bool) (out [][]string) {
	var first []string
	for _, a := range arguments {
		if together(a) {
			first = append(first, a)
		} else {
			out = append(out, []string{a})
		}
	}
	if len(first) > 0 {
		out = slices.Insert(out, 0, first)
	}
	return out
}

// look finds the runs of paths, or of one other argument.
func (r *Reader) look(ctx context.Context, group []string, local func([]string) ([]*Run, error)) ([]*Run, error) {
	if r.Logs.Locate(group[0]) == InLogs {
		return local(group)
	}
	return r.stored(ctx, group[0])
}

// divided finds runs on this host, consecutive ones of a folder apart.
func (r *Reader) divided(paths []string) (out []*Run, err error) {
	found, err := r.local(paths)
	for _, run := range found {
		if run.Logs == nil {
			out = append(out, run)
			continue
		}
		for _, part := range run.Logs.Split() {
			out = append(out, &Run{Title: part.Inputs[0].Title(), Logs: part, reader: r})
		}
	}
	return out, err
}

// local finds runs on this host: logs and, with Totals, fio's JSON.
func (r *Reader) local(paths []string) (found []*Run, err error) {
	logs := *r.Logs
	logs.Paths, logs.logsOnly = paths, r.Totals
	runs, none := logs.DiscoverKinds(r.UI)
	inputs := Inputs(runs)
	if !r.Totals && (none == nil || ingest.IsNoLogs(none)) && logs.FindFailed(r.UI, inputs) && none != nil {
		return nil, nil
	}
	kind := logs.Config.Settings.Kind
	var other *fio.NoLogsError // there are logs, and of another kind
	if r.Totals && kind != fio.Clat && errors.As(none, &other) && !other.Other {
		other = nil
	}
	if none != nil && !(r.Totals && ingest.IsNoLogs(none)) && other == nil {
		return nil, none
	}
	for _, run := range runs {
		found = append(found, &Run{Title: run.Inputs[0].Title(), Logs: run, reader: r})
	}
	if !r.Totals {
		return found, nil
	}
	skipBad := logs.Config.Settings.SkipBad
	totals, warnings, err := ingest.DiscoverJSONRuns(paths, inputs, ingest.DiscoverOptions{Stdin: r.UI.Stdin,
		HostsBy: logs.HostsBy, SkipBad: skipBad, Tree: logs.tree})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		r.UI.Warn(w)
	}
	if other != nil {
		totals = slices.DeleteFunc(totals, func(t *ingest.JSONRun) bool { return !t.Measured(kind) })
	}
	if len(runs)+len(totals) == 0 {
		return nil, none
	}
	for _, t := range totals {
		if why := t.Unmeasured(kind); why != "" && r.Rule != "" {
			return nil, noLatencies(t.Root, r.Rule, why)
		}
		if !logs.failed(r.UI, t, inputs) || !skipBad {
			found = append(found, &Run{Totals: t, reader: r})
		}
	}
	return found, nil
}

// LabelPrefix begins an argument that names all runs with a label.
const LabelPrefix = "label:"

// stored finds the runs in a directory of documents, or in Elasticsearch those of that id, name or label. The earliest
// comes first.
func (r *Reader) stored(ctx context.Context, argument string) ([]*Run, error) {
	if r.Logs.Locate(argument) == InDirectory {
		docs, err := stored.RunsDir(argument, r.Logs.Config.RunID)
		slices.SortStableFunc(docs, func(a, b *esmodel.StoredRun) int {
			return cmp.Or(cmp.Compare(a.Run.Start, b.Run.Start), cmp.Compare(a.Run.ID, b.Run.ID))
		})
		var runs [][2]string
		for _, d := range docs {
			runs = append(runs, [2]string{d.Run.ID, d.Run.Name})
		}
		return r.named(argument, argument, "the documents in "+fio.Printable(argument), runs), err
	}
	if len(r.Elasticsearch.Addresses) == 0 {
		return nil, &fio.ParseError{File: argument, Msg: "no such file or directory",
			Hint: "check the path; if it is a run in Elasticsearch, pass --es URL"}
	}
	c, err := r.Connect()
	if err != nil {
		return nil, err
	}
	prefix, from := r.Elasticsearch.Prefix, fio.Printable(c.String())
	label, ok := strings.CutPrefix(argument, LabelPrefix)
	if !ok {
		run, bad := stored.FindRun(ctx, c, prefix, argument)
		if bad != nil {
			return nil, bad
		}
		return r.named(argument, "", from, [][2]string{{run.Run.ID, run.Run.Name}}), nil
	}
	k, v, ok := strings.Cut(fio.Printable(label), "=")
	if !ok || k == "" {
		return nil, fio.Usagef("%q: want label:KEY=VALUE", argument)
	}
	found, err := stored.ListRuns(ctx, c, prefix, stored.RunFilter{Labels: map[string]string{k: v}})
	if err == nil && len(found) == 0 {
		err = &fio.ParseError{File: argument, Msg: "no run has this label", Hint: "see fiolat runs"}
	}
	var runs [][2]string
	for _, f := range slices.Backward(found) {
		runs = append(runs, [2]string{f.Run.ID, f.Run.Name})
	}
	return r.named(argument, "", from, runs), err
}

// named returns the stored runs that an argument stands for, given by id and name, once for each part and kind.
func (r *Reader) named(argument, dir, from string, runs [][2]string) (out []*Run) {
	text, seen := "", map[string]bool{}
	say := sync.OnceFunc(func() { r.UI.Say("info", "reading    %s, from %s", text, from) })
	for _, run := range runs {
		id, name := run[0], run[1]
		if seen[id] {
			continue
		}
		seen[id] = true
		text = "the run " + fio.RunName(id, name)
		out = append(out, &Run{Title: id, ID: id, reader: r, dir: dir, say: say})
	}
	if len(out) == 1 {
		out[0].Title = argument
	} else {
		text = fio.Several(len(out), "run") + " of " + fio.Printable(argument)
	}
	return out
}

// Filter yields the runs in Elasticsearch that a filter selects, the earliest first; an error is the last.
func (r *Reader) Filter(ctx context.Context, by stored.RunFilter) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		var found []stored.Figures
		c, err := r.Connect()
		if err == nil {
			found, err = stored.ListFigures(ctx, c, r.Elasticsearch.Prefix, by, r.Logs.Config.Settings.Kind)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range found {
			f := &found[i]
			if i > 0 && f.Run.ID == found[i-1].Run.ID { // another part of the run
				continue
			}
			if !yield(&Run{Title: f.Run.ID, ID: f.Run.ID, reader: r, figures: f, say: func() {}}, nil) {
				return
			}
		}
	}
}
