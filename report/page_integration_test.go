//go:build integration

package report_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/draw"
	"image/png"
	"iter"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
	"fiolat/pipeline/pipelinetest"
	"fiolat/report"
)

// program is fiolat itself: what the page shows is compared with what it prints.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fiolat-page")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir, "../cmd/fiolat").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "fiolat"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	stop()
	os.Exit(code)
}

func fiolat(t testing.TB, args ...string) []byte {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("fiolat %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.Bytes()
}

// row is a line of percentiles --format ndjson.
type row struct {
	OffsetMS                float64 `json:"offset_ms"`
	Scope                   string
	Host, Job, Log          string
	Direction               string
	Samples, Min, Max, Mean float64
	Logs                    int
	Partial                 bool
	Percentiles             map[string]float64
	CI                      map[string]struct{ Lower, Upper *float64 }
}

func (r row) measure(name string) float64 {
	switch name {
	case "min":
		return r.Min
	case "max":
		return r.Max
	case "mean":
		return r.Mean
	}
	return r.Percentiles[strings.TrimPrefix(name, "p")]
}

// percentiles are the rows that fiolat prints, by scope value.
func percentiles(t *testing.T, args ...string) map[[4]string][]row {
	t.Helper()
	out := map[[4]string][]row{}
	lines := bufio.NewScanner(bytes.NewReader(fiolat(t, append([]string{"percentiles", "--format", "ndjson"},
		args...)...)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		k := [4]string{r.Host, r.Job, r.Log, r.Direction}
		out[k] = append(out[k], r)
	}
	return out
}

// near says that a is b with five digits, or the next ns.
func near(a, b float64) bool { return math.Abs(a-b) <= math.Max(0.51, 1e-4*math.Abs(b)) }

// choose sets the controls as a person does, and waits until the charts have followed.
func (b *tab) choose(values map[string]string) {
	b.Helper()
	set, err := json.Marshal(values)
	if err != nil {
		b.Fatal(err)
	}
	eval[any](b, `(async () => {
		const form = document.querySelector('#controls');
		for (const [name, v] of Object.entries(`+string(set)+`)) {
			if (![...form[name].options].some(o => o.value === v)) {
				if (v === '' || v === 'all') continue;
				throw new Error('no ' + name + ' ' + v);
			}
			form[name].value = v;
			form[name].dispatchEvent(new Event('change', {bubbles: true}));
		}
		for (const v of Object.values(fiolat.views)) await v.runAsync();
		return 1;
	})()`)
}

// drawn is what a chart shows: the rows behind it, where its marks are, and its axes.
type drawn struct {
	Points []struct {
		P            string
		T            float64
		V            *float64
		K            *int
		Lower, Upper *float64
	}
	Lines [][]mark
	X, Y  struct{ Domain, Range []float64 }
}

// mark is a point of a line as it is drawn.
type mark struct {
	P       string
	T       float64 // in a spectrum 1/(1-p)
	V       *float64
	X, Y    float64
	Defined bool
}

// inView are functions of a script about a view: the items of each mark of a type, and an axis.
const inView = `marks = type => {
		const out = [];
		(function walk(of) {
			for (const i of of) if (i.marktype === type) out.push(i.items); else if (i.items) walk(i.items);
		})([view.scenegraph().root]);
		return out;
	}, axis = s => ({domain: view.scale(s).domain().map(Number), range: view.scale(s).range()})`

func (b *tab) drawn(chart string) drawn {
	b.Helper()
	return eval[drawn](b, `(() => {
		const view = fiolat.views['`+chart+`'], `+inView+`;
		return {points: view.data('points'), lines: marks('line').map(items => items.map(m => ({p: m.datum.p,
			t: m.datum.t ?? m.datum.x, v: m.datum.v, x: m.x, y: m.y, defined: m.defined !== false}))),
			x: axis('x'), y: axis('y')};
	})()`)
}

// place is where a value belongs on an axis.
func place(v float64, axis struct{ Domain, Range []float64 }, f func(float64) float64) float64 {
	share := (f(v) - f(axis.Domain[0])) / (f(axis.Domain[1]) - f(axis.Domain[0]))
	return axis.Range[0] + share*(axis.Range[1]-axis.Range[0])
}

func linear(v float64) float64 { return v }

// TestChromiumPage opens pages of real logs from their files, and compares all that
// is drawn, said and listed, for each choice, with what fiolat prints.
func TestChromiumPage(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "cluster", "gaps", "slow"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			logs, err := filepath.Abs("../testdata/fio/" + folder)
			if err != nil {
				t.Fatal(err)
			}
			rows := percentiles(t, "--by", "direction,host,job", logs)
			whole := percentiles(t, "--by", "direction,host,job", "--interval", "1h", "--percentiles",
				"0,50,75,87.5,90,93.75,95,99,99.21875,99.9", logs)
			b := opened(t, 1200, 900, "light", logs)
			b.Clean()
			scopes := eval[[]struct{ Host, Job, Log, Direction string }](b, "fiolat.head.scopes")
			if len(scopes) < 2 {
				t.Fatalf("%d scopes on the page", len(scopes))
			}
			for _, s := range scopes {
				want, total := rows[[4]string{s.Host, s.Job, s.Log, s.Direction}], whole[[4]string{s.Host, s.Job, s.Log,
					s.Direction}]
				if len(want) == 0 || len(total) != 1 {
					t.Fatalf("%+v: %d rows printed, %d for the whole run", s, len(want), len(total))
				}
				if eval[int](b, "document.querySelector('#controls').direction.options.length") == 0 &&
					s.Direction != "all" {
					continue // one direction only, and no choice
				}
				b.choose(map[string]string{"host": s.Host, "job": s.Job, "log": s.Log, "direction": s.Direction})
				b.checkTime(want)
				b.checkHeat(want)
				b.checkSpectrum(total[0])
				b.checkCounts(total[0])
				b.checkTable(want)
				b.checkHover(want, total[0])
			}
			b.checkKeyboard()
			b.Clean()
		})
	}
}

func (b *tab) checkTime(want []row) {
	b.Helper()
	d := b.drawn("percentiles")
	names := eval[[]string](b, "[...document.querySelectorAll('#legend input:checked')].map(i => i.dataset.series)")
	if !slices.Equal(names, []string{"p50", "p99", "p99.9"}) {
		b.Errorf("lines switched on: %v", names)
	}
	seen, banded := 0, 0
	for _, p := range d.Points {
		if p.K == nil {
			continue
		}
		seen++
		r := want[*p.K]
		if r.OffsetMS != p.T || p.V == nil || !near(*p.V, r.measure(p.P)) {
			b.Errorf("%s from %v ms: %v drawn, %v printed from %v", p.P, p.T, *p.V, r.measure(p.P), r.OffsetMS)
		}
		ci := r.CI[strings.TrimPrefix(p.P, "p")]
		if (p.Lower != nil) != (ci.Lower != nil && ci.Upper != nil && !r.Partial) {
			b.Errorf("%s from %v ms: a band is drawn: %v; limits printed: %+v", p.P, p.T, p.Lower != nil, ci)
		} else if p.Lower != nil {
			banded++
			close := func(a, b float64) bool { // a distance has two digits
				return math.Abs(a-b) <= 0.05*math.Abs(b-*p.V)+1e-4*b+1
			}
			if !close(*p.Lower, math.Max(1, *ci.Lower)) || !close(*p.Upper, *ci.Upper) {
				b.Errorf("%s from %v ms: band %v to %v, want %v to %v", p.P, p.T, *p.Lower, *p.Upper, *ci.Lower,
					*ci.Upper)
			}
		}
	}
	filled := 0
	for _, r := range want {
		if r.Samples > 1e-9 {
			filled += len(names)
		}
	}
	if seen != filled || banded == 0 {
		b.Errorf("%d points drawn, %d of them with bands; want %d", seen, banded, filled)
	}
	if marks := b.checkMarks(d); marks < filled {
		b.Errorf("%d marks for %d numbers", marks, filled)
	}
	rates := map[float64]float64{}
	for _, p := range b.drawn("rate").Points {
		if p.K != nil {
			rates[p.T] = *p.V
		}
	}
	for _, r := range want {
		if rate, ok := rates[r.OffsetMS]; ok != (r.Samples > 1e-9) || ok && rate < 0.99*r.Samples {
			b.Errorf("%v ms: %v I/Os per second drawn of %v I/Os in a second", r.OffsetMS, rate, r.Samples)
		}
	}
}

// checkMarks looks where the marks of a chart over time are, and counts them.
func (b *tab) checkMarks(d drawn) (marks int) {
	b.Helper()
	for _, line := range d.Lines {
		for _, m := range line {
			if m.V == nil {
				if m.Defined {
					b.Errorf("%s: drawn through %v ms, where nothing is known", m.P, m.T)
				}
				continue
			}
			marks++
			if x, y := place(m.T, d.X, linear), place(*m.V, d.Y, math.Log); math.Abs(m.X-x) > 0.5 ||
				math.Abs(m.Y-y) > 0.5 {
				b.Errorf("%s at %v ms: mark at %v, %v; its number belongs at %v, %v", m.P, m.T, m.X, m.Y, x, y)
			}
		}
	}
	return marks
}

