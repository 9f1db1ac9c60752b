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

	p50, rate, rateOthers *float64 // of all: beside p99
	otherP50              *float64
	harmless              bool // p99 of all is as good as without the members
	halt                  bool // a stall that stands before what is slow
}

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
		Measure: measures[h.measure],
		FromMS:  at(h.from), ToMS: min(at(h.to), end), ToEnd: h.to >= last}
	factor := math.Exp(h.size)
	var own, rest fiohist.Stats
	wanted := []float64{50, 99}
	if h.far != nil {
		wanted[1], f.Measure = 99.9, "p99.9"
	}
	if h.group != nil {
		f.Dimension, f.Who = dimensions[h.group.dimension], h.who()
		if h.sums != nil {
			own = h.sums.own.Stats(b.geometry, wanted, h.sums.limits[0].known())
			rest = h.sums.rest.Stats(b.geometry, wanted, h.sums.limits[btoi(!h.alone)].known())
			all := h.sums.own
			all.AddHist(&h.sums.rest)
			both := h.sums.limits[0]
			both.widen(h.sums.limits[1].Limits)
			both.unknown = h.sums.limits[0].unknown || h.sums.limits[1].unknown
			if h.alone {
				f.Share = pointer(own.Samples / max(h.sums.all, 1))
			} else if s := all.Stats(b.geometry, wanted, both.known()); !s.Empty() && !rest.Empty() {
				f.Share = pointer(own.Samples / s.Samples)
				if h.far == nil {
					f.P99, f.P99Without = &s.Percentiles[1], &rest.Percentiles[1]
					f.harmless = h.measure != iops && *f.P99 < 1.02**f.P99Without
				}
			}
			if h.like != nil {
				own = h.sums.alike[0].Stats(b.geometry, wanted, h.sums.limits[0].known())
				rest = h.sums.alike[1].Stats(b.geometry, wanted, h.sums.limits[1].known())
			}
		}
	} else {
		var in, out fiohist.Hist
		blocks := b.pooled[h.direction]
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
		own, rest = in.Stats(b.geometry, wanted, fiohist.Limits{}), out.Stats(b.geometry, wanted, fiohist.Limits{})
		f.Share = pointer(1.0)
		seconds := float64(b.length()) / 1e9
		f.rate = pointer(own.Samples / max(float64(inside)*seconds, 1e-9))
		f.rateOthers = pointer(rest.Samples / max(float64(outside)*seconds, 1e-9))
		if !own.Empty() && !rest.Empty() {
			f.P99, f.P99Without = &own.Percentiles[1], &rest.Percentiles[1]
			f.p50, f.otherP50 = &own.Percentiles[0], &rest.Percentiles[0]
		}
	}
	// of all I/Os together only the other one may tell
	if h.measure != iops && h.far == nil && !own.Empty() && !rest.Empty() {
		ratio := func(q int) float64 { return math.Log(own.Percentiles[q] / max(rest.Percentiles[q], 1)) }
		if other := p50 + p99 - h.measure; ratio(h.measure) < least[h.measure] && ratio(other) >= least[other] {
			h.measure = other
			f.Measure = measures[other]
		}
	}
	switch {
	case h.measure == iops && h.alone:
		in, out := h.rates()
		f.Own, f.Others = pointer(in*1e9/float64(b.length())), pointer(out*1e9/float64(b.length()))
		factor = out / max(in, out/1000)
	case h.measure == iops && h.group != nil:
		seconds := float64(f.ToMS-f.FromMS) / 1e3
		if h.times != nil {
			seconds = 0
			for _, t := range h.times {
				seconds += float64(t.to-t.from) * float64(b.length()) / 1e9
			}
		}
		n := own.Samples
		if h.sums == nil {
			for t := h.from; t < min(h.to, len(h.group.blocks)); t++ {
				for _, v := range h.members {
					if v < len(h.group.blocks[t]) && h.inside(t) {
						n += float64(h.group.blocks[t][v].n)
					}
				}
			}
		}
		f.Own = pointer(n / seconds)
		if f.Others = pointer(h.expected() * 1e9 / float64(b.length())); !(*f.Others > 0) {
			f.Others = pointer(*f.Own * factor)
		}
		factor = *f.Others / max(*f.Own, *f.Others/1000)
	case h.measure == iops:
		f.Own, f.Others = f.rate, f.rateOthers
		factor = *f.Others / max(*f.Own, *f.Others/1000)
	case own.Empty() || rest.Empty():
		f.Own, f.Others = w.typical(h)
	default:
		f.Own, f.Others = &own.Percentiles[h.measure], &rest.Percentiles[h.measure]
	}
	if h.measure != iops && f.Own != nil && f.Others != nil {
		factor = *f.Own / max(*f.Others, 1)
	}
	if h.rise != nil {
		begin, end := math.Exp(h.rise[0]), math.Exp(h.rise[1])
		switch {
		case h.group != nil && h.measure == iops:
			factor = end / begin
			f.Own = pointer(*f.Others / factor)
		case h.group != nil:
			factor = end
			f.Own = pointer(*f.Others * factor)
		case h.measure == iops:
			factor = end / begin
			f.Own, f.Others = pointer(1e9/float64(b.length())/end), pointer(1e9/float64(b.length())/begin)
		default:
			f.Own, f.Others, factor = &end, &begin, end/begin
		}
	}
	f.Factor = &factor
	f.Factors = h.each(factor)
	f.FactorLow, f.FactorHigh = pointer(factor*math.Exp(-h.wide)), pointer(factor*math.Exp(h.wide))
	share := 1.0
	if f.Share != nil {
		share = *f.Share
	}
	if h.group != nil { // who is slow has fewer I/Os than it would have
		share = max(share, float64(len(h.members))/float64(len(h.group.names)))
	}
	// of half of the I/Os, of a hundredth or less, of all
	lost := []float64{0.5, 1 - wanted[1]/100, 1}[h.measure] * (1 - 1/max(factor, 1))
	if own.Mean > 0 && rest.Mean > 0 {
		lost = max(lost, 1-rest.Mean/own.Mean)
	}
	length := float64(f.ToMS - f.FromMS)
	for _, t := range h.times {
		one := [2]int64{at(t.from), at(t.to)}
		f.Times = append(f.Times, one)
	}
	if h.times != nil {
		length = 0
		for _, t := range f.Times {
			length += float64(t[1] - t[0])
		}
	}
	if h.every > 0 {
		f.About, f.PeriodMS = aboutPeriod, int64(math.Round(h.every*float64(b.length())/1e6))
	}
	f.LostS = share * lost * length / 1e3
	f.AllRun = h.from <= first && f.ToEnd && h.beside == ""
	when, before := f.when(h, h.from <= first)
	f.Text = f.say(h, when, before, directions > 1)
	return f
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
	all := h.rise != nil || h.group != nil && !h.alone // may be all of the run
	if all || to.from > max(first, h.outside.from) || to.to < min(end, h.outside.to) {
		h.window = to
	}
}

