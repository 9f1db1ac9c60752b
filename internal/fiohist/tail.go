package fiohist

// Tail are the I/Os above a percentile, by which parts of a histogram are compared with the rest of it.
type Tail struct {
	p      float64
	value  float64 // the percentile in ns
	all    Ranks
	from   int     // the lowest bucket that lies above the percentile's
	beyond float64 // I/Os in that and in higher ones
}

// Tail returns what lies above percentile p of h, 0 < p < 100: the buckets beyond the one that holds it. It is nil if h
// is Empty.
func (h *Hist) Tail(g Geometry, p float64) *Tail {
	t := &Tail{p: p}
	if t.all.Read(h, g); t.all.Empty() {
		return nil
	}
	t.from, t.value = t.all.Percentile(p)
	t.from++
	for k := len(t.all.bucket) - 1; k >= 0 && int(t.all.bucket[k]) >= t.from; k-- {
		t.beyond += t.all.count[k]
	}
	return t
}

// Part is what a part of a histogram has to do with its tail.
type Part struct {
	// Share is its part of the I/Os above the percentile, 0 to 1; -1 if there are none.
	Share float64
	// Expected is its part of all I/Os, 0 to 1.
	Expected float64
	// All is the percentile of all I/Os in ns, Without that of all others; -1 if there are none.
	All, Without float64
}

// Part compares part, which was added up in the histogram, with the rest of it. limits are those of the rest. It is nil
// if part is Empty.
func (t *Tail) Part(part *Ranks, limits Limits) *Part {
	if part.Empty() {
		return nil
	}
	out := &Part{Share: -1, Expected: min(part.n/t.all.n, 1), All: t.value, Without: -1}
	if t.beyond > 0 {
		above := 0.0
		for k := len(part.bucket) - 1; k >= 0 && int(part.bucket[k]) >= t.from; k-- {
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
	from, to := 0, len(all.bucket)-1
	for from < to {
		if k := int(uint(from+to) / 2); upTo(k) < want-tiny*n {
			from = k + 1
		} else {
			to = k
		}
	}
	bucket, count := int(all.bucket[from]), all.count[from]
	if in := part.reach(bucket); in > 0 && int(part.bucket[in-1]) == bucket {
		count -= part.count[in-1]
	}
	lo, hi := float64(g.Lower(bucket)), float64(g.Upper(bucket))
	if bucket == g.Last() {
		return lo
	}
	return lo + min(max((want-(upTo(from)-count))/count, 0), 1)*(hi-lo)
}