// checkHeat adds the heat map up again: each column has its I/Os, and its percentiles
// lie in the cells where the running sum gets there.
func (b *tab) checkHeat(want []row) {
	b.Helper()
	type cell struct {
		T, Lo, Hi, N float64
		K            int
		X, Y         float64
	}
	got := eval[struct {
		Cells []cell
		X, Y  struct{ Domain, Range []float64 }
	}](b, `(() => {
		const view = fiolat.views.heat, `+inView+`;
		return {cells: marks('rect').flat().filter(m => m.datum?.hi).map(m => ({...m.datum, x: m.x, y: m.y})),
			x: axis('x'), y: axis('y')};
	})()`)
	sums := make([]float64, len(want))
	for _, c := range got.Cells {
		sums[c.K] += c.N
		if x, y := place(c.T, got.X, linear), place(c.Hi, got.Y, math.Log); math.Abs(c.X-x) > 0.5 ||
			math.Abs(c.Y-y) > 0.5 {
			b.Errorf("cell from %v ms up to %v ns is at %v, %v; it belongs at %v, %v", c.T, c.Hi, c.X, c.Y, x, y)
		}
	}
	cells := got.Cells
	for k, r := range want {
		if math.Abs(sums[k]-r.Samples) > 1+0.01*r.Samples {
			b.Errorf("heat map: %v I/Os in column %d, %v printed", sums[k], k, r.Samples)
		}
		if r.Samples < 50 {
			continue
		}
		slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.Lo, b.Lo) })
		below := 0.0
		for _, c := range cells {
			if c.K != k {
				continue
			}
			if p := r.Percentiles["50"]; below < 0.49*sums[k] && c.Lo > p*1.001 || below+c.N > 0.51*sums[k] &&
				below < 0.49*sums[k] && c.Hi < p*0.999 {
				b.Errorf("column %d: half of the I/Os are reached at %v to %v ns, and p50 is %v", k, c.Lo, c.Hi, p)
			}
			below += c.N
		}
	}
}

func (b *tab) checkSpectrum(total row) {
	b.Helper()
	d := b.drawn("spectrum")
	type point struct{ x, v float64 }
	at := map[float64]point{}
	// what is chosen
	line := d.Lines[slices.IndexFunc(d.Lines, func(l []mark) bool { return len(l) > 0 && l[0].P == "line 0" })]
	for _, m := range line {
		at[math.Round(1e6*(100-100/m.T))/1e6] = point{m.T, *m.V}
		if x, y := place(m.T, d.X, math.Log), place(*m.V, d.Y, math.Log); math.Abs(m.X-x) > 0.5 ||
			math.Abs(m.Y-y) > 0.5 {
			b.Errorf("spectrum at %v: mark at %v, %v; its number belongs at %v, %v", m.T, m.X, m.Y, x, y)
		}
	}
	for _, p := range []float64{50, 75, 87.5, 93.75, 99.21875} {
		got, ok := at[p]
		if want := total.Percentiles[strconv.FormatFloat(p, 'f', -1, 64)]; !ok || !near(got.v, math.Max(1, want)) {
			b.Errorf("spectrum: p%v is %v, want %v", p, got.v, want)
		}
	}
	if last := line[len(line)-1]; !near(*last.V, total.Max) || math.Abs(last.T-total.Samples) > 1 {
		b.Errorf("spectrum: ends with %v at %v, want the maximum %v at %v", *last.V, last.T, total.Max, total.Samples)
	}
}

// bar is one of fio's buckets: I/Os from Lo up to Hi ns, and UpTo of them below Hi.
type bar struct{ Lo, Hi, N, UpTo, X, X2, Y float64 }

func (b *tab) bars() (bars []bar, x, y struct{ Domain, Range []float64 }) {
	b.Helper()
	got := eval[struct {
		Bars []bar
		X, Y struct{ Domain, Range []float64 }
	}](b, `(() => {
		const view = fiolat.views.counts, `+inView+`;
		return {bars: marks('rect').flat().filter(m => m.datum?.hi).map(m => ({...m.datum, x: m.x, x2: m.x + m.width,
			y: m.y})), x: axis('x'), y: axis('y')};
	})()`)
	return got.Bars, got.X, got.Y
}

// checkCounts compares bars and the curve of shares with the whole run as it is printed: its I/Os, and that each
// percentile lies in the bucket in which the sum gets there.
func (b *tab) checkCounts(total row) {
	b.Helper()
	bars, x, y := b.bars()
	sum := 0.0
	for _, v := range bars {
		sum += v.N
		if math.Abs(v.UpTo-sum) > 1e-6*sum {
			b.Errorf("%v I/Os up to %v ns, want %v", v.UpTo, v.Hi, sum)
		}
		if math.Abs(v.X-place(v.Lo, x, math.Log)) > 0.5 || math.Abs(v.X2-place(v.Hi, x, math.Log)) > 0.5 ||
			math.Abs(v.Y-place(v.N, y, math.Log)) > 0.5 {
			b.Errorf("the bar of %v I/Os from %v to %v ns is at %v to %v, %v", v.N, v.Lo, v.Hi, v.X, v.X2, v.Y)
		}
	}
	if math.Abs(sum-total.Samples) > 0.5+0.005*float64(len(bars)) {
		b.Errorf("bars of %v I/Os, %v printed", sum, total.Samples)
	}
	for name, v := range total.Percentiles {
		p, err := strconv.ParseFloat(name, 64)
		i := slices.IndexFunc(bars, func(o bar) bool { return o.UpTo >= math.Ceil(sum*p/100-1e-6) })
		if err != nil || p == 0 || p > 99 {
			continue
		}
		if i < 0 || v < bars[i].Lo*0.999 || v > bars[i].Hi*1.001 {
			b.Errorf("p%s is %v, which is not in the bucket %d of %v", name, v, i, bars)
		}
	}
	d := b.drawn("cdf")
	line := d.Lines[slices.IndexFunc(d.Lines, func(l []mark) bool { return len(l) > 0 && l[0].P == "line 0" })]
	if len(line) != len(bars)+1 {
		b.Fatalf("a curve of %d points for %d buckets", len(line), len(bars))
	}
	for i, v := range bars {
		if m := line[i+1]; *m.V != v.Hi || math.Abs(m.X-place(v.Hi, d.X, math.Log)) > 0.5 ||
			math.Abs(m.Y-place(v.UpTo/sum, d.Y, linear)) > 0.5 {
			b.Errorf("the curve has %v ns at %v, %v; it belongs to %v ns, %v of all", *m.V, m.X, m.Y, v.Hi, v.UpTo/sum)
		}
	}
}

// The bars are fio's own bins, of which its JSON has the sums, to the last I/O.
func TestChromiumBarsAreFiosBins(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/fio/randrw/fio.json")
	var doc struct {
		Jobs []struct {
			Read struct {
				Clat struct{ Bins map[string]float64 } `json:"clat_ns"`
			}
		}
	}
	if err != nil || json.Unmarshal(text, &doc) != nil {
		t.Fatal(err)
	}
	b := opened(t, 1200, 900, "light", "../testdata/fio/randrw")
	b.choose(map[string]string{"direction": "read"})
	bars, _, _ := b.bars()
	for _, job := range doc.Jobs {
		for middle, n := range job.Read.Clat.Bins {
			v, _ := strconv.ParseFloat(middle, 64)
			i := slices.IndexFunc(bars, func(o bar) bool { return o.Lo <= v && v < o.Hi })
			if i < 0 {
				t.Fatalf("fio has %v I/Os at %v ns, and there is no bar", n, v)
			}
			bars[i].N -= n
		}
	}
	for _, v := range bars {
		if v.N != 0 {
			t.Errorf("from %v to %v ns: %v I/Os more than fio counted", v.Lo, v.Hi, v.N)
		}
	}
}

// TestChromiumCSV downloads what each chart shows, as a click does, and finds the numbers of the page's data in it.
func TestChromiumCSV(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	fiolat(t, "report", "-o", file, "--run-name", "a, \"b\"", "../testdata/fio/cluster")
	b := openTab(t, 1200, 900, "light")
	b.downloads(dir)
	b.open(file)
	b.choose(map[string]string{"compare": "host"})
	const hosts = `fiolat.data.scopes.filter((_, i) => (d => d.host && !d.job && d.direction === 'all')(
		fiolat.head.scopes[i]))`
	for _, chart := range []struct{ name, numbers string }{
		{"percentiles", hosts + `.map(s => s.p[3].map((v, k) => s.n[k] ? Math.abs(v) : 0))`},
		{"heat", `[Object.values(fiolat.data.leaves.flatMap(l => l.rows).reduce((a, r) => {
			r.forEach((n, k) => { a[k] = (a[k] || 0) + n; }); return a; }, {}))]`},
		{"spectrum", hosts + `.map(s => fiolat.curve(fiolat.data.scopes.indexOf(s)).slice(0, -1).map(
			p => Math.abs(p.v)))`},
		{"counts", `[fiolat.data.leaves.reduce((a, l) => { l.at.forEach((b, i) => { a[b] = (a[b] || 0) + l.n[i]; });
			return a; }, []).filter(n => n)]`},
	} {
		path := filepath.Join(dir, "a-b-fio-latency-"+chart.name+".csv")
		eval[any](b, "(document.querySelector('details[data-table="+chart.name+"]').previousElementSibling.click(), 1)")
		var rows [][]string
		for range 500 {
			if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
				if rows, err = csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil {
					t.Fatal(err)
				}
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		want := eval[[][]float64](b, chart.numbers)
		if len(rows) < len(want[0])+1 {
			t.Fatalf("%s: %d lines for %d numbers", chart.name, len(rows), len(want[0]))
		}
		for _, numbers := range want {
			found := slices.ContainsFunc(slices.Collect(transpose(rows)), func(column []float64) bool {
				return len(column) >= len(numbers) && slices.EqualFunc(column[:len(numbers)], numbers,
					func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(y) })
			})
			if !found {
				t.Errorf("%s: %v is in no column of %v", chart.name, numbers, rows)
			}
		}
	}
	b.Clean()
}

// TestChromiumPictures saves charts as SVG and PNG, as clicks do: as many as Chromium lets a page save.
func TestChromiumPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	fiolat(t, "report", "-o", file, "--run-name", "two", "../testdata/fio/cluster")
	b := openTab(t, 1200, 900, "light")
	b.downloads(dir)
	b.open(file)
	for chart, says := range map[string][]string{"percentiles": {"Percentiles over time", "two: all I/Os", "read p99",
		"write p50"}, "map": {" of each host", "127.0.0.2", "µs"}, "heat": {"Heat map", " I/Os"},
		"spectrum": {"Percentile spectrum", "read", "write"}, "cdf": {"Share of I/Os", "read", "write"}} {
		for i, as := range []string{"svg", "png"} {
			eval[any](b, fmt.Sprintf("(document.querySelector('[data-saves=\"%s.%s\"]').click(), 1)", chart, as))
			path := filepath.Join(dir, "two-fio-latency-"+chart+"."+as)
			var text []byte
			for range 500 {
				var err error
				if text, err = os.ReadFile(path); err == nil && len(text) > 0 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			for _, said := range append(says, "</svg>") {
				if i == 0 && !bytes.Contains(text, []byte(said)) {
					t.Errorf("%s: no %q in %d bytes", path, said, len(text))
				}
			}
			if i == 1 {
				if c, err := png.DecodeConfig(bytes.NewReader(text)); err != nil || c.Width < 600 {
					t.Errorf("%s: %d pixels wide, %v", path, c.Width, err)
				}
			}
		}
	}
	b.Clean()
}

