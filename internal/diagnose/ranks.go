package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Ranked says how a value ranks among its peers, quantum by quantum.
type Ranked struct {
	// By is p99 or p99.9, or the share of the I/Os above the pooled one: "share above p99".
	By string `json:"by"`
	// Highest is the number of quanta in which it is the highest of all Peers, Quanta that of all quanta in which the
	// value has I/Os.
	Highest int `json:"highest"`
	Quanta  int `json:"quanta"`
	Peers   int `json:"peers"`
	// Factor is its percentile over the mean of its peers', both geometric means over the quanta.
	Factor float64 `json:"factor"`
}

// rankings are the measures by which values are ranked.
var rankings = []struct {
	percentile int // index in Percentiles
	share      bool
}{{1, false}, {2, false}, {1, true}, {2, true}}

const (
	// rankPeers is the least number of values that are ranked.
	rankPeers = 3
	// rankParts is the number of parts of a run that count as independent of each other, of rankPart blocks or more
	// each. Fewer than leastParts are too few.
	rankParts, rankPart, leastParts = 12, 5, 3
	// The spread between peers counts as if priorFreedom more of them had been seen, with a standard deviation of
	// priorSpread of the logarithm of a percentile, beside what it varies over time.
	priorFreedom, priorSpread = 4, 0.1
	// evenLoad is the most by which the mean I/Os of a value may differ from their median, as a factor, where there are
	// so few that the percentile depends on their number.
	evenLoad = 1.5
	// minTail is the least ratio of a value's p99 or p99.9 to its peers' that is reported.
	minTail = 1.3
	// suspicion is the probability by chance up to which a suspect is named.
	suspicion = 0.1
)

// minTimes is the least ratio of a value's share of its own I/Os that are above the pooled percentile to the others',
// for shares above p99 and p99.9.
var minTimes = [3]float64{1: 2, 2: 3}

// lead is a value that ranks high.
type lead struct {
	candidate
	by      int // index in rankings
	highest int // in blocks
	blocks  int
	times   float64 // the ratio of minTimes
	tail    float64 // Ranked.Factor
}

// leads returns the values that rank higher than chance explains, the least likely first, each by its best ranking. p
// is the probability that any value of any group does.
func (p *peers) leads() (out []lead) {
	tests := 0
	for _, g := range p.groups {
		if len(g.values) < rankPeers || p.repeats(g) {
			continue
		}
		tests += len(g.values) * len(rankings)
		for r := range rankings {
			for _, l := range g.ranked(r) {
				i := slices.IndexFunc(out, func(o lead) bool { return o.group == g && o.value == l.value })
				switch {
				case !l.large() || l.p > suspicion:
				case i < 0:
					out = append(out, l)
				case l.p < out[i].p:
					out[i] = l
				}
			}
		}
	}
	for i := range out {
		out[i].p = min(out[i].p*float64(tests), 1)
	}
	slices.SortStableFunc(out, func(a, b lead) int { return cmp.Compare(a.p, b.p) })
	return out
}

// large reports whether the value's tail is large enough to be reported.
func (l *lead) large() bool {
	r := rankings[l.by]
	switch {
	case r.share && r.percentile == 2:
		return l.times >= minTimes[2]
	case r.share:
		return l.times >= minTimes[1] && l.tail >= minTail
	}
	return l.times > 1 && l.tail >= minTail
}

// ranks are the ranks of a value.
type ranks struct {
	value           int
	score, tail     overTime // of its ranks, and the logarithms of the percentile
	n               float64  // mean I/Os in a block
	highest, blocks int
}

// overTime is the mean of a measure over the parts of a run.
type overTime struct {
	sums, counts   []float64 // by part
	mean, variance float64   // variance is that of the mean; NaN with too few parts
}

func newOverTime(parts int) overTime {
	return overTime{sums: make([]float64, parts), counts: make([]float64, parts)}
}

func (o *overTime) add(part int, v float64) {
	o.sums[part] += v
	o.counts[part]++
}

func (o *overTime) finish() {
	var of []float64
	for i, n := range o.counts {
		if n > 0 {
			of = append(of, o.sums[i]/n)
		}
	}
	if o.variance = math.NaN(); len(of) >= leastParts {
		var se float64
		o.mean, se = meanOf(of)
		o.variance = se * se
	}
}

// against are the means of all values but one.
type against struct{ n, means, squares, variances float64 }

func (a *against) add(o *overTime, sign float64) {
	a.n, a.means, a.squares = a.n+sign, a.means+sign*o.mean, a.squares+sign*o.mean*o.mean
	a.variances += sign * o.variance
}

// within is the mean of the variances of the means over time, and between the variance between the means.
func (a *against) within() float64 { return a.variances / a.n }

