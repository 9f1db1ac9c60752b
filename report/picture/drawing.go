package picture

import (
	"fmt"
	stdcolor "image/color"
	"math"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"fiolat/fio"
)

// pixel is a pixel of CSS.
const pixel = vg.Length(72.0 / 96)

// The colors of the pages in light: page.css has them, and a test compares.
const (
	paper = "#ffffff"
	ink   = "#1c2530"
	quiet = "#56616f"
	rim   = "#d9dee5"
	grid  = "#e6e9ee"
	// Stalled is where nothing completed.
	Stalled = "#d55e00"
)

var (
	lineColors = []string{"#0072b2", "#009e73", "#b87a00", "#d55e00", "#b0468a", "#4b5563", "#3a9bd1", "#7a6a00"}
	dashes     = [][]float64{nil, {7, 3}, {2, 2}, nil, {7, 3}, {2, 2}, nil, {7, 3}}
)

// ramp are the colors of maps, the lowest value first.
var ramp = []string{"#dcebf7", "#9ecae1", "#4292c6", "#08519c", "#062a57"}

// Shades is how many colors a map has.
const Shades = 33

// Shade returns the nth color of a map, from 0.
func Shade(n int) string {
	at := float64(n) * float64(len(ramp)-1) / (Shades - 1)
	i := min(int(at), len(ramp)-2)
	from, to := color(ramp[i], 1), color(ramp[i+1], 1)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a)))) }
	return fmt.Sprintf("#%02x%02x%02x", mix(from.R, to.R), mix(from.G, to.G), mix(from.B, to.B))
}

// Look returns the color and the dashes of the nth line of a chart.
func Look(n int) (string, []float64) { return lineColors[n%len(lineColors)], dashes[n%len(dashes)] }

// color parses #rrggbb; "" is the colour of text.
func color(hex string, opacity float64) stdcolor.NRGBA {
	if hex == "" {
		hex = ink
	}
	c := stdcolor.NRGBA{A: uint8(math.Round(255 * opacity))}
	for i, to := range []*uint8{&c.R, &c.G, &c.B} {
		for _, digit := range strings.ToLower(hex[1+2*i : 3+2*i]) {
			*to = *to<<4 | uint8(strings.IndexRune("0123456789abcdef", digit))
		}
	}
	return c
}

// typeface is parsed on first use: most commands draw nothing.
var typeface = sync.OnceValue(func() *opentype.Font {
	f, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // it is part of the program
	}
	return f
})

func face(size float64) font.Face {
	return font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size) * pixel},
		Face: typeface()}
}

// drawing draws in pixels from the top left. Without a canvas it only finds out how tall a picture gets.
type drawing struct {
	to     vg.Canvas
	height float64
	y      float64 // what is above is done
	png    bool
}

func (d *drawing) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x) * pixel, Y: vg.Length(d.height-y) * pixel}
}

// shown returns a text as it is drawn: in PNG a box stands for a letter that the typeface lacks, such as a Japanese
// one. What shows SVG has other typefaces.
func (d *drawing) shown(text string) string {
	text = fio.Printable(text)
	if !d.png {
		return text
	}
	return strings.Map(func(r rune) rune {
		if glyph, err := typeface().GlyphIndex(nil, r); err != nil || glyph == 0 {
			return '□'
		}
		return r
	}, text)
}

func (d *drawing) width(text string, size float64) float64 {
	f := face(size)
	return float64(f.Width(d.shown(text)) / pixel)
}

// Alignments of a text at its place.
const (
	left   = 0
	middle = 0.5
	right  = 1
)

func (d *drawing) text(x, baseline float64, text string, size, align float64, hex string) {
	if d.to == nil || text == "" {
		return
	}
	d.to.SetColor(color(hex, 1))
	d.to.FillString(face(size), d.at(x-align*d.width(text, size), baseline), d.shown(text))
}

