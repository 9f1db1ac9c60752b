package compare

import (
	"slices"
	"testing"
)

// TestFigures: sample.compute and sample.blockLength know exactly the figures that may be compared.
func TestFigures(t *testing.T) {
	if want := []string{"mean", "iops"}; !slices.Equal(metrics.Names, want) {
		t.Errorf("%v may be compared, computed are %v", metrics.Names, want)
	}
}