// typical returns the mean over time of the members' percentile, and of what their peers have.
func (w *Watch) typical(h *hit) (own, others *float64) {
	switch {
	case h.group == nil:
		return nil, nil
	case h.far != nil:
		return &h.far[0], &h.far[1]
	}
	var of []float64
	for t := h.from; t < min(h.to, len(h.group.blocks)); t++ {
		for _, v := range h.members {
			if v < len(h.group.blocks[t]) && h.inside(t) {
				of = append(of, h.group.blocks[t][v].value(h.measure))
			}
		}
	}
	ns := math.Exp(meanOf(of))
	return &ns, pointer(ns / math.Exp(h.size))
}

// expected is how many I/Os in a block of the window the members' peers suggest, by what both have at other times; NaN
// if there are no others.
func (h *hit) expected() (sum float64) {
	now, usual := []float64{}, make([][]float64, len(h.members))
	for t, block := range h.group.blocks {
		var peers []float64
		for v := range block {
			if !slices.Contains(h.members, v) && h.like.compares(v) {
				peers = append(peers, block[v].value(iops))
			}
		}
		middle := median(peers)
		if h.inside(t) {
			now = append(now, math.Exp(middle))
			continue
		}
		for i, v := range h.members {
			if v < len(block) {
				usual[i] = append(usual[i], block[v].value(iops)-middle)
			}
		}
	}
	for i := range usual {
		sum += meanOf(now) * math.Exp(median(known0(usual[i])))
	}
	return sum
}

