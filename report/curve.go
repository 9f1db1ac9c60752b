package report

import (
	"cmp"
	_ "embed" // the page's own part
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/analysis/curve"
	"fiolat/fio"
	"fiolat/report/charts"
	"fiolat/report/page"
	"fiolat/report/picture"
)

//go:embed curve.html
var curveHTML string

// Curve is a curve as one self-contained HTML page.
type Curve struct {
	Title, Generator string
	Curve            *curve.Curve
	Percentiles      []float64
}

// Draw draws the charts of the page, as PNG or else as SVG.
func (p *Curve) Draw(w io.Writer, png bool) error {
	c := p.Curve
	out := picture.Picture{Title: p.Title, Subtitle: "Direction: " + c.Direction +
		". Each point is a setting, named above it by " + strings.Join(c.Load, ", ") + "."}
	if p.limits() {
		out.Subtitle += " Bars are 95 % confidence intervals from the run-to-run variation."
	}
	if c.Matrix != nil {
		out.Subtitle = "Direction: " + c.Direction + ". Each bar is a setting."
		p.matrixPanels(&out)
		return out.Write(w, png)
	}
	most := 0.0
	var seen []float64
	for n, pc := range p.Percentiles {
		color, dash := picture.Look(n)
		out.Legend = append(out.Legend, picture.Key{Text: "p" + fio.Percentile(pc), Color: color, Dash: dash})
	}
	for i := range c.Series {
		s := &c.Series[i]
		panel := picture.Panel{Title: s.Name(), Height: 360}
		add := func(m picture.Mark) { panel.Marks = append(panel.Marks, m) }
		if s.At != nil && c.Bound > 0 {
			add(picture.Rule{At: c.Bound, Text: page.Micro(s.At.Rule)})
			seen = append(seen, c.Bound)
			out.Notes = append(out.Notes, picture.Note{Text: page.Micro(c.Sentence(s.At))})
		}
		for n, pc := range p.Percentiles {
			key := fio.Percentile(pc)
			color, dash := picture.Look(n)
			line, dots := picture.Line{Color: color, Dash: dash, Width: 1.7}, picture.Dots{Color: color}
			for _, k := range s.Points {
				q := &c.Points[k]
				v, ok := q.Percentiles[key]
				if !ok || v <= 0 {
					continue
				}
				at := picture.Point{X: q.IOPS, Y: v}
				line.Points, dots.Points = append(line.Points, at), append(dots.Points, at)
				if q.Knee {
					dots.Rings = append(dots.Rings, at)
				}
				most, seen = max(most, q.IOPS), append(seen, v)
				if l, ok := q.Limits[key]; ok {
					add(picture.Line{Points: []picture.Point{{X: q.IOPS, Y: *l.Low}, {X: q.IOPS, Y: *l.High}},
						Color: color, Width: 1.2})
					seen = append(seen, *l.Low, *l.High)
				}
			}
			add(line)
			add(dots)
		}
		add(p.labels(s))
		out.Panels = append(out.Panels, panel)
	}
	x, y := picture.FromZero(most, 8, page.Number), picture.Around(seen, page.Latency)
	x.Title = "IOPS"
	for i := range out.Panels {
		out.Panels[i].X, out.Panels[i].Y = x, y
	}
	for _, note := range c.Notes {
		out.Notes = append(out.Notes, picture.Note{Text: note})
	}
	return out.Write(w, png)
}

// limits reports whether there are any.
func (p *Curve) limits() bool {
	return slices.ContainsFunc(p.Curve.Points, func(q curve.Point) bool { return len(q.Limits) > 0 })
}

// top is the highest latency that is drawn of a point.
func (p *Curve) top(q *curve.Point) (v float64) {
	for _, pc := range p.Percentiles {
		key := fio.Percentile(pc)
		v = max(v, q.Percentiles[key])
		if q.Limits[key].High != nil {
			v = max(v, *q.Limits[key].High)
		}
	}
	return v
}

// labels name the points of a series by their loads, above the highest latency that is drawn. One label names those
// that are too close to each other.
func (p *Curve) labels(s *curve.Series) (out picture.Texts) {
	most := slices.MaxFunc(p.Curve.Points, func(a, b curve.Point) int { return cmp.Compare(a.IOPS, b.IOPS) }).IOPS
	for _, i := range s.Points {
		q := &p.Curve.Points[i]
		at := picture.Text{At: picture.Point{X: q.IOPS, Y: p.top(q)}, Words: p.loads(q)}
		if at.At.Y <= 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && math.Abs(out[last].At.X-q.IOPS) < most/50 &&
			math.Abs(math.Log2(out[last].At.Y/at.At.Y)) < 1 {
			at.Words = out[last].Words + " and " + at.Words
			at.At.Y = max(at.At.Y, out[last].At.Y)
			out = out[:last]
		}
		out = append(out, at)
	}
	return out
}

