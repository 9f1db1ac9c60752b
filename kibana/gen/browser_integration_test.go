//go:build integration

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/kibana/kibanatest"
	"fiolat/report/charts"
)

// mark is something that a chart has drawn, with its place in the chart.
type mark struct {
	Name, Type   string
	X, Y, X2, Y2 float64
	Tooltip      map[string]any
	Left, Top    float64 // of the chart on the page
}

// number is one of a tooltip's, which are words.
func (k mark) number(name string) float64 {
	s := strings.NewReplacer(",", "", "−", "-").Replace(fmt.Sprint(k.Tooltip[name]))
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// page plays Kibana's part: it serves a panel's specification, with the answers to its searches in it, and
// draws.
type page struct {
	s     *stored
	ctx   context.Context
	url   string
	panel m // what is served

	version string // of Vega, that the page has loaded
	loads   string // or is loading

	width, height int // of a panel, 0 for 900 by 360
}

func (p *page) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/":
		http.ServeFile(w, r, "testdata/page.html")
	case strings.HasPrefix(r.URL.Path, "/js/"):
		name := strings.TrimPrefix(r.URL.Path, "/js/")
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "no-store") // each version has the same addresses
		_, version, _ := strings.Cut(r.Header.Get("Referer"), "vega=")
		if !slices.Contains(vegaVersions, version) { // a module asks for another
			version = p.loads
		}
		if p.loads = version; version != inPages {
			if name == "vega-interpreter.min.js" && version[0] == '6' { // which is published as a module
				io.WriteString(w, `window.interpreter = import("/js/vega-interpreter.js")`)
			} else if name == "vega-util.js" {
				io.WriteString(w, "export const { ascending, isString, DisallowedObjectProperties } = vega")
			} else {
				http.ServeFile(w, r, "testdata/vega-"+version+"/"+name)
			}
			return
		}
		b, err := fs.ReadFile(charts.JS, "js/"+name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Write(b)
	case r.URL.Path == "/panel":
		json.NewEncoder(w).Encode(p.panel)
	default:
		http.NotFound(w, r)
	}
}

func evaluate[T any](t *testing.T, p *page, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// draw draws a panel of the state's dashboard.
func (p *page) draw(t *testing.T, version string, st kibanatest.State, o *kibanatest.Object) {
	t.Helper()
	p.show(t, version, o, p.s.drawn(t, st, o))
}

// show draws a specification of a panel that has its data; nothing may be said to the console.
func (p *page) show(t *testing.T, version string, o *kibanatest.Object, spec m) {
	t.Helper()
	p.panel = m{"title": o.Title(), "spec": spec, "width": cmp.Or(p.width, 900), "height": cmp.Or(p.height, 360)}
	if p.version != version {
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Minute)
		defer cancel()
		if err := chromedp.Do(ctx, chromedp.Navigate(p.url+"/?vega="+version)); err != nil {
			t.Fatal(err)
		}
		if v := evaluate[string](t, p, "vega.version"); !strings.HasPrefix(v, version+".") {
			t.Fatalf("drawn with %s", v)
		}
		p.version = version
	}
	evaluate[bool](t, p, "fetch('/panel').then(r => r.json()).then(draw)")
	if said := evaluate[[]string](t, p, "window.said.splice(0)"); len(said) > 0 {
		t.Errorf("%s: the console says %q", o.ID, said)
	}
	for _, axis := range evaluate[[][]string](t, p, "labels()") {
		if len(slices.Compact(slices.Clone(axis))) < len(axis) {
			t.Errorf("%s: an axis repeats a label: %q", o.ID, axis)
		}
	}
}

func (p *page) marks(t *testing.T, name string) (out []mark) {
	t.Helper()
	for _, k := range evaluate[[]mark](t, p, "marks()") {
		if k.Name == name {
			out = append(out, k)
		}
	}
	return out
}

// places are where values of a scale lie.
func (p *page) places(t *testing.T, scale string, values []float64) map[float64]float64 {
	t.Helper()
	list, _ := json.Marshal(values)
	out := map[float64]float64{}
	for i, at := range evaluate[[]float64](t, p, fmt.Sprintf("%s.map(v => +place('%s', v))", list, scale)) {
		out[values[i]] = at
	}
	return out
}

