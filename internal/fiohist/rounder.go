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
	o.Counts = slices.Grow(o.Counts[:0], len(o.value))[:len(o.value)]
	o.path = o.path[:0]
	// Each cost is the smallest sum of squares so far if low, low+1, low+2 or low+3 I/Os are rounded up; sum is the
	// exact running sum less what is whole anyway. An array would stay in memory, and no branch could be predicted.
	c0, c1, c2, c3 := 0.0, math.Inf(1), math.Inf(1), math.Inf(1)
	low, sum := int32(0), 0.0
	for i, v := range o.value {
		whole := math.Floor(v)
		part := v - whole
		if 1-part < nearWhole {
			whole, part = whole+1, 0
			o.value[i] = whole
		} else if part < nearWhole {
			part = 0
			o.value[i] = whole
		}
		if whole < 0 {
			whole, part = 0, o.value[i] // rounded up earlier: nothing to choose
		}
		o.Counts[i] = int64(whole)
		sum += part
		if part > 0 {
			s := step{at: int32(i), low: low, up: less(c0, c1)<<1 | less(c1, c2)<<2 | less(c2, c3)<<3}
			if sum-float64(low) >= choices/2 { // one more comes into reach, and one is too far off
				low++
				s.up |= 1 << choices
				c0, c1, c2 = min(c0, c1), min(c1, c2), min(c2, c3)
			} else {
				c1, c2, c3 = min(c0, c1), min(c1, c2), min(c2, c3)
			}
			o.path = append(o.path, s)
		}
		// Squares are not fused with sums: the same on all processors.
		m0, m1, m2, m3 := sum-float64(low), sum-float64(low+1), sum-float64(low+2), sum-float64(low+3)
		c0, c1, c2, c3 = c0+float64(m0*m0), c1+float64(m1*m1), c2+float64(m2*m2), c3+float64(m3*m3)
	}
	best, cost := 0, c0
	for k, c := range [choices]float64{c0, c1, c2, c3} {
		if c < cost {
			best, cost = k, c
		}
	}
	at := low + int32(best)
	for k := len(o.path) - 1; k >= 0; k-- {
		s := &o.path[k]
		up := int32(s.up>>((at-s.low)&7)) & 1
		o.Counts[s.at] += int64(up)
		at -= up
	}
	most := len(o.value)
	r.index, r.over = slices.Grow(r.index[:0], most)[:most], slices.Grow(r.over[:0], most)[:most]
	left := 0
	for i, v := range o.value {
		if over := v - float64(o.Counts[i]); over != 0 {
			r.index[left], r.over[left] = o.Index[i], over
			left++
		}
	}
	r.index, r.over = r.index[:left], r.over[:left]
}

func less(a, b float64) (one uint8) {
	if a < b {
		one = 1
	}
	return one
}

// add adds the weights of a histogram to what was left over before it.
func (o *Rounder) add(index []uint16, weight []float64, r *Remainder) {
	most := len(index) + len(r.index)
	o.Index, o.value = slices.Grow(o.Index[:0], most), slices.Grow(o.value[:0], most)
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
