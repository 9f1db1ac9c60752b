// Package curve implements fiolat curve: latency against load.
package curve

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"fiolat/fio"
	"fiolat/internal/command"
	"fiolat/internal/curve"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/summary"
	"fiolat/internal/ui"
	"fiolat/internal/units"
)

// Options are the options of fiolat curve.
type Options struct {
	Logs          command.Logs // how to read runs that are logs
	Elasticsearch command.Elasticsearch
	Direction     string     // "": that of At, else all
	At            *fio.Rule  // nil: none
	Axis          curve.Axis // of the page
	Format        string     // table, markdown, csv or json
	Unit          string     // of latencies in tables: one of render.Units
	File          string     // for the page; "": none
}

// Run prints the curve of the runs that the paths name, and writes the page.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	percentiles := slices.Clone(o.Logs.Config.Settings.Percentiles)
	var metrics []fio.Metric
	if o.At != nil {
		metrics = append(metrics, o.At.Metric)
		if p := o.At.Percentile; p > 0 && !slices.Contains(percentiles, p) {
			percentiles = append(percentiles, p)
			slices.Sort(percentiles)
		}
	}
	rows, err := command.SummaryRows(ctx, o.Logs, &o.Elasticsearch, metrics, u)
	if err != nil {
		return err
	}
	direction := cmp.Or(o.Direction, curve.DirectionOf(o.At))
	c, err := curve.Make(rows, direction, percentiles, o.At)
	if errors.Is(err, curve.ErrOneSetting) {
		return errs.Usagef("%v: a curve needs two settings or more, such as a sweep of iodepth; fiolat summary "+
			"prints their figures, fiolat compare what repeats differ by", err)
	} else if err != nil {
		return errs.Usagef("fiolat curve: %v", err)
	}
	if o.File != "" {
		page := curve.Page{Curve: c, Percentiles: percentiles, Axis: o.Axis}
		if _, err = command.WriteCurve(o.File, false, page); err != nil {
			return err
		}
	}
	warnSyncs(u, rows)
	out := bufio.NewWriter(u.Stdout)
	if o.Format == "json" {
		err = ui.PrintJSON(out, c, " ")
	} else {
		err = table(out, o, c, percentiles)
		for _, note := range c.Notes {
			u.Say("info", "%s", note)
		}
	}
	return errors.Join(err, out.Flush())
}

// warnSyncs warns that no point includes the syncs.
func warnSyncs(u *ui.UI, rows []summary.Row) {
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
			"shows them", len(runs), units.Grouped(count), units.Latency(longest, 3)))
	}
}

func table(out *bufio.Writer, o Options, c *curve.Curve, percentiles []float64) error {
	var columns []render.Column
	add := func(name string, latency, text bool, of func(*curve.Point) render.Cell) {
		column := render.Column{Name: name, Latency: latency, Text: text}
		for i := range c.Points {
			column.Cells = append(column.Cells, of(&c.Points[i]))
		}
		columns = append(columns, column)
	}
	var names []string
	for name := range c.Points[0].Options {
		if !slices.Contains(c.Load, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range append(names, c.Load...) {
		add(name, false, true, func(p *curve.Point) render.Cell { return render.Cell{Text: p.Options[name]} })
	}
	number := func(v *float64, divisor float64) render.Cell {
		if v == nil {
			return render.Known(nil)
		}
		return render.Cell{Number: *v / divisor}
	}
	limits := slices.ContainsFunc(c.Points, func(p curve.Point) bool { return len(p.Limits) > 0 })
	add("runs", false, false, func(p *curve.Point) render.Cell { return render.Cell{Number: float64(p.Runs)} })
	add("iops", false, false, func(p *curve.Point) render.Cell { return render.Cell{Number: p.IOPS} })
	if limits {
		add("+-", false, true, func(p *curve.Point) render.Cell { return render.Cell{Text: margin(p, "iops", p.IOPS)} })
	}
	add("mib/s", false, false, func(p *curve.Point) render.Cell { return number(p.BytesPerSecond, 1<<20) })
	add("in_flight", false, false, func(p *curve.Point) render.Cell { return number(p.Concurrency, 1) })
	add("mean", true, false, func(p *curve.Point) render.Cell { return number(p.Mean, 1) })
	for _, q := range percentiles {
		key := units.Percentile(q)
		add("p"+key, true, false, func(p *curve.Point) render.Cell {
			return render.Percentile(p.Percentiles, key, p.AtLeast)
		})
		if limits {
			add("+-", false, true, func(p *curve.Point) render.Cell {
				return render.Cell{Text: margin(p, key, p.Percentiles[key])}
			})
		}
	}
	add("bend", false, true, func(p *curve.Point) render.Cell {
		return render.Cell{Text: map[bool]string{true: "*"}[p.Bend]}
	})
	if err := render.Columns(out, o.Format, o.Unit, columns); err != nil || o.Format == "csv" {
		return err
	}
	for i := range c.Series {
		if at := c.Series[i].At; at != nil {
			fmt.Fprintf(out, "\n%s\n", errs.Printable(c.Sentence(at)))
		}
	}
	return nil
}

// margin returns how far the upper limit lies above v; the lower limit is nearer.
func margin(p *curve.Point, key string, v float64) string {
	l, ok := p.Limits[key]
	if !ok || v == 0 {
		return ""
	}
	return strconv.FormatFloat((*l.High/v-1)*100, 'f', 0, 64) + " %"
}
