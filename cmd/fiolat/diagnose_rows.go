package main

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/analysis/diagnose"
	"fiolat/analysis/outliers"
	"fiolat/fio"
	"fiolat/internal/ui"
	"fiolat/report/render"
)

// columnsOf makes columns of rows.
type columnsOf[T any] struct {
	rows    []T
	columns []render.Column
}

func (c *columnsOf[T]) add(name string, latency, text bool, of func(*T) render.Cell) {
	column := render.Column{Name: name, Latency: latency, Text: text}
	for i := range c.rows {
		column.Cells = append(column.Cells, of(&c.rows[i]))
	}
	c.columns = append(c.columns, column)
}

func (c *columnsOf[T]) text(name string, of func(*T) string) {
	c.add(name, false, true, func(row *T) render.Cell { return render.Cell{Text: of(row)} })
}

func (c *columnsOf[T]) number(name string, of func(*T) float64) {
	c.add(name, false, false, func(row *T) render.Cell { return render.Cell{Number: of(row)} })
}

func (c *columnsOf[T]) print(o *diagnoseOptions, u *ui.UI) error {
	out := bufio.NewWriter(u.Stdout)
	unit := "auto"
	if o.format == "parquet" {
		unit = "us"
	}
	if err := render.Columns(out, o.format, unit, u.TableWidth(), c.columns); err != nil {
		return err
	}
	return out.Flush()
}

// slowIO is an outlier and the group that it belongs to.
type slowIO struct {
	*outliers.Group
	outliers.Outlier
}

// printOutliers prints the single slow I/Os of a run.
func (o *diagnoseOptions) printOutliers(u *ui.UI, all []outliers.Group) error {
	if o.format == "json" {
		for i := range all {
			if o.worst > 0 {
				had := len(all[i].Outliers)
				all[i].Outliers = all[i].Worst(o.worst)
				all[i].Omitted = all[i].Omitted || len(all[i].Outliers) < had
			}
		}
		return ui.PrintJSON(u.Stdout, map[string]any{"outliers": append([]outliers.Group{}, all...)}, " ")
	}
	table := columnsOf[slowIO]{}
	for i := range all {
		g := &all[i]
		if o.format == "table" {
			fmt.Fprintln(u.Stdout, fio.Printable(g.Sentence()))
			if p := g.Period; p != nil {
				fmt.Fprintf(u.Stdout, "period: %.3f s (%.3f to %.3f); as even by chance: less than 1 in %s\n", p.MS/1e3,
					p.LowMS/1e3, p.HighMS/1e3, fio.Grouped(math.Floor(1/p.Chance)))
			}
		}
		worst := o.worst
		if worst == 0 && o.format != "table" {
			worst = math.MaxInt
		}
		shown := g.Worst(worst)
		for _, one := range shown {
			table.rows = append(table.rows, slowIO{g, one})
		}
		if n := len(g.Outliers) - len(shown); n > 0 && o.format == "table" {
			fmt.Fprintf(u.Stdout, "listed: the longest %d of %d (--worst)\n", len(shown), len(g.Outliers))
		}
		if g.Omitted {
			u.Warn(fmt.Sprintf("%ss: %s I/Os took %s or longer, and the longest are listed: see --above",
				g.Direction, fio.Grouped(g.IOs), fio.Latency(g.AboveNS, 3)))
		}
	}
	if len(all) == 0 {
		u.Warn("no direction has 1,000 I/Os, which tell what is far above the rest: pass --above")
	}
	if len(table.rows) == 0 && o.format == "table" {
		return nil
	}
	table.text("direction", func(s *slowIO) string { return s.Direction })
	table.text("job", func(s *slowIO) string { return s.Job })
	table.text("host", func(s *slowIO) string { return strings.Join(s.Hosts, " ") })
	table.text("log", func(s *slowIO) string { return strings.Join(s.Logs, " ") })
	if o.format == "table" {
		fmt.Fprintln(u.Stdout)
		table.text("from", func(s *slowIO) string { return fio.Clock(int64(math.Round(s.FromMS))) })
		table.text("to", func(s *slowIO) string { return fio.Clock(int64(math.Round(s.ToMS))) })
		table.columns = slices.DeleteFunc(table.columns, func(c render.Column) bool { // that nobody needs
			return !slices.ContainsFunc(c.Cells, func(cell render.Cell) bool { return cell.Text != "" })
		})
	} else {
		table.number("from_ms", func(s *slowIO) float64 { return s.FromMS })
		table.number("to_ms", func(s *slowIO) float64 { return s.ToMS })
	}
	table.number("ios", func(s *slowIO) float64 { return s.Outlier.IOs })
	table.add("longest", true, false, func(s *slowIO) render.Cell { return render.Cell{Number: s.LongestNS} })
	return table.print(o, u)
}

// findingRow is a finding about one of its hosts, jobs or logs, or about all.
type findingRow struct {
	*diagnose.Finding
	who  string
	part float64 // its factor by that of the finding
}

// printFindings prints a row for each finding and host, job or log that it is about.
func (o *diagnoseOptions) printFindings(u *ui.UI, d *diagnose.Diagnosis) error {
	table := columnsOf[findingRow]{}
	all := slices.Concat(d.Findings, d.More)
	for i := range all {
		f := &all[i]
		if f.Besides() {
			continue
		}
		if len(f.Who) == 0 {
			table.rows = append(table.rows, findingRow{f, "", 1})
		}
		for i, who := range f.Who {
			part := 1.0
			if f.Factors != nil {
				part = f.Factors[i] / *f.Factor
			}
			table.rows = append(table.rows, findingRow{f, who, part})
		}
	}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	table.text("about", func(f *findingRow) string { return f.About })
	table.text("dimension", func(f *findingRow) string { return f.Dimension })
	table.text("who", func(f *findingRow) string { return f.who })
	table.text("direction", func(f *findingRow) string { return f.Direction })
	table.text("measure", func(f *findingRow) string { return f.Measure })
	table.number("factor", func(f *findingRow) float64 { return f.part * known(f.Factor) })
	table.number("factor_lower", func(f *findingRow) float64 { return f.part * known(f.FactorLow) })
	table.number("factor_upper", func(f *findingRow) float64 { return f.part * known(f.FactorHigh) })
	table.number("from_ms", func(f *findingRow) float64 { return float64(f.FromMS) })
	table.number("to_ms", func(f *findingRow) float64 { return float64(f.ToMS) })
	table.text("to_end", func(f *findingRow) string { return map[bool]string{true: "true", false: "false"}[f.ToEnd] })
	table.number("own", func(f *findingRow) float64 {
		if f.Measure == "iops" {
			return known(f.Own)
		}
		return f.part * known(f.Own)
	})
	table.number("others", func(f *findingRow) float64 { return known(f.Others) })
	table.text("text", func(f *findingRow) string { return f.Text })
	return table.print(o, u)
}
