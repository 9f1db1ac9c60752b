//go:build integration

package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fiolat/analysis/history"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/report"
	"fiolat/report/page"
)

// metricChart is what a browser shows of one metric: where things are in the chart.
type metricChart struct {
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

const lookAtHistory = `[...document.querySelectorAll("figure")].map(f => {
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
func TestChromiumHistory(t *testing.T) {
	s := history.Series{Name: `<script>alert("series")</script>`}
	geometry := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	rng := rand.New(rand.NewPCG(1, 11))
	for i := range 30 {
		factor := math.Exp(0.02*rng.NormFloat64()) * (1 + 0.2*float64(i/20))
		h := new(fiohist.Hist)
		for k := range 1000 { // from 40 to 108 us, a tail of 2.4 ms
			h.Add(geometry.Index(int64(factor*40e3*math.Exp(float64(k)/1000))), 100)
		}
		h.Add(geometry.Index(int64(factor*2400e3)), 3000)
		iops := 1000 / factor
		s.Runs = append(s.Runs, history.Run{ID: fmt.Sprintf("run-%03d", i), Start: time.Unix(int64(i)*86400, 0),
			Directions: map[string]*history.Direction{"read": {Geometry: geometry, Hist: h, IOPS: iops,
				Limits: map[string][2]float64{"iops": {iops * 0.95, iops / 0.95}}}}})
	}
	s.Runs[7].Name = `<img src=x onerror=alert(1)>`
	s.Runs[7].Labels = map[string]string{"build": "19.1"}
	s.Runs[7].Notes = []history.Note{{At: s.Runs[7].Start, Text: "osd.12 down"}}
	results := history.Analyse(&s, history.Defaults)
	file := filepath.Join(t.TempDir(), "history.html")
	f, err := os.Create(file)
	if err == nil {
		err = report.WriteHistory(f, []history.Series{s}, results, "fiolat")
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
		figures := testkit.Eval[[]metricChart](b, lookAtHistory)
		buttons := testkit.Eval[int](b, "document.querySelectorAll('.pictures [data-saves]').length")
		testkit.Eval[bool](b, `[...document.querySelectorAll('figure[data-metric="read p99"] path')].find(p => `+
			`p.__data__ && p.__data__.datum && p.__data__.datum.v && p.__data__.datum.i === 8).dispatchEvent(new `+
			`MouseEvent("click", {bubbles: true, cancelable: true}))`)
		shown := testkit.Eval[string](b, `new Promise(r => setTimeout(r, 100)).then(() => [...document.`+
			`querySelectorAll("article.run")].filter(a => a.offsetHeight > 0).map(a => a.textContent).join("|"))`)
		papers[paper] = true
		b.Clean()
		for _, want := range []string{`<img src=x onerror=alert(1)>`, "run 8 of 30", "build=19.1", "osd.12 down",
			page.Latency(*find(t, results, "read p99").Runs[7].Value)} {
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

func find(t *testing.T, results []history.Result, metric string) *history.Result {
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
func inPlace(t *testing.T, fig *metricChart, r *history.Result) {
	t.Helper()
	scale := math.Log
	if r.Of().Name == fio.Histogram {
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
			c.Text != fmt.Sprintf("%+.1f %%", 100*want.Change) {
			t.Errorf("%s: change %+v, want %+v", fig.Metric, c, want)
		}
	}
}
