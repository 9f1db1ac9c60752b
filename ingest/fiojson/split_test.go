package fiojson

import (
	"math"
	"testing"
)

// TestSplitSize: the mean block size of bssplit, by fio's rule that sizes without a share divide what is left of 100 %.
func TestSplitSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		split string
		mean  float64
		fixed bool
	}{
		{"4k", 4096, true},
		{"4k/100", 4096, true},
		{"4k:8k", 6144, false},
		{"4k/60:8k/40", 0.6*4096 + 0.4*8192, false},
		{"4k/50:64k", 0.5*4096 + 0.5*65536, false},
		{"4k/50:8k:16k", 0.5*4096 + 0.25*8192 + 0.25*16384, false},
		{"4k/100:8k", 4096, false},
		{"4k/0:8k/0", 0, false},
		{"many", 0, false},
	} {
		mean, fixed := splitSize(tt.split)
		if math.Abs(mean-tt.mean) > 1e-9 || fixed != tt.fixed {
			t.Errorf("%s: %v, %t; want %v, %t", tt.split, mean, fixed, tt.mean, tt.fixed)
		}
	}
}