// say is the sentence of a finding; when is its time, before what its time is compared with, and several is set if the
// run has several directions.
func (f *Finding) say(h *hit, when, before string, several bool) string {
	var of string
	if several {
		of = f.Direction + " "
	}
	var text strings.Builder
	plural, their, without := false, "its", "it"
	if h.group != nil {
		var subject string
		if subject, plural = h.subject(f); plural {
			their, without = "their", "them"
		}
		text.WriteString(subject)
	}
	is, has, reaches := " is ", " has ", " reaches only "
	if plural {
		is, has, reaches = " are ", " have ", " reach only "
	}
	whose := ""
	if h.like != nil && len(h.like.jobs) > 0 {
		whose = " of " + fio.List(h.like.jobs, "and")
	}
	if h.rise != nil {
		return text.String() + f.sayRise(h, when, of, their)
	}
	own, others := latency(*f.Own), latency(*f.Others)
	if f.Measure == measures[iops] {
		own, others = number(*f.Own), number(*f.Others)
	}
	switch {
	case h.alone && f.Measure == "p50":
		fmt.Fprintf(&text, "%s%s as slow%s: %sp50 %s, %s %s", is, timesOf(*f.Factor), when, of, own, before, others)
	case h.alone && f.Measure == "p99":
		fmt.Fprintf(&text, "%s%s the %sp99%s: %s, %s %s", has, timesOf(*f.Factor), of, when, own, before, others)
	case h.alone:
		fmt.Fprintf(&text, "%s%s %sIOPS%s, %s %s", reaches, own, of, when, before, others)
	case h.group != nil && f.Measure == "p50":
		fmt.Fprintf(&text, "%s%s as slow as %s peers%s: %sp50%s %s, theirs %s", is, f.times(), their, when,
			of, whose, own, others)
	case h.group != nil && h.measure == p99:
		fmt.Fprintf(&text, "%s%s %s peers' %s%s%s%s: %s, theirs %s", has, f.times(), their, of, f.Measure,
			whose, when, own, others)
	case h.group != nil:
		fmt.Fprintf(&text, "%sfewer %ss than %s peers suggest%s: %s IOPS, not %s", has, f.Direction, their, when,
			own, others)
	default:
		fmt.Fprintf(&text, "All %ss", f.Direction)
		switch f.Measure {
		case "p50":
			fmt.Fprintf(&text, " are %s as slow%s: p50 %s, %s %s", timesOf(*f.Factor), when, own, before, others)
			if r := *f.rate / *f.rateOthers; r < 0.95 || r > 1.05 {
				fmt.Fprintf(&text, "; %s IOPS, %s %s", number(*f.rate), before, number(*f.rateOthers))
			}
		case "p99":
			fmt.Fprintf(&text, " have %s the p99%s: %s, %s %s", timesOf(*f.Factor), when, own, before, others)
		default:
			fmt.Fprintf(&text, " reach only %s IOPS%s, %s %s", own, when, before, others)
			if f.p50 != nil && f.otherP50 != nil {
				fmt.Fprintf(&text, "; p50 %s, %s %s", latency(*f.p50), before, latency(*f.otherP50))
			}
		}
	}
	if h.group != nil && f.P99 != nil && h.measure != iops {
		then := " then"
		if f.AllRun && h.times == nil {
			then = ""
		}
		switch fmt.Fprintf(&text, "; p99 of all%s %s", then, latency(*f.P99)); {
		case f.harmless:
			fmt.Fprintf(&text, ", as without %s", without)
		case h.measure != p99: // else what the others have was just said
			fmt.Fprintf(&text, ", without %s %s", without, latency(*f.P99Without))
		}
	}
	if len(h.also) > 0 {
		fmt.Fprintf(&text, "; %ss too", fio.List(h.also, "and"))
	}
	return text.String() + "."
}

// sayRise is the rest of the sentence about what becomes slower bit by bit.
func (f *Finding) sayRise(h *hit, when, of, their string) string {
	when = strings.TrimPrefix(strings.Replace(when, "all run", "over the run", 1), ",")
	if start, ok := strings.CutSuffix(when, " to the end"); ok {
		when = start + " on"
	}
	var text string
	switch {
	case h.group != nil:
		slow := " slow down"
		if len(f.Who) == 1 {
			slow = " slows down"
		}
		text = fmt.Sprintf("%s%s: %s%s from %.1f to %s %s peers'", slow, when, of, f.Measure, math.Exp(h.rise[0]),
			timesOf(math.Exp(h.rise[1])), their)
		if h.measure == iops {
			text = fmt.Sprintf("%s%s: %sIOPS fall by %.0f %% relative to %s peers'", slow, when, of,
				100*(1-math.Exp(h.rise[0]-h.rise[1])), their)
		}
	case h.measure == iops:
		text = fmt.Sprintf("All %ss slow down%s: from %s to %s IOPS", f.Direction, when, number(*f.Others),
			number(*f.Own))
	default:
		text = fmt.Sprintf("All %ss slow down%s: %s rises from %s to %s", f.Direction, when, f.Measure,
			latency(*f.Others), latency(*f.Own))
	}
	if len(h.also) > 0 {
		text += "; " + fio.List(h.also, "and") + "s too"
	}
	return text + "."
}

// when says at which time a finding is, with a space or comma before it, and how what it is compared with lies to it.
func (f *Finding) when(h *hit, begins bool) (when, before string) {
	from, to := fio.Clock(f.FromMS), fio.Clock(f.ToMS)
	switch {
	case h.beside != "":
		return " while " + h.beside + "s burst", "otherwise"
	case h.times != nil:
		return fmt.Sprintf(" every %s from %s to %s", seconds(f.PeriodMS), from, to), "otherwise"
	case begins && f.ToEnd:
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

// few reports whether the p99 of members is made by less than leastSlow I/Os of theirs.
func (h *hit) few() bool {
	const leastSlow = 3
	if h.group == nil || h.measure != p99 || h.far != nil {
		return false
	}
	n := 0.0
	for t, block := range h.group.blocks {
		for _, v := range h.members {
			if v < len(block) && h.inside(t) {
				n += float64(block[v].n)
			}
		}
	}
	return n < 100*leastSlow
}

// each returns the factors of members of which all together are worse by factor, in the order of who; nil if they do
// not differ for certain.
func (h *hit) each(factor float64) (out []float64) {
	if h.group == nil || len(h.members) < 2 || h.rise != nil || h.far != nil || h.like != nil || h.alone {
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
	for _, who := range h.who() {
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
