package delivery

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/stored"
)

// TestRedIndex: an index that cannot be read stops an ingest, and a delete, only where documents of the run may lie in
// it; then the same command finishes once it can be read.
func TestRedIndex(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 30 * time.Millisecond})
	at := esmodeltest.Run().Start
	const old, month = "fio-histogram-2024.01", "fio-percentiles-2026.08"
	for _, step := range []struct {
		name, generation string
		later            time.Duration // the run's start
		red              map[string]bool
		want             string // status
		fails            string
	}{
		{"nothing of it is red", "g1", 0, map[string]bool{"fio-probe-2024.01": true, old: true}, "complete", ""},
		{"once more", "g1", 0, nil, "complete", ""},
		{"other settings", "g2", 0, nil, "complete", ""},
		{"a month with another generation", "g3", 8760 * time.Hour, map[string]bool{month: true}, "partial", month},
		{"still", "g3", 8760 * time.Hour, nil, "partial", month},
		{"it can be read again", "g3", 8760 * time.Hour, map[string]bool{month: false, old: false}, "complete", ""},
		{"its month is past", "g3", 8760 * time.Hour, map[string]bool{month: true}, "complete", ""},
	} {
		for name, red := range step.red {
			s.SetRed(name, red)
		}
		run := esmodeltest.Run()
		run.Generation, run.Start = step.generation, at+int64(step.later)
		sink, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 9))
		if got := runStatus(t, s); got != step.want || (err != nil) != (step.fails != "") ||
			err != nil && !strings.Contains(err.Error(), step.fails) {
			t.Errorf("%s: the run is %s, error %v", step.name, got, err)
		}
		if n := sink.Report().Total(); n.Indexed != n.Made {
			t.Errorf("%s: %d made, %d indexed", step.name, n.Made, n.Indexed)
		}
		if warned := strings.Join(sink.Report().Warnings, "\n"); !strings.Contains(warned, "fio-probe-2024.01") {
			t.Errorf("%s: warnings %q", step.name, warned)
		}
		generations := map[string]bool{}
		for _, doc := range esmodeltest.Contents(s) {
			if m, e := esmodel.ReadDocHeader([]byte(doc)); e == nil {
				generations[m.Run.Generation] = true
			}
		}
		if step.want == "complete" && !maps.Equal(generations, map[string]bool{step.generation: true}) {
			t.Errorf("%s: documents of %v", step.name, slices.Sorted(maps.Keys(generations)))
		}
	}
	before := esmodeltest.Contents(s)
	s.SetRed("fio-histogram-2027.08", true)
	if _, err := stored.DeleteRun(t.Context(), c, "fio", "r/1"); err == nil ||
		!strings.Contains(err.Error(), "fio-histogram-2027.08") {
		t.Errorf("deleted what cannot be read: %v", err)
	}
	if after := esmodeltest.Contents(s); len(after) != len(before) {
		t.Errorf("%d of %d documents left", len(after), len(before))
	}
	s.SetRed("fio-histogram-2027.08", false)
	if _, err := stored.DeleteRun(t.Context(), c, "fio", "r/1"); err != nil || len(esmodeltest.Contents(s)) > 0 {
		t.Errorf("deleted beside a red index: %v, %d left", err, len(esmodeltest.Contents(s)))
	}
}
