package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// shape is what there is at the time of a hit: its numbers and its sentence.
type shape interface {
	// numbers sets Own and Others, and returns by how much Own is worse.
	numbers(f *Finding, h *hit, c *compared) float64
	// say returns the sentence after its subject.
	say(f *Finding, h *hit, t telling) string
}

// compared is what the I/Os of a hit are compared with; block is the length of a block in seconds.
type compared struct {
	own, rest fiohist.Stats
	block     float64
}

// telling are words of a sentence: its time, before what the time is compared with, of the direction, if the run has
// several.
type telling struct {
	when, before, of string
	plural           bool
}

// verb returns a verb, and the pronoun of its subject.
func (t telling) verb(one, several string) (verb, their, without string) {
	if t.plural {
		return " " + several + " ", "their", "them"
	}
	return " " + one + " ", "its", "it"
}

// steady is the shape of a measure that is worse all the time.
func steady(measure int) shape {
	if measure == iops {
		return rate{}
	}
	return level{}
}

// level is a higher percentile.
type level struct{}

func (level) numbers(f *Finding, h *hit, c *compared) float64 {
	if c.own.Empty() || c.rest.Empty() {
		f.Own, f.Others = h.typical()
	} else {
		f.Own, f.Others = &c.own.Percentiles[h.measure], &c.rest.Percentiles[h.measure]
	}
	if f.Own == nil {
		return math.Exp(h.size)
	}
	return *f.Own / max(*f.Others, 1)
}

func (level) say(f *Finding, h *hit, t telling) string {
	own, others := latency(*f.Own)+f.steps, latency(*f.Others)
	is, their, without := t.verb("is", "are")
	has, _, _ := t.verb("has", "have")
	slow := f.Measure == measures[p50]
	if !h.hasPeers() {
		text := has + timesOf(*f.Factor) + " the " + t.of + "p99" + t.when + ": "
		if slow {
			text = is + timesOf(*f.Factor) + " as slow" + t.when + ": " + t.of + "p50 "
		}
		text += own + ", " + t.before + " " + others
		if r := f.rates; slow && r != nil && math.Abs(r.own/r.rest-1) > 0.05 {
			text += fmt.Sprintf("; %s IOPS, %s %s", number(r.own), t.before, number(r.rest))
		}
		return text
	}
	whose := ""
	if h.like != nil && len(h.like.jobs) > 0 {
		whose = " of " + fio.List(h.like.jobs, "and")
	}
	text := fmt.Sprintf("%s%s %s peers' %s%s%s%s: %s, theirs %s", has, f.times(), their, t.of, f.Measure, whose, t.when,
		own, others)
	if slow {
		text = fmt.Sprintf("%s%s as slow as %s peers%s: %sp50%s %s, theirs %s", is, f.times(), their, t.when, t.of,
			whose, own, others)
	}
	if f.P99 == nil {
		return text
	}
	then := " then"
	if f.AllRun && h.times == nil {
		then = ""
	}
	text += "; p99 of all" + then + " " + latency(*f.P99)
	switch {
	case f.harmless:
		text += ", as without " + without
	case slow: // else what the others have was just said
		text += ", without " + without + " " + latency(*f.P99Without)
	}
	return text
}

// rate is fewer I/Os per second.
type rate struct{}

func (rate) numbers(f *Finding, h *hit, c *compared) float64 {
	if !h.hasPeers() {
		r := f.rates
		if h.alone {
			r = h.rates(c.block)
		}
		f.Own, f.Others = &r.own, &r.rest
	} else {
		n := c.own.Samples
		if h.sums == nil {
			n = h.ios()
		}
		f.Own = pointer(n / (f.length() / 1e3))
		f.Others = pointer(h.expected() / c.block)
		if !(*f.Others > 0) {
			f.Others = pointer(*f.Own * math.Exp(h.size))
		}
	}
	return *f.Others / max(*f.Own, *f.Others/1000)
}

func (rate) say(f *Finding, h *hit, t telling) string {
	own, others := number(*f.Own)+f.steps, number(*f.Others)
	if has, their, _ := t.verb("has", "have"); h.hasPeers() {
		return fmt.Sprintf("%sfewer %ss than %s peers suggest%s: %s IOPS, not %s", has, f.Direction, their, t.when, own,
			others)
	}
	reaches, _, _ := t.verb("reaches", "reach")
	text := fmt.Sprintf("%sonly %s %sIOPS%s, %s %s", reaches, own, t.of, t.when, t.before, others)
	if f.p50 != nil {
		text += fmt.Sprintf("; p50 %s, %s %s", latency(f.p50.own), t.before, latency(f.p50.rest))
	}
	return text
}

