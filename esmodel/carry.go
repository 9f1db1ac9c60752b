package esmodel

import (
	"fmt"
	"math"
	"slices"

	"fiolat/internal/fiohist"
)

// rest is what the documents of a leaf so far leave over: by bucket, in ascending order,
// its I/Os less those that latency.histogram was given, between -1 and 1 and never 0.
type rest struct {
	index []uint16
	over  []float64
}

const (
	// dust is how far from a whole number of I/Os the sum of shares of whole I/Os may lie.
	dust = 1e-6
	// choices are how many running sums, one I/O apart, a rounder compares at an edge.
	choices = 4
)

// rounder makes whole counts of weights. The counts are at least 0; each bucket's sum over
// all documents of a leaf is its exact sum rounded down or up, so it is exact where that is
// whole, as it is when a log has been read to its end. Among all such counts it takes those
// whose errors below the edges of the buckets have the smallest sum of squares.
type rounder struct {
	index  []uint16 // of the buckets with a weight or a rest
	value  []float64
	counts []int64
	path   []step // of those that may be rounded up: how each choice was come to
}

// step is one bucket of the way. Choices are numbered by the I/Os rounded up before them,
// from low on.
type step struct {
	at  int32 // in value
	low int32
	up  uint8 // by choice: this bucket is rounded up
}

// round takes the weights of a document, and what was left over before it; r is left with
// what is left over after it. The counts are those of rounder.index.
func (o *rounder) round(index []uint16, weight []float64, r *rest) {
	o.add(index, weight, r)
	r.index, r.over = r.index[:0], r.over[:0]
	o.counts = slices.Grow(o.counts[:0], len(o.value))[:len(o.value)]
	o.path = o.path[:0]
	// cost is the smallest sum of squares so far by how many I/Os are rounded up: low, low+1,
	// low+2, low+3. sum is the exact running sum less what is whole anyway.
	cost := [choices]float64{0, math.Inf(1), math.Inf(1), math.Inf(1)}
	low, sum := int32(0), 0.0
	for i, v := range o.value {
		whole := math.Floor(v)
		if near := math.Round(v); math.Abs(v-near) < dust {
			whole, v = near, near
			o.value[i] = v
		}
		if v < 0 {
			whole = 0 // rounded up earlier: nothing to choose
		}
		o.counts[i] = int64(whole)
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
			o.counts[s.at]++
			at--
		}
	}
	for i, v := range o.value {
		if over := v - float64(o.counts[i]); over != 0 {
			r.index, r.over = append(r.index, o.index[i]), append(r.over, over)
		}
	}
}

// add adds the weights of a document to what was left over before it.
func (o *rounder) add(index []uint16, weight []float64, r *rest) {
	o.index, o.value = o.index[:0], o.value[:0]
	k := 0
	for n, i := range index {
		for ; k < len(r.index) && r.index[k] < i; k++ {
			o.index, o.value = append(o.index, r.index[k]), append(o.value, r.over[k])
		}
		w := weight[n]
		if k < len(r.index) && r.index[k] == i {
			w += r.over[k]
			k++
		}
		o.index, o.value = append(o.index, i), append(o.value, w)
	}
	o.index, o.value = append(o.index, r.index[k:]...), append(o.value, r.over[k:]...)
}

// count prepares what histogram appends, and returns the I/Os in h, exact and rounded. The
// rest of the leaf is carried on; without one h is rounded for itself.
func (e *Encoder) count(h *fiohist.Hist, leaf *rest) (sum float64, whole int64, err error) {
	e.index, e.exact = h.Sparse(e.index[:0], e.exact[:0])
	for _, w := range e.exact {
		sum += w
	}
	if !(sum >= 0 && sum < math.MaxInt64/2) {
		return sum, 0, fmt.Errorf("%w: %v", errNotFinite, sum)
	}
	if leaf == nil {
		leaf = new(rest)
	}
	e.whole.round(e.index, e.exact, leaf)
	for _, n := range e.whole.counts {
		whole += n
	}
	return sum, whole, nil
}
