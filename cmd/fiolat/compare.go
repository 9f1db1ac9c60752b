package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/compare"
	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/report"
	"fiolat/report/render"
)

// errFailIf is the error of compare if --fail-if fired.
var errFailIf = errors.New("a change is beyond what --fail-if allows")

// errUndecided is the error of compare if --fail-if can neither fire nor hold.
var errUndecided = fio.Usagef("--fail-if is undecided: alternate the runs (ABAB), or pass --steady if the machine " +
	"does not drift")

type compareOptions struct {
	logs     logOptions // how to read runs that are logs
	es       runsource.Elasticsearch
	runs     []string // the baseline first: paths, run.ids or names in Elasticsearch, or NAME=RUN,...
	baseline string   // label:KEY=VALUE of the baseline, instead of the first of runs; "" is none
	failIf   []compare.Rule
	runNoise []compare.RunNoise
	margin   float64
	steady   bool
	by       string   // run, host or job
	shown    []string // metrics in tables without rules; nil for all
	all      bool
	alerts   alertOptions
	format   string
	unit     string // of latencies in tables
	page     string // file for the page, "" for none
}

func compareCommand(u *ui.UI) *cli.Command {
	o := &compareOptions{}
	return &cli.Command{
		Name: "compare",
		// Flags that identify or describe one run, or that write, do not apply.
		Flags: append(slices.Concat(o.logs.flags(logFlags{without: []string{"by", "fio-json", "dry-run", "run-id",
			"run-name", "label", "part", "sla", "fail-on-sla"}}), pickFlags(&o.logs.Config.Pick, false),
			esFlags(&o.es), o.alerts.flags()), verboseFlag(), widthFlag(),
			&cli.GenericFlag{Name: "fail-if", Value: each(&o.failIf, "--fail-if ", compare.ParseRule),
				Usage: "exit with 5 if a change certainly exceeds `RULE`, such as 'read p99 +10%' or 'iops -5%'"},
			&cli.StringFlag{Name: "baseline", Destination: &o.baseline,
				Usage: "compare with the runs that `label:KEY=VALUE` names: of the same workload, before, since the last change"},
			&cli.GenericFlag{Name: "run-noise", Value: each(&o.runNoise, "--run-noise ", compare.ParseRunNoise),
				Usage: "spread of repeats where there are too few, `[METRIC=]P%[/RUNS]` such as 4%; fiolat compare GROUP " +
					"prints it"},
			&cli.GenericFlag{Name: "margin",
				Value: withDefault("5%", parsed(&o.margin, "--margin: ", compare.ParsePercent)),
				Usage: "a change within `P%` is called same"},
			&cli.BoolFlag{Name: "steady", Destination: &o.steady,
				Usage: "take the machine as steady: for groups that were not alternated, as before and after an update"},
			&cli.GenericFlag{Name: "by", Value: oneOf(&o.by, "by", fio.RunScope, fio.ByHost, fio.ByJob),
				Usage: "`WHAT`: run, or a table for each host or job"},
			&cli.BoolFlag{Name: "all", Destination: &o.all,
				Usage: "all rows in tables, not only those of the rules, those that certainly differ, or p50, p99 and IOPS"},
			&cli.GenericFlag{Name: "format", Value: oneFormat(&o.format, "table", "markdown", "json",
				formatJUnit),
				Usage: "`FORMAT`: table, markdown, json, or junit: a test case for each rule of --fail-if"},
			&cli.GenericFlag{Name: "unit", Value: withDefault("auto", oneOf(&o.unit, "unit", render.Units...)),
				Usage: "`UNIT` of latencies, except in json: ns, us, ms, s or auto"},
			fileFlag(".json", isPage),
		),
		Action: answerTo(u, o),
	}
}