// TestChromiumClock: axes and tables follow the clock that is chosen, and no time is before the start.
func TestChromiumClock(t *testing.T) {
	t.Parallel()
	b := opened(t, 1200, 900, "light", "--grid", "epoch", "--start", "2026-01-01T23:59:50.692Z",
		"../testdata/fio/randrw/randrw_clat_hist.1.log")
	for _, tc := range []struct{ clock, first, second, tick string }{
		{"utc", "2026-01-01 23:59:50 UTC", "2026-01-01 23:59:51 UTC", "2026-01-02"},
		{"start", "0:00", "0:00.308", "0:10"},
		{"local", "2026-01-01 23:59:50", "2026-01-01 23:59:51", ""},
	} {
		if tc.clock == "utc" { // where the first interval begins before the run
			if got := eval[string](b, "fiolat.state.clock"); got != tc.clock {
				t.Errorf("the clock is %q at first", got)
			}
		}
		b.choose(map[string]string{"clock": tc.clock})
		got := eval[[]string](b, `(async () => { const d = document.querySelector('details[data-table=percentiles]');
			d.open = true; await new Promise(done => setTimeout(done, 50));
			return [...d.querySelectorAll('tbody th')].slice(0, 2).map(c => c.textContent); })()`)
		if tc.clock == "local" { // whatever the time zone is
			got[0], got[1] = tc.first[:11]+got[0][11:], tc.first[:11]+got[1][11:]
			tc.first, tc.second = got[0][:len(tc.first)], got[1][:len(tc.second)]
		}
		if got[0] != tc.first || got[1] != tc.second {
			t.Errorf("%s: rows of %q, want %q and %q", tc.clock, got, tc.first, tc.second)
		}
		text := eval[string](b, "document.querySelector('#percentiles svg').textContent")
		if !strings.Contains(text, tc.tick) || strings.Contains(text, "−") || strings.Contains(text, "-692") {
			t.Errorf("%s: the axis has %q, want %q", tc.clock, text, tc.tick)
		}
	}
	b.Clean()
}

// TestChromiumWindow: tiles, spectrum, distribution and the table of all scopes follow the window of time that is
// chosen, with the numbers that percentiles prints of it.
func TestChromiumWindow(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "cluster"} {
		logs, file := "../testdata/fio/"+folder, filepath.Join(t.TempDir(), "report.html")
		fiolat(t, "report", "-o", file, logs)
		want := percentiles(t, "--from", "3s", "--to", "8s", "--interval", "run", "--by", "direction,host,job", logs)
		b := openTab(t, 1200, 900, "light")
		b.open(file + "#zoom=3000-8000")
		got := eval[struct {
			Scopes []struct{ Host, Job, Log, Direction string }
			Rows   map[string][]float64
			Title  string
		}](b, `({scopes: fiolat.head.scopes, title: document.querySelector('#h-summary').textContent, rows:
			Object.fromEntries([...document.querySelectorAll('#summary tbody tr')].map(r => [r.dataset.scope,
				[...r.querySelectorAll('td')].map(c => (([v, unit]) => v * ({'µs': 1e3, ms: 1e6, s: 1e9}[unit] || 1))(
				c.textContent.replaceAll(',', '').split(' ')))]))})`)
		if got.Title != "0:03 to 0:08 in numbers" {
			t.Errorf("%s: %q", folder, got.Title)
		}
		for i, s := range got.Scopes {
			r, row := want[[4]string{s.Host, s.Job, s.Log, s.Direction}][0], got.Rows[strconv.Itoa(i)]
			wanted := []float64{r.Samples, r.Samples / 5, r.Mean, r.Percentiles["50"], r.Percentiles["90"],
				r.Percentiles["95"], r.Percentiles["99"], r.Percentiles["99.9"], r.Max}
			for c, v := range wanted {
				near := 2e-3
				if c == 7 { // p99.9 of few I/Os: one more or less is the next bucket with any
					near = 0.05
				}
				if c == 8 && row[c] <= v && row[c] >= 0.95*r.Percentiles["99.9"] {
					continue // a slow I/O at the window's edge may be whole on its other side
				}
				if math.Abs(row[c]-v) > near*v+1 {
					t.Errorf("%s, %+v: number %d is %v, want %v", folder, s, c, row[c], v)
				}
			}
		}
		all := want[[4]string{"", "", "", "all"}][0]
		b.choose(map[string]string{"direction": "all"})
		curve := b.drawn("spectrum").Lines[0]
		if last := curve[len(curve)-1]; !near(*last.V, all.Max) || math.Abs(last.T-all.Samples) > 1 {
			t.Errorf("%s: the spectrum ends with %v at %v, want %v at %v", folder, *last.V, last.T, all.Max,
				all.Samples)
		}
		bars, _, _ := b.bars()
		if n := bars[len(bars)-1].UpTo; math.Abs(n-all.Samples) > 1 {
			t.Errorf("%s: %v I/Os in the distribution, want %v", folder, n, all.Samples)
		}
		eval[any](b, `(document.querySelector('[data-zoom=all]').click(), 1)`)
		title := eval[string](b, "document.querySelector('#h-summary').textContent")
		if title != "The whole run in numbers" {
			t.Errorf("%s: %q of all", folder, title)
		}
		b.Clean()
	}
}

// TestChromiumPercentiles: the page's percentiles of a window are those of fio/fiohist, on the same histograms.
func TestChromiumPercentiles(t *testing.T) {
	t.Parallel()
	b := opened(t, 1200, 900, "light", "../testdata/fio/gaps")
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	wanted := []float64{0, 1, 25, 50, 90, 99, 99.9, 99.99, 100}
	for name, counts := range map[string]map[int]float64{
		"one I/O":                {700: 1},
		"one bucket":             {700: 1000},
		"at the edge":            {64: 50, 700: 40, 900: 10},
		"fractions that add up":  {64: 0.1, 65: 0.2, 66: 0.7 - 0.1, 900: 0.1},
		"in the last bucket":     {700: 90, g.Last(): 10},
		"all in the last bucket": {g.Last(): 3},
	} {
		var h fiohist.Hist
		var of []map[string]float64
		upTo := 0.0
		for _, i := range slices.Sorted(maps.Keys(counts)) {
			h.Add(i, counts[i])
			upTo += counts[i]
			of = append(of, map[string]float64{"lo": float64(g.Lower(i)), "hi": float64(g.Upper(i)), "n": counts[i],
				"upTo": upTo})
		}
		text, err := json.Marshal(map[string]any{"of": of, "wanted": wanted})
		if err != nil {
			t.Fatal(err)
		}
		got := eval[[]float64](b, fmt.Sprintf("(x => x.wanted.map(p => fiolat.percentileOf(x.of, p, 0, 1e300)))(%s)", text))
		s := h.Stats(g, wanted, fiohist.Limits{})
		for k, v := range s.Percentiles {
			if slices.Contains(s.AtLeast, k) {
				v = -v
			}
			if math.Abs(got[k]-v) > 1e-9*math.Abs(v) {
				t.Errorf("%s: p%v is %v, want %v", name, wanted[k], got[k], v)
			}
		}
	}
	b.Clean()
}

// TestChromiumWholeRun: where the page computes what Go has put into it, for a part of the run, it would compute the
// same of the whole run.
func TestChromiumWholeRun(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"gaps", "cluster", "randrw"} {
		b := opened(t, 1200, 900, "light", "../testdata/fio/"+folder)
		differ := eval[[]string](b, `fiolat.data.scopes.flatMap((s, i) => {
			const of = fiolat.bucketsOf(i), n = fiolat.head.percentiles.length, out = []
			if (!of.length) return s.totalN[0] ? ['no buckets'] : []
			const min = s.total[n], max = Math.abs(s.total[n + 1]), count = of.at(-1).upTo
			fiolat.head.percentiles.forEach((p, k) => {
				const go = s.total[k], js = fiolat.percentileOf(of, +p, min, max)
				if (Math.abs(js - go) > 1e-4 * Math.abs(go)) out.push([i, 'percentile', p, go, js].join(' '))
			})
			if (Math.abs(count - s.totalN[0]) > 1e-6 * count) out.push([i, 'I/Os', s.totalN[0], count].join(' '))
			return out
		})`)
		if len(differ) > 0 {
			t.Errorf("%s: of scope, what, percentile, Go, JavaScript: %d differ, as\n%s", folder, len(differ),
				strings.Join(differ[:min(5, len(differ))], "\n"))
		}
		ladder := eval[[]string](b, "fiolat.head.ladder.map(String)")
		want := percentiles(t, "--interval", "run", "--by", "direction,host,job", "--percentiles",
			strings.Join(ladder, ","), "../testdata/fio/"+folder)
		for i, s := range eval[[]struct{ Host, Job, Direction string }](b, "fiolat.head.scopes") {
			r := want[[4]string{s.Host, s.Job, "", s.Direction}][0]
			got, n := eval[[]float64](b, fmt.Sprintf("fiolat.curve(%d).map(p => p.v)", i)), 0
			for k, p := range ladder {
				of, err := strconv.ParseFloat(p, 64)
				if err != nil {
					t.Fatal(err)
				}
				if of > 0 && (1-of/100)*r.Samples < 1 {
					break
				}
				if n++; n >= len(got) || !near(math.Abs(got[k]), r.Percentiles[p]) {
					t.Fatalf("%s, %+v: p%s of the spectrum %v is not %v", folder, s, p, got[min(k, len(got)-1)],
						r.Percentiles[p])
				}
			}
			if len(got) != n+1 || !near(math.Abs(got[n]), r.Max) {
				t.Errorf("%s, %+v: %d points, the last at %v, want %d and %v", folder, s, len(got), got[len(got)-1],
					n+1, r.Max)
			}
		}
		b.Clean()
	}
}

