package logs

import (
	"testing"

	"fiolat/ingest/fiolog"
)

// TestEvidenceAgrees: the logs of a run agree that they are damaged only if each looks so, in whatever order they come.
func TestEvidenceAgrees(t *testing.T) {
	t.Parallel()
	// A steady load of 1,000 I/Os a window, as it is and as sums of every other window: those of fio --client.
	healthy, damaged := &fiolog.Lag{Records: 12}, &fiolog.Lag{Records: 12}
	for n := range 12 {
		healthy.Sums = append(healthy.Sums, 1000)
		damaged.Sums = append(damaged.Sums, float64(1000*(1+n/2)))
	}
	for _, tt := range []struct {
		name string
		lags []*fiolog.Lag
		want bool
	}{
		{"all damaged", []*fiolog.Lag{damaged, damaged, damaged}, true},
		{"the first healthy", []*fiolog.Lag{healthy, damaged, damaged}, false},
		{"one in between healthy", []*fiolog.Lag{damaged, healthy, damaged}, false},
		{"the last healthy", []*fiolog.Lag{damaged, damaged, healthy}, false},
	} {
		e := evidence{agree: true}
		for _, lag := range tt.lags {
			e.add(lag)
		}
		if e.agree != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, e.agree, tt.want)
		}
	}
}
