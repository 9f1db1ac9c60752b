package fiohist

import "slices"

// Sparse is a histogram as two parallel lists: the non-empty buckets, ascending, and their counts. Counts are
// fractions once a record has been split.
type Sparse struct {
	Index []uint16  `json:"index"`
	Count []float64 `json:"count"`
}

// Reset empties c and keeps its memory.
func (c *Sparse) Reset() { c.Index, c.Count = c.Index[:0], c.Count[:0] }

// Set makes c equal to h, reusing its memory.
func (c *Sparse) Set(h *Hist) { c.Index, c.Count = h.Sparse(c.Index[:0], c.Count[:0]) }

// Hist returns a packed histogram that shares the memory of c.
func (c *Sparse) Hist() *Hist { return &Hist{packed: &packed{index: c.Index, n: c.Count}} }

// Sum is the number of I/Os.
func (c *Sparse) Sum() float64 {
	sum := 0.0
	for _, n := range c.Count {
		sum += n
	}
	return sum
}

// Add appends a bucket, which must be above all others.
func (c *Sparse) Add(bucket uint16, n float64) {
	c.Index, c.Count = append(c.Index, bucket), append(c.Count, n)
}

// Share sets c to what lies of o between two shares, in whole parts. Those of successive shares from 0 to 1 add up to
// o. c must not be o.
func (c *Sparse) Share(o *Sparse, before, upTo float64) {
	c.Reset()
	for k, b := range o.Index {
		if n := Share(o.Count[k], before, upTo); n > 0 {
			c.Add(b, n)
		}
	}
}

// Split appends to one a single I/O that is shared over the buckets of c, in proportion to their counts and in whole
// parts, and what is left to rest.
func (c *Sparse) Split(rest, one *Sparse) {
	total, sum, given := c.Sum(), 0.0, 0.0
	for k, b := range c.Index {
		sum += c.Count[k]
		n := min(parts(sum/total)-given, c.Count[k])
		given += n
		if n > 0 {
			one.Add(b, n)
		}
		if left := c.Count[k] - n; left > 0 {
			rest.Add(b, left)
		}
	}
}

// Drop removes the given buckets, which must be ascending.
func (c *Sparse) Drop(buckets []uint16) {
	kept := 0
	for i, b := range c.Index {
		if _, found := slices.BinarySearch(buckets, b); !found {
			c.Index[kept], c.Count[kept] = b, c.Count[i]
			kept++
		}
	}
	c.Index, c.Count = c.Index[:kept], c.Count[:kept]
}

// Copy makes c equal to o.
func (c *Sparse) Copy(o *Sparse) {
	c.Index, c.Count = append(c.Index[:0], o.Index...), append(c.Count[:0], o.Count...)
}

// Clone returns a copy with its own memory.
func (c *Sparse) Clone() Sparse {
	return Sparse{slices.Clone(c.Index), slices.Clone(c.Count)}
}

// Plus returns c + f*o without the buckets that cancel out.
func (c *Sparse) Plus(o *Sparse, f float64) (out Sparse) {
	out.Combine(c, o, f)
	return out
}

// Combine sets c to a + f*b without the buckets that cancel out. c must be neither a nor b.
func (c *Sparse) Combine(a, b *Sparse, f float64) {
	c.Reset()
	c.Index, c.Count = slices.Grow(c.Index, len(a.Index)+len(b.Index)), slices.Grow(c.Count, len(a.Count)+len(b.Count))
	i, j := 0, 0
	for i < len(a.Index) || j < len(b.Index) {
		switch {
		case j == len(b.Index) || i < len(a.Index) && a.Index[i] < b.Index[j]:
			c.Add(a.Index[i], a.Count[i])
			i++
		case i == len(a.Index) || b.Index[j] < a.Index[i]:
			c.Add(b.Index[j], f*b.Count[j])
			j++
		default:
			if n := a.Count[i] + f*b.Count[j]; n != 0 {
				c.Add(a.Index[i], n)
			}
			i++
			j++
		}
	}
}
