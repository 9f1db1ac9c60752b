package sla

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// Status is the state of a rule.
type Status string

// Statuses, from best to worst.
const (
	OK      Status = "ok"
	Unknown Status = "unknown" // too few I/Os to tell, or none
	Broken  Status = "broken"
)

// Verdict is the verdict on a rule in one interval.
type Verdict struct {
	Rule   *fio.SLARule
	Status Status
	// Value is the metric over the window, in ns or completions per second; Known is
	// false if it has no value.
	Value float64
	Known bool
	// Stalled means that nothing completed while the job ran. Value is then the time
	// since the last completion, a lower bound of the latency.
	Stalled bool
	// Partial says that the interval is partial.
	Partial bool
	// Window is the length in ns of the window that was evaluated, at least an interval.
	Window int64
	// Share is the fraction of the interval's I/Os within the threshold, 0 to 1, with
	// linear interpolation inside a bucket; -1 without I/O, and for iops.
	Share float64
}

// Interval is what one scope did in one interval.
type Interval struct {
	Start, Length int64 // ns
	Hist          *fiohist.Hist
	Limits        fiohist.Limits // of the scope, as in fiohist.Stats
	// Running is true if jobs of the scope ran during the interval. IOPS is the number of
	// completions per second of that time. With Partial, they ran in a part of the interval only: too short to judge a
	// rate by.
	Running, Partial bool
	IOPS             float64
}

// Judge evaluates the rules of one scope. It keeps the histograms of as many intervals as
// the longest Over covers.
type Judge struct {
	rules   []*fio.SLARule
	g       fiohist.Geometry
	share   float64 // of the error probability of the run that each rule has
	past    []past  // oldest first, including the current interval
	last    int64   // end of the last interval with a completion, or the start of the first
	started bool
	judged  int       // intervals so far
	intact  []int     // by rule: intervals since it was last broken, to which windows are limited
	bunches []bunches // by rule, of all intervals in which it was not broken
	rate    float64   // completions per ns: moving average in which the last interval with I/O has the weight 1/2
}

// past is an interval that was judged.
type past struct {
	fiohist.Sparse
	length int64
	before []bunches // by rule
}

// NewJudge returns a Judge for histograms with geometry g. The run has so many rules in all its scopes.
func NewJudge(g fiohist.Geometry, rules []*fio.SLARule, ofRun int) *Judge {
	return &Judge{rules: rules, g: g, share: 1 / float64(ofRun), intact: make([]int, len(rules)),
		bunches: make([]bunches, len(rules))}
}

// A run that keeps its rules is found to break one of them with the probability falseBreach at most, however many
// intervals and windows are looked at. An interval that does not keep a rule is ok with falseOK at most.
const (
	falseBreach = 0.01
	falseOK     = 0.025
)

// spent returns the part of an error probability that the test number n, counted from 0, may use up. Together all tests
// use up the whole: the sum of 1/(n+1)(n+2) is 1.
func spent(n int) float64 { return 1 / (float64(n+1) * float64(n+2)) }

// falseBreach returns the probability with which the current interval may be broken by chance.
func (j *Judge) falseBreach() float64 { return falseBreach * j.share * spent(j.judged) }

// stalled reports whether so many ns without completion are no pause in random arrivals: at half of the recent rate,
// they have the probability exp(-rate x ns / 2).
func (j *Judge) stalled(ns float64) bool { return math.Exp(-j.rate*ns/2) <= j.falseBreach() }

