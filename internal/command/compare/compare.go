// Package compare is fiolat compare: it says whether runs differ.
package compare

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"fiolat/esmodel/stored"

	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// ErrFailIf is a --fail-if that fired.
var ErrFailIf = errors.New("a change is beyond what --fail-if allows")

// Options are what fiolat compare is asked for.
type Options struct {
	Logs          command.Logs // how runs are read that are logs
	Elasticsearch command.Elasticsearch
	Runs          []string // the baseline first: paths, or run.ids or names in Elasticsearch
	FailIf        []compare.Rule
	Format        string // table, markdown or json
	Unit          string // of latencies in tables: ns, us or ms
}

// Run prints how runs differ from the first; the error is ErrFailIf if a rule says so.
func Run(ctx context.Context, o Options, u *ui.UI) (err error) {
	wanted := compare.Percentiles(o.Logs.Config.Settings.Percentiles, o.FailIf)
	report := comparison{Confidence: compare.Confidence, Comparisons: []*compare.Result{}}
	var baseline *compare.Series
	for _, name := range o.Runs { // one run at a time beside the baseline: there may be hundreds
		series := &compare.Series{Name: name}
		if err = o.replay(ctx, u, name, series); err != nil {
			return err
		}
		if baseline == nil {
			baseline = series
			continue
		}
		r, unlike := compare.Compare(baseline, series, wanted)
		if unlike != nil {
			return errs.Usagef("%v", unlike)
		}
		report.Comparisons = append(report.Comparisons, r)
	}
	if err = report.judge(o.FailIf); err != nil {
		return err
	}
	out := bufio.NewWriter(u.Stdout)
	switch o.Format {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", " ")
		err = enc.Encode(report)
	default:
		report.print(out, o.Format == "markdown", o.Unit)
	}
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	if err == nil && report.failed() {
		err = ErrFailIf
	}
	return err
}

// comparison is what compare found, as --format json prints it.
type comparison struct {
	Confidence  float64           `json:"confidence"`
	Comparisons []*compare.Result `json:"comparisons"`
	FailIf      []ruling          `json:"fail_if,omitempty"`
}

// ruling is what a rule says of one comparison.
type ruling struct {
	Rule   string        `json:"rule"`
	Run    string        `json:"run"`
	Failed bool          `json:"failed"`
	Broken []compare.Row `json:"broken,omitempty"`
}

// judge applies the rules. One that finds nothing to check is an error: it would
// never fire.
func (r *comparison) judge(rules []compare.Rule) error {
	for _, result := range r.Comparisons {
		for _, rule := range rules {
			broken, checked := rule.Broken(result)
			if !checked {
				return pipeline.Usage("--fail-if %q: %s and %s do not both have such I/O", rule.Text,
					errs.Printable(result.Baseline.Name), errs.Printable(result.Other.Name))
			}
			r.FailIf = append(r.FailIf, ruling{rule.Text, result.Other.Name, len(broken) > 0, broken})
		}
	}
	return nil
}

func (r *comparison) failed() bool {
	return slices.ContainsFunc(r.FailIf, func(f ruling) bool { return f.Failed })
}

