package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/curve"
	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/report"
	"fiolat/report/render"
)

type curveOptions struct {
	logs   logOptions // how to read runs that are logs
	es     runsource.Elasticsearch
	at     *fio.Rule // nil: none
	format string
	unit   string // of latencies in tables
	file   string // for the page; "": none
}

func curveCommand(u *ui.UI) *cli.Command {
	o := &curveOptions{}
	return &cli.Command{
		Name: "curve",
		Flags: append(slices.Concat(o.logs.flags(wholeRuns), pickFlags(&o.logs.Config.Pick, true), esFlags(&o.es)),
			&cli.GenericFlag{Name: "at", Value: parsed(&o.at, "--at", curveRule),
				Usage: "how many IOPS meet `RULE`, such as 'read p99 < 1ms'"},
			fileFlag(".csv", isPage, isPicture),
			&cli.GenericFlag{Name: "format", Value: oneFormat(&o.format, "table", "markdown", "csv", "parquet",
				"json"), Usage: "`FORMAT`: table, markdown, csv, parquet or json"},
			unitFlag(&o.unit), verboseFlag(), widthFlag(),
		),
		Action: answerTo(u, o),
	}
}

// direction returns the direction of the curve: that of --at, else the one that --only picks, else all.
func (o *curveOptions) direction() string {
	if picked := o.logs.Config.Pick.Directions; o.at == nil && len(picked) == 1 {
		return picked[0]
	}
	return curve.DirectionOf(o.at)
}

// curveRule parses --at.
func curveRule(text string) (*fio.Rule, error) {
	rule, err := fio.ParseRule(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf(": %w", err)
	case !rule.Latency() || rule.Above:
		return nil, fio.Usagef(" %q: want an upper bound of a latency, such as 'read p99 < 1ms'", text)
	}
	return &rule, nil
}

func (o *curveOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.oneKind(c, bad)
	o.file = drawnFile(c)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
}

// run prints the curve of the runs that the paths name, and writes the page.
func (o *curveOptions) run(ctx context.Context, u *ui.UI) error {
	percentiles := slices.Clone(o.logs.Config.Settings.Percentiles)
	var metrics []fio.Metric
	if o.at != nil {
		metrics = append(metrics, o.at.Metric)
		if p := o.at.Percentile; p > 0 && !slices.Contains(percentiles, p) {
			percentiles = append(percentiles, p)
			slices.Sort(percentiles)
		}
	}
	r := runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u}
	defer r.Close()
	if o.at != nil && o.at.Latency() {
		r.Rule = "--at"
	}
	rows, err := r.SummaryRows(ctx, o.logs.Paths, metrics)
	if err == nil && len(o.logs.Config.Settings.By) == 1 && curve.Mixed(rows) {
		rows, err = o.byStage(ctx, &r, rows, metrics)
	}
	if err != nil {
		return err
	}
	c, err := curve.Make(rows, o.direction(), percentiles, o.at)
	if errors.Is(err, curve.ErrOneSetting) {
		return fio.Usagef("%v: a curve needs two settings or more, such as a sweep of iodepth; --by job makes points "+
			"of the jobs of a run; fiolat summary prints their figures, fiolat compare by how much repeats differ", err)
	} else if err != nil {
		return fio.Usagef("fiolat curve: %v", err)
	}
	if c.Matrix != nil {
		if err = o.members(ctx, &r, c, metrics); err != nil {
			return err
		}
	}
	if o.file != "" {
		if _, err = writeCurve(o.file, false, report.Curve{Curve: c, Percentiles: percentiles}); err != nil {
			return err
		}
	}
	warnCurveSyncs(u, rows)
	sayPoints(u, c, rows[0])
	out := bufio.NewWriter(u.Stdout)
	if o.format == "json" {
		err = ui.PrintJSON(out, c, " ")
	} else {
		err = o.table(out, u, c, percentiles)
		for _, note := range c.Notes {
			u.Say("info", "%s", note)
		}
	}
	return cmp.Or(err, out.Flush())
}