// TestChromiumZoom drags over an eighth of 2400 intervals, which are drawn as 300 points or so: each interval then has
// a point, with the percentiles that fiolat prints of it, and so has the table.
func TestChromiumZoom(t *testing.T) {
	t.Parallel()
	real, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	log, err := testlog.Resample(real, 1, time.Second, 2400)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	logs, file := filepath.Join(dir, "job_clat_hist.1.log"), filepath.Join(dir, "report.html")
	if err = os.WriteFile(logs, log, 0o600); err != nil {
		t.Fatal(err)
	}
	fiolat(t, "report", "-o", file, logs)
	rows := percentiles(t, "--by", "direction", logs)
	b := openTab(t, 1280, 1000, "light")
	b.open(file)
	if n := len(b.drawn("percentiles").Points); n < 6*300 || n > 6*610 {
		t.Errorf("%d points of the whole run", n)
	}
	at := eval[[3]float64](b, `(() => { const v = fiolat.views.percentiles, x = v.scale('x'),
		box = document.querySelector('#percentiles svg').getBoundingClientRect(), left = box.left + v.origin()[0] + 3;
		return [left + x(600e3), left + x(900e3), box.top + 100]; })()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[2]),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[2], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[1], at[2], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[1], at[2], chromedp.ButtonLeft),
		chromedp.Sleep(200*time.Millisecond))
	for _, direction := range []string{"all", "write"} {
		b.choose(map[string]string{"direction": direction})
		want, d := rows[[4]string{3: direction}], b.drawn("percentiles")
		b.checkMarks(d)
		from, to, seen, intervals := d.X.Domain[0], d.X.Domain[1], map[string]int{}, 0
		for _, r := range want {
			if r.OffsetMS >= from && r.OffsetMS < to {
				intervals++
			}
		}
		for _, p := range d.Points {
			if p.K == nil {
				continue
			}
			r := want[*p.K]
			if p.T >= from && p.T < to {
				seen[p.P]++
			}
			if v := r.measure(p.P); r.OffsetMS != p.T || math.Abs(*p.V/v-1) > 3e-4 {
				t.Errorf("%s, %s from %v ms: %v drawn, %v printed from %v", direction, p.P, p.T, *p.V, v, r.OffsetMS)
			}
		}
		if intervals < 290 || intervals > 310 || seen["p99"] != intervals || seen["p50"] != intervals {
			t.Errorf("%s, %v to %v ms: %d quanta, so many points: %v", direction, from, to, intervals, seen)
		}
		t.Logf("%s, %.0f to %.0f ms: %d quanta, %d points", direction, from, to, intervals, seen["p99"])
	}
	eval[any](b, `(document.querySelector('[data-zoom=all]').click(), 1)`)
	if n := len(b.drawn("percentiles").Points); n > 6*610 {
		t.Errorf("%d points after zooming out", n)
	}
	b.Clean()
}

// transpose are the columns of numbers below a head, nothing being 0, and the sums of all but the first.
func transpose(rows [][]string) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		sums := make([]float64, len(rows)-1)
		for c := range rows[0] {
			var column []float64
			for i, r := range rows[1:] {
				v, _ := strconv.ParseFloat(r[c], 64)
				if column = append(column, v); c > 0 {
					sums[i] += v
				}
			}
			if !yield(column) {
				return
			}
		}
		yield(sums)
	}
}

func (b *tab) checkTable(want []row) {
	b.Helper()
	got := eval[struct {
		Head []string
		Rows [][]*float64
	}](b, `(async () => {
		const d = document.querySelector('details[data-table=percentiles]');
		d.open = true;
		await new Promise(done => setTimeout(done, 50));
		return {head: [...d.querySelectorAll('thead th')].map(c => c.textContent),
			rows: [...d.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.querySelector('data') ?
				+c.querySelector('data').value : null))};
	})()`)
	if len(got.Rows) != len(want) {
		b.Fatalf("table of %d rows, want %d", len(got.Rows), len(want))
	}
	for k, r := range want {
		for c, name := range got.Head {
			v := got.Rows[k][c]
			switch {
			case name == "from" || name == "to" || name == "I/Os per second" || name == "logs":
			case name == "covered":
				if r.Partial != (v != nil) || r.Partial && *v >= 1 {
					b.Errorf("table, row %d: covered is %v, partial is printed as %v", k, v, r.Partial)
				}
			case name == "I/Os":
				if v == nil || math.Abs(*v-r.Samples) > 0.51 {
					b.Errorf("table, row %d: %v I/Os, want %v", k, v, r.Samples)
				}
			case r.Samples <= 1e-9:
				if v != nil {
					b.Errorf("table, row %d: %s is %v where nothing completed", k, name, *v)
				}
			case v == nil || !near(*v, r.measure(name)):
				b.Errorf("table, row %d: %s is %v, want %v", k, name, v, r.measure(name))
			}
		}
	}
}

// ns reads a latency as people do.
func ns(t testing.TB, text string) float64 {
	t.Helper()
	number, unit, _ := strings.Cut(strings.TrimPrefix(text, "≥ "), " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatalf("%q is no latency", text)
	}
	return v * map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
}

// checkHover points at each column with the mouse and reads the legend.
func (b *tab) checkHover(want []row, total row) {
	b.Helper()
	legend := func() map[string]string {
		return eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('#legend label')]`+
			`.map(l => [l.children[2].textContent, l.querySelector('output').textContent]))`)
	}
	check := func(where string, r row) {
		for name, text := range legend() {
			if want := r.measure(name); math.Abs(ns(b, text)-want) > 1e-3*want+0.6 {
				b.Errorf("%s: %s is said to be %s, want %v ns", where, name, text, want)
			}
		}
	}
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 2, 2), chromedp.Sleep(30*time.Millisecond))
	check("the whole run", total)
	eval[any](b, `document.querySelector('#percentiles').scrollIntoView({block: 'center'}) ?? 1`)
	for k, r := range want {
		if k%3 != 1 {
			continue
		}
		at := eval[[2]float64](b, fmt.Sprintf(`(() => {
			const view = fiolat.views.percentiles,
				box = document.querySelector('#percentiles svg').getBoundingClientRect(),
				[left, top] = view.origin(), pad = view.padding();
			return [box.left + left + (pad.left ?? pad) + view.scale('x')(%v), box.top + top + (pad.top ?? pad) + 100];
		})()`, r.OffsetMS+want[1].OffsetMS/2-want[0].OffsetMS/2))
		b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]),
			chromedp.Sleep(30*time.Millisecond))
		if r.Samples <= 1e-9 {
			if text := eval[string](b, `document.querySelector('#at-time').textContent`); !strings.Contains(text,
				"no I/O") {
				b.Errorf("column %d: %q where nothing completed", k, text)
			}
			continue
		}
		check(fmt.Sprintf("column %d", k), r)
	}
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 2, 2), chromedp.Sleep(30*time.Millisecond))
}

// checkKeyboard goes through the page with the tabulator, and along the time with
// the arrow keys.
func (b *tab) checkKeyboard() {
	b.Helper()
	eval[any](b, `(document.activeElement.blur(), scrollTo(0, 0), 1)`)
	reached := map[string]bool{}
	for range 200 {
		b.Do(chromedp.KeyEvent(kb.Tab))
		e := eval[string](b, `(() => { const e = document.activeElement; `+
			`return e.id || e.name || e.dataset.zoom || e.dataset.series || e.parentElement.dataset.table || `+
			`e.tagName; })()`)
		if e == "BODY" {
			break
		}
		reached[e] = true
	}
	for _, want := range []string{"theme", "in", "out", "left", "right", "all", "p50", "p99.9", "max", "time",
		"percentiles", "heat", "percentile", "spectrum", "bucket", "counts"} {
		if !reached[want] {
			b.Errorf("the keyboard does not get to %q, only to %v", want, reached)
		}
	}
	eval[any](b, `(document.querySelector('#time').focus(), 1)`)
	b.Do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.KeyEvent(kb.ArrowRight))
	slider := eval[struct{ Value, Text, Said string }](b,
		`(() => { const s = document.querySelector('#time'); `+
			`return {value: s.value, text: s.getAttribute('aria-valuetext'), `+
			`said: document.querySelector('#at-time').textContent}; })()`)
	if slider.Value != "2" || !strings.HasPrefix(slider.Text, slider.Said) || !strings.Contains(slider.Text, "p50 ") {
		b.Errorf("after two steps to the right the slider says %+v", slider)
	}
}

