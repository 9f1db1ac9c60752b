package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// The kinds of a Segment.
const (
	WarmUp   = "warm-up"
	Steady   = "steady"
	Incident = "incident"
	Recovery = "recovery"
)

const (
	// leastSlow and leastFewer are the factors of p99 and of I/Os per second that make an incident.
	leastSlow, leastFewer = 1.35, 1 / 1.3
	// stalled is the share of the steady I/Os per second below which there is a stall.
	stalled = 0.1
	// mostSlow and mostFewer are the factors at which the deviation of a block is clipped.
	mostSlow, mostFewer = 4, 2 / stalled
	// leastWarmUp is the least factor by which a warm-up differs from the steady level.
	leastWarmUp = 1.15
	// minWarmUpZ is the least deviation of a warm-up in standard deviations.
	minWarmUpZ = 4
	// maxSteadyZ is the largest deviation of the steady level in standard deviations.
	maxSteadyZ = 2.5
	// incidentAlpha is the false positive probability of an incident or a level, for each series of a direction.
	incidentAlpha = 1e-3
	// noiseAlpha is the same by the normal approximation, which understates it.
	noiseAlpha = 1e-4
)

// Segment is a time interval of a run in which one direction behaved in one way.
type Segment struct {
	Kind      string `json:"kind"` // warm-up, steady, incident, recovery, shift, ramp or period
	FromMS    int64  `json:"from_ms"`
	ToMS      int64  `json:"to_ms"`
	Direction string `json:"direction"`
	// P50 and P99 are in ns, null without I/O; IOPS is completions per second.
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	IOPS float64  `json:"iops"`
	// Why says how it differs from the steady segments; "" for steady.
	Why string `json:"why"`
	// WorstP99 is the highest p99 of a block of quanta, in ns.
	WorstP99 *float64 `json:"worst_p99"`
	// LostIOPS is how many completions per second were missing in the worst block of an incident.
	LostIOPS float64 `json:"lost_iops"`
	// Beyond is the number of I/Os in whole buckets above the p99.9 of the steady segments.
	Beyond float64 `json:"beyond_steady_p99_9"`
	// PeriodMS is the length of a period, Times how often what happens in it does.
	PeriodMS int64 `json:"period_ms,omitempty"`
	Times    int   `json:"times,omitempty"`
	// Notes are the notes from shortly before an incident, or from its first quantum.
	Notes []Note `json:"notes,omitempty"`

	level    int        // which one it is compared with
	from, is *reference // the levels before and after, where another one begins
	rampTo   int64      // the end of a ramp that begins with this segment, ms
}

// Note is a note by a user on a run.
type Note struct {
	AtMS int64  `json:"at_ms"` // from the run's start
	Text string `json:"text"`
}

func (n *Note) said() string { return fmt.Sprintf("; noted at %s: %s", fio.Clock(n.AtMS), n.Text) }

// leading is the time before an incident in which notes are shown with it.
const leading = time.Minute

// leadingTo returns the notes shown with an incident. interval is the length of a quantum in ns.
func leadingTo(s *Segment, notes []Note, interval int64) (out []Note) {
	for _, n := range notes {
		if n.AtMS >= s.FromMS-leading.Milliseconds() && n.AtMS < s.FromMS+interval/1e6 {
			out = append(out, n)
		}
	}
	return out
}

// span is a time interval in ns from the run's start.
type span struct{ From, To int64 }

// timeline keeps the histogram of all I/Os over time, by direction.
type timeline struct {
	geometry fiohist.Geometry
	first    int64
	interval int64
	fold     int
	quanta   int
	by       map[string][]*fiohist.Hist
	// window is log_hist_msec, in ns: without fio's JSON, logs that ended together seem to end up to so long apart.
	window int64
}

// newTimeline returns a timeline for quanta of interval ns from first on.
func newTimeline(geometry fiohist.Geometry, first, interval int64) *timeline {
	return &timeline{geometry: geometry, first: first, interval: interval, fold: 1, by: map[string][]*fiohist.Hist{}}
}

// Add adds the leaves of the quantum that starts at offset. Quanta come in ascending order, with gaps.
func (tl *timeline) Add(offset int64, leaves []leaf) { tl.add(offset, new(pools).collect(leaves)) }