func (o *compareOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.oneKind(c, bad)
	o.page = drawnFile(c)
	o.runs = o.logs.Paths
	if len(o.runs) == 0 || len(o.runs) == 1 && c.IsSet("fail-if") && o.baseline == "" {
		bad.Add(fio.Usagef("fiolat compare: name the baseline and at least one other run"))
	}
	if o.baseline == "" {
		bad.Add(twoGlobs(o.runs))
	}
	if o.by != fio.RunScope && (len(o.runs) == 1 || o.baseline != "") {
		bad.Add(fio.Usagef("--by %s compares two runs: name the baseline and another run, without --baseline", o.by))
	}
	if o.format == formatJUnit && len(o.failIf) == 0 {
		bad.Add(fio.Usagef("--format junit: a test case for each rule: pass --fail-if"))
	}
	o.logs.Config.Settings.By = []string{fio.ByDirection}
	if o.by != fio.RunScope {
		o.logs.Config.Settings.By = []string{o.by, fio.ByDirection}
	}
	o.shown = []string{"p50", "p99", "iops"}
	if c.IsSet("percentiles") {
		o.shown = nil
	}
	o.alerts.check(c, "fail-if", bad)
	for _, p := range o.logs.Config.Settings.Percentiles {
		if p <= 0 || p >= 100 {
			bad.Add(fio.Usagef("--percentiles %g: the smallest and the largest of all latencies depend on the "+
				"length of the run, and cannot be compared", p))
		}
	}
	checkES(c, &o.es, bad)
}

// digits are what names of repeats differ in.
var digits = regexp.MustCompile(`[0-9]+`)

// byDigits divides runs into those whose names differ in digits only, as those of repeats do.
func byDigits(runs []string) (groups [][]string) {
	index := map[string]int{}
	for _, run := range runs {
		run = filepath.Clean(run)
		name := digits.ReplaceAllString(run, "0")
		i, ok := index[name]
		if !ok {
			i, groups = len(groups), append(groups, nil)
			index[name] = i
		}
		groups[i] = append(groups[i], run)
	}
	return groups
}

// asTwoGroups returns the arguments that name runs as two groups of repeats, "" if they are not two.
func asTwoGroups(groups [][]string) string {
	if len(groups) != 2 || len(groups[0]) < 2 || len(groups[1]) < 2 {
		return ""
	}
	return quoted("before="+pattern(groups[0])) + " " + quoted("after="+pattern(groups[1]))
}

// twoGlobs returns an error if runs are those of two groups, as a shell makes them of two patterns: each would be
// compared with the first.
func twoGlobs(runs []string) error {
	groups := byDigits(runs)
	arguments := asTwoGroups(groups)
	if arguments == "" {
		return nil
	}
	return fio.Usagef("fiolat compare: these are %d and %d runs of two groups; name the groups and quote the patterns: "+
		"fiolat compare %s", len(groups[0]), len(groups[1]), arguments)
}

// pattern returns the pattern of names that differ in digits only, with * for those numbers that are not the same in
// all.
func pattern(names []string) string {
	first := digits.FindAllStringIndex(names[0], -1)
	var out strings.Builder
	at := 0
	for i, span := range first {
		out.WriteString(names[0][at:span[0]])
		at = span[1]
		if slices.ContainsFunc(names, func(name string) bool {
			of := digits.FindAllString(name, -1)
			return i >= len(of) || of[i] != names[0][span[0]:span[1]]
		}) {
			out.WriteString("*")
		} else {
			out.WriteString(names[0][span[0]:span[1]])
		}
	}
	return out.String() + names[0][at:]
}

// run prints how runs differ from the first; the error is errFailIf if a rule fired. Of a single group
// it prints how much its runs differ.
func (o *compareOptions) run(ctx context.Context, u *ui.UI) (err error) {
	r := groupReader{compareOptions: o, runs: runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u,
		Percentiles: o.logs.Config.Settings.Percentiles, By: o.logs.Config.Settings.By, WarnSyncs: true,
		WarnFormats: true}}
	defer r.runs.Close()
	if slices.ContainsFunc(o.failIf, func(rule compare.Rule) bool { return rule.Latency() }) {
		r.runs.Rule = "--fail-if"
	}
	found := compareFound{Confidence: compare.Confidence, Comparisons: []*compare.Result{}}
	var baseline []*compare.Group
	if o.baseline != "" {
		return r.againstHistory(ctx, &found)
	}
	for _, argument := range o.runs { // hold the baseline and one other group: there may be hundreds
		group, bad := r.group(ctx, argument)
		if bad != nil {
			return bad
		}
		if baseline == nil {
			baseline = group
			continue
		}
		if err = found.addAll(baseline, group, o, u); err != nil {
			return err
		}
	}
	if len(o.runs) == 1 {
		if len(baseline[0].Runs) == 1 {
			return fio.Usagef("%s holds one run: name the baseline and at least one other run, or a group of "+
				"repeats", fio.Printable(baseline[0].Name))
		}
		checkWorkloads(u, baseline)
		g := &groupSpread{}
		if g.Side, g.Rows, g.Notes, err = compare.Spread(baseline[0], o.logs.Config.Settings.Percentiles); err != nil {
			return fio.Usagef("%v", err)
		}
		found.Group = g
	}
	return found.print(o, u)
}

