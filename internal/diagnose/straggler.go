package diagnose

import (
	"math"
	"slices"

	"fiolat/fio"
)

// Straggler is a host, job or log that stands out among its peers. Share to Without cover the quanta from SinceMS to
// UntilMS (exclusive).
type Straggler struct {
	Dimension  string  `json:"dimension"` // host, job or log
	Value      string  `json:"value"`
	Direction  string  `json:"direction"`
	Percentile float64 `json:"percentile"`
	// Share is the value's share, from 0 to 1, of the I/Os above the pooled percentile. Expected is its share of all
	// I/Os. Lift is Share / Expected.
	Share    float64 `json:"share"`
	Expected float64 `json:"expected"`
	Lift     float64 `json:"lift"`
	// LiftLow and LiftHigh are 95 % confidence limits of Lift, given the observed dispersion.
	LiftLow  float64 `json:"lift_low"`
	LiftHigh float64 `json:"lift_high"`
	// Pooled is the percentile of all I/Os of the direction in ns, Without that of all I/Os but the value's. They are
	// null before the second pass; Without also if there are no others.
	Pooled  *float64 `json:"pooled"`
	Without *float64 `json:"without"`
	// Factor is the ratio of the value's median latency to its peers' median, quantum by quantum; null if unknown.
	// FactorLow and FactorHigh are its 95 % confidence limits.
	Factor     *float64 `json:"factor"`
	FactorLow  *float64 `json:"factor_low"`
	FactorHigh *float64 `json:"factor_high"`
	// Quanta is the number of quanta in which the value had more than its share above the percentile.
	Quanta  int   `json:"quanta"`
	SinceMS int64 `json:"since_ms"`
	UntilMS int64 `json:"until_ms"`
	// Recovered says that the value stopped standing out before the end of the run.
	Recovered bool `json:"recovered"`
	// P is the p-value, corrected for the number of time windows that were tested; if Ranked, for that of all hosts,
	// jobs and logs.
	P float64 `json:"p"`
	// Ranked is set if it stands out by its rank in all of the run; null if by its share or median in a period.
	Ranked *Ranked `json:"ranked,omitempty"`

	since, until int64 // ns
	atLoad       bool  // Factor allows for the load
}

// candidate is the window in which a value stands out most, by one test.
type candidate struct {
	group      *group
	value      int
	percentile int // index in Percentiles
	window
	p        float64
	lift     [3]float64 // with its confidence limits
	factor   [3]float64 // with its confidence limits; NaN if unknown
	atLoad   bool       // factor allows for the load
	slow     bool       // found by its median latency, not by its share of the tail
	excess   float64    // I/Os above the percentile beyond its share
	share    float64
	expected float64
	ranked   *lead // found by its rank
}

// Stragglers returns the values that stand out, the worst first, and sets the suspect. details sets their Pooled and
// Without.
func (p *peers) Stragglers() []Straggler {
	found := p.inWindows()
	ranked, suspect := p.inRanks(found)
	if p.suspect = nil; suspect != nil {
		s := p.straggler(*suspect)
		p.suspect = &s
	}
	return p.stragglers(append(found, ranked...))
}

func (p *peers) stragglers(found []candidate) (out []Straggler) {
	for _, c := range found {
		out = append(out, p.straggler(c))
	}
	worstFirst(out)
	return out
}

// inWindows returns the values that stand out in some window.
func (p *peers) inWindows() []candidate {
	var found []candidate
	for _, g := range p.groups {
		if len(g.values) > 1 && !p.repeats(g) {
			g.openLoop = p.openLoop != nil && p.openLoop(g.direction)
			found = append(found, g.candidates()...)
		}
	}
	var ps []float64
	for _, c := range found {
		ps = append(ps, c.p)
	}
	limit := discoveries(ps, falseDiscoveries)
	found = slices.DeleteFunc(found, func(c candidate) bool {
		slow := c.factor[0] >= minFactor
		return c.p > limit || !c.slow && c.lift[0] < minLift || Percentiles[c.percentile] == 50 && !slow
	})
	return strongest(found)
}