// over writes over what is there, on a shade of paper.
func (d *drawing) over(x, baseline float64, text string, size, align float64, hex string) {
	w := d.width(text, size)
	x -= align * w
	d.box(x-2, baseline-size+1, x+w+2, baseline+3, color(paper, 0.75))
	d.text(x, baseline, text, size, left, hex)
}

// cut shortens a text to a width.
func (d *drawing) cut(text string, size, space float64) string {
	if d.width(text, size) <= space {
		return text
	}
	runes := []rune(text)
	for len(runes) > 1 && d.width(string(runes)+"…", size) > space {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimSpace(string(runes)) + "…"
}

// wrap breaks a text into at most so many lines.
func (d *drawing) wrap(text string, size, space float64, lines int) (out []string) {
	line := ""
	words := strings.Fields(text)
	for i, word := range words {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && d.width(longer, size) > space {
			if len(out)+1 == lines {
				return append(out, d.cut(line+" "+strings.Join(words[i:], " "), size, space))
			}
			out, longer = append(out, line), word
		}
		line = longer
	}
	if line == "" {
		return out
	}
	return append(out, d.cut(line, size, space))
}

// line draws lines between points; NaN ends one.
func (d *drawing) line(points []Point, c stdcolor.Color, thick float64, dash []float64) {
	if d.to == nil {
		return
	}
	var path vg.Path
	broken := true
	for _, p := range points {
		switch {
		case math.IsNaN(p.Y):
		case broken:
			path.Move(d.at(p.X, p.Y))
		default:
			path.Line(d.at(p.X, p.Y))
		}
		broken = math.IsNaN(p.Y)
	}
	if len(path) == 0 {
		return
	}
	var lengths []vg.Length
	for _, l := range dash {
		lengths = append(lengths, vg.Length(l)*pixel)
	}
	d.to.SetColor(c)
	d.to.SetLineWidth(vg.Length(thick) * pixel)
	d.to.SetLineDash(lengths, 0)
	d.to.Stroke(path)
}

func (d *drawing) addBox(path *vg.Path, x, y, x2, y2 float64) {
	path.Move(d.at(x, y))
	path.Line(d.at(x2, y))
	path.Line(d.at(x2, y2))
	path.Line(d.at(x, y2))
	path.Close()
}

func (d *drawing) fill(path vg.Path, c stdcolor.Color) {
	if d.to != nil && len(path) > 0 {
		d.to.SetColor(c)
		d.to.Fill(path)
	}
}

func (d *drawing) box(x, y, x2, y2 float64, c stdcolor.Color) {
	var path vg.Path
	d.addBox(&path, x, y, x2, y2)
	d.fill(path, c)
}

func (d *drawing) disc(x, y, radius float64, c stdcolor.Color) {
	d.fill(d.circle(x, y, radius), c)
}

func (d *drawing) ring(x, y, radius, thick float64, c stdcolor.Color) {
	if d.to == nil {
		return
	}
	d.to.SetColor(c)
	d.to.SetLineWidth(vg.Length(thick) * pixel)
	d.to.SetLineDash(nil, 0)
	d.to.Stroke(d.circle(x, y, radius))
}

func (d *drawing) circle(x, y, radius float64) (path vg.Path) {
	path.Move(d.at(x+radius, y))
	path.Arc(d.at(x, y), vg.Length(radius)*pixel, 0, 2*math.Pi)
	path.Close()
	return path
}

// hatch draws slanted lines over a box.
func (d *drawing) hatch(x, y, x2, y2 float64) {
	var lines []Point
	for at := math.Ceil((x+y)/7) * 7; at < x2+y2; at += 7 { // x + y of a line
		from, to := max(x, at-y2), min(x2, at-y)
		lines = append(lines, Point{from, at - from}, Point{to, at - to}, Point{to, math.NaN()})
	}
	d.line(lines, color(ink, 0.3), 1, nil)
}
