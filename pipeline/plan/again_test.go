package plan

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"fiolat/fio"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// weights are what the leaves of a run hold, and the scopes of its rows.
type weights struct {
	pipelinetest.Collect
	counts []float64
	scopes []string
}

func (w *weights) Interval(_ context.Context, q *pipeline.Interval) error {
	w.counts = append(w.counts, float64(q.Offset))
	for i := range q.Leaves {
		q.Leaves[i].Hist.Each(func(bucket int, n float64) { w.counts = append(w.counts, float64(bucket), n) })
	}
	for i := range q.Rows {
		if name := q.Rows[i].Scope; !slices.Contains(w.scopes, name) {
			w.scopes = append(w.scopes, name)
		}
	}
	return nil
}

// TestAgain: a run that is read once more has the same leaves in the same intervals, and no other rows than its own.
func TestAgain(t *testing.T) {
	t.Parallel()
	s := fio.Defaults()
	s.By = []string{"direction", "host"}
	for name, config := range map[string]Config{"plain": {Settings: s}, "auto": {Settings: s, Accuracy: 0.1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := prepare(t, config, filepath.Join(real, "cluster"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			var first, second weights
			if _, err := p.Process(t.Context(), &first); err != nil {
				t.Fatal(err)
			}
			if err := p.Reread(t.Context(), &second, nil); err != nil {
				t.Fatal(err)
			}
			if len(first.counts) == 0 || !slices.Equal(first.counts, second.counts) {
				t.Errorf("%d numbers, then %d, or others", len(first.counts), len(second.counts))
			}
			if len(first.scopes) != 4 || !slices.Equal(second.scopes, []string{"run"}) {
				t.Errorf("scopes %q, then %q", first.scopes, second.scopes)
			}
		})
	}
}
