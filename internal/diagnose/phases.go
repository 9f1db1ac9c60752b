package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
)

// Shift is the kind of a Segment that is at another level than before, to the end of the run.
const Shift = "shift"

const (
	// leastPhase is the least number of blocks of a phase.
	leastPhase = 6
	// leastMid is the factor of p50 that makes a phase or an incident.
	leastMid = 1.25
	// longestWarmUp is the part of a run that a warm-up takes at most if the run gets slower after it.
	longestWarmUp = 4
)

// leastFactors are the factors of p50, p99 and missing I/Os from which two phases differ.
var leastFactors = [3]float64{leastMid, leastSlow, 1 / leastFewer}

// slowness returns the logarithms of p50, of p99 and of one over IOPS, by block; NaN if unknown.
func (c *timeSeries) slowness() [3][]float64 {
	fewer := make([]float64, len(c.iops))
	top := 1.0 // a stall has as many I/Os as a level's mostFewer-th part
	if iops := known(c.iops); len(iops) > 0 {
		top = max(slices.Max(iops), 1)
	}
	for t, v := range c.iops {
		if fewer[t] = v; !math.IsNaN(v) {
			fewer[t] = -math.Log(max(v, top/100))
		}
	}
	return [3][]float64{c.p50, c.p99, fewer}
}

// phases returns where the level of one of the series changes, ascending, from 0 to n. It looks for the window whose
// values differ most from those outside by rank, and then inside and outside of it (circular binary segmentation:
// Olshen and others, Biostatistics 5 (2004), 557-572).
func phases(series [3][]float64) (at []int) {
	n := len(series[0])
	at = []int{0, n}
	var look func(from, to int)
	look = func(from, to int) {
		w, ok := differs(series, from, to)
		if !ok {
			return
		}
		for _, edge := range []int{w.from, w.to} {
			if !slices.Contains(at, edge) {
				at = append(at, edge)
			}
		}
		for _, part := range []window{{from, w.from}, w, {w.to, to}} {
			look(part.from, part.to)
		}
	}
	look(0, n)
	slices.Sort(at)
	return at
}

// differs returns the window from from to to whose level differs most from that of the rest, if it does.
func differs(series [3][]float64, from, to int) (best window, ok bool) {
	n := to - from
	if n < 2*leastPhase {
		return window{}, false
	}
	windows := scan(n, leastPhase)
	windows = slices.DeleteFunc(windows, func(w window) bool { return w.to-w.from > n-leastPhase })
	least := incidentAlpha
	values := func(k int) []float64 { return series[k][from:to] }
	for k := range series {
		r := newContrast(ranked(values(k)))
		w, score := window{}, 0.0
		for _, one := range windows {
			if s := r.score(one); s > score {
				w, score = one, s
			}
		}
		if score == 0 || math.Abs(apart(values(k), w)) < math.Log(leastFactors[k])/2 {
			continue
		}
		p := 2 * upperTail(math.Sqrt(score)/r.deviation(w)) * float64(len(windows)*len(series))
		if p >= least {
			continue
		}
		w = fit(series, from, to, w)
		if usual(towards(values(k), w)) <= incidentAlpha {
			best, ok, least = w, true, p
		}
	}
	if !ok {
		return best, false
	}
	best = window{best.from + from, best.to + from}
	for best.to < to && unknown(series, best.to) { // such as a last quantum that is not whole
		best.to++
	}
	return best, true
}

// fit moves the edges of a window from from to to by up to a quarter of it to where they fit all series best.
func fit(series [3][]float64, from, to int, w window) window {
	var of []*contrast
	var scale []float64
	for _, all := range series {
		v := newContrast(clipped(all[from:to]))
		of, scale = append(of, v), append(scale, max(v.spread(w), leastSpread))
	}
	found, near := w, max((w.to-w.from)/4, 2)
	return refine(w, to-from, 1, func(w window) (sum float64) {
		if max(w.from-found.from, found.from-w.from, w.to-found.to, found.to-w.to) > near {
			return 0
		}
		for k, v := range of {
			sum += v.score(w) / (scale[k] * scale[k])
		}
		return sum
	})
}

