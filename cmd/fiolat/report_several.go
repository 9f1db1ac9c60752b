package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fiolat/analysis/compare"
	"fiolat/analysis/curve"
	"fiolat/analysis/diagnose"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/report"
)

// severalRuns checks the flags that are of one run.
func (o *reportOptions) severalRuns(r *runsource.Reader) error {
	if o.kinds {
		return fio.Usagef("--kind: name one kind of latency, for these are several runs")
	}
	if o.logs.Config.RunID != "" {
		return fio.Usagef("--run-id: it is of one run, and these are several")
	}
	if len(o.notes) > 0 {
		return fio.Usagef("--note: it is on one run, and these are several")
	}
	o.logs.Kinds, r.Percentiles = runsource.Kinds{List: o.logs.Kinds.List[:1]}, o.logs.Config.Settings.Percentiles
	return nil
}

// groups writes the page of two groups of runs.
func (o *reportOptions) groups(ctx context.Context, r *runsource.Reader) error {
	if err := o.severalRuns(r); err != nil {
		return err
	}
	if o.picture != nil {
		return fio.Usagef("a picture shows one run or two, not groups: give a file that ends in .html")
	}
	var sides [2][]*runsource.Run
	for i, side := range o.sides {
		for _, member := range side.members {
			for run, err := range r.Find(ctx, member) {
				if err != nil {
					return err
				}
				sides[i] = append(sides[i], run)
			}
		}
		if len(sides[i]) == 0 {
			return fio.Usagef("%s: there is no run", fio.Printable(side.name))
		}
	}
	return o.compare(ctx, sides[:], r.UI)
}

// mostRepeats is how many runs of one setting a page draws over each other.
const mostRepeats = 8

// several writes the page of two runs, the curve of more, or these over each other if they are of one setting.
func (o *reportOptions) several(ctx context.Context, r *runsource.Reader, found []*runsource.Run) error {
	if err := o.severalRuns(r); err != nil {
		return err
	}
	if len(found) == 2 {
		return o.compare(ctx, [][]*runsource.Run{found[:1], found[1:]}, r.UI)
	}
	err := o.curve(ctx, r)
	if !errors.Is(err, curve.ErrOneSetting) {
		return err
	}
	var inputs []*ingest.Input
	for _, run := range found {
		if run.Logs != nil {
			inputs = append(inputs, run.Logs.Inputs[0])
		}
	}
	hint := repeatsHint(found)
	if len(inputs) == len(found) && ingest.MayBeHosts(inputs) {
		hint = "if they are the hosts of one run, pass --hosts-by folder; else " + hint
	}
	if len(found) > mostRepeats || len(o.logs.Paths) < len(found) { // or hosts that are not named
		return fio.Usagef("found %d runs of one setting, and a page shows one run, up to %d that are named, two groups "+
			"or a sweep of settings: %s", len(found), mostRepeats, hint)
	}
	if err = o.compare(ctx, slices.Collect(slices.Chunk(found, 1)), r.UI); err == nil {
		r.UI.Say("info", "%s", hint)
	}
	return err
}

// repeatsHint says which command is for three and more runs of one setting, by what their names differ in.
func repeatsHint(found []*runsource.Run) string {
	var names []string
	for _, run := range found {
		if run.Logs != nil && run.Title == run.Logs.Inputs[0].Root { // other titles are no paths
			names = append(names, run.Title)
		}
	}
	groups := byDigits(names)
	arguments := asTwoGroups(groups)
	switch {
	case len(names) < len(found):
	case arguments != "":
		return "as two groups: `fiolat report " + arguments + "`, or `fiolat compare` with the same"
	case len(groups) == 1:
		one := quoted(pattern(groups[0]))
		return fmt.Sprintf("`fiolat compare %s` says how much repeats differ, `fiolat history %s` when a series changed",
			one, one)
	}
	return "name two groups NAME=RUN,RUN,...; `fiolat compare` says how much repeats differ, `fiolat history` when a " +
		"series changed"
}

// runOnPage is the sink of one of two runs.
type runOnPage struct {
	runsource.Kept
	full diagnose.Full
}

