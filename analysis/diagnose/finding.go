package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/jobfile"
)

// What a Finding is about.
const (
	aboutSlow        = "slow"
	aboutStall       = "stall"
	aboutPeriod      = "period"
	aboutMissing     = "missing" // hosts that have no log
	aboutEnded       = "ended"   // the records of a member stop before its peers'
	aboutNothing     = "nothing"
	aboutConcurrency = "concurrency"
	aboutOutliers    = "outliers"
)

// Finding is a sentence and the numbers behind it. Latencies are in ns, times in ms from the run's start.
type Finding struct {
	About string `json:"about"` // slow, stall, period, ended, outliers, missing, nothing or concurrency
	// Dimension is host, job or log, and Who every member that it is about; run is all of them.
	Dimension string   `json:"dimension"`
	Who       []string `json:"who"`
	Direction string   `json:"direction,omitempty"`
	FromMS    int64    `json:"from_ms"`
	ToMS      int64    `json:"to_ms"`
	ToEnd     bool     `json:"to_end"` // it lasts to the end of the direction
	// Measure is what Own and Others are: p50, p99, p99.9, or iops in I/Os per second. Factor is by how much Own is
	// worse than Others, with its 95 % limits. Others are the peers at that time; of all members, and of jobs without
	// peers, the rest of the time.
	Measure    string   `json:"measure,omitempty"`
	Factor     *float64 `json:"factor"`
	FactorLow  *float64 `json:"factor_low"`
	FactorHigh *float64 `json:"factor_high"`
	// Factors are those of each of Who; nil if all are about Factor.
	Factors []float64 `json:"factors,omitempty"`
	Own     *float64  `json:"own"`
	Others  *float64  `json:"others"`
	// P99 is that of all I/Os of the direction in that time, P99Without the p99 of all but the members'.
	P99        *float64 `json:"p99"`
	P99Without *float64 `json:"p99_without"`
	// Share is the members' share of the I/Os of the direction in that time, from 0 to 1.
	Share *float64 `json:"share"`
	// LostS is the time lost in seconds: Share times the share of their time that is more than the others' times how
	// long it lasts.
	LostS float64 `json:"lost_s"`
	// Times are when the bursts of a period, or of another direction, are; PeriodMS is the period's length.
	Times    [][2]int64 `json:"times,omitempty"`
	PeriodMS int64      `json:"period_ms,omitempty"`
	Text     string     `json:"text"`

	// AllRun is set if it lasts from the begin of the run to its end.
	AllRun bool `json:"-"`

	p50, rates *beforeAfter // of all: beside p99
	harmless   bool         // p99 of all is as good as without the members
	halt       bool         // a stall that stands before what is slow
	steps      string       // what Own is one after the other
}

// beforeAfter is what I/Os have in a hit, and what they are compared with.
type beforeAfter struct{ own, rest float64 }

// Note is a note by a user on a run.
type Note struct {
	AtMS int64 // from the run's start
	Text string
}

// leading is the time before a finding in which notes are shown with it.
const leading = time.Minute

