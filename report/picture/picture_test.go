package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	stdcolor "image/color"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"
)

// The colors are those of the pages in light.
func TestColors(t *testing.T) {
	css, err := os.ReadFile("../page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, _, _ := strings.Cut(string(css), "}")
	value := func(name string) string {
		_, rest, _ := strings.Cut(light, "--"+name+":")
		v, _, _ := strings.Cut(rest, ";")
		return strings.TrimSpace(v)
	}
	for name, own := range map[string]string{"paper": paper, "ink": ink, "quiet": quiet, "line": rim, "grid": grid} {
		if value(name) != own {
			t.Errorf("%s is %s, on pages %s", name, own, value(name))
		}
	}
	if page, own := value("ramp"), strings.Join(ramp, ", "); page != own || Shade(0) != ramp[0] ||
		Shade(Shades-1) != ramp[len(ramp)-1] {
		t.Errorf("maps are %s, on pages %s", own, page)
	}
	for i, own := range lineColors {
		if page := value("s" + string(rune('0'+i))); page != own {
			t.Errorf("line %d is %s, on pages %s", i, own, page)
		}
	}
}

// example has long texts, names that are markup, and control characters.
func example() *Picture {
	long := strings.Repeat("host-with-a-long-name & <b>more</b> \x1b[2J ", 12)
	return &Picture{Title: long, Subtitle: long, Legend: []Key{{Text: long[:60]},
		{Text: long[:80]}, {Text: long[:80], Hatched: true}}, Notes: []Note{{"1", long}, {"b", "short"}},
		Panels: []Panel{{Title: long, Height: 200, X: Times(0, 10_000, 0, func(float64) string { return "now" }),
			Y: Axis{Max: 2, Ticks: []Tick{{0.5, long}, {1.5, "b"}}}, Marks: []Mark{
				Area{Boxes: []Box{{0, 10_000, 1, 2}}, Color: Stalled, Opacity: 1},
				Gap{2000, 8000}, Rule{At: 1, Text: "limit"}, Pins{{From: 1000, To: 2000, Name: "1"},
					{From: 1001, To: 1001, Name: "a", Note: true}},
			}}}}
}

func TestWrite(t *testing.T) {
	var svg, again, raster bytes.Buffer
	for _, err := range []error{example().Write(&svg, false), example().Write(&again, false),
		example().Write(&raster, true)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(svg.Bytes(), again.Bytes()) {
		t.Error("the same picture is other bytes")
	}
	for d := xml.NewDecoder(&svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "b" {
			t.Error("a name is markup")
		}
	}
	img, err := png.Decode(&raster)
	if err != nil {
		t.Fatal(err)
	}
	size := &drawing{}
	size.picture(example())
	if b := img.Bounds(); b.Dx() != 2*width || b.Dy() != int(2*size.y) {
		t.Errorf("%v, want %d x %v", b, 2*width, 2*size.y)
	}
	seen := map[[3]uint8]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
		}
	}
	c := color(Stalled, 1)
	if n := seen[[3]uint8{c.R, c.G, c.B}]; n < 20_000 {
		t.Errorf("%d pixels of an area", n)
	}
	if err := (&Picture{Panels: []Panel{{Height: 7000}}}).Write(&raster, true); err == nil {
		t.Error("no error for a picture that is too tall")
	}
}

func TestShown(t *testing.T) {
	const text = "Жé ホスト"
	for want, d := range map[string]drawing{text: {}, "Жé □□□": {png: true}} {
		if got := d.shown(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	var d drawing
	for _, tt := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 2, ""},
		{"one two", 2, "one two"},
		{"one two three four", 2, "one two|three four"},
		{"one two three four five six", 2, "one two|three four f…"},
		{"onetwothreefourfivesixseven", 2, "onetwothr…"},
	} {
		got := strings.Join(d.wrap(tt.text, 13, d.width("three four…", 13)+8, tt.lines), "|")
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// pixels counts the pixels of a picture by color.
func pixels(t *testing.T, p *Picture) map[stdcolor.Color]int {
	t.Helper()
	var raster bytes.Buffer
	if err := p.Write(&raster, true); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&raster)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[stdcolor.Color]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[stdcolor.NRGBAModel.Convert(img.At(x, y))]++
		}
	}
	return seen
}

// A key is a line in its color, or hatched.
func TestLegend(t *testing.T) {
	const blue = "#0072b2"
	for hatched, want := range map[bool]bool{false: true, true: false} {
		p := &Picture{Legend: []Key{{Text: "a", Color: blue, Hatched: hatched}}}
		if n := pixels(t, p)[color(blue, 1)]; n > 100 != want {
			t.Errorf("hatched %v: %d pixels in the color of the line", hatched, n)
		}
	}
}

// An area without a color of its own covers what is below it with the color of the paper.
func TestAreaWithoutColor(t *testing.T) {
	const blue, red = "#0072b2", "#d55e00"
	all := []Box{{0, 10, 0, 1}}
	for name, own := range map[string]string{"paper": "", "red": red} {
		p := &Picture{Panels: []Panel{{Height: 100, X: Times(0, 10, 0, func(float64) string { return "" }),
			Y: Axis{Max: 1}, Marks: []Mark{Area{Boxes: all, Color: blue, Opacity: 1},
				Area{Boxes: all, Color: own, Opacity: 1}}}}}
		const few = 4000 // pixels of edges and of the frame
		seen := pixels(t, p)
		if seen[color(blue, 1)] > few || seen[color(ink, 1)] > few || (seen[color(red, 1)] > few) != (own == red) {
			t.Errorf("%s: %d pixels are blue, %d red, %d dark", name, seen[color(blue, 1)], seen[color(red, 1)],
				seen[color(ink, 1)])
		}
	}
}