func (a *against) mean() float64 { return a.means / a.n }

func (a *against) between() float64 {
	return max(a.squares-a.means*a.means/a.n, 0) / (a.n - 1)
}

// ranked returns all values with the probability that they rank so high by chance. A value's scores are those of its
// rank in each block. Their mean over the run must be higher than its variation and its peers' over time explains, and
// the mean of its percentile higher than the peers' differ.
func (g *group) ranked(by int) (out []lead) {
	parts := min(len(g.blocks)/rankPart, rankParts)
	if parts < leastParts {
		return nil
	}
	values := g.ranks(by, parts)
	values = slices.DeleteFunc(values, func(r ranks) bool {
		return 2*r.blocks < len(g.blocks) || math.IsNaN(r.score.variance)
	})
	k := float64(len(values))
	if len(values) < rankPeers {
		return nil
	}
	var scores, tails against
	var sizes []float64
	for i := range values {
		r := &values[i]
		scores.add(&r.score, 1)
		tails.add(&r.tail, 1)
		sizes = append(sizes, r.n)
	}
	size := median(sizes)
	enough := 10 / (1 - Percentiles[rankings[by].percentile]/100)
	for i := range values {
		r := &values[i]
		if unlike := max(r.n/size, size/r.n) > evenLoad; unlike && !rankings[by].share && min(r.n, size) < enough {
			continue
		}
		scores.add(&r.score, -1)
		tails.add(&r.tail, -1)
		above := (r.score.mean - scores.mean()) / math.Sqrt(max(scores.within(), r.score.variance)*k/(k-1))
		p := upperTail(normalOfT(above, (k-1)*float64(parts-1)))
		freedom := k - 2 + priorFreedom
		spread := ((k-2)*tails.between() + priorFreedom*(tails.within()+priorSpread*priorSpread)) / freedom
		apart := (r.tail.mean - tails.mean()) / math.Sqrt(spread*k/(k-1))
		p = max(p, upperTail(normalOfT(apart, freedom)))
		if !math.IsNaN(p) {
			out = append(out, g.lead(by, r, p, math.Exp(r.tail.mean-tails.mean())))
		}
		scores.add(&r.score, 1)
		tails.add(&r.tail, 1)
	}
	return out
}

func (g *group) lead(by int, r *ranks, p, tail float64) lead {
	w := window{0, len(g.blocks)}
	percentile := rankings[by].percentile
	in := g.tallies(r.value, percentile)
	if all := in[w.to]; all.allAbove < float64(len(g.blocks)) && percentile == 2 { // too few I/Os for a p99.9
		percentile = 1
		in = g.tallies(r.value, percentile)
	}
	all := in[w.to]
	l := lead{by: by, highest: r.highest, blocks: r.blocks, tail: tail,
		candidate: candidate{group: g, value: r.value, percentile: percentile, window: w, p: p,
			factor: [3]float64{math.NaN(), math.NaN(), math.NaN()}, excess: all.above - all.expected}}
	if all.above > 0 && all.expected > 0 {
		// Infinite if the others have none.
		l.times = all.above / all.expected * (all.allAbove - all.expected) / (all.allAbove - all.above)
		l.share, l.expected = all.above/all.allAbove, all.expected/all.allAbove
		var lifts []float64
		for i, parts := 0, len(r.score.counts); i < parts; i++ {
			lifts = append(lifts, in[(i+1)*w.to/parts].minus(in[i*w.to/parts]).lift())
		}
		_, se := meanOf(lifts)
		half := z95 * se / all.lift()
		l.lift = [3]float64{all.lift(), all.lift() * math.Exp(-half), all.lift() * math.Exp(half)}
	}
	return l
}

// ranks scores all values.
func (g *group) ranks(by, parts int) []ranks {
	values := make([]ranks, len(g.values))
	for v := range values {
		values[v] = ranks{value: v, score: newOverTime(parts), tail: newOverTime(parts)}
	}
	type entry struct {
		value   int
		measure float64
	}
	var entries []entry
	var scores []float64
	for t := range g.blocks {
		b := &g.blocks[t]
		entries = entries[:0]
		for v := range b.members {
			if m := &b.members[v]; m.n >= fewest {
				entries = append(entries, entry{v, m.measure(b, by)})
			}
		}
		if len(entries) < rankPeers || 2*len(entries) < len(g.values) {
			continue
		}
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.measure, b.measure) })
		if len(scores) != len(entries) {
			scores = savage(len(entries))
		}
		for from, to := 0, 0; from < len(entries); from = to {
			sum := 0.0
			for ; to < len(entries) && entries[to].measure == entries[from].measure; to++ {
				sum += scores[to]
			}
			for _, e := range entries[from:to] {
				r, m := &values[e.value], &b.members[e.value]
				part := ((t+1)*parts - 1) / len(g.blocks)
				r.score.add(part, sum/float64(to-from))
				r.tail.add(part, float64(m.tails[rankings[by].percentile-1]))
				r.n += float64(m.n)
				r.blocks++
			}
			if from == len(entries)-1 {
				values[entries[from].value].highest++
			}
		}
	}
	for v := range values {
		r := &values[v]
		r.score.finish()
		r.tail.finish()
		r.n /= float64(r.blocks)
	}
	return values
}

