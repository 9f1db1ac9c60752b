package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/history"
	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/report"
	"fiolat/report/render"
)

// errChanged is the error of history if --fail-if-changed fired.
var errChanged = errors.New("there are changes that were not reported before")

// mostRuns limits the length of a series: memory and time grow with its square.
const mostRuns = 3000

type historyOptions struct {
	logs          logOptions // how to read runs that are logs
	es            runsource.Elasticsearch
	named         []string  // paths, run.ids or names in Elasticsearch; none: those of filter
	filter        runFilter // which runs in Elasticsearch
	metrics       []fio.Metric
	whole         bool    // one series
	last          int     // how many runs of each series; 0 is all
	failIfChanged int     // how many of the latest runs are new, if nothing is remembered of a series; 0 is off
	minChange     float64 // the smallest change for failIfChanged, a share
	state         string  // file of the changes reported; "" is none
	store         bool
	alerts        alertOptions
	file          string // for the page; "" is none
	format        string
	unit          string // of latencies in tables
}

func historyCommand(u *ui.UI) *cli.Command {
	o := &historyOptions{}
	return &cli.Command{
		Name: "history",
		// Flags that identify or describe one run, that write, or that choose figures of an interval do not apply.
		Flags: slices.Concat(o.logs.flags(logFlags{without: []string{"by", "fio-json", "dry-run", "run-id", "run-name",
			"label", "part", "sla", "fail-on-sla", "percentiles"}}), esFlags(&o.es), o.filter.flags(),
			o.alerts.flags(), []cli.Flag{
				verboseFlag(), widthFlag(),
				&cli.IntFlag{Name: "last", Destination: &o.last,
					Usage: "the last `N` runs"},
				&cli.BoolFlag{Name: "series", Destination: &o.whole,
					Usage: "one series of all runs, though options change; a change of options is told beside the change point"},
				&cli.GenericFlag{Name: "metric", Value: each(&o.metrics, "--metric ", history.Metrics.Parse),
					Usage: "`METRIC` such as 'read p99', iops or histogram; can be repeated"},
				&cli.IntFlag{Name: "fail-if-changed", Destination: &o.failIfChanged,
					Usage: "exit with 5 for changes not reported before; without --store and --state for those of the last `N` runs"},
				&cli.GenericFlag{Name: "min-change", Value: withDefault("5%", parsed(&o.minChange, "", minChange)),
					Usage: "the smallest change that --fail-if-changed reports, in `PERCENT`"},
				&cli.StringFlag{Name: "state", Destination: &o.state,
					Usage: "`FILE` that remembers what was reported"},
				&cli.BoolFlag{Name: "store", Destination: &o.store,
					Usage: "store changes in Elasticsearch, and remember there what was reported"},
				fileFlag(".csv", isPage, isPicture),
				&cli.GenericFlag{Name: "format", Value: oneFormat(&o.format, "table", "markdown", "csv", "json",
					formatJUnit), Usage: "`FORMAT`: table, markdown, csv, json, or junit: a test case for each metric of " +
					"--fail-if-changed"},
				&cli.GenericFlag{Name: "unit", Value: withDefault("us", oneOf(&o.unit, "unit", render.Units...)),
					Usage: "`UNIT` of latencies in tables: ns, us, ms, s or auto"},
			}),
		Action: answerTo(u, o),
	}
}

// minChange parses --min-change.
func minChange(text string) (float64, error) {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 1000) {
		return 0, fio.Usagef("--min-change %s: want a percentage such as 5%%", fio.Printable(text))
	}
	return percent / 100, nil
}