// againstHistory compares each run with the runs before it in a series.
func (r *groupReader) againstHistory(ctx context.Context, found *compareFound) error {
	for _, argument := range r.compareOptions.runs {
		groups, err := r.group(ctx, argument)
		if err != nil {
			return err
		}
		group := groups[0] // of the whole run: --by is refused beside --baseline
		if len(group.Runs) != 1 {
			return fio.Usagef("%s holds %d runs, and --baseline is for one more run of a series",
				fio.Printable(group.Name), len(group.Runs))
		}
		baseline, err := r.since(ctx, r.baseline, group.Runs[0])
		if err == nil {
			err = found.addAll([]*compare.Group{baseline}, groups, r.compareOptions, r.runs.UI)
		}
		if err != nil {
			return err
		}
	}
	return found.print(r.compareOptions, r.runs.UI)
}

// print prints what was found; the error is errFailIf if a rule fired, else errUndecided if one is undecided.
func (c *compareFound) print(o *compareOptions, u *ui.UI) (err error) {
	out := bufio.NewWriter(u.Stdout)
	switch o.format {
	case "json":
		err = ui.PrintJSON(out, c, " ")
	case formatJUnit:
		suite := &junitSuite{Name: "fiolat compare"}
		for _, f := range c.FailIf {
			why := f.Undecided
			if f.Failed {
				why = "FAILED: " + brokenRows(f, ", ")
			}
			suite.add(judged(f), "fail if "+f.Rule, why, f.Undecided != "")
		}
		err = suite.write(out)
	default:
		p := comparePrinter{out: out, markdown: o.format == "markdown", o: o, u: u}
		p.all(c)
	}
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	if err == nil && o.page != "" {
		err = c.draw(o)
	}
	var failed alerts
	for _, f := range c.FailIf {
		if f.Failed {
			failed.add(judged(f), failedAlert(f))
		}
	}
	switch {
	case err != nil:
	case len(failed) > 0:
		return afterPrint(errors.Join(errFailIf, o.alerts.send(u, failed)))
	case slices.ContainsFunc(c.FailIf, func(f compare.Ruling) bool { return f.Undecided != "" }):
		return afterPrint(errUndecided)
	}
	return err
}

// draw writes what was found as a page.
func (c *compareFound) draw(o *compareOptions) error {
	if len(c.Comparisons) == 0 {
		return fio.Usagef("--output %s: a page shows by how much runs differ from a baseline, and there is one group",
			fio.Printable(o.page))
	}
	drawn := report.Differences{Each: "a comparison", Results: c.Comparisons, Metrics: o.shown,
		Generator: "fiolat " + versionText()}
	if o.by != fio.RunScope {
		drawn.Each = "a " + o.by
	}
	if drawn.Metrics == nil {
		for _, row := range c.Comparisons[0].Rows {
			if !slices.Contains(drawn.Metrics, row.Metric) {
				drawn.Metrics = append(drawn.Metrics, row.Metric)
			}
		}
	}
	for _, m := range c.Most {
		drawn.Lead = append(drawn.Lead, m.sentence())
	}
	if c.Most == nil && len(c.Comparisons) == 1 {
		drawn.Lead = []string{c.Comparisons[0].Lead()}
	}
	drawn.Rows = func(r *compare.Result) [][]string {
		rows := [][]string{{"direction", "metric", "baseline", "other", "change", limits(r.Rows), "run noise",
			"verdict"}}
		for i := range r.Rows {
			row := &r.Rows[i]
			words := r.Words(row)
			rows = append(rows, []string{row.Direction, row.Metric, fio.Micro(compare.Value(row.Metric, row.Baseline)),
				fio.Micro(compare.Value(row.Metric, row.Other)), words.Change, words.Limits, words.RunNoise,
				words.Verdict})
		}
		return rows
	}
	return writeFile(o.page, drawn.Write)
}

