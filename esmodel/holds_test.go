package esmodel

import "testing"

// TestHolds: a part counts as merged only while it is complete, in the generation that was merged, and nobody's.
func TestHolds(t *testing.T) {
	t.Parallel()
	const g1 = `{"run":{"id":"r","part":"p","generation":"g1","status":`
	for _, tt := range []struct {
		name, doc string
		want      bool
	}{
		{"complete", g1 + `"complete"}}`, true},
		{"partial", g1 + `"partial"}}`, false},
		{"being written", g1 + `"running"}}`, false},
		{"ingested again", `{"run":{"id":"r","part":"p","generation":"g2","status":"complete"}}`, false},
		{"being deleted", g1 + `"complete"},"owner":{"id":"x","host":"h","pid":1}}`, false},
		{"deleted", "", false},
		{"damaged", g1 + `"complete"}`, false},
		{"damaged at its end", g1 + `"complete"}}}`, false},
	} {
		if got := Holds([]byte(tt.doc), "g1"); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
