package diagnose

import (
	"context"
	"testing"

	"fiolat/pipeline"
)

// judged is a finding as judge sees it: times in seconds; who is nil for all.
type judged struct {
	who      []string
	from, to int
	period   bool
	text     string
}

func findingsOf(t *testing.T, r *simRun) (out []judged, of []Finding) {
	t.Helper()
	full := &Full{Reread: func(ctx context.Context, sink pipeline.Sink) error { return r.pass(ctx, sink) }}
	if err := r.pass(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	for _, f := range full.Diagnosis.Findings {
		out = append(out, judged{f.Who, int(f.FromMS / 1000), int(f.ToMS / 1000), f.About == aboutPeriod, f.Text})
	}
	return out, full.Diagnosis.Findings
}
