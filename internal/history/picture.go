package history

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fiolat/internal/picture"
)

// Picture is the page's charts as a picture: each metric over the runs with its limits, levels and change points.
func Picture(all []Series, results []Result) *picture.Picture {
	out := &picture.Picture{Title: "History"}
	out.Subtitle = "A point is a run, its bar the 95 % limits by the noise within the run. A dashed line is a change " +
		"point, a horizontal line the level."
	if len(all) == 1 {
		out.Title = all[0].Name
	}
	for n := range all {
		s := &all[n]
		notes := picture.Pins{}
		for i := range s.Runs {
			for _, note := range s.Runs[i].Notes {
				name := picture.Letter(len(out.Notes))
				notes = append(notes, picture.Pin{From: float64(i + 1), To: float64(i + 1), Name: name, Note: true})
				out.Notes = append(out.Notes, picture.Note{Name: name, Text: numbered(s, i) + ", " + moment(note.At) +
					": " + note.Text})
			}
		}
		for k := range results {
			if r := &results[k]; r.Series == s.Name {
				panel := panelOf(s, r)
				if len(all) > 1 {
					panel.Title = s.Name + ": " + panel.Title
				}
				panel.Marks = append(panel.Marks, notes)
				out.Panels = append(out.Panels, panel)
			}
		}
	}
	return out
}

func panelOf(s *Series, r *Result) picture.Panel {
	panel := picture.Panel{Title: r.Metric, Height: 170, X: picture.Axis{Min: 0.5, Max: float64(len(r.Runs)) + 0.5,
		NoGrid: true}}
	if s.Unordered {
		panel.Title += ", in the order given"
	}
	var seen []float64
	var points, bars, levels []picture.Point
	color, _ := picture.Look(0)
	atLeast := false
	for i, p := range r.Runs {
		if p.Value == nil {
			continue
		}
		x := float64(i + 1)
		points, seen = append(points, picture.Point{X: x, Y: *p.Value}), append(seen, *p.Value)
		atLeast = atLeast || p.AtLeast
		if p.Low != nil && p.High != nil {
			bars = append(bars, picture.Point{X: x, Y: *p.Low}, picture.Point{X: x, Y: *p.High},
				picture.Point{Y: math.NaN()})
			seen = append(seen, *p.Low, *p.High)
		}
	}
	if atLeast {
		panel.Title += "; some in fio's last bucket are lower limits"
	}
	from := 0.5
	level := func(to, v float64) {
		levels = append(levels, picture.Point{X: from, Y: v}, picture.Point{X: to, Y: v},
			picture.Point{Y: math.NaN()})
		seen, from = append(seen, v), to
	}
	for _, c := range r.Changes {
		at := float64(c.Index) + 0.5
		level(at, c.Before)
		panel.Marks = append(panel.Marks, picture.Flag{At: at, Text: percent(c.Change)})
	}
	if n := len(r.Changes); n > 0 {
		level(float64(len(r.Runs))+0.5, r.Changes[n-1].After)
	}
	panel.Marks = append(panel.Marks, picture.Line{Points: levels, Width: 1.5},
		picture.Line{Points: bars, Color: color, Width: 1}, picture.Dots{Points: points, Color: color, Radius: 3.5})
	text := func(v float64) string { return format(r.of, v) }
	if r.of.Name == Histogram {
		for _, v := range seen {
			panel.Y.Max = max(panel.Y.Max, v*1.1)
		}
		panel.Y.Max = max(panel.Y.Max, 1e-4)
		panel.Y.Label(func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) })
	} else {
		panel.Y = picture.Around(seen, text)
	}
	labels := axisLabels(s, r)
	for _, i := range slices.Sorted(maps.Keys(labels)) {
		panel.X.Ticks = append(panel.X.Ticks, picture.Tick{At: float64(i), Text: labels[i]})
	}
	return panel
}