func (o *historyOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.oneKind(c, bad)
	o.named = o.logs.Paths
	for _, name := range []string{"last", "fail-if-changed"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			bad.Add(fio.Usagef("--%s %d: want a number of runs", name, c.Int(name)))
		}
	}
	if o.format == formatJUnit && o.failIfChanged == 0 {
		bad.Add(fio.Usagef("--format junit: a test case for each metric that is judged: pass --fail-if-changed"))
	}
	if o.state != "" && o.failIfChanged == 0 {
		bad.Add(fio.Usagef("--state is for --fail-if-changed"))
	}
	o.logs.Config.Settings.Percentiles = fio.Defaults().Percentiles // those with limits
	for _, m := range o.metrics {
		if p := m.Percentile; p > 0 && !slices.Contains(o.logs.Config.Settings.Percentiles, p) {
			o.logs.Config.Settings.Percentiles = append(o.logs.Config.Settings.Percentiles, p)
		}
	}
	if len(o.metrics) == 0 {
		o.metrics = history.Defaults
	}
	o.file = drawnFile(c)
	o.alerts.check(c, "fail-if-changed", bad)
	o.filter.check(bad)
	checkES(c, &o.es, bad)
	switch es := len(o.es.Addresses) > 0; {
	case len(o.named) == 0 && !es:
		bad.Add(fio.Usagef("fiolat history: name runs, or pass --es URL"))
	case o.store && (len(o.named) > 0 || !es):
		bad.Add(fio.Usagef("--store is for runs in Elasticsearch that are chosen by --label, --option or time: what " +
			"is stored belongs to such a series"))
	}
	if len(o.named) > 0 && (c.IsSet("label") || c.IsSet("option") || c.IsSet("since") || c.IsSet("until")) {
		bad.Add(fio.Usagef("--label, --option, --since and --until choose among the runs in Elasticsearch, and have " +
			"no meaning for runs that are named"))
	}
}

// run prints the change points of the runs' series; the error is errChanged if --fail-if-changed finds one.
func (o *historyOptions) run(ctx context.Context, u *ui.UI) error {
	u.OnUnread(nil) // end as after other errors
	r := newHistoryReader(o, u)
	defer r.source.Close()
	if err := r.read(ctx); err != nil {
		return err
	}
	if len(r.runs) == 0 && len(r.failed) > 0 {
		return errors.Join(r.failed...)
	}
	if len(r.runs) == 0 {
		return &fio.ParseError{File: "history", Msg: "no complete run was found", Hint: "see fiolat runs"}
	}
	r.sayRolledUp()
	all := history.Split(r.runs)
	if o.whole {
		all = history.One(r.runs)
	}
	var results []history.Result
	for i := range all {
		s := &all[i]
		if s.Since != nil {
			text := fiojson.DifferenceText(s.Since)
			u.Say("warning", "new series since %s: %s", fio.Printable(s.Runs[0].Title()), fio.Printable(text))
			s.Name += " (" + text + ")"
		}
		s.Name = o.series(s.Name)
		if n := len(s.Runs); o.last > 0 && n > o.last {
			s.Runs = s.Runs[n-o.last:]
		}
		if n := len(s.Runs); n > mostRuns {
			return fio.Usagef("%s: %d runs are more than the %d that one series can have: choose some with --last, "+
				"--since or --label", fio.Printable(s.Title()), n, mostRuns)
		}
		if s.Unordered && len(s.Runs) > 1 {
			u.Warn(fio.Printable(s.Title()) + ": when some of its runs began is not known: they are in the order given")
		}
		own := history.Analyse(s, o.metrics)
		if o.failIfChanged > 0 {
			gated := history.Gate(s, o.metrics, o.minChange)
			for k := range gated { // the table has what the gate tells
				own[k].Add(gated[k].Changes)
			}
			r.gated = append(r.gated, gated)
		}
		results = append(results, own...)
	}
	for _, m := range o.metrics {
		if m.Direction != "" && !slices.ContainsFunc(results, func(r history.Result) bool { return r.Of() == m }) {
			return fio.Usagef("--metric %q: no run has such I/O", m.String())
		}
	}
	if err := o.print(u, all, results); err != nil {
		return err
	}
	if o.store {
		if err := r.storeChanges(ctx, all, results); err != nil {
			return err
		}
	}
	if o.file != "" {
		if err := r.writePage(ctx, all, results); err != nil {
			return err
		}
	}
	if err := r.judge(ctx, all, u); err != nil {
		return errors.Join(append(r.failed, err)...)
	}
	return afterPrint(errors.Join(r.failed...))
}

// series returns the full name of a series: the filters that chose its runs, name, and the kind.
func (o *historyOptions) series(name string) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(o.filter.Labels)) {
		words = append(words, k+"="+o.filter.Labels[k])
	}
	for _, k := range slices.Sorted(maps.Keys(o.filter.Options)) {
		words = append(words, k+"="+o.filter.Options[k])
	}
	words = append(words, name)
	if kind := o.logs.Config.Settings.Kind.String(); kind != "clat" {
		words = append(words, "kind="+kind)
	}
	return strings.Join(words, ", ")
}

func (o *historyOptions) sentence(r *history.Result, c history.Change) string {
	p := &r.Runs[c.Index]
	text := fmt.Sprintf("%s %s from run %d (%s) on: %s", r.Metric, share(c.Change), c.Index+1,
		runName(p.Name, p.ID, p.Start), r.Sentence(&c, o.value))
	if c.Options != "" {
		text += "; " + c.Options
	}
	return text
}