// compare writes the page of two sides, or of more runs, each of which is a side.
func (o *reportOptions) compare(ctx context.Context, found [][]*runsource.Run, u *ui.UI) error {
	var sides []*runOnPage
	var at []int // the side of each run
	for i, runs := range found {
		at = append(at, slices.Repeat([]int{i}, len(runs))...)
	}
	names := make([]string, len(at)) // filled in when the runs were read
	percentiles := o.logs.Config.Settings.Percentiles
	file := newRunsPage(o.file, o.logs.DryRun, names, at, o.picture, func() (*report.Comparison, error) {
		groups := make([]compare.Group, len(found))
		titles := map[string]bool{}
		for i, s := range sides {
			titles[s.Run.Name] = true
			groups[at[i]].Runs = append(groups[at[i]].Runs, &s.Series)
		}
		for i, s := range sides {
			names[i] = s.Name
			if s.Run.Name != "" && len(titles) == len(sides) {
				names[i] = s.Run.Name
			}
		}
		for i := range groups {
			groups[i].Name = groups[i].Runs[0].Name
			if o.sides != nil {
				groups[i].Name = o.sides[i].name
			}
			if err := checkGroup(&groups[i]); err != nil {
				return nil, err
			}
			checkWorkloads(u, []*compare.Group{&groups[i]})
		}
		if len(groups) > 2 {
			return pageRepeats(groups, percentiles)
		}
		if err := checkApart(&groups[0], &groups[1]); err != nil {
			return nil, err
		}
		c, err := pageComparison(&groups[0], &groups[1], percentiles)
		switch {
		case err != nil:
		case o.sides != nil:
			c.Groups = []string{groups[0].Name, groups[1].Name}
		default:
			c.Findings = [][]string{sides[0].full.Diagnosis.Sentences(diagnose.MostShown),
				sides[1].full.Diagnosis.Sentences(diagnose.MostShown)}
		}
		return c, err
	})
	defer file.Discard()
	for i, run := range slices.Concat(found...) {
		s := &runOnPage{Kept: runsource.Kept{Series: compare.Series{Name: run.Title}}}
		sides = append(sides, s)
		if err := run.Process(ctx, pipeline.Tee{s, &s.full, file.Kind(i)}); err != nil {
			return err
		}
	}
	u.PrintHeld()
	if err := file.Publish(); err != nil {
		return err
	}
	for _, s := range sides {
		u.Say("info", "%s:", fio.Printable(s.Name))
		printAccount(u, s.Sum, nil, "")
	}
	o.written(file, u)
	for _, s := range sides {
		if err := failOnSLA(o.logs.FailOnSLA, s.Sum); err != nil {
			return err
		}
	}
	return nil
}

// pageComparison returns what fiolat compare prints of two groups by default.
func pageComparison(a, b *compare.Group, percentiles []float64) (*report.Comparison, error) {
	result, err := compare.Compare(a, b, compare.Options{Percentiles: percentiles, Margin: compare.Margin})
	if err != nil {
		return nil, fio.Usagef("%v", err)
	}
	out := &report.Comparison{Title: "How B differs from A",
		Head: []string{"direction", "metric", "change", "A", "B", "95 % limits", "verdict"}}
	value := func(metric string, v *float64) string {
		if v == nil {
			return "–"
		}
		return fio.Micro(compare.Value(metric, v))
	}
	said, called := map[string]map[compare.Verdict][]string{}, map[compare.Verdict]string{}
	out.Lead = []string{"No metric is certainly higher or lower in B than in A."}
	if _, row := compare.Largest([]*compare.Result{result}); row != nil {
		how := "differs"
		if row.Verdict == compare.Inconclusive {
			how = "perhaps differs"
		}
		out.Measure, out.Direction = row.Metric, row.Direction
		out.Lead[0] = fmt.Sprintf("B %s from A most in %s.", how, result.Sentence(row, value))
	}
	if text := differs(result.Differs); text != "" {
		out.Lead = append(out.Lead, text)
	}
	var directions []string
	rows := slices.Clone(result.Rows)
	slices.SortStableFunc(rows, func(a, b compare.Row) int { return sumLast(a.Direction, b.Direction) })
	for i := range rows {
		row := &rows[i]
		words := result.Words(row)
		out.Rows = append(out.Rows, []string{row.Direction, row.Metric, words.Change, value(row.Metric, row.Baseline),
			value(row.Metric, row.Other), words.Limits, words.Verdict})
		if said[row.Direction] == nil {
			said[row.Direction] = map[compare.Verdict][]string{}
			directions = append(directions, row.Direction)
		}
		called[row.Verdict], _, _ = strings.Cut(words.Verdict, ":")
		text := row.Metric
		if row.Verdict == compare.Higher || row.Verdict == compare.Lower {
			text += " " + words.Certain()
		}
		said[row.Direction][row.Verdict] = append(said[row.Direction][row.Verdict], text)
	}
	for _, direction := range directions {
		var parts []string
		for _, v := range []compare.Verdict{compare.Higher, compare.Lower, compare.Same, compare.Inconclusive} {
			if rows := said[direction][v]; len(rows) > 0 {
				parts = append(parts, fmt.Sprintf("%s: %s", called[v], strings.Join(rows, ", ")))
			}
		}
		out.Sentences = append(out.Sentences, direction+" "+strings.Join(parts, "; ")+".")
	}
	for i := range result.Outliers {
		if s := &result.Outliers[i]; s.Verdict != compare.Inconclusive {
			out.Sentences = append(out.Sentences, s.String()+".")
			out.Lead = append(out.Lead, fio.Micro(s.String())+".")
		}
	}
	for _, text := range append(strings.Split(result.Caveat, "\n"), strings.Split(result.Note, "\n")...) {
		if text != "" {
			out.Sentences = append(out.Sentences, text+".")
		}
	}
	return out, nil
}