// tail is a higher p99.9 of a member, in ns, than the median of its peers.
type tail struct {
	level
	own, others float64
}

func (s tail) numbers(f *Finding, h *hit, c *compared) float64 {
	if c.own.Empty() || c.rest.Empty() {
		f.Own, f.Others = &s.own, &s.others
		return s.own / max(s.others, 1)
	}
	return s.level.numbers(f, h, c)
}

// drift is what becomes worse bit by bit: how far off it is at the begin and at the end, as logarithms.
type drift struct {
	shape
	begin, end float64
	turns      string // who becomes worse at once, one after the other
}

func (s drift) numbers(f *Finding, h *hit, c *compared) float64 {
	s.shape.numbers(f, h, c)
	begin, end := math.Exp(s.begin), math.Exp(s.end)
	factor := end / begin
	switch {
	case h.group != nil && h.measure == iops:
		f.Own = pointer(*f.Others / factor)
	case h.group != nil:
		factor = end
		f.Own = pointer(*f.Others * factor)
	case h.measure == iops:
		f.Own, f.Others = pointer(1/c.block/end), pointer(1/c.block/begin)
	default:
		f.Own, f.Others = &end, &begin
	}
	return factor
}

func (s drift) say(f *Finding, h *hit, t telling) string {
	when := strings.TrimPrefix(strings.Replace(t.when, "all run", "over the run", 1), ",")
	if start, ok := strings.CutSuffix(when, " to the end"); ok {
		when = start + " on"
	}
	slow, their, _ := t.verb("slows down", "slow down")
	if s.turns != "" {
		when = s.turns
	}
	text := slow[:len(slow)-1] + when + ": "
	switch {
	case h.group != nil && h.measure == iops:
		return fmt.Sprintf("%s%sIOPS fall by %.0f %% relative to %s peers'", text, t.of, 100*(1-math.Exp(s.begin-s.end)),
			their)
	case h.group != nil:
		return fmt.Sprintf("%s%s%s from %.1f to %s %s peers'", text, t.of, f.Measure, math.Exp(s.begin),
			timesOf(math.Exp(s.end)), their)
	case h.measure == iops:
		return fmt.Sprintf("%sfrom %s to %s IOPS", text, number(*f.Others), number(*f.Own))
	}
	return fmt.Sprintf("%s%s rises from %s to %s", text, f.Measure, latency(*f.Others), latency(*f.Own))
}

// periodic is a shape that comes every so many blocks.
type periodic struct {
	shape
	every float64
}

// eachItself is a shape that comes to most members every so many blocks, each at its own time: a percentile in ns, or
// the I/Os of a block, of a member then, and otherwise.
type eachItself struct {
	shape
	every, own, others float64
	members            string  // how many of what
	duty               float64 // the share of time that it takes
}

func (s eachItself) numbers(f *Finding, h *hit, c *compared) float64 {
	f.rates, f.p50 = nil, nil
	if h.measure == iops {
		f.Own, f.Others = pointer(s.own/c.block), pointer(s.others/c.block)
		return *f.Others / max(*f.Own, *f.Others/1000)
	}
	f.Own, f.Others = &s.own, &s.others
	return s.own / max(s.others, 1)
}

// beside is a shape that comes with the bursts of another direction.
type beside struct {
	shape
	direction string
}

// recurs names what a hit comes and goes with; "" is a single time.
func (h *hit) recurs() string {
	switch s := h.shape.(type) {
	case periodic, eachItself:
		return aboutPeriod
	case beside:
		return s.direction
	}
	return ""
}

// hasPeers reports whether a hit is of members that have peers.
func (h *hit) hasPeers() bool { return h.group != nil && !h.alone }

// is reports whether a hit has a shape.
func is[S shape](h *hit) bool {
	_, ok := h.shape.(S)
	return ok
}

// each calls do with each member in each block of the hit.
func (h *hit) each(do func(m *member)) {
	for t := h.from; t < min(h.to, len(h.group.blocks)); t++ {
		for _, v := range h.members {
			if v < len(h.group.blocks[t]) && h.inside(t) {
				do(&h.group.blocks[t][v])
			}
		}
	}
}

// ios is how many I/Os the members have.
func (h *hit) ios() (n float64) {
	h.each(func(m *member) { n += float64(m.n) })
	return n
}

// typical returns the mean over time of the members' percentile, and of what their peers have; nil for all I/Os.
func (h *hit) typical() (own, others *float64) {
	if h.group == nil {
		return nil, nil
	}
	var of []float64
	h.each(func(m *member) { of = append(of, m.value(h.measure)) })
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
