package fiohist

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"
	"unsafe"

	"fiolat/fio"
)

const (
	pageBits = 6
	pageSize = 1 << pageBits
	maxPages = maxGroups
)

// Parts is into how many parts an I/O is divided where it is shared: over intervals, buckets or logs. Sums of whole
// parts are exact in float64 up to 2^33 I/Os, whatever their order.
const Parts = 1 << 20

// Share returns what lies of so many I/Os between two shares, in whole parts. Those of successive shares from 0 to 1
// add up to all.
func Share(ios, before, upTo float64) float64 { return parts(ios*upTo) - parts(ios*before) }

// parts returns so many I/Os, 0 or more, in whole parts.
func parts(ios float64) float64 {
	// A sum with this has no bits for less than a part.
	const rounds = 1.5 * (1 << 52) / Parts
	if ios < 1<<31 {
		return float64(ios) + rounds - rounds
	}
	return math.Floor(ios*Parts+0.5) / Parts
}

type page [pageSize]float64

// Hist is a histogram of float64 counts over bucket indices 0 to 2047. The zero value is empty and ready to use.
//
// Counts are in pages of 64 that are allocated on first use, since a real record fills only a few neighbouring
// groups of buckets. Readers iterate over the bits of set, since most counts of a page are 0. A Hist must not be
// copied after first use.
type Hist struct {
	pages   [maxPages]*page
	set     [maxPages]uint64 // per page, a bit for each bucket that was added to
	spare   []*page          // contents undefined
	made    int              // number of pages in use and spare
	rounded float64          // number of histograms in it whose counts are rounded; see Rounded
	*packed                  // replaces pages if not nil
}

// packed holds the non-empty buckets.
type packed struct {
	index []uint16
	n     []float64
	coded []byte // in place of both: see code
}

// code returns non-empty buckets in four bytes or five each, if all counts are whole parts of an I/O, and two or three
// if they are whole I/Os; else nil. It is for each the gap to the bucket before, and the I/Os or parts with the lowest
// bit telling which, as uvarints.
func code(dst []byte, index []uint16, n []float64) []byte {
	before := uint16(0)
	for k, i := range index {
		unit, v := uint64(0), n[k]
		if v != math.Trunc(v) {
			unit, v = 1, v*Parts
		}
		if v != math.Trunc(v) || v < 0 || v >= 1<<53 {
			return nil
		}
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(i-before)), uint64(v)<<1|unit)
		before = i
	}
	return dst
}

// each calls f for each bucket in ascending order.
func (p *packed) each(f func(i uint16, w float64)) {
	l := freeLists.Get().(*lists)
	defer freeLists.Put(l)
	l.index, l.n = p.appendTo(l.index[:0], l.n[:0])
	for k, i := range l.index {
		f(i, l.n[k])
	}
}

// appendTo appends the buckets, ascending, to index and their counts to n.
func (p *packed) appendTo(index []uint16, n []float64) ([]uint16, []float64) {
	index, n = append(index, p.index...), append(n, p.n...)
	at, b := uint64(0), p.coded
	for k := 0; k < len(b); {
		var gap, v uint64
		gap, k = uvarint(b, k)
		v, k = uvarint(b, k)
		w := float64(v >> 1)
		if v&1 != 0 {
			w /= Parts
		}
		at += gap
		index, n = append(index, uint16(at)), append(n, w)
	}
	return index, n
}

// uvarint returns the value at offset k of b, and the offset after it. It is inlined for those of one byte.
func uvarint(b []byte, k int) (v uint64, after int) {
	if b[k] < 0x80 {
		return uint64(b[k]), k + 1
	}
	return longUvarint(b, k)
}

// longUvarint is uvarint for any length.
func longUvarint(b []byte, k int) (v uint64, after int) {
	v, n := binary.Uvarint(b[k:])
	return v, k + n
}

