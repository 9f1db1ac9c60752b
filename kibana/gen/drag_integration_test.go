//go:build integration

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"fiolat/kibana/kibanatest"
)

// mouse does something with the left button.
func (p *page) mouse(t *testing.T, what input.DispatchMouseEventType, x, y float64, clicks int) {
	t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.MouseEvent(what, x, y, chromedp.ButtonLeft,
		chromedp.ClickCount(clicks))); err != nil {
		t.Fatal(err)
	}
}

// drag drags from one place of the chart to another.
func (p *page) drag(t *testing.T, from, to float64) {
	t.Helper()
	at := p.marks(t, "layer_2_marks")[0]
	y := at.Top + 100
	p.mouse(t, input.DispatchMouseEventTypeMousePressed, at.Left+from, y, 1)
	p.mouse(t, input.DispatchMouseEventTypeMouseMoved, at.Left+(from+to)/2, y, 0)
	p.mouse(t, input.DispatchMouseEventTypeMouseMoved, at.Left+to, y, 0)
	p.mouse(t, input.DispatchMouseEventTypeMouseReleased, at.Left+to, y, 1)
	evaluate[bool](t, p, "view.runAsync().then(() => true)")
}

func (p *page) called(t *testing.T) [][]any {
	t.Helper()
	return evaluate[[][]any](t, p, "window.called.splice(0)")
}

