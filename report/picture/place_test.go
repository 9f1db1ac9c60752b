package picture

import (
	"image"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

const red, blue, green = "#d55e00", "#0072b2", "#009e73"

// An extent is where pixels of a color are, in pixels of CSS.
type extent struct{ x, y, x2, y2, n float64 }

// extents returns where the colors of a picture are, with two dots a pixel; blended ones count as neither.
func extents(t *testing.T, p *Picture, hex ...string) (out []extent) {
	t.Helper()
	size := &drawing{png: true}
	size.picture(p)
	canvas := vgimg.NewWith(vgimg.UseWH(width*pixel, vg.Length(size.y)*pixel), vgimg.UseDPI(2*96))
	d := drawing{to: canvas, height: size.y, png: true}
	d.picture(p)
	img := canvas.Image().(*image.RGBA)
	for _, h := range hex {
		c, e := color(h, 1), extent{x: math.Inf(1), y: math.Inf(1)}
		for i := 0; i < len(img.Pix); i += 4 {
			if img.Pix[i] == c.R && img.Pix[i+1] == c.G && img.Pix[i+2] == c.B {
				x, y := float64(i%img.Stride/4)/2, float64(i/img.Stride)/2
				e.x, e.y, e.x2, e.y2, e.n = min(e.x, x), min(e.y, y), max(e.x2, x+0.5), max(e.y2, y+0.5), e.n+0.25
			}
		}
		out = append(out, e)
	}
	return out
}

// panel is a picture of a panel from 0 to 100 in both directions, whose frame is green where no other mark is.
func panel(marks ...Mark) *Picture {
	all := Area{Boxes: []Box{Across(0, 100)}, Color: green, Opacity: 1}
	return &Picture{Panels: []Panel{{Height: 200, X: Axis{Max: 100}, Y: Axis{Max: 100}, Marks: append([]Mark{all},
		marks...)}}}
}

// TestMarks: where a mark is in its panel, as shares from the left and from the top; how many pixels beyond that it
// reaches to the sides, and up and down; and which part it fills of all this.
func TestMarks(t *testing.T) {
	t.Parallel()
	frame := extents(t, panel(), green)[0]
	w, h := frame.x2-frame.x, frame.y2-frame.y
	if math.Abs(h-200) > 1.5 || w < 0.8*width || frame.x2 > width-edge+1 {
		t.Fatalf("a panel of 200 pixels is %v by %v, up to %v", w, h, frame.x2)
	}
	const gap = 10 // of dashes
	line := func(dash []float64, at ...Point) Line { return Line{Points: at, Color: red, Width: 4, Dash: dash} }
	for _, tt := range []struct {
		name         string
		mark         Mark
		x, y, x2, y2 float64
		across, down float64
		off          float64 // tolerance of the sides
		least, most  float64
	}{
		{"an area", Area{[]Box{{25, 50, 0, 50}}, red, 1}, 0.25, 0.5, 0.5, 1, 0, 0, 0, 0.98, 1},
		{"two areas", Area{[]Box{{0, 10, 0, 10}, {90, 100, 90, 100}}, red, 1}, 0, 0, 1, 1, 0, 0, 0, 0.018, 0.021},
		{"an area across", Area{[]Box{Across(25, 75)}, red, 1}, 0.25, 0, 0.75, 1, 0, 0, 0, 0.97, 1},
		{"a rising line", line(nil, Point{25, 25}, Point{75, 75}), 0.25, 0.25, 0.75, 0.75, 0.4, 2, 0, 0.02, 0.06},
		{"a level line", line(nil, Point{0, 50}, Point{50, 50}), 0, 0.5, 0.5, 0.5, 0, 2, 0, 0.85, 1},
		{"a broken line", line(nil, Point{0, 50}, Point{25, 50}, Point{40, math.NaN()}, Point{75, 50}, Point{100, 50}),
			0, 0.5, 1, 0.5, 0, 2, 0, 0.42, 0.5},
		{"a dashed line", line([]float64{7, 3}, Point{0, 50}, Point{100, 50}), 0, 0.5, 1, 0.5, 0, 2, gap, 0.55, 0.75},
		{"a dot", Dots{Points: []Point{{50, 50}}, Color: red}, 0.5, 0.5, 0.5, 0.5, 3.5, 3.5, 0, 0.6, 0.9},
		{"a ring", Dots{Rings: []Point{{50, 75}}, Color: red}, 0.5, 0.25, 0.5, 0.25, 8, 8, 0, 0.2, 0.36},
		{"a rule", Rule{At: 25, Color: red}, 0, 0.75, 1, 0.75, 0, 0.75, gap, 0.4, 0.8},
	} {
		e := extents(t, panel(tt.mark), red)[0]
		left, right := frame.x+tt.x*w-tt.across-e.x, e.x2-frame.x-tt.x2*w-tt.across
		up, down := frame.y+tt.y*h-tt.down-e.y, e.y2-frame.y-tt.y2*h-tt.down
		if max(math.Abs(left), math.Abs(right)) > 1+tt.off || max(math.Abs(up), math.Abs(down)) > 1 {
			t.Errorf("%s goes %v, %v, %v, %v pixels too far", tt.name, left, up, right, down)
		}
		if part := e.n / ((e.x2 - e.x) * (e.y2 - e.y)); part < tt.least || part > tt.most {
			t.Errorf("%s fills %.3f of its place, want %v to %v", tt.name, part, tt.least, tt.most)
		}
	}
}

// TestWords: where texts are: ticks beside and below the panel, at their values; words above their point; the title
// above all.
func TestWords(t *testing.T) {
	t.Parallel()
	frame := extents(t, panel(), green)[0]
	w, h := frame.x2-frame.x, frame.y2-frame.y
	with := func(change func(*Picture)) extent {
		p := panel()
		change(p)
		before, after := extents(t, panel(), ink, quiet), extents(t, p, ink, quiet)
		if after[0].n > before[0].n {
			return after[0]
		}
		return after[1]
	}
	x := with(func(p *Picture) { p.Panels[0].X.Ticks = []Tick{{25, "mm"}} })
	y := with(func(p *Picture) { p.Panels[0].Y.Ticks = []Tick{{25, "mm"}} })
	titled := with(func(p *Picture) { p.Panels[0].X.Title = "mmmm" })
	words := with(func(p *Picture) { p.Panels[0].Marks = append(p.Panels[0].Marks, Texts{{Point{50, 50}, "MMMM"}}) })
	for _, tt := range []struct {
		name         string
		of           extent
		across, down float64 // of its middle
		off          float64
	}{
		{"a tick below", x, frame.x + w/4, frame.y2 + 13, 3},
		{"a tick beside", y, frame.x - 6 - (y.x2-y.x)/2, frame.y + 3*h/4, 3},
		{"the title of an axis", titled, frame.x + w/2, frame.y2 + 30, 4},
		{"words", words, frame.x + w/2, frame.y + h/2 - 10 - (words.y2-words.y)/2, 3},
	} {
		middle := [2]float64{(tt.of.x + tt.of.x2) / 2, (tt.of.y + tt.of.y2) / 2}
		if tt.of.n == 0 || math.Abs(middle[0]-tt.across) > tt.off || math.Abs(middle[1]-tt.down) > tt.off {
			t.Errorf("%s: around %v, want %v, %v", tt.name, middle, tt.across, tt.down)
		}
	}
	top := extents(t, &Picture{Title: "above all", Panels: panel().Panels}, ink, green)
	if top[0].n == 0 || top[0].y2 > top[1].y || top[0].x < edge || top[1].y < frame.y+titleSize {
		t.Errorf("a title at %v above %v", top[0], top[1])
	}
	two := panel()
	two.Panels = append(two.Panels, two.Panels[0])
	if e := extents(t, two, green)[0]; e.y2-e.y < 400 || e.n < 1.9*200*w {
		t.Errorf("two panels below each other: %v", e)
	}
	noted := panel()
	noted.Notes = []Note{{"a", "words"}}
	if e := extents(t, noted, ink)[0]; e.n == 0 || e.y < frame.y2 || e.x < edge {
		t.Errorf("a note at %v", e)
	}
}

// TestGapsAndPins: a gap is hatched, with words if there is room; a pin has its name in a disc at the top, and those
// that are close are below each other.
func TestGapsAndPins(t *testing.T) {
	t.Parallel()
	frame := extents(t, panel(), green)[0]
	w := frame.x2 - frame.x
	hatched := func(g Gap) (share, dark float64) {
		e := extents(t, panel(g), green, ink)
		return (frame.n - e[0].n) / ((g.To - g.From) / 100 * w * 200), e[1].n
	}
	// Lines of 1 pixel, slanted, 7 pixels apart across: half-covered pixels beside them count, too.
	if share, dark := hatched(Gap{0, 10}); share < 0.14 || share > 0.4 || dark > 0 {
		t.Errorf("%v of a short gap is hatched; %v pixels of words", share, dark)
	}
	if share, dark := hatched(Gap{20, 80}); share < 0.14 || share > 0.4 || dark == 0 {
		t.Errorf("%v of a long gap is hatched; %v pixels of words", share, dark)
	}
	pinned := func(pins ...Pin) extent { return extents(t, panel(Pins(pins)), Stalled)[0] }
	one, far := pinned(Pin{50, 50, "1", false}), pinned(Pin{25, 25, "1", false}, Pin{75, 75, "2", false})
	near := pinned(Pin{50, 50, "1", false}, Pin{50.5, 50.5, "2", false})
	if middle := (one.x + one.x2) / 2; math.Abs(middle-frame.x-w/2) > 1 || one.y < frame.y-1 || one.y2 > frame.y+20 ||
		one.x2-one.x < 12 {
		t.Errorf("a pin at %v", one)
	}
	if far.y2 != one.y2 || near.y2 < one.y2+15 || math.Abs(far.x2-far.x-w/2-16) > 3 {
		t.Errorf("pins at %v, and close ones at %v", far, near)
	}
}

// TestLegendWraps: keys are beside each other as far as there is room, then below.
func TestLegendWraps(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 20)
	keys := []Key{{Text: "a", Color: red}, {Text: long, Color: green}, {Text: long, Color: blue}}
	e := extents(t, &Picture{Legend: keys}, red, green, blue)
	if e[0].x2 > e[1].x || e[0].y != e[1].y || e[2].y < e[1].y2+10 || e[2].x != e[0].x ||
		math.Abs(e[0].x2-e[0].x-26) > 2 || math.Abs(e[0].y2-e[0].y-3) > 1.5 {
		t.Errorf("keys at %v", e)
	}
}