// lists is memory for buckets and their counts, and for what they are coded as.
type lists struct {
	index []uint16
	n     []float64
	coded []byte
}

var freeLists = sync.Pool{New: func() any { return new(lists) }}

// Rounded says that the running sums of h, which is the histogram of a stored document, are rounded to a thousandth of
// an I/O. Whole counts are exact.
func (h *Hist) Rounded() {
	h.Each(func(_ int, w float64) {
		if math.Abs(w-math.Round(w)) > tiny*w {
			h.rounded = 1
		}
	})
}

// Pack returns a compact copy of h: see code. Adding to the copy, or Count, unpacks it.
func (h *Hist) Pack() *Hist {
	l := freeLists.Get().(*lists)
	defer freeLists.Put(l)
	l.index, l.n = h.Sparse(l.index[:0], l.n[:0])
	p := new(packed)
	if coded := code(l.coded[:0], l.index, l.n); coded != nil {
		l.coded, p.coded = coded, slices.Clone(coded)
	} else {
		p.index, p.n = slices.Clone(l.index), slices.Clone(l.n)
	}
	return &Hist{packed: p, rounded: h.rounded}
}

// SetPacked makes h a compact copy of o, as Pack does.
func (h *Hist) SetPacked(o *Hist) {
	h.Reset()
	p := o.Pack()
	h.packed, h.rounded = p.packed, p.rounded
}

// Packed reports whether h is in the form that Pack returns.
func (h *Hist) Packed() bool { return h.packed != nil }

// PackedBytes returns roughly how many bytes a packed h takes.
func (h *Hist) PackedBytes() int {
	return int(unsafe.Sizeof(*h)+unsafe.Sizeof(*h.packed)) + 10*len(h.index) + len(h.coded)
}

// unpack converts a packed histogram to pages.
func (h *Hist) unpack() {
	if p := h.packed; p != nil {
		h.packed = nil
		h.addPacked(p)
	}
}

func (h *Hist) addPacked(p *packed) {
	l := freeLists.Get().(*lists)
	defer freeLists.Put(l)
	l.index, l.n = p.appendTo(l.index[:0], l.n[:0])
	h.AddAll(l.index, l.n, 0)
}

// Reset empties h and keeps its memory.
func (h *Hist) Reset() {
	h.packed, h.rounded = nil, 0 // a write before the first read, see open
	clear(h.set[:])
	for n, p := range h.pages {
		if p != nil {
			h.spare = append(h.spare, p)
			h.pages[n] = nil
		}
	}
}

// open allocates page n with undefined contents. The caller must write it before reading:
// reading new memory first costs a second page fault, which interrupts all other cores.
func (h *Hist) open(n int) *page {
	if len(h.spare) == 0 {
		h.more(max(h.made/4, 1))
	}
	last := len(h.spare) - 1
	p := h.spare[last]
	h.pages[n], h.spare = p, h.spare[:last]
	return p
}

// more allocates n pages at once, since many small objects burden the garbage collector.
func (h *Hist) more(n int) {
	more := make([]page, min(n, maxPages-h.made))
	h.made += len(more)
	for i := range more {
		h.spare = append(h.spare, &more[i])
	}
}

// page returns page n, allocating it if necessary.
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

// AddAll adds n[k] to bucket index[k] >> shift, for all k; shift is 0 to 15.
func (h *Hist) AddAll(index []uint16, n []float64, shift int) { h.AddShare(index, n, shift, 0, 1) }

