package history

import (
	_ "embed" // the page's template and style
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/internal/units"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// FormatValue formats a value of a metric with its unit. unit is that of latencies: ns, us or ms.
func FormatValue(m fio.Metric, v float64, unit string) string {
	number := func(v float64) string {
		decimals := 0
		if a := math.Abs(v); a > 0 && a < 1000 {
			decimals = min(max(3-int(math.Floor(math.Log10(a))), 0), 6)
		}
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	switch {
	case m.Name == "iops":
		return number(v) + "/s"
	case m.Name == Histogram:
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return number(v/units.Divisors[unit]) + " " + unit
}

// The dimensions of a chart in the units of its view box.
const (
	chartWidth, chartHeight         = 960, 200
	chartLeft, chartRight, chartTop = 90, 14, 26
	chartBottom                     = 22
	pointRadius, mostTicks          = 3.5, 5
)

type page struct {
	Title  string
	CSP    string
	Style  template.CSS
	Series []pageSeries
}

type pageSeries struct {
	Name, Span string
	Unordered  bool
	Changes    []pageChange
	Outliers   []pageOutlier
	Charts     []chart
	Runs       []pageRun
}

type pageChange struct{ Anchor, Run, Start, Metric, Before, After, Change, Limits string }

type pageOutlier struct{ Anchor, Run, Start, Metric, Value, Level, Off string }

type chart struct {
	Title, Metric         string
	Width, Height         int
	Left, Right, Top, End float64
	Ticks                 []tick
	Marks                 []mark
	Levels                []line
	Changes               []changeMark
	Notes                 []changeMark
	Dates                 []tick
}

type tick struct {
	At    float64
	Value float64
	Label string
}

type mark struct {
	X, Y, Low, High, Radius float64
	HasLimits               bool
	Value                   float64
	Index                   int
	Anchor, Title           string
}

type line struct{ From, To, Y float64 }

type changeMark struct {
	X             float64
	Index         int
	Label, Anchor string
	End           bool // the label is to the left of the mark
}

type pageRun struct {
	Anchor, Title, ID, Start string
	Number, Of               int
	Labels                   []string
	Notes                    []string
	Rows                     [][]string
	Previous, Next           string
}

// WritePage writes a self-contained HTML page: each metric over the runs with its limits, the change points, labels
// and notes. A click on a run opens its figures. unit is that of latencies: ns, us or ms.
func WritePage(w io.Writer, all []Series, results []Result, unit string) error {
	p := page{Title: "History", Style: template.CSS(pageCSS), //nolint:gosec // our own file
		CSP: "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"}
	for n := range all {
		s := &all[n]
		ps := pageSeries{Name: s.Name, Unordered: s.Unordered, Span: fmt.Sprintf("%d runs", len(s.Runs))}
		if !s.Unordered && len(s.Runs) > 0 {
			ps.Span += fmt.Sprintf(", %s to %s", day(s.Runs[0].Start), day(s.Runs[len(s.Runs)-1].Start))
		}
		anchor := func(i int) string { return fmt.Sprintf("s%d-run-%d", n+1, i+1) }
		for i := range s.Runs {
			ps.Runs = append(ps.Runs, newPageRun(s, i, anchor))
		}
		for k := range results {
			r := &results[k]
			if r.Series != s.Name {
				continue
			}
			ps.Charts = append(ps.Charts, newChart(s, r, unit, anchor))
			for _, c := range r.Changes {
				ps.Changes = append(ps.Changes, pageChange{anchor(c.Index), numbered(s, c.Index),
					moment(s.Runs[c.Index].Start), r.Metric, FormatValue(r.of, c.Before, unit),
					FormatValue(r.of, c.After, unit), percent(c.Change),
					percent(c.Low) + " to " + percent(c.High)})
			}
			for _, o := range r.Outliers {
				ps.Outliers = append(ps.Outliers, pageOutlier{anchor(o.Index), numbered(s, o.Index),
					moment(s.Runs[o.Index].Start), r.Metric, FormatValue(r.of, o.Value, unit),
					FormatValue(r.of, o.Level, unit), percent(o.Change)})
			}
			for i, point := range r.Runs {
				value, limits := "no such I/O", "unknown"
				if point.Value != nil {
					value = FormatValue(r.of, *point.Value, unit)
					if point.AtLeast {
						value = "at least " + value
					}
				}
				if point.Low != nil {
					limits = FormatValue(r.of, *point.Low, unit) + " to " + FormatValue(r.of, *point.High, unit)
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
		p.Series = append(p.Series, ps)
	}
	return template.Must(template.New("history").Parse(pageHTML)).Execute(w, p)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func moment(t time.Time) string {
	if t.IsZero() {
		return "start unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// numbered names a run by its number, from 1, and its name.
func numbered(s *Series, i int) string { return fmt.Sprintf("%d: %s", i+1, s.Runs[i].Title()) }

func percent(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func newPageRun(s *Series, i int, anchor func(int) string) pageRun {
	r := &s.Runs[i]
	out := pageRun{Anchor: anchor(i), Title: r.Title(), ID: r.ID, Start: moment(r.Start), Number: i + 1,
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

// newChart lays out a metric: the runs from left to right at equal distances, latencies and IOPS on a logarithmic
// axis, distances on a linear one from 0.
func newChart(s *Series, r *Result, unit string, anchor func(int) string) chart {
	linear := r.of.Name == Histogram
	scale := math.Log
	if linear {
		scale = func(v float64) float64 { return v }
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range r.Runs {
		for _, v := range []*float64{p.Value, p.Low, p.High} {
			if v != nil {
				low, high = min(low, scale(*v)), max(high, scale(*v))
			}
		}
	}
	if linear {
		low = 0
	}
	if low > high {
		low, high = 0, 1
	}
	room := max((high-low)*0.06, 0.01)
	if high += room; !linear {
		low -= room
	}
	end := float64(chartHeight - chartBottom)
	y := func(v float64) float64 {
		return round(chartTop + (high-scale(v))/(high-low)*(end-chartTop))
	}
	step := float64(chartWidth-chartLeft-chartRight) / float64(max(len(r.Runs), 1))
	x := func(i int) float64 { return round(chartLeft + (float64(i)+0.5)*step) }
	c := chart{Title: r.Metric, Metric: r.Metric, Width: chartWidth, Height: chartHeight, Left: chartLeft,
		Right: chartWidth - chartRight, Top: chartTop, End: end}
	if linear {
		c.Title += ": distance from the first level"
	}
	for _, v := range ticks(low, high, linear) {
		c.Ticks = append(c.Ticks, tick{y(v), v, FormatValue(r.of, v, unit)})
	}
	radius := min(pointRadius, max(1.2, step/2.5))
	for i, p := range r.Runs {
		if p.Value == nil {
			continue
		}
		m := mark{X: x(i), Y: y(*p.Value), Value: *p.Value, Index: i, Anchor: anchor(i), Radius: radius,
			Title: fmt.Sprintf("run %d, %s, %s: %s", i+1, s.Runs[i].Title(), moment(s.Runs[i].Start),
				FormatValue(r.of, *p.Value, unit))}
		if p.Low != nil {
			m.HasLimits, m.Low, m.High = true, y(*p.Low), y(*p.High)
		}
		c.Marks = append(c.Marks, m)
	}
	from := 0
	for k := 0; k <= len(r.Changes); k++ {
		to := len(r.Runs)
		if k < len(r.Changes) {
			to = r.Changes[k].Index
		}
		var v float64
		switch {
		case k > 0:
			v = r.Changes[k-1].After
		case len(r.Changes) > 0:
			v = r.Changes[0].Before
		}
		if v > 0 || linear && len(r.Changes) > 0 {
			c.Levels = append(c.Levels, line{round(x(from) - step/2), round(x(to-1) + step/2), y(v)})
		}
		if k < len(r.Changes) {
			at := round(x(to) - step/2)
			c.Changes = append(c.Changes, changeMark{at, to, percent(r.Changes[k].Change), anchor(to),
				at > chartWidth-80})
		}
		from = to
	}
	for i := range s.Runs {
		if len(s.Runs[i].Notes) > 0 {
			var words []string
			for _, n := range s.Runs[i].Notes {
				words = append(words, n.Text)
			}
			label := strings.Join(words, "; ")
			c.Notes = append(c.Notes, changeMark{X: x(i), Index: i, Label: label, Anchor: anchor(i)})
		}
	}
	for _, i := range slices.Compact([]int{0, len(r.Runs) / 2, len(r.Runs) - 1}) {
		if i >= 0 && i < len(r.Runs) {
			label := "run " + strconv.Itoa(i+1)
			if start := r.Runs[i].Start; start != nil && !s.Unordered {
				label = day(*start)
			}
			c.Dates = append(c.Dates, tick{At: x(i), Label: label})
		}
	}
	return c
}

func round(v float64) float64 { return math.Round(v*100) / 100 }

// ticks returns a few round values between the ends of an axis, given as logarithms unless the axis is linear.
func ticks(low, high float64, linear bool) (out []float64) {
	from, to := low, high
	if !linear {
		from, to = math.Exp(low), math.Exp(high)
	}
	for power := math.Floor(math.Log10((to - from) / mostTicks)); ; power++ {
		for _, f := range []float64{1, 2, 5} {
			size := f * math.Pow(10, power)
			if (to-from)/size > mostTicks+1 {
				continue
			}
			for k := math.Ceil(from / size); k*size <= to; k++ {
				if v := k * size; v > 0 || linear {
					out = append(out, v)
				}
			}
			return out
		}
	}
}