// Judge evaluates the next interval and returns a verdict for each rule, in order.
func (j *Judge) Judge(q *Interval) []Verdict {
	if !j.started {
		j.started, j.last = true, q.Start
	}
	j.remember(q)
	samples := q.Hist.Sum()
	end := q.Start + q.Length
	out := make([]Verdict, 0, len(j.rules))
	for i, r := range j.rules {
		v := j.verdict(r, q)
		switch {
		case !r.Latency():
		case samples > 0:
			j.widen(i, q, &v)
		case q.Running && !r.Above:
			v.Value, v.Known, v.Stalled = float64(end-j.last), true, true
			if q.Partial { // the jobs may have ended right at its start
				v.Value = float64(q.Start - j.last)
			}
			if !r.Met(v.Value) && j.stalled(v.Value) {
				v.Status = Broken
			}
		}
		j.intact[i]++
		if v.Status == Broken {
			j.intact[i] = 0
		}
		out = append(out, v)
	}
	j.judged++
	if samples > 0 {
		// A stall rarely starts at the edge of an interval: the few I/Os of the interval in
		// which it starts are not the usual rate.
		rate := samples / float64(q.Length)
		if j.rate > 0 {
			rate = (j.rate + rate) / 2
		}
		j.last, j.rate = end, rate
	}
	return out
}

// verdict returns the verdict on a rate; of a latency only the share.
func (j *Judge) verdict(r *fio.SLARule, q *Interval) Verdict {
	v := Verdict{Rule: r, Status: Unknown, Partial: q.Partial, Window: q.Length, Share: Share(r, j.g, q.Hist)}
	if r.Latency() {
		return v
	}
	v.Known, v.Value = q.Running, q.IOPS
	switch {
	case !q.Running || q.Partial:
	case r.Met(q.IOPS):
		v.Status = OK
	default:
		v.Status = Broken
	}
	return v
}

// Whole returns the verdict on each rule, in order, for the sum of all intervals: one more test, after those of the
// intervals.
func (j *Judge) Whole(q *Interval) []Verdict {
	out := make([]Verdict, 0, len(j.rules))
	for i, r := range j.rules {
		v := j.verdict(r, q)
		if r.Latency() && !q.Hist.Empty() {
			e := evidence{g: j.g, limits: q.Limits, ok: falseOK, broken: j.falseBreach(), bunches: j.bunches[i]}
			v.Status, v.Value = e.judge(r, q.Hist)
			v.Known = true
		}
		out = append(out, v)
	}
	return out
}

// Silent returns the verdict on each rule, in order, if no data has arrived for silence
// ns: broken if a latency of that length breaks the rule and enough completions are
// missing, otherwise unknown. Window is the time, in multiples of the interval length,
// after which an empty window breaks the rule.
func (j *Judge) Silent(silence, length int64) []Verdict {
	out := make([]Verdict, 0, len(j.rules))
	for _, r := range j.rules {
		v := Verdict{Rule: r, Status: Unknown, Value: float64(silence), Known: true, Stalled: true,
			Window: length, Share: -1}
		if r.Latency() && !r.Above && !r.Met(v.Value) && j.stalled(v.Value) {
			v.Status = Broken
			for r.Met(float64(v.Window)) {
				v.Window += length
			}
		}
		out = append(out, v)
	}
	return out
}

// remember adds the interval to the past and drops what no window reaches.
func (j *Judge) remember(q *Interval) {
	s := past{length: q.Length, before: slices.Clone(j.bunches)}
	s.Set(q.Hist)
	j.past = append(j.past, s)
	over, held := int64(0), int64(0)
	for _, r := range j.rules {
		over = max(over, int64(r.Over))
	}
	for i := len(j.past) - 1; i >= 0; i-- {
		held += j.past[i].length
		if held > over && i < len(j.past)-1 {
			j.past = j.past[:copy(j.past, j.past[i+1:])]
			return
		}
	}
}

