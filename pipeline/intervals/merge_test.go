package intervals

import (
	"testing"

	"fiolat/pipeline"
)

// TestCovers: a rate is known only of a millisecond or more.
func TestCovers(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]float64{1: 0, msec - 1: 0, msec: 1000, 1000 * msec: 1} {
		r := pipeline.Row{}
		r.Stats.Samples = 1
		if covers(&r, ns); r.IOPSKnown != (want > 0) || r.IOPS != want {
			t.Errorf("1 I/O in %d ns: %v IOPS, known: %v; want %v", ns, r.IOPS, r.IOPSKnown, want)
		}
	}
}
