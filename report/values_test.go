package report

import (
	"strings"
	"testing"

	"fiolat/analysis/compare"
	"fiolat/fio"
)

// TestHistoryValue: each figure has its unit, shares are in percent.
func TestHistoryValue(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{"25.00 %": 0.25, "100.00 %": 1} {
		if got := historyValue(fio.Metric{Name: fio.Histogram}, v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	if got := historyValue(fio.Metric{Name: "iops"}, 25); got != "25/s" {
		t.Errorf("%q", got)
	}
}

// TestVerdictOf: fewer I/Os per second and longer latencies are worse, and a question mark is for what lacks the noise
// between runs.
func TestVerdictOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		metric  string
		verdict compare.Verdict
		want    string
	}{
		{"iops", compare.Same, "same or inconclusive"},
		{"iops", compare.Inconclusive, "same or inconclusive"},
		{"iops", compare.Higher, "better"},
		{"iops", compare.Lower, "worse"},
		{"p99", compare.Higher, "worse"},
		{"p99", compare.Lower, "better"},
	} {
		got := verdictOf(new(compare.Result), &compare.Row{Metric: tt.metric, Verdict: tt.verdict})
		if strings.TrimSuffix(got, "?") != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.metric, tt.verdict, got, tt.want)
		}
	}
}