func (r *historyReader) storeChanges(ctx context.Context, all []history.Series, results []history.Result) error {
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
	made, deleted, err := stored.StoreChanges(ctx, r.source.Client, r.es.Prefix, metrics, changes)
	if err != nil {
		return err
	}
	r.source.UI.Say("info", "change points: %d stored, %d deleted that no longer hold", made, deleted)
	return nil
}

func (r *historyReader) change(s *history.Series, res *history.Result, c history.Change) stored.Change {
	run := &s.Runs[c.Index]
	return stored.Change{
		Run: esmodel.ChangedRun{ID: run.ID, Name: run.Name, Title: run.Stored, Labels: run.Labels, Start: run.Start,
			Kind: r.logs.Config.Settings.Kind.String(), Direction: res.Of().Direction},
		Of: esmodel.ChangePoint{Series: s.Name, Metric: res.Metric, Before: c.Before, After: c.After,
			Share: c.Change, Low: c.Low, High: c.High, P: c.P},
		Text: r.sentence(res, c),
	}
}

// writePage writes the page or the picture, with the notes on the runs.
func (r *historyReader) writePage(ctx context.Context, all []history.Series, results []history.Result) error {
	if r.source.Client != nil {
		for part := range slices.Chunk(slices.Sorted(maps.Keys(r.seen)), 1000) {
			notes, err := stored.Notes(ctx, r.source.Client, r.es.Prefix, part)
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
	return writeFile(r.file, func(w io.Writer) error {
		return drawInto(r.file, w, func(w io.Writer) error {
			return report.WriteHistory(w, all, results, "fiolat "+versionText())
		}, func(w io.Writer, png bool) error { return report.DrawHistory(w, all, results, png) })
	})
}

func (o *historyOptions) print(u *ui.UI, all []history.Series, results []history.Result) (err error) {
	out := bufio.NewWriter(u.Stdout)
	switch o.format {
	case formatJUnit: // judge prints it
	case "json":
		for i := range results {
			if err = ui.PrintJSON(out, &results[i], ""); err != nil {
				return err
			}
		}
	case "csv":
		err = o.csv(out, results)
	default:
		err = o.tables(out, u, all, results)
	}
	return cmp.Or(err, out.Flush())
}

// csvUnits are the units of the columns of CSV, for metrics that are latencies, rates and shares.
var csvUnits = map[fio.Quantity]string{fio.Nanoseconds: "ns", fio.PerSecond: "per_second", fio.Share: "share"}

// csv prints a line per run and metric. A value and its limits are in the columns of their unit.
func (o *historyOptions) csv(out *bufio.Writer, results []history.Result) error {
	w := csv.NewWriter(out)
	head, at := []string{"series", "metric", "run", "start"}, map[fio.Quantity]int{}
	for i := range results {
		if unit := results[i].Of().Figure().Unit; at[unit] == 0 {
			at[unit] = len(head)
			for _, name := range []string{"value", "lower", "upper"} {
				head = append(head, name+"_"+csvUnits[unit])
			}
		}
	}
	_ = w.Write(append(head, "change", "p"))
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
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
			line := make([]string, len(head))
			copy(line, []string{render.CSVName(r.Series), r.Metric, render.CSVName(p.ID), start})
			copy(line[at[r.Of().Figure().Unit]:], []string{number(p.Value), number(p.Low), number(p.High)})
			_ = w.Write(append(line, change, chance))
		}
	}
	w.Flush()
	return w.Error()
}

