package report

import (
	_ "embed" // the page's template
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/analysis/history"
	"fiolat/fio"
	"fiolat/report/charts"
	"fiolat/report/page"
	"fiolat/report/picture"
)

//go:embed history.html
var historyHTML string

type historySeries struct {
	Name, Span string
	Unordered  bool
	Changes    []historyChange // for the worse
	Better     []historyChange
	Outliers   []historyOutlier
	Charts     []historyChart
	Runs       []historyRun
}

type historyChange struct {
	Anchor, Run, Start, Metric, Before, After, Change, Limits string
	Options                                                   string // that changed there
}

type historyOutlier struct{ Anchor, Run, Start, Metric, Value, Level, Off string }

type historyChart struct{ ID, Title, Metric string }

type historyRun struct {
	Anchor, Title, ID, Start string
	Number, Of               int
	Labels                   []string
	Notes                    []string
	Rows                     [][]string
	Previous, Next           string
}

// WriteHistory writes a self-contained HTML page: each metric over the runs with its limits, the change points, labels
// and notes. A click on a run opens its figures. generator is the program and its version.
func WriteHistory(w io.Writer, all []history.Series, results []history.Result, generator string) error {
	var series []historySeries
	var lead []string
	specs := map[string]charts.Spec{}
	for n := range all {
		s := &all[n]
		ps := historySeries{Name: s.Title(), Unordered: s.Unordered, Span: fio.Several(len(s.Runs), "run")}
		if !s.Unordered && len(s.Runs) > 0 {
			ps.Span += fmt.Sprintf(", %s to %s", dayOf(s, 0), dayOf(s, len(s.Runs)-1))
		}
		anchor := func(i int) string { return fmt.Sprintf("s%d-run-%d", n+1, i+1) }
		for i := range s.Runs {
			ps.Runs = append(ps.Runs, newHistoryRun(s, i, anchor))
		}
		worse, better := history.Turns(results, s.Name)
		rows := func(turns []history.Turn) (out []historyChange) {
			for _, t := range turns {
				before, after := t.Levels(t.Change, historyValue)
				out = append(out, historyChange{anchor(t.Index), numberedRun(s, t.Index), moment(s.Runs[t.Index].Start),
					t.Metric, before, after, percent(t.Change.Change), percent(t.Low) + " to " + percent(t.High),
					t.Options})
			}
			return out
		}
		ps.Changes, ps.Better = rows(worse), rows(better)
		first := func(metric string) int { // regressions first, the newest on top
			is := func(t history.Turn) bool { return t.Last && t.Metric == metric }
			if at := slices.IndexFunc(worse, is); at >= 0 {
				return at
			}
			if at := slices.IndexFunc(better, is); at >= 0 {
				return len(worse) + at
			}
			return len(worse) + len(better)
		}
		for k := range results {
			r := &results[k]
			if r.Series != s.Name {
				continue
			}
			c := historyChart{ID: fmt.Sprintf("s%d-chart-%d", n+1, len(ps.Charts)+1), Title: chartTitle(r),
				Metric: r.Metric}
			specs[c.ID] = historySpec(s, r, anchor)
			ps.Charts = append(ps.Charts, c)
			for _, o := range r.Outliers {
				ps.Outliers = append(ps.Outliers, historyOutlier{anchor(o.Index), numberedRun(s, o.Index),
					moment(s.Runs[o.Index].Start), r.Metric, historyValue(r.Of(), o.Value),
					historyValue(r.Of(), o.Level), percent(o.Change)})
			}
			for i, point := range r.Runs {
				value, limits := "no such I/O", "unknown"
				if point.Value != nil {
					value = historyValue(r.Of(), *point.Value)
					if point.AtLeast {
						value = "at least " + value
					}
				}
				if point.Low != nil {
					limits = historyValue(r.Of(), *point.Low) + " to " + historyValue(r.Of(), *point.High)
				}
				change := ""
				for _, c := range r.Changes {
					if c.Index == i {
						change = percent(c.Change)
					}
				}
				ps.Runs[i].Rows = append(ps.Runs[i].Rows, []string{r.Metric, value, limits, change})
			}
		}
		slices.SortStableFunc(ps.Charts, func(a, b historyChart) int { return first(a.Metric) - first(b.Metric) })
		text := history.Lead(len(s.Runs), worse, better)
		if len(all) > 1 {
			text = s.Title() + ": " + text
		}
		lead = append(lead, text)
		series = append(series, ps)
	}
	p := page.Page{Title: "History", Eyebrow: "fio latency", Generator: generator, Lead: lead, Specs: specs,
		Script: page.Charts, Main: series}
	return p.Write(w, historyHTML)
}