// finding describes a hit.
func (w *Watch) finding(h *hit, directions int) Finding {
	b := w.board
	at := func(t int) int64 { return (b.first + int64(t)*b.length()) / 1e6 }
	first, last := w.lasts(h)
	end := min(at(last), (b.first+int64(b.intervals)*b.interval)/1e6)
	f := Finding{About: aboutSlow, Dimension: "run", Who: []string{}, Direction: h.direction,
		FromMS: at(h.from), ToMS: min(at(h.to), end), ToEnd: h.to >= last}
	f.AllRun = h.from <= first && f.ToEnd
	for _, t := range h.times {
		f.Times = append(f.Times, [2]int64{at(t.from), at(t.to)})
	}
	wanted := []float64{50, 99}
	if is[tail](h) {
		wanted[1] = 99.9
	}
	c := &compared{block: float64(b.length()) / 1e9}
	if h.group != nil {
		f.Dimension, f.Who = dimensions[h.group.dimension], h.names()
		w.compareMembers(&f, h, c, wanted)
	} else {
		w.compareAll(&f, h, c, wanted)
	}
	if h.measure != iops && !is[tail](h) && !c.own.Empty() && !c.rest.Empty() { // only the other one may tell
		ratio := func(q int) float64 { return math.Log(c.own.Percentiles[q] / max(c.rest.Percentiles[q], 1)) }
		if other := p50 + p99 - h.measure; ratio(h.measure) < least[h.measure] && ratio(other) >= least[other] {
			h.measure = other
		}
	}
	f.Measure = measures[h.measure]
	if is[tail](h) {
		f.Measure = "p99.9"
	}
	factor := h.numbers(&f, h, c)
	f.Factor, f.Factors = &factor, h.factors(factor)
	f.FactorLow, f.FactorHigh = pointer(factor*math.Exp(-h.wide)), pointer(factor*math.Exp(h.wide))
	// of half of the I/Os, of a hundredth or less, of all
	lost := []float64{0.5, 1 - wanted[1]/100, 1}[h.measure] * (1 - 1/max(factor, 1))
	if c.own.Mean > 0 && c.rest.Mean > 0 {
		lost = max(lost, 1-c.rest.Mean/c.own.Mean)
	}
	share := 1.0
	if h.group != nil && f.Share != nil { // who is slow has fewer I/Os than it would have
		share = max(*f.Share, float64(len(h.members))/float64(len(h.group.names)))
	}
	f.LostS = share * lost * f.length() / 1e3
	f.steps = w.stepsOf(h, wanted)
	when, before := f.when(h.from <= first)
	switch s := h.shape.(type) {
	case periodic:
		f.About, f.PeriodMS = aboutPeriod, int64(math.Round(s.every*float64(b.length())/1e6))
		when, before = fmt.Sprintf(" every %s from %s to %s", seconds(f.PeriodMS), fio.Clock(f.FromMS),
			fio.Clock(f.ToMS)), "otherwise"
	case eachItself:
		f.About, f.PeriodMS, f.AllRun = aboutPeriod, int64(math.Round(s.every*float64(b.length())/1e6)), false
		f.LostS *= s.duty
		when = fmt.Sprintf(" every %s, on each of %s at its own time", seconds(f.PeriodMS), s.members)
		before = "otherwise"
	case beside:
		f.AllRun = false
		when, before = " while "+s.direction+"s burst", "otherwise"
	}
	f.Text = f.say(h, when, before, directions > 1)
	return f
}

// compareMembers compares members with the others at the time of a hit, or with themselves if they have no peers.
func (w *Watch) compareMembers(f *Finding, h *hit, c *compared, wanted []float64) {
	if h.sums == nil {
		return
	}
	g, limits := w.board.geometry, h.sums.limits
	c.own = h.sums.own.Stats(g, wanted, limits[0].known())
	c.rest = h.sums.rest.Stats(g, wanted, limits[btoi(!h.alone)].known())
	all := h.sums.own
	all.AddHist(&h.sums.rest)
	both := limits[0]
	both.widen(limits[1].Limits)
	both.unknown = limits[0].unknown || limits[1].unknown
	if h.alone {
		f.Share = pointer(c.own.Samples / max(h.sums.all, 1))
	} else if s := all.Stats(g, wanted, both.known()); !s.Empty() && !c.rest.Empty() {
		f.Share = pointer(c.own.Samples / s.Samples)
		if !is[tail](h) {
			f.P99, f.P99Without = &s.Percentiles[1], &c.rest.Percentiles[1]
			f.harmless = h.measure != iops && *f.P99 < 1.02**f.P99Without
		}
	}
	if h.like != nil {
		c.own = h.sums.alike[0].Stats(g, wanted, limits[0].known())
		c.rest = h.sums.alike[1].Stats(g, wanted, limits[1].known())
	}
}

// compareAll compares all I/Os of a direction at the time of a hit with those at other times.
func (w *Watch) compareAll(f *Finding, h *hit, c *compared, wanted []float64) {
	var in, out fiohist.Hist
	blocks := w.board.pooled[h.direction]
	inside, outside := 0, 0
	for t := h.outside.from; t < min(h.outside.to, len(blocks)); t++ {
		if h.inside(t) {
			in.AddHist(blocks[t])
			inside++
		} else if h.times == nil || h.from <= t && t < h.to {
			out.AddHist(blocks[t])
			outside++
		}
	}
	c.own = in.Stats(w.board.geometry, wanted, fiohist.Limits{})
	c.rest = out.Stats(w.board.geometry, wanted, fiohist.Limits{})
	f.Share = pointer(1.0)
	f.rates = &beforeAfter{c.own.Samples / max(float64(inside)*c.block, 1e-9),
		c.rest.Samples / max(float64(outside)*c.block, 1e-9)}
	if !c.own.Empty() && !c.rest.Empty() {
		f.P99, f.P99Without = &c.own.Percentiles[1], &c.rest.Percentiles[1]
		f.p50 = &beforeAfter{c.own.Percentiles[0], c.rest.Percentiles[0]}
	}
}