// repeats reports whether an earlier group has the same data under other names, such as hosts with a single log each.
func (p *peers) repeats(g *group) bool {
	for _, o := range p.groups {
		if o == g {
			return false
		}
		if o.direction == g.direction && len(o.values) == len(g.values) && slices.EqualFunc(o.blocks, g.blocks,
			func(a, b block) bool { return slices.Equal(a.members, b.members) }) {
			return true
		}
	}
	return false
}

// strongest keeps the more significant of two tests of the same value and percentile. Where a host or job and its log
// stand out, it keeps the host or job, unless the log has most of its excess, but not all.
func strongest(found []candidate) (out []candidate) {
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return slices.ContainsFunc(found, func(o candidate) bool { return c.covered(&o) })
	})
	for _, c := range found {
		i := slices.IndexFunc(out, func(o candidate) bool {
			return o.group == c.group && o.value == c.value && o.percentile == c.percentile
		})
		switch {
		case i < 0:
			out = append(out, c)
		case c.p < out[i].p:
			out[i] = c
		}
	}
	return out
}

// minLogShare is the share of the excess of a host or job from which on it is attributed to a single log.
const minLogShare = 0.8

// covered reports whether another finding describes the same excess better.
func (c *candidate) covered(by *candidate) bool {
	if c.group.direction != by.group.direction || c.percentile != by.percentile {
		return false
	}
	alone := func(log, whole *candidate) bool {
		return log.excess >= minLogShare*whole.excess && log.excess < 0.999*whole.excess
	}
	return c.logOf(by) && !alone(c, by) || by.logOf(c) && alone(by, c)
}

// logOf reports whether c is a log of another candidate.
func (c *candidate) logOf(whole *candidate) bool {
	d := whole.group.dimension
	return dimensions[c.group.dimension] == fio.ByLog && dimensions[d] != fio.ByLog &&
		c.group.parents[c.value][d] == whole.group.values[whole.value]
}

func (p *peers) straggler(c candidate) Straggler {
	g := c.group
	length := p.interval * int64(p.fold)
	s := Straggler{
		Dimension: dimensions[g.dimension], Value: g.values[c.value], Direction: g.direction,
		Percentile: Percentiles[c.percentile], Share: c.share, Expected: c.expected,
		Lift: c.lift[0], LiftLow: c.lift[1], LiftHigh: c.lift[2],
		Recovered: c.to < len(g.blocks), P: c.p, atLoad: c.atLoad,
		since: p.first + int64(c.from)*length, until: min(p.first+int64(c.to)*length,
			p.first+int64(p.quanta)*p.interval),
	}
	if !math.IsNaN(c.factor[0]) {
		s.Factor, s.FactorLow, s.FactorHigh = &c.factor[0], &c.factor[1], &c.factor[2]
	}
	s.SinceMS, s.UntilMS = s.since/1e6, s.until/1e6
	sums := g.tallies(c.value, c.percentile)
	for t := c.from; t < c.to; t++ {
		if one := sums[t+1].minus(sums[t]); one.above > one.expected {
			s.Quanta += p.fold
		}
	}
	s.Quanta = min(s.Quanta, int((s.until-s.since)/p.interval))
	if c.ranked != nil {
		s.Ranked = c.ranked.details(p.fold, p.quanta)
	}
	return s
}

// candidates returns the best window of each value and test.
func (g *group) candidates() []candidate {
	windows := scan(len(g.blocks), minQuanta)
	if len(windows) == 0 {
		return nil
	}
	ratios := g.latencyRatios()
	var out []candidate
	for percentile := range Percentiles {
		out = append(out, g.tails(percentile, windows, ratios)...)
	}
	return append(out, g.slow(windows, ratios)...)
}

