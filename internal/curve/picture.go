package curve

import (
	"math"
	"strings"

	"fiolat/fio"
	"fiolat/internal/page"
	"fiolat/internal/picture"
)

// Picture is the page's charts as a picture.
func (p *Page) Picture() *picture.Picture {
	c := p.Curve
	out := &picture.Picture{Title: p.Title, Subtitle: "direction: " + c.Direction + "; each point is a setting (" +
		strings.Join(c.Load, ", ") + "), at the geometric mean of its runs; a ring marks the bend: the most IOPS per " +
		"mean latency"}
	for n, pc := range p.Percentiles {
		color, _ := picture.Look(n)
		out.Legend = append(out.Legend, picture.Key{Text: "p" + fio.Percentile(pc), Color: color})
	}
	limits := false
	for i := range c.Series {
		s := &c.Series[i]
		var seen []float64
		var labels picture.Labels
		panel := picture.Panel{Title: label(s.Options), Height: max(360/float64(len(c.Series)), 220),
			X: picture.Axis{Title: p.Axis.title()}}
		for n, pc := range p.Percentiles {
			key := fio.Percentile(pc)
			color, _ := picture.Look(n)
			var line, bars, bend []picture.Point
			for _, i := range s.Points {
				q := &c.Points[i]
				at := picture.Point{X: p.Axis.of(q), Y: q.Percentiles[key]}
				if at.X <= 0 || at.Y <= 0 { // as on the page: not known
					continue
				}
				panel.X.Max = max(panel.X.Max, at.X*1.04)
				line, seen = append(line, at), append(seen, at.Y)
				label := picture.Label{Point: at, Text: c.loadOf(q)}
				if q.Bend {
					bend = append(bend, at)
				}
				if l := q.Limits[key]; l.Low != nil && l.High != nil {
					limits = true
					seen = append(seen, *l.Low, *l.High)
					bars = append(bars, picture.Point{X: at.X, Y: *l.Low}, picture.Point{X: at.X, Y: *l.High},
						picture.Point{Y: math.NaN()})
					label.Y = *l.High
				}
				if n+1 == len(p.Percentiles) { // the others are below
					labels, seen = append(labels, label), append(seen, 1.6*label.Y)
				}
			}
			panel.Marks = append(panel.Marks, picture.Line{Points: bars, Color: color, Width: 1.5},
				picture.Line{Points: line, Color: color, Width: 2},
				picture.Dots{Points: bend, Color: color, Radius: 8, Ring: true},
				picture.Dots{Points: line, Color: color, Radius: 4})
		}
		panel.Marks = append(panel.Marks, labels)
		if s.At != nil && c.bound > 0 {
			seen = append(seen, c.bound)
			panel.Marks = append(panel.Marks, picture.Rule{At: c.bound, Text: s.At.Rule, Color: picture.Change})
			out.Notes = append(out.Notes, picture.Note{Text: c.Sentence(s.At)})
		}
		panel.X.Max = max(panel.X.Max, 1)
		panel.X.Label(page.Number)
		panel.Y = picture.Around(seen, page.Latency)
		out.Panels = append(out.Panels, panel)
	}
	if limits {
		out.Subtitle += "; bars are 95 % confidence limits from the spread between repeats"
	}
	for _, note := range c.Notes {
		out.Notes = append(out.Notes, picture.Note{Text: note})
	}
	return out
}
