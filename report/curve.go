package report

import (
	_ "embed" // the page's own part
	"fmt"
	"io"
	"slices"
	"strconv"

	"fiolat/analysis/curve"
	"fiolat/fio"
	"fiolat/report/charts"
	"fiolat/report/page"
)

//go:embed curve.html
var curveHTML string

// Curve is a curve as one self-contained HTML page.
type Curve struct {
	Title, Generator string
	Curve            *curve.Curve
	Percentiles      []float64
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
	frame := page.Page{Title: p.Title, Eyebrow: "fio latency", Generator: p.Generator, Specs: specs,
		Script: page.Charts, Main: map[string]any{"Charts": drawn, "Notes": p.Curve.Notes,
			"Direction": p.Curve.Direction,
			"Limits":    slices.ContainsFunc(p.Curve.Points, func(q curve.Point) bool { return len(q.Limits) > 0 })}}
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
				if text = page.Latency(v); slices.Contains(q.AtLeast, fio.Percentile(pc)) {
					text = "at least " + text
				}
			}
			row = append(row, text)
		}
		ch.Table = append(ch.Table, row)
	}
}