// tails finds the values with more than their share of the I/Os above a percentile.
func (g *group) tails(percentile int, windows []window, ratios *latencyRatios) (out []candidate) {
	sums := make([][]tally, len(g.values))
	for v := range g.values {
		sums[v] = g.tallies(v, percentile)
	}
	in := func(v int, w window) tally { return sums[v][w.to].minus(sums[v][w.from]) }
	spreads := spreadsOf(windows, len(g.values), 1, func(v int, w window) float64 { return in(v, w).z() })
	tried := make([]window, len(g.values)) // empty for none
	for v := range tried {
		tried[v], _ = best(windows, func(w window) float64 {
			if t := in(v, w); t.lift() > minLift {
				return t.z() / spreads.at(w).scale
			}
			return 0
		})
	}
	for v, w := range tried {
		if w.to == 0 {
			continue
		}
		// A single quantum does not make a straggler: the value must stand out even without its worst one.
		var worst tally
		for t := w.from; t < w.to; t++ {
			if one := in(v, window{t, t + 1}); one.above-one.expected > worst.above-worst.expected {
				worst = one
			}
		}
		s, z := spreads.at(w), 0.0
		if rest := in(v, w).minus(worst); rest.lift() >= minLift {
			z = normalOfT(rest.z()/s.scale, s.freedom)
		}
		p := min(upperTail(z)*float64(len(windows)), 1)
		if p <= falseDiscoveries {
			once := elsewhere(v, tried, len(g.blocks), func(v int, w window) float64 {
				z := in(v, w).z()
				return z * math.Abs(z)
			})
			p = min(max(p, once*float64(len(windows))), 1)
		}
		w = refine(w, len(g.blocks), minQuanta, func(w window) float64 { return in(v, w).z() })
		s, all := spreads.at(w), in(v, w)
		excess := all.above - all.expected
		half := z95 * excess / max(all.z()/s.scale, 1e-9) / all.above // of the logarithm
		out = append(out, candidate{group: g, value: v, percentile: percentile, window: w,
			p: p, share: all.above / all.allAbove, expected: all.expected / all.allAbove,
			lift:   [3]float64{all.lift(), all.lift() * math.Exp(-half), all.lift() * math.Exp(half)},
			factor: ratios.factor(v, w), atLoad: ratios.atLoad, excess: excess})
	}
	return out
}

// latencyRatios measure how much slower each value is than its peers: running sums of the logarithm of its median
// latency over the median of the others'.
type latencyRatios struct {
	sums    [][]float64 // by value, then block
	counts  [][]float64 // number of blocks in sums
	spreads spreads
	atLoad  bool      // sums allow for the load
	sorted  []float64 // the logarithms of all blocks; set on first use
}

// fewest is the least number of I/Os from which a median is computed.
const fewest = 10

func (g *group) latencyRatios() *latencyRatios {
	d := g.ratios(make([]float64, len(g.values)))
	if g.openLoop {
		if expected := g.byLoad(d); expected != nil {
			d = g.ratios(expected)
			d.atLoad = true
		}
	}
	d.spreads = spreadsOf(scan(len(g.blocks), 1), len(g.values), leastSpread, d.mean)
	return d
}

// ratios returns a drift without spreads. It subtracts the expected logarithm from that of each value's median.
func (g *group) ratios(expected []float64) *latencyRatios {
	k, n := len(g.values), len(g.blocks)
	d := &latencyRatios{sums: make([][]float64, k), counts: make([][]float64, k)}
	for v := range k {
		d.sums[v], d.counts[v] = make([]float64, n+1), make([]float64, n+1)
	}
	var mids []float64
	for t, b := range g.blocks {
		mids = mids[:0]
		for v, c := range b.members {
			if c.n >= fewest {
				mids = append(mids, float64(c.mid)-expected[v])
			}
		}
		slices.Sort(mids)
		for v := range k {
			d.sums[v][t+1], d.counts[v][t+1] = d.sums[v][t], d.counts[v][t]
			if v < len(b.members) && b.members[v].n >= fewest && len(mids) > 1 {
				mid := float64(b.members[v].mid) - expected[v]
				d.sums[v][t+1] += mid - othersMedian(mids, mid)
				d.counts[v][t+1]++
			}
		}
	}
	return d
}

// z returns the significance of a mean of logarithms over length blocks, as a standard normal deviate.
func (d *latencyRatios) z(mean float64, length int) float64 { return d.spreads.z(mean, length) }