func unknown(series [3][]float64, t int) bool {
	return !slices.ContainsFunc(series[:], func(v []float64) bool { return !math.IsNaN(v[t]) })
}

// towards returns arguments of usual for w, or for the rest if it is shorter.
func towards(v []float64, w window) (off []float64, own func(t int) bool, taken []bool) {
	inside := 2*(w.to-w.from) <= len(v)
	sign := 1.0
	if apart(v, w) > 0 != inside {
		sign = -1
	}
	for _, x := range v {
		off = append(off, sign*x)
	}
	return off, func(t int) bool { return (w.from <= t && t < w.to) == inside }, nil
}

// apart returns the median of the values in w less that of those outside.
func apart(v []float64, w window) float64 {
	outside := slices.Concat(v[:w.from], v[w.to:])
	d := median(known(v[w.from:w.to])) - median(known(outside))
	if math.IsNaN(d) {
		return 0
	}
	return d
}

// clipped returns the values within a factor of mostFewer of their median.
func clipped(v []float64) (out []float64) {
	middle := median(known(v))
	for _, x := range v {
		out = append(out, min(max(x, middle-math.Log(mostFewer)), middle+math.Log(mostFewer)))
	}
	return out
}

// ranked returns the ranks of values from -0.5 to 0.5, equal ones in their middle; NaN stays.
func ranked(v []float64) []float64 {
	sorted := known(v)
	slices.Sort(sorted)
	out := make([]float64, len(v))
	for t, x := range v {
		if out[t] = x; math.IsNaN(x) {
			continue
		}
		low, _ := slices.BinarySearch(sorted, x)
		high := low
		for high < len(sorted) && sorted[high] == x {
			high++
		}
		out[t] = (float64(low+high)/2)/float64(len(sorted)) - 0.5
	}
	return out
}

// contrast compares the mean of values in windows with that of the others.
type contrast struct {
	v []float64
	prefix
}

func newContrast(v []float64) *contrast { return &contrast{v, newPrefix(v)} }

// means returns the means inside and outside of w, and the factor of a value's variance that gives that of their
// difference; 0 if either has no values.
func (c *contrast) means(w window) (in, out, variance float64) {
	n := len(c.v)
	sum, count := c.in(w)
	rest, others := c.sums[n]-sum, c.counts[n]-count
	if count == 0 || others == 0 {
		return 0, 0, 0
	}
	return sum / count, rest / others, 1/count + 1/others
}

// score is the square of the difference between the means of w and of the rest, over the factor of its variance.
func (c *contrast) score(w window) float64 {
	in, out, variance := c.means(w)
	if variance == 0 {
		return 0
	}
	return (in - out) * (in - out) / variance
}

// spread is the standard deviation of the values from the two means of w.
func (c *contrast) spread(w window) float64 {
	r := c.residuals(w)
	return math.Sqrt(r.squares / max(r.n-2, 1))
}

// deviation is the same for means of many values, which correlate with their neighbours as those of a process of first
// order do. The correlation is taken to be larger by its standard error and its bias.
func (c *contrast) deviation(w window) float64 {
	r := c.residuals(w)
	n := r.n
	if n < 4 || r.squares == 0 || r.pairs == 0 {
		return c.spread(w) + 1/max(n, 1)
	}
	rho := r.correlation()
	rho += (1+3*max(rho, 0))/n + 1/math.Sqrt(n)
	rho = min(max(rho, 0), 0.95)
	return max(math.Sqrt(r.squares/max(n-2, 1)), 1/n) * math.Sqrt((1+rho)/(1-rho))
}

// residuals are those of the values from the two means of w.
func (c *contrast) residuals(w window) residuals {
	in, out, _ := c.means(w)
	r := newResiduals()
	for t, x := range c.v {
		if w.from <= t && t < w.to {
			r.add(x - in)
		} else {
			r.add(x - out)
		}
	}
	return r
}