// AddShare adds of n[k] what lies between two shares, in whole parts, to bucket index[k] >> shift, for all k; shift is
// 0 to 15. From 0 to 1 it is n[k] itself. It returns the sum of what it added.
func (h *Hist) AddShare(index []uint16, n []float64, shift int, before, upTo float64) (sum float64) {
	if len(index) == 0 {
		return 0
	}
	h.unpack()
	by := uint(shift) & 15                             // a shift known to be below 64 is one instruction
	at, set := uint(index[0])>>by>>pageBits, uint64(0) // kept in a register
	// Allocate exactly the pages needed: later histograms tend to fill the same ones.
	if h.made == 0 {
		pages, before := 1, at
		for _, i := range index {
			if i := uint(i) >> by >> pageBits; i != before {
				before = i
				pages++
			}
		}
		h.more(pages)
	}
	p := h.page(int(at))
	for k, w := range n[:len(index)] {
		i := uint(index[k]) >> by
		if i>>pageBits != at {
			h.set[at] |= set
			at, set = i>>pageBits, 0
			p = h.page(int(at))
		}
		if upTo < 1 {
			w = parts(w * upTo)
		}
		if before > 0 {
			w -= parts(n[k] * before)
		}
		p[i%pageSize] += w
		sum += w
		set |= 1 << (i % pageSize)
	}
	h.set[at] |= set
	return sum
}

// AddHist adds o, which is not changed. A nil o is empty.
func (h *Hist) AddHist(o *Hist) {
	if o == nil {
		return
	}
	h.rounded += o.rounded
	if o.packed != nil {
		h.addPacked(o.packed)
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

// addEach adds q to p. It is the portable form of addPage.
func (p *page) addEach(q *page) {
	for i, w := range q {
		p[i] += w
	}
}

// Coarsen returns h with 2^shift neighbouring buckets merged into one; for shift 0 it is h itself.
func (h *Hist) Coarsen(shift int) *Hist {
	if shift == 0 {
		return h
	}
	index, n := h.Sparse(nil, nil)
	out := &Hist{rounded: h.rounded}
	out.AddAll(index, n, shift)
	return out
}

// Count returns the count of bucket i.
func (h *Hist) Count(i int) float64 {
	h.unpack()
	if p := h.pages[i>>pageBits]; p != nil {
		return p[i&(pageSize-1)]
	}
	return 0
}

// Each calls f for every non-zero bucket in ascending order.
func (h *Hist) Each(f func(i int, w float64)) { h.EachFrom(0, f) }

// EachFrom calls f for every non-zero bucket from the bucket first on, in ascending order.
func (h *Hist) EachFrom(first int, f func(i int, w float64)) {
	if h.packed != nil {
		h.each(func(i uint16, w float64) {
			if int(i) >= first {
				f(int(i), w)
			}
		})
		return
	}
	for n := first >> pageBits; n < len(h.set); n++ {
		set := h.set[n]
		if n == first>>pageBits {
			set &= ^uint64(0) << (first & (pageSize - 1))
		}
		for p := h.pages[n]; set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			if w := p[i]; w != 0 {
				f(n<<pageBits|i, w)
			}
		}
	}
}

// Sparse appends the non-zero buckets, ascending, to index and their counts to n. Both must have the same length.
func (h *Hist) Sparse(index []uint16, n []float64) ([]uint16, []float64) {
	if h.packed != nil {
		return h.appendTo(index, n)
	}
	most := 0
	for _, set := range h.set {
		most += bits.OnesCount64(set)
	}
	k := len(index)
	index, n = slices.Grow(index, most)[:k+most], slices.Grow(n, most)[:k+most]
	for pg, set := range h.set {
		for p := h.pages[pg]; set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			if w := p[i&(pageSize-1)]; w != 0 {
				index[k], n[k] = uint16(pg<<pageBits|i), w
				k++
			}
		}
	}
	return index[:k], n[:k]
}

// String lists the non-zero buckets and their counts.
func (h *Hist) String() string {
	var b strings.Builder
	h.Each(func(i int, w float64) { fmt.Fprintf(&b, " %d:%v", i, w) })
	return strings.TrimPrefix(b.String(), " ")
}

// Sum returns the number of I/Os, added in ascending order of buckets so that the
// result is reproducible.
func (h *Hist) Sum() float64 {
	sum := 0.0
	if h.packed != nil {
		h.each(func(_ uint16, w float64) { sum += w })
		return sum
	}
	for n, set := range h.set {
		for p := h.pages[n]; set != 0; set &= set - 1 {
			sum += p[bits.TrailingZeros64(set)&(pageSize-1)]
		}
	}
	return sum
}

