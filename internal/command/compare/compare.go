// Package compare implements fiolat compare: it says whether runs differ.
package compare

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/ui"
)

// ErrFailIf is the error of Run if --fail-if fired.
var ErrFailIf = errors.New("a change is beyond what --fail-if allows")

// Options are the options of fiolat compare.
type Options struct {
	Logs          command.Logs // how to read runs that are logs
	Elasticsearch command.Elasticsearch
	Runs          []string // the baseline first: paths, run.ids or names in Elasticsearch, or NAME=RUN,...
	Baseline      string   // label:KEY=VALUE of the baseline, instead of the first of Runs; "" is none
	FailIf        []compare.Rule
	RunNoise      []compare.RunNoise
	Margin        float64
	Format        string // table, markdown or json
	Unit          string // of latencies in tables: one of render.Units
}

// Run prints how runs differ from the first; the error is ErrFailIf if a rule fired. Of a single group
// it prints how much its runs differ.
func Run(ctx context.Context, o Options, u *ui.UI) (err error) {
	r := reader{Options: &o, runs: command.Reader{Logs: &o.Logs, Elasticsearch: &o.Elasticsearch, UI: u,
		WarnSyncs: true}}
	defer r.runs.Close()
	defer u.Hold()()
	found := comparison{Confidence: compare.Confidence, Comparisons: []*compare.Result{}}
	var baseline *compare.Group
	if o.Baseline != "" {
		return r.againstHistory(ctx, &found)
	}
	for _, argument := range o.Runs { // hold the baseline and one other group: there may be hundreds
		group, bad := r.group(ctx, argument)
		if bad != nil {
			return bad
		}
		if baseline == nil {
			baseline = group
			continue
		}
		if err = found.add(baseline, group, &o); err != nil {
			return err
		}
	}
	if len(o.Runs) == 1 {
		if len(baseline.Runs) == 1 {
			return errs.Usagef("%s holds one run: name the baseline and at least one other run, or a group of "+
				"repeats", errs.Printable(baseline.Name))
		}
		g := &group{}
		if g.Side, g.Rows, g.Notes, err = compare.Spread(baseline, o.Logs.Config.Settings.Percentiles); err != nil {
			return errs.Usagef("%v", err)
		}
		found.Group = g
	}
	return found.print(&o, u)
}

// againstHistory compares each run with the runs before it in a series.
func (r *reader) againstHistory(ctx context.Context, found *comparison) error {
	for _, argument := range r.Runs {
		group, err := r.group(ctx, argument)
		if err != nil {
			return err
		}
		if len(group.Runs) != 1 {
			return errs.Usagef("%s holds %d runs, and --baseline is for one more run of a series",
				errs.Printable(group.Name), len(group.Runs))
		}
		baseline, err := r.since(ctx, r.Baseline, group.Runs[0])
		if err == nil {
			err = found.add(baseline, group, r.Options)
		}
		if err != nil {
			return err
		}
	}
	return found.print(r.Options, r.runs.UI)
}

// print prints what was found; the error is ErrFailIf if a rule fired.
func (c *comparison) print(o *Options, u *ui.UI) (err error) {
	out := bufio.NewWriter(u.Stdout)
	if o.Format == "json" {
		err = ui.PrintJSON(out, c, " ")
	} else {
		p := printer{out: out, markdown: o.Format == "markdown", wanted: o.Unit, u: u}
		p.all(c)
	}
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	if err == nil && slices.ContainsFunc(c.FailIf, func(f compare.Ruling) bool { return f.Failed }) {
		err = ErrFailIf
	}
	return err
}

// comparison is what compare found, as --format json prints it.
type comparison struct {
	Confidence     float64           `json:"confidence"`
	Comparisons    []*compare.Result `json:"comparisons"`
	Group          *group            `json:"group,omitempty"` // of a single argument
	GateConfidence float64           `json:"gate_confidence,omitempty"`
	FailIf         []compare.Ruling  `json:"fail_if,omitempty"`
}

// group says how much the runs of one group differ.
type group struct {
	compare.Side
	Rows  []compare.Noise `json:"rows"`
	Notes []string        `json:"notes,omitempty"`
}

// add compares a group with the baseline, and applies the rules.
func (c *comparison) add(baseline, other *compare.Group, o *Options) error {
	if len(baseline.Runs)+len(other.Runs) > 2 {
		for _, run := range other.Runs {
			if slices.ContainsFunc(baseline.Runs, func(b *compare.Series) bool { return b.ID == run.ID }) {
				return errs.Usagef("%s is in %s and in %s: a run in both makes them look alike",
					errs.Printable(run.Name), errs.Printable(baseline.Name), errs.Printable(other.Name))
			}
		}
	}
	r, err := compare.Compare(baseline, other, compare.Options{
		Percentiles: o.Logs.Config.Settings.Percentiles, Rules: o.FailIf, Margin: o.Margin, RunNoise: o.RunNoise,
		Series: o.Baseline != "",
	})
	if err != nil {
		return errs.Usagef("%v", err)
	}
	c.Comparisons = append(c.Comparisons, r)
	if len(o.FailIf) == 0 {
		return nil
	}
	rulings, err := r.Judge(o.FailIf, o.RunNoise)
	if err != nil {
		return errs.Usagef("%v", err)
	}
	c.GateConfidence = compare.GateConfidence
	c.FailIf = append(c.FailIf, rulings...)
	return nil
}

