// Package history implements fiolat history: it says from which run on a series of runs is faster or slower.
package history

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/history"
	"fiolat/internal/render"
	"fiolat/internal/tempfile"
	"fiolat/internal/ui"
)

// ErrChanged is the error of Run if --fail-if-changed fired.
var ErrChanged = errors.New("there are changes that were not reported before")

// mostRuns limits the length of a series: memory and time grow with its square.
const mostRuns = 3000

// Options are the options of fiolat history.
type Options struct {
	Logs          command.Logs // how to read runs that are logs
	Elasticsearch command.Elasticsearch
	Runs          []string         // paths, run.ids or names in Elasticsearch; none: those of Filter
	Filter        stored.RunFilter // which runs in Elasticsearch
	Split         []string         // labels whose values separate series
	Metrics       []fio.Metric
	Last          int // how many runs of each series; 0 is all
	Format        string
	Unit          string  // of latencies in tables: ns, us or ms
	Page          string  // file for the page; "" is none
	FailIfChanged int     // how many of the latest runs are new, if nothing is remembered of a series; 0 is off
	MinChange     float64 // the smallest change for FailIfChanged, a share
	State         string  // file of the changes reported; "" is none
	Store         bool
}

// Run prints the change points of the runs' series; the error is ErrChanged if o.FailIfChanged finds one.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	r := newReader(&o, u)
	defer r.source.Close()
	if err := r.read(ctx); err != nil {
		return err
	}
	if len(r.runs) == 0 && len(r.failed) > 0 {
		return errors.Join(r.failed...)
	}
	if len(r.runs) == 0 {
		return &errs.ParseError{File: "history", Msg: "no complete run was found", Hint: "see fiolat runs"}
	}
	r.sayRolledUp()
	all := history.Split(r.runs, o.Split)
	var results []history.Result
	for i := range all {
		s := &all[i]
		s.Name = o.series(s.Name)
		if n := len(s.Runs); o.Last > 0 && n > o.Last {
			s.Runs = s.Runs[n-o.Last:]
		}
		if n := len(s.Runs); n > mostRuns {
			return errs.Usagef("%s: %d runs are more than the %d that one series can have: choose some with --last, "+
				"--since or --label", errs.Printable(s.Name), n, mostRuns)
		}
		if s.Unordered && len(s.Runs) > 1 {
			u.Warn(errs.Printable(s.Name) + ": when some of its runs began is not known: they are in the order given")
		}
		results = append(results, history.Analyse(s, o.Metrics)...)
	}
	if err := o.print(u, all, results); err != nil {
		return err
	}
	if o.Store {
		if err := r.store(ctx, all, results); err != nil {
			return err
		}
	}
	if o.Page != "" {
		if err := r.page(ctx, all, results); err != nil {
			return err
		}
	}
	return errors.Join(append(r.failed, r.judge(ctx, all, u))...)
}

// series returns the full name of a series: the filters that chose its runs, name, and the kind.
func (o *Options) series(name string) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(o.Filter.Labels)) {
		words = append(words, k+"="+o.Filter.Labels[k])
	}
	for _, k := range slices.Sorted(maps.Keys(o.Filter.Options)) {
		words = append(words, k+"="+o.Filter.Options[k])
	}
	words = append(words, name)
	if kind := o.Logs.Config.Settings.Kind.String(); kind != "clat" {
		words = append(words, "kind="+kind)
	}
	return strings.Join(words, ", ")
}

func (o *Options) sentence(r *history.Result, c history.Change) string {
	p := &r.Runs[c.Index]
	return fmt.Sprintf("%s %s from run %d (%s) on: %s to %s", r.Metric, share(c.Change), c.Index+1,
		runName(p.Name, p.ID, p.Start), o.value(r, c.Before), o.value(r, c.After))
}

func (r *reader) store(ctx context.Context, all []history.Series, results []history.Result) error {
	if err := r.connect(""); err != nil {
		return err
	}
	metrics := map[string][]string{}
	var changes []stored.Change
	for i := range all {
		s := &all[i]
		for k := range results {
			res := &results[k]
			if res.Series != s.Name {
				continue
			}
			metrics[s.Name] = append(metrics[s.Name], res.Metric)
			for _, c := range res.Changes {
				changes = append(changes, r.change(s, res, c))
			}
		}
	}
	made, deleted, err := stored.StoreChanges(ctx, r.es, r.Elasticsearch.Prefix, metrics, changes)
	if err != nil {
		return err
	}
	r.source.UI.Say("info", "change points: %d stored, %d deleted that no longer hold", made, deleted)
	return nil
}

func (r *reader) change(s *history.Series, res *history.Result, c history.Change) stored.Change {
	run := &s.Runs[c.Index]
	return stored.Change{
		Run: esmodel.ChangedRun{ID: run.ID, Name: run.Name, Labels: run.Labels, Start: run.Start,
			Kind: r.Logs.Config.Settings.Kind.String(), Direction: res.Of().Direction},
		Of: esmodel.ChangePoint{Series: s.Name, Metric: res.Metric, Before: c.Before, After: c.After,
			Share: c.Change, Low: c.Low, High: c.High, P: c.P},
		Text: r.sentence(res, c),
	}
}

