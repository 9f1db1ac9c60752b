package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/internal/fiohist"
)

// The kinds of a Segment.
const (
	WarmUp   = "warm-up"
	Steady   = "steady"
	Incident = "incident"
	Recovery = "recovery"
)

const (
	// leastSlow and leastFewer are the changes of p99 and of I/Os per second that make an incident.
	leastSlow, leastFewer = 1.35, 1 / 1.3
	// stalled is the part of the I/Os per second that is left in a stall.
	stalled = 0.1
	// mostSlow and mostFewer are the factors from which on a quantum does not count for more.
	mostSlow, mostFewer = 4, 2 / stalled
	// leastWarmUp is the least change since the beginning that makes a warm-up.
	leastWarmUp = 1.15
	// surely is by how many standard deviations it must be off.
	surely = 4
	// inBand is how many standard deviations from the steady level are still on it.
	inBand = 2.5
	// chance is the probability of an incident where there is none, in a run.
	chance = 1e-4
)

// Segment is a stretch of a run in which one direction behaved in one way.
type Segment struct {
	Kind      string `json:"kind"` // warm-up, steady, incident or recovery
	FromMS    int64  `json:"from_ms"`
	ToMS      int64  `json:"to_ms"`
	Direction string `json:"direction"`
	// P50 and P99 are in ns, null without I/O; IOPS is completions per second.
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	IOPS float64  `json:"iops"`
	// Why says in words what set it apart; "" for steady.
	Why string `json:"why"`
	// WorstP99 is the highest p99 of a quantum, in ns.
	WorstP99 *float64 `json:"worst_p99"`
	// LostIOPS is how many completions per second were missing in the worst quantum, of an incident.
	LostIOPS float64 `json:"lost_iops"`
	// Beyond is the number of I/Os in whole buckets above the p99.9 of the steady segments.
	Beyond float64 `json:"beyond_steady_p99_9"`
	// Notes are what was noted shortly before an incident began, or in its first quantum.
	Notes []Note `json:"notes,omitempty"`
}

// Note is what somebody noted of a run.
type Note struct {
	AtMS int64  `json:"at_ms"` // from the run's start
	Text string `json:"text"`
}

// leading is how long before an incident a note may be of what led to it.
const leading = time.Minute

// leadingTo are the notes of what may have led to an incident. interval is that of a quantum in ns.
func leadingTo(s *Segment, notes []Note, interval int64) (out []Note) {
	for _, n := range notes {
		if n.AtMS >= s.FromMS-leading.Milliseconds() && n.AtMS < s.FromMS+interval/1e6 {
			out = append(out, n)
		}
	}
	return out
}

// span is a stretch of time in ns from the run's start.
type span struct{ From, To int64 }

// timeline keeps the histogram of all I/Os over time, by direction.
type timeline struct {
	geometry fiohist.Geometry
	first    int64
	interval int64
	fold     int
	quanta   int
	by       map[string][]*fiohist.Hist
}

// newTimeline makes a timeline for quanta of interval ns, the first of which starts at first.
func newTimeline(geometry fiohist.Geometry, first, interval int64) *timeline {
	return &timeline{geometry: geometry, first: first, interval: interval, fold: 1, by: map[string][]*fiohist.Hist{}}
}

// Add takes the leaves of the quantum that starts at offset; quanta come in ascending order, and some may be missing.
func (tl *timeline) Add(offset int64, leaves []leaf) { tl.add(offset, new(pools).of(leaves)) }

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

// Directions are those that had I/O, sorted.
func (tl *timeline) Directions() []string { return slices.Sorted(maps.Keys(tl.by)) }

// course is what a direction did, block by block.
type course struct {
	*timeline
	direction string
	hists     []*fiohist.Hist // nil: no I/O
	p50, p99  []float64       // natural logarithms, NaN: not known
	iops      []float64       // per second of what runs, times the most that ever ran; NaN: nothing ran
	seconds   []float64       // in which anything ran
}

// Segments are those of all directions, in order of time. running says for a direction when each of the logs ran and
// has its records; nil: all did throughout.
func (tl *timeline) Segments(running func(direction string) []span) (out []Segment) {
	for _, d := range tl.Directions() {
		var spans []span
		if running != nil {
			spans = running(d)
		}
		out = append(out, tl.course(d, spans).segments()...)
	}
	slices.SortStableFunc(out, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.FromMS, b.FromMS), cmp.Compare(a.Direction, b.Direction))
	})
	return out
}