// Empty reports whether nothing was added since h was new or Reset.
func (h *Hist) Empty() bool {
	for _, p := range h.pages {
		if p != nil {
			return false
		}
	}
	return h.packed == nil || len(h.index)+len(h.coded) == 0
}

// Whole returns the lowest and the highest bucket in which a whole I/O is in h, if before is the sum of all that comes
// before it: each I/O is in one of several histograms among which it is shared, that in which the sum of its bucket
// passes the middle of it. ok is false if there is none.
func (h *Hist) Whole(before *Hist) (low, high int, ok bool) {
	passes := func(i int, w float64) bool {
		const tie = 0.5 - slackParts
		n := before.Count(i)
		return math.Floor(n+w+tie) > math.Floor(n+tie)
	}
	if h.packed != nil {
		h.each(func(i uint16, w float64) {
			if passes(int(i), w) {
				high = int(i)
				if !ok {
					low, ok = high, true
				}
			}
		})
		return low, high, ok
	}
	for n, set := range h.set {
		for p := h.pages[n]; set != 0 && !ok; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			low, ok = n<<pageBits|i, passes(n<<pageBits|i, p[i])
		}
	}
	for n := len(h.set) - 1; n >= 0 && ok; n-- {
		p := h.pages[n]
		for set := h.set[n]; set != 0; {
			i := bits.Len64(set) - 1
			high = n<<pageBits | i
			if passes(high, p[i]) {
				return low, high, true
			}
			set &^= 1 << i
		}
	}
	return low, high, ok
}

// Limits are the smallest and the largest latency in ns that fio measured. The zero
// value means unknown.
type Limits struct {
	Min, Max int64
	Known    bool
}

// Widen returns limits that cover both l and o.
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

// Stats are the statistics of a histogram. Latencies are in ns.
type Stats struct {
	Samples                float64
	Min, Max, Mean, StdDev float64
	// Percentiles are the values of the requested percentiles, in the same order.
	Percentiles []float64
	// Lower and Upper are the 95 % limits of each percentile, or NoLimit: the sampling limits of independent I/Os, or,
	// after Ranks.Widen, those that allow for bursts.
	Lower, Upper []float64
	// LimitsAtLeast says that Ranks.Widen found the run too short for its bursts: the limits are at least so wide.
	LimitsAtLeast bool
	// AtLeast are the indices, ascending, of percentiles in the last bucket. Their values are lower bounds.
	AtLeast []int
}

// Values are what figures come from that the histogram has: those of other sources are unknown. percentiles are those
// that the statistics were asked for.
func (s *Stats) Values(percentiles []float64) fio.Values {
	nan := math.NaN()
	v := fio.Values{Samples: s.Samples, Seconds: nan, IOPS: nan, BytesPerSecond: nan, Concurrency: nan, Min: nan,
		Mean: nan, Max: nan, StdDev: nan, Percentile: func(p float64) float64 {
			if i := slices.Index(percentiles, p); i >= 0 && !s.Empty() {
				return s.Percentiles[i]
			}
			return nan
		}}
	if s.Empty() {
		return v
	}
	v.Min, v.Mean, v.Max = s.Min, s.Mean, s.Max
	if s.StdDev >= 0 {
		v.StdDev = s.StdDev
	}
	return v
}

// NoLimit marks a confidence limit that does not exist: there are too few I/Os, or it
// lies in the last bucket, which has no upper edge.
const NoLimit = -1

// z95 is the two-sided 95 % quantile of the normal distribution.
const z95 = 1.96

// tiny is the relative tolerance for rounding: fractions of I/Os that add up to n p / 100
// but for rounding must not push a percentile into the next bucket.
const tiny = 1e-9

