package diagnose

import (
	"math"
	"slices"
)

// Parameters of the tests. docs/diagnose.md gives the reasons for them.
const (
	// falseDiscoveries is the false discovery rate of findings (Benjamini and Hochberg).
	falseDiscoveries = 0.01
	// minLift is the least lift, the share of the tail over the share of all I/Os, that is reported.
	minLift = 1.3
	// minFactor is the least ratio of median latencies, of a value to its peers, that is reported as slow.
	minFactor = 1.2
	// minQuanta is the shortest time, in quanta, for which a value can stand out.
	minQuanta = 3
	// manyPeers is the number of peers from which on their spread is measured between them, not over time.
	manyPeers = 5
	// z95 is the two-sided 95 % quantile of the normal distribution.
	z95 = 1.959963984540054
)

// upperTail returns the probability that a standard normal variable exceeds z.
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// normalOfT converts Student's t to a standard normal variable of nearly the same probability (Wallace, Annals of
// Mathematical Statistics 30 (1959), 1124-1130).
func normalOfT(t, freedom float64) float64 {
	z := (8*freedom + 1) / (8*freedom + 3) * math.Sqrt(freedom*math.Log1p(t*t/freedom))
	return math.Copysign(z, t)
}

// logChoose returns the natural logarithm of the binomial coefficient, n over k.
func logChoose(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	some, _ := math.Lgamma(k + 1)
	rest, _ := math.Lgamma(n - k + 1)
	return all - some - rest
}

// tally counts the I/Os of one value and of all values in some quanta.
type tally struct {
	above, expected float64 // the value's I/Os above the pooled percentile, and its share of all of these
	allAbove, all   float64
}

func (a tally) minus(b tally) tally {
	return tally{a.above - b.above, a.expected - b.expected, a.allAbove - b.allAbove, a.all - b.all}
}

func (a tally) lift() float64 {
	if a.expected <= 0 {
		return 1
	}
	return a.above / a.expected
}

// z is the signed root of the likelihood ratio of a value's I/Os above the percentile against its expected share of
// them (Kulldorff, Communications in Statistics 26 (1997), 1481-1496), with the variance of drawing without
// replacement. It is nearly a standard normal variable even if few I/Os are expected.
func (a tally) z() float64 {
	rest, restExpected := max(a.allAbove-a.above, 0), a.allAbove-a.expected
	if a.expected <= 0 || restExpected <= 0 || a.all <= a.allAbove {
		return 0
	}
	llr := plogp(a.above, a.expected) + plogp(rest, restExpected)
	z := math.Sqrt(2 * max(llr, 0) * a.all / (a.all - a.allAbove))
	if a.above < a.expected {
		return -z
	}
	return z
}

func plogp(n, expected float64) float64 {
	if n <= 0 {
		return 0
	}
	return n * math.Log(n/expected)
}

// spread is the dispersion of the z of undisturbed values.
type spread struct {
	scale   float64 // standard deviation
	freedom float64 // degrees of freedom of scale
}

// spreadOf estimates the spread of blocks[i][b], the z of block b of value i; NaN for no block. With many peers it is
// the deviation from their median in each block, which includes lasting differences between them; with few, the
// difference of successive blocks. The estimate is robust: as a quantile of absolute values, it ignores the largest
// three of ten.
func spreadOf(blocks [][]float64) spread {
	var off, peers []float64
	if len(blocks) < manyPeers {
		for _, z := range blocks {
			for b := 1; b < len(z); b++ {
				off = append(off, math.Abs(z[b]-z[b-1])/math.Sqrt2)
			}
		}
	} else {
		for b := range blocks[0] {
			peers = peers[:0]
			for _, z := range blocks {
				if !math.IsNaN(z[b]) {
					peers = append(peers, z[b])
				}
			}
			middle := median(peers)
			for _, z := range peers {
				off = append(off, math.Abs(z-middle))
			}
		}
	}
	off = slices.DeleteFunc(off, math.IsNaN)
	if len(off) == 0 {
		return spread{math.Inf(1), 1}
	}
	// The quantile, its value for the absolute value of a standard normal variable, and the efficiency of the
	// estimate relative to the mean square.
	const at, normal, efficiency = 0.7, 1.0364333894937898, 0.55
	return spread{nth(off, int(at*float64(len(off)))) / normal, max(efficiency*float64(len(off)), 1)}
}