// levels are the levels of a run: what its blocks are, other than short incidents.
type levels struct {
	series [3][]float64
	phases []int    // where they begin, and the end
	warm   int      // end of a warm-up among the phases
	starts []int    // of levels, the first at 0
	kinds  []string // of what is at these levels: Steady, Ramp or Shift
	bad    []window // incidents
	ramp   *ramp
}

// newLevels tells which phases are incidents, from which the run recovers, and which begin a level to the end.
func newLevels(series [3][]float64) *levels {
	l := &levels{series: series, phases: phases(series), starts: []int{0}, kinds: []string{Steady}}
	if l.ramp = newRamp(series, l.phases); l.ramp != nil {
		l.rising()
		return l
	}
	n, last := l.phases[len(l.phases)-1], len(l.phases)-2
	if last == 0 {
		return l
	}
	next, ref := 1, 0
	back := func(from, ref int) int { // the first phase from from on that is not slower than ref
		for i := from; i <= last; i++ {
			if l.compare(i, ref) <= 0 {
				return i
			}
		}
		return -1
	}
	switch early := l.phases[1] <= n/longestWarmUp; {
	case early && (l.compare(1, 0) < 0 || l.compare(1, 0) > 0 && back(2, 0) < 0):
		for ref = 1; ref < last && l.phases[ref+1] <= n/longestWarmUp && l.compare(ref+1, ref) != 0; {
			ref++
		}
		l.warm, next = l.phases[ref], ref+1
	case l.compare(1, 0) < 0:
		l.bad = append(l.bad, window{0, l.phases[1]})
		ref, next = 1, 2
	}
	for i := next; i <= last; i++ {
		switch c := l.compare(i, ref); {
		case c > 0:
			to := back(i+1, ref)
			if to < 0 && l.level(2, i)-l.level(2, ref) > -math.Log(stalled) {
				to = last + 1
			}
			if to >= 0 {
				l.bad = append(l.bad, window{l.phases[i], l.phases[to]})
				i = to - 1
				continue
			}
			l.starts, l.kinds, ref = append(l.starts, l.phases[i]), append(l.kinds, Shift), i
		case c < 0 && l.faster(i, ref):
			l.starts, l.kinds, ref = append(l.starts, l.phases[i]), append(l.kinds, Shift), i
		}
	}
	return l
}

// rising sets the levels before, on and after a ramp.
func (l *levels) rising() {
	n := l.phases[len(l.phases)-1]
	l.phases = []int{0, n}
	if l.ramp.from == 0 {
		l.kinds[0] = Ramp
	} else {
		l.starts, l.kinds = append(l.starts, l.ramp.from), append(l.kinds, Ramp)
	}
	if l.ramp.to < n {
		l.starts, l.kinds = append(l.starts, l.ramp.to), append(l.kinds, Shift)
	}
}

// part removes incidents that are the quantum in which a level begins.
func (l *levels) part(bad []window) []window {
	for i, start := range l.starts {
		bad = slices.DeleteFunc(bad, func(w window) bool {
			if i == 0 || l.ramp != nil || w.to != start || w.to-w.from > 1 {
				return false
			}
			for _, v := range l.series {
				if v[w.from] > v[start]+math.Log(leastMid) {
					return false // worse than what follows
				}
			}
			l.starts[i] = w.from
			return true
		})
	}
	return bad
}

// faster reports whether all phases from i on are faster than ref.
func (l *levels) faster(i, ref int) bool {
	for ; i < len(l.phases)-1; i++ {
		if l.compare(i, ref) >= 0 {
			return false
		}
	}
	return true
}

// compare returns 1 if phase a is slower than b by one of the series, -1 if it is only faster, and 0 if they are alike.
func (l *levels) compare(a, b int) int {
	slower, faster := false, false
	for k, least := range leastFactors {
		d := (l.level(k, a) - l.level(k, b)) / math.Log(least)
		slower, faster = slower || d >= 1, faster || d <= -1
	}
	switch {
	case slower:
		return 1
	case faster:
		return -1
	}
	return 0
}

