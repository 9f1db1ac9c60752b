package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/report/render"
)

type summaryOptions struct {
	logs       logOptions // how to read runs that are logs
	es         runsource.Elasticsearch
	where      []fio.Rule
	sort       *fio.Metric // nil: as found
	descending bool
	format     string
	unit       string // of latencies in tables
}

func summaryCommand(u *ui.UI) *cli.Command {
	o := &summaryOptions{}
	return &cli.Command{
		Name: "summary",
		Flags: append(slices.Concat(o.logs.flags(wholeRuns), pickFlags(&o.logs.Config.Pick, true), esFlags(&o.es)),
			&cli.GenericFlag{Name: "where", Value: each(&o.where, "--where: ", fio.ParseRule),
				Usage: "only runs for which `RULE` holds, such as 'read p99 < 1ms' or 'sync max < 50ms'"},
			&cli.GenericFlag{Name: "sort", Value: parsed(&o.sort, "--sort: ", o.order),
				Usage: "order runs by `METRIC`, such as 'read p99', or -METRIC, the largest first (default: by path)"},
			&cli.GenericFlag{Name: "format",
				Value: oneFormat(&o.format, "table", "markdown", "csv", "parquet", "json", "ndjson"),
				Usage: "`FORMAT`: table, markdown, csv, parquet, json or ndjson"},
			unitFlag(&o.unit), fileFlag(".csv"), verboseFlag(), widthFlag(),
		),
		Action: answerTo(u, o),
	}
}

// wholeRuns are the log flags of commands that print figures of whole runs.
var wholeRuns = logFlags{percentiles: "50,99,99.9", without: []string{"fio-json", "dry-run", "run-id", "run-name",
	"label", "part", "sla", "fail-on-sla", "interval", "accuracy", "grid", "start", "offset",
	"align"}}

func unitFlag(to *string) cli.Flag {
	return &cli.GenericFlag{Name: "unit", Value: withDefault("auto", oneOf(to, "unit", render.Units...)),
		Usage: "`UNIT` of latencies, except in json: ns, us, ms, s or auto"}
}

// order parses --sort.
func (o *summaryOptions) order(text string) (*fio.Metric, error) {
	name, descending := strings.CutPrefix(text, "-")
	m, err := fio.ParseMetric(name)
	o.descending = descending
	return &m, err
}

func (o *summaryOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.oneKind(c, bad)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
}

// run prints the rows of all runs that the paths name.
func (o *summaryOptions) run(ctx context.Context, u *ui.UI) error {
	shown := o.logs.Config.Settings.Percentiles
	var failed []error
	o.logs.Failed = &failed
	r := runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u}
	defer r.Close()
	rows, err := r.SummaryRows(ctx, o.logs.Paths, o.metrics())
	if err != nil {
		return err
	}
	if len(rows) == 0 && len(failed) > 0 {
		return errors.Join(failed...)
	}
	found := runsOf(rows)
	rows = o.pick(rows)
	differ := figures.Differing(rows)
	figures.Shorten(rows, differ)
	if len(o.where) > 0 {
		u.Say("info", "%d of %d runs", runsOf(rows), found)
	}
	out := bufio.NewWriter(u.Stdout)
	if o.format == "json" || o.format == "ndjson" {
		err = writeSummaryJSON(out, rows, o.format == "ndjson")
	} else {
		if o.format == "table" || o.format == "markdown" {
			rows = sumsLast(rows)
		}
		err = summaryTable(rows, shown, differ).Print(out, style(u, o.format, o.unit))
	}
	return errors.Join(append(failed, cmp.Or(err, out.Flush()))...)
}

// metrics returns the metrics of --where and --sort.
func (o *summaryOptions) metrics() (all []fio.Metric) {
	for _, r := range o.where {
		all = append(all, r.Metric)
	}
	if o.sort != nil {
		all = append(all, *o.sort)
	}
	return all
}

// runsOf returns the number of distinct runs.
func runsOf(rows []figures.Row) int {
	runs := map[[2]string]bool{}
	for i := range rows {
		runs[[2]string{rows[i].Run, rows[i].Name}] = true
	}
	return len(runs)
}

