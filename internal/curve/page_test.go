package curve

import (
	"strings"
	"testing"

	"fiolat/internal/summary"
)

// TestPageEscapes puts markup where names from files go.
func TestPageEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	var rows []summary.Row
	for depth := 1; depth < 9; depth *= 2 {
		r := run("r", depth, 1000*float64(depth), 1e5*float64(depth))
		r.Run += r.Options["iodepth"]
		r.Options["size"] = evil
		r.Options["bs"] = evil + r.Options["iodepth"]
		rows = append(rows, r)
	}
	c, err := Make(rows, "read", []float64{50, 99}, rule(t, "read p99 < 250us"))
	if err != nil {
		t.Fatal(err)
	}
	for _, axis := range axes {
		var page strings.Builder
		p := Page{Title: evil, Curve: c, Percentiles: []float64{50, 99}, Axis: axis, Generator: "fiolat"}
		if err := p.Write(&page); err != nil {
			t.Fatal(err)
		}
		text := page.String()
		if strings.Contains(text, "<script") || !strings.Contains(text, "&lt;script&gt;") {
			t.Errorf("%s: markup of a name is markup of the page", axis)
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "ZgotmplZ") {
			t.Errorf("%s: something could not be drawn", axis)
		}
	}
}

func TestNumbers(t *testing.T) {
	for ns, want := range map[float64]string{999: "999 ns", 1e3: "1 µs", 1e5: "100 µs", 17290: "17.3 µs",
		1e7: "10 ms", 2.5e9: "2.5 s"} {
		if got := latency(ns); got != want {
			t.Errorf("%g ns is %q, want %q", ns, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.889: "0.889", 150: "150", 12159: "12.2k", 2e6: "2M"} {
		if got := short(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]float64{0.7: 1, 1: 1, 1.1: 2, 3: 5, 6000: 10000} {
		if got := nice(v); got != want {
			t.Errorf("the step for %g is %g, want %g", v, got, want)
		}
	}
}