// slackParts is by how many I/Os a sum of shares may be off, as each is rounded to whole parts.
const slackParts = 16.0 / Parts

// Least returns the least running sum of n I/Os that reaches want but for rounding. Percentile p is in the first bucket
// at which the sum reaches n p / 100.
func Least(want, n float64) float64 { return want - tiny*n - slackParts }

// Inside returns the latency at which want I/Os are reached in a bucket from lo to hi, with count I/Os after those
// before.
func Inside(lo, hi, count, before, want float64) float64 {
	return lo + min(max((want-before)/count, 0), 1)*(hi-lo)
}

// Empty reports whether there are no I/Os beyond rounding errors.
func (s *Stats) Empty() bool { return !(s.Samples > tiny) }

// Stats computes the statistics of h with geometry g for the wanted percentiles (0 to
// 100, in any order).
//
// Percentile p of n I/Os lies in the first bucket at which the running sum reaches
// n p / 100, with linear interpolation inside the bucket; in the last bucket it is the
// lower edge. p0 is the lower edge of the first non-empty bucket, p100 the upper edge of
// the last one. Min, Max and the percentiles are clamped to the limits. Mean and
// (population) standard deviation are computed from the middles of the buckets, cut to the limits.
//
// The limits are order statistics and assume nothing about the distribution, but that I/Os
// are independent: the number of I/Os below the true percentile is binomial, so with q = p / 100 the I/Os
// of ranks n q -+ 1.96 sqrt(n q (1-q)), rounded outward, enclose it in 95 of 100 cases
// (Conover, Practical Nonparametric Statistics, 3.2). Lower is the lower edge of the
// bucket of the lower rank, Upper the upper edge of the bucket of the upper rank. There
// is no Lower if its rank is below 1, and no Upper if its rank exceeds n or for p100.
//
// For an Empty histogram all values are 0 and there are no confidence limits.
func (h *Hist) Stats(g Geometry, wanted []float64, limits Limits) Stats {
	r := scratch.Get().(*Ranks)
	defer scratch.Put(r)
	r.Read(h, g)
	return r.Stats(wanted, limits)
}

// Stats computes the statistics of the histogram that was read; see Hist.Stats.
func (r *Ranks) Stats(wanted []float64, limits Limits) Stats {
	k := len(wanted)
	values := make([]float64, 3*k)
	s := Stats{Percentiles: values[:k:k], Lower: values[k : 2*k : 2*k], Upper: values[2*k:]}
	for i := range wanted {
		s.Lower[i], s.Upper[i] = NoLimit, NoLimit
	}
	g, n := r.geometry, r.n
	s.Samples = n
	if s.Empty() {
		return s
	}
	first, last := int(r.bucket[0]), int(r.bucket[len(r.bucket)-1])
	middles := g.Middles()
	low, high := g.Index(limits.Min), g.Index(limits.Max)
	middle := func(i uint16) float64 {
		if b := int(i); limits.Known && (b <= low || b >= high) {
			return (limits.clamp(float64(g.Lower(b))) + limits.clamp(float64(g.Upper(b)))) / 2
		}
		return middles[i]
	}
	sum, variance := 0.0, 0.0
	for k, i := range r.bucket {
		sum += r.count[k] * middle(i)
	}
	s.Mean = sum / n
	if first == last { // exact, without rounding
		s.Mean = middle(r.bucket[0])
	}
	for k, i := range r.bucket {
		d := middle(i) - s.Mean
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
			in, v = r.Percentile(p)
		}
		if in == g.Last() {
			s.AtLeast = append(s.AtLeast, k)
		}
		s.Percentiles[k] = limits.clamp(v)
		s.Lower[k], s.Upper[k] = r.limits(min(max(p, 0), 100) / 100)
	}
	return s
}