// othersMedian returns the median of sorted without one element equal to v.
func othersMedian(sorted []float64, v float64) float64 {
	i, _ := slices.BinarySearch(sorted, v)
	at := func(k int) float64 { // of the remaining elements
		if k >= i {
			k++
		}
		return sorted[k]
	}
	n := len(sorted) - 1
	return (at((n-1)/2) + at(n/2)) / 2
}

// mean returns the mean of the logarithms in w; NaN if more than half of them are missing.
func (d *latencyRatios) mean(v int, w window) float64 {
	n := d.counts[v][w.to] - d.counts[v][w.from]
	if 2*n < float64(w.to-w.from) {
		return math.NaN()
	}
	return (d.sums[v][w.to] - d.sums[v][w.from]) / n
}

// withoutWorst returns the mean of the logarithms in w except the highest.
func (d *latencyRatios) withoutWorst(v int, w window) float64 {
	worst := math.Inf(-1)
	for t := w.from; t < w.to; t++ {
		if one := d.sums[v][t+1] - d.sums[v][t]; d.counts[v][t+1] > d.counts[v][t] {
			worst = max(worst, one)
		}
	}
	n := d.counts[v][w.to] - d.counts[v][w.from]
	if n < 2 {
		return 0
	}
	return (d.sums[v][w.to] - d.sums[v][w.from] - worst) / (n - 1)
}

// repeated returns an upper bound of the probability that a value has quanta as slow as those of w by chance, if each
// were drawn from its peers' quanta at any time: where single quanta often are that slow, a few in a row mean little.
// It is a union bound over k: the least probability that k quanta are as slow as the k slowest, times their number.
func (d *latencyRatios) repeated(v int, w window) float64 {
	one := func(u, t int) (ratio float64, known bool) {
		return d.sums[u][t+1] - d.sums[u][t], d.counts[u][t+1] > d.counts[u][t]
	}
	if d.sorted == nil {
		for u := range d.sums {
			for t := range len(d.sums[u]) - 1 {
				if ratio, known := one(u, t); known {
					d.sorted = append(d.sorted, ratio)
				}
			}
		}
		slices.Sort(d.sorted)
	}
	var own, whole []float64 // the value's blocks in w, and all of them
	for t := range len(d.sums[v]) - 1 {
		if ratio, known := one(v, t); known {
			whole = append(whole, ratio)
			if w.from <= t && t < w.to {
				own = append(own, ratio)
			}
		}
	}
	slices.Sort(own)
	slices.Sort(whole)
	peers := len(d.sorted) - len(whole)
	n, least := len(own), math.Inf(1)
	for k := 1; k <= n; k++ {
		below, _ := slices.BinarySearch(d.sorted, own[n-k])
		mine, _ := slices.BinarySearch(whole, own[n-k])
		share := float64(peers-(below-mine)+1) / float64(peers+1)
		least = min(least, logChoose(float64(n), float64(k))+float64(k)*math.Log(share))
	}
	return float64(n) * math.Exp(least)
}

// elsewhere returns the probability that a value measures as high by chance as v does in its window of n blocks, by
// what its peers measure at other times: the highest tenth of it is taken as the tail of an exponential distribution.
// It is 0 if there are too few such times to tell.
func elsewhere(v int, windows []window, n int, measure func(v int, w window) float64) float64 {
	w := windows[v]
	length := w.to - w.from
	var all []float64
	for from := n % length; from < n; from += length {
		one := window{from, from + length}
		for u := range windows {
			if m := measure(u, one); u != v && !one.overlaps(w) && !math.IsNaN(m) {
				all = append(all, m)
			}
		}
	}
	const leastTail = 6
	tail := len(all) / 10
	if tail < leastTail {
		return 0
	}
	slices.Sort(all)
	rest := len(all) - tail
	edge, sum := all[rest-1], 0.0
	for _, m := range all[rest:] {
		sum += m - edge
	}
	x := max(measure(v, w)-edge, 0) / max(sum, 1e-9)
	return float64(tail) / float64(len(all)) * math.Pow(1+x, -float64(tail))
}

