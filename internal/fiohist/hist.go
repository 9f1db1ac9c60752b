package fiohist

import (
	"math"
	"math/bits"
	"sort"
	"sync"
)

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
// slower to add to). Two thirds of a page are 0 all the same, so whoever reads goes
// by the bits of set. A Hist must not be copied after first use.
type Hist struct {
	pages   [maxPages]*page
	set     [maxPages]uint64 // by page: the buckets that were added to
	spare   []*page          // of anything
	made    int              // pages and spare pages
	*packed                  // instead of pages, or nil
}

// packed are the buckets that are not 0.
type packed struct {
	index []uint16
	n     []float64
}

// Pack returns a histogram of the same counts that takes as little memory as it can until
// something is added to it: 10 bytes a bucket that is not 0.
func (h *Hist) Pack() *Hist {
	filled := 0
	h.Each(func(int, float64) { filled++ })
	p := new(packed)
	p.index, p.n = h.Sparse(make([]uint16, 0, filled), make([]float64, 0, filled))
	return &Hist{packed: p}
}

// Packed says that h is as Pack made it.
func (h *Hist) Packed() bool { return h.packed != nil }

// unpack makes pages.
func (h *Hist) unpack() {
	if p := h.packed; p != nil {
		h.packed = nil
		h.AddAll(p.index, p.n, 0, 1)
	}
}

// Reset makes h empty and keeps its memory.
func (h *Hist) Reset() {
	for n, p := range h.pages {
		if p != nil {
			h.spare = append(h.spare, p)
			h.pages[n] = nil
		}
	}
	clear(h.set[:])
	h.packed = nil
}

// open makes page n, which is not there, of anything: memory that is new must be written
// to first, not read, or there are two page faults for one, and the second interrupts all
// other cores.
func (h *Hist) open(n int) *page {
	if len(h.spare) == 0 {
		h.more(max(h.made/4, 1))
	}
	last := len(h.spare) - 1
	p := h.spare[last]
	h.pages[n], h.spare = p, h.spare[:last]
	return p
}

// more makes n more pages, at once: objects of 512 bytes are a burden to the collector.
func (h *Hist) more(n int) {
	more := make([]page, min(n, maxPages-h.made))
	h.made += len(more)
	for i := range more {
		h.spare = append(h.spare, &more[i])
	}
}

// page is page n.
func (h *Hist) page(n int) *page {
	if p := h.pages[n]; p != nil {
		return p
	}
	p := h.open(n)
	clear(p[:])
	return p
}

// Add adds w I/Os to bucket i.
func (h *Hist) Add(i int, w float64) {
	h.unpack()
	h.page(i >> pageBits)[i&(pageSize-1)] += w
	h.set[i>>pageBits] |= 1 << (i & (pageSize - 1))
}

// AddAll adds n[k] times share to bucket index[k] >> shift, for all k.
func (h *Hist) AddAll(index []uint16, n []float64, shift int, share float64) {
	if len(index) == 0 {
		return
	}
	h.unpack()
	at, set := int(index[0])>>shift>>pageBits, uint64(0) // set in memory would be waited for
	// No more pages than that, for new memory costs more than adding up: what comes next will look like this.
	if h.made == 0 {
		pages, before := 1, at
		for _, i := range index {
			if i := int(i) >> shift >> pageBits; i != before {
				before = i
				pages++
			}
		}
		h.more(pages)
	}
	p := h.page(at)
	for k, w := range n[:len(index)] {
		i := int(index[k]) >> shift
		if i>>pageBits != at {
			h.set[at] |= set
			at, set = i>>pageBits, 0
			p = h.page(at)
		}
		p[i&(pageSize-1)] += w * share
		set |= 1 << (i & (pageSize - 1))
	}
	h.set[at] |= set
}

// AddHist adds all of o, which stays as it is. A nil o is empty.
func (h *Hist) AddHist(o *Hist) {
	if o == nil {
		return
	}
	if o.packed != nil {
		h.AddAll(o.index, o.n, 0, 1)
		return
	}
	h.unpack()
	if h.made == 0 {
		h.more(o.made - len(o.spare))
	}
	for n, q := range o.pages {
		if q == nil {
			continue
		}
		h.set[n] |= o.set[n]
		p := h.pages[n]
		if p == nil {
			*h.open(n) = *q
			continue
		}
		p.add(q)
	}
}

// addEach adds q to p, on any processor.
func (p *page) addEach(q *page) {
	for i, w := range q {
		p[i] += w
	}
}

// Count is the count of bucket i.
func (h *Hist) Count(i int) float64 {
	h.unpack()
	if p := h.pages[i>>pageBits]; p != nil {
		return p[i&(pageSize-1)]
	}
	return 0
}

// Each calls f for every bucket that is not 0, in ascending order.
func (h *Hist) Each(f func(i int, w float64)) {
	if h.packed != nil {
		for k, i := range h.index {
			f(int(i), h.n[k])
		}
		return
	}
	for n, set := range h.set {
		for p := h.pages[n]; set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			if w := p[i]; w != 0 {
				f(n<<pageBits|i, w)
			}
		}
	}
}

// Sparse appends the buckets that Each tells of to index, and their counts to n.
func (h *Hist) Sparse(index []uint16, n []float64) ([]uint16, []float64) {
	if h.packed != nil {
		return append(index, h.index...), append(n, h.n...)
	}
	for pg, set := range h.set {
		for p := h.pages[pg]; set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			if w := p[i&(pageSize-1)]; w != 0 {
				index, n = append(index, uint16(pg<<pageBits|i)), append(n, w)
			}
		}
	}
	return index, n
}

