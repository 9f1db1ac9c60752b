// Package summary implements fiolat summary: a row of figures for each run and direction.
package summary

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/internal/command"
	"fiolat/internal/render"
	"fiolat/internal/summary"
	"fiolat/internal/ui"
	"fiolat/internal/units"
)

// Options are the options of fiolat summary.
type Options struct {
	Logs          command.Logs // how to read runs that are logs
	Elasticsearch command.Elasticsearch
	Where         []fio.Rule
	Sort          *fio.Metric // nil: as found
	Descending    bool
	Format        string // table, markdown, csv, json or ndjson
	Unit          string // of latencies in tables: one of render.Units
}

// Run prints the rows of all runs that the paths name.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	shown := o.Logs.Config.Settings.Percentiles
	var failed []error
	o.Logs.Failed = &failed
	rows, err := command.SummaryRows(ctx, o.Logs, &o.Elasticsearch, o.metrics(), u)
	if err != nil {
		return err
	}
	if len(rows) == 0 && len(failed) > 0 {
		return errors.Join(failed...)
	}
	found := runsOf(rows)
	rows = o.pick(rows)
	differ := summary.Differing(rows)
	summary.Shorten(rows, differ)
	if len(o.Where) > 0 {
		u.Say("info", "%d of %d runs", runsOf(rows), found)
	}
	out := bufio.NewWriter(u.Stdout)
	if o.Format == "json" || o.Format == "ndjson" {
		err = writeJSON(out, rows, o.Format == "ndjson")
	} else {
		err = render.Columns(out, o.Format, o.Unit, columns(rows, shown, differ))
	}
	return errors.Join(append(failed, err, out.Flush())...)
}

// metrics returns the metrics of --where and --sort.
func (o *Options) metrics() (all []fio.Metric) {
	for _, r := range o.Where {
		all = append(all, r.Metric)
	}
	if o.Sort != nil {
		all = append(all, *o.Sort)
	}
	return all
}

// runsOf returns the number of distinct runs.
func runsOf(rows []summary.Row) int {
	runs := map[[2]string]bool{}
	for i := range rows {
		runs[[2]string{rows[i].Run, rows[i].Name}] = true
	}
	return len(runs)
}

// pick returns the rows of the runs for which all rules hold, in the order asked for. With --by a rule is about each
// host or job.
func (o *Options) pick(rows []summary.Row) (out []summary.Row) {
	type group struct {
		rows []summary.Row
		by   float64
	}
	var groups []*group
	index := map[summary.Group]*group{}
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
		if r := summary.Find(g.rows, g.rows[0].Group(), m.Direction); r != nil {
			if v, ok := r.Value(m.Name); ok {
				return v
			}
		}
		return math.NaN()
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool {
		return slices.ContainsFunc(o.Where, func(r fio.Rule) bool {
			v := value(g, r.Metric)
			return math.IsNaN(v) || !r.Met(v)
		})
	})
	if o.Sort != nil {
		for _, g := range groups {
			g.by = value(g, *o.Sort)
		}
		slices.SortStableFunc(groups, func(a, b *group) int {
			switch {
			case math.IsNaN(a.by) && math.IsNaN(b.by) || a.by == b.by:
				return 0
			case math.IsNaN(b.by), !math.IsNaN(a.by) && (a.by < b.by) != o.Descending:
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

func writeJSON(out *bufio.Writer, rows []summary.Row, lines bool) error {
	var text []byte
	for i := range rows {
		b, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		if lines {
			text = append(append(text, ui.PrintableJSON(b)...), '\n')
			continue
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n "...), ui.PrintableJSON(b)...)
	}
	if !lines {
		text = append(append([]byte("["), text...), "\n]\n"...)
	}
	_, err := out.Write(text)
	return err
}

// columns returns the columns of a table, without optional ones that are empty.
func columns(rows []summary.Row, percentiles []float64, differ []string) (out []render.Column) {
	text := func(name string, always bool, of func(*summary.Row) string) {
		c := render.Column{Name: name, Text: true}
		for i := range rows {
			c.Cells = append(c.Cells, render.Cell{Text: of(&rows[i])})
		}
		if always || slices.ContainsFunc(c.Cells, func(c render.Cell) bool { return c.Text != "" }) {
			out = append(out, c)
		}
	}
	number := func(name string, latency, always bool, of func(*summary.Row) render.Cell) {
		c := render.Column{Name: name, Latency: latency}
		for i := range rows {
			c.Cells = append(c.Cells, of(&rows[i]))
		}
		if always || slices.ContainsFunc(c.Cells, func(c render.Cell) bool { return !math.IsNaN(c.Number) }) {
			out = append(out, c)
		}
	}
	text("run", true, func(r *summary.Row) string { return r.Name })
	text("host", false, func(r *summary.Row) string { return r.Host })
	text("job", false, func(r *summary.Row) string { return r.Job })
	text("log", false, func(r *summary.Row) string { return r.Log })
	for _, name := range differ {
		text(name, false, func(r *summary.Row) string { return r.Options[name] })
	}
	text("direction", true, func(r *summary.Row) string { return r.Direction })
	number("ios", false, true, func(r *summary.Row) render.Cell {
		return render.Cell{Number: math.Round(r.Samples)}
	})
	number("iops", false, true, func(r *summary.Row) render.Cell { return render.Known(r.IOPS) })
	number("mib/s", false, false, func(r *summary.Row) render.Cell {
		v, ok := r.Value("mib")
		if !ok {
			return render.Known(nil)
		}
		return render.Cell{Number: v}
	})
	number("mean", true, true, func(r *summary.Row) render.Cell { return render.Known(r.Mean) })
	for _, p := range percentiles {
		key := units.Percentile(p)
		number("p"+key, true, true, func(r *summary.Row) render.Cell {
			return render.Percentile(r.Percentiles, key, r.AtLeast)
		})
	}
	number("max", true, true, func(r *summary.Row) render.Cell { return render.Known(r.Max) })
	number("longest_sync", true, false, func(r *summary.Row) render.Cell { return render.Known(r.LongestSync) })
	return out
}
