package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawn is what a test reads out of an SVG: places are in points from the bottom left.
type drawn struct {
	Paths []struct {
		D     string `xml:"d,attr"`
		Style string `xml:"style,attr"`
	} `xml:"g>path"`
	Texts []struct {
		X    float64 `xml:"x,attr"`
		Y    float64 `xml:"y,attr"` // upside down
		Text string  `xml:",chardata"`
	} `xml:"g>text"`
	panels []panel
	times  func(at float64) float64 // of a place: ms
}

// panel is the frame of a chart, and its vertical axis.
type panel struct {
	left, bottom, top, right float64
	ns                       func(at float64) float64 // of a place
}

type place struct{ x, y float64 }

var segment = regexp.MustCompile(`([MLZ])(?:([-0-9.e]+),([-0-9.e]+))?`)

// places are the corners of a path; the first of each part has "M" as its command.
func places(t *testing.T, d string) (out []place, commands []string) {
	t.Helper()
	for _, m := range segment.FindAllStringSubmatch(d, -1) {
		x, _ := strconv.ParseFloat(m[2], 64)
		y, _ := strconv.ParseFloat(m[3], 64)
		out, commands = append(out, place{x, y}), append(commands, m[1])
	}
	return out, commands
}

// drawSVG draws a chart and reads its axes.
func drawSVG(t *testing.T, args ...string) *drawn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.svg")
	succeed(t, append([]string{"report", "-o", file}, args...)...)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d drawn
	if err := xml.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	var ys, ticks []float64 // where ticks are; the others are below the last frame
	for _, p := range d.Paths {
		at, _ := places(t, p.D)
		if len(at) == 3 && strings.Contains(p.Style, "#D9DEE5") { // a frame
			d.panels, ticks = append(d.panels, panel{left: at[1].x, bottom: at[1].y, top: at[0].y, right: at[2].x}), nil
		}
		if len(at) == 2 && strings.Contains(p.Style, "#E6E9EE") && at[0].y == at[1].y {
			ys = append(ys, at[0].y)
		}
		if n := len(d.panels); n > 0 && len(at) == 2 && strings.Contains(p.Style, "#D9DEE5") &&
			at[0].y == d.panels[n-1].bottom {
			ticks = append(ticks, at[0].x)
		}
	}
	var times []place // where a label stands, and what it says
	values := make([][]place, len(d.panels))
	for _, text := range d.Texts {
		for i, p := range d.panels {
			v, ok := latencyText(text.Text)
			if y := -text.Y; ok && text.X < p.left && y <= p.top && y > p.bottom-5 {
				k := slices.IndexFunc(ys, func(at float64) bool { return math.Abs(at-y) < 4 })
				values[i] = append(values[i], place{ys[k], math.Log(v)})
			}
		}
		if v, ok := parseClock(text.Text); ok && -text.Y < d.panels[len(d.panels)-1].bottom {
			times = append(times, place{text.X, float64(v.Milliseconds())})
		}
	}
	for i := range times { // labels lie around these, in their order
		times[i].x = ticks[i]
	}
	line := func(of []place) func(float64) float64 {
		if len(of) < 2 {
			return nil
		}
		a, b := of[0], of[len(of)-1]
		return func(at float64) float64 { return a.y + (at-a.x)/(b.x-a.x)*(b.y-a.y) }
	}
	d.times = line(times)
	for i := range d.panels {
		if logs := line(values[i]); logs != nil {
			d.panels[i].ns = func(at float64) float64 { return math.Exp(logs(at)) }
		}
	}
	return &d
}

// A picture stands alone: it has the warnings, and no flags to pass.
func TestPictureNotes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ run, want, not string }{
		"too short": {"kinds", "Too short for a diagnosis: 7 intervals of 1 s, and at least 8 are needed.",
			"--interval"},
		"warning": {"garbled", "Warning: ", "repaired"},
	} {
		var all []string
		for _, text := range drawSVG(t, real+"/"+tt.run).Texts {
			all = append(all, text.Text)
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, tt.want) || strings.Contains(text, tt.not) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func latencyText(text string) (float64, bool) {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	by := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
	return v * by, err == nil && by > 0
}

type percentileRow struct {
	Offset      float64 `json:"offset_ms"`
	Scope       string
	Direction   string
	Host        *string
	Samples     float64
	Max         *float64
	Percentiles map[string]*float64
}

func percentileRows(t *testing.T, args ...string) []percentileRow {
	t.Helper()
	stdout, _ := succeed(t, append([]string{"percentiles", "--format", "json"}, args...)...)
	var out struct{ Rows []percentileRow }
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatal(err)
	}
	return out.Rows
}