// Within sets the extremes to those of the buckets from low to high. No percentile lies beyond them, nor outside its
// limits.
func (s *Stats) Within(g Geometry, low, high int, limits Limits) {
	top := float64(g.Upper(high))
	if high == g.Last() {
		top = float64(g.Lower(high))
	} else {
		s.AtLeast = nil
	}
	s.Min, s.Max = limits.clamp(float64(g.Lower(low))), limits.clamp(top)
	for k, v := range s.Percentiles {
		v = min(max(v, s.Min), s.Max)
		s.Percentiles[k], s.Lower[k] = v, min(s.Lower[k], v)
		if s.Upper[k] != NoLimit {
			s.Upper[k] = max(s.Upper[k], v)
		}
	}
}

// Ranks is a histogram with its running sums, for several queries. The zero value is empty. Read reuses the memory.
type Ranks struct {
	geometry Geometry
	n        float64
	bucket   []uint16 // non-empty ones, ascending
	count    []float64
	upTo     []float64 // running sums of count
	slack    float64   // by so much running sums may be rounded down
}

// scratch is memory that Hist.Stats reuses.
var scratch = sync.Pool{New: func() any { return new(Ranks) }}

// Read reads h. A nil h is empty.
func (r *Ranks) Read(h *Hist, g Geometry) {
	r.geometry, r.n = g, 0
	r.bucket, r.count = r.bucket[:0], r.count[:0]
	r.slack = 0
	if h != nil {
		r.bucket, r.count = h.Sparse(r.bucket, r.count)
		// A running sum and the rank in the total: half a thousandth of an I/O each. Of many, whose errors are
		// independent, 7 standard deviations of their sum.
		r.slack = min(0.001*h.rounded, 0.003*math.Sqrt(h.rounded))
	}
	r.upTo = slices.Grow(r.upTo[:0], len(r.count))[:len(r.count)]
	for k, w := range r.count {
		r.n += w
		r.upTo[k] = r.n
	}
	r.slack = max(r.slack, tiny*r.n+slackParts)
}

// Samples is the number of I/Os.
func (r *Ranks) Samples() float64 { return r.n }

// Empty reports whether there are no I/Os beyond rounding errors.
func (r *Ranks) Empty() bool { return !(r.n > tiny) }

// Above returns the number of I/Os in buckets above the given one.
func (r *Ranks) Above(bucket int) float64 {
	if k := r.reach(bucket); k < len(r.bucket) {
		return r.n - r.runningSum(k)
	}
	return 0
}

// reach returns the number of non-empty buckets up to and including bucket.
func (r *Ranks) reach(bucket int) int {
	from, to := 0, len(r.bucket)
	for from < to {
		if k := int(uint(from+to) / 2); int(r.bucket[k]) <= bucket {
			from = k + 1
		} else {
			to = k
		}
	}
	return from
}

// runningSum returns the running sum of the first k non-empty buckets.
func (r *Ranks) runningSum(k int) float64 {
	if k == 0 {
		return 0
	}
	return r.upTo[k-1]
}

// find returns the first bucket at which the running sum reaches want but for rounding, the
// I/Os in it, and the running sum before it.
func (r *Ranks) find(want float64) (bucket int, count, before float64) {
	k := min(sort.SearchFloat64s(r.upTo, want-r.slack), len(r.upTo)-1)
	return int(r.bucket[k]), r.count[k], r.runningSum(k)
}

// Percentile returns the bucket of percentile p, 0 < p < 100, and the latency inside it in ns. r must not be Empty.
func (r *Ranks) Percentile(p float64) (bucket int, value float64) {
	g := r.geometry
	want := r.n * p / 100
	b, count, before := r.find(want)
	lo, hi := float64(g.Lower(b)), float64(g.Upper(b))
	if b == g.Last() {
		return b, lo
	}
	return b, Inside(lo, hi, count, before, want)
}

// limits returns the confidence limits of the quantile q for independent I/Os.
func (r *Ranks) limits(q float64) (lower, upper float64) {
	g := r.geometry
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