// A drag and a click do what they should, by what Kibana's functions are called with.
func testDragAndClick(t *testing.T, s *stored) {
	p := browse(t, s)
	for _, version := range vegaVersions {
		draw := func(t *testing.T, id string) {
			st, o := s.open(t, id)
			p.draw(t, version, st.Choose("run.id", "run-cluster"), o)
		}
		t.Run("Vega "+version+" sets the time range", func(t *testing.T) {
			draw(t, "live-read")
			invert := evaluate[[]float64](t, p, "[200, 420].map(x => +view.scale('x').invert(x))")
			for _, ends := range [][2]float64{{200, 420}, {420, 200}} { // in either direction
				p.drag(t, ends[0], ends[1])
				got := p.called(t)
				if len(got) != 1 || len(got[0]) != 3 || got[0][0] != "kibanaSetTimeFilter" {
					t.Fatalf("%v", got)
				}
				for i, want := range invert {
					if ms, ok := got[0][i+1].(float64); !ok || math.Abs(ms-want) > 2*(invert[1]-invert[0])/220 {
						t.Errorf("%v, want %v", got[0], invert)
					}
				}
			}
			p.drag(t, 300, 302)
			p.mouse(t, input.DispatchMouseEventTypeMouseReleased, 500, 500, 1)
			if got := p.called(t); len(got) != 0 {
				t.Errorf("a click that moved 2 pixels, and one beside the chart: %v", got)
			}
		})
		t.Run("Vega "+version+" zooms", func(t *testing.T) {
			draw(t, "run-percentiles")
			domain := func() []float64 { return evaluate[[]float64](t, p, "view.scale('x').domain().map(Number)") }
			all := domain()
			want := evaluate[[]float64](t, p, "[200, 420].map(x => view.scale('x').invert(x))")
			p.drag(t, 200, 420)
			if got := domain(); math.Abs(got[0]-want[0]) > 50 || math.Abs(got[1]-want[1]) > 50 {
				t.Errorf("shows %v, want %v", got, want)
			}
			at := p.marks(t, "layer_2_marks")[0]
			for n := range 2 {
				p.mouse(t, input.DispatchMouseEventTypeMousePressed, at.Left+300, at.Top+100, n+1)
				p.mouse(t, input.DispatchMouseEventTypeMouseReleased, at.Left+300, at.Top+100, n+1)
			}
			evaluate[bool](t, p, "view.runAsync().then(() => true)")
			if got := domain(); fmt.Sprint(got) != fmt.Sprint(all) {
				t.Errorf("after a double click %v, want %v", got, all)
			}
			if got := p.called(t); len(got) != 0 {
				t.Errorf("%v", got)
			}
		})
		for id, c := range map[string]struct {
			mark, index string
			filter      func(k mark) any
		}{
			"run-map": {"layer_0_marks", "percentiles", func(k mark) any {
				return m{"bool": m{"filter": []any{m{"term": m{"run.id": "run-cluster"}},
					m{"term": m{"host.name": k.Tooltip["host"]}}}}}
			}},
			"live-hosts": {"layer_0_marks", "percentiles",
				func(k mark) any { return m{"term": m{"host.name": k.Tooltip["host"]}} }},
			"run-tail-read": {"layer_0_marks", "percentiles", func(k mark) any {
				return m{"bool": m{"filter": []any{m{"term": m{"run.id": "run-cluster"}},
					m{"term": m{"host.name": k.Tooltip["host"]}}}}}
			}},
			"live-tail-read": {"layer_0_marks", "percentiles",
				func(k mark) any { return m{"term": m{"host.name": k.Tooltip["host"]}} }},
			"compare-read": {"layer_1_marks", "percentiles",
				func(mark) any { return m{"term": m{"run.id": "run-cluster"}} }},
			"history-read":   {"layer_3_marks", "run", func(mark) any { return m{"term": m{"run.id": "run-cluster"}} }},
			"history-write":  {"layer_3_marks", "run", func(mark) any { return m{"term": m{"run.id": "run-cluster"}} }},
			"history-iops":   {"layer_3_marks", "run", func(mark) any { return m{"term": m{"run.id": "run-cluster"}} }},
			"curve-points":   {"layer_2_marks", "run", func(mark) any { return m{"term": m{"run.id": "run-cluster"}} }},
			"compare-change": {"layer_0_marks", "run", func(mark) any { return m{"term": m{"run.id": "run-cluster"}} }},
		} {
			t.Run("Vega "+version+" "+id+" is clicked", func(t *testing.T) {
				st, o := s.open(t, id)
				chosen := st.Choose("run.id", "run-cluster")
				if id == "compare-change" {
					chosen = st.Choose("run.id", "run-cluster", "run-randrw")
				}
				p.draw(t, version, chosen, o)
				var k mark
				for _, e := range p.marks(t, c.mark) {
					if clear := math.Abs(e.X2-e.X) > 4 && math.Abs(e.Y2-e.Y) > 4 || e.Type == "symbol" && e.X > 50 &&
						(e.X < 600 || id == "curve-points"); clear {
						if id != "compare-change" || strings.HasSuffix(fmt.Sprint(e.Tooltip["run"]), "run-cluster") {
							k = e
						}
					}
				}
				if k.Tooltip == nil {
					t.Fatalf("nothing to click: %v", p.marks(t, c.mark))
				}
				x, y := k.Left+(k.X+k.X2)/2, k.Top+(k.Y+k.Y2)/2
				p.mouse(t, input.DispatchMouseEventTypeMouseMoved, x-2, y, 0)
				p.mouse(t, input.DispatchMouseEventTypeMouseMoved, x, y, 0)
				p.mouse(t, input.DispatchMouseEventTypeMousePressed, x, y, 1)
				p.mouse(t, input.DispatchMouseEventTypeMouseReleased, x, y, 1)
				evaluate[bool](t, p, "view.runAsync().then(() => true)")
				index := s.prefix + "-" + c.index
				if c.index != "run" {
					index += "-*"
				}
				got := p.called(t)
				if len(got) != 1 || got[0][0] != "kibanaAddFilter" ||
					fmt.Sprint(got[0][1]) != fmt.Sprint(c.filter(k)) || got[0][2] != index || got[0][3] == "" {
					t.Errorf("%v, want %v of %s", got, c.filter(k), index)
				}
			})
		}
	}
}

// empty says whether a chart draws "no data".
func (p *page) empty(t *testing.T, version string, st kibanatest.State, o *kibanatest.Object) bool {
	t.Helper()
	p.draw(t, version, st, o)
	return evaluate[bool](t, p, "words().includes('no data')")
}