// print prints tables for people.
func (r *comparison) print(out *bufio.Writer, markdown bool, unit string) {
	for n, result := range r.Comparisons {
		if n > 0 {
			fmt.Fprintln(out)
		}
		for _, side := range []struct {
			is string
			of compare.Side
		}{{"baseline", result.Baseline}, {"run", result.Other}} {
			fmt.Fprintf(out, "%s: %s, %d intervals of %g s", side.is, errs.Printable(side.of.Name), side.of.Quanta,
				side.of.IntervalMS/1e3)
			if side.of.Block > 1 {
				fmt.Fprintf(out, " that hang together in %d", side.of.Block)
			}
			fmt.Fprintln(out)
			if markdown {
				fmt.Fprintln(out)
			}
		}
		rows := [][]string{{"direction", "metric", "baseline", "run", "change", "95 % limits", "verdict"}}
		for _, row := range result.Rows {
			rows = append(rows, cells(row, unit))
		}
		if markdown {
			rows = slices.Insert(rows, 1, []string{"---", "---", "---:", "---:", "---:", "---", "---"})
			for _, row := range rows {
				fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
			}
		} else {
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			for _, row := range rows {
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
			w.Flush() //nolint:errcheck // to a bufio.Writer
		}
		if result.Note != "" {
			fmt.Fprintf(out, "\n%s\n", errs.Printable(result.Note))
		}
	}
	for i, f := range r.FailIf {
		if i == 0 {
			fmt.Fprintln(out)
		}
		verdict := "holds not"
		if f.Failed {
			var rows []string
			for _, b := range f.Broken {
				rows = append(rows, fmt.Sprintf("%s %s %s", b.Direction, b.Metric, percent(b.Change)))
			}
			verdict = "FAILED: " + strings.Join(rows, ", ")
		}
		fmt.Fprintf(out, "fail if %s: %s: %s\n", f.Rule, errs.Printable(f.Run), verdict)
	}
}

// cells are a row in words.
func cells(row compare.Row, unit string) []string {
	value := func(v *float64) string {
		if v == nil {
			return "-"
		}
		if row.Metric == "iops" {
			return strconv.FormatFloat(*v, 'f', render.Decimals(*v), 64) + "/s"
		}
		x := *v / render.Divisors[unit]
		return strconv.FormatFloat(x, 'f', render.Decimals(x), 64) + " " + unit
	}
	limits := "-"
	if row.Low != nil {
		limits = percent(row.Low) + " to " + percent(row.High)
		if *row.High > 10 { // how much more says nothing
			limits = percent(row.Low) + " to over +1000 %"
		}
	}
	verdict := string(row.Verdict)
	if row.AtLeast {
		verdict = "cannot tell: beyond fio's last bucket"
	}
	return []string{row.Direction, row.Metric, value(row.Baseline), value(row.Other), percent(row.Change), limits,
		verdict}
}

// percent is a share as people write a change.
func percent(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", *v*100)
}

// replay reads a run from logs, from a directory of documents, or from
// Elasticsearch into a sink.
func (o *Options) replay(ctx context.Context, u *ui.UI, name string, sink pipeline.Sink) error {
	logs := o.Logs
	logs.Paths = []string{name}
	cfg := logs.Pipeline(u)
	replayed := func(r *pipeline.Replay, err error) error {
		if err == nil {
			_, err = r.Process(ctx, pipeline.ReplayOptions{Percentiles: cfg.Settings.Percentiles, Workers: cfg.Workers},
				sink)
		}
		return err
	}
	prefix := o.Elasticsearch.Prefix
	switch command.Locate(name) {
	case command.InDirectory:
		return replayed(stored.OpenDir(name, "", cfg.Settings.Kind))
	case command.Stored:
		if len(o.Elasticsearch.Addresses) == 0 {
			return errs.Usagef("%s: no such file or directory, and no Elasticsearch to find a run of that id or name "+
				"in: pass --es URL", errs.Printable(name))
		}
		client, err := o.Elasticsearch.Connect(u)
		if err != nil {
			return err
		}
		defer client.Close()
		run, err := stored.FindRun(ctx, client, prefix, name)
		if err != nil {
			return err
		}
		return replayed(stored.Open(ctx, client, prefix, run.Run.ID, cfg.Settings.Kind))
	}
	runs, err := logs.Discover(u, cfg.Settings.Kind, false)
	if err != nil {
		return err
	}
	if len(runs) > 1 {
		return errs.Usagef("%s holds %d runs: name one of %s", errs.Printable(name), len(runs), command.Roots(runs))
	}
	cfg.Progress = u.Progress(command.Size(runs), "reading "+errs.Printable(name))
	defer u.ProgressDone()
	plan, err := pipeline.Prepare(ctx, runs[0], cfg)
	if err != nil {
		return err
	}
	defer plan.Close()
	_, err = plan.Process(ctx, sink)
	return err
}