// judged names the run, or the host or job of it, that a rule is about.
func judged(f compare.Ruling) string {
	if of := part(f.Host, f.Job); of != "" {
		return fio.Printable(f.Run) + ", " + fio.Printable(of)
	}
	return fio.Printable(f.Run)
}

// part names a host or a job, "" without both.
func part(host, job string) string {
	switch {
	case host != "":
		return "host " + host
	case job != "":
		return "job " + job
	}
	return ""
}

// brokenRows names the rows that break a rule, and by how much.
func brokenRows(f compare.Ruling, between string) string {
	var rows []string
	for _, b := range f.Broken {
		if b.Change == nil { // from none to some
			rows = append(rows, fmt.Sprintf("%s %s %.0f -> %.0f", b.Direction, b.Metric, *b.Baseline, *b.Other))
			continue
		}
		rows = append(rows, fmt.Sprintf("%s %s %s", b.Direction, b.Metric, compare.Percent(b.Change)))
	}
	return strings.Join(rows, between)
}

// failedAlert returns the alert of a change beyond --fail-if.
func failedAlert(f compare.Ruling) finding {
	text := fmt.Sprintf("%s: fail if %s; %s", judged(f), f.Rule, brokenRows(f, "; "))
	doc := esmodel.MustJSON(struct {
		Message string `json:"message"`
		compare.Ruling
	}{text, f})
	sum := sha256.Sum256(doc)
	return finding{hex.EncodeToString(sum[:8]), text, doc}
}

// compareFound is what compare found, as --format json prints it.
type compareFound struct {
	Confidence     float64           `json:"confidence"`
	Comparisons    []*compare.Result `json:"comparisons"`
	Most           []mostChanged     `json:"changed_most,omitempty"` // of each other run, with --by
	Group          *groupSpread      `json:"group,omitempty"`        // of a single argument
	GateConfidence float64           `json:"gate_confidence,omitempty"`
	FailIf         []compare.Ruling  `json:"fail_if,omitempty"`
}

// mostChanged is the host or job that differs most from the baseline's.
type mostChanged struct {
	Run       string `json:"run"`
	Host      string `json:"host,omitempty"`
	Job       string `json:"job,omitempty"`
	Direction string `json:"direction"`
	Metric    string `json:"metric"`
	Certain   bool   `json:"certain"`
	Text      string `json:"text"`
}

func (m *mostChanged) sentence() string {
	certain := ""
	if !m.Certain {
		certain = ", not for certain"
	}
	return fmt.Sprintf("changed most in %s%s: %s: %s", m.Run, certain, part(m.Host, m.Job), m.Text)
}

// groupSpread says how much the runs of one group differ.
type groupSpread struct {
	compare.Side
	Rows  []compare.Noise `json:"rows"`
	Notes []string        `json:"notes,omitempty"`
}

// checkApart refuses a run that is on both sides, unless it is all of both.
func checkApart(baseline, other *compare.Group) error {
	if len(baseline.Runs)+len(other.Runs) > 2 {
		for _, run := range other.Runs {
			if slices.ContainsFunc(baseline.Runs, func(b *compare.Series) bool { return b.ID == run.ID }) {
				return fio.Usagef("%s is in %s and in %s: a run in both makes them look alike",
					fio.Printable(run.Name), fio.Printable(baseline.Name), fio.Printable(other.Name))
			}
		}
	}
	return nil
}