// TestChromiumKinds opens a page of three kinds of latency: they lie side by side on
// the same axes with the numbers that fiolat prints of each, and a choice makes all else
// on the page that of one of them.
func TestChromiumKinds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.html")
	fiolat(t, "report", "--kind", "all", "-o", file, "../testdata/fio/latkinds")
	kinds := []string{"slat", "clat", "lat"}
	rows, whole := map[string]map[[4]string][]row{}, map[string]map[[4]string][]row{}
	for _, k := range kinds {
		rows[k] = percentiles(t, "--kind", k, "--by", "direction", "../testdata/fio/latkinds")
		whole[k] = percentiles(t, "--kind", k, "--by", "direction", "--interval", "1h", "--percentiles",
			"0,50,75,87.5,90,93.75,95,99,99.21875,99.9", "../testdata/fio/latkinds")
	}
	b := openTab(t, 1200, 900, "light")
	b.open(file)
	b.Clean()
	for _, direction := range []string{"all", "read", "write"} {
		at := [4]string{3: direction}
		b.choose(map[string]string{"kind": "clat", "direction": direction}) // and points at nothing
		axes := map[string]bool{}
		for _, k := range kinds {
			axes[b.checkPrinted(k, rows[k][at])] = true
			b.checkSaid(k, "", whole[k][at][0])
		}
		if len(axes) != 1 {
			t.Errorf("%s: the kinds have different axes: %v", direction, axes)
		}
		eval[any](b, `(() => { const s = document.querySelector('#time'); s.value = 3; `+
			`s.dispatchEvent(new Event('input')); return 1; })()`)
		for _, k := range kinds {
			b.checkSaid(k, "0:03 to 0:04", rows[k][at][3])
		}
	}
	// Each kind has all of the page.
	for _, k := range kinds {
		b.choose(map[string]string{"kind": k})
		for _, direction := range []string{"all", "read", "write"} {
			at := [4]string{3: direction}
			b.choose(map[string]string{"direction": direction})
			b.checkTime(rows[k][at])
			b.checkHeat(rows[k][at])
			b.checkSpectrum(whole[k][at][0])
			b.checkTable(rows[k][at])
			b.checkHover(rows[k][at], whole[k][at][0])
		}
		if h := eval[string](b, `document.querySelector('#h-heat').textContent`); h != "Heat map: "+k {
			t.Errorf("%s: the heat map is headed %q", k, h)
		}
	}
	// A link shows the same, zoomed: all charts over time follow.
	eval[any](b, `(document.querySelector('[data-zoom=in]').click(), 1)`)
	link := eval[string](b, `location.hash`)
	zoomed := func(b *tab) {
		t.Helper()
		want := eval[[]float64](b, "fiolat.views.heat.scale('x').domain()")
		for _, k := range kinds {
			if d := eval[[]float64](b, "fiolat.views['kind-"+k+"'].scale('x').domain()"); !slices.Equal(d, want) ||
				d[1]-d[0] > 5000 {
				t.Errorf("%s shows %v ms, the heat map %v", k, d, want)
			}
		}
	}
	b.Do(chromedp.Sleep(50 * time.Millisecond))
	zoomed(b)
	b.Clean()
	b = openTab(t, 390, 900, "dark")
	b.Do(chromedp.Navigate("file://"+file+link), chromedp.WaitReady(`html[data-ready]`))
	zoomed(b)
	if kind := eval[string](b, `document.querySelector('#controls').kind.value + fiolat.head.kind`); kind != "latlat" {
		t.Errorf("the link %q shows %q", link, kind)
	}
	eval[any](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
	b.Do(chromedp.Sleep(50 * time.Millisecond))
	if wide := eval[[2]float64](b, "[document.documentElement.scrollWidth, innerWidth]"); wide[0] > wide[1] {
		t.Errorf("on a phone of %v pixels the page is %v wide", wide[1], wide[0])
	}
	b.Clean()
}

// TestChromiumTwoRuns opens a page of two runs: each percentile of both is in one chart with the numbers that fiolat
// prints of each, the curves of both whole runs are there, and the table says what compare does.
func TestChromiumTwoRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.html")
	folders := []string{"../testdata/fio/randrw", "../testdata/fio/cluster"}
	fiolat(t, append([]string{"report", "-o", file}, folders...)...)
	b := openTab(t, 1200, 900, "light")
	b.open(file)
	for _, direction := range []string{"all", "read"} {
		at, rows := [4]string{3: direction}, map[string][]row{}
		b.choose(map[string]string{"direction": direction})
		spectrum := b.drawn("spectrum")
		for i, run := range []string{"A", "B"} {
			rows[run] = percentiles(t, "--by", "direction", folders[i])[at]
			whole := percentiles(t, "--by", "direction", "--interval", "1h", folders[i])[at][0]
			b.checkSaid(run, "", whole)
			line := spectrum.Lines[slices.IndexFunc(spectrum.Lines, func(l []mark) bool {
				return len(l) > 0 && l[0].P == fmt.Sprint("line ", i)
			})]
			if last := line[len(line)-1]; !near(*last.V, whole.Max) || math.Abs(last.T-whole.Samples) > 1 {
				t.Errorf("%s %s: the spectrum ends with %v at %v, want %v at %v", run, direction, *last.V, last.T,
					whole.Max, whole.Samples)
			}
		}
		for i, name := range []string{"p50", "p90", "p95", "p99", "p99.9"} {
			b.choose(map[string]string{"percentile": strconv.Itoa(i)})
			b.checkOverlaid(name, rows)
		}
	}
	said := eval[[][]string](b, `[...document.querySelectorAll('#compared tbody tr')].map(r => [...r.cells].map(
		c => c.textContent))`)
	printed := string(fiolat(t, append([]string{"compare", "--all", "--format", "markdown"}, folders...)...))
	if len(said) != 21 {
		t.Errorf("%d rows compared, want 7 of 3 directions", len(said))
	}
	for _, r := range said {
		line := fmt.Sprintf("| %s | %s | ", r[0], r[1])
		_, rest, ok := strings.Cut(printed, line)
		rest, _, _ = strings.Cut(rest, "\n")
		if cells := strings.Split(rest, " | "); !ok || len(cells) < 4 || cells[2] != r[2] || cells[3] != r[5] ||
			!strings.HasSuffix(rest, "| "+r[6]+" |") {
			t.Errorf("%v on the page, %q printed", r, line+rest)
		}
	}
	found := eval[[][]string](b, `[...document.querySelectorAll('.findings h3 + ul')].map(u => [...u.children].map(
		c => c.textContent))`)
	for i, folder := range folders {
		fiolat(t, "report", "-o", file, folder)
		alone, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(alone), `<h2 id="findings-h">What stands out</h2>`)
		list, _, _ = strings.Cut(list, "</section>")
		list, _, _ = strings.Cut(list, `<details id="outliers"`)
		list = strings.NewReplacer("<p>", "<li>", "</p>", "</li>").Replace(list) // of what is no finding
		if len(found) != len(folders) || len(found[i]) != strings.Count(list, "<li>") {
			t.Fatalf("%s: %q on the page, want %q", folder, found, list)
		}
		for _, text := range found[i] {
			if !strings.Contains(list, "<li>"+html.EscapeString(text)+"</li>") {
				t.Errorf("%s: %q on the page, want %q", folder, text, list)
			}
		}
	}
	// All else is of the run that is chosen.
	b.choose(map[string]string{"kind": "B", "direction": "write"})
	at := [4]string{3: "write"}
	b.checkTime(percentiles(t, "--by", "direction", folders[1])[at])
	b.checkTable(percentiles(t, "--by", "direction", folders[1])[at])
	b.Clean()
}

// TestChromiumGroups opens a page of two groups: each run is a dot for each figure that fiolat prints of it, beside
// the mean of its side, each side's I/Os are one spectrum, a click on a dot chooses its run, and the table says what
// compare does.
func TestChromiumGroups(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.html")
	const folder = "../testdata/fio/"
	groups := []string{"before=" + folder + "randrw," + folder + "exact", "after=" + folder + "cluster," + folder +
		"epoch"}
	fiolat(t, append([]string{"report", "--interval", "1s", "-o", file}, groups...)...)
	b := openTab(t, 1280, 800, "light")
	b.open(file)
	b.choose(map[string]string{"direction": "all"})
	type dot struct {
		X, V        float64
		Color, Kind string
		Mean        bool
	}
	dots := eval[[]dot](b, "fiolat.views.sides.data('points').map(({x, v, color, kind, mean}) => "+
		"({x, v, color, kind: kind || '', mean: Boolean(mean)}))")
	names := eval[[][]string](b, "fiolat.views.sides.signal('figures')")
	runs := map[string]row{}
	for kind, name := range map[string]string{"A1": "randrw", "A2": "exact", "B1": "cluster", "B2": "epoch"} {
		runs[kind] = percentiles(t, "--interval", "run", folder+name)[[4]string{3: "all"}][0]
	}
	seen, color := 0, map[string]string{}
	for _, d := range dots {
		name := names[int(d.X)][0]
		figure := func(kind string) float64 { r := runs[kind]; return r.measure(name) }
		if name == "IOPS" {
			continue
		}
		mean := func(side string) float64 { return math.Sqrt(figure(side+"1") * figure(side+"2")) }
		side := string("AB"[int(2*(d.X-math.Floor(d.X)))])
		want := mean(side)
		if !d.Mean {
			want, seen = figure(d.Kind), seen+1
			if d.Kind[:1] != side {
				t.Errorf("%s is at %v", d.Kind, d.X)
			}
		}
		if color[side] = cmp.Or(color[side], d.Color); !near(d.V, want/mean("A")) || d.Color != color[side] {
			t.Errorf("%s %+v, want %v of %v", name, d, want, mean("A"))
		}
	}
	if seen != 4*6 || color["A"] == color["B"] { // five percentiles and the mean
		t.Errorf("%d dots, colors %v", seen, color)
	}
	for i, side := range []string{"A", "B"} {
		of := eval[[]struct{ X, V float64 }](b, fmt.Sprintf("fiolat.views.spectrum.data('points').filter("+
			"r => r.p === 'line %d').map(({x, v}) => ({x, v}))", i))
		first, second := runs[side+"1"], runs[side+"2"]
		if last := of[len(of)-1]; math.Abs(last.X-first.Samples-second.Samples) > 1 ||
			!near(last.V, max(first.measure("max"), second.measure("max"))) {
			t.Errorf("%s ends at %+v", side, last)
		}
		median := of[slices.IndexFunc(of, func(p struct{ X, V float64 }) bool { return p.X >= 2 })].V
		p50 := []float64{first.measure("p50"), second.measure("p50")}
		if median < 0.99*slices.Min(p50) || median > 1.01*slices.Max(p50) {
			t.Errorf("%s has the median %v, those of its runs are %v", side, median, p50)
		}
	}
	if end := eval[float64](b, "document.querySelector('#sides svg').getBoundingClientRect().bottom"); end > 800 {
		t.Errorf("the chart ends at %v", end)
	}
	eval[bool](b, `(() => { const circle = [...document.querySelectorAll('#sides .mark-symbol path')].find(p =>
		p.__data__.datum.kind === 'B2');
		circle.dispatchEvent(new MouseEvent('click', {bubbles: true})); return true; })()`)
	if h := eval[string](b, "document.querySelector('#h-percentiles').textContent"); !strings.HasSuffix(h, ": B2") {
		t.Errorf("after a click on B2: %q", h)
	}
	printed := string(fiolat(t, append([]string{"compare", "--all", "--format", "markdown"}, groups...)...))
	for _, r := range eval[[][]string](b, `[...document.querySelectorAll('#compared tbody tr')].map(r =>
		[...r.cells].map(c => c.textContent))`) {
		if !strings.Contains(printed, "| "+r[0]+" | "+r[1]+" | ") || !strings.Contains(printed, r[5]) {
			t.Errorf("%v on the page, printed is\n%s", r, printed)
		}
	}
	b.Clean()
}

