package render

import (
	"encoding/json"
	"testing"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/pipeline"
)

// TestRulesAsJSON: a row in JSON has what each rule measured beside its threshold, and null where nothing is known.
func TestRulesAsJSON(t *testing.T) {
	t.Parallel()
	rule := func(text string) *fio.SLARule {
		r, err := fio.ParseSLARule(text)
		if err != nil {
			t.Fatal(err)
		}
		return &r
	}
	r := &Renderer{Options: Options{Format: "json"}}
	r.run = &pipeline.Run{Interval: 1e9}
	row := &pipeline.Row{SLA: []sla.Verdict{
		{Rule: rule("max<5ms over 30s"), Status: sla.Broken, Value: 7e6, Known: true, Window: 30e9, Share: 0.75},
		{Rule: rule("iops>100"), Status: sla.Unknown, Window: 1e9, Share: -1},
	}}
	var got struct {
		SLA []struct {
			Rule, Status            string
			Value, Threshold, Share *float64
			Window                  float64 `json:"window_ms"`
		}
	}
	text := r.appendJSON(nil, &pipeline.Interval{}, row)
	if err := json.Unmarshal(text, &got); err != nil || len(got.SLA) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	a, b := got.SLA[0], got.SLA[1]
	is := func(v *float64, want float64) bool { return v != nil && *v == want }
	if !is(a.Value, 7e6) || !is(a.Threshold, 5e6) || !is(a.Share, 0.75) || a.Window != 30000 || a.Status != "broken" {
		t.Errorf("broken: %s", text)
	}
	if b.Value != nil || !is(b.Threshold, 100) || b.Share != nil || b.Window != 1000 || b.Status != "unknown" {
		t.Errorf("unknown: %s", text)
	}
}