// loads are the values of the options that set the load of a point.
func (p *Curve) loads(q *curve.Point) string {
	var values []string
	for _, name := range p.Curve.Load {
		values = append(values, cmp.Or(q.Options[name], "-"))
	}
	return strings.Join(values, ", ")
}

type curveChart struct {
	Title, At, XTitle string
	Head              []string
	Table             [][]string
}

// Write writes the page.
func (p *Curve) Write(w io.Writer) error {
	var drawn []curveChart
	specs := map[string]charts.Spec{}
	frame := page.Page{Title: p.Title, Eyebrow: "fio latency", Generator: p.Generator, Specs: specs,
		Script: page.Charts}
	if m := p.Curve.Matrix; m != nil {
		parts, table, members := p.matrixParts(specs)
		frame.Main = map[string]any{"Matrix": parts, "Table": table, "Members": members, "Notes": p.Curve.Notes,
			"Direction": p.Curve.Direction, "Limits": p.limits()}
		return frame.Write(w, curveHTML)
	}
	for i := range p.Curve.Series {
		s := &p.Curve.Series[i]
		ch := curveChart{Title: s.Name(), XTitle: "IOPS"}
		if s.At != nil {
			ch.At = page.Micro(p.Curve.Sentence(s.At))
		}
		p.table(&ch, s)
		drawn = append(drawn, ch)
		specs["chart-"+strconv.Itoa(i)] = p.spec(s)
	}
	frame.Main = map[string]any{"Charts": drawn, "Notes": p.Curve.Notes, "Direction": p.Curve.Direction,
		"Limits": p.limits(), "Load": strings.Join(p.Curve.Load, ", ")}
	return frame.Write(w, curveHTML)
}

// spec is the chart of a series.
func (p *Curve) spec(s *curve.Series) charts.Spec {
	c := p.Curve
	chart := charts.LoadCurve{X: "IOPS"}
	if s.At != nil && c.Bound > 0 {
		chart.Rule = []charts.M{{"v": c.Bound, "text": page.Micro(s.At.Rule)}}
	}
	var points []charts.M
	for _, l := range p.labels(s) {
		chart.Loads = append(chart.Loads, charts.M{"x": l.At.X, "v": l.At.Y, "text": l.Words})
	}
	for _, pc := range p.Percentiles {
		key := fio.Percentile(pc)
		chart.Names = append(chart.Names, "p"+key)
		for order, i := range s.Points {
			q := &c.Points[i]
			v, ok := q.Percentiles[key]
			if !ok {
				continue
			}
			row := charts.M{"p": "p" + key, "x": q.IOPS, "v": v, "order": order, "knee": q.Knee,
				"text": fmt.Sprintf("%s: %s %s, p%s %s, %s", c.LoadOf(q), page.Number(q.IOPS),
					"IOPS", key, page.Latency(v), fio.Several(q.Runs, "run"))}
			if limits, ok := q.Limits[key]; ok {
				row["low"], row["high"] = limits.Low, limits.High
				row["text"] = fmt.Sprintf("%s (%s to %s)", row["text"], page.Latency(*limits.Low),
					page.Latency(*limits.High))
			}
			points = append(points, row)
		}
	}
	chart.Data = charts.Rows("points", points)
	return chart.Spec()
}

// table lists the points of a chart.
func (p *Curve) table(ch *curveChart, s *curve.Series) {
	c := p.Curve
	ch.Head = append(slices.Clone(c.Load), "runs", "I/Os", "IOPS", "MiB/s", "in flight", "mean")
	for _, pc := range p.Percentiles {
		ch.Head = append(ch.Head, "p"+fio.Percentile(pc))
	}
	for _, i := range s.Points {
		q := &c.Points[i]
		var row []string
		for _, name := range c.Load {
			row = append(row, q.Options[name])
		}
		bytes, flight, mean := "-", "-", "-"
		if q.BytesPerSecond != nil {
			bytes = page.Number(*q.BytesPerSecond / (1 << 20))
		}
		if q.Concurrency != nil {
			flight = page.Number(*q.Concurrency)
		}
		if q.Mean != nil {
			mean = page.Latency(*q.Mean)
		}
		iops := page.Number(q.IOPS)
		if q.Knee {
			iops += " (knee)"
		}
		row = append(row, strconv.Itoa(q.Runs), page.Number(q.Samples), iops, bytes, flight, mean)
		for _, pc := range p.Percentiles {
			text := "-"
			if v, ok := q.Percentiles[fio.Percentile(pc)]; ok {
				text = page.Latency(v)
				if slices.Contains(q.AtLeast, fio.Percentile(pc)) {
					text = "at least " + text
				}
			}
			row = append(row, text)
		}
		ch.Table = append(ch.Table, row)
	}
}