func (tl *timeline) add(offset int64, pooled []pool) {
	n := int((offset - tl.first) / tl.interval)
	tl.quanta = n + 1
	for tl.quanta > 2*maxBlocks*tl.fold {
		tl.halve()
	}
	at := n / tl.fold
	for i := range pooled {
		p := &pooled[i]
		blocks := tl.by[p.direction]
		for len(blocks) <= at {
			blocks = append(blocks, nil)
		}
		if before := blocks[at]; before != nil {
			before.AddHist(p.hist)
			blocks[at] = before.Pack()
		} else {
			blocks[at] = p.hist.Pack()
		}
		tl.by[p.direction] = blocks
	}
}

// halve adds up blocks in pairs.
func (tl *timeline) halve() {
	tl.fold *= 2
	for direction, blocks := range tl.by {
		var out []*fiohist.Hist
		for i := 0; i < len(blocks); i += 2 {
			var sum fiohist.Hist
			for _, h := range blocks[i:min(i+2, len(blocks))] {
				sum.AddHist(h)
			}
			out = append(out, sum.Pack())
		}
		tl.by[direction] = out
	}
}

// Directions returns the directions that had I/O, sorted.
func (tl *timeline) Directions() []string { return slices.Sorted(maps.Keys(tl.by)) }

// timeSeries is the time series of one direction, by block.
type timeSeries struct {
	*timeline
	direction string
	hists     []*fiohist.Hist // nil without I/O
	p50, p99  []float64       // natural logarithms; NaN if unknown
	iops      []float64       // per second, scaled to all logs running; NaN if logs ran in less than half of the block
	seconds   []float64       // time in which any log ran
}

// Segments returns the segments of all directions in order of time. running returns the times in which each log of a
// direction ran and has its records; if it is nil, all did throughout.
func (tl *timeline) Segments(running func(direction string) []span) (out []Segment) {
	for _, d := range tl.Directions() {
		var spans []span
		if running != nil {
			spans = running(d)
		}
		out = append(out, tl.timeSeries(d, spans).segments()...)
	}
	slices.SortStableFunc(out, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.FromMS, b.FromMS), cmp.Compare(a.Direction, b.Direction))
	})
	return out
}

func (tl *timeline) timeSeries(direction string, spans []span) *timeSeries {
	length := tl.interval * int64(tl.fold)
	n := (tl.quanta + tl.fold - 1) / tl.fold
	end := tl.first + int64(tl.quanta)*tl.interval
	if spans == nil {
		spans = []span{{tl.first, end}}
	}
	c := &timeSeries{timeline: tl, direction: direction, hists: make([]*fiohist.Hist, n)}
	copy(c.hists, tl.by[direction])
	share := make([]float64, n) // mean number of logs that ran
	top, ended := 0.0, end
	for i, s := range spans {
		if i == 0 || s.To > ended {
			ended = s.To
		}
	}
	for t := range n {
		from := tl.first + int64(t)*length
		to := min(from+length, end)
		union := span{to, from}
		for _, s := range spans {
			if a, b := max(s.From, from), min(s.To, to); b > a {
				share[t] += float64(b-a) / float64(to-from)
				union = span{min(union.From, a), max(union.To, b)}
			}
		}
		c.seconds = append(c.seconds, float64(max(union.To-union.From, 0))/1e9)
		top = max(top, share[t])
	}
	tail := max(min(int((ended-2*max(tl.window, length)-tl.first+length-1)/length), n), 0)
	full := top // the logs that ran before they ended
	if tail > 0 {
		full = share[tail-1]
	}
	for t, h := range c.hists {
		p50, p99, iops := math.NaN(), math.NaN(), math.NaN()
		if h == nil {
			h = new(fiohist.Hist)
		}
		s := h.Stats(tl.geometry, []float64{50, 99}, fiohist.Limits{})
		from := tl.first + int64(t)*length
		to := min(from+length, end)
		// not the edge of the time in which logs ran
		whole := c.seconds[t] >= float64(to-from)/1e9/2 && (t < tail || share[t] >= 0.99*full)
		if s.Samples >= fewest && whole {
			p50, p99 = math.Log(max(s.Percentiles[0], 1)), math.Log(max(s.Percentiles[1], 1))
		}
		if whole {
			iops = s.Samples / (float64(to-from) / 1e9) * top / share[t]
		}
		c.p50, c.p99, c.iops = append(c.p50, p50), append(c.p99, p99), append(c.iops, iops)
	}
	return c
}

// shift is the deviation of a series from its steady level, by block.
type shift struct {
	off     []float64 // NaN if unknown
	clipped prefix
	spreads spreads
}

// newShift returns a shift in which deviations are clipped to the factor most.
func newShift(off []float64, most float64, windows []window) *shift {
	var clipped []float64
	for _, v := range off {
		clipped = append(clipped, min(max(v, -math.Log(most)), math.Log(most)))
	}
	s := &shift{off: off, clipped: newPrefix(clipped)}
	s.spreads = spreadsOf(windows, 1, leastSpread, func(_ int, w window) float64 { return s.mean(w) })
	return s
}

