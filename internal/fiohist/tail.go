package fiohist

// Tail are the I/Os above a percentile, by which parts of a histogram are compared with the rest of it.
type Tail struct {
	geometry Geometry
	p        float64
	all      ranks
	from     int     // the lowest bucket that lies above the percentile's
	beyond   float64 // I/Os in that and in higher ones
}

// Tail returns what lies above percentile p of h, 0 < p < 100: the buckets beyond the one that holds it. It is nil if h
// is Empty.
func (h *Hist) Tail(g Geometry, p float64) *Tail {
	t := &Tail{geometry: g, p: p}
	t.all.load(h, g.middles())
	if !(t.all.n > tiny) {
		return nil
	}
	bucket, _, _ := t.all.find(t.all.n * p / 100)
	t.from = bucket + 1
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
	// Without is the percentile of all other I/Os in ns; -1 if there are none.
	Without float64
}

// Part compares part, which was added up in the histogram, with the rest of it. limits are those of the rest. It is nil
// if part is Empty.
func (t *Tail) Part(part *Hist, limits Limits) *Part {
	r := scratch.Get().(*ranks)
	defer scratch.Put(r)
	r.load(part, t.geometry.middles())
	if !(r.n > tiny) {
		return nil
	}
	out := &Part{Share: -1, Expected: min(r.n/t.all.n, 1), Without: -1}
	if t.beyond > 0 {
		above := 0.0
		for k := len(r.bucket) - 1; k >= 0 && int(r.bucket[k]) >= t.from; k-- {
			above += r.count[k]
		}
		out.Share = min(above/t.beyond, 1)
	}
	if rest := t.all.n - r.n; rest > tiny*max(t.all.n, 1) {
		out.Without = limits.clamp(t.without(r, rest))
	}
	return out
}

// without is the percentile of the rest, of n I/Os, as percentile finds it, but from the highest bucket down: what is
// above a high percentile lies in few buckets.
func (t *Tail) without(part *ranks, n float64) float64 {
	want := n * t.p / 100
	upTo, j := n, len(part.bucket)-1
	bucket, count := -1, 0.0
	for k := len(t.all.bucket) - 1; k >= 0; k-- {
		w := t.all.count[k]
		for j >= 0 && part.bucket[j] > t.all.bucket[k] {
			j--
		}
		if j >= 0 && part.bucket[j] == t.all.bucket[k] {
			if w -= part.count[j]; w <= dust*t.all.count[k] {
				continue
			}
		}
		if bucket >= 0 && upTo < want-tiny*n {
			break // the one above is the first that reaches it
		}
		bucket, count = int(t.all.bucket[k]), w
		upTo -= w
	}
	lo, hi := float64(t.geometry.Lower(bucket)), float64(t.geometry.Upper(bucket))
	if bucket == t.geometry.Last() {
		return lo
	}
	return lo + min(max((want-upTo)/count, 0), 1)*(hi-lo)
}

// dust is the relative size of what rounding leaves of a sum of which all was subtracted.
const dust = 1e-12
