//go:build integration

package history

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"fiolat/internal/testkit"
)

// figure is what a browser shows of one metric: where things are in the chart.
type figure struct {
	Metric string
	Domain []float64 // of the vertical axis
	Range  []float64
	Ticks  int
	Marks  []struct {
		X, Y, V float64
		I       int
	}
	Changes []struct {
		X, I float64
		Text string
	}
}

const lookAtFigures = `[...document.querySelectorAll("figure")].map(f => {
	const view = fiolat.views[f.querySelector(".plot").id], y = view.scale("y"), found = {symbol: [], text: []}
	const walk = items => items.forEach(i => {
		if (found[i.marktype]) found[i.marktype].push(...i.items)
		else if (i.items) walk(i.items)
	})
	walk([view.scenegraph().root])
	return {Metric: f.dataset.metric, Domain: y.domain(), Range: y.range(),
		Ticks: view.signal("yTicks").length || y.ticks().length,
		Marks: found.symbol.filter(m => m.datum.v).map(m => ({X: m.x, Y: m.y, V: m.datum.v, I: m.datum.i})),
		Changes: found.text.filter(m => m.datum.anchor).map(m => ({X: m.x, I: m.datum.i, Text: m.text}))}
})`

// In a real browser each mark is where its number is on the axis, a change point between its runs, and
// a click opens the run's figures; nothing is loaded, by day and by night.
func TestPageInBrowser(t *testing.T) {
	s := made{seed: 1, runs: 30, noise: 0.02, level: func(i int) float64 { return 1 + 0.2*float64(i/20) }}.series()
	s.Name = `<script>alert("series")</script>`
	s.Runs[7].Name = `<img src=x onerror=alert(1)>`
	s.Runs[7].Labels = map[string]string{"build": "19.1"}
	s.Runs[7].Notes = []Note{{s.Runs[7].Start, "osd.12 down"}}
	for i := range s.Runs {
		d := s.Runs[i].Directions["read"]
		d.Limits = map[string][2]float64{"iops": {d.IOPS * 0.95, d.IOPS / 0.95}}
	}
	results := Analyse(s, Defaults)
	file := filepath.Join(t.TempDir(), "history.html")
	f, err := os.Create(file)
	if err == nil {
		err = WritePage(f, []Series{*s}, results, "fiolat")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	papers := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b := testkit.OpenTab(testkit.Chromium(t, 1200, 1000), t, 1200, 1000, scheme)
		b.Do(chromedp.Navigate("file://"+file), chromedp.WaitReady(`html[data-ready=true]`))
		paper := testkit.Eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)
		figures := testkit.Eval[[]figure](b, lookAtFigures)
		buttons := testkit.Eval[int](b, "document.querySelectorAll('.pictures [data-saves]').length")
		testkit.Eval[bool](b, `[...document.querySelectorAll('figure[data-metric="read p99"] path')].find(p => `+
			`p.__data__ && p.__data__.datum && p.__data__.datum.v && p.__data__.datum.i === 8).dispatchEvent(new `+
			`MouseEvent("click", {bubbles: true, cancelable: true}))`)
		shown := testkit.Eval[string](b, `new Promise(r => setTimeout(r, 100)).then(() => [...document.`+
			`querySelectorAll("article.run")].filter(a => a.offsetHeight > 0).map(a => a.textContent).join("|"))`)
		papers[paper] = true
		b.Clean()
		for _, want := range []string{`<img src=x onerror=alert(1)>`, "run 8 of 30", "build=19.1", "osd.12 down",
			format(metric(t, "read p99"), *find(t, results, "read p99").Runs[7].Value)} {
			if !strings.Contains(shown, want) || strings.Contains(shown, "|") {
				t.Errorf("%s: a click on run 8 opens no %q:\n%s", scheme, want, shown)
			}
		}
		if len(figures) != len(results) || buttons != 2*len(figures) {
			t.Fatalf("%s: %d charts of %d metrics, %d buttons save them", scheme, len(figures), len(results), buttons)
		}
		for _, fig := range figures {
			inPlace(t, &fig, find(t, results, fig.Metric))
		}
	}
	if len(papers) != 2 {
		t.Errorf("by day and by night the paper is %v", papers)
	}
}

func find(t *testing.T, results []Result, metric string) *Result {
	t.Helper()
	for i := range results {
		if results[i].Metric == metric {
			return &results[i]
		}
	}
	t.Fatalf("no metric %q", metric)
	return nil
}

// inPlace compares where the marks of a chart are with its numbers, by the domain of its axis.
func inPlace(t *testing.T, fig *figure, r *Result) {
	t.Helper()
	scale := math.Log
	if r.Of().Name == Histogram {
		scale = func(v float64) float64 { return v }
	}
	if fig.Ticks < 2 || len(fig.Marks) != len(r.Runs) || len(fig.Changes) != len(r.Changes) {
		t.Fatalf("%s: %d ticks, %d marks of %d runs, %d change points of %d", fig.Metric, fig.Ticks, len(fig.Marks),
			len(r.Runs), len(fig.Changes), len(r.Changes))
	}
	low, high := scale(fig.Domain[0]), scale(fig.Domain[1])
	for i, m := range fig.Marks {
		share := (scale(*r.Runs[i].Value) - low) / (high - low)
		if y := fig.Range[0] + share*(fig.Range[1]-fig.Range[0]); m.I != i+1 || math.Abs(m.Y-y) > 0.5 {
			t.Errorf("%s: run %d, %g, is at %.1f, want %.1f", fig.Metric, i, *r.Runs[i].Value, m.Y, y)
		}
		if i > 0 && m.X <= fig.Marks[i-1].X {
			t.Errorf("%s: run %d is not to the right of the one before", fig.Metric, i)
		}
	}
	for i, c := range fig.Changes {
		want := r.Changes[i]
		if c.I != float64(want.Index)+0.5 || c.X <= fig.Marks[want.Index-1].X || c.X >= fig.Marks[want.Index].X ||
			c.Text != percent(want.Change) {
			t.Errorf("%s: change %+v, want %+v", fig.Metric, c, want)
		}
	}
}
