package fiohist

import "math"

const (
	pageBits = 6
	pageSize = 1 << pageBits
	maxPages = maxGroups
)

type page [pageSize]float64

// Hist is a histogram of float64 counts over bucket indices 0 to 2047. The zero
// value is empty and ready to use.
//
// Counts lie in pages of 64, made when first touched: a real record fills 50 to
// 300 of 1856 buckets, all in five to ten neighbouring groups, so this is a
// third of a dense array's memory at the same speed (a map was eight times
// slower to add to). A Hist must not be copied after first use.
type Hist struct {
	pages [maxPages]*page
}

// Add adds w I/Os to bucket i.
func (h *Hist) Add(i int, w float64) {
	p := h.pages[i>>pageBits]
	if p == nil {
		p = new(page)
		h.pages[i>>pageBits] = p
	}
	p[i&(pageSize-1)] += w
}

// AddHist adds all of o, which stays as it is. A nil o is empty.
func (h *Hist) AddHist(o *Hist) {
	if o == nil {
		return
	}
	for n, q := range o.pages {
		if q == nil {
			continue
		}
		p := h.pages[n]
		if p == nil {
			h.pages[n] = new(page)
			*h.pages[n] = *q
			continue
		}
		for i, w := range q {
			p[i] += w
		}
	}
}

// Count is the count of bucket i.
func (h *Hist) Count(i int) float64 {
	if p := h.pages[i>>pageBits]; p != nil {
		return p[i&(pageSize-1)]
	}
	return 0
}

// Each calls f for every bucket that is not 0, in ascending order.
func (h *Hist) Each(f func(i int, w float64)) {
	for n, p := range h.pages {
		if p == nil {
			continue
		}
		for i, w := range p {
			if w != 0 {
				f(n<<pageBits|i, w)
			}
		}
	}
}

// Sum is the number of I/Os, added up in ascending order of buckets so that it
// is the same wherever it is computed.
func (h *Hist) Sum() float64 {
	sum := 0.0
	for _, p := range h.pages {
		if p != nil {
			for _, w := range p {
				sum += w
			}
		}
	}
	return sum
}

// Empty says that no bucket was ever added to.
func (h *Hist) Empty() bool {
	for _, p := range h.pages {
		if p != nil {
			return false
		}
	}
	return true
}

// Limits are the smallest and the largest latency in ns that fio saw; they
// sharpen what a bucket's edges can say. The zero value knows nothing.
type Limits struct {
	Min, Max int64
	Known    bool
}

// Widen makes l cover o as well.
func (l Limits) Widen(o Limits) Limits {
	switch {
	case !o.Known:
		return l
	case !l.Known:
		return o
	}
	return Limits{Min: min(l.Min, o.Min), Max: max(l.Max, o.Max), Known: true}
}

func (l Limits) clamp(v float64) float64 {
	if !l.Known {
		return v
	}
	return min(max(v, float64(l.Min)), float64(l.Max))
}

// Stats are the statistics of a histogram, all in ns.
type Stats struct {
	Samples                float64
	Min, Max, Mean, StdDev float64
	// Percentiles are parallel to the percentiles asked for.
	Percentiles []float64
	// AtLeast are the indices, ascending, of percentiles that fell into the last
	// bucket: they are at least what is said, and how much more nobody knows.
	AtLeast []int
}

// tiny is the share of the whole that counts as float dust: shares of I/Os that
// add up to n p / 100 but for rounding must not push a percentile into the next bucket.
const tiny = 1e-9

// Empty says that there is no I/O in h beyond float dust.
func (s *Stats) Empty() bool { return !(s.Samples > tiny) }

// Stats computes the statistics of h on grid g for the wanted percentiles (0 to
// 100, any order).
//
// Percentile p of n I/Os lies in the first bucket at which the running sum
// reaches n p / 100, and is linear inside it; in the last bucket it is the lower
// edge; p0 is the lower edge of the first bucket that is not empty, p100 the
// upper edge of the last one. Min, Max and the percentiles are then clamped to
// the limits. Mean and standard deviation (of the population) are those of the
// bucket middles. All are 0 when the histogram is Empty.
func (h *Hist) Stats(g Geometry, wanted []float64, limits Limits) Stats {
	s := Stats{Samples: h.Sum(), Percentiles: make([]float64, len(wanted))}
	n := s.Samples
	if s.Empty() {
		return s
	}
	first, last, mean := -1, -1, 0.0
	h.Each(func(i int, w float64) {
		if first < 0 {
			first = i
		}
		last = i
		mean += w * g.Middle(i)
	})
	s.Mean = mean / n
	if first == last { // exactly, not but for rounding
		s.Mean = g.Middle(first)
	}
	variance := 0.0
	h.Each(func(i int, w float64) {
		d := g.Middle(i) - s.Mean
		variance += w * d * d
	})
	s.StdDev = math.Sqrt(variance / n)
	top := float64(g.Upper(last))
	if last == g.Last() {
		top = float64(g.Lower(last))
	}
	s.Min, s.Max = limits.clamp(float64(g.Lower(first))), limits.clamp(top)
	for k, p := range wanted {
		var v float64
		in := last
		switch {
		case p <= 0:
			in, v = first, float64(g.Lower(first))
		case p >= 100:
			v = top
		default:
			in, v = h.percentile(g, n, p, last)
		}
		if in == g.Last() {
			s.AtLeast = append(s.AtLeast, k)
		}
		s.Percentiles[k] = limits.clamp(v)
	}
	return s
}

// percentile finds the bucket of p (above 0, below 100) and the value inside it.
func (h *Hist) percentile(g Geometry, n, p float64, last int) (bucket int, value float64) {
	want, sum := n*p/100, 0.0
	for pg, q := range h.pages {
		if q == nil {
			continue
		}
		for i, c := range q {
			if c == 0 {
				continue
			}
			b := pg<<pageBits | i
			if sum+c >= want-tiny*n || b == last {
				lo, hi := float64(g.Lower(b)), float64(g.Upper(b))
				if b == g.Last() {
					return b, lo
				}
				return b, lo + min(max((want-sum)/c, 0), 1)*(hi-lo)
			}
			sum += c
		}
	}
	return last, float64(g.Lower(last))
}