// stepsOf says what all I/Os have in each step of a hit.
func (w *Watch) stepsOf(h *hit, wanted []float64) string {
	var levels []string
	b := w.board
	for _, step := range h.steps {
		var in fiohist.Hist
		for _, block := range b.pooled[h.direction][step.from:min(step.to, len(b.pooled[h.direction]))] {
			in.AddHist(block)
		}
		s := in.Stats(b.geometry, wanted, fiohist.Limits{})
		switch {
		case s.Empty():
			return ""
		case h.measure == iops:
			levels = append(levels, number(s.Samples*1e9/float64(int64(step.to-step.from)*b.length())))
		default:
			levels = append(levels, latency(s.Percentiles[h.measure]))
		}
		levels[len(levels)-1] += " until " + fio.Clock((b.first+int64(step.to)*b.length())/1e6)
	}
	if levels == nil {
		return ""
	}
	last, _, _ := strings.Cut(levels[len(levels)-1], " until")
	return " (" + strings.Join(levels[:len(levels)-1], ", ") + ", then " + last + ")"
}

// length is how long it lasts, in ms.
func (f *Finding) length() (ms float64) {
	if f.Times == nil {
		return float64(f.ToMS - f.FromMS)
	}
	for _, t := range f.Times {
		ms += float64(t[1] - t[0])
	}
	return ms
}

func pointer(v float64) *float64 { return &v }

// stopped returns when the last job began its last I/O at the latest, by the option runtime, in ns from the run's
// start; 0 if that of a job is not known.
func (w *Watch) stopped() (end int64) {
	for _, l := range w.run.Logs {
		if l.Log == nil {
			return 0
		}
		v, _ := l.Option("runtime")
		limit, err := jobfile.ParseDuration(v)
		if err != nil || limit <= 0 {
			return 0
		}
		end = max(end, l.Start+int64(limit))
	}
	return end
}

// lasts returns the first and the end of the blocks in which a direction had I/O. What completes when the jobs have
// stopped, as the last I/Os of a slow device do, is no time of the run, unless the hit is then.
func (w *Watch) lasts(h *hit) (first, end int) {
	blocks := w.board.pooled[h.direction]
	first = slices.IndexFunc(blocks, func(h *fiohist.Hist) bool { return h != nil && !h.Empty() })
	for end = len(blocks); end > 0 && (blocks[end-1] == nil || blocks[end-1].Empty()); {
		end--
	}
	length := w.board.length()
	if stop := int((w.stopped() - w.board.first + length - 1) / length); stop > max(first, h.from) {
		end = min(end, stop)
	}
	return max(first, 0), end
}

// snap moves edges that are close to the run's edges there: blocks that are not whole tell little.
func (w *Watch) snap(h *hit) {
	first, end := w.lasts(h)
	near := min((h.to-h.from)/5, max(2, int(2e9/w.board.length())))
	if h.times != nil {
		return
	}
	to := h.window
	if to.from-first <= near {
		to.from = first
	}
	if end-to.to <= max(near, 1) {
		to.to = max(to.to, end)
	}
	all := is[drift](h) || h.hasPeers() // may be all of the run
	if all || to.from > max(first, h.outside.from) || to.to < min(end, h.outside.to) {
		h.window = to
	}
}

// say is the sentence of a finding; when is its time, before what its time is compared with, and several is set if the
// run has several directions.
func (f *Finding) say(h *hit, when, before string, several bool) string {
	subject, t := "All "+f.Direction+"s", telling{when: when, before: before, plural: true}
	if h.group != nil {
		subject, t.plural = h.subject(f)
		if several {
			t.of = f.Direction + " "
		}
	}
	text := subject + h.shape.say(f, h, t)
	if len(h.also) > 0 {
		text += "; " + fio.List(h.also, "and") + "s too"
	}
	return text + "."
}

// when says at which time a finding is, with a space or comma before it, and how what it is compared with lies to it.
// begins is set if it begins with the run.
func (f *Finding) when(begins bool) (when, before string) {
	from, to := fio.Clock(f.FromMS), fio.Clock(f.ToMS)
	switch {
	case f.AllRun:
		return ", all run", "otherwise"
	case begins:
		return " until " + to, "afterwards"
	case f.ToEnd:
		return " from " + from + " to the end", "before"
	}
	return " from " + from + " to " + to, "otherwise"
}

