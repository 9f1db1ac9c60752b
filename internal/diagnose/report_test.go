package diagnose

import "testing"

// TestStored: a document holds the first of each list, and says how many more there are.
func TestStored(t *testing.T) {
	d := &Diagnosis{Findings: make([]Finding, 3), More: make([]Finding, maxListed+1),
		Stalls: make([]Stall, maxListed+20)}
	s := d.Stored()
	if len(s.Findings) != 3 || len(s.More) != maxListed || len(s.Stalls) != maxListed || s.Omitted != 21 {
		t.Errorf("%d findings, %d more, %d stalls, %d omitted", len(s.Findings), len(s.More), len(s.Stalls), s.Omitted)
	}
}