// TestChromiumDifferences opens the page of each host of two runs: the changes and limits that compare prints.
func TestChromiumDifferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hosts := map[string][]string{"before": {"1", "2", "3"}, "after": {"2", "3", "1"}} // logs of hosts a, b and c
	for side, logs := range hosts {
		for i, log := range logs {
			host := filepath.Join(dir, side, string("abc"[i]))
			text, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist." + log + ".log")
			if err != nil || os.MkdirAll(host, 0o700) != nil ||
				os.WriteFile(filepath.Join(host, "x_clat_hist.1.log"), text, 0o600) != nil {
				t.Fatal(err)
			}
		}
	}
	args := []string{"compare", "-q", "--by", "host", "--hosts-by", "folder", filepath.Join(dir, "before"),
		filepath.Join(dir, "after")}
	file := filepath.Join(dir, "x.html")
	fiolat(t, append(args, "-o", file)...)
	var printed struct {
		Comparisons []struct {
			Host string
			Rows []struct {
				Direction, Metric string
				Change            *float64
				CI                struct{ Lower, Upper *float64 }
			}
		}
	}
	if err := json.Unmarshal(fiolat(t, append(args, "--format", "json")...), &printed); err != nil {
		t.Fatal(err)
	}
	b := openTab(t, 1280, 900, "light")
	b.open(file)
	title := "[...document.querySelectorAll('#charts h2')].findIndex(h => h.textContent === 'write p99')"
	points := eval[[]struct {
		Part         string
		V, Low, High float64
	}](b, "fiolat.views['chart-' + "+title+"].data('parts').map(({part, v, low, high}) => ({part, v, low, high}))")
	if len(points) != 3 || len(printed.Comparisons) != 3 {
		t.Fatalf("%d points, %d printed", len(points), len(printed.Comparisons))
	}
	for i, c := range printed.Comparisons {
		for _, r := range c.Rows {
			if p := points[i]; r.Direction == "write" && r.Metric == "p99" && (p.Part != c.Host ||
				!near(p.V, 1+*r.Change) || !near(p.Low, 1+*r.CI.Lower) || !near(p.High, 1+*r.CI.Upper)) {
				t.Errorf("%+v drawn, %s %v printed", p, c.Host, *r.Change)
			}
		}
	}
	if n := eval[int](b, "document.querySelectorAll('#main table, table.linked').length"); n != 3 {
		t.Errorf("%d tables", n)
	}
	b.Clean()
}

// TestChromiumRepeats opens a page of three runs of one setting: p99 and p50 of each lie over each other, in a color a
// run, and the table has the noise that compare prints.
func TestChromiumRepeats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var runs []string
	for i, log := range []string{"randrw_clat_hist.1.log", "randrw_clat_hist.2.log", "randrw_clat_hist.3.log"} {
		text, err := os.ReadFile("../testdata/fio/randrw/" + log)
		runs = append(runs, filepath.Join(dir, "r"+strconv.Itoa(i+1)))
		if err != nil || os.Mkdir(runs[i], 0o700) != nil ||
			os.WriteFile(filepath.Join(runs[i], "a_clat_hist.1.log"), text, 0o600) != nil {
			t.Fatal(err)
		}
	}
	b := opened(t, 1280, 800, "light", append([]string{"--interval", "1s"}, runs...)...)
	b.choose(map[string]string{"direction": "read"})
	rows := map[string][]row{}
	for i, run := range runs {
		rows[string("ABC"[i])] = percentiles(t, "--by", "direction", "--interval", "1s", run)[[4]string{3: "read"}]
	}
	seen := map[string]int{}
	for _, p := range b.drawn("kinds").Points {
		if p.K == nil {
			continue
		}
		run, name, _ := strings.Cut(strings.TrimSuffix(p.P, " partial"), " ")
		name = cmp.Or(name, "p99")
		seen[run+name]++
		if r := rows[run][*p.K]; r.OffsetMS != p.T || p.V == nil || !near(*p.V, r.measure(name)) {
			t.Errorf("%s at %v: %v, want %v", p.P, p.T, p.V, r.measure(name))
		}
	}
	if len(seen) != 6 || seen["Cp50"] < 15 {
		t.Errorf("drawn: %v", seen)
	}
	printed := string(fiolat(t, append([]string{"compare", "--format", "markdown"},
		"all="+strings.Join(runs, ","))...))
	said := eval[[][]string](b, `[...document.querySelectorAll('#compared tbody tr')].map(r =>
		[...r.cells].map(c => c.textContent))`)
	for _, r := range said {
		if !strings.Contains(printed, "| "+r[0]+" | "+r[1]+" | ") || !strings.Contains(printed, r[3]) {
			t.Errorf("%v on the page, printed is\n%s", r, printed)
		}
	}
	if len(said) != 3*7 {
		t.Errorf("%d rows", len(said))
	}
	b.Clean()
}

// An engine that counts no slat has an empty log of it.
func TestChromiumEmptyKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"fio.json", "latkinds_clat.1.log", "latkinds_lat.1.log", "latkinds_slat.1.log"} {
		text, err := os.ReadFile("../testdata/fio/latkinds/" + name)
		if strings.Contains(name, "_slat") {
			text = nil
		}
		if err != nil || os.WriteFile(filepath.Join(dir, name), text, 0o600) != nil {
			t.Fatal(name, err)
		}
	}
	file := filepath.Join(dir, "report.html")
	fiolat(t, "report", "--kind", "all", "-o", file, dir)
	b := openTab(t, 1200, 900, "light")
	b.open(file)
	said := func(of string) string { return eval[string](b, "document.querySelector('"+of+"').textContent") }
	if s := said("#h-kind-slat"); s != "slat: no I/O" {
		t.Errorf("slat says %q", s)
	}
	if n := len(b.drawn("kind-slat").Points) + len(b.drawn("kind-lat").Points); n < 3*8 {
		t.Errorf("%d points of lat", n)
	}
	b.choose(map[string]string{"kind": "slat"})
	if s := said("#trouble"); !strings.Contains(s, "no I/O") {
		t.Errorf("all of slat: %q", s)
	}
	b.choose(map[string]string{"kind": "lat", "direction": "write"})
	if n := len(b.drawn("percentiles").Points); n < 3*8 || !eval[bool](b, "document.querySelector('#trouble').hidden") {
		t.Errorf("%d points of lat, after slat", n)
	}
	b.Clean()
}

// checkOverlaid compares the lines of runs with a percentile that fiolat prints of each.
func (b *tab) checkOverlaid(name string, rows map[string][]row) {
	b.Helper()
	if h := eval[string](b, "document.querySelector('#h-kinds').textContent"); !strings.HasPrefix(h, name+" ") {
		b.Errorf("%s is chosen, and %q drawn", name, h)
	}
	d, seen := b.drawn("kinds"), map[string]int{}
	b.checkMarks(d)
	for _, p := range d.Points {
		if p.K == nil {
			continue
		}
		run, partial := strings.CutSuffix(p.P, " partial")
		seen[run]++
		if r := rows[run][*p.K]; r.OffsetMS != p.T || p.V == nil || !near(*p.V, r.measure(name)) ||
			partial != r.Partial {
			b.Errorf("%s of %s from %v ms: %v drawn, %+v printed", name, p.P, p.T, *p.V, r)
		}
	}
	for run, all := range rows {
		want := 0
		for _, r := range all {
			if r.Samples > 1e-9 {
				want++
			}
		}
		if seen[run] != want {
			b.Errorf("%s: %d points drawn, want %d", run, seen[run], want)
		}
	}
}

// checkPrinted compares the chart of a kind with what fiolat prints, and returns its axes.
func (b *tab) checkPrinted(name string, rows []row) (axes string) {
	b.Helper()
	d := b.drawn("kind-" + name)
	b.checkMarks(d)
	seen := 0
	for _, p := range d.Points {
		if p.K == nil {
			continue
		}
		seen++
		if r := rows[*p.K]; r.OffsetMS != p.T || p.V == nil || !near(*p.V, r.measure(p.P)) {
			b.Errorf("%s, %s of %s from %v ms: %v drawn, %v printed from %v", name, p.P, r.Direction, p.T, *p.V,
				r.measure(p.P), r.OffsetMS)
		}
	}
	if want := 3 * len(rows); seen != want {
		b.Errorf("%s: %d points drawn, want %d", name, seen, want)
	}
	return fmt.Sprint(d.X, d.Y)
}

// checkSaid reads what is said of a kind, or of one of two runs.
func (b *tab) checkSaid(kind, when string, want row) {
	b.Helper()
	text := eval[string](b, `document.querySelector('#h-kind-`+kind+`').textContent`)
	if at := eval[string](b, `document.querySelector('#at-kinds').textContent`); when != "" && !strings.HasPrefix(at,
		when) {
		b.Errorf("%q, want %q", at, when)
	}
	for _, p := range []string{"p50", "p99", "p99.9"} {
		_, said, ok := strings.Cut(text, " "+p+" ")
		said, _, _ = strings.Cut(said, ",")
		if v := want.measure(p); !ok || math.Abs(ns(b, said)-v) > 1e-3*v+0.6 {
			b.Errorf("%s: %q, want %s of %v ns", when, text, p, v)
		}
	}
}

