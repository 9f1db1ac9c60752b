package kibanatest

import (
	"slices"
	"testing"
)

// The answers are those of Elasticsearch 8.19.0 to a percentiles aggregation with "hdr" over a field of type double
// with these values.
func TestHDRAnswersAsElasticsearch(t *testing.T) {
	values := []float64{100, 150, 1000, 1003, 5000, 77777, 123456, 999999, 1e7, 3}
	for digits, want := range map[int]map[float64]float64{
		2: {10: 3, 14: 3, 15: 100.484375, 25: 150.984375, 30: 150.984375, 40: 1003.984375, 50: 1003.984375,
			60: 5023.984375,
			70: 77823.984375, 80: 123903.984375, 90: 1003519.984375, 100: 10027007.984375},
		3: {10: 3, 20: 100.060546875, 25: 150.123046875, 40: 1000.498046875, 50: 1003.498046875, 60: 5003.998046875,
			70: 77823.998046875, 80: 123519.998046875, 90: 1000447.998046875, 95: 10002431.998046875},
	} {
		for _, order := range []string{"as given", "reversed"} {
			h := NewHDR(digits)
			for _, v := range values {
				h.Add(v, 1)
			}
			for p, v := range want {
				if got, ok := h.Percentile(p); !ok || got != v {
					t.Errorf("%d digits, %s: p%v is %v, want %v", digits, order, p, got, v)
				}
			}
			slices.Reverse(values)
		}
	}
	if _, ok := NewHDR(2).Percentile(50); ok {
		t.Error("an answer without a value")
	}
}