// measure returns that of a ranking. A share is the significance of the I/Os above the percentile: it does not favour
// those who have few I/Os.
func (c *member) measure(b *block, by int) float64 {
	at := rankings[by].percentile
	if !rankings[by].share {
		return float64(c.tails[at-1])
	}
	return tally{above: float64(c.above[at]), allAbove: float64(b.above[at]), all: float64(b.all),
		expected: float64(b.above[at]) * float64(c.n) / float64(b.all)}.z()
}

// savage returns the scores of n ranks, the lowest first: the means of n ordered exponential variables, less 1 (Savage,
// Annals of Mathematical Statistics 27 (1956), 590-615). They tell the highest ranks apart, and their mean is 0.
func savage(n int) []float64 {
	scores := make([]float64, n)
	sum := -1.0
	for i := range scores {
		sum += 1 / float64(n-i)
		scores[i] = sum
	}
	return scores
}

// inRanks returns the leads that are significant and not told by found, the stragglers of single periods, and the
// likeliest suspect among the others; nil if there is none, or if anybody is named in its direction.
func (p *peers) inRanks(found []candidate) (out []candidate, suspect *candidate) {
	leads := p.leads()
	for i := range leads {
		l := &leads[i]
		related := func(o candidate) bool { return o.related(&l.candidate) }
		named := func(o candidate) bool { return o.group.direction == l.group.direction }
		if l.p > suspicion || slices.ContainsFunc(found, related) {
			continue
		}
		l.ranked = l
		ratios := l.group.latencyRatios()
		l.factor, l.atLoad = ratios.factor(l.value, l.window), ratios.atLoad
		if l.p > falseDiscoveries {
			if suspect == nil && !slices.ContainsFunc(found, named) && !slices.ContainsFunc(out, named) {
				suspect = &l.candidate
			}
			continue
		}
		// Of a host or job and its log, one is named.
		at := slices.IndexFunc(out, related)
		if at < 0 {
			out = append(out, l.candidate)
		} else if !l.covered(&out[at]) && out[at].covered(&l.candidate) {
			out[at] = l.candidate
		}
	}
	return out, suspect
}

// related reports whether both are the same value, or one is a log of the other.
func (c *candidate) related(o *candidate) bool {
	if c.group.direction != o.group.direction {
		return false
	}
	if c.group == o.group {
		return c.value == o.value
	}
	return c.logOf(o) || o.logOf(c)
}

// details returns what is told of l, in blocks of fold quanta.
func (l *lead) details(fold, quanta int) *Ranked {
	r := rankings[l.by]
	by := fmt.Sprintf("p%g", Percentiles[r.percentile])
	if r.share {
		by = "share above " + by
	}
	return &Ranked{By: by, Highest: min(l.highest*fold, quanta), Quanta: min(l.blocks*fold, quanta),
		Peers: len(l.group.values), Factor: l.tail}
}

// say continues a sentence: has WHAT.
func (r *Ranked) say() string {
	return fmt.Sprintf("the highest %s of %d in %d of %d quanta", r.By, r.Peers, r.Highest, r.Quanta)
}

// suspicion says who may be a straggler.
func (s *Straggler) suspicion() Finding {
	return Finding{About: "suspect", Confidence: confidence(s.P), Text: fmt.Sprintf(
		"Likeliest suspect: %s %s, which has %s, and %s of the %ss above p%g where %s were expected; chance alone lets "+
			"anybody lead like this in 1 of %.0f runs (odds %.0f : 1).", s.Dimension, s.Value, s.Ranked.say(),
		percent(s.Share), s.Direction, s.Percentile, percent(s.Expected), math.Floor(1/s.P), math.Floor(1/s.P)-1)}
}

// suspect returns the suspect, unless a level, a stall or an early end is about its direction or itself.
func (w *Watch) suspect(d *Diagnosis) *Straggler {
	s := w.peers.suspect
	if s == nil || slices.ContainsFunc(d.Levels, func(l Level) bool { return l.Direction == s.Direction }) ||
		slices.ContainsFunc(d.Stalls, func(o Stall) bool {
			return o.Dimension == s.Dimension && slices.Contains(o.Values, s.Value)
		}) {
		return nil
	}
	return s
}