// The places of the p99 in a picture, read back through the labels of its axes, are those that fiolat percentiles
// prints, and where nothing completed there is no line. A PNG has the line's color there.
func TestPicturePercentiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		args   []string
		panels []string
	}{
		{"one job", []string{real + "/randrw"}, []string{"read", "write"}},
		{"reads", []string{"--only", "direction=read", real + "/randrw"}, []string{"read"}},
		{"gaps", []string{"--interval", "1s", real + "/gaps"}, []string{"read"}},
		{"hosts", []string{real + "/cluster"}, []string{"read", "write"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := drawSVG(t, tt.args...)
			if tt.name == "hosts" {
				d.panels = d.panels[:max(len(d.panels)-1, 0)] // TestPictureMap
			}
			if len(d.panels) != len(tt.panels) {
				t.Fatalf("%d panels, want %v", len(d.panels), tt.panels)
			}
			type step struct {
				direction string
				ms        float64
			}
			steps := map[step]place{} // where in the picture, in points
			for _, p := range d.Paths {
				if !strings.Contains(p.Style, "stroke:#D55E00;stroke-width:1.275") {
					continue
				}
				at, commands := places(t, p.D)
				for i := 1; i < len(at); i++ {
					if commands[i] == "L" && at[i].y == at[i-1].y && at[i].x > at[i-1].x {
						ms := 1000 * math.Round(d.times(at[i-1].x)/1000)
						of := slices.IndexFunc(d.panels, func(p panel) bool {
							return p.bottom <= at[i].y && at[i].y <= p.top
						})
						steps[step{tt.panels[of], ms}] = place{(at[i].x + at[i-1].x) / 2, at[i].y}
					}
				}
			}
			file := filepath.Join(t.TempDir(), "x.PNG")
			succeed(t, append([]string{"report", "-o", file}, tt.args...)...)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pixels, err := png.Decode(bytes.NewReader(b))
			if err != nil || pixels.Bounds().Dx() != 1920 {
				t.Fatalf("%v, %v", pixels.Bounds(), err)
			}
			rows := percentileRows(t, append([]string{"--by", "direction"}, tt.args...)...)
			end := rows[len(rows)-1].Offset
			compared := 0
			for _, r := range rows {
				if r.Scope != "direction" {
					continue
				}
				at, ok := steps[step{r.Direction, r.Offset}]
				want := r.Percentiles["99"]
				if want == nil || !ok {
					if (want != nil) != ok {
						t.Errorf("at %v ms: p99 %v, drawn %v", r.Offset, want, ok)
					}
					continue
				}
				drawn := d.panels[slices.Index(tt.panels, r.Direction)].ns(at.y)
				if math.Abs(drawn / *want - 1) > 0.005 {
					t.Errorf("at %v ms: p99 %v, drawn at %v", r.Offset, *want, drawn)
				}
				compared++
				if r.Offset == end {
					continue // faded: the logs cover a part of it only
				}
				red, green, blue, _ := pixels.At(int(at.x*8/3), pixels.Bounds().Dy()-int(at.y*8/3)).RGBA()
				if red>>8 < 180 || green>>8 > 140 || blue>>8 > 80 {
					t.Errorf("at %v ms: pixel %d %d %d, want the line's", r.Offset, red>>8, green>>8, blue>>8)
				}
			}
			if compared < 6*len(tt.panels) || compared != len(steps) {
				t.Errorf("compared %d of %d steps", compared, len(steps))
			}
		})
	}
}

// Below the percentiles of several hosts is their map: a cell for each interval, the darker the higher its p99 by
// fiolat percentiles, the first host at the top.
func TestPictureMap(t *testing.T) {
	t.Parallel()
	d := drawSVG(t, real+"/cluster")
	below := d.panels[len(d.panels)-1]
	type cell struct {
		host string
		ms   float64
	}
	p99 := map[cell]float64{}
	var hosts []string
	for _, r := range percentileRows(t, "--by", "host,direction", real+"/cluster") {
		if r.Scope == "host+direction" && r.Direction == "read" && r.Percentiles["99"] != nil {
			p99[cell{*r.Host, r.Offset}] = *r.Percentiles["99"]
			if !slices.Contains(hosts, *r.Host) {
				hosts = append(hosts, *r.Host)
			}
		}
	}
	if len(hosts) != 2 {
		t.Fatal(hosts)
	}
	slices.Sort(hosts)
	type shade struct{ light, ns float64 }
	var shades []shade
	for _, p := range d.Paths {
		m := regexp.MustCompile(`^fill:#([0-9A-F]{6})`).FindStringSubmatch(p.Style)
		if m == nil {
			continue
		}
		rgb, _ := strconv.ParseUint(m[1], 16, 32)
		at, commands := places(t, p.D)
		for i := range at {
			if commands[i] != "M" || at[i].y < below.bottom-1 || at[i].y > below.top+1 || i+2 >= len(at) {
				continue
			}
			middle := place{(at[i].x + at[i+2].x) / 2, (at[i].y + at[i+2].y) / 2}
			row := int(2 * (below.top - middle.y) / (below.top - below.bottom))
			of := cell{hosts[row], 1000 * math.Floor(d.times(middle.x)/1000)}
			if p99[of] == 0 {
				t.Errorf("a cell at %v, where there is no I/O", of)
			}
			shades = append(shades, shade{float64(rgb>>16 + rgb>>8&0xff + rgb&0xff), p99[of]})
		}
	}
	if len(shades) != len(p99) {
		t.Errorf("%d cells, want %d", len(shades), len(p99))
	}
	slices.SortFunc(shades, func(a, b shade) int { return cmp.Compare(a.ns, b.ns) })
	for i := 1; i < len(shades); i++ {
		if shades[i].light > shades[i-1].light {
			t.Errorf("%v is paler than %v", shades[i], shades[i-1])
		}
	}
	if n := len(shades); n == 0 || shades[0].light == shades[n-1].light {
		t.Error("one color")
	}
}