// median reorders v. It returns NaN for an empty v.
func median(v []float64) float64 {
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	low := nth(v, (n-1)/2)
	if n%2 == 1 {
		return low
	}
	return (low + slices.Min(v[n/2:])) / 2
}

// known returns a copy of the values that are known.
func known(v []float64) []float64 { return slices.DeleteFunc(slices.Clone(v), math.IsNaN) }

// prefix has the sum and the number of the known values before each block.
type prefix struct{ sums, counts []float64 }

func newPrefix(v []float64) prefix {
	p := prefix{make([]float64, len(v)+1), make([]float64, len(v)+1)}
	for t, x := range v {
		p.sums[t+1], p.counts[t+1] = p.sums[t], p.counts[t]
		if !math.IsNaN(x) {
			p.sums[t+1] += x
			p.counts[t+1]++
		}
	}
	return p
}

// in returns the sum and the number of the known values in w.
func (p *prefix) in(w window) (sum, n float64) {
	return p.sums[w.to] - p.sums[w.from], p.counts[w.to] - p.counts[w.from]
}

// residuals are the sum of squares of residuals, and that of the products of neighbours, with their numbers.
type residuals struct{ squares, n, products, pairs, before float64 }

func newResiduals() residuals { return residuals{before: math.NaN()} }

// add adds the next residual; NaN if it is unknown.
func (r *residuals) add(x float64) {
	if !math.IsNaN(x) {
		r.squares += x * x
		r.n++
	}
	if p := x * r.before; !math.IsNaN(p) {
		r.products += p
		r.pairs++
	}
	r.before = x
}

// correlation is that of neighbours.
func (r *residuals) correlation() float64 { return r.products / r.pairs / (r.squares / r.n) }

// nth returns the element with k others before it in sorted order (Hoare, Communications of the ACM 4 (1961), 321). v
// must not contain NaN. nth reorders v: no element before k is larger, and none after it smaller.
func nth(v []float64, k int) float64 {
	for from, to := 0, len(v)-1; from < to; {
		pivot, i, j := v[k], from, to
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		if j < k {
			from = i
		}
		if k < i {
			to = j
		}
	}
	return v[k]
}

// window is a half-open interval of quanta, or of blocks of quanta.
type window struct{ from, to int }

func (w window) overlaps(o window) bool { return w.from < o.to && o.from < w.to }

// scan returns the windows of n quanta that are tested: lengths from least on in steps of a quarter, and for each
// length the starts in steps of a sixth of it. refine then improves the edges of the best one.
func scan(n, least int) (out []window) {
	for length := least; ; length = min(max(length+1, length*5/4), n) {
		if length > n {
			return out
		}
		step := max(length/6, 1)
		for from := 0; from+length <= n; from += step {
			out = append(out, window{from, from + length})
		}
		if (n-length)%step != 0 {
			out = append(out, window{n - length, n})
		}
		if length == n {
			return out
		}
	}
}

// refine moves the edges of w by one to eight quanta at a time as long as the score grows.
func refine(w window, n, least int, score func(window) float64) window {
	best := score(w)
	for range 2 * n {
		next := w
		for step := 1; step <= 8; step *= 2 {
			for _, try := range []window{{w.from - step, w.to}, {w.from + step, w.to}, {w.from, w.to - step},
				{w.from, w.to + step}} {
				if try.from < 0 || try.to > n || try.to-try.from < least {
					continue
				}
				if s := score(try); s > best {
					next, best = try, s
				}
			}
		}
		if next == w {
			break
		}
		w = next
	}
	return w
}

// discoveries returns the largest significant one of p-values at the false discovery rate q (Benjamini and Hochberg,
// Journal of the Royal Statistical Society B 57 (1995), 289-300).
func discoveries(p []float64, q float64) (limit float64) {
	sorted := slices.Sorted(slices.Values(p))
	for i, v := range sorted {
		if v <= q*float64(i+1)/float64(len(sorted)) {
			limit = v
		}
	}
	return limit
}
