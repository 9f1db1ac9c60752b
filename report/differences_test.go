package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"fiolat/analysis/compare"
	"fiolat/report"
)

// TestDifferences: a page lists single slow I/Os, and charts only changes that a ratio can show.
func TestDifferences(t *testing.T) {
	t.Parallel()
	r := &compare.Result{Outliers: []compare.Slow{{Direction: "read", AboveNS: 1e6, Other: 8, BaselineIOs: 8e6,
		OtherIOs: 8e6, P: 0.008, Verdict: compare.Higher}}}
	r.Baseline.Name, r.Other.Name = "a", "b"
	for metric, change := range map[string]float64{"p50": 0.25, "p90": -1, "p99": math.Inf(1)} {
		r.Rows = append(r.Rows, compare.Row{Direction: "read", Metric: metric, Change: &change})
	}
	var out bytes.Buffer
	page := report.Differences{Results: []*compare.Result{r}, Metrics: []string{"p50", "p90", "p99"},
		Rows: func(*compare.Result) [][]string { return [][]string{{"metric"}} }}
	if err := page.Write(&out); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"reads above 1 ms: 0 -&gt; 8 in 8 M": true, "<h2>read p50</h2>": true,
		"<h2>read p90</h2>": false, "<h2>read p99</h2>": false} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q on the page: %v, want %v", text, !want, want)
		}
	}
}