// level returns the median of a series in a phase; NaN if unknown.
func (l *levels) level(k, phase int) float64 {
	v := l.series[k][l.phases[phase]:l.phases[phase+1]]
	return median(known(v))
}

// off returns a series less its levels. The first one is taken from block from on. A phase that is only a little apart
// from its level has one of its own.
func (l *levels) off(k, from int) []float64 {
	n := len(l.series[k])
	out := make([]float64, 0, n)
	if l.ramp != nil {
		for t, v := range l.series[k] {
			out = append(out, v-l.ramp.bases[k]-l.ramp.slopes[k]*l.ramp.at(t))
		}
		level := median(known(out))
		for t := range out {
			out[t] -= level
		}
		return out
	}
	for i, start := range l.starts {
		end := n
		if i+1 < len(l.starts) {
			end = l.starts[i+1]
		}
		level := l.known(k, max(start, from), end)
		for phase, begin := range l.phases[:len(l.phases)-1] {
			own, until := level, l.phases[phase+1]
			if begin < start || begin >= end {
				continue
			}
			if begin >= from && !inside(l.bad, begin) {
				own = l.known(k, begin, until)
			}
			for _, v := range l.series[k][begin:until] {
				out = append(out, v-own)
			}
		}
	}
	return out
}

// known returns the median of a series from from to to, without incidents; NaN if unknown.
func (l *levels) known(k, from, to int) float64 {
	var known []float64
	for t := from; t < to; t++ {
		if v := l.series[k][t]; !math.IsNaN(v) && !inside(l.bad, t) {
			known = append(known, v)
		}
	}
	return median(known)
}

func inside(windows []window, t int) bool {
	return slices.ContainsFunc(windows, func(w window) bool { return w.from <= t && t < w.to })
}

// changed is a level that lasts to the end, or to the next one.
type changed struct {
	*Segment
	about  string  // Shift or Ramp
	to     int64   // ms
	factor float64 // by which it is worse than the one before
	text   string  // without a confidence
}

// shifts returns the levels that are worth a finding, and the findings about periods.
func shifts(segments []Segment) (out []changed, periods []Finding) {
	for i := range segments {
		s := &segments[i]
		if s.from != nil && s.Kind == Period {
			periods = append(periods, s.periodic())
			continue
		}
		if s.from == nil || s.from.Empty() || s.is.Empty() {
			continue
		}
		until, f := "the end", changed{Segment: s, about: Shift, to: s.ToMS}
		for _, o := range segments[i+1:] {
			if o.Direction == s.Direction && o.level > s.level {
				until, f.to = fio.Clock(o.FromMS), o.FromMS
				break
			} else if o.Direction == s.Direction {
				f.to = o.ToMS
			}
		}
		var words []string
		for _, m := range measures(s.from, s.is) {
			least := 1.0
			if m.rate() {
				least = 1e-9
			}
			factor := m.is / max(m.was, least)
			if math.Abs(math.Log(factor)) < math.Log(leastMid) {
				continue
			}
			words = append(words, fmt.Sprintf("%s times the %s (%s, before %s)", number(factor), m.name, m.format(m.is),
				m.format(m.was)))
			if m.rate() {
				factor = 1 / factor
			}
			f.factor = max(f.factor, factor)
		}
		if len(words) == 0 || s.Kind == Steady && f.factor <= 1 {
			continue
		}
		if s.Kind == Ramp {
			f.about, until = Ramp, fio.Clock(s.rampTo)
		}
		f.text = fmt.Sprintf("%s have %s from %s to %s", plural(s.Direction), strings.Join(words, ", "),
			fio.Clock(s.FromMS), until)
		if s.Kind == Ramp {
			f.text = fmt.Sprintf("%s change steadily from %s to %s, to %s", plural(s.Direction), fio.Clock(s.FromMS),
				until, strings.Join(words, ", "))
		}
		if s.Kind == Steady {
			f.text += ", or the time before was a warm-up"
		}
		for _, n := range s.Notes {
			f.text += n.said()
		}
		out = append(out, f)
	}
	return out, periods
}

func (c *changed) finding() Finding { return likely(c.about, c.factor, c.text) }