// named returns the subject of a sentence about some of all members of a dimension. Three or more that have the start
// of their names in common, and no other has, are named by it.
func named(dimension string, who, all []string) (subject string, plural bool) {
	dimension = strings.ToUpper(dimension[:1]) + dimension[1:]
	if len(who) == 1 {
		return dimension + " " + who[0], false
	}
	if len(who) > 2 {
		prefix := who[0]
		for _, name := range who {
			for !strings.HasPrefix(name, prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
		n := 0
		for _, name := range all {
			if strings.HasPrefix(name, prefix) {
				n++
			}
		}
		if len(prefix) > 1 && n == len(who) {
			return fmt.Sprintf("%ss named %s*, %d of %d,", dimension, prefix, n, len(all)), true
		}
	}
	const most = 4
	listed := slices.Clone(who)
	if more := len(listed) - most; more > 1 {
		listed = append(listed[:most], fmt.Sprintf("%d others", more))
	}
	return dimension + "s " + fio.List(listed, "and"), true
}

// few reports whether the p99 of members is made by less than leastSlow I/Os of theirs: so few are nearer to it than to
// what their peers have. It is false for other measures, for all of a direction, and for so many I/Os that more than
// leastSlow are above p99.
func (h *hit) few(f *Finding, g fiohist.Geometry) bool {
	const leastSlow = 3
	if h.group == nil || h.measure != p99 || is[tail](h) || h.ios() >= 100*leastSlow {
		return false
	}
	n := 0.0
	if h.sums != nil {
		between := g.Index(int64(math.Sqrt(*f.Own * *f.Others)))
		h.sums.own.Each(func(bucket int, of float64) {
			if bucket > between {
				n += of
			}
		})
	}
	return n < leastSlow
}

// factors returns the factors of members of which all together are worse by factor, in the order of who; nil if they do
// not differ for certain.
func (h *hit) factors(factor float64) (out []float64) {
	if !h.hasPeers() || len(h.members) < 2 || is[drift](h) || is[tail](h) || h.like != nil {
		return nil
	}
	offs := make([][]float64, len(h.members)) // from the mean of the members
	for t, block := range h.group.blocks {
		if !h.inside(t) || h.members[len(h.members)-1] >= len(block) {
			continue
		}
		var now []float64
		for _, v := range h.members {
			now = append(now, block[v].value(h.measure))
		}
		if middle := meanOf(now); !slices.ContainsFunc(now, math.IsNaN) {
			for i, x := range now {
				offs[i] = append(offs[i], x-middle)
			}
		}
	}
	of, least, most, wide := map[string]float64{}, math.Inf(1), math.Inf(-1), 0.0
	for i, off := range offs {
		if len(off) < leastBlocks {
			return nil
		}
		mean, squares := meanOf(off), 0.0
		for _, x := range off {
			squares += (x - mean) * (x - mean)
		}
		wide = max(wide, math.Sqrt(squares)/float64(len(off)))
		least, most = min(least, mean), max(most, mean)
		if h.measure == iops {
			mean = -mean
		}
		of[h.group.names[h.members[i]]] = factor * math.Exp(mean)
	}
	const apart, certain = 0.15, 6 // of logarithms, and of standard errors
	if most-least < max(apart, certain*wide) {
		return nil
	}
	for _, who := range h.names() {
		out = append(out, of[who])
	}
	return out
}

// times is the factor in words, or the range of the factors.
func (f *Finding) times() string {
	if f.Factors == nil {
		return timesOf(*f.Factor)
	}
	low, _, _ := strings.Cut(timesOf(slices.Min(f.Factors)), " ")
	return low + " to " + timesOf(slices.Max(f.Factors))
}

func timesOf(factor float64) string {
	switch {
	case factor >= 9.95:
		return strconv.FormatFloat(factor, 'f', 0, 64) + " times"
	case factor >= 1.35:
		return strconv.FormatFloat(factor, 'f', 1, 64) + " times"
	}
	return strconv.FormatFloat(factor, 'f', 2, 64) + " times"
}

// number formats a count or a rate with three digits, or as an integer.
func number(v float64) string {
	if v >= 999.5 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// seconds formats a time in ms.
func seconds(ms int64) string { return number(float64(ms)/1e3) + " s" }

func latency(ns float64) string { return fio.Latency(ns, 3) }

// note adds notes from shortly before a finding, or from its first interval, of that many ns.
func (f *Finding) note(notes []Note, interval int64) {
	if f.FromMS == 0 {
		return
	}
	for _, n := range notes {
		if n.AtMS >= f.FromMS-leading.Milliseconds() && n.AtMS < f.FromMS+interval/1e6 {
			f.Text = fmt.Sprintf("%s; noted at %s: %s.", strings.TrimSuffix(f.Text, "."), fio.Clock(n.AtMS), n.Text)
		}
	}
}
