package kibanatest

import (
	"maps"
	"math"
	"slices"
)

// HDR models the structure of Elasticsearch's percentiles aggregation with "hdr": HdrHistogram's auto-ranging
// DoubleHistogram (elastic/elasticsearch x-pack/plugin/analytics/src/main/java/org/elasticsearch/xpack/analytics/
// aggregations/metrics/AbstractHistoBackedHDRPercentilesAggregator.java; HdrHistogram/HdrHistogram 2.1.9
// src/main/java/org/HdrHistogram/{DoubleHistogram,AbstractHistogram}.java).
type HDR struct {
	perDoubling float64           // buckets of equal width between 2^n and 2^(n+1)
	counts      map[float64]int64 // by the lower edge of the bucket
	lowest      float64           // the smallest value above 0
	total       int64
}

// NewHDR returns an empty structure with 1 to 5 significant digits.
func NewHDR(digits int) *HDR {
	return &HDR{subBuckets(digits) / 2, map[float64]int64{}, math.Inf(1), 0}
}

// subBuckets is the smallest power of two that is at least 2*10^digits.
func subBuckets(digits int) float64 { return math.Exp2(math.Ceil(math.Log2(2 * math.Pow10(digits)))) }

// Add records a value n times. The value must not be negative.
func (h *HDR) Add(value float64, n int64) {
	if value > 0 && n > 0 {
		h.lowest = min(h.lowest, value)
	}
	h.total += n
	if n > 0 {
		h.counts[math.Floor(value/h.width(value))*h.width(value)] += n
	}
}

func (h *HDR) width(value float64) float64 {
	if value == 0 {
		return 1
	}
	return math.Exp2(math.Floor(math.Log2(value))) / h.perDoubling
}

// Percentile returns a percentile of 0 to 100, false if there are no values. Its rank is rounded to the nearest whole
// number. The result is the upper edge of the bucket at that rank, less the width of the finest bucket.
func (h *HDR) Percentile(p float64) (float64, bool) {
	if h.total == 0 {
		return 0, false
	}
	rank, seen := max(int64(p/100*float64(h.total)+0.5), 1), int64(0)
	for _, edge := range slices.Sorted(maps.Keys(h.counts)) {
		seen += h.counts[edge]
		if seen >= rank {
			if edge == 0 {
				return 0, true
			}
			return edge + h.width(edge) - h.width(h.lowest), true
		}
	}
	return math.NaN(), true
}
