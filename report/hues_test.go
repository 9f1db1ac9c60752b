package report

import (
	"slices"
	"testing"
)

// TestDirectionHues: each direction has a color of its own.
func TestDirectionHues(t *testing.T) {
	hues := slices.Sorted(slices.Values(directionHues[:]))
	if len(slices.Compact(hues)) != len(directionHues) {
		t.Errorf("directions share colors: %v", directionHues)
	}
}
