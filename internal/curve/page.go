package curve

import (
	"crypto/sha256"
	_ "embed" // the page's own parts
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/internal/units"
)

// Axis is the quantity on the page's horizontal axis.
type Axis string

// The axes.
const (
	axisIOPS        Axis = "iops"
	axisMiB         Axis = "mib"
	axisConcurrency Axis = "concurrency"
)

// axes lists all of them, the default first.
var axes = []Axis{axisIOPS, axisMiB, axisConcurrency}

func (a Axis) title() string {
	return map[Axis]string{axisIOPS: "IOPS", axisMiB: "MiB/s", axisConcurrency: "I/Os in flight (mean)"}[a]
}

// of returns a point's value on the axis; 0 if it is not known.
func (a Axis) of(p *Point) float64 {
	switch {
	case a == axisMiB && p.BytesPerSecond != nil:
		return *p.BytesPerSecond / (1 << 20)
	case a == axisConcurrency && p.Concurrency != nil:
		return *p.Concurrency
	case a == axisIOPS:
		return p.IOPS
	}
	return 0
}

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

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
)

// Page is the curve as one self-contained HTML page, without scripts or network access.
type Page struct {
	Title, Generator string
	Curve            *Curve
	Percentiles      []float64
	Axis             Axis
}

type chart struct {
	Title      string
	At         string
	XTitle     string
	XTicks     []tick
	YTicks     []tick
	Lines      []line
	Rule       *tick
	Table      [][]string
	Head       []string
	Width      float64
	Height     float64
	Left, Top  float64
	Right, Low float64
	MidX       float64
	XLabel     float64
	TickLabel  float64
	Legend     []line
}

type tick struct {
	At   float64
	Text string
}

type line struct {
	Name, Class string
	Path        string
	Dots        []dot
}

type dot struct {
	X, Y, Low, High float64
	Limits          bool
	Bend            bool
	Title           string
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var charts []chart
	for i := range p.Curve.Series {
		charts = append(charts, p.chart(&p.Curve.Series[i]))
	}
	hash := sha256.Sum256([]byte(pageCSS))
	return template.Must(template.New("curve").Parse(pageHTML)).Execute(w, map[string]any{
		"Title": p.Title, "Generator": p.Generator, "Style": template.CSS(pageCSS), "Charts": charts,
		"CSP": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
			"'; base-uri 'none'; form-action 'none'",
		"Notes": p.Curve.Notes, "Direction": p.Curve.Direction,
		"Limits": slices.ContainsFunc(p.Curve.Points, func(q Point) bool { return len(q.Limits) > 0 }),
	})
}

const (
	width, height          = 900.0, 420.0
	left, right, top, base = 90.0, 24.0, 16.0, 56.0
)

func (p *Page) chart(s *Series) chart {
	c := p.Curve
	ch := chart{Title: label(s.Options), XTitle: p.Axis.title(), Width: width, Height: height, Left: left, Top: top,
		Right: width - right, Low: height - base, MidX: (left + width - right) / 2, XLabel: height - 10,
		TickLabel: height - base + 20}
	if s.At != nil {
		ch.At = c.Sentence(s.At)
	}
	mostX, leastY, mostY := 0.0, math.Inf(1), 0.0
	see := func(y float64) {
		if y > 0 {
			leastY, mostY = min(leastY, y), max(mostY, y)
		}
	}
	bound := 0.0
	if s.At != nil {
		bound = c.bound
		see(bound)
	}
	for _, i := range s.Points {
		q := &c.Points[i]
		mostX = max(mostX, p.Axis.of(q))
		for _, pc := range p.Percentiles {
			see(q.Percentiles[units.Percentile(pc)])
		}
	}
	if !(mostY > 0) || mostX == 0 {
		leastY, mostY, mostX = 1e3, 1e6, max(mostX, 1)
	}
	low, high := math.Floor(math.Log10(leastY)), math.Ceil(math.Log10(mostY)+1e-9)
	if high == low {
		high++
	}
	step := nice(mostX / 6)
	endX := step * math.Ceil(mostX/step)
	x := func(v float64) float64 { return left + v/endX*(width-left-right) }
	y := func(ns float64) float64 {
		share := (math.Log10(ns) - low) / (high - low)
		return top + (1-max(0, min(share, 1)))*(height-top-base)
	}
	for v := 0.0; v <= endX*(1+1e-9); v += step {
		ch.XTicks = append(ch.XTicks, tick{x(v), short(v)})
	}
	for e := low; e <= high; e++ {
		ch.YTicks = append(ch.YTicks, tick{y(math.Pow(10, e)), latency(math.Pow(10, e))})
	}
	if bound > 0 {
		ch.Rule = &tick{y(bound), s.At.Rule}
	}
	for k, pc := range p.Percentiles {
		key := units.Percentile(pc)
		l := line{Name: "p" + key, Class: "s" + strconv.Itoa(k%6)}
		var path []string
		for _, i := range s.Points {
			q := &c.Points[i]
			v, ok := q.Percentiles[key]
			if !ok || v <= 0 {
				continue
			}
			d := dot{X: x(p.Axis.of(q)), Y: y(v), Bend: q.Bend,
				Title: fmt.Sprintf("%s: %s %s, p%s %s, %d runs", c.loadOf(q), short(p.Axis.of(q)), p.Axis.title(), key,
					latency(v), q.Runs)}
			if limits, ok := q.Limits[key]; ok {
				d.Limits, d.Low, d.High = true, y(*limits.Low), y(*limits.High)
				d.Title += fmt.Sprintf(" (%s to %s)", latency(*limits.Low), latency(*limits.High))
			}
			l.Dots = append(l.Dots, d)
			path = append(path, fmt.Sprintf("%.1f,%.1f", d.X, d.Y))
		}
		l.Path = strings.Join(path, " ")
		ch.Lines = append(ch.Lines, l)
	}
	ch.Legend = ch.Lines
	p.table(&ch, s)
	return ch
}

// table lists the points of a chart.
func (p *Page) table(ch *chart, s *Series) {
	c := p.Curve
	ch.Head = append(slices.Clone(c.Load), "runs", "I/Os", "IOPS", "MiB/s", "in flight", "mean")
	for _, pc := range p.Percentiles {
		ch.Head = append(ch.Head, "p"+units.Percentile(pc))
	}
	for _, i := range s.Points {
		q := &c.Points[i]
		var row []string
		for _, name := range c.Load {
			row = append(row, q.Options[name])
		}
		bytes, flight, mean := "-", "-", "-"
		if q.BytesPerSecond != nil {
			bytes = short(*q.BytesPerSecond / (1 << 20))
		}
		if q.Concurrency != nil {
			flight = short(*q.Concurrency)
		}
		if q.Mean != nil {
			mean = latency(*q.Mean)
		}
		iops := rounded(q.IOPS)
		if q.Bend {
			iops += " (bend)"
		}
		row = append(row, strconv.Itoa(q.Runs), rounded(q.Samples), iops, bytes, flight, mean)
		for _, pc := range p.Percentiles {
			text := "-"
			if v, ok := q.Percentiles[units.Percentile(pc)]; ok {
				if text = latency(v); slices.Contains(q.AtLeast, units.Percentile(pc)) {
					text = "at least " + text
				}
			}
			row = append(row, text)
		}
		ch.Table = append(ch.Table, row)
	}
}

// nice returns the smallest of 1, 2 and 5 times a power of ten that is not below v.
func nice(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= v*(1-1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}

func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func latency(ns float64) string { return fio.PageLatency(ns, 3) }
