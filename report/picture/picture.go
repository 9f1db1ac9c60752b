// Package picture draws a chart over time as SVG or PNG, without a browser. It lays out panels with axes, a legend and
// notes, and computes no statistics: report gives it the numbers of its page. The same picture is always the
// same bytes.
package picture

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"fiolat/fio"
)

// Picture is a title and a legend above panels, and notes below them.
type Picture struct {
	Title, Subtitle string
	Legend          []Key
	Panels          []Panel
	Notes           []Note
}

// Panel is a chart with its axes.
type Panel struct {
	Title  string // above it, if not ""
	Height float64
	X, Y   Axis
	Marks  []Mark // the first is the lowest
}

// Note is a line of text below the panels, named as a mark in them is.
type Note struct{ Name, Text string }

// Letter is the name of the nth note on a run: a to z, aa, bb.
func Letter(n int) string { return strings.Repeat(string(rune('a'+n%26)), n/26+1) }

// Key is an entry of the legend: a line, or the hatching of a Gap.
type Key struct {
	Text    string
	Color   string
	Dash    []float64
	Hatched bool
}

// Sizes in pixels of CSS, of which a PNG has 2 x 2 for each.
const (
	width     = 960
	edge      = 16   // around all
	maxHeight = 6000 // of the picture
	keyGap    = 22

	titleSize, textSize, tickSize = 18, 13, 12
)

// Write draws the picture, as PNG or else as SVG.
func (p *Picture) Write(w io.Writer, png bool) error {
	size := &drawing{png: png} // measures, and draws nothing
	size.picture(p)
	if size.y > maxHeight {
		return fio.Usagef("a picture of %d charts is too tall: choose fewer", len(p.Panels))
	}
	if png {
		canvas := vgimg.NewWith(vgimg.UseWH(width*pixel, vg.Length(size.y)*pixel), vgimg.UseDPI(2*96))
		d := drawing{to: canvas, height: size.y, png: true}
		d.picture(p)
		_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
		return err
	}
	canvas := vgsvg.New(width*pixel, vg.Length(size.y)*pixel)
	d := drawing{to: canvas, height: size.y}
	d.box(0, 0, width, size.y, color(paper, 1))
	d.picture(p)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// Fonts with the same widths, for systems without the first. Quotes are escaped in all text.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte(`style="font-family:Liberation Sans;`),
		[]byte(`style="font-family:Liberation Sans,Arial,Helvetica,sans-serif;`)))
	return err
}

// picture draws all of it from the top down.
func (d *drawing) picture(p *Picture) {
	d.y = edge
	for _, line := range d.wrap(p.Title, titleSize, width-2*edge, 2) {
		d.y += titleSize + 4
		d.text(edge, d.y, line, titleSize, left, ink)
	}
	for _, line := range d.wrap(p.Subtitle, textSize, width-2*edge, 3) {
		d.y += textSize + 5
		d.text(edge, d.y, line, textSize, left, quiet)
	}
	d.y += 10
	d.legend(p.Legend)
	margin := 40.0
	for i := range p.Panels {
		for _, t := range p.Panels[i].Y.Ticks {
			margin = max(margin, min(d.width(t.Text, tickSize), 170))
		}
	}
	for i := range p.Panels {
		panel := &p.Panels[i]
		if panel.Title != "" {
			d.y += textSize + 2
			x := edge + margin + 8
			d.text(x, d.y, d.cut(panel.Title, textSize, width-edge-x), textSize, left, ink)
			d.y += 6
		}
		below := i+1 == len(p.Panels) || !p.Panels[i+1].X.same(&panel.X)
		f := frame{drawing: d, panel: panel, left: edge + margin + 8, right: width - edge, top: d.y,
			bottom: d.y + panel.Height}
		f.draw(below)
	}
	d.notes(p.Notes)
	d.y += edge
}

func (d *drawing) legend(keys []Key) {
	const swatch = 26
	x := float64(edge)
	rows := 0
	for _, k := range keys {
		space := swatch + 6 + d.width(k.Text, textSize)
		if rows == 0 || x+space > width-edge && x > edge {
			x = edge
			d.y += 20
			rows++
		}
		if middle := d.y - 4.5; k.Hatched {
			d.hatch(x, middle-6, x+swatch, middle+6)
		} else {
			d.line([]Point{{x, middle}, {x + swatch, middle}}, color(k.Color, 1), 3, k.Dash)
		}
		d.text(x+swatch+6, d.y, k.Text, textSize, left, ink)
		x += space + keyGap
	}
	if rows > 0 {
		d.y += 10
	}
}

// maxNotes is the maximum number of notes below the panels, noteLines that of the lines of one.
const (
	maxNotes  = 12
	noteLines = 3
)

func (d *drawing) notes(notes []Note) {
	indent := 0.0
	for _, n := range notes {
		if n.Name != "" {
			indent = max(indent, d.width(n.Name, textSize)+8)
		}
	}
	if n := len(notes) - maxNotes; n > 0 {
		notes = append(slices.Clip(notes[:maxNotes]), Note{Text: fmt.Sprintf("and %d more", n)})
	}
	for _, n := range notes {
		d.text(edge, d.y+textSize+6, n.Name, textSize, left, ink)
		x := edge + indent
		if n.Name == "" {
			x = edge
		}
		for _, line := range d.wrap(n.Text, textSize, width-edge-x, noteLines) {
			d.y += textSize + 6
			d.text(x, d.y, line, textSize, left, ink)
		}
	}
}