// addAll compares an argument with the baseline, each host or job with itself, and applies the rules.
func (c *compareFound) addAll(baseline, other []*compare.Group, o *compareOptions, u *ui.UI) error {
	if err := checkApart(baseline[0], other[0]); err != nil {
		return err
	}
	pairs := tests(baseline, other, u)
	if len(pairs) > 0 {
		return c.addPairs(pairs, o)
	}
	checkWorkloads(u, baseline, other)
	same := func(g *compare.Group) func(*compare.Group) bool {
		return func(o *compare.Group) bool { return o.Of == g.Of }
	}
	only := func(g *compare.Group) {
		u.Warn(fmt.Sprintf("left out: %s %q is only in %s", o.by, g.Of.Of(o.by), fio.Printable(g.Name)))
	}
	for _, b := range baseline {
		if i := slices.IndexFunc(other, same(b)); i >= 0 {
			pairs = append(pairs, [2]*compare.Group{b, other[i]})
		} else {
			only(b)
		}
	}
	for _, g := range other {
		if !slices.ContainsFunc(baseline, same(g)) {
			only(g)
		}
	}
	if len(pairs) == 0 {
		return fio.Usagef("%s and %s have no %s in common", fio.Printable(baseline[0].Name),
			fio.Printable(other[0].Name), o.by)
	}
	return c.addPairs(pairs, o)
}

// addPairs compares pairs of groups, and applies the rules.
func (c *compareFound) addPairs(pairs [][2]*compare.Group, o *compareOptions) error {
	from, first := len(c.FailIf), len(c.Comparisons)
	for _, p := range pairs {
		if err := c.add(p[0], p[1], o, len(pairs)); err != nil {
			return err
		}
	}
	if o.by != fio.RunScope {
		if r, row := compare.Largest(c.Comparisons[first:]); row != nil {
			c.Most = append(c.Most, mostChanged{r.Other.Name, r.Host, r.Job, row.Direction, row.Metric,
				r.Certain(row), r.Sentence(row, compare.Value)})
		}
	}
	for _, rule := range o.failIf { // one that applies to nothing could never be broken
		if !slices.ContainsFunc(c.FailIf[from:], func(f compare.Ruling) bool { return f.Rule == rule.Text }) {
			return fio.Usagef("--fail-if %q: %s or %s has no I/O that this rule applies to", rule.Text,
				fio.Printable(pairs[0][0].Name), fio.Printable(pairs[0][1].Name))
		}
	}
	return nil
}

// tests pairs the runs of two arguments that each hold several tests: by what they measure and, where several runs
// measure the same and have names that both sides have, by name. It returns none for repeats of one workload.
func tests(baseline, other []*compare.Group, u *ui.UI) (pairs [][2]*compare.Group) {
	if len(baseline) != 1 || len(other) != 1 || baseline[0].Of != (fio.Dims{}) {
		return nil
	}
	// Where an option that is the same in all runs of a side differs between the sides, the few that make a workload's
	// name pair the tests.
	for _, of := range []func(*compare.Series) string{
		func(run *compare.Series) string { return cmp.Or(string(run.Sameness), run.Workload) },
		func(run *compare.Series) string { return run.Workload },
	} {
		by := division{workload: of, sides: [2]*compare.Group{baseline[0], other[0]}}
		pairs = by.pairs(u)
		if pairs != nil {
			return pairs
		}
	}
	return nil
}

// division divides the runs of two sides into tests.
type division struct {
	workload func(*compare.Series) string
	sides    [2]*compare.Group
}

// test is what the runs of a group have in common.
type test struct{ workload, name string }

func (by *division) testOf(g *compare.Group) test {
	t := test{workload: by.workload(g.Runs[0])}
	if g.ByName {
		t.name = filepath.Base(g.Runs[0].Name)
	}
	return t
}

