package fiohist

import "testing"

// TestWithinLimits: percentiles that are cut to the whole I/Os of a row stay within their confidence limits.
func TestWithinLimits(t *testing.T) {
	g := Fio3
	h := new(Hist)
	// Of slow I/Os there are parts only.
	for b, n := range map[int]float64{60: 150, 81: 40, 300: 0.4, 400: 0.4, 500: 0.4, 600: 0.4, 700: 0.4, 800: 0.4} {
		h.Add(b, n)
	}
	s := h.Stats(g, []float64{50, 90, 99, 99.9}, Limits{})
	low, high, ok := h.Whole(new(Hist))
	if s.Within(g, low, high, Limits{}); !ok || s.Max != float64(g.Upper(81)) {
		t.Fatalf("%v %v: max %v", low, high, s.Max)
	}
	for k, v := range s.Percentiles {
		if s.Lower[k] > v || s.Upper[k] != NoLimit && s.Upper[k] < v || v > s.Max {
			t.Errorf("percentile %d: %v in [%v, %v], max %v", k, v, s.Lower[k], s.Upper[k], s.Max)
		}
	}
}