// DrawHistory draws the first chart of each series of the page, as PNG or else as SVG.
func DrawHistory(w io.Writer, all []history.Series, results []history.Result, png bool) error {
	out := picture.Picture{Title: "History", Subtitle: "Each point is a run. Bars are 95 % confidence intervals, lines the " +
		"level of the runs."}
	if len(all) == 1 {
		out.Title += ": " + all[0].Title()
	}
	for n := range all {
		s := &all[n]
		var most *history.Result
		if first := history.Leading(history.Turns(results, s.Name)); first != nil {
			most = first.Result
		} else if k := slices.IndexFunc(results, func(r history.Result) bool { return r.Series == s.Name }); k >= 0 {
			most = &results[k]
		}
		if most != nil {
			panel := historyPanel(s, most)
			if len(all) > 1 {
				panel.Title = s.Title() + ": " + panel.Title
			}
			out.Panels = append(out.Panels, panel)
			for _, c := range most.Changes {
				out.Notes = append(out.Notes, picture.Note{Text: fmt.Sprintf("%s changed by %s at run %s: %s",
					most.Metric, percent(c.Change), numberedRun(s, c.Index), most.Sentence(&c, historyValue))})
			}
		}
	}
	return out.Write(w, png)
}

// chartTitle is the title of a metric's chart.
func chartTitle(r *history.Result) string {
	if r.Of().Name == fio.Histogram {
		return r.Metric + ": distance from the first level"
	}
	return r.Metric
}

// historyPanel is the chart of a metric over the runs.
func historyPanel(s *history.Series, r *history.Result) picture.Panel {
	panel := picture.Panel{Title: chartTitle(r), Height: 300,
		X: picture.Axis{Min: 0.5, Max: float64(len(r.Runs)) + 0.5}}
	labels := runLabels(s, r)
	for _, i := range slices.Sorted(maps.Keys(labels)) {
		panel.X.Ticks = append(panel.X.Ticks, picture.Tick{At: float64(i), Text: labels[i]})
	}
	color, _ := picture.Look(0)
	var seen []float64
	dots := picture.Dots{Color: color}
	line := func(x, y, x2, y2, width float64) picture.Line {
		return picture.Line{Points: []picture.Point{{X: x, Y: y}, {X: x2, Y: y2}}, Color: color, Width: width}
	}
	for i, p := range r.Runs {
		at := float64(i + 1)
		if p.Value != nil {
			dots.Points, seen = append(dots.Points, picture.Point{X: at, Y: *p.Value}), append(seen, *p.Value)
		}
		if p.Low != nil && p.High != nil {
			panel.Marks, seen = append(panel.Marks, line(at, *p.Low, at, *p.High, 1)), append(seen, *p.Low, *p.High)
		}
	}
	panel.Marks = append(panel.Marks, dots)
	text := func(v float64) string { return historyValue(r.Of(), v) }
	if r.Of().Name == fio.Histogram {
		panel.Y = picture.FromZero(slices.Max(append(seen, 0)), 4, text)
	} else {
		panel.Y = picture.Around(slices.DeleteFunc(seen, func(v float64) bool { return v <= 0 }), text)
	}
	from := 0.5
	for _, c := range r.Changes {
		at := float64(c.Index) + 0.5
		panel.Marks = append(panel.Marks, line(from, c.Before, at, c.Before, 1.5), picture.Line{Color: picture.Stalled,
			Points: []picture.Point{{X: at, Y: panel.Y.Min}, {X: at, Y: panel.Y.Max}}, Dash: []float64{4, 3}, Width: 2},
			picture.Texts{{At: picture.Point{X: at, Y: panel.Y.Max}, Words: percent(c.Change)}})
		from = at
	}
	if n := len(r.Changes); n > 0 {
		panel.Marks = append(panel.Marks, line(from, r.Changes[n-1].After, panel.X.Max, r.Changes[n-1].After, 1.5))
	}
	return panel
}