// TestLetter: the names of notes.
func TestLetter(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "a", 1: "b", 25: "z", 26: "aa", 27: "bb", 52: "aaa"} {
		if got := Letter(n); got != want {
			t.Errorf("note %d is %s, want %s", n, got, want)
		}
	}
}

// TestTicks: ticks are at round distances, over time from a zero.
func TestTicks(t *testing.T) {
	t.Parallel()
	none := func(float64) string { return "" }
	for _, tt := range []struct {
		name        string
		a           Axis
		first, step float64
		n           int
	}{
		{"eight seconds", Times(0, 8000, 0, none), 0, 1000, 9},
		{"from 1.5 s", Times(0, 8000, 1500, none), 500, 1000, 8},
		{"an hour", Times(0, 36e5, 0, none), 0, 6e5, 7},
		{"a share", FromZero(1, 5, none), 0, 0.5, 3},
		{"hundreds", FromZero(960, 5, none), 0, 200, 5},
		{"a decade or more", Around([]float64{1e3, 1e5}, none), 1e3, 1e3, 7},
	} {
		if at := tt.a.Ticks; len(at) != tt.n || at[0].At != tt.first || math.Abs(at[1].At-tt.first-tt.step) > 1e-9 {
			t.Errorf("%s: %v, want %d from %v on, %v apart", tt.name, at, tt.n, tt.first, tt.step)
		}
	}
}