func (tl *timeline) course(direction string, spans []span) *course {
	length := tl.interval * int64(tl.fold)
	n := (tl.quanta + tl.fold - 1) / tl.fold
	end := tl.first + int64(tl.quanta)*tl.interval
	if spans == nil {
		spans = []span{{tl.first, end}}
	}
	c := &course{timeline: tl, direction: direction, hists: make([]*fiohist.Hist, n)}
	copy(c.hists, tl.by[direction])
	share := make([]float64, n) // how many logs ran
	top := 0.0
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
	for t, h := range c.hists {
		p50, p99, iops := math.NaN(), math.NaN(), math.NaN()
		if h == nil {
			h = new(fiohist.Hist)
		}
		s := h.Stats(tl.geometry, []float64{50, 99}, fiohist.Limits{})
		from := tl.first + int64(t)*length
		to := min(from+length, end)
		whole := c.seconds[t] >= float64(to-from)/1e9/2 // else it is the edge of what ran
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

// shift is by how much a series is off its steady level, block by block.
type shift struct {
	off     []float64 // NaN: not known
	sums    []float64
	counts  []float64
	spreads spreads
}

// newShift makes one in which no block counts for more than the factor most.
func newShift(off []float64, most float64, windows []window) *shift {
	n := len(off)
	s := &shift{off: off, sums: make([]float64, n+1), counts: make([]float64, n+1)}
	for t, v := range off {
		s.sums[t+1], s.counts[t+1] = s.sums[t], s.counts[t]
		if !math.IsNaN(v) {
			s.sums[t+1] += min(max(v, -math.Log(most)), math.Log(most))
			s.counts[t+1]++
		}
	}
	s.spreads = spreadsOf(windows, 1, leastSpread, func(_ int, w window) float64 { return s.mean(w) })
	return s
}

// mean is that in w; 0 where nothing is known.
func (s *shift) mean(w window) float64 {
	n := s.counts[w.to] - s.counts[w.from]
	if n == 0 {
		return 0
	}
	return (s.sums[w.to] - s.sums[w.from]) / n
}

// z is how many standard deviations w is off.
func (s *shift) z(w window) float64 { return s.mean(w) / s.spreads.at(w).scale }

// steady says that the blocks from t on are at the steady level.
func (s *shift) steady(t, blocks int) bool {
	w := window{t, min(t+blocks, len(s.off))}
	return math.Abs(s.mean(w)) <= max(inBand*s.spreads.at(w).scale, leastSpread)
}

// up is how far, in standard deviations of a single block, a stretch is up in all of series together.
func up(series []*shift, w window) float64 {
	sum := 0.0
	for _, s := range series {
		z := max(s.mean(w), 0) / s.spreads[1].scale
		sum += z * z
	}
	return math.Sqrt(sum * float64(w.to-w.from))
}

// incidents are the windows in which one of series is up by at least its least factor, beyond chance. Their edges are
// those that fit all series best.
func incidents(series []*shift, least []float64, windows []window) (out []window) {
	n := len(series[0].off)
	taken := make([]bool, n)
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
			if upperTail(z)*float64(len(windows)) > chance {
				break
			}
			w = refine(w, n, 1, func(w window) float64 {
				if s.mean(w) < math.Log(least[k]) || slices.Contains(taken[w.from:w.to], true) {
					return 0
				}
				return up(series, w)
			})
			out = append(out, w)
			for t := w.from; t < w.to; t++ {
				taken[t] = true
			}
		}
	}
	return out
}

func (c *course) segments() []Segment {
	n := len(c.hists)
	windows := scan(n, 1)
	offs := func(from int) (slow, mid, fewer *shift) {
		return newShift(minus(c.p99, from), mostSlow, windows), newShift(minus(c.p50, from), mostSlow, windows),
			newShift(c.missing(from), mostFewer, windows)
	}
	// The level of the second half says when the first one reached it.
	slow, mid, fewer := offs(n / 2)
	warm := 0
	for warm < n/2 && !(slow.steady(warm, 5) && mid.steady(warm, 5) && fewer.steady(warm, 5)) {
		warm++
	}
	begin := window{0, warm}
	starts := func(s *shift) bool {
		return math.Abs(s.mean(begin)) >= math.Log(leastWarmUp) && math.Abs(s.z(begin)) >= surely
	}
	if warm == 0 || warm == n/2 || !starts(slow) && !starts(mid) && !starts(fewer) {
		warm = 0
	}
	slow, mid, fewer = offs(warm)
	bad := merge(incidents([]*shift{slow, fewer}, []float64{leastSlow, 1 / leastFewer}, windows), warm)
	var parts []part
	at := 0
	add := func(kind string, to int) {
		if to > at {
			parts = append(parts, part{kind, window{at, to}})
			at = to
		}
	}
	add(WarmUp, warm)
	for i, w := range bad {
		add(Steady, w.from)
		add(Incident, w.to)
		until := n
		if i+1 < len(bad) {
			until = bad[i+1].from
		}
		back := at
		for back < until && !(slow.steady(back, 3) && mid.steady(back, 3) && fewer.steady(back, 3)) {
			back++
		}
		add(Recovery, back)
	}
	add(Steady, n)
	return c.describe(parts)
}

