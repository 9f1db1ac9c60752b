package curve

import (
	_ "embed" // the page's own part
	"fmt"
	"io"
	"slices"
	"strconv"

	"fiolat/fio"
	"fiolat/report/charts"
	"fiolat/report/page"
)

// Sentence formats an At as text.
func (c *Curve) Sentence(at *At) string {
	text := at.Rule
	if len(at.Options) > 0 {
		text = label(at.Options) + ": " + text
	}
	if at.IOPS == nil && at.best != nil {
		text += fmt.Sprintf(": at least %s IOPS (%s)", rounded(at.best.IOPS), c.loadOf(at.best))
		if len(at.Between) == 2 {
			next := &c.Points[at.Between[1]]
			text += fmt.Sprintf("; broken at %s (%s)", rounded(next.IOPS), c.loadOf(next))
		}
		if at.Note != "" {
			text += "; " + at.Note
		}
		return text + "; no estimate without repeats: run each setting 3 times"
	}
	if at.IOPS == nil {
		text += ": " + at.Note
		if at.High != nil {
			text += fmt.Sprintf("; fewer than %s IOPS", rounded(*at.High))
		}
		return text
	}
	text += fmt.Sprintf(": %s IOPS", rounded(*at.IOPS))
	switch {
	case at.Low != nil && at.High != nil:
		text += fmt.Sprintf(" (95 %% limits %s to %s)", rounded(*at.Low), rounded(*at.High))
	case at.Low != nil:
		text += fmt.Sprintf(" (95 %% limits from %s, no upper one)", rounded(*at.Low))
	case at.High != nil:
		text += fmt.Sprintf(" (95 %% limits up to %s, no lower one)", rounded(*at.High))
	}
	if len(at.Between) == 2 {
		text += fmt.Sprintf(", between %s and %s", c.loadOf(&c.Points[at.Between[0]]),
			c.loadOf(&c.Points[at.Between[1]]))
	}
	if at.Note != "" {
		text += "; " + at.Note
	}
	return text
}

func (c *Curve) loadOf(p *Point) string {
	options := map[string]string{}
	for _, name := range c.Load {
		options[name] = p.Options[name]
	}
	return label(options)
}

func rounded(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

//go:embed page.html
var pageHTML string

// Page is the curve as one self-contained HTML page.
type Page struct {
	Title, Generator string
	Curve            *Curve
	Percentiles      []float64
}

type chart struct {
	Title, At, XTitle string
	Head              []string
	Table             [][]string
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var drawn []chart
	specs := map[string]charts.Spec{}
	for i := range p.Curve.Series {
		s := &p.Curve.Series[i]
		ch := chart{Title: label(s.Options), XTitle: "IOPS"}
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
			"Limits":    slices.ContainsFunc(p.Curve.Points, func(q Point) bool { return len(q.Limits) > 0 })}}
	return frame.Write(w, pageHTML)
}

// spec is the chart of a series.
func (p *Page) spec(s *Series) charts.Spec {
	c := p.Curve
	chart := charts.LoadCurve{X: "IOPS"}
	if s.At != nil && c.bound > 0 {
		chart.Rule = []charts.M{{"v": c.bound, "text": page.Micro(s.At.Rule)}}
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
			row := charts.M{"p": "p" + key, "x": q.IOPS, "v": v, "order": order, "bend": q.Bend,
				"text": fmt.Sprintf("%s: %s %s, p%s %s, %s", c.loadOf(q), page.Number(q.IOPS),
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
func (p *Page) table(ch *chart, s *Series) {
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
		if q.Bend {
			iops += " (bend)"
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