// TestChromiumHatch: what is hatched as "no I/O completed" in each chart over time is that time and no other, on the
// screens of a laptop and of a phone, and in the PNG that is saved.
func TestChromiumHatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for folder, charts := range map[string]int{"gaps": 3, "latkinds": 6} {
		file := filepath.Join(dir, folder+".html")
		fiolat(t, "report", "--kind", "all", "-o", file, "../testdata/fio/"+folder)
		for _, width := range []int64{1280, 390} {
			b := openTab(t, width, 6000, "light")
			b.open(file)
			type place struct{ Top, Bottom, Left, X, X2 float64 } // of a chart, and from its left the time of the gap
			var screens, saved [2]map[string]*image.RGBA
			var places map[string]place
			for i, gaps := range []string{"[]", "[{t: 3000, t2: 5000}]"} {
				got := eval[map[string]struct {
					Place place
					PNG   []byte
				}](b, `(async () => {
					const out = {};
					for (const [chart, view] of Object.entries(fiolat.views)) {
						try { await view.data('gaps', `+gaps+`).runAsync(); } catch { continue; } // not over time
						const box = document.getElementById(chart).getBoundingClientRect(), x = view.scale('x'),
							png = new Uint8Array(await (await fiolat.saved(chart, 'png')).arrayBuffer()).toBase64();
						out[chart] = {png, place: {top: box.top, bottom: box.bottom, left: box.left,
							x: view.origin()[0] + 3 + x(3000), x2: view.origin()[0] + 3 + x(5000)}};
					}
					return out;
				})()`)
				shot, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				whole := decode(t, shot)
				screens[i], saved[i], places = map[string]*image.RGBA{}, map[string]*image.RGBA{}, map[string]place{}
				for chart, g := range got {
					p := g.Place
					places[chart], saved[i][chart] = p, decode(t, g.PNG)
					screens[i][chart] = whole.SubImage(image.Rect(int(p.Left), int(p.Top), int(width),
						int(p.Bottom))).(*image.RGBA)
				}
			}
			if len(places) != charts {
				t.Errorf("%s: %d charts over time, want %d", folder, len(places), charts)
			}
			for chart, p := range places {
				for where, images := range map[string][2]map[string]*image.RGBA{"on the screen": screens,
					"saved": saved} {
					from, to := differ(images[0][chart], images[1][chart])
					if where == "saved" { // with twice as many pixels
						from, to = from/2, to/2
					}
					if math.Abs(from-p.X) > 3 || math.Abs(to-p.X2) > 3 {
						t.Errorf("%s, %d pixels wide, %s %s: hatched from %v to %v, want %v to %v", folder, width, chart,
							where, from, to, p.X, p.X2)
					}
				}
			}
			b.Clean()
		}
	}
}

func decode(t *testing.T, text []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, out.Rect.Min, draw.Src)
	return out
}

// differ returns between which columns two images differ, from the left of the images.
func differ(a, b *image.RGBA) (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
		for x := a.Rect.Min.X; x < a.Rect.Max.X; x++ {
			// Edges of lines may differ a little.
			if p, q := a.RGBAAt(x, y).G, b.RGBAAt(x, y).G; max(p, q)-min(p, q) > 30 {
				from, to = min(from, float64(x-a.Rect.Min.X)), max(to, float64(x-a.Rect.Min.X))
			}
		}
	}
	return from, to
}

// Names that want to be markup or script are names and nothing else.
func TestChromiumHostileNames(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hostile.html")
	if err := os.WriteFile(file, hostilePage(t), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openTab(t, 1200, 900, "light")
	b.open(file)
	b.choose(map[string]string{"compare": "host"})
	for _, table := range []string{"percentiles", "heat", "spectrum"} {
		eval[any](b, `(document.querySelector('details[data-table=`+table+`]').open = true, 1)`)
	}
	b.Do(chromedp.Sleep(50 * time.Millisecond))
	for _, name := range hostile {
		name = fio.Printable(name)
		b.choose(map[string]string{"compare": "", "host": name})
		text := eval[string](b, "document.querySelector('#covers').textContent")
		if !strings.Contains(strings.ToLower(text), strings.ToLower(name)) {
			t.Errorf("%q is chosen, and the page says %q", name, text)
		}
		if n := len(b.drawn("percentiles").Points); n == 0 {
			t.Errorf("%q: nothing is drawn", name)
		}
	}
	if pwned := eval[any](b, "window.pwned ?? null"); pwned != nil {
		t.Errorf("a name was run as script: %v", pwned)
	}
	b.Clean()
}

// axe-core, the accessibility checker, finds nothing, with all tables open, in either
// theme.
func TestChromiumAccessibility(t *testing.T) {
	t.Parallel()
	axe, err := pipelinetest.Unpacked("testdata/axe/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	pages := [][]string{{"--sla", "read p99 < 1us", "--sla", "p50 < 9s", "../testdata/fio/cluster"},
		{"--kind", "all", "../testdata/fio/latkinds"}, {"../testdata/fio/gaps", "../testdata/fio/cluster"},
		{"../testdata/depths"}}
	dir := t.TempDir()
	for i := range 2 * len(pages) {
		scheme, args := []string{"light", "dark"}[i%2], pages[i/2]
		file := filepath.Join(dir, filepath.Base(args[len(args)-1])+fmt.Sprint(len(args))+".html")
		if i%2 == 0 {
			fiolat(t, append([]string{"report", "-o", file}, args...)...)
		}
		b := openTab(t, 1200, 900, scheme)
		b.open(file)
		b.Do(chromedp.Evaluate[chromedp.Void](string(axe)))
		eval[any](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
		b.Do(chromedp.Sleep(100 * time.Millisecond))
		// Of each table ten rows: all are made in the same way, and axe takes its time for each cell.
		eval[any](b, `(document.querySelectorAll('tbody tr:nth-child(n+11)').forEach(r => r.remove()), 1)`)
		for _, v := range eval[[]struct {
			ID, Help string
			Nodes    []struct{ HTML, FailureSummary string }
		}](b, "axe.run().then(r => r.violations)") {
			t.Errorf("%s, %s: %s: %s: %d times, such as %.200s: %s", filepath.Base(file), scheme, v.ID, v.Help,
				len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
		}
	}
}

// An SLA rule is a line at its limit, whichever direction is chosen, and is named in the legend only.
func TestChromiumSLA(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sla.html")
	m := newMade(10, 1, 100)
	m.run.Settings.SLA = testkit.Rules(t, "read p99 < 5ms")
	page := m.page(t, report.Options{}, nil)
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	b := openTab(t, 1200, 900, "light")
	b.open(file)
	for _, direction := range []string{"all", "read", "write"} {
		b.choose(map[string]string{"direction": direction})
		got := eval[struct {
			Marks []struct{ Y, Limit float64 }
			Y     float64
			Text  string
			Keys  []string
			Over  int // texts over the lines
		}](b, `(() => {
			const view = fiolat.views.percentiles, `+inView+`;
			return {marks: marks('rule').flat().filter(m => m.datum?.limit).map(m => ({y: m.y, limit: m.datum.limit})),
				y: view.scale('y')(5e6), text: document.querySelector('#covers').textContent,
				keys: [...document.querySelectorAll('#rules .rule:has(line[stroke-dasharray="10 4"])')].
					map(k => k.textContent),
				over: marks('text').flat().filter(m => m.datum?.limit).length};
		})()`)
		if len(got.Marks) != 1 || !strings.Contains(got.Text, "read p99 < 5ms") || got.Over > 0 ||
			!slices.Equal(got.Keys, []string{"SLA: read p99 < 5ms"}) {
			t.Errorf("%s: %d lines of the SLA rule, %d names over the lines, %q in the legend; %q", direction,
				len(got.Marks), got.Over, got.Keys, got.Text)
		}
		for _, m := range got.Marks {
			if m.Limit != 5e6 || math.Abs(m.Y-got.Y) > 0.5 || m.Y < 0 || m.Y > 330 {
				t.Errorf("the line of the SLA rule of %v ns is at %v, it belongs at %v", m.Limit, m.Y, got.Y)
			}
		}
	}
	b.Clean()
}

// A verdict on an SLA rule begins with the word for it, in red or green.
func TestChromiumSLAVerdicts(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string][]string{"light": {"SLA ok: rgb(23, 105, 47)", "SLA BROKEN: rgb(179, 38, 30)"},
		"dark": {"SLA ok: rgb(95, 211, 138)", "SLA BROKEN: rgb(255, 143, 133)"}} {
		b := opened(t, 1200, 900, scheme, "--sla", "read p99 < 1us", "--sla", "p50 < 9s", "../testdata/fio/cluster")
		if got := eval[[]string](b, `[...document.querySelectorAll('.verdict strong')].map(s => s.textContent + ' ' +
			getComputedStyle(s).color)`); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", scheme, got, want)
		}
		b.Clean()
	}
}

// TestChromiumViews looks at the page as it is on a phone, in print, in the dark, zoomed, and
// compared by host.
func TestChromiumViews(t *testing.T) {
	t.Parallel()
	b := opened(t, 390, 800, "dark", "../testdata/fio/cluster")
	eval[any](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)`)
	b.Do(chromedp.Sleep(50 * time.Millisecond))
	if wide := eval[[2]float64](b, "[document.documentElement.scrollWidth, innerWidth]"); wide[0] > wide[1] {
		t.Errorf("on a phone of %v pixels the page is %v wide", wide[1], wide[0])
	}
	if rows := eval[[]float64](b, `[...new Set([...document.querySelectorAll('#legend label')].map(l =>
		Math.round(l.getBoundingClientRect().top)))]`); len(rows) != 2 {
		t.Errorf("on a phone the legend has rows at %v", rows)
	}
	if dark := eval[string](b, "document.documentElement.dataset.theme"); dark != "dark" {
		t.Errorf("theme %q in the dark", dark)
	}
	// The switch: as the system, light, dark.
	for _, want := range []string{"light", "dark", "dark"} {
		eval[any](b, "(document.querySelector('#theme').click(), 1)")
		if got := eval[string](b, "document.documentElement.dataset.theme"); got != want {
			t.Errorf("theme %q, want %q", got, want)
		}
	}
	// The worst hosts side by side.
	b.choose(map[string]string{"compare": "host"})
	names := map[string]bool{}
	for _, p := range b.drawn("percentiles").Points {
		names[p.P] = true
	}
	if len(names) != 2 || !names["line 0"] || !names["line 1"] {
		t.Errorf("hosts compared: %v", names)
	}
	if text := eval[string](b, "document.querySelector('#legend').textContent"); !strings.Contains(text, "127.0.0.1") ||
		!strings.Contains(text, "127.0.0.2") {
		t.Errorf("hosts compared: %q", text)
	}
	b.choose(map[string]string{"compare": ""})
	// Zoom by dragging over the heat map: all charts over time follow.
	eval[any](b, `(document.querySelector('#heat').scrollIntoView({block: 'center'}), 1)`)
	at := eval[[3]float64](b, `(() => { const v = fiolat.views.heat, `+
		`box = document.querySelector('#heat canvas').getBoundingClientRect(), x = v.scale('x'), `+
		`left = box.left + v.origin()[0] + 3; return [left + x(2000), left + x(6000), box.top + 100]; })()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[2]),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[2], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[1], at[2], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[1], at[2], chromedp.ButtonLeft),
		chromedp.Sleep(100*time.Millisecond))
	for _, chart := range []string{"percentiles", "rate", "heat"} {
		if d := eval[[]float64](b, "fiolat.views."+chart+".scale('x').domain()"); math.Abs(d[0]-2000) > 60 ||
			math.Abs(d[1]-6000) > 60 {
			t.Errorf("%s shows %v ms after dragging from 2 s to 6 s", chart, d)
		}
	}
	eval[any](b, `(document.querySelector('[data-zoom=all]').click(), 1)`)
	if d := eval[[]float64](b, "fiolat.views.heat.scale('x').domain()"); d[0] != 0 || d[1] != 11000 {
		t.Errorf("after zooming out all of it is %v ms", d)
	}
	// In print it is light, as wide as the paper, and nothing is cut off.
	drawn := eval[[2]float64](b, `(async () => {
		const width = async event => { dispatchEvent(new Event(event));
			await new Promise(done => setTimeout(done, 200));
			return document.querySelector('#percentiles svg').clientWidth; };
		return [await width('beforeprint'), await width('afterprint')]; })()`)
	if drawn[0] != 718 || drawn[1] > 390 {
		t.Errorf("charts are %v pixels wide on paper and after that", drawn)
	}
	pdf, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF())
	if err != nil || len(pdf) < 10_000 {
		t.Errorf("print: %d bytes, %v", len(pdf), err)
	}
	b.Clean()
}

