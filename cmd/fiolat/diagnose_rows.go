package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/analysis/diagnose"
	"fiolat/analysis/outliers"
	"fiolat/fio"
	"fiolat/internal/ui"
	"fiolat/report/render"
)

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
	table := render.Table[slowIO]{}
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
			table.Rows = append(table.Rows, slowIO{g, one})
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
	if len(table.Rows) == 0 && o.format == "table" {
		return nil
	}
	inTable := o.format == "table"
	for _, c := range []*render.Column{
		table.Text("direction", func(s *slowIO) string { return s.Direction }),
		table.Text("job", func(s *slowIO) string { return s.Job }),
		table.Text("host", func(s *slowIO) string { return strings.Join(s.Hosts, " ") }),
		table.Text("log", func(s *slowIO) string { return strings.Join(s.Logs, " ") }),
	} {
		c.Optional = inTable
	}
	if inTable {
		table.Text("from", func(s *slowIO) string { return fio.Clock(int64(math.Round(s.FromMS))) })
		table.Text("to", func(s *slowIO) string { return fio.Clock(int64(math.Round(s.ToMS))) })
	} else {
		table.Number("from_ms", func(s *slowIO) render.Cell { return render.Cell{Number: s.FromMS} })
		table.Number("to_ms", func(s *slowIO) render.Cell { return render.Cell{Number: s.ToMS} })
	}
	table.Number("ios", func(s *slowIO) render.Cell { return render.Cell{Number: s.Outlier.IOs} })
	table.Latency("longest", func(s *slowIO) render.Cell { return render.Cell{Number: s.LongestNS} })
	return table.Print(u.Stdout, style(u, o.format, "auto"))
}

// findingRow is a finding about one of its hosts, jobs or logs, or about all.
type findingRow struct {
	*diagnose.Finding
	who  string
	part float64 // its factor by that of the finding
}

// printFindings prints a row for each finding and host, job or log that it is about.
func (o *diagnoseOptions) printFindings(u *ui.UI, d *diagnose.Diagnosis) error {
	table := render.Table[findingRow]{}
	all := slices.Concat(d.Findings, d.More)
	for i := range all {
		f := &all[i]
		if f.Besides() {
			continue
		}
		if len(f.Who) == 0 {
			table.Rows = append(table.Rows, findingRow{f, "", 1})
		}
		for i, who := range f.Who {
			part := 1.0
			if f.Factors != nil {
				part = f.Factors[i] / *f.Factor
			}
			table.Rows = append(table.Rows, findingRow{f, who, part})
		}
	}
	part := func(of func(*findingRow) *float64) func(*findingRow) render.Cell {
		return func(f *findingRow) render.Cell {
			c := render.Known(of(f))
			c.Number *= f.part
			return c
		}
	}
	table.Text("about", func(f *findingRow) string { return f.About })
	table.Text("dimension", func(f *findingRow) string { return f.Dimension })
	table.Text("who", func(f *findingRow) string { return f.who })
	table.Text("direction", func(f *findingRow) string { return f.Direction })
	table.Text("measure", func(f *findingRow) string { return f.Measure })
	table.Number("factor", part(func(f *findingRow) *float64 { return f.Factor }))
	table.Number("factor_lower", part(func(f *findingRow) *float64 { return f.FactorLow }))
	table.Number("factor_upper", part(func(f *findingRow) *float64 { return f.FactorHigh }))
	table.Number("from_ms", func(f *findingRow) render.Cell { return render.Cell{Number: float64(f.FromMS)} })
	table.Number("to_ms", func(f *findingRow) render.Cell { return render.Cell{Number: float64(f.ToMS)} })
	table.Text("to_end", func(f *findingRow) string { return strconv.FormatBool(f.ToEnd) })
	own := part(func(f *findingRow) *float64 { return f.Own })
	table.Number("own", func(f *findingRow) render.Cell {
		if f.Measure == "iops" {
			return render.Known(f.Own)
		}
		return own(f)
	})
	table.Number("others", func(f *findingRow) render.Cell { return render.Known(f.Others) })
	table.Text("text", func(f *findingRow) string { return f.Text })
	return table.Print(u.Stdout, style(u, o.format, "auto"))
}