// sumLast orders directions by whether they are the sum of all.
func sumLast(a, b string) int {
	return map[bool]int{true: 1}[a == fio.All] - map[bool]int{true: 1}[b == fio.All]
}

// pageRepeats says how much runs of one workload differ.
func pageRepeats(runs []compare.Group, percentiles []float64) (*report.Comparison, error) {
	all := compare.Group{Name: "the page"}
	for i := range runs {
		all.Runs = append(all.Runs, runs[i].Runs...)
	}
	if err := checkGroup(&all); err != nil {
		return nil, err
	}
	_, rows, notes, err := compare.Spread(&all, percentiles)
	if err != nil {
		return nil, fio.Usagef("%v", err)
	}
	out := &report.Comparison{Title: "How much the runs differ", Sentences: notes,
		Head: []string{"direction", "metric", "mean", "run noise"}}
	slices.SortStableFunc(rows, func(a, b compare.Noise) int { return sumLast(a.Direction, b.Direction) })
	var noise []string
	for _, row := range rows {
		out.Rows = append(out.Rows, []string{row.Direction, row.Metric, fio.Micro(compare.Value(row.Metric, row.Value)),
			compare.NoiseText(row.RunNoise)})
		if row.Metric == "p99" && row.RunNoise != nil && row.Direction != fio.All {
			out.Measure = row.Metric
			noise = append(noise, row.Direction+" p99 by "+compare.NoiseText(row.RunNoise))
		}
	}
	lead := fmt.Sprintf("%d runs of one setting", len(runs))
	if all.Runs[0].Sameness == "" {
		lead = fmt.Sprintf("%d runs, of which no options are known,", len(runs))
	}
	if len(noise) > 0 {
		lead += " differ in " + strings.Join(noise, ", ") + " (one standard deviation)"
	}
	out.Lead = []string{strings.TrimSuffix(lead, ",") + "."}
	return out, nil
}

func (o *reportOptions) curve(ctx context.Context, r *runsource.Reader) error {
	settings := &o.logs.Config.Settings
	if len(settings.SLA) > 0 || o.logs.FailOnSLA != "" {
		return fio.Usagef("--sla: rules are judged in a page of one run or of two, and these are more; see fiolat " +
			"curve --at")
	}
	settings.By = []string{fio.ByDirection}
	rows, err := r.SummaryRows(ctx, o.logs.Paths, nil)
	if err != nil {
		return err
	}
	percentiles := []float64{50, 99, 99.9}
	if o.percentiles != nil {
		percentiles = o.percentiles
	}
	c, err := curve.Make(rows, fio.All, percentiles, nil)
	if err != nil {
		return err
	}
	file, err := writeCurve(o.file, o.logs.DryRun, report.Curve{Curve: c, Percentiles: percentiles})
	if err != nil {
		return err
	}
	sayPoints(r.UI, c, rows[0])
	if len(c.Points) == 2 {
		r.UI.Say("info", "fiolat compare says how sure the difference of two settings is, fiolat history when it came")
	}
	for _, note := range c.Notes {
		r.UI.Say("info", "%s", note)
	}
	o.written(file, r.UI)
	return nil
}