// historyValue formats a value of a metric with its unit.
func historyValue(m fio.Metric, v float64) string {
	switch m.Figure().Unit {
	case fio.PerSecond:
		return page.Number(v) + "/s"
	case fio.Share:
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return page.Latency(v)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// dayOf is the day of a run, with the time if another run began on that day.
func dayOf(s *history.Series, i int) string {
	start := s.Runs[i].Start
	for k := range s.Runs {
		if k != i && day(s.Runs[k].Start) == day(start) {
			return start.UTC().Format("2006-01-02 15:04")
		}
	}
	return day(start)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "start unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// numberedRun names a run by its number, from 1, and its name.
func numberedRun(s *history.Series, i int) string {
	return fmt.Sprintf("%d: %s", i+1, s.Runs[i].Title())
}

func percent(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func newHistoryRun(s *history.Series, i int, anchor func(int) string) historyRun {
	r := &s.Runs[i]
	out := historyRun{Anchor: anchor(i), Title: r.Title(), ID: r.ID, Start: moment(r.Start), Number: i + 1,
		Of: len(s.Runs)}
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		out.Labels = append(out.Labels, k+"="+r.Labels[k])
	}
	for _, note := range r.Notes {
		out.Notes = append(out.Notes, moment(note.At)+": "+note.Text)
	}
	if i > 0 {
		out.Previous = anchor(i - 1)
	}
	if i+1 < len(s.Runs) {
		out.Next = anchor(i + 1)
	}
	return out
}

// historySpec is the chart of a metric over the runs.
func historySpec(s *history.Series, r *history.Result, anchor func(int) string) charts.Spec {
	var points, levels, changes, notes []charts.M
	for i, p := range r.Runs {
		if p.Value != nil {
			points = append(points, charts.M{"i": i + 1, "name": r.Metric, "v": *p.Value, "low": p.Low,
				"high": p.High, "anchor": anchor(i), "text": fmt.Sprintf("run %d, %s, %s: %s", i+1, s.Runs[i].Title(),
					moment(s.Runs[i].Start), historyValue(r.Of(), *p.Value))})
		}
		if len(s.Runs[i].Notes) > 0 {
			var words []string
			for _, n := range s.Runs[i].Notes {
				words = append(words, n.Text)
			}
			notes = append(notes, charts.M{"i": i + 1, "anchor": anchor(i), "text": strings.Join(words, "; ")})
		}
	}
	from := 0.5
	for _, c := range r.Changes {
		at := float64(c.Index) + 0.5
		levels = append(levels, charts.M{"from": from, "to": at, "v": c.Before})
		from = at
		changes = append(changes, charts.M{"i": at, "anchor": anchor(c.Index), "label": percent(c.Change),
			"text": percent(c.Change) + " from run " + numberedRun(s, c.Index)})
	}
	if n := len(r.Changes); n > 0 {
		levels = append(levels, charts.M{"from": from, "to": float64(len(r.Runs)) + 0.5, "v": r.Changes[n-1].After})
	}
	labels := runLabels(s, r)
	return charts.History{Data: charts.Rows("points", points), Rate: r.Of().Figure().Unit == fio.PerSecond,
		Changes: charts.Rows("changes", changes), Click: "datum.anchor", Runs: &charts.RunAxis{N: len(r.Runs),
			Labels: labels, Share: r.Of().Name == fio.Histogram, Levels: charts.Rows("levels", levels),
			Notes: charts.Rows("notes", notes)}}.Spec()
}

// runLabels name the first, a middle and the last run, by their number from 1.
func runLabels(s *history.Series, r *history.Result) map[int]string {
	labels := map[int]string{}
	for _, i := range []int{0, len(r.Runs) / 2, len(r.Runs) - 1} {
		labels[i+1] = "run " + strconv.Itoa(i+1)
		if r.Runs[i].Start != nil && !s.Unordered {
			labels[i+1] = dayOf(s, i)
		}
	}
	return labels
}
