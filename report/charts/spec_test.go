package charts

import (
	"fmt"
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

// TestAxisWords: how tooltips say a time.
func TestAxisWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		axis           Axis
		date, day, dur bool
	}{{"wall clock", WallClock, true, false, false}, {"of a run", OfRun, false, true, true},
		{"elapsed", SinceStart, false, false, true}} {
		w := tt.axis.words("datum.t")
		if strings.Contains(w, "%Y-%m-%d") != tt.date || strings.Contains(w, "began + ") != tt.day ||
			strings.Contains(w, "864e5") != tt.dur {
			t.Errorf("%s: %s", tt.name, w)
		}
	}
}

// TestLabels: latencies are labelled at 1, 2 and 5 of each decade from 1 ns up to 1,000 s, which is past fio's last
// bucket.
func TestLabels(t *testing.T) {
	t.Parallel()
	at := latencyAxis("p99")["values"].([]float64)
	if len(at) != 36 || at[0] != 1 || at[1] != 2 || at[2] != 5 || at[35] != 500e9 {
		t.Errorf("%v", at)
	}
}

// TestTipOfMerged: percentiles of merged histograms have no limits to show, but a number of I/Os.
func TestTipOfMerged(t *testing.T) {
	t.Parallel()
	for merged, want := range map[bool]string{true: "datum.n", false: "datum.lower"} {
		text := fmt.Sprint(Percentiles{Merged: merged, Names: []string{"p99"}}.Spec())
		if at := strings.Index(text, "confidence"); at < 0 || !strings.Contains(text, want) ||
			merged == strings.Contains(text, "to ' + (isValid(datum.upper)") {
			t.Errorf("merged %v: %s", merged, text)
		}
	}
}

// TestPointer: the cursor shows what can be clicked.
func TestPointer(t *testing.T) {
	t.Parallel()
	if cursor("datum.id") != "pointer" || cursor("") != nil {
		t.Errorf("%v, %v", cursor("datum.id"), cursor(""))
	}
}