// byStage returns the rows of the jobs of runs whose jobs ran one after the other: such a run is a sweep, and each job
// a setting. Otherwise it returns the rows of the runs.
func (o *curveOptions) byStage(ctx context.Context, r *runsource.Reader, rows []figures.Row, metrics []fio.Metric) (
	[]figures.Row, error) {
	jobs, err := o.rowsBy(ctx, r, fio.ByJob, metrics)
	of := map[figures.Group]bool{}
	for i := range jobs {
		of[jobs[i].Group()] = true
	}
	runs := map[figures.Group]bool{}
	for i := range rows {
		runs[rows[i].Group()] = true
	}
	if err != nil || len(of) == len(runs) || !curve.Staged(rows, jobs) { // runs of one job each are points as they are
		return rows, nil
	}
	r.UI.Say("info", "jobs ran one after the other: each is a point, as with --by job")
	return jobs, nil
}

// sayPoints says what the points are, of rows that are like one.
func sayPoints(u *ui.UI, c *curve.Curve, one figures.Row) {
	n := 0
	for i := range c.Points {
		n += c.Points[i].Runs
	}
	what := "run"
	switch {
	case one.Job != "":
		what = "job"
	case one.Host != "":
		what = "host"
	}
	differ := fio.List(slices.Sorted(maps.Keys(c.Points[0].Options)), "and")
	if len(c.Points) == 2 {
		differ = fiojson.DifferenceText(fiojson.Between(c.Points[0].Options, c.Points[1].Options))
	}
	u.Say("info", "%s of %s, which differ in %s", fio.Several(n, what), fio.Several(len(c.Points), "setting"), differ)
}

// rowsBy reads the rows of the runs again, split by hosts or jobs, with the same warnings, which are not repeated.
func (o *curveOptions) rowsBy(ctx context.Context, r *runsource.Reader, by string, metrics []fio.Metric) (
	[]figures.Row, error) {
	if slices.Contains(o.logs.Paths, "-") {
		return nil, errors.New("standard input cannot be read again")
	}
	whole := o.logs.Config.Settings.By
	o.logs.Config.Settings.By = []string{by}
	defer func() { o.logs.Config.Settings.By = whole }()
	again := runsource.Reader{Logs: r.Logs, Elasticsearch: r.Elasticsearch, UI: ui.New(nil, io.Discard, io.Discard)}
	defer again.Close()
	return again.SummaryRows(ctx, o.logs.Paths, metrics)
}

// members adds to the points of a matrix the hosts of their runs, or the jobs if the hosts are not known. The points
// stand without them, so that an error is a warning unless the command was stopped.
func (o *curveOptions) members(ctx context.Context, r *runsource.Reader, c *curve.Curve, metrics []fio.Metric) error {
	for _, by := range []string{fio.ByHost, fio.ByJob} {
		rows, err := o.rowsBy(ctx, r, by, metrics)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			r.UI.Warn(fmt.Sprintf("the %ss of the settings are left out: %v", by, err))
			return nil
		}
		if c.AddMembers(rows); slices.ContainsFunc(c.Points, func(p curve.Point) bool { return len(p.Members) > 0 }) {
			return nil
		}
	}
	return nil
}

// matrixColumns adds to the table of a matrix which settings meet the rule, and the slowest host of each.
func (o *curveOptions) matrixColumns(c *curve.Curve, t *render.Table[curve.Point]) {
	if o.at != nil {
		met := map[*curve.Point]string{}
		for i := range c.Points {
			met[&c.Points[i]] = c.Meets(i)
		}
		t.Text(o.at.Text, func(p *curve.Point) string { return met[p] })
	}
	t.Text("slowest", func(p *curve.Point) string {
		name, times := p.Slowest(slowestBy)
		if name == "" {
			return ""
		}
		return fmt.Sprintf("%s, x%.1f", name, times)
	}).Optional = true
}

// slowestBy is the percentile by which a host is the slowest of a setting.
const slowestBy = 50