// gain returns how much a separate level in w improves the fit of the logarithms: the decrease of the sum of squares.
// It is 0 if that level is below the peers'.
func (d *latencyRatios) gain(v int, w window) float64 {
	n := d.counts[v][w.to] - d.counts[v][w.from]
	if n == 0 {
		return 0
	}
	sum := max(d.sums[v][w.to]-d.sums[v][w.from], 0)
	return sum * sum / n
}

// leastSpread is the least spread assumed of the logarithm of a median. fio's buckets are 1/64 wide.
const leastSpread = 1.0 / 64

// factor returns how much slower a value was in w, with confidence limits.
func (d *latencyRatios) factor(v int, w window) [3]float64 {
	m, half := d.mean(v, w), z95*d.spreads.at(w).scale
	return [3]float64{math.Exp(m), math.Exp(m - half), math.Exp(m + half)}
}

// slow finds the values whose median latency is above their peers'.
func (g *group) slow(windows []window, d *latencyRatios) (out []candidate) {
	tried := make([]window, len(g.values)) // empty for none
	for v := range tried {
		tried[v], _ = best(windows, func(w window) float64 {
			if m := d.mean(v, w); m > math.Log(minFactor) {
				return d.z(m, w.to-w.from)
			}
			return 0
		})
	}
	for v, w := range tried {
		if w.to == 0 {
			continue
		}
		z := d.z(d.withoutWorst(v, w), w.to-w.from)
		w = refine(w, len(g.blocks), minQuanta, func(w window) float64 { return d.gain(v, w) })
		in := g.tallies(v, 0)
		all := in[w.to].minus(in[w.from])
		if all.allAbove == 0 {
			continue
		}
		lift := all.lift()
		p := min(upperTail(z)*float64(len(windows)), 1)
		if p <= falseDiscoveries { // otherwise it is not significant anyway
			once := max(d.repeated(v, w), elsewhere(v, tried, len(g.blocks), d.mean))
			p = min(max(p, once*float64(len(windows))), 1)
		}
		out = append(out, candidate{group: g, value: v, window: w, slow: true, factor: d.factor(v, w), atLoad: d.atLoad,
			p: p, share: all.above / all.allAbove, expected: all.expected / all.allAbove,
			lift: [3]float64{lift, lift, lift}, excess: all.above - all.expected})
	}
	return out
}

// best returns the window with the highest score above 0.
func best(windows []window, score func(window) float64) (w window, ok bool) {
	most := 0.0
	for _, one := range windows {
		if s := score(one); s > most {
			w, most, ok = one, s, true
		}
	}
	return w, ok
}

// spreads are indexed by window length.
type spreads []spread

// spreadsOf estimates the spread of a measure for each scanned window length, from adjacent windows. No spread is
// less than least. With few peers, windows longer than a quarter of the run take the spread of the longest shorter
// ones, because there are too few of them.
func spreadsOf(windows []window, values int, least float64, measure func(value int, w window) float64) spreads {
	n := windows[len(windows)-1].to
	out := make(spreads, n+1)
	last := 0
	for _, w := range windows {
		length := w.to - w.from
		if length == last {
			continue
		}
		blocks := make([][]float64, values)
		for v := range blocks {
			for from := n % length; from < n; from += length {
				blocks[v] = append(blocks[v], measure(v, window{from, from + length}))
			}
		}
		s := spreadOf(blocks)
		s.scale = max(s.scale, least)
		if values < manyPeers && 4*length > n && last > 0 {
			s = out[last]
		}
		for l := last + 1; l <= length; l++ {
			out[l] = s
		}
		last = length
	}
	return out
}

// z returns the deviation of a mean over length blocks as a standard normal deviate. Means over longer times do not
// vary more, so the spread of shorter windows, of which there are more, is an upper bound.
func (s spreads) z(mean float64, length int) (z float64) {
	for l := 1; l <= length; l++ {
		if l == 1 || s[l] != s[l-1] {
			z = max(z, normalOfT(mean/s[l].scale, s[l].freedom))
		}
	}
	return z
}

func (s spreads) at(w window) spread { return s[w.to-w.from] }
