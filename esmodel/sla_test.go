package esmodel

import (
	"encoding/json"
	"testing"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/jsonw"
)

// TestLeastShare: a row has the least share of I/Os that meet a rule, also if that is all of them; none without shares.
func TestLeastShare(t *testing.T) {
	t.Parallel()
	rules, err := fio.ParseSLARules([]string{"read p99 < 5ms", "read p50 < 1ms", "read iops > 9"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		shares []float64 // by rule
		want   any
	}{
		"all":     {[]float64{1, 1}, 1.0},
		"some":    {[]float64{1, 0.25}, 0.25},
		"none":    {[]float64{0, 0.5}, 0.0},
		"unknown": {[]float64{-1, -1, -1}, nil},
		"one":     {[]float64{-1, 0.5, -1}, 0.5},
	} {
		var verdicts []sla.Verdict
		for i, share := range tt.shares {
			verdicts = append(verdicts, sla.Verdict{Rule: &rules[i], Status: sla.OK, Share: share})
		}
		var row struct{ SLA map[string]any }
		text := withSLA(jsonw.Object(nil).Begin(), verdicts).End()
		if err := json.Unmarshal(text, &row); err != nil || row.SLA["share"] != tt.want {
			t.Errorf("%s: %v, %v, want %v", name, row.SLA["share"], err, tt.want)
		}
	}
}