// warnCurveSyncs warns that no point includes the syncs.
func warnCurveSyncs(u *ui.UI, rows []figures.Row) {
	runs := map[[2]string]bool{}
	count, longest := 0.0, 0.0
	for i := range rows {
		if r := &rows[i]; r.Direction == "sync" {
			runs[[2]string{r.Run, r.Name}] = true
			count += r.Samples
			if r.Max != nil {
				longest = max(longest, *r.Max)
			}
		}
	}
	if len(runs) > 0 {
		u.Warn(fmt.Sprintf("%d of the runs sync: their %s syncs are in no point here, the longest %s; fiolat summary "+
			"shows them", len(runs), fio.Grouped(count), fio.Latency(longest, 3)))
	}
}

func (o *curveOptions) table(out *bufio.Writer, u *ui.UI, c *curve.Curve, percentiles []float64) error {
	t, files := &render.Table[curve.Point]{Rows: c.Points}, o.format == "csv" || o.format == "parquet"
	var names []string
	for name := range c.Points[0].Options {
		if !slices.Contains(c.Load, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if m := c.Matrix; m != nil {
		names = append(slices.Clone(m.Rows), slices.DeleteFunc([]string{m.Columns}, func(s string) bool {
			return s == ""
		})...)
	}
	for _, name := range append(names, c.Load...) {
		t.Text(name, func(p *curve.Point) string { return p.Options[name] })
	}
	limits := slices.ContainsFunc(c.Points, func(p curve.Point) bool { return len(p.Limits) > 0 })
	// spread adds the limits of a figure: in files both, in tables how far the upper one lies above the value.
	spread := func(name, key string, latency bool, of func(*curve.Point) float64) {
		switch {
		case !limits:
		case files:
			t.Add(render.Column{Name: name + "_lower", Latency: latency},
				func(p *curve.Point) render.Cell { return render.Known(p.Limits[key].Low) })
			t.Add(render.Column{Name: name + "_upper", Latency: latency},
				func(p *curve.Point) render.Cell { return render.Known(p.Limits[key].High) })
		default:
			t.Text("+-", func(p *curve.Point) string { return curveMargin(p, key, of(p)) })
		}
	}
	t.Number("runs", func(p *curve.Point) render.Cell { return render.Cell{Number: float64(p.Runs)} })
	t.Number("iops", func(p *curve.Point) render.Cell { return render.Cell{Number: p.IOPS} })
	spread("iops", "iops", false, func(p *curve.Point) float64 { return p.IOPS })
	t.Number("mib/s", func(p *curve.Point) render.Cell {
		c := render.Known(p.BytesPerSecond)
		c.Number /= 1 << 20
		return c
	})
	t.Number("in_flight", func(p *curve.Point) render.Cell { return render.Known(p.Concurrency) })
	t.Latency("mean", func(p *curve.Point) render.Cell { return render.Known(p.Mean) })
	for _, q := range percentiles {
		key := fio.Percentile(q)
		t.Latency("p"+key, func(p *curve.Point) render.Cell { return render.Percentile(p.Percentiles, key, p.AtLeast) })
		spread("p"+key, key, true, func(p *curve.Point) float64 { return p.Percentiles[key] })
	}
	t.Text("percentiles", func(p *curve.Point) string {
		return map[bool]string{true: "fio's own"}[p.FioPercentiles]
	}).Optional = true
	if c.Matrix == nil {
		t.Text("knee", func(p *curve.Point) string { return map[bool]string{true: "*"}[p.Knee] })
	} else {
		o.matrixColumns(c, t)
	}
	if err := t.Print(out, style(u, o.format, o.unit)); err != nil || files {
		return err
	}
	for i := range c.Series {
		if at := c.Series[i].At; at != nil && c.Matrix == nil {
			fmt.Fprintf(out, "\n%s\n", fio.Printable(c.Sentence(at)))
		}
	}
	return nil
}

// curveMargin returns how far the upper limit lies above v; the lower limit is nearer.
func curveMargin(p *curve.Point, key string, v float64) string {
	l, ok := p.Limits[key]
	if !ok || v == 0 {
		return ""
	}
	return strconv.FormatFloat((*l.High/v-1)*100, 'f', 0, 64) + " %"
}