// TestChromiumInFlight: with the switch, the page shows what --align inflight gives, as far as it can tell: its I/Os
// complete evenly in an interval.
func TestChromiumInFlight(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Abs("../testdata/fio/slow")
	if err != nil {
		t.Fatal(err)
	}
	want := percentiles(t, "--align", "inflight", "--by", "direction", logs)[[4]string{3: "read"}]
	b := opened(t, 1200, 900, "light", logs)
	b.choose(map[string]string{"direction": "read", "counted": "inflight"})
	at := map[float64]float64{}
	for _, p := range b.drawn("percentiles").Points {
		if p.P == "p50" && p.V != nil {
			at[p.T] = *p.V
		}
	}
	for _, r := range want[:18] { // what waits at the end of the run completes late in its last interval
		if got := at[r.OffsetMS]; math.Abs(got/r.Percentiles["50"]-1) > 0.01 {
			t.Errorf("at %v ms: p50 in flight %v, want %v", r.OffsetMS, got, r.Percentiles["50"])
		}
	}
	b.Clean()
}

// stalledHosts writes the logs of a minute of 16 hosts, of which osd2, osd6 and osd10 complete nothing for 5 s.
func stalledHosts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for h := range 16 {
		c := testlog.Config{Seed: uint64(h), Dirs: []fio.Direction{fio.Read, fio.Write}, Rate: 300,
			Duration: time.Minute}
		if h == 2 || h == 6 || h == 10 {
			c.Stalls = []testlog.Stall{{At: time.Duration(20+h) * time.Second, For: 5 * time.Second}}
		}
		name := filepath.Join(dir, fmt.Sprintf("job_clat_hist.1.log.osd%d", h))
		if err := os.WriteFile(name, c.Log(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestChromiumMembers: the map of 16 hosts is on the first screen, in natural order, and shows which completed
// nothing and when, as percentiles prints it; a click chooses a host.
func TestChromiumMembers(t *testing.T) {
	t.Parallel()
	logs, file := stalledHosts(t), filepath.Join(t.TempDir(), "report.html")
	fiolat(t, "report", "--note", "+15s osd.12 down", "-o", file, logs)
	b := openTab(t, 1280, 800, "light")
	b.open(file)
	type cell struct {
		T, T2, I, I2, C float64
		Fill            string
		Exact           bool
	}
	read := func() (got struct {
		Bottom float64
		Labels []string
		Cells  []cell
	}) {
		return eval[struct {
			Bottom float64
			Labels []string
			Cells  []cell
		}](b, `(() => {
			const view = fiolat.views.map, `+inView+`;
			return {bottom: document.querySelector('#map canvas').getBoundingClientRect().bottom,
				labels: view.signal('labels'), cells: marks('rect').flat().filter(m => m.datum?.i2).map(m =>
					({...m.datum, fill: m.fill}))};
		})()`)
	}
	b.choose(map[string]string{"direction": "all"})
	got, rows := read(), percentiles(t, "--by", "host", logs)
	if got.Bottom > 800 {
		t.Errorf("the map ends at %v", got.Bottom)
	}
	var about []string // hosts that a finding is about, and an outlier: what waited
	for i, label := range got.Labels {
		name, found, _ := strings.Cut(label, " ")
		if got.Labels[i] = name; found == "1 ▾" {
			about = append(about, name)
		} else if found != "" {
			t.Errorf("the row %q", label)
		}
	}
	if len(got.Labels) != 16 || got.Labels[2] != "osd2" || got.Labels[10] != "osd10" {
		t.Errorf("hosts in the order %q", got.Labels)
	}
	if !slices.Equal(about, []string{"osd2", "osd6", "osd10"}) {
		t.Errorf("rows of %q are marked, and those that stopped are osd2, osd6 and osd10", about)
	}
	stalled := map[string]int{}
	exact := 0
	for _, c := range got.Cells {
		if c.Exact {
			if exact++; math.Abs(c.T2-c.T-5000) > 300 {
				t.Errorf("%s stalled from %v to %v ms, made: 5 s", got.Labels[int(c.I)], c.T, c.T2)
			}
			continue
		}
		host := got.Labels[int(c.I)]
		r := rows[[4]string{host, "", "", "all"}][int(c.T/1000)]
		if (c.C < 0) != (r.Samples <= 1e-9) || (c.C < 0) != (c.Fill == "#D55E00") {
			t.Errorf("%s at %v ms is %+v, %v I/Os printed", host, c.T, c, r.Samples)
		}
		if c.C < 0 {
			stalled[host]++
		}
	}
	if exact != 3 || len(got.Cells) != 16*60+exact || len(stalled) != 3 ||
		min(stalled["osd2"], stalled["osd6"], stalled["osd10"]) < 3 {
		t.Errorf("%d cells; nothing completed in so many by host: %v", len(got.Cells), stalled)
	}
	order := func(value func(r row) float64) {
		cells := read().Cells
		slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.C, b.C) })
		last := 0.0
		for _, c := range cells {
			if r := rows[[4]string{got.Labels[int(c.I)], "", "", "all"}][int(c.T/1000)]; c.C >= 0 {
				if v := value(r); v < 0.99*last {
					t.Errorf("%v is darker than %v", v, last)
				} else {
					last = max(v, last)
				}
			}
		}
	}
	order(func(r row) float64 { return r.Percentiles["99"] })
	eval[any](b, `(async () => { const s = document.querySelector('#map-measure'); s.value = [...s.options].findIndex(
		o => o.textContent === 'p50'); s.onchange(); for (const v of Object.values(fiolat.views)) await v.runAsync();
		return 1; })()`)
	order(func(r row) float64 { return r.Percentiles["50"] })
	// Findings are numbered as in the list, and what was noted has a letter.
	items := eval[[]string](b, `[...document.querySelectorAll('.findings ol > li')].map(i => i.textContent)`)
	marks := eval[[]struct {
		Name     string
		Note     bool
		From, To float64
	}](b, "fiolat.views.percentiles.data('marks')")
	if n := eval[int](b, "document.querySelectorAll('#percentiles .mark path').length"); n != 2 || len(marks) != 2 {
		t.Errorf("%d marks drawn of %+v", n, marks)
	}
	for _, m := range marks {
		if m.Note {
			if m.Name != "a" || m.From != 15e3 || items[len(items)-1] != "0:15 osd.12 down" {
				t.Errorf("%+v in %q", m, items)
			}
			continue
		}
		n, err := strconv.Atoi(m.Name)
		if want := fmt.Sprintf("between 0:%04.1f and 0:%04.1f", m.From/1e3, m.To/1e3); err != nil ||
			!strings.Contains(items[n-1], want) {
			t.Errorf("%+v in %q, want %q", m, items, want)
		}
	}
	at := eval[[2]float64](b, `(() => { const v = fiolat.views.map, box = document.querySelector('#map canvas').
		getBoundingClientRect(), [x, y] = v.origin(); return [box.left + x + 300, box.top + y + 3 + v.scale('y')(6.5)];
	})()`)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]), chromedp.MouseClickXY(at[0], at[1]),
		chromedp.Sleep(100*time.Millisecond))
	if host := eval[string](b, "document.querySelector('#controls').host.value"); host != "osd6" {
		t.Errorf("after a click on the row of osd6 %q is chosen", host)
	}
	// The same time is a hatched gap in the percentiles of the host.
	gaps := eval[[]struct{ T, T2 float64 }](b, "fiolat.views.percentiles.data('gaps')")
	if want := rows[[4]string{"osd6", "", "", "all"}]; len(gaps) != 1 ||
		gaps[0].T2-gaps[0].T != 1000*float64(stalled["osd6"]) || want[int(gaps[0].T/1000)].Samples > 1e-9 {
		t.Errorf("gaps %v, %d quanta in which nothing completed", gaps, stalled["osd6"])
	}
	if n := eval[int](b, `document.querySelectorAll('#percentiles g.gap path[stroke]').length`); n == 0 {
		t.Error("the gap is not hatched")
	}
	b.Clean()
}