// pick returns the rows of the runs for which all rules hold, in the order asked for. With --by a rule is about each
// host or job.
func (o *summaryOptions) pick(rows []figures.Row) (out []figures.Row) {
	type group struct {
		rows []figures.Row
		by   float64
	}
	var groups []*group
	index := map[figures.Group]*group{}
	for _, r := range rows {
		g := index[r.Group()]
		if g == nil {
			g = new(group)
			index[r.Group()] = g
			groups = append(groups, g)
		}
		g.rows = append(g.rows, r)
	}
	value := func(g *group, m fio.Metric) float64 {
		if r := figures.Find(g.rows, g.rows[0].Group(), m.Direction); r != nil {
			if v, ok := r.Value(m.Name); ok {
				return v
			}
		}
		return math.NaN()
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool {
		return slices.ContainsFunc(o.where, func(r fio.Rule) bool {
			v := value(g, r.Metric)
			return math.IsNaN(v) || !r.Met(v)
		})
	})
	if o.sort != nil {
		for _, g := range groups {
			g.by = value(g, *o.sort)
		}
		slices.SortStableFunc(groups, func(a, b *group) int {
			switch {
			case math.IsNaN(a.by) && math.IsNaN(b.by) || a.by == b.by:
				return 0
			case math.IsNaN(b.by), !math.IsNaN(a.by) && (a.by < b.by) != o.descending:
				return -1
			}
			return 1
		})
	}
	for _, g := range groups {
		out = append(out, g.rows...)
	}
	return out
}

func writeSummaryJSON(out *bufio.Writer, rows []figures.Row, lines bool) error {
	var text []byte
	for i := range rows {
		b, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		if lines {
			text = append(append(text, ui.EscapedJSON(b)...), '\n')
			continue
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n "...), ui.EscapedJSON(b)...)
	}
	if !lines {
		text = append(append([]byte("["), text...), "\n]\n"...)
	}
	_, err := out.Write(text)
	return err
}

// sumsLast puts the row of all directions behind those of reads, writes and trims, and leaves it out if there is one.
func sumsLast(rows []figures.Row) (out []figures.Row) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Group() == rows[0].Group() {
			n++
		}
		rank := func(r figures.Row) int { // read, write, trim, all, sync
			return slices.Index(append(fio.DirectionNames(), fio.All, fio.Sync.String()), r.Direction)
		}
		of := slices.SortedStableFunc(slices.Values(rows[:n]), func(a, b figures.Row) int { return rank(a) - rank(b) })
		if n > 1 && of[1].Direction == fio.All {
			of = slices.Delete(of, 1, 2)
		}
		out, rows = append(out, of...), rows[n:]
	}
	return out
}

// summaryTable returns the table, whose optional columns are left out where they are empty.
func summaryTable(rows []figures.Row, percentiles []float64, differ []string) *render.Table[figures.Row] {
	t := &render.Table[figures.Row]{Rows: rows}
	t.Text("run", func(r *figures.Row) string { return r.Name })
	t.Text("host", func(r *figures.Row) string { return r.Host }).Optional = true
	t.Text("job", func(r *figures.Row) string { return r.Job }).Optional = true
	t.Text("log", func(r *figures.Row) string { return r.Log }).Optional = true
	for _, name := range differ {
		t.Text(name, func(r *figures.Row) string { return r.Options[name] }).Optional = true
	}
	t.Text("direction", func(r *figures.Row) string { return r.Direction })
	t.Number("ios", func(r *figures.Row) render.Cell { return render.Cell{Number: math.Round(r.Samples)} })
	t.Number("iops", func(r *figures.Row) render.Cell { return render.Known(r.IOPS) })
	t.Number("mib/s", func(r *figures.Row) render.Cell {
		v, ok := r.Value("mib")
		if !ok {
			return render.Known(nil)
		}
		return render.Cell{Number: v}
	}).Optional = true
	t.Latency("mean", func(r *figures.Row) render.Cell { return render.Known(r.Mean) })
	for _, p := range percentiles {
		key := fio.Percentile(p)
		t.Latency("p"+key, func(r *figures.Row) render.Cell { return render.Percentile(r.Percentiles, key, r.AtLeast) })
	}
	t.Text("percentiles", func(r *figures.Row) string {
		return map[bool]string{true: "fio's own"}[r.FioPercentiles]
	}).Optional = true
	t.Latency("max", func(r *figures.Row) render.Cell { return render.Known(r.Max) })
	t.Latency("longest_sync", func(r *figures.Row) render.Cell { return render.Known(r.LongestSync) }).Optional = true
	t.Number("guessed_ios", func(r *figures.Row) render.Cell {
		if math.Round(r.Guessed) == 0 {
			return render.Known(nil)
		}
		return render.Cell{Number: math.Round(r.Guessed)}
	}).Optional = true
	return t
}
