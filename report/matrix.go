package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fiolat/analysis/curve"
	"fiolat/fio"
	"fiolat/report/charts"
	"fiolat/report/page"
	"fiolat/report/picture"
)

// matrixFigure is one of the figures of which a matrix has bars.
type matrixFigure struct {
	name string
	of   func(*curve.Point) (float64, bool)
	text func(float64) string
}

func (p *Curve) matrixFigures() []matrixFigure {
	all := []matrixFigure{{"IOPS", func(q *curve.Point) (float64, bool) { return q.IOPS, true }, page.Number}}
	for _, pc := range p.Percentiles {
		key := fio.Percentile(pc)
		all = append(all, matrixFigure{"p" + key, func(q *curve.Point) (float64, bool) {
			v, ok := q.Percentiles[key]
			return v, ok
		}, page.Latency})
	}
	return all
}

// matrixPanels draws a panel of bars for each figure: a group for each row of the matrix, a bar for each column.
func (p *Curve) matrixPanels(out *picture.Picture) {
	m := p.Curve.Matrix
	for k, value := range m.ColumnValues {
		if m.Columns != "" {
			color, _ := picture.Look(k)
			out.Legend = append(out.Legend, picture.Key{Text: m.Columns + " " + cmp.Or(value, "-"), Color: color})
		}
	}
	width := float64(len(m.ColumnValues) + 1) // with a gap
	for _, figure := range p.matrixFigures() {
		panel := picture.Panel{Title: figure.name, Height: 200,
			X: picture.Axis{Max: width * float64(len(m.RowValues)), Title: strings.Join(m.Rows, ", ")}}
		most := 0.0
		bars := make([][]picture.Box, len(m.ColumnValues))
		var words picture.Texts
		for r, row := range m.RowValues {
			panel.X.Ticks = append(panel.X.Ticks, picture.Tick{At: width * (float64(r) + 0.5), Text: row})
			for k, i := range m.Points[r] {
				if i < 0 {
					continue
				}
				if v, ok := figure.of(&p.Curve.Points[i]); ok {
					at := width*float64(r) + float64(k) + 0.5
					bars[k] = append(bars[k], picture.Box{X: at + 0.08, X2: at + 0.92, Y: 0, Y2: v})
					words = append(words, picture.Text{At: picture.Point{X: at + 0.5, Y: v}, Words: figure.text(v)})
					most = max(most, v)
				}
			}
		}
		panel.Y = picture.FromZero(1.15*most, 4, figure.text)
		for k := range bars {
			color, _ := picture.Look(k)
			panel.Marks = append(panel.Marks, picture.Area{Boxes: bars[k], Color: color, Opacity: 0.85})
		}
		panel.Marks = append(panel.Marks, words)
		out.Panels = append(out.Panels, panel)
	}
}

// matrixPart is a figure of a matrix on the page.
type matrixPart struct{ ID, Title string }

// settingMembers are the hosts or jobs of a setting.
type settingMembers struct {
	Name string
	Head []string
	Rows [][]string
}

// matrixParts makes the charts of a matrix, its table, and the tables of the hosts of each setting.
func (p *Curve) matrixParts(specs map[string]charts.Spec) (parts []matrixPart, table curveChart,
	members []settingMembers) {
	c, m := p.Curve, p.Curve.Matrix
	for n, figure := range p.matrixFigures() {
		var rows []charts.M
		for i := range c.Points {
			if v, ok := figure.of(&c.Points[i]); ok {
				rows = append(rows, charts.M{"row": m.Row(&c.Points[i]), "v": v, "text": figure.text(v),
					"column": cmp.Or(c.Points[i].Options[m.Columns], "-"), "name": m.Name(&c.Points[i])})
			}
		}
		id := "matrix-" + strconv.Itoa(n)
		specs[id] = charts.Matrix{Data: charts.Rows("settings", rows), Columns: m.Columns, Order: m.ColumnValues}.Spec()
		parts = append(parts, matrixPart{id, figure.name})
	}
	named := *c
	named.Load = m.Rows
	if m.Columns != "" {
		named.Load = append(slices.Clone(m.Rows), m.Columns)
	}
	all := &curve.Series{}
	for i := range c.Points {
		all.Points = append(all.Points, i)
	}
	(&Curve{Curve: &named, Percentiles: p.Percentiles}).table(&table, all)
	if c.Bound > 0 {
		table.Head = append(table.Head, c.At.Rule)
		for i := range table.Table {
			table.Table[i] = append(table.Table[i], c.Meets(i))
		}
	}
	for i := range c.Points {
		q := &c.Points[i]
		repeats := slices.ContainsFunc(q.Members, func(m curve.Member) bool { return m.Run != "" })
		one := settingMembers{Name: m.Name(q), Head: []string{"host or job", "IOPS", "mean"}}
		if repeats {
			one.Head = slices.Insert(one.Head, 1, "run")
		}
		for _, pc := range p.Percentiles {
			one.Head = append(one.Head, "p"+fio.Percentile(pc))
		}
		for _, member := range q.Members {
			row := []string{member.Name, "-", "-"}
			if member.IOPS != nil {
				row[1] = page.Number(*member.IOPS)
			}
			if member.Mean != nil {
				row[2] = page.Latency(*member.Mean)
			}
			for _, pc := range p.Percentiles {
				text := "-"
				if v, ok := member.Percentiles[fio.Percentile(pc)]; ok {
					text = page.Latency(v)
				}
				row = append(row, text)
			}
			if repeats {
				row = slices.Insert(row, 1, member.Run)
			}
			one.Rows = append(one.Rows, row)
		}
		if len(one.Rows) > 0 {
			members = append(members, one)
		}
	}
	return parts, table, members
}
