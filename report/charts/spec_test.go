package charts

import (
	"strings"
	"testing"
)

// TestAxisOfTime: what an axis and a tooltip show of a time, by where it is counted from, and that a zoom moves both
// ends whatever the axis has of a scale.
func TestAxisOfTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name               string
		axis               Axis
		kind               string
		fromStart, timeDay bool
	}{
		{"wall clock", WallClock, "temporal", false, true},
		{"of a run", OfRun, "quantitative", true, true},
	} {
		c := tc.axis.channel("t", Zoom)
		if c["type"] != tc.kind || c["field"] != "t" {
			t.Errorf("%s: %v", tc.name, c)
		}
		scale, ok := c["scale"].(M)
		if !ok {
			t.Errorf("%s: no scale to zoom", tc.name)
			continue
		}
		for i, end := range []string{"domainMin", "domainMax"} {
			expr, _ := scale[end].(M)["expr"].(string)
			if want := []string{"zoom[0]", "zoom[1]"}[i]; !strings.Contains(expr, want) {
				t.Errorf("%s: %s is %q, without %s", tc.name, end, expr, want)
			}
		}
		words := tc.axis.words("datum.t")
		if strings.Contains(words, "timeFormat") != tc.timeDay || strings.Contains(words, "began") != tc.fromStart ||
			!strings.Contains(words, "datum.t") {
			t.Errorf("%s: a tooltip has %q", tc.name, words)
		}
	}
}

// TestLatencyAcross: latencies are on an axis of logarithms, whose ticks say their unit.
func TestLatencyAcross(t *testing.T) {
	t.Parallel()
	c := latencyAcross("p99")
	if scale, _ := c["scale"].(M); c["field"] != "p99" || scale["type"] != "log" {
		t.Errorf("%v", c)
	}
	if _, ok := c["axis"].(M); !ok {
		t.Errorf("no axis: %v", c)
	}
}