// page writes the page, with the notes on the runs.
func (r *reader) page(ctx context.Context, all []history.Series, results []history.Result) error {
	if r.es != nil {
		for part := range slices.Chunk(slices.Sorted(maps.Keys(r.seen)), 1000) {
			notes, err := stored.Notes(ctx, r.es, r.Elasticsearch.Prefix, part)
			if err != nil {
				return err
			}
			for i := range all {
				for k := range all[i].Runs {
					run := &all[i].Runs[k]
					for _, n := range notes {
						if n.RunID == run.ID {
							run.Notes = append(run.Notes, history.Note{At: n.At, Text: n.Text})
						}
					}
				}
			}
		}
	}
	f, err := tempfile.CreateAt(r.Page)
	if err != nil {
		return errs.Usagef("--output %s: %v", errs.Printable(r.Page), err)
	}
	out := bufio.NewWriter(f)
	err = history.WritePage(out, all, results, r.Unit)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Publish()
}

func (o *Options) print(u *ui.UI, all []history.Series, results []history.Result) (err error) {
	out := bufio.NewWriter(u.Stdout)
	switch o.Format {
	case "json":
		for i := range results {
			if err = ui.PrintJSON(out, &results[i], ""); err != nil {
				return err
			}
		}
	case "csv":
		err = o.csv(out, results)
	default:
		o.tables(out, all, results)
	}
	return cmp.Or(err, out.Flush())
}

// csv prints a line per run and metric; latencies are in ns.
func (o *Options) csv(out *bufio.Writer, results []history.Result) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"series", "metric", "run", "start", "value", "low", "high", "change", "p"})
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, r := range results {
		for i, p := range r.Runs {
			start, change, chance := "", "", ""
			if p.Start != nil {
				start = p.Start.Format(time.RFC3339Nano)
			}
			for _, c := range r.Changes {
				if c.Index == i {
					change, chance = number(&c.Change), number(&c.P)
				}
			}
			_ = w.Write([]string{render.CSVName(r.Series), r.Metric, render.CSVName(p.ID), start, number(p.Value),
				number(p.Low), number(p.High), change, chance})
		}
	}
	w.Flush()
	return w.Error()
}

// tables prints the changes of each series, and the current level of each metric.
func (o *Options) tables(out *bufio.Writer, all []history.Series, results []history.Result) {
	for i := range all {
		s := &all[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		span := ""
		if first, last := s.Runs[0].Start, s.Runs[len(s.Runs)-1].Start; !s.Unordered {
			span = fmt.Sprintf(", %s to %s", first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
		}
		fmt.Fprintf(out, "%s: %d runs%s\n\n", errs.Printable(s.Name), len(s.Runs), span)
		changes := [][]string{{"run", "start", "name", "metric", "before", "after", "change", "95 % limits", "p"}}
		outliers := [][]string{{"single run", "start", "name", "metric", "value", "level", "off by"}}
		levels := [][]string{{"metric", "runs", "level now", "since run"}}
		for k := range results {
			r := &results[k]
			if r.Series != s.Name {
				continue
			}
			for _, c := range r.Changes {
				changes = append(changes, []string{strconv.Itoa(c.Number), startOf(&r.Runs[c.Index]),
					errs.Printable(cmp.Or(r.Runs[c.Index].Name, c.Run)), r.Metric,
					o.value(r, c.Before), o.value(r, c.After), share(c.Change),
					share(c.Low) + " to " + share(c.High), chance(c.P)})
			}
			for _, c := range r.Outliers {
				p := &r.Runs[c.Index]
				outliers = append(outliers, []string{strconv.Itoa(c.Number), startOf(p),
					errs.Printable(cmp.Or(p.Name, p.ID)), r.Metric, o.value(r, c.Value), o.value(r, c.Level),
					share(c.Change)})
			}
			since, n := 1, 0
			if len(r.Changes) > 0 {
				since = r.Changes[len(r.Changes)-1].Index + 1
			}
			sum := 0.0
			for _, p := range r.Runs[since-1:] {
				if p.Value != nil {
					n++
					sum += math.Log(max(*p.Value, math.SmallestNonzeroFloat64))
				}
			}
			level := "-"
			if n > 0 && r.Of().Name != history.Histogram {
				level = o.value(r, math.Exp(sum/float64(n)))
			}
			levels = append(levels, []string{r.Metric, strconv.Itoa(n), level, strconv.Itoa(since)})
		}
		if len(changes) == 1 {
			fmt.Fprintln(out, "no change points")
		} else {
			o.table(out, changes)
		}
		if len(outliers) > 1 {
			fmt.Fprintln(out)
			o.table(out, outliers)
		}
		fmt.Fprintln(out)
		o.table(out, levels)
	}
}

func (o *Options) table(out *bufio.Writer, rows [][]string) {
	if o.Format == "markdown" {
		rows = slices.Insert(rows, 1, slices.Repeat([]string{"---"}, len(rows[0])))
		for _, row := range rows {
			for i, cell := range row {
				row[i] = render.Markdown(cell)
			}
			fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		}
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() //nolint:errcheck // to a bufio.Writer
}

// startOf returns the start of a run as text.
func startOf(p *history.Point) string {
	if p.Start == nil {
		return "-"
	}
	return p.Start.Format(time.RFC3339)
}

func (o *Options) value(r *history.Result, v float64) string {
	return history.FormatValue(r.Of(), v, o.Unit)
}

func share(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func chance(p float64) string {
	if p < 1e-6 {
		return "< 0.000001"
	}
	return strconv.FormatFloat(p, 'f', 6, 64)
}