// pairs returns the tests of both sides, and names the others; nil if there is one test, or no pair.
func (by *division) pairs(u *ui.UI) (pairs [][2]*compare.Group) {
	before, after := by.tests(0), by.tests(1)
	if len(before) < 2 && len(after) < 2 {
		return nil
	}
	of := func(g *compare.Group, groups []*compare.Group) *compare.Group {
		i := slices.IndexFunc(groups, func(o *compare.Group) bool { return by.testOf(o) == by.testOf(g) })
		if i < 0 {
			return nil
		}
		return groups[i]
	}
	for _, b := range before {
		if a := of(b, after); a != nil {
			pairs = append(pairs, [2]*compare.Group{b, a})
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	for side, groups := range [][]*compare.Group{before, after} {
		for _, g := range groups {
			if of(g, [][]*compare.Group{after, before}[side]) == nil {
				u.Warn(fmt.Sprintf("left out: %s: %s has no run of its workload and name", fio.Printable(g.Name),
					fio.Printable(by.sides[1-side].Name)))
			}
		}
	}
	return pairs
}

// names returns the names of a side's runs of a workload.
func (by *division) names(side int, workload string) (names []string) {
	for _, run := range by.sides[side].Runs {
		if by.workload(run) == workload {
			names = append(names, filepath.Base(run.Name))
		}
	}
	slices.Sort(names)
	return names
}

// tests divides a side by workload, and runs of a workload by name if each name is once in both sides, and they differ
// in more than digits, as those of repeats do.
func (by *division) tests(side int) (out []*compare.Group) {
	for _, run := range by.sides[side].Runs {
		own, theirs := by.names(side, by.workload(run)), by.names(1-side, by.workload(run))
		byName := len(own) > 1 && slices.Equal(own, theirs) && len(slices.Compact(theirs)) == len(own) && !numbered(own)
		one := &compare.Group{Name: run.Name, Runs: []*compare.Series{run}, ByName: byName}
		i := slices.IndexFunc(out, func(o *compare.Group) bool { return by.testOf(o) == by.testOf(one) })
		if i < 0 {
			out = append(out, one)
			continue
		}
		out[i].Runs = append(out[i].Runs, run)
		out[i].Name = fmt.Sprintf("%s, %s", by.sides[side].Name, run.Workload)
	}
	return out
}

// numbered reports whether names differ in digits only.
func numbered(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return digits.ReplaceAllString(name, "0") != digits.ReplaceAllString(names[0], "0")
	})
}

// add compares a group with the baseline, in one of several tables, and applies the rules.
func (c *compareFound) add(baseline, other *compare.Group, o *compareOptions, tables int) error {
	if err := checkApart(baseline, other); err != nil {
		return err
	}
	options := compare.Options{Percentiles: o.logs.Config.Settings.Percentiles, Rules: o.failIf, Margin: o.margin,
		RunNoise: o.runNoise, Series: o.baseline != "", Steady: o.steady, Tables: tables}
	r, err := compare.Compare(baseline, other, options)
	if err != nil {
		return fio.Usagef("%v", err)
	}
	c.Comparisons = append(c.Comparisons, r)
	if len(o.failIf) == 0 {
		return nil
	}
	rulings, err := r.Judge(o.failIf, options)
	if err != nil {
		return fio.Usagef("%v", err)
	}
	c.GateConfidence = compare.GateConfidence
	c.FailIf = append(c.FailIf, rulings...)
	return nil
}

type comparePrinter struct {
	out      *bufio.Writer
	markdown bool
	o        *compareOptions
	unit     string // of the table
	u        *ui.UI
}