type printer struct {
	out      *bufio.Writer
	markdown bool
	wanted   string // unit
	unit     string // of the table
	u        *ui.UI
}

func (p *printer) all(c *comparison) {
	for n, result := range c.Comparisons {
		if n > 0 {
			fmt.Fprintln(p.out)
		}
		p.line(result.Caveat)
		p.side("baseline", result.Baseline)
		p.side("run", result.Other)
		var latencies []*float64
		for _, row := range result.Rows {
			if row.Metric != iops {
				latencies = append(latencies, row.Baseline, row.Other)
			}
		}
		p.choose(latencies)
		rows := [][]string{{"direction", "metric", "baseline_" + p.unit, "run_" + p.unit, "change", "95 % limits",
			"run noise", "verdict"}}
		for _, row := range result.Rows {
			rows = append(rows, p.cells(row, result))
		}
		p.table(rows, "---", "---", "---:", "---:", "---:", "---", "---", "---")
		if result.Note != "" {
			fmt.Fprintln(p.out)
			p.line(result.Note)
		}
	}
	if g := c.Group; g != nil {
		p.side("group", g.Side)
		var latencies []*float64
		for _, row := range g.Rows {
			if row.Metric != iops {
				latencies = append(latencies, row.Value)
			}
		}
		p.choose(latencies)
		rows := [][]string{{"direction", "metric", "mean_" + p.unit, "run noise"}}
		for _, row := range g.Rows {
			rows = append(rows, []string{row.Direction, row.Metric, p.value(row.Metric, row.Value),
				compare.NoiseText(row.RunNoise)})
		}
		p.table(rows, "---", "---", "---:", "---:")
		p.line(strings.Join(g.Notes, "\n"))
	}
	for i, f := range c.FailIf {
		if i == 0 {
			fmt.Fprintln(p.out)
		}
		verdict := "not triggered"
		if f.Failed {
			var rows []string
			for _, b := range f.Broken {
				rows = append(rows, fmt.Sprintf("%s %s %s", b.Direction, b.Metric, compare.Percent(b.Change)))
			}
			verdict = p.colour(ui.Bad, "FAILED") + ": " + strings.Join(rows, ", ")
		}
		fmt.Fprintf(p.out, "fail if %s: %s: %s\n", f.Rule, p.name(errs.Printable(f.Run)), verdict)
	}
}

// name escapes a text in which there may be names, in Markdown.
func (p *printer) name(text string) string {
	if p.markdown {
		return render.Markdown(text)
	}
	return text
}

// line prints a line of text, or several.
func (p *printer) line(text string) {
	if text == "" {
		return
	}
	for _, line := range strings.Split(text, "\n") {
		fmt.Fprintln(p.out, p.name(errs.Printable(line)))
		if p.markdown {
			fmt.Fprintln(p.out)
		}
	}
}

func (p *printer) side(is string, of compare.Side) {
	text := fmt.Sprintf("%s: %s, ", is, of.Name)
	if of.Runs > 1 {
		text += fmt.Sprintf("%d runs, ", of.Runs)
	}
	text += fmt.Sprintf("%d intervals of %g s", of.Quanta, of.IntervalMS/1e3)
	if of.Block > 1 {
		text += fmt.Sprintf(", block length %d", of.Block)
	}
	p.line(text)
}

func (p *printer) table(rows [][]string, align ...string) {
	if p.markdown {
		for _, row := range slices.Insert(rows, 1, align) {
			fmt.Fprintf(p.out, "| %s |\n", strings.Join(row, " | "))
		}
		return
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() //nolint:errcheck // to a bufio.Writer
}

// choose sets the unit for a table of these latencies.
func (p *printer) choose(latencies []*float64) {
	var all render.Column
	for _, v := range latencies {
		all.Cells = append(all.Cells, render.Known(v))
	}
	p.unit = all.Unit(p.wanted)
}

const iops = "iops" // the only metric that is no latency

func (p *printer) value(metric string, v *float64) string {
	if v == nil {
		return "-"
	}
	if metric == iops {
		return strconv.FormatFloat(*v, 'f', render.Decimals(*v), 64) + "/s"
	}
	return render.Latency(*v, p.unit)
}

// colour colours a word, except in markdown.
func (p *printer) colour(c ui.Colour, text string) string {
	if p.markdown {
		return text
	}
	return p.u.Print(c, text)
}

func (p *printer) cells(row compare.Row, of *compare.Result) []string {
	words := of.Words(&row)
	worse := map[compare.Verdict]ui.Colour{compare.Higher: ui.Bad, compare.Lower: ui.Good}
	if row.Metric == iops {
		worse = map[compare.Verdict]ui.Colour{compare.Higher: ui.Good, compare.Lower: ui.Bad}
	}
	verdict := string(row.Verdict)
	// colour adds to the width, which does not matter in the last column
	verdict = p.colour(worse[row.Verdict], verdict) + strings.TrimPrefix(words.Verdict, verdict)
	return []string{row.Direction, row.Metric, p.value(row.Metric, row.Baseline), p.value(row.Metric, row.Other),
		words.Change, words.Limits, words.RunNoise, verdict}
}