// mean returns the mean deviation in w; 0 if nothing is known.
func (s *shift) mean(w window) float64 {
	sum, n := s.clipped.in(w)
	if n == 0 {
		return 0
	}
	return sum / n
}

// z returns the mean deviation in w in standard deviations.
func (s *shift) z(w window) float64 { return s.mean(w) / s.spreads.at(w).scale }

// steady reports whether the given number of blocks from t on are at the steady level.
func (s *shift) steady(t, blocks int) bool {
	w := window{t, min(t+blocks, len(s.off))}
	return math.Abs(s.mean(w)) <= max(maxSteadyZ*s.spreads.at(w).scale, leastSpread)
}

// up returns how far w is above the steady level in all series together, in standard deviations of a single block.
func up(series []*shift, w window) float64 {
	sum := 0.0
	for _, s := range series {
		z := max(s.mean(w), 0) / s.spreads[1].scale
		sum += z * z
	}
	return math.Sqrt(sum * float64(w.to-w.from))
}

// incidents returns the windows in which one of the series is up significantly, and by at least its least factor.
// Their edges are those that fit all series best. Those that are known are among them.
func incidents(series []*shift, least []float64, windows, known []window) (out []window) {
	n := len(series[0].off)
	taken := make([]bool, n)
	for t := range taken {
		taken[t] = inside(known, t)
	}
	out = slices.Clone(known)
	for k, s := range series {
		for {
			w, z := window{}, 0.0
			for _, one := range windows {
				if s.mean(one) < math.Log(least[k]) || slices.Contains(taken[one.from:one.to], true) {
					continue
				}
				if score := s.spreads.z(s.mean(one), one.to-one.from); score > z {
					w, z = one, score
				}
			}
			if upperTail(z)*float64(len(windows)) > noiseAlpha {
				break
			}
			w = refine(w, n, 1, func(w window) float64 {
				if s.mean(w) < math.Log(least[k]) || slices.Contains(taken[w.from:w.to], true) {
					return 0
				}
				return up(series, w)
			})
			own := func(t int) bool { return w.from <= t && t < w.to }
			if usual(s.off, own, taken) > incidentAlpha {
				break
			}
			out = append(out, w)
			for t := w.from; t < w.to; t++ {
				taken[t] = true
			}
		}
	}
	return out
}

func (c *timeSeries) segments() []Segment {
	n := len(c.hists)
	windows := scan(n, 1)
	levels := newLevels(c.slowness())
	offs := func(from int) []*shift {
		return []*shift{newShift(levels.off(1, from), mostSlow, windows),
			newShift(levels.off(2, from), mostFewer, windows), newShift(levels.off(0, from), mostSlow, windows)}
	}
	end := n // of the first level
	if len(levels.starts) > 1 {
		end = levels.starts[1]
	}
	// The second half of the level is what ends a warm-up.
	series, warm := offs(max(end/2, levels.warm)), 0
	for warm < end/2 && !steady(series, warm, 5) {
		warm++
	}
	begin := window{0, warm}
	starts := func(s *shift) bool {
		return math.Abs(s.mean(begin)) >= math.Log(leastWarmUp) && math.Abs(s.z(begin)) >= minWarmUpZ
	}
	if levels.ramp != nil || warm == 0 || warm == end/2 || !slices.ContainsFunc(series, starts) ||
		inside(levels.bad, 0) {
		warm = levels.warm
	}
	series = offs(warm)
	bad := incidents(series, []float64{leastSlow, 1 / leastFewer, leastSlow}, windows, levels.bad)
	bad = levels.part(merge(bad, warm))
	again := newPeriod(series, []float64{leastSlow, 1 / leastFewer, leastMid}, warm)
	if again != nil && slices.ContainsFunc(levels.bad, again.overlaps) {
		again = nil
	}
	if again != nil {
		bad = append(slices.DeleteFunc(bad, again.overlaps), again.window)
		slices.SortFunc(bad, func(a, b window) int { return a.from - b.from })
	}
	cut := cutter{levels: levels}
	cut.to(WarmUp, warm)
	for i, w := range bad {
		cut.to(Steady, w.from)
		if again != nil && w == again.window {
			cut.to(Period, w.to)
			continue
		}
		cut.to(Incident, w.to)
		until := n
		if i+1 < len(bad) {
			until = bad[i+1].from
		}
		for _, start := range levels.starts {
			if cut.at <= start {
				until = min(until, start)
			}
		}
		back := cut.at
		for back < until && !steady(series, back, 3) {
			back++
		}
		cut.to(Recovery, back)
	}
	cut.to(Steady, n)
	out := c.describe(cut.parts)
	for i := range out {
		if out[i].Kind == Period {
			c.describePeriod(&out[i], again)
		}
	}
	if levels.ramp != nil {
		c.describeRamp(out, cut.parts, levels.ramp.window)
	}
	return out
}

