package fiohist

import (
	"math"
	"slices"
)

// Remainder is what rounding the histograms of a series so far left over: by bucket, in ascending order, its I/Os less
// the whole counts, between -1 and 1 and never 0.
type Remainder struct {
	index []uint16
	over  []float64
}

const (
	// nearWhole is how far from a whole number of I/Os the sum of shares of whole I/Os may lie.
	nearWhole = 1e-6
	// choices are how many running sums, one I/O apart, a Rounder compares at an edge.
	choices = 4
)

// Rounder makes whole counts of weights. The counts are at least 0; each bucket's sum over
// all histograms of a series is its exact sum rounded down or up, so it is exact where that is
// whole, as it is when a log has been read to its end. Among all such counts it takes those
// whose errors below the edges of the buckets have the smallest sum of squares.
type Rounder struct {
	Index  []uint16 // of the buckets with a weight or a remainder, ascending
	Counts []int64  // parallel to Index
	value  []float64
	path   []step // of those that may be rounded up: how each choice was come to
}

// step is one bucket of the way. Choices are numbered by the I/Os rounded up before them,
// from low on.
type step struct {
	at  int32 // in value
	low int32
	up  uint8 // by choice: this bucket is rounded up
}

// Round takes the weights of a histogram, and what was left over before it; r is left with
// what is left over after it.
func (o *Rounder) Round(index []uint16, weight []float64, r *Remainder) {
	o.add(index, weight, r)
	r.index, r.over = r.index[:0], r.over[:0]
	o.Counts = slices.Grow(o.Counts[:0], len(o.value))[:len(o.value)]
	o.path = o.path[:0]
	// cost is the smallest sum of squares so far by how many I/Os are rounded up: low, low+1,
	// low+2, low+3. sum is the exact running sum less what is whole anyway.
	cost := [choices]float64{0, math.Inf(1), math.Inf(1), math.Inf(1)}
	low, sum := int32(0), 0.0
	for i, v := range o.value {
		whole := math.Floor(v)
		if near := math.Round(v); math.Abs(v-near) < nearWhole {
			whole, v = near, near
			o.value[i] = v
		}
		if v < 0 {
			whole = 0 // rounded up earlier: nothing to choose
		}
		o.Counts[i] = int64(whole)
		part := v - whole
		sum += part
		if part > 0 {
			c, s := cost, step{at: int32(i), low: low}
			for k := 1; k < choices; k++ {
				if c[k-1] < c[k] {
					cost[k] = c[k-1]
					s.up |= 1 << k
				}
			}
			if sum-float64(low) >= choices/2 { // one more comes into reach, and one is too far off
				low++
				cost = [choices]float64{cost[1], cost[2], cost[3], c[3]}
				s.up |= 1 << choices
			}
			o.path = append(o.path, s)
		}
		for k := range cost {
			miss := sum - float64(low+int32(k))
			cost[k] += float64(miss * miss) // not fused with the sum: the same on all processors
		}
	}
	best := 0
	for k := range cost {
		if cost[k] < cost[best] {
			best = k
		}
	}
	at := low + int32(best)
	for _, s := range slices.Backward(o.path) {
		if s.up&(1<<(at-s.low)) != 0 {
			o.Counts[s.at]++
			at--
		}
	}
	for i, v := range o.value {
		if over := v - float64(o.Counts[i]); over != 0 {
			r.index, r.over = append(r.index, o.Index[i]), append(r.over, over)
		}
	}
}

// add adds the weights of a histogram to what was left over before it.
func (o *Rounder) add(index []uint16, weight []float64, r *Remainder) {
	o.Index, o.value = o.Index[:0], o.value[:0]
	k := 0
	for n, i := range index {
		for ; k < len(r.index) && r.index[k] < i; k++ {
			o.Index, o.value = append(o.Index, r.index[k]), append(o.value, r.over[k])
		}
		w := weight[n]
		if k < len(r.index) && r.index[k] == i {
			w += r.over[k]
			k++
		}
		o.Index, o.value = append(o.Index, i), append(o.value, w)
	}
	o.Index, o.value = append(o.Index, r.index[k:]...), append(o.value, r.over[k:]...)
}
