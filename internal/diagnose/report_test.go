package diagnose

import "testing"

// TestStored: a document holds the first of each list, and says how many more there are.
func TestStored(t *testing.T) {
	d := &Diagnosis{Findings: make([]Finding, maxListed+1), Stragglers: make([]Straggler, maxListed),
		Segments: make([]Segment, maxListed+20)}
	s := d.Stored()
	if len(s.Findings) != maxListed || len(s.Stragglers) != maxListed || len(s.Segments) != maxListed ||
		s.Omitted != 21 {
		t.Errorf("%d findings, %d stragglers, %d segments, %d omitted", len(s.Findings), len(s.Stragglers),
			len(s.Segments), s.Omitted)
	}
}