// Sum is the number of I/Os, added up in ascending order of buckets so that it
// is the same wherever it is computed.
func (h *Hist) Sum() float64 {
	sum := 0.0
	h.Each(func(_ int, w float64) { sum += w })
	return sum
}

// Empty says that no bucket was ever added to.
func (h *Hist) Empty() bool {
	for _, p := range h.pages {
		if p != nil {
			return false
		}
	}
	return h.packed == nil || len(h.index) == 0
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
	// Lower and Upper are the 95 % confidence limits of each percentile, NoLimit
	// where there is none. They say how far the percentile of so few I/Os can be from
	// that of the process they came from, if they are independent of each other.
	Lower, Upper []float64
	// AtLeast are the indices, ascending, of percentiles that fell into the last
	// bucket: they are at least what is said, and how much more nobody knows.
	AtLeast []int
}

// NoLimit stands for a confidence limit that does not exist: the I/Os are too few
// to have one, or it lies in the last bucket, which has no upper edge.
const NoLimit = -1

// z95 is how many standard deviations of the normal distribution hold 95 % of it.
const z95 = 1.96

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
// bucket middles.
//
// The confidence limits are order statistics, which assume nothing about how
// latencies are distributed: how many of n I/Os are below the true percentile is
// binomial, so with q = p / 100 the I/Os of ranks n q -+ 1.96 sqrt(n q (1-q)),
// rounded outward, enclose it in 95 of 100 cases (e.g. Conover, Practical
// Nonparametric Statistics, 3.2). Lower is the lower edge of the bucket with the
// lower of them, Upper the upper edge of that with the upper; there is no Lower
// where its rank is below 1, and no Upper where its rank exceeds n, nor of p100.
//
// All are 0, and there are no confidence limits, when the histogram is Empty.
func (h *Hist) Stats(g Geometry, wanted []float64, limits Limits) Stats {
	k := len(wanted)
	values := make([]float64, 3*k)
	s := Stats{Percentiles: values[:k:k], Lower: values[k : 2*k : 2*k], Upper: values[2*k:]}
	for i := range wanted {
		s.Lower[i], s.Upper[i] = NoLimit, NoLimit
	}
	r := scratch.Get().(*ranks)
	defer scratch.Put(r)
	middles := g.middles()
	mean := r.load(h, middles)
	s.Samples = r.n
	n := r.n
	if s.Empty() {
		return s
	}
	first, last := int(r.bucket[0]), int(r.bucket[len(r.bucket)-1])
	s.Mean = mean / n
	if first == last { // exactly, not but for rounding
		s.Mean = middles[first]
	}
	variance := 0.0
	for k, i := range r.bucket {
		d := middles[i] - s.Mean
		variance += r.count[k] * d * d
	}
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
			in, v = r.percentile(g, p)
		}
		if in == g.Last() {
			s.AtLeast = append(s.AtLeast, k)
		}
		s.Percentiles[k] = limits.clamp(v)
		s.Lower[k], s.Upper[k] = r.limits(g, min(max(p, 0), 100)/100)
	}
	return s
}

// ranks finds the buckets of ranks in a histogram.
type ranks struct {
	n      float64
	bucket []uint16 // those that are not 0
	count  []float64
	upTo   []float64 // running sum up to each of them, itself included
}

// scratch is memory that Stats uses again.
var scratch = sync.Pool{New: func() any { return new(ranks) }}

// load adds the histogram up, in the order of Sum, and the latency of its I/Os.
func (r *ranks) load(h *Hist, middles []float64) (latency float64) {
	r.bucket, r.count = h.Sparse(r.bucket[:0], r.count[:0])
	r.upTo = r.upTo[:0]
	n := 0.0
	for k, w := range r.count {
		n += w
		r.upTo = append(r.upTo, n)
		latency += w * middles[r.bucket[k]]
	}
	r.n = n
	return latency
}

// find is the first bucket at which the running sum reaches want, to within float
// dust, the I/Os in it, and the running sum before it.
func (r *ranks) find(want float64) (bucket int, count, before float64) {
	want -= tiny * r.n
	k := min(sort.SearchFloat64s(r.upTo, want), len(r.upTo)-1)
	if k > 0 {
		before = r.upTo[k-1]
	}
	return int(r.bucket[k]), r.count[k], before
}

// percentile is the bucket of p (above 0, below 100) and the value inside it.
func (r *ranks) percentile(g Geometry, p float64) (bucket int, value float64) {
	want := r.n * p / 100
	b, count, before := r.find(want)
	lo, hi := float64(g.Lower(b)), float64(g.Upper(b))
	if b == g.Last() {
		return b, lo
	}
	return b, lo + min(max((want-before)/count, 0), 1)*(hi-lo)
}

// limits are the confidence limits of the quantile q.
func (r *ranks) limits(g Geometry, q float64) (lower, upper float64) {
	lower, upper = NoLimit, NoLimit
	mid, spread := r.n*q, z95*math.Sqrt(r.n*q*(1-q))
	if rank := math.Floor(mid - spread + tiny*r.n); rank >= 1 {
		b, _, _ := r.find(rank)
		lower = float64(g.Lower(b))
	}
	if rank := mid + spread; rank <= r.n*(1+tiny) && q < 1 {
		if b, _, _ := r.find(min(math.Ceil(rank-tiny*r.n), r.n)); b != g.Last() {
			upper = float64(g.Upper(b))
		}
	}
	return lower, upper
}