// hover moves the mouse to a place and returns what the tooltip shows.
func (p *page) hover(t *testing.T, x, y float64) (shown map[string]any) {
	t.Helper()
	for _, dx := range []float64{-3, 0} { // from beside it, as a mouse comes
		if err := chromedp.Do(p.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+dx, y)); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		text := evaluate[string](t, p, "document.getElementById('tip').textContent")
		if json.Unmarshal([]byte(text), &shown) == nil {
			return shown
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

const pixel = 0.6

// vegaVersions are those of Kibana from 8.12 on, as docs/kibana.md lists them; inPages is that of the HTML pages too.
// `make nightly` tries all; the others draw the same scene.
var vegaVersions = func() []string {
	if testkit.All() {
		return []string{"5.24", inPages, "6.2", "6.4"}
	}
	return []string{inPages, "6.4"}
}()

const inPages = "5.33"

// browse starts Chromium.
func browse(t *testing.T, s *stored) *page {
	t.Helper()
	p := &page{s: s}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	p.url = server.URL
	p.ctx = testkit.Chromium(t, 1000, 520)
	return p
}

func testBrowser(t *testing.T, s *stored) {
	p := browse(t, s)
	s.subject = "cluster"
	// Panels of kinds are of the subject, and of a real run that has all three.
	ofKinds := func(draw func(string), same func()) {
		subject := s.subject
		defer func() { s.subject = subject }()
		for _, s.subject = range []string{"kinds", subject} {
			draw(s.subject)
			same()
		}
	}
	panels := map[string]func(t *testing.T, draw func(run string)){
		"live-heatmap": func(t *testing.T, draw func(string)) {
			draw(s.subject)
			p.sameCells(t, p.s.octaves(t, p.s.subject, func(start time.Time,
				_ float64) float64 {
				return float64(start.Truncate(s.interval()).UnixMilli())
			}),
				max(float64(s.interval().Milliseconds()), s.step()))
			if rules := p.marks(t, "layer_1_marks"); len(rules) != s.inRange() {
				t.Errorf("%d events are marked, want the %d of all runs", len(rules), s.inRange())
			}
		},
		"run-heatmap": func(t *testing.T, draw func(string)) {
			draw(s.subject)
			p.sameCells(t, p.s.octaves(t, p.s.subject, func(_ time.Time, offset float64) float64 { return offset }),
				s.step())
		},
		"run-map":    func(t *testing.T, draw func(string)) { draw(s.subject); p.sameMap(t) },
		"live-read":  func(t *testing.T, draw func(string)) { draw(s.subject); p.sameLive(t, "read") },
		"live-write": func(t *testing.T, draw func(string)) { draw(s.subject); p.sameLive(t, "write") },
		"live-hosts": func(t *testing.T, draw func(string)) { draw(s.subject); p.sameHosts(t, s.subject) },
		"hosts-map":  func(t *testing.T, draw func(string)) { draw(s.subject); p.sameMap(t) },
		"host-read":  func(t *testing.T, draw func(string)) { draw(s.subject); p.sameHost(t, "read") },
		"host-write": func(t *testing.T, draw func(string)) { draw(s.subject); p.sameHost(t, "write") },
		"host-heatmap": func(t *testing.T, draw func(string)) {
			draw(s.subject)
			p.sameCells(t, p.s.octaves(t, p.s.subject, func(_ time.Time, offset float64) float64 { return offset },
				s.firstHost(s.subject)), s.step())
			p.sameEvents(t, "layer_1_marks")
		},
		"host-figures": func(t *testing.T, draw func(string)) { draw(s.subject); p.sameFigures(t) },
		"slowdown-percentiles": func(t *testing.T, draw func(string)) {
			draw("")
			p.sameSlowdown(t)
		},
		"run-percentiles": func(t *testing.T, draw func(string)) {
			draw(s.subject)
			p.samePercentiles(t, fio.All)
			for _, d := range []string{"read", "write"} {
				p.choose(t, d)
				p.samePercentiles(t, d)
			}
		},
		"kinds-read":  func(t *testing.T, draw func(string)) { ofKinds(draw, func() { p.sameKinds(t, "read") }) },
		"kinds-write": func(t *testing.T, draw func(string)) { ofKinds(draw, func() { p.sameKinds(t, "write") }) },
		"kinds-parts": func(t *testing.T, draw func(string)) {
			ofKinds(draw, func() { p.sameParts(t, s.subject, kindsOf(s.subject)...) })
		},
		"compare-read": func(t *testing.T, draw func(string)) {
			draw("")
			p.sameOverlay(t, "read")
			evaluate[bool](t, p, "view.signal('percentile', 'p50').runAsync().then(() => true)")
			p.sameOverlay(t, "read", "50")
		},
		"compare-write":    func(t *testing.T, draw func(string)) { draw(""); p.sameOverlay(t, "write") },
		"compare-change":   func(t *testing.T, draw func(string)) { draw(""); p.sameChange(t) },
		"overview-history": func(t *testing.T, draw func(string)) { draw(""); p.sameHistory(t, "all") },
		"history-read":     func(t *testing.T, draw func(string)) { draw(""); p.sameHistory(t, "read") },
		"history-write":    func(t *testing.T, draw func(string)) { draw(""); p.sameHistory(t, "write") },
		"history-iops":     func(t *testing.T, draw func(string)) { draw(""); p.sameHistory(t, "") },
		"curve-points": func(t *testing.T, draw func(string)) {
			draw("")
			var runs []string
			for _, name := range realRuns {
				runs = append(runs, "run-"+name)
			}
			for _, direction := range []string{"all", "read", "write"} {
				p.sameDots(t, direction, runs...)
			}
		},
	}
	maps.Copy(panels, p.tailPanels())
	overTime := []string{"live-read", "live-write", "live-heatmap", "live-tail-read", "live-tail-write",
		"slowdown-percentiles"}
	try := func(t *testing.T, version string, o *kibanatest.Object) {
		id := o.ID
		check := panels[id]
		if check == nil {
			t.Fatal("nothing compares this panel's marks with our numbers")
		}
		st, o := s.open(t, id)
		ofHost := id == "hosts-map" || id == "run-map" || id == "live-hosts" || strings.HasPrefix(id, "host-")
		if ofHost && s.firstHost(s.subject) == "" || s.alone(id, s.subject) {
			if !p.empty(t, version, st.Choose("run.id", "run-"+s.subject), o) {
				t.Error("a run without hosts, or to compare one with, is not empty")
			}
			return
		}
		check(t, func(run string) {
			if run != "" {
				st = st.Choose("run.id", "run-"+run)
			}
			p.draw(t, version, st, o)
			if slices.Contains(overTime, id) {
				x := evaluate[[]float64](t, p, "view.scale('x').domain().map(Number)")
				if !slices.Equal(x, []float64{float64(s.from.UnixMilli()), float64(s.to.UnixMilli())}) {
					t.Errorf("the axis is from %.0f to %.0f, the time range from %v to %v", x[0], x[1], s.from, s.to)
				}
			}
		})
	}
	from, to := s.from, s.to
	defer func() { s.from, s.to = from, to }()
	screenshots := os.Getenv("FIOLAT_SCREENSHOTS")
	for _, version := range vegaVersions {
		for _, o := range s.bundle.space.Charts(typeVisualization) {
			id := o.ID
			if s.from, s.to = from, to; version == inPages && strings.HasPrefix(id, "live-") {
				s.from = s.runs["cluster"][0].Timestamp.Add(-2 * time.Second) // time buckets shorter than the intervals
				s.to = s.from.Add(16 * time.Second)
			}
			t.Run("Vega "+version+" "+id, func(t *testing.T) {
				try(t, version, o)
				if screenshots != "" && version == inPages {
					p.screenshots(t, filepath.Join(screenshots, "kibana-"+id))
				}
			})
		}
	}
	s.from, s.to = from, to
	t.Run("one run compared", func(t *testing.T) {
		st, o := s.open(t, "compare-change")
		p.draw(t, inPages, st.Choose("run.id", "run-cluster"), o)
		if words := evaluate[[]string](t, p, "words()"); !slices.Contains(words, "nothing to compare with") ||
			len(p.marks(t, "layer_0_marks")) > 0 {
			t.Errorf("it says %q", words)
		}
		if screenshots != "" {
			p.screenshots(t, filepath.Join(screenshots, "kibana-compare-change-alone"))
		}
	})
	t.Run("many runs compared on a small screen", func(t *testing.T) {
		p.width = 560
		defer func() { p.width = 0 }()
		st, o := s.open(t, "compare-change")
		p.draw(t, inPages, st, o)
		if covered := evaluate[[]string](t, p, "covered()"); len(covered) > 0 {
			t.Errorf("texts cover others: %q", covered)
		}
		if screenshots != "" {
			p.screenshots(t, filepath.Join(screenshots, "kibana-compare-change-560"))
		}
	})
	last := vegaVersions[len(vegaVersions)-1]
	// Of a run of one host, of none, and of 50. The other panels have shown all of these at once.
	for _, s.subject = range []string{"single", "randrw", "many"} {
		for _, o := range s.bundle.space.Charts(typeVisualization) {
			id := o.ID
			if of, _, _ := strings.Cut(id, "-"); slices.Contains([]string{"live", "run", "host", "kinds"}, of) {
				t.Run(s.subject+" "+id, func(t *testing.T) {
					try(t, last, o)
					if screenshots != "" && s.subject == "many" {
						p.screenshots(t, filepath.Join(screenshots, "kibana-"+id+"-50-hosts"))
					}
				})
			}
		}
	}
}

// screenshots writes the chart as it is in Kibana's light and dark theme.
func (p *page) screenshots(t *testing.T, path string) {
	t.Helper()
	for _, theme := range []string{"light", "dark"} {
		evaluate[bool](t, p, fmt.Sprintf("draw(panel, '%s')", theme))
		b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		var picture image.Image
		if err == nil {
			picture, err = png.Decode(bytes.NewReader(b))
		}
		var out bytes.Buffer
		if err == nil { // with room for the title and a tooltip
			size := image.Rect(0, 0, cmp.Or(p.width, 900)+100, cmp.Or(p.height, 360)+160)
			err = png.Encode(&out, picture.(interface {
				SubImage(image.Rectangle) image.Image
			}).SubImage(size))
		}
		if err == nil {
			err = os.WriteFile(path+"-"+theme+".png", out.Bytes(), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func chosenRun(name string) m { return m{"term": m{"run.id": "run-" + name}} }

// histograms visits the histogram documents of a run and kind of latency.
func (s *stored) histograms(t *testing.T, run, kind string, visit func(start time.Time, source m)) {
	t.Helper()
	found := s.ask(t, "POST", "/"+s.prefix+"-histogram-*/_search", m{"size": 10000,
		"query": m{"bool": m{"filter": []m{chosenRun(run), {"term": m{"fio.kind": kind}}}}}})
	for _, h := range list(found, "hits", "hits") {
		start, err := time.Parse(time.RFC3339Nano, str(h, "_source", "@timestamp"))
		if err != nil {
			t.Fatal(err)
		}
		visit(start, obj(h, "_source"))
	}
}

// octaves are the I/Os by time and octave of a run, added up from the exact buckets
// of its documents and fio's own grid.
func (s *stored) octaves(t *testing.T, run string, at2 func(start time.Time, offset float64) float64,
	host ...string) map[[2]float64]float64 {
	t.Helper()
	out := map[[2]float64]float64{}
	s.histograms(t, run, "clat", func(start time.Time, src m) {
		if host != nil && !slices.Contains(host, str(src, "host", "name")) {
			return
		}
		b := obj(src, "latency", "buckets")
		g := fiohist.Geometry{Groups: int(b["groups"].(float64)), Coarseness: int(b["coarseness"].(float64)),
			Unit: int64(b["unit_ns"].(float64))}
		h := obj(src, "latency", "histogram")
		for i, v := range list(h, "values") {
			octave := max(bits.Len64(uint64(g.Middle(g.Index(int64(v.(float64))))))-1, 0)
			out[[2]float64{at2(start, obj(src, "interval")["offset_ms"].(float64)), float64(octave)}] += list(h,
				"counts")[i].(float64) / 1000
		}
	})
	if len(out) == 0 {
		t.Fatal("no cells")
	}
	return out
}

// tally is I/Os by latency, ns, as the histogram field of documents has them.
type tally map[float64]float64

func (of tally) add(source m) {
	h := obj(source, "latency", "histogram")
	for i, v := range list(h, "values") {
		of[v.(float64)] += list(h, "counts")[i].(float64) / 1000
	}
}

// between are the lowest and the highest value that HDR of these digits may answer for a percentile: those a count
// further down and up, each within the width of its bucket.
func (of tally) between(percentile string, digits int, count float64) (low, high float64) {
	p, err := strconv.ParseFloat(strings.TrimPrefix(percentile, "p"), 64)
	if err != nil {
		panic(err)
	}
	total := 0.0
	for _, n := range of {
		total += n
	}
	rank, seen := p/100*total, 0.0
	for _, v := range slices.Sorted(maps.Keys(of)) {
		seen += of[v]
		if low == 0 && seen >= rank-count {
			low = v
		}
		if high = v; seen >= rank+count {
			break
		}
	}
	width := 1 / math.Pow10(digits)
	return low * (1 - width), high * (1 + width)
}

// sameCells finds each cell where its time and its octave are, with its I/Os, and no
// other.
func (p *page) sameCells(t *testing.T, want map[[2]float64]float64, width float64) {
	t.Helper()
	var times, latencies []float64
	for c := range want {
		times = append(times, c[0], c[0]+width)
		latencies = append(latencies, math.Exp2(c[1]), math.Exp2(c[1]+1))
	}
	x, y := p.places(t, "x", times), p.places(t, "y", latencies)
	cells := p.marks(t, "layer_0_marks")
	if len(cells) != len(want) {
		t.Errorf("%d cells, want %d", len(cells), len(want))
	}
	var hovered *mark
	for c, n := range want {
		i := slices.IndexFunc(cells, func(k mark) bool {
			return math.Abs(min(k.X, k.X2)-x[c[0]]) < pixel && math.Abs(max(k.X, k.X2)-x[c[0]+width]) < pixel &&
				math.Abs(min(k.Y, k.Y2)-y[math.Exp2(c[1]+1)]) < pixel && math.Abs(max(k.Y,
				k.Y2)-y[math.Exp2(c[1])]) < pixel
		})
		if i < 0 || math.Abs(cells[i].number("I/Os")-n) > 1e-3*n+0.05 { // stored counts are to 0.001 I/O a bucket
			t.Fatalf("no cell of %v I/Os at %v among %d", n, c, len(cells))
		}
		if hovered == nil || n > hovered.number("I/Os") {
			hovered = &cells[i]
		}
	}
	shown := p.hover(t, hovered.Left+0.8*hovered.X+0.2*hovered.X2, hovered.Top+(hovered.Y+hovered.Y2)/2)
	if shown["I/Os"] != hovered.Tooltip["I/Os"] || shown["latency"] != hovered.Tooltip["latency"] {
		t.Errorf("hovering shows %v, want %v", shown, hovered.Tooltip)
	}
}

// sameEvents finds the events of the run and none of another's.
func (p *page) sameEvents(t *testing.T, name string) {
	t.Helper()
	rules, want := p.marks(t, name), 0
	for _, e := range p.s.events {
		if e.run != "run-"+p.s.subject {
			continue
		}
		want++
		x := p.places(t, "x", []float64{e.offset})[e.offset]
		if !slices.ContainsFunc(rules, func(k mark) bool {
			return math.Abs(k.X-x) < pixel &&
				k.Tooltip["event"] == microseconds.ReplaceAllString(e.text, "$1 µs")
		}) {
			t.Errorf("%q is not marked at %v ms: %v", e.text, e.offset, rules)
		}
	}
	if len(rules) != want {
		t.Errorf("%d events are marked, want %d: %v", len(rules), want, rules)
	}
}

// point is a number that a chart must show: at a time, with words in its tooltip.
type point struct {
	t, v float64
	what string
}

// samePoints finds each number where it is, and no other mark.
func (p *page) samePoints(t *testing.T, name, word string, want []point) {
	t.Helper()
	p.samePointsIn(t, "ns", name, word, want)
}

// samePointsIn is the same of numbers in a unit, by which tooltips call them.
func (p *page) samePointsIn(t *testing.T, unit, name, word string, want []point) {
	t.Helper()
	var times, values []float64
	for _, w := range want {
		times, values = append(times, w.t), append(values, w.v)
	}
	x, y := p.places(t, "x", times), p.places(t, "y", values)
	points := p.marks(t, name)
	if len(points) != len(want) || len(want) == 0 {
		t.Errorf("%d points, want %d", len(points), len(want))
	}
	var hovered *mark
	for _, w := range want {
		i := slices.IndexFunc(points, func(k mark) bool {
			return math.Abs(k.X-x[w.t]) < pixel && math.Abs(k.Y-y[w.v]) < pixel && k.Tooltip[word] == w.what &&
				near(k.number(unit), w.v)
		})
		if i < 0 {
			t.Fatalf("no point at %+v, x %v, y %v: %v", w, x[w.t], y[w.v], points)
		}
		// half of what is on the edge is clipped
		if hovered == nil || hovered.X < 5 || points[i].X > 5 && points[i].Y < hovered.Y {
			hovered = &points[i]
		}
	}
	if shown := p.hover(t, hovered.Left+hovered.X, hovered.Top+hovered.Y); shown[unit] != hovered.Tooltip[unit] {
		t.Errorf("hovering shows %v, want %v", shown, hovered.Tooltip)
	}
}

func (p *page) samePercentiles(t *testing.T, direction string) {
	t.Helper()
	p.sameRows(t, direction == "read" && p.s.subject == "cluster",
		func(r interval) bool {
			return r.Direction == direction && (r.Scope == "direction" || r.Scope == "run" && direction == fio.All)
		})
}

// choose chooses a direction.
func (p *page) choose(t *testing.T, direction string) {
	t.Helper()
	evaluate[bool](t, p, fmt.Sprintf("view.signal('direction', '%s').runAsync().then(() => true)", direction))
}

func (p *page) sameHost(t *testing.T, direction string) {
	t.Helper()
	p.sameRows(t, false, func(r interval) bool { // the limit is for all hosts together
		return r.Scope == "host+direction" && r.Direction == direction && r.host() == p.s.firstHost(p.s.subject)
	})
}

// firstHost is the first by name of a run's.
func (s *stored) firstHost(run string) string {
	var hosts []string
	for _, r := range s.runs[run] {
		if r.Host != nil {
			hosts = append(hosts, *r.Host)
		}
	}
	if hosts == nil {
		return ""
	}
	return slices.Min(hosts)
}

// inRange is how many events lie in the time range.
func (s *stored) inRange() (n int) {
	for _, e := range s.events {
		if !e.at.Before(s.from) && !e.at.After(s.to) {
			n++
		}
	}
	return n
}

// step is the length of the subject's intervals, ms.
func (s *stored) step() float64 {
	rows := s.runs[s.subject]
	i := slices.IndexFunc(rows, func(r interval) bool { return r.OffsetMS > rows[0].OffsetMS })
	return rows[i].OffsetMS - rows[0].OffsetMS
}

// interval is the length of time buckets over the time range.
func (s *stored) interval() time.Duration {
	return kibanatest.Length(kibanatest.RoundInterval(s.to.Sub(s.from) / maxBars))
}

// sameLive finds the percentiles of each time bucket, by ranks of the I/Os in its documents.
func (p *page) sameLive(t *testing.T, direction string) {
	t.Helper()
	step := p.s.interval()
	want, ios, hosts := map[float64]tally{}, map[float64]float64{}, map[float64]map[string]bool{}
	limited := direction == "read" && p.s.subject == "cluster"
	p.s.histograms(t, p.s.subject, "clat", func(start time.Time, source m) {
		if str(source, "fio", "direction") == direction {
			at := float64(start.Truncate(step).UnixMilli())
			if want[at] == nil {
				want[at], hosts[at] = tally{}, map[string]bool{}
			}
			want[at].add(source)
			if host := str(source, "host", "name"); host != "" {
				hosts[at][host] = true
			}
		}
	})
	for _, r := range p.s.rows(p.s.subject, func(r interval) bool {
		return r.Scope == "direction" && r.Direction == direction && r.Samples > 0
	}) {
		ios[float64(r.Timestamp.Truncate(step).UnixMilli())] += r.Samples
	}
	points := p.marks(t, "layer_2_marks")
	if len(points) != len(ios)*len(shownPercentiles) || len(ios) == 0 {
		t.Errorf("%d points, want %d percentiles at %d times", len(points), len(shownPercentiles), len(ios))
	}
	x := p.places(t, "x", slices.Collect(maps.Keys(ios)))
	for at, n := range ios {
		for _, name := range shownPercentiles {
			low, high := want[at].between(name, liveDigits, 0.001)
			i := slices.IndexFunc(points, func(k mark) bool {
				return math.Abs(k.X-x[at]) < pixel &&
					k.Tooltip["percentile"] == name
			})
			if i < 0 {
				t.Fatalf("no %s at %v: %v", name, at, points)
			}
			if v := points[i].number("ns"); v < low || v > high {
				t.Errorf("%s at %v is %v, want %v to %v", name, at, v, low, high)
			}
			share, _ := strconv.ParseFloat(name[1:], 64)
			words := fmt.Sprint(points[i].Tooltip["I/Os"])
			count, _, _ := strings.Cut(words, " ")
			if got, _ := strconv.ParseFloat(strings.ReplaceAll(count, ",", ""), 64); math.Abs(got-n) > 0.5 {
				t.Errorf("%s at %v is of %s I/Os, want %v", name, at, words, n)
			}
			certain := " above"
			if n*(1-share/100) < 10 {
				certain += ": too few"
			}
			of := fmt.Sprintf(" of %d host", len(hosts[at]))
			if !strings.HasSuffix(words, certain) || strings.Contains(words, of) != (len(hosts[at]) > 0) {
				t.Errorf("%s of %v I/Os of %d hosts: %q, want %q", name, n, len(hosts[at]), words, certain)
			}
		}
	}
	if rules := p.marks(t, "layer_4_marks"); len(rules) != p.s.inRange() {
		t.Errorf("%d events are marked, want the %d of all runs", len(rules), p.s.inRange())
	}
	limit := p.marks(t, "layer_3_marks")
	y := p.places(t, "y", []float64{slaLimit})[slaLimit]
	if (len(limit) > 0) != limited || slices.ContainsFunc(limit,
		func(k mark) bool { return math.Abs(k.Y-y) > pixel }) {
		t.Errorf("the SLA's line is not at %v: %v", y, limit)
	}
}

// sameSlowdown finds the percentiles of each time bucket, by ranks, and its worst.
func (p *page) sameSlowdown(t *testing.T) {
	t.Helper()
	want := map[float64]tally{}
	for _, e := range probed {
		at := p.s.runs["cluster"][0].Timestamp.Add(time.Duration(e.at) * time.Second)
		if at.Before(p.s.from) || at.After(p.s.to) {
			continue
		}
		bucket := float64(at.Truncate(p.s.interval()).UnixMilli())
		if want[bucket] == nil {
			want[bucket] = tally{}
		}
		want[bucket][e.slowdown]++
	}
	names := []string{"p50", "p95", "p99", "worst"}
	points := p.marks(t, "layer_2_marks")
	if len(points) != len(want)*len(names) || len(want) == 0 {
		t.Errorf("%d points, want %d percentiles at %d times", len(points), len(names), len(want))
	}
	x := p.places(t, "x", slices.Collect(maps.Keys(want)))
	for at, of := range want {
		for _, name := range names {
			low := slices.Max(slices.Collect(maps.Keys(of)))
			high := low
			if name != "worst" {
				low, high = of.between(name, liveDigits, 1)
			}
			i := slices.IndexFunc(points, func(k mark) bool {
				return math.Abs(k.X-x[at]) < pixel && k.Tooltip["percentile"] == name
			})
			if i < 0 {
				t.Fatalf("no %s at %v: %v", name, at, points)
			}
			if v := points[i].number("times"); v < low*(1-1e-6) || v > high*(1+1e-6) {
				t.Errorf("%s at %v is %v, want %v to %v", name, at, v, low, high)
			}
		}
	}
}

// sameHosts finds a point for each host and direction, at the worst p99 of an interval.
func (p *page) sameHosts(t *testing.T, runs ...string) {
	t.Helper()
	want := map[string]float64{}
	for _, run := range runs {
		for _, r := range p.s.rows(run, func(r interval) bool {
			return r.Scope == "host+direction" && r.Percentiles["99"] != nil && !r.Timestamp.Before(p.s.from) &&
				r.Timestamp.Before(p.s.to)
		}) {
			want[r.host()+" "+r.Direction] = max(want[r.host()+" "+r.Direction], *r.Percentiles["99"])
		}
	}
	worst := map[string]float64{}
	for key, v := range want {
		host, _, _ := strings.Cut(key, " ")
		worst[host] = max(worst[host], v)
	}
	hosts := slices.SortedFunc(maps.Keys(worst), func(a, b string) int { return cmp.Compare(worst[b], worst[a]) })
	for _, host := range hosts[min(20, len(hosts)):] { // the worst are shown
		delete(want, host+" read")
		delete(want, host+" write")
	}
	bars := p.marks(t, "layer_0_marks")
	if len(bars) != len(want) || len(want) == 0 {
		t.Errorf("%d bars, want %d", len(bars), len(want))
	}
	for _, k := range bars {
		v := want[fmt.Sprint(k.Tooltip["host"], " ", k.Tooltip["direction"])]
		x := p.places(t, "x", []float64{v})
		if !near(k.number("ns"), v) || math.Abs(k.X-x[v]) > pixel {
			t.Errorf("%+v, want %v", k, v)
		}
	}
}

// sameFigures finds the percentiles of a host's I/Os, by ranks.
func (p *page) sameFigures(t *testing.T) {
	t.Helper()
	words := p.marks(t, "layer_0_marks")
	if len(words) != 8 {
		t.Errorf("%d figures, want 4 of reads and 4 of writes", len(words))
	}
	host := p.s.firstHost(p.s.subject)
	want := map[string]tally{"read": {}, "write": {}}
	p.s.histograms(t, p.s.subject, "clat", func(_ time.Time, source m) {
		if str(source, "host", "name") == host {
			want[str(source, "fio", "direction")].add(source)
		}
	})
	for _, k := range words {
		direction := fmt.Sprint(k.Tooltip["direction"])
		n := 0.0
		for _, r := range p.s.rows(p.s.subject, func(r interval) bool {
			return r.Scope == "host+direction" && r.Direction == direction && r.host() == host
		}) {
			n += r.Samples
		}
		low, high := want[direction].between(fmt.Sprint(k.Tooltip["percentile"]), figureDigits, 0.001)
		if v := k.number("ns"); math.Abs(k.number("I/Os")-n) > 1e-6*n || !(v >= low && v <= high) {
			t.Errorf("%+v, want %v I/Os, %v to %v", k, n, low, high)
		}
	}
}

func (p *page) sameRows(t *testing.T, limited bool, of func(r interval) bool) {
	t.Helper()
	var want []point
	for _, r := range p.s.rows(p.s.subject, of) {
		for _, name := range shownPercentiles {
			if v := r.Percentiles[strings.TrimPrefix(name, "p")]; v != nil {
				want = append(want, point{r.OffsetMS, *v, name})
			}
		}
	}
	p.samePoints(t, "layer_2_marks", "percentile", want)
	p.sameEvents(t, "layer_4_marks")
	limit := p.marks(t, "layer_3_marks")
	if !limited {
		if len(limit) != 0 {
			t.Errorf("a limit: %v", limit)
		}
		return
	}
	y := p.places(t, "y", []float64{slaLimit})[slaLimit]
	if len(limit) == 0 || slices.ContainsFunc(limit, func(k mark) bool { return math.Abs(k.Y-y) > pixel }) {
		t.Errorf("the SLA's line is not at %v: %v", y, limit)
	}
}

func (p *page) sameKinds(t *testing.T, direction string) {
	t.Helper()
	var want []point
	for _, kind := range kindsOf(p.s.subject) {
		for _, r := range p.s.rows(key(p.s.subject, kind), func(r interval) bool {
			return r.Scope == "direction" && r.Direction == direction
		}) {
			for _, name := range []string{"50", "99"} {
				if v := r.Percentiles[name]; v != nil {
					want = append(want, point{r.OffsetMS, *v, kind + " p" + name})
				}
			}
		}
	}
	p.samePoints(t, "layer_2_marks", "percentile", want)
}

// sameParts finds the mean of each kind in its place, and the gap.
func (p *page) sameParts(t *testing.T, run string, have ...string) {
	t.Helper()
	mean := map[string]map[string]float64{"read": {}, "write": {}}
	for _, kind := range have {
		for _, r := range p.s.whole(t, run, kind) {
			mean[r.Direction][kind] = *r.Mean
		}
	}
	bars, ticks, texts := p.marks(t, "layer_0_marks"), p.marks(t, "layer_1_marks"), p.marks(t, "layer_2_marks")
	find := func(marks []mark, direction, kind string) mark {
		i := slices.IndexFunc(marks, func(k mark) bool {
			return k.Tooltip["direction"] == direction && (kind == "" || k.Tooltip["kind"] == kind)
		})
		if i < 0 {
			t.Fatalf("no mark of %s %s: %v", direction, kind, marks)
		}
		return marks[i]
	}
	nBars, nTicks := 0, 0
	for direction, of := range mean {
		sum := of["slat"] + of["clat"]
		x := p.places(t, "x", []float64{0, of["slat"], of["lat"], sum})
		ends := map[string][2]float64{"slat": {0, of["slat"]}, "clat": {of["slat"], sum}}
		for kind, end := range ends {
			if of[kind] == 0 {
				continue
			}
			nBars++
			k := find(bars, direction, kind)
			if math.Abs(min(k.X, k.X2)-x[end[0]]) > pixel || math.Abs(max(k.X, k.X2)-x[end[1]]) > pixel ||
				!near(k.number("ns"), of[kind]) {
				t.Errorf("%s %s: %+v, want %v at %v", direction, kind, k, of[kind], x)
			}
		}
		text := find(texts, direction, "")
		words := fmt.Sprint(text.Tooltip["gap"])
		for _, kind := range []string{"lat", "clat"} {
			if (of[kind] == 0) != (words == "no "+kind) {
				t.Errorf("%s: %q with %v", direction, words, of)
			}
		}
		if of["lat"] == 0 {
			continue
		}
		nTicks++
		if k := find(ticks, direction, ""); math.Abs((k.X+k.X2)/2-x[of["lat"]]) > pixel ||
			!near(k.number("ns"), of["lat"]) {
			t.Errorf("%s lat: %+v, want %v at %v", direction, k, of["lat"], x)
		}
		if of["clat"] == 0 {
			continue
		}
		gap := of["lat"] - sum
		begins := "lat − (slat + clat) = "
		if of["slat"] == 0 {
			begins = "no slat; lat − clat = "
		}
		if !near(text.number("ns"), gap) || !strings.HasPrefix(words, begins) ||
			!strings.HasSuffix(words,
				strings.Replace(fmt.Sprintf("%+.2f%% of lat", 100*gap/of["lat"]), "-", "−", 1)) {
			t.Errorf("%s: gap %v, want %v", direction, text.Tooltip, gap)
		}
	}
	if len(bars) != nBars || len(ticks) != nTicks {
		t.Errorf("%d bars and %d ticks, want %d and %d", len(bars), len(ticks), nBars, nTicks)
	}
}

func (p *page) sameOverlay(t *testing.T, direction string, percentile ...string) {
	t.Helper()
	of := append(percentile, "99")[0]
	var want []point
	for _, name := range realRuns {
		for _, r := range p.s.rows(name, func(r interval) bool {
			return r.Scope == "direction" &&
				r.Direction == direction
		}) {
			if v := r.Percentiles[of]; v != nil {
				want = append(want, point{r.OffsetMS, *v, p.s.title(name)})
			}
		}
	}
	p.samePoints(t, "layer_1_marks", "run", want)
}

// sameChange compares each cell with percentiles of the whole runs.
func (p *page) sameChange(t *testing.T) {
	t.Helper()
	type key struct{ run, measure string }
	want := map[key]float64{}
	order := slices.Clone(realRuns)
	slices.SortFunc(order, func(a, b string) int { return p.s.runs[a][0].Timestamp.Compare(p.s.runs[b][0].Timestamp) })
	for _, name := range order {
		for _, r := range p.s.exact(t, name, "clat") {
			for _, p := range []string{"50", "99", "99.9"} {
				want[key{name, r.Direction + " p" + p}] = *r.Percentiles[p]
			}
			want[key{name, r.Direction + " mean"}] = *r.Mean
		}
	}
	seen := map[key]bool{}
	for _, k := range p.marks(t, "layer_0_marks") {
		name := strings.TrimPrefix(titleOf.ReplaceAllString(fmt.Sprint(k.Tooltip["run"]), "$1"), "run-")
		measure := fmt.Sprint(k.Tooltip["measure"])
		if strings.HasSuffix(measure, " iops") {
			continue
		}
		v, base := want[key{name, measure}], want[key{order[0], measure}]
		if v == 0 || base == 0 || !near(k.number("value"), v) ||
			!near(k.number("baseline's"), base) || k.Tooltip["baseline"] != p.s.title(order[0]) {
			t.Errorf("%v; the value is %v, the baseline's %v", k.Tooltip, v, base)
			continue
		}
		seen[key{name, measure}] = true
	}
	for k := range maps.Keys(want) {
		if want[key{order[0], k.measure}] != 0 && !seen[k] {
			t.Errorf("no cell of %v", k)
		}
	}
}

// sameHistory finds the percentiles of a direction of each whole run, or the IOPS of all directions, at the run's
// start, with their limits, and each change point.
func (p *page) sameHistory(t *testing.T, direction string) {
	t.Helper()
	var want []point
	for _, name := range realRuns {
		at := float64(p.s.runs[name][0].Timestamp.UnixMilli())
		if direction == "" {
			for d, v := range p.s.iops(t, name) {
				want = append(want, point{at, v, d})
			}
			continue
		}
		scope := map[bool]string{true: fio.RunScope, false: fio.DirectionScope}[direction == fio.All]
		for _, r := range p.s.whole(t, name, "clat", scope) {
			for _, percentile := range historyPercentiles {
				if r.Direction == direction {
					want = append(want, point{at, *r.Percentiles[percentile[1:]], percentile})
				}
			}
		}
	}
	unit := map[bool]string{true: "per second", false: "ns"}[direction == ""]
	p.samePointsIn(t, unit, "layer_3_marks", "metric", want)

	drawn := func(name string) bool {
		d, metric, _ := strings.Cut(name, " ")
		return direction == "" && metric == "iops" || slices.Contains(historyPercentiles, metric) && d == direction
	}
	bars, limited := p.marks(t, "layer_2_marks"), 0
	for _, name := range realRuns {
		at := float64(p.s.runs[name][0].Timestamp.UnixMilli())
		for metric, l := range p.s.limits(t, name) {
			if !drawn(metric) {
				continue
			}
			limited++
			x, y := p.places(t, "x", []float64{at})[at], p.places(t, "y", l[:])
			if !slices.ContainsFunc(bars, func(k mark) bool {
				return math.Abs(k.X-x) < pixel && math.Abs(max(k.Y, k.Y2)-y[l[0]]) < pixel &&
					math.Abs(min(k.Y, k.Y2)-y[l[1]]) < pixel
			}) {
				t.Errorf("no limits of %s %s, %v: %v", name, metric, l, bars)
			}
		}
	}
	if direction == fio.All { // `fiolat history` has none of all directions
		limited = len(bars)
	}
	if len(bars) != limited || limited == 0 {
		t.Errorf("limits of %d numbers, want %d", len(bars), limited)
	}

	var levels []point // of metrics that are drawn
	rules := 0
	for _, c := range levelChanges {
		d, metric, _ := strings.Cut(c.metric, " ")
		switch {
		case drawn(c.metric):
			levels = append(levels, point{float64(p.s.runs[c.run][0].Timestamp.UnixMilli()), c.after,
				c.run + " " + c.metric})
		case d == direction && metric != "iops":
			rules++
		}
	}
	marks := p.marks(t, "layer_4_marks")
	if len(marks) != len(levels) || len(levels) == 0 && direction != fio.All {
		t.Errorf("%d change points, want %d: %v", len(marks), len(levels), marks)
	}
	for _, l := range levels {
		x, y := p.places(t, "x", []float64{l.t})[l.t], p.places(t, "y", []float64{l.v})[l.v]
		if !slices.ContainsFunc(marks, func(k mark) bool {
			return math.Abs(k.X-x) < pixel && math.Abs(k.Y-y) < pixel && k.Tooltip["change"] == l.what
		}) {
			t.Errorf("no mark of %+v: %v", l, marks)
		}
	}
	if marks = p.marks(t, "layer_0_marks"); len(marks) != rules {
		t.Errorf("%d changes of other metrics, want %d: %v", len(marks), rules, marks)
	}
}

// limits are those of a run's numbers by direction and metric, as `fiolat history` says.
func (s *stored) limits(t *testing.T, run string) map[string][2]float64 {
	t.Helper()
	out, _ := s.command(t, "history", "--index-prefix", s.prefix, "--format", "json", "run-"+run)
	found := map[string][2]float64{}
	for line := range strings.Lines(string(out)) {
		var r struct {
			Metric string
			Runs   []struct {
				CI fio.Limits
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if len(r.Runs) == 1 && r.Runs[0].CI.Low != nil {
			found[r.Metric] = [2]float64{*r.Runs[0].CI.Low, *r.Runs[0].CI.High}
		}
	}
	return found
}

// iops are those of a run by direction, as `fiolat summary` says.
func (s *stored) iops(t *testing.T, run string) map[string]float64 {
	t.Helper()
	args := []string{"summary", "--format", "ndjson", run}
	if madeUp[run] > 0 {
		args = []string{"summary", "--format", "ndjson", "--repair", "no", filepath.Join(s.madeUp, run)}
	}
	out, _ := s.command(t, args...)
	found := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		var row struct {
			Direction string
			IOPS      *float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if slices.Contains([]string{"read", "write", "trim"}, row.Direction) && row.IOPS != nil {
			found[row.Direction] = *row.IOPS
		}
	}
	return found
}
