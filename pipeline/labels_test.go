package pipeline

import (
	"maps"
	"testing"
)

// TestPrintableLabels: labels are stored by printable keys, each once, and which value stays does not depend on the
// order of a map. A stored run of an older fiolat has raw ones.
func TestPrintableLabels(t *testing.T) {
	t.Parallel()
	const raw, printable = "k\u200b", `k\u200b`
	for range 40 {
		run := Run{Labels: map[string]string{raw: "1", printable: "2"}}
		run.Escape()
		if want := map[string]string{printable: "1"}; !maps.Equal(run.Labels, want) {
			t.Fatalf("%q, want %q", run.Labels, want)
		}
	}
	run := &Run{Labels: map[string]string{raw: "new"}}
	run.Escape()
	if got := run.Keep("", map[string]string{raw: "old", "other": "kept"}).Labels; !maps.Equal(got,
		map[string]string{printable: "new", "other": "kept"}) {
		t.Errorf("kept %q", got)
	}
	if run.Labels = nil; PrintableLabels(run.Labels) != nil {
		t.Error("no labels became some")
	}
}