// steady reports whether the given number of blocks from t on are at the steady level in all series.
func steady(series []*shift, t, blocks int) bool {
	return !slices.ContainsFunc(series, func(s *shift) bool { return !s.steady(t, blocks) })
}

// cutter cuts a run into parts, in order of time.
type cutter struct {
	*levels
	parts     []part
	at, level int // the end so far, and the level there
}

// to adds parts of a kind up to a block, one of each level.
func (c *cutter) to(kind string, to int) {
	for c.at < to {
		until := to
		if c.level+1 < len(c.starts) {
			until = min(to, c.starts[c.level+1])
		}
		one := part{kind, window{c.at, until}, c.level}
		if kind == Steady {
			one.kind = c.kinds[c.level]
		}
		if until > c.at {
			c.parts = append(c.parts, one)
		}
		if c.at = until; c.at < to {
			c.level++
		}
	}
}

// describeRamp compares the first eighth of a ramp, or what is before, with the last one, or what is after.
func (c *timeSeries) describeRamp(out []Segment, parts []part, w window) {
	eighth := max((w.to-w.from)/8, 1)
	from, to := window{0, w.from}, window{w.to, len(c.hists)}
	if w.from == 0 {
		from = window{0, eighth}
	}
	if w.to == len(c.hists) {
		to = window{w.to - eighth, w.to}
	}
	before, after := c.reference([]part{{window: from}}, nil), c.reference([]part{{window: to}}, nil)
	for i := range out {
		s := &out[i]
		s.from, s.is = nil, nil
		if s.Kind != Ramp {
			continue
		}
		s.Why = ""
		if !before.Empty() && !after.Empty() {
			s.Why = fmt.Sprintf("p50 %s to %s; p99 %s to %s; %s to %s IOPS", latency(before.Percentiles[0]),
				latency(after.Percentiles[0]), latency(before.Percentiles[1]), latency(after.Percentiles[1]),
				number(before.iops), number(after.iops))
		}
		if i == 0 || !slices.ContainsFunc(parts[:i], func(p part) bool { return p.kind == Ramp }) {
			s.from, s.is = before, after
			s.rampTo = min((c.first+int64(w.to)*c.interval*int64(c.fold))/1e6,
				(c.first+int64(c.quanta)*c.interval)/1e6)
		}
	}
}

// part is a Segment before it is described.
type part struct {
	kind string
	window
	level int // which one it is compared with, from 0 on
}