// widen doubles the window backwards until the verdict is certain or the window reaches the rule's maximum. It does not
// reach back over a broken interval. Without a certain verdict the value is the interval's.
func (j *Judge) widen(rule int, q *Interval, v *Verdict) {
	r := j.rules[rule]
	most, length := 0, int64(0)
	for i := len(j.past) - 1; i >= max(len(j.past)-j.intact[rule]-1, 0); i-- {
		length += j.past[i].length
		if length > int64(r.Over) && most > 0 {
			break
		}
		most++
	}
	with := j.bunches[rule] // with this interval's bunches
	if r.Percentile > 0 {
		with.add(violations(r, j.g, q.Hist, q.Limits))
	}
	var sum fiohist.Hist
	length = 0
	for taken, want, window := 0, 1, 0; ; want, window = min(2*want, most), window+1 {
		for ; taken < want; taken++ {
			s := &j.past[len(j.past)-1-taken]
			sum.AddAll(s.Index, s.Count, 0)
			length += s.length
		}
		e := evidence{g: j.g, limits: q.Limits, ok: falseOK * spent(window),
			broken: j.falseBreach() * spent(window), bunches: j.past[len(j.past)-taken].before[rule]}
		if own := with.without(e.bunches); taken >= ownBunches && own.violations > e.bunches.violations {
			e.bunches = own
		}
		status, value := e.judge(r, &sum)
		if status == OK && taken > 1 && !r.Met(v.Value) {
			status = Unknown // a longer window only hides what the interval shows
		}
		if status != Unknown || !v.Known {
			v.Status, v.Value, v.Known, v.Window = status, value, true, length
		}
		if status != Unknown || want == most {
			break
		}
	}
	if v.Status != Broken {
		j.bunches[rule] = with
	}
}

// evidence is what a window is judged by: the error probabilities of either verdict, and the bunches in which I/Os
// violate the rule.
type evidence struct {
	g          fiohist.Geometry
	limits     fiohist.Limits
	ok, broken float64
	bunches    bunches
}

// judge applies a rule to a non-empty histogram.
func (e *evidence) judge(r *fio.SLARule, h *fiohist.Hist) (Status, float64) {
	var wanted []float64
	if r.Percentile > 0 {
		wanted = []float64{r.Percentile}
	}
	s := h.Stats(e.g, wanted, e.limits)
	switch {
	case r.Percentile > 0:
		allowed := 1 - r.Percentile/100 // the share of I/Os that may violate the rule
		if r.Above {
			allowed = r.Percentile / 100
		}
		least, most, n := violations(r, e.g, h, e.limits)
		size, usual := e.bunches.size(1), e.bunches.size(usualBunch)
		if l := e.limits; l.Known && !r.Met(float64(l.Min)) && !r.Met(float64(l.Max)) {
			usual = 1 // all I/Os of the run violate it: these are no bunches
		}
		switch {
		case atLeast(least/usual, n/usual, allowed) <= e.broken:
			return Broken, s.Percentiles[0]
		case atLeast((n-most)/size, n/size, 1-allowed) <= e.ok:
			return OK, s.Percentiles[0]
		}
		return Unknown, s.Percentiles[0]
	case r.Name == "mean":
		if s.Samples < 2 {
			return Unknown, s.Mean
		}
		limit := func(level float64) float64 {
			t := fiohist.StudentQuantile(2*level, int(min(s.Samples-1, fiohist.ManyDegrees)))
			return t * s.StdDev / math.Sqrt(s.Samples)
		}
		sign := 1.0
		if r.Above {
			sign = -1
		}
		switch {
		case !r.Met(s.Mean - sign*limit(e.broken)):
			return Broken, s.Mean
		case r.Met(s.Mean + sign*limit(e.ok)):
			return OK, s.Mean
		}
		return Unknown, s.Mean
	}
	// The greatest latency is in the top bucket.
	top := 0
	h.Each(func(i int, _ float64) { top = i })
	lower, upper := min(max(float64(e.g.Lower(top)), s.Min), s.Max), s.Max
	if top == e.g.Last() {
		upper = math.Inf(1)
		if e.limits.Known {
			upper = float64(e.limits.Max)
		}
	}
	if r.Above {
		lower, upper = upper, lower
	}
	switch {
	case r.Met(upper):
		return OK, s.Max
	case !r.Met(lower):
		return Broken, s.Max
	}
	return Unknown, s.Max
}