// part is a Segment before it is described.
type part struct {
	kind string
	window
}

// minus is v less its median from a block on.
func minus(v []float64, from int) (out []float64) {
	level := median(slices.DeleteFunc(slices.Clone(v[from:]), math.IsNaN))
	for _, x := range v {
		out = append(out, x-level)
	}
	return out
}

// missing is the logarithm of the steady I/Os per second over those of each block; NaN where most have none.
func (c *course) missing(from int) (out []float64) {
	level := median(slices.DeleteFunc(slices.Clone(c.iops[from:]), math.IsNaN))
	for _, x := range c.iops {
		v := math.NaN()
		if level > 0 {
			v = math.Log(level / max(x, level/mostFewer))
		}
		if math.IsNaN(x) {
			v = x
		}
		out = append(out, v)
	}
	return out
}

// merge sorts windows, cuts off what is before from, and joins those with no more than one block in between.
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

// sum adds up the blocks of w, in I/Os and seconds.
func (c *course) sum(to *fiohist.Hist, w window) (seconds float64) {
	for t := w.from; t < w.to; t++ {
		to.AddHist(c.hists[t])
		seconds += c.seconds[t]
	}
	return seconds
}

// describe makes segments of parts.
func (c *course) describe(parts []part) (out []Segment) {
	var steady fiohist.Hist
	seconds := 0.0
	for _, p := range parts {
		if p.kind == Steady {
			seconds += c.sum(&steady, p.window)
		}
	}
	var ranks fiohist.Ranks
	ranks.Read(&steady, c.geometry)
	level := ranks.Stats([]float64{50, 99, 99.9}, fiohist.Limits{})
	iops := 0.0
	if seconds > 0 {
		iops = level.Samples / seconds
	}
	beyond := -1
	if !level.Empty() {
		beyond, _ = ranks.Percentile(99.9)
	}
	length := c.interval * int64(c.fold)
	end := c.first + int64(c.quanta)*c.interval
	for _, p := range parts {
		s := Segment{Kind: p.kind, Direction: c.direction, FromMS: (c.first + int64(p.from)*length) / 1e6,
			ToMS: min(c.first+int64(p.to)*length, end) / 1e6}
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
		if st := ranks.Stats([]float64{50, 99}, fiohist.Limits{}); !st.Empty() {
			s.P50, s.P99 = &st.Percentiles[0], &st.Percentiles[1]
		}
		if !math.IsInf(worst, -1) {
			worst = math.Exp(worst)
			s.WorstP99 = &worst
		}
		if !level.Empty() {
			s.Beyond = ranks.Above(beyond)
		}
		if p.kind == Incident && !math.IsInf(least, 1) {
			s.LostIOPS = max(iops-least, 0)
		}
		if p.kind != Steady && !level.Empty() {
			s.Why = why(&s, &level, iops, least)
		}
		out = append(out, s)
	}
	return out
}

// why says what sets a segment apart from the steady ones.
func why(s *Segment, steady *fiohist.Stats, iops, least float64) string {
	var words []string
	switch rest := s.IOPS / iops; {
	case s.Kind == Incident && least < stalled*iops:
		words = append(words, fmt.Sprintf("stalled: %s I/Os/s at the least, %s when steady", number(max(least, 0)),
			number(iops)))
	case rest < leastFewer:
		words = append(words, fmt.Sprintf("fewer I/Os: %s/s, %s/s when steady", number(s.IOPS), number(iops)))
	case rest > leastSlow:
		words = append(words, fmt.Sprintf("more I/Os: %s/s, %s/s when steady", number(s.IOPS), number(iops)))
	}
	for i, v := range []*float64{s.P50, s.P99} {
		if v == nil {
			continue
		}
		factor := *v / steady.Percentiles[i]
		if word := "slower"; factor > leastWarmUp || factor < 1/leastWarmUp {
			if factor < 1 {
				word = "faster"
			}
			words = append(words, fmt.Sprintf("%s: p%g %s, %s when steady", word, []float64{50, 99}[i], latency(*v),
				latency(steady.Percentiles[i])))
		}
	}
	if len(words) == 0 {
		return "not back at the steady level yet"
	}
	return strings.Join(words, "; ")
}
