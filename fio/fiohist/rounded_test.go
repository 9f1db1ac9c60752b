package fiohist

import "testing"

// TestRoundedSums: a rank that a running sum misses by less than its rounding, a thousandth of an I/O, is reached.
// Whole counts are not rounded.
func TestRoundedSums(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		below, above   float64
		exact, rounded int // bucket of p99
	}{
		{"half a thousandth short", 98.9995, 1.0005, 20, 10},
		{"a hundredth short", 98.99, 1.01, 20, 20},
		{"a whole one short", 98, 2, 20, 20},
		{"reached", 99, 1, 10, 10},
	} {
		p99 := func(rounded bool) int {
			h := new(Hist)
			h.Add(10, tt.below)
			h.Add(20, tt.above)
			if rounded {
				h.Rounded()
			}
			var r Ranks
			r.Read(h, Fio3)
			bucket, _ := r.Percentile(99)
			return bucket
		}
		if p99(false) != tt.exact || p99(true) != tt.rounded {
			t.Errorf("%s: bucket %d, of rounded sums %d, want %d and %d", tt.name, p99(false), p99(true), tt.exact,
				tt.rounded)
		}
	}
}