// atLeast returns the probability of k or more of n I/Os if each is one of them with the probability p, from the
// incomplete beta function (NIST Handbook of Mathematical Functions, 8.17.5), also for numbers that are not whole.
func atLeast(k, n, p float64) float64 {
	if k <= 0 {
		return 1
	}
	return mathext.RegIncBeta(k, max(n-k, 0)+1, p)
}

// violations returns how many of the n I/Os of h certainly violate the threshold, and how many possibly do, as fio's
// buckets and its smallest and largest latency tell.
func violations(r *fio.SLARule, g fiohist.Geometry, h *fiohist.Hist, limits fiohist.Limits) (least, most, n float64) {
	h.Each(func(i int, w float64) {
		lo, hi := float64(g.Lower(i)), float64(g.Upper(i))
		if i == g.Last() {
			hi = math.Inf(1)
		}
		if limits.Known {
			lo, hi = max(lo, float64(limits.Min)), min(hi, float64(limits.Max))
		}
		best, worst := lo, hi
		if r.Above {
			best, worst = hi, lo
		}
		n += w
		if !r.Met(worst) && worst != r.Threshold {
			most += w
			if !r.Met(best) {
				least += w
			}
		}
	})
	return least, most, n
}

// bunches are sums over intervals, from which follows the size of the bunches in which I/Os violate a rule. Slow I/Os
// come together, and a bunch of them tells no more than a single one.
type bunches struct {
	violations, ios float64
	intervals       int
	squares         float64 // of the violations of an interval, each divided by its I/Os
}

const (
	// usualBunch is the size of bunches that is assumed at first for a breach, with the weight of so many violations
	// and intervals.
	usualBunch, usualWeight = 10, 10
	// ownBunches is the number of intervals from which on a window tells the size itself.
	ownBunches = 8
)

func (b *bunches) add(violations, _, ios float64) {
	b.violations, b.ios, b.intervals = b.violations+violations, b.ios+ios, b.intervals+1
	b.squares += violations * violations / ios
}

func (b bunches) without(o bunches) bunches {
	return bunches{b.violations - o.violations, b.ios - o.ios, b.intervals - o.intervals, b.squares - o.squares}
}

// size returns Pearson's chi-squared of the violations of all intervals divided by its degrees of freedom, the usual
// factor of overdispersion (McCullagh and Nelder, Generalized Linear Models, 1989, section 4.5), drawn towards
// the usual size where there are few.
func (b bunches) size(usual float64) float64 {
	sum, weight := usual*usualWeight, float64(usualWeight)
	if b.intervals > 1 && b.violations > 0 {
		mean, freedom := b.violations/b.ios, float64(b.intervals-1)
		known := min(b.violations, freedom)
		sum += known * (b.squares - b.violations*mean) / mean / freedom
		weight += known
	}
	return max(sum/weight, 1)
}

// Share is the fraction of the I/Os of h, with geometry g, within the threshold, 0 to 1,
// with linear interpolation inside a bucket; -1 without I/O, and for iops. I/Os in the
// last bucket, which has no upper edge, count as above the threshold.
func Share(r *fio.SLARule, g fiohist.Geometry, h *fiohist.Hist) float64 {
	if !r.Latency() || h.Empty() {
		return -1
	}
	below, samples := 0.0, 0.0
	h.Each(func(i int, w float64) {
		samples += w
		lo, hi := float64(g.Lower(i)), float64(g.Upper(i))
		switch {
		case i == g.Last():
		case hi <= r.Threshold:
			below += w
		case lo < r.Threshold:
			below += w * (r.Threshold - lo) / (hi - lo)
		}
	})
	if r.Above {
		return max(1-below/samples, 0)
	}
	return min(below/samples, 1)
}