// tables prints the changes of each series, and the current level of each metric.
func (o *historyOptions) tables(out *bufio.Writer, u *ui.UI, all []history.Series, results []history.Result) error {
	var bad error
	table := func(head []string, rows [][]string) {
		t := render.Texts(head, rows, "run", "single run", "before", "after", "change", "value", "level", "off by",
			"runs", "level now", "since run")
		bad = errors.Join(bad, t.Print(out, render.Style{Format: o.format, Width: u.TableWidth()}))
	}
	for i := range all {
		s := &all[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		span := ""
		if first, last := s.Runs[0].Start, s.Runs[len(s.Runs)-1].Start; !s.Unordered {
			span = fmt.Sprintf(", %s to %s", first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
		}
		name := fio.Printable(s.Title())
		if o.format == "markdown" {
			name = render.Markdown(name)
		}
		fmt.Fprintf(out, "%s: %s%s\n\n", name, fio.Several(len(s.Runs), "run"), span)
		worse, better := history.Turns(results, s.Name)
		fmt.Fprintf(out, "%s\n\n", fio.Printable(history.Lead(len(s.Runs), worse, better)))
		start := "start"
		if o.format == "table" {
			start = "start (UTC)"
		}
		var changes, outliers, levels [][]string
		var folded []string // in a terminal
		shown := worse
		if o.format == "markdown" {
			shown = slices.Concat(worse, better)
		}
		for _, t := range shown {
			before, after := t.Levels(t.Change, o.value)
			p := &t.Runs[t.Index]
			changes = append(changes, []string{strconv.Itoa(t.Number), o.startOf(p),
				cmp.Or(p.Name, t.Run), t.Metric, before, after, share(t.Change.Change),
				share(t.Low) + " to " + share(t.High), chance(t.P)})
		}
		for _, t := range better[:len(better)-(len(shown)-len(worse))] {
			folded = append(folded, fmt.Sprintf("better from run %d: %s %s", t.Number, t.Metric,
				share(t.Change.Change)))
		}
		head := []string{"metric", "runs", "level now", "since run"}
		noted := slices.ContainsFunc(results, func(r history.Result) bool {
			return r.Series == s.Name && note(&r) != ""
		})
		if noted {
			head = append(head, "percentiles")
		}
		for k := range results {
			r := &results[k]
			if r.Series != s.Name {
				continue
			}
			for _, c := range r.Outliers {
				p := &r.Runs[c.Index]
				if o.format != "markdown" {
					folded = append(folded, fmt.Sprintf("%s alone: %s %s, not %s", cmp.Or(p.Name, p.ID), r.Metric,
						o.value(r.Of(), c.Value), o.value(r.Of(), c.Level)))
					continue
				}
				outliers = append(outliers, []string{strconv.Itoa(c.Number), o.startOf(p),
					cmp.Or(p.Name, p.ID), r.Metric, o.value(r.Of(), c.Value), o.value(r.Of(), c.Level),
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
			level := ""
			if n > 0 && r.Of().Name != fio.Histogram {
				level = o.value(r.Of(), math.Exp(sum/float64(n)))
			}
			row := []string{r.Metric, strconv.Itoa(n), level, strconv.Itoa(since)}
			if noted {
				row = append(row, note(r))
			}
			if o.format == "markdown" || r.Of().Name != fio.Histogram { // which has no level
				levels = append(levels, row)
			}
		}
		if len(changes) > 0 {
			table([]string{"run", start, "name", "metric", "before", "after", "change", "95 % limits", "p"}, changes)
			fmt.Fprintln(out)
		}
		if len(outliers) > 0 {
			table([]string{"single run", start, "name", "metric", "value", "level", "off by"}, outliers)
			fmt.Fprintln(out)
		}
		if len(folded) > 0 {
			fmt.Fprintf(out, "%s\n\n", foldedText(folded))
		}
		if len(levels) > 0 {
			table(head, levels)
		}
	}
	return bad
}

// mostFolded is how many of the folded findings are named.
const mostFolded = 4

// foldedText is the line of improvements and of single runs.
func foldedText(all []string) string {
	n := len(all)
	all = all[:min(n, mostFolded)]
	if n > len(all) {
		all = append(all, fmt.Sprintf("%d more: see --format json", n-len(all)))
	}
	return fio.Printable(strings.Join(all, "; "))
}

// note says in how many runs fio computed the percentile, and in how many it is a lower bound.
func note(r *history.Result) string {
	own, bounds := 0, 0
	for _, p := range r.Runs {
		if p.Own {
			own++
		}
		if p.AtLeast {
			bounds++
		}
	}
	var words []string
	if own > 0 {
		words = append(words, "fio's own in "+fio.Several(own, "run"))
	}
	if bounds > 0 {
		words = append(words, "at least that in "+fio.Several(bounds, "run"))
	}
	return strings.Join(words, ", ")
}

// startOf returns the start of a run as text.
func (o *historyOptions) startOf(p *history.Point) string {
	switch {
	case p.Start == nil:
		return "-"
	case o.format == "table":
		return p.Start.UTC().Format("2006-01-02 15:04")
	}
	return p.Start.Format(time.RFC3339)
}

func (o *historyOptions) value(m fio.Metric, v float64) string {
	return history.FormatValue(m, v, o.unit)
}

func share(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func chance(p float64) string {
	if p < 1e-6 {
		return "< 1e-6"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}