// merge sorts windows, cuts off the part before from, and joins those at most one block apart.
func merge(windows []window, from int) (out []window) {
	slices.SortFunc(windows, func(a, b window) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	for _, w := range windows {
		w.from = max(w.from, from)
		switch last := len(out) - 1; {
		case w.to <= w.from:
		case last >= 0 && w.from <= out[last].to+1:
			out[last].to = max(out[last].to, w.to)
		default:
			out = append(out, w)
		}
	}
	return out
}

// sum adds the blocks of w to a histogram and returns their seconds.
func (c *timeSeries) sum(to *fiohist.Hist, w window) (seconds float64) {
	for t := w.from; t < w.to; t++ {
		to.AddHist(c.hists[t])
		seconds += c.seconds[t]
	}
	return seconds
}

// reference is the level with which a segment is compared.
type reference struct {
	fiohist.Stats // p50, p99 and p99.9
	iops          float64
	beyond        int // the bucket of p99.9; -1 if empty
}

// reference returns the level of some parts; nil stands for all.
func (c *timeSeries) reference(parts []part, of func(part) bool) *reference {
	var sum fiohist.Hist
	seconds := 0.0
	for _, p := range parts {
		if of == nil || of(p) {
			seconds += c.sum(&sum, p.window)
		}
	}
	var ranks fiohist.Ranks
	ranks.Read(&sum, c.geometry)
	r := &reference{Stats: ranks.Stats([]float64{50, 99, 99.9}, fiohist.Limits{}), beyond: -1}
	if seconds > 0 {
		r.iops = r.Samples / seconds
	}
	if !r.Empty() {
		r.beyond, _ = ranks.Percentile(99.9)
	}
	return r
}

func (c *timeSeries) describe(parts []part) (out []Segment) {
	var levels []*reference
	for i := range parts[len(parts)-1].level + 1 {
		levels = append(levels, c.reference(parts, func(p part) bool {
			return p.level == i && (p.kind == Steady || p.kind == Shift || p.kind == Ramp)
		}))
	}
	warmUp := c.reference(parts, func(p part) bool { return p.kind == WarmUp })
	var ranks fiohist.Ranks
	length := c.interval * int64(c.fold)
	end := c.first + int64(c.quanta)*c.interval
	last, begun := part{}, map[int]bool{}
	for _, p := range parts {
		s := Segment{Kind: p.kind, Direction: c.direction, FromMS: (c.first + int64(p.from)*length) / 1e6,
			ToMS: min(c.first+int64(p.to)*length, end) / 1e6, level: p.level}
		level := levels[p.level]
		var sum fiohist.Hist
		if in := c.sum(&sum, p.window); in > 0 {
			s.IOPS = sum.Sum() / in
		}
		worst, least := math.Inf(-1), math.Inf(1)
		for t := p.from; t < p.to; t++ {
			if !math.IsNaN(c.p99[t]) {
				worst = max(worst, c.p99[t])
			}
			if !math.IsNaN(c.iops[t]) {
				least = min(least, c.iops[t])
			}
		}
		ranks.Read(&sum, c.geometry)
		is := &reference{Stats: ranks.Stats([]float64{50, 99}, fiohist.Limits{}), iops: s.IOPS}
		if !is.Empty() {
			s.P50, s.P99 = &is.Percentiles[0], &is.Percentiles[1]
		}
		if !math.IsInf(worst, -1) {
			worst = math.Exp(worst)
			s.WorstP99 = &worst
		}
		if !level.Empty() {
			s.Beyond = ranks.Above(level.beyond)
		}
		if p.kind == Incident && !math.IsInf(least, 1) {
			s.LostIOPS = max(level.iops-least, 0)
		}
		switch {
		case p.kind == Shift:
			if before := levels[p.level-1]; !before.Empty() {
				s.Why = why(p.kind, before, is, least, "before")
			}
			if !begun[p.level] {
				s.from, s.is = levels[p.level-1], level
			}
			begun[p.level] = true
		case p.kind == Steady && last.kind == WarmUp:
			s.from, s.is = warmUp, level
		case p.kind != Steady && !level.Empty():
			s.Why = why(p.kind, level, is, least, Steady)
		}
		last = p
		out = append(out, s)
	}
	return out
}

// measure is p50, p99 or IOPS, at two levels.
type measure struct {
	name    string
	was, is float64
	format  func(float64) string
}

// measures returns p50 and p99, if both levels have I/Os, and IOPS.
func measures(was, is *reference) (out []measure) {
	if !was.Empty() && !is.Empty() {
		for i, name := range []string{"p50", "p99"} {
			out = append(out, measure{name, was.Percentiles[i], is.Percentiles[i], latency})
		}
	}
	return append(out, measure{"IOPS", was.iops, is.iops, number})
}

func (m *measure) rate() bool { return m.name == "IOPS" }

// against returns what it is, and what it was at a level of some name: p50 2 ms (steady: 1 ms).
func (m *measure) against(name string) string {
	is := m.name + " " + m.format(m.is)
	if m.rate() {
		is = m.format(m.is) + " " + m.name
	}
	return fmt.Sprintf("%s (%s: %s)", is, name, m.format(m.was))
}

// why says how a segment of a kind differs from a level of some name. least is its least IOPS.
func why(kind string, was, is *reference, least float64, name string) string {
	var words []string
	all := measures(was, is)
	iops := all[len(all)-1]
	switch rest := iops.is / iops.was; {
	case kind == Incident && least < stalled*was.iops:
		iops.is = max(least, 0)
		words = append(words, "stalled: down to "+iops.against(name))
	case rest < leastFewer:
		words = append(words, "fewer I/Os: "+iops.against(name))
	case rest > leastSlow:
		words = append(words, "more I/Os: "+iops.against(name))
	}
	for _, m := range all[:len(all)-1] {
		if factor := m.is / m.was; factor > leastWarmUp {
			words = append(words, "slower: "+m.against(name))
		} else if factor < 1/leastWarmUp {
			words = append(words, "faster: "+m.against(name))
		}
	}
	if len(words) == 0 {
		return "not yet back to the steady level"
	}
	return strings.Join(words, "; ")
}
