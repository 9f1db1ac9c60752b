package fiohist

// TailPercentiles are those that Ranks.Tally is about: who is slow as a whole shows at 50, who has a few slow I/Os at
// 99 or 99.9.
var TailPercentiles = [3]float64{50, 99, 99.9}

// Tally is what tells a part of a histogram from others.
type Tally struct {
	Samples float64
	// Above are the I/Os in buckets above those of TailPercentiles of the whole.
	Above  [3]float64
	Median float64 // ns
}

// TailBuckets are those of TailPercentiles. Ranks must not be Empty.
func (r *Ranks) TailBuckets() (buckets [3]int) {
	for i, p := range TailPercentiles {
		buckets[i], _ = r.Percentile(p)
	}
	return buckets
}

// Tally is that of r; buckets are the TailBuckets of the whole. Ranks must not be Empty.
func (r *Ranks) Tally(buckets [3]int) Tally {
	t := Tally{Samples: r.n}
	for i, b := range buckets {
		t.Above[i] = r.Above(b)
	}
	_, t.Median = r.Percentile(50)
	return t
}

// Tail are the I/Os above a percentile, by which parts of a histogram are compared with the rest of it. Its memory is
// used again by the next Read.
type Tail struct {
	p       float64
	value   float64 // the percentile in ns
	all     Ranks
	at      int     // which of the non-empty buckets holds the percentile
	beyond  float64 // I/Os in those above
	buckets [3]int
}

// Read finds what lies above percentile p of h, 0 < p < 100: the buckets beyond the one that holds it.
func (t *Tail) Read(h *Hist, g Geometry, p float64) {
	t.p, t.beyond = p, 0
	if t.all.Read(h, g); t.all.Empty() {
		return
	}
	var bucket int
	bucket, t.value = t.all.Percentile(p)
	t.at = t.all.reach(bucket) - 1
	for k := len(t.all.bucket) - 1; k > t.at; k-- {
		t.beyond += t.all.count[k]
	}
	t.buckets = t.all.TailBuckets()
}

// Part is what a part of a histogram has to do with its tail.
type Part struct {
	// Share is its part of the I/Os above the percentile, 0 to 1; -1 if there are none.
	Share float64
	// Expected is its part of all I/Os, 0 to 1.
	Expected float64
	// All is the percentile of all I/Os in ns, Without that of all others; -1 if there are none.
	All, Without float64
	Tally        Tally
}

// Part compares part, which was added up in the histogram, with the rest of it. limits are those of the rest. It is nil
// if part is Empty.
func (t *Tail) Part(part *Ranks, limits Limits) *Part {
	if part.Empty() {
		return nil
	}
	out := &Part{Share: -1, Expected: min(part.n/t.all.n, 1), All: t.value, Without: -1, Tally: part.Tally(t.buckets)}
	if t.beyond > 0 {
		above := 0.0
		for k := len(part.bucket) - 1; k >= 0 && part.bucket[k] > t.all.bucket[t.at]; k-- {
			above += part.count[k]
		}
		out.Share = min(above/t.beyond, 1)
	}
	if rest := t.all.n - part.n; rest > tiny*max(t.all.n, 1) {
		out.Without = limits.clamp(t.without(part, rest))
	}
	return out
}

// without is the percentile of the rest, of n I/Os, as Percentile finds it.
func (t *Tail) without(part *Ranks, n float64) float64 {
	all, g, want := &t.all, t.all.geometry, n*t.p/100
	// The running sum of the rest up to and including a bucket of all.
	upTo := func(k int) float64 { return all.upTo[k] - part.through(part.reach(int(all.bucket[k]))) }
	at := t.at // it is not far from that of all
	for at < len(all.bucket)-1 && upTo(at) < want-tiny*n {
		at++
	}
	for at > 0 && upTo(at-1) >= want-tiny*n {
		at--
	}
	bucket, count := int(all.bucket[at]), all.count[at]
	if in := part.reach(bucket); in > 0 && int(part.bucket[in-1]) == bucket {
		count -= part.count[in-1]
	}
	lo, hi := float64(g.Lower(bucket)), float64(g.Upper(bucket))
	if bucket == g.Last() {
		return lo
	}
	return lo + min(max((want-(upTo(at)-count))/count, 0), 1)*(hi-lo)
}
