package kibanatest

import (
	"math"
	"time"
)

// Size describes the data of a cluster, as far as the memory of a search depends on it.
type Size struct {
	Values   map[string]int // number of distinct values of a field
	Shards   int            // months that a search without a time range touches
	Interval time.Duration
	Lowest   float64 // range of the values of percentiles aggregations
	Highest  float64
}

// HDR returns how many HdrHistogram structures a search holds at once on all shards together, and their bytes.
//
// Elasticsearch holds one for each non-empty bucket and percentiles aggregation with "hdr", however many percentiles
// that requests. A terms aggregation has a bucket for every matching value, or, if breadth_first defers its
// sub-aggregations, for those that a shard returns.
func (z Size) HDR(body M) (structures int, bytes float64) {
	return z.hdr(Obj(body, "aggs"), 1, z.Shards)
}

func (z Size) hdr(aggs M, buckets, shards int) (structures int, bytes float64) {
	for _, name := range sortedKeys(aggs) {
		agg := Obj(aggs, name)
		here, on := buckets, shards
		for _, kind := range sortedKeys(agg) {
			v := agg[kind]
			switch kind {
			case "terms":
				here *= z.terms(Obj(v), Obj(agg, "aggs"))
			case "date_histogram":
				here, on = here*z.timeBuckets(Obj(v)), 1 // a time bucket lies in one month
			case "histogram", "auto_date_histogram":
				here *= 1000
			case "filters":
				here *= len(Obj(v, "filters"))
			case "percentiles":
				if digits, ok := At(v, "hdr", "number_of_significant_value_digits").(float64); ok {
					structures += buckets * shards
					bytes += float64(buckets*shards) * z.structure(int(digits))
				}
			}
		}
		s, b := z.hdr(Obj(agg, "aggs"), here, on)
		structures, bytes = structures+s, bytes+b
	}
	return structures, bytes
}

func (z Size) terms(t, below M) int {
	all, known := z.Values[Str(t, "field")]
	if !known {
		all = 1000
	}
	size, ok := At(t, "size").(float64)
	if !ok {
		size = 10
	}
	returned, ok := At(t, "shard_size").(float64)
	if !ok {
		returned = size*1.5 + 10
	}
	if Str(t, "collect_mode") != "breadth_first" {
		return all
	}
	for by := range Obj(t, "order") {
		if At(below, by, "percentiles") != nil {
			return all // the aggregation that sorts is not deferred
		}
	}
	return min(all, int(returned))
}

// timeBuckets is the largest number of non-empty buckets over all time ranges that a user may choose.
func (z Size) timeBuckets(h M) int {
	most := 0
	n, auto := At(h, "interval", "%autointerval%").(float64)
	if !auto {
		return math.MaxInt16 // without a limit
	}
	for d := time.Second; d < 20*365*24*time.Hour; d += d/200 + time.Second {
		length := max(Length(RoundInterval(time.Duration(float64(d)/n))), z.Interval)
		most = max(most, int(math.Ceil(float64(d)/float64(length))))
	}
	return most
}

// structure is the size in bytes of a DoubleHistogram that covers Lowest to Highest (HdrHistogram/HdrHistogram
// src/main/java/org/HdrHistogram/AbstractHistogram.java: half of the sub-buckets for each doubling, 8 bytes each).
func (z Size) structure(digits int) float64 {
	doublings := math.Ceil(math.Log2(z.Highest/z.Lowest)) + 2
	return 8 * doublings * subBuckets(digits) / 2
}