func (p *comparePrinter) all(c *compareFound) {
	for n, m := range c.Most {
		p.line(m.sentence())
		if n == len(c.Most)-1 && !p.markdown {
			fmt.Fprintln(p.out)
		}
	}
	for n, result := range c.Comparisons {
		if n > 0 {
			fmt.Fprintln(p.out)
		}
		if of := part(result.Host, result.Job); of != "" {
			p.line(strings.Replace(of, " ", ": ", 1))
		}
		if !p.markdown {
			p.line(result.Lead())
		}
		p.line(result.Caveat)
		p.side("baseline", result.Baseline)
		p.side("run", result.Other)
		p.line(differs(result.Differs))
		var latencies []*float64
		shown := p.shown(result, len(c.FailIf) > 0)
		for _, row := range shown {
			if fio.FigureOf(row.Metric).Unit == fio.Nanoseconds {
				latencies = append(latencies, row.Baseline, row.Other)
			}
		}
		p.choose(latencies)
		if len(shown) > 0 {
			p.rows(shown, result)
		}
		p.line(p.notShown(result, shown))
		ruled := slices.ContainsFunc(p.o.failIf, func(r compare.Rule) bool { return r.Outliers })
		for i := range result.Outliers {
			if s := &result.Outliers[i]; p.o.all || ruled || s.Verdict != compare.Inconclusive {
				p.line(s.String())
			}
		}
		if result.Note != "" {
			fmt.Fprintln(p.out)
			p.line(result.Note)
		}
	}
	if g := c.Group; g != nil {
		p.side("group", g.Side)
		var latencies []*float64
		for _, row := range g.Rows {
			if fio.FigureOf(row.Metric).Unit == fio.Nanoseconds {
				latencies = append(latencies, row.Value)
			}
		}
		p.choose(latencies)
		t := &render.Table[compare.Noise]{Rows: g.Rows}
		t.Text("direction", func(r *compare.Noise) string { return r.Direction })
		t.Text("metric", func(r *compare.Noise) string { return r.Metric })
		t.Text("mean_"+p.unit, func(r *compare.Noise) string { return p.value(r.Metric, r.Value) }).Right = true
		t.Text("run noise", func(r *compare.Noise) string { return compare.NoiseText(r.RunNoise) }).Right = true
		t.Print(p.out, p.style()) //nolint:errcheck // to a bufio.Writer
		p.line(strings.Join(g.Notes, "\n"))
	}
	for i, f := range c.FailIf {
		if i == 0 {
			fmt.Fprintln(p.out)
		}
		verdict := "not triggered"
		switch {
		case f.Undecided != "":
			verdict = p.colour(ui.Bad, "UNDECIDED") + ": " + f.Undecided
		case f.Failed:
			verdict = p.colour(ui.Bad, "FAILED") + ": " + brokenRows(f, ", ")
		}
		fmt.Fprintf(p.out, "fail if %s: %s: %s\n", f.Rule, p.name(judged(f)), verdict)
	}
}

// differs is the line of the options that differ; "" if none does.
func differs(options []compare.Difference) string {
	var all []fiojson.Difference
	for _, d := range options {
		all = append(all, fiojson.Difference(d))
	}
	if len(all) == 0 {
		return ""
	}
	return "differs: " + fiojson.DifferenceText(all)
}

// certain reports whether a row of a direction is certainly different.
func certain(row compare.Row) bool {
	return row.Direction != fio.All && (row.Verdict == compare.Higher || row.Verdict == compare.Lower)
}

// shown returns the rows of a table: those of the rules, or else those of each direction, in a terminal those that
// certainly differ, if there are any.
func (p *comparePrinter) shown(r *compare.Result, ruled bool) (rows []compare.Row) {
	differ := p.o.shown != nil && !p.markdown && slices.ContainsFunc(r.Rows, certain)
	for _, row := range r.Rows {
		usual := p.o.shown == nil || slices.Contains(p.o.shown, row.Metric)
		if differ {
			usual = certain(row)
		}
		if p.o.all || ruled && row.Ruled || !ruled && row.Direction != fio.All && usual {
			rows = append(rows, row)
		}
	}
	return rows
}

// notShown counts the rows of a terminal's table that say nothing.
func (p *comparePrinter) notShown(r *compare.Result, shown []compare.Row) string {
	n, called := map[compare.Verdict]int{}, map[compare.Verdict]string{}
	for _, row := range r.Rows {
		is := func(o compare.Row) bool { return o.Direction == row.Direction && o.Metric == row.Metric }
		if row.Direction != fio.All && !slices.ContainsFunc(shown, is) {
			n[row.Verdict]++
			called[row.Verdict], _, _ = strings.Cut(r.Words(&row).Verdict, ":")
		}
	}
	var words []string
	for _, v := range []compare.Verdict{compare.Same, compare.Inconclusive} {
		if n[v] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[v], called[v]))
		}
	}
	if p.markdown || p.o.shown == nil || len(words) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(words, ", ") + " (--all)"
}

