package fiohist

// Tally holds the figures by which parts of a histogram are compared: the number of I/Os, and their mean and
// percentiles in ns.
type Tally struct{ Samples, Mean, P50, P99 float64 }

// Tally returns the tally of r, which must not be Empty.
func (r *Ranks) Tally() Tally {
	t, middles := Tally{Samples: r.n}, r.geometry.Middles()
	for k, i := range r.bucket {
		t.Mean += r.count[k] * middles[i] / r.n
	}
	_, t.P50 = r.Percentile(50)
	_, t.P99 = r.Percentile(99)
	return t
}

// Tail holds the I/Os of a histogram above a percentile, to compare parts of the histogram with the rest. Read
// reuses its memory.
type Tail struct {
	p      float64
	value  float64 // the percentile in ns
	all    Ranks
	at     int     // index of the non-empty bucket that holds the percentile
	beyond float64 // I/Os in the buckets above it
}

// Read reads h. Its tail is the buckets above the one that holds percentile p, 0 < p < 100.
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
}

// Part says how a part of a histogram contributes to its tail.
type Part struct {
	// Share is the part's share of the I/Os above the percentile, 0 to 1; -1 if there are none.
	Share float64
	// Expected is the part's share of all I/Os, 0 to 1.
	Expected float64
	// All is the percentile of all I/Os in ns, Without that of all but the part's; -1 if there are no others.
	All, Without float64
	Tally        Tally
}

// Part compares part, whose I/Os are in the histogram, with the rest of it. limits are the limits of the rest. It
// returns nil if part is Empty.
func (t *Tail) Part(part *Ranks, limits Limits) *Part {
	if part.Empty() {
		return nil
	}
	out := &Part{Share: -1, Expected: min(part.n/t.all.n, 1), All: t.value, Without: -1, Tally: part.Tally()}
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

// without returns the percentile of the rest, which has n I/Os, as Percentile defines it.
func (t *Tail) without(part *Ranks, n float64) float64 {
	all, g, want := &t.all, t.all.geometry, n*t.p/100
	// upTo is the running sum of the rest up to and including non-empty bucket k of all.
	upTo := func(k int) float64 { return all.upTo[k] - part.runningSum(part.reach(int(all.bucket[k]))) }
	at := t.at // close to the result
	for at < len(all.bucket)-1 && upTo(at) < want-all.slack {
		at++
	}
	for at > 0 && upTo(at-1) >= want-all.slack {
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
