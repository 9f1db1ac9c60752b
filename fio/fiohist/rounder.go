package fiohist

import (
	"math"
	"slices"
)

// Remainder is what rounding the histograms of a series has left over so far: by bucket, ascending, the exact sum
// less the whole counts, between -1 and 1 and never 0.
type Remainder struct {
	index []uint16
	over  []float64
}

const (
	// nearWhole is the distance from a whole number within which a sum of shares of whole I/Os counts as whole.
	nearWhole = 1e-6
	// choices is how many candidate running sums, one I/O apart, a Rounder keeps at each bucket edge.
	choices = 6
)

// Misses are the exact sum less the whole counts below each bucket's edge, by column, over the histograms of one
// quantum that were rounded so far: 0 before the first.
type Misses []float64

// Rounder turns weights into whole counts that are at least 0. Over a series of histograms each bucket's counts add
// up to its exact sum, rounded down or up; where that is whole, as at the end of a log, they are exact. Among all
// such counts it takes those with the smallest sum of squares, at the bucket edges, of two errors of the running sum:
// that over the series, and that over the histograms of one quantum. So neither the sum over time nor that over leaves
// drifts (error diffusion in two dimensions).
type Rounder struct {
	Index  []uint16 // of the buckets with a weight or a remainder, ascending
	Counts []int64  // parallel to Index
	value  []float64
	rest   []float64 // the part of value that was left over before
	shift  []float64 // of the best running sum at each bucket, from the exact one of the series
	path   []step    // one step per bucket that may be rounded up, to trace the best choice back
}

// step is one bucket in the search for the best choice. Choice k has low+k I/Os rounded up so far.
type step struct {
	at  int32 // in value
	low int32
	up  uint8 // bit k: choice k rounds this bucket up
}

// Round rounds the weights of a histogram. r is what was left over before it and, on return, what is left over after
// it; so are m the misses of the quantum, nil if there are no other histograms.
func (o *Rounder) Round(index []uint16, weight []float64, r *Remainder, m Misses) {
	o.add(index, weight, r)
	o.aim(m)
	o.Counts = slices.Grow(o.Counts[:0], len(o.value))[:len(o.value)]
	o.path = o.path[:0]
	// ck is the smallest sum of squares so far with low+k I/Os rounded up; sum is the running sum less the whole
	// parts. Six variables stay in registers, an array would not. min and less avoid unpredictable branches.
	inf := math.Inf(1)
	c0, c1, c2, c3, c4, c5 := 0.0, inf, inf, inf, inf, inf
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
			whole, part = 0, o.value[i] // rounded up earlier: no choice
		}
		o.Counts[i] = int64(whole)
		sum += part
		if part > 0 {
			s := step{at: int32(i), low: low, up: less(c0, c1)<<1 | less(c1, c2)<<2 | less(c2, c3)<<3 |
				less(c3, c4)<<4 | less(c4, c5)<<5}
			if sum-float64(low) >= choices/2 { // move the window of choices up by one I/O
				low++
				s.up |= 1 << choices
				c0, c1, c2, c3, c4 = min(c0, c1), min(c1, c2), min(c2, c3), min(c3, c4), min(c4, c5)
			} else {
				c1, c2, c3, c4, c5 = min(c0, c1), min(c1, c2), min(c2, c3), min(c3, c4), min(c4, c5)
			}
			o.path = append(o.path, s)
		}
		// The conversions keep squares from being fused with sums, for the same result on all processors.
		m0 := sum + o.shift[i] - float64(low)
		m1, m2, m3, m4, m5 := m0-1, m0-2, m0-3, m0-4, m0-5
		c0, c1, c2 = c0+float64(m0*m0), c1+float64(m1*m1), c2+float64(m2*m2)
		c3, c4, c5 = c3+float64(m3*m3), c4+float64(m4*m4), c5+float64(m5*m5)
	}
	best, cost := 0, c0
	for k, c := range [choices]float64{c0, c1, c2, c3, c4, c5} {
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
	o.miss(m)
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

// aim finds by how much the best running sum is shifted where the errors of the series and of the quantum count alike:
// by half of what the quantum misses more, in the mean over the edges up to the next bucket.
func (o *Rounder) aim(m Misses) {
	o.shift = slices.Grow(o.shift[:0], len(o.value))[:len(o.value)]
	clear(o.shift)
	if m == nil {
		return
	}
	over := 0.0
	for i := range o.Index {
		over += o.rest[i]
		edges, sum := o.edges(m, i), 0.0
		for _, v := range edges {
			sum += v
		}
		o.shift[i] = (sum/float64(len(edges)) - over) / 2
	}
}

// miss adds what this histogram misses to the quantum's misses.
func (o *Rounder) miss(m Misses) {
	if m == nil {
		return
	}
	below := 0.0
	for i := range o.Index {
		below += o.value[i] - float64(o.Counts[i])
		below -= o.rest[i]
		edges := o.edges(m, i)
		for j := range edges {
			edges[j] += below
		}
	}
}

// edges returns the misses from the edge of the i-th bucket on, up to that of the next one.
func (o *Rounder) edges(m Misses, i int) Misses {
	if i+1 == len(o.Index) {
		return m[o.Index[i]:]
	}
	return m[o.Index[i]:o.Index[i+1]]
}

func less(a, b float64) (one uint8) {
	if a < b {
		one = 1
	}
	return one
}

// add merges the weights of a histogram with what was left over before it.
func (o *Rounder) add(index []uint16, weight []float64, r *Remainder) {
	most := len(index) + len(r.index)
	o.Index, o.value, o.rest = slices.Grow(o.Index[:0], most), slices.Grow(o.value[:0], most),
		slices.Grow(o.rest[:0], most)
	one := func(i uint16, w, rest float64) {
		o.Index, o.value, o.rest = append(o.Index, i), append(o.value, w+rest), append(o.rest, rest)
	}
	k := 0
	for n, i := range index {
		for ; k < len(r.index) && r.index[k] < i; k++ {
			one(r.index[k], 0, r.over[k])
		}
		rest := 0.0
		if k < len(r.index) && r.index[k] == i {
			rest = r.over[k]
			k++
		}
		one(i, weight[n], rest)
	}
	for ; k < len(r.index); k++ {
		one(r.index[k], 0, r.over[k])
	}
}