// limits is the heading of the limits of rows.
func limits(rows []compare.Row) string {
	least, most := 1.0, 0.0
	for _, row := range rows {
		least, most = min(least, row.Confidence), max(most, row.Confidence)
	}
	if least < most {
		return fmt.Sprintf("%.0f or %.0f %% limits", 100*least, 100*most)
	}
	return fmt.Sprintf("%.0f %% limits", 100*most)
}

// name escapes a text in which there may be names, in Markdown.
func (p *comparePrinter) name(text string) string {
	if p.markdown {
		return render.Markdown(text)
	}
	return text
}

// line prints a line of text, or several.
func (p *comparePrinter) line(text string) {
	if text == "" {
		return
	}
	for _, line := range strings.Split(text, "\n") {
		fmt.Fprintln(p.out, p.name(fio.Printable(line)))
		if p.markdown {
			fmt.Fprintln(p.out)
		}
	}
}

func (p *comparePrinter) side(is string, of compare.Side) {
	text := fmt.Sprintf("%s: %s, ", is, of.Name)
	if of.Runs > 1 {
		text += fmt.Sprintf("%d runs, ", of.Runs)
	}
	if of.Intervals == 0 {
		text += "figures only"
	} else {
		text += fmt.Sprintf("%s of %g s", fio.Several(of.Intervals, "interval"), of.IntervalMS/1e3)
	}
	if of.Block > 1 {
		text += fmt.Sprintf(", block length %d", of.Block)
	}
	p.line(text)
}

func (p *comparePrinter) style() render.Style {
	return render.Style{Format: p.o.format, Width: p.u.TableWidth()}
}

// rows prints a table of rows.
func (p *comparePrinter) rows(shown []compare.Row, of *compare.Result) {
	t := &render.Table[compare.Row]{Rows: shown}
	words := func(say func(compare.Words) string) func(*compare.Row) string {
		return func(r *compare.Row) string { return say(of.Words(r)) }
	}
	t.Text("direction", func(r *compare.Row) string { return r.Direction })
	t.Text("metric", func(r *compare.Row) string { return r.Metric })
	t.Text("baseline_"+p.unit, func(r *compare.Row) string { return p.value(r.Metric, r.Baseline) }).Right = true
	t.Text("run_"+p.unit, func(r *compare.Row) string { return p.value(r.Metric, r.Other) }).Right = true
	t.Text("change", words(func(w compare.Words) string { return w.Change })).Right = true
	t.Text(limits(shown), words(func(w compare.Words) string { return w.Limits }))
	t.Text("run noise", words(func(w compare.Words) string { return w.RunNoise }))
	t.Text("verdict", func(r *compare.Row) string { return p.verdict(r, of) }).Printable = true
	t.Print(p.out, p.style()) //nolint:errcheck // to a bufio.Writer
}

// choose sets the unit for a table of these latencies.
func (p *comparePrinter) choose(latencies []*float64) {
	var all render.Column
	for _, v := range latencies {
		all.Cells = append(all.Cells, render.Known(v))
	}
	p.unit = all.Unit(p.o.unit)
}

func (p *comparePrinter) value(metric string, v *float64) string {
	if v == nil {
		return "-"
	}
	if fio.FigureOf(metric).Unit == fio.PerSecond {
		return fio.Number(*v) + "/s"
	}
	return fio.LatencyIn(*v, p.unit)
}

// colour colours a word, except in markdown.
func (p *comparePrinter) colour(c ui.Colour, text string) string {
	if p.markdown {
		return text
	}
	return p.u.Print(c, text)
}

// verdict returns the verdict on a row, with its color.
func (p *comparePrinter) verdict(row *compare.Row, of *compare.Result) string {
	text := of.Words(row).Verdict
	worse := map[compare.Verdict]ui.Colour{compare.Higher: ui.Bad, compare.Lower: ui.Good}
	if fio.FigureOf(row.Metric).Better == fio.Higher {
		worse = map[compare.Verdict]ui.Colour{compare.Higher: ui.Good, compare.Lower: ui.Bad}
	}
	verdict := string(row.Verdict)
	if !of.Certain(row) {
		return text
	}
	// colour adds to the width, which does not matter in the last column
	return p.colour(worse[row.Verdict], verdict) + strings.TrimPrefix(text, verdict)
}
