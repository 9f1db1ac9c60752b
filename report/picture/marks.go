package picture

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// Point is a place in a panel. NaN as Y ends a line.
type Point struct{ X, Y float64 }

// Box is an area of a panel; an infinite edge is the panel's edge.
type Box struct{ X, X2, Y, Y2 float64 }

// Across is an area over all of a panel's height.
func Across(from, to float64) Box { return Box{from, to, math.Inf(-1), math.Inf(1)} }

// Mark is something drawn in a panel.
type Mark interface{ draw(f *frame) }

// Line joins points.
type Line struct {
	Points []Point
	Color  string // "" is the colour of text
	Dash   []float64
	Width  float64
}

// Area fills boxes.
type Area struct {
	Boxes   []Box
	Color   string // "" is the colour of the paper
	Opacity float64
}

// Gap is a time in which nothing completed.
type Gap struct{ From, To float64 }

// Rule is a line across the panel with a text.
type Rule struct {
	At    float64
	Text  string
	Color string
}

// Pin marks a time, or a moment, with a name at the top.
type Pin struct {
	From, To float64
	Name     string
	Note     bool
}

// Pins are placed below each other where they are close.
type Pins []Pin

// Dots are points, with rings around some.
type Dots struct {
	Points, Rings []Point
	Color         string
}

// Text is words above a point.
type Text struct {
	At    Point
	Words string
}

// Texts are placed beside each other where they are close.
type Texts []Text

// frame is the area of a panel.
type frame struct {
	*drawing
	panel                    *Panel
	left, top, right, bottom float64
}

func (f *frame) px(x float64) float64 { return f.left + (f.right-f.left)*f.panel.X.share(x) }
func (f *frame) py(y float64) float64 { return f.bottom - (f.bottom-f.top)*f.panel.Y.share(y) }

// draw draws the panel, and below it its axis if wanted.
func (f *frame) draw(below bool) {
	x, y := &f.panel.X, &f.panel.Y
	for _, t := range x.Ticks {
		f.line([]Point{{f.px(t.At), f.top}, {f.px(t.At), f.bottom}}, color(grid, 1), 1, nil)
	}
	last := math.Inf(1)
	for _, t := range y.Ticks {
		at := f.py(t.At)
		f.line([]Point{{f.left, at}, {f.right, at}}, color(grid, 1), 1, nil)
		if math.Abs(last-at) >= tickSize {
			f.text(f.left-6, at+4, f.cut(t.Text, tickSize, f.left-6-edge/2), tickSize, right, quiet)
			last = at
		}
	}
	for _, m := range f.panel.Marks {
		m.draw(f)
	}
	f.line([]Point{{f.left, f.top}, {f.left, f.bottom}, {f.right, f.bottom}}, color(rim, 1), 1, nil)
	f.y = f.bottom + 12
	if !below {
		return
	}
	end := math.Inf(-1)
	for _, t := range x.Ticks {
		w := f.width(t.Text, tickSize)
		at := min(max(f.px(t.At)-w/2, f.left-8), f.right-w)
		if at < end+10 {
			continue
		}
		f.line([]Point{{f.px(t.At), f.bottom}, {f.px(t.At), f.bottom + 4}}, color(rim, 1), 1, nil)
		f.text(at, f.bottom+17, t.Text, tickSize, left, quiet)
		end = at + w
	}
	f.y = f.bottom + 26
	if x.Title != "" {
		f.text((f.left+f.right)/2, f.bottom+34, x.Title, tickSize, middle, quiet)
		f.y = f.bottom + 44
	}
}

func (l Line) draw(f *frame) {
	var at []Point
	for _, p := range l.Points {
		if !math.IsNaN(p.Y) {
			p.Y = f.py(p.Y)
		}
		at = append(at, Point{f.px(p.X), p.Y})
	}
	f.line(at, color(l.Color, 1), l.Width, l.Dash)
}

func (f *frame) boxes(boxes []Box) (path vg.Path) {
	for _, b := range boxes {
		f.addBox(&path, f.px(b.X), f.py(b.Y), f.px(b.X2), f.py(b.Y2))
	}
	return path
}

func (a Area) draw(f *frame) {
	hex := a.Color
	if hex == "" {
		hex = paper
	}
	f.fill(f.boxes(a.Boxes), color(hex, a.Opacity))
}

func (g Gap) draw(f *frame) {
	x, x2 := f.px(g.From), f.px(g.To)
	f.hatch(x, f.top, x2, f.bottom)
	if x2-x > 110 {
		f.over((x+x2)/2, (f.top+f.bottom)/2, "no I/O completed", tickSize, middle, ink)
	}
}

func (r Rule) draw(f *frame) {
	at := f.py(r.At)
	f.line([]Point{{f.left, at}, {f.right, at}}, color(r.Color, 1), 1.5, []float64{10, 4})
	baseline := at - 5
	if at-f.top < 18 {
		baseline = at + 14
	}
	f.over(f.left+4, baseline, r.Text, tickSize, left, ink)
}

func (d Dots) draw(f *frame) {
	for _, p := range d.Points {
		f.disc(f.px(p.X), f.py(p.Y), 3.5, color(d.Color, 1))
	}
	for _, p := range d.Rings {
		f.ring(f.px(p.X), f.py(p.Y), 7, 2, color(d.Color, 1))
	}
}

func (texts Texts) draw(f *frame) {
	var ends []Point // of those that are drawn, in pixels
	texts = slices.Clone(texts)
	slices.SortStableFunc(texts, func(a, b Text) int { return cmp.Compare(a.At.X, b.At.X) })
	for _, t := range texts {
		half := f.width(t.Words, tickSize) / 2
		x, y := max(f.px(t.At.X), f.left+half+2), max(f.py(t.At.Y)-10, f.top+tickSize)
		for _, end := range ends {
			if math.Abs(y-end.Y) < tickSize+2 && x-half < end.X+4 {
				x = end.X + 4 + half
			}
		}
		f.over(x, y, t.Words, tickSize, middle, ink)
		ends = append(ends, Point{x + half, y})
	}
}

func (pins Pins) draw(f *frame) {
	const radius = 8.5
	var ends []float64
	for _, p := range pins {
		x, x2, row := f.px(p.From), f.px(p.To), 0
		for row < len(ends) && x-ends[row] <= 2*radius+2 {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = x
		if x2 > x {
			f.box(x, f.top, x2, f.bottom, color(Stalled, 0.08))
		}
		f.line([]Point{{x, f.top}, {x, f.bottom}}, color(ink, 0.6), 1, []float64{3, 3})
		y, hex, text := f.top+9+18*float64(row), Stalled, "#000000"
		if p.Note {
			hex, text = paper, ink
		}
		f.disc(x, y, radius, color(hex, 1))
		f.ring(x, y, radius, 1, color(ink, 1))
		f.text(x, y+4, p.Name, 11, middle, text)
	}
}
