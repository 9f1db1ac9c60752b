package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/pipeline"
)

// story is results of one time and one cause, which make one finding. Exactly one of the pointers of a result is set.
type story struct{ results []result }

type result struct {
	finding   Finding
	p         float64                // the probability that chance explains it
	from, to  int64                  // ms from the run's start
	logs      map[*pipeline.Log]bool // of the hosts, jobs or logs that it names; nil: all
	level     *Level
	stall     *Stall
	straggler *Straggler
	incident  *Segment
	shift     *changed
}

const (
	// wholeRun is the share of the run from which on a result is about all of it, and not about an incident.
	wholeRun = 0.8
	// otherLoss is the share of the I/Os per second that may be missing beyond those of stalled hosts.
	otherLoss = 0.25
)

// teller combines the results of a run into stories.
type teller struct {
	*Watch
	*Diagnosis
	from, to int64 // of the run, ms
	step     int64 // how exact times are, ms
	stories  []story
}

// findings returns a finding for each story of the diagnosis.
func (w *Watch) findings(d *Diagnosis) (out []Finding) {
	t := teller{Watch: w, Diagnosis: d, from: w.run.FirstQuantum / 1e6}
	t.step = w.run.Interval * int64(max(w.timeline.fold, w.peers.fold)) / 1e6
	t.to = t.from + int64(w.timeline.quanta)*w.run.Interval/1e6
	for i := range d.Levels {
		l := &d.Levels[i]
		t.tell(result{finding: l.finding(), p: l.P, from: t.from, to: t.to, logs: t.logsOf(l.Dimension, l.Slow, nil),
			level: l})
	}
	for i := range d.Stalls {
		s := &d.Stalls[i]
		t.tell(result{finding: s.finding(), p: stallAlpha, from: s.SinceMS, to: s.UntilMS,
			logs: t.logsOf(s.Dimension, s.Values, s.Hosts), stall: s})
	}
	for i := range d.Stragglers {
		s := &d.Stragglers[i]
		t.tell(result{finding: s.finding(), p: s.P, from: s.SinceMS, to: s.UntilMS,
			logs: t.logsOf(s.Dimension, []string{s.Value}, nil), straggler: s})
	}
	for i := range d.Segments {
		if s := &d.Segments[i]; s.Kind == Incident {
			t.tell(result{finding: t.incidentFinding(s), p: incidentAlpha, from: s.FromMS, to: s.ToMS, incident: s})
		}
	}
	levels, periods := shifts(d.Segments)
	for _, s := range levels {
		t.tell(result{finding: s.finding(), p: incidentAlpha, from: s.FromMS, to: s.to, shift: &s})
	}
	for i := range t.stories {
		out = append(out, t.finding(&t.stories[i]))
	}
	return append(out, periods...)
}

// logsOf returns the logs with these values, of some hosts; nil stands for all.
func (t *teller) logsOf(dimension string, values, hosts []string) map[*pipeline.Log]bool {
	out, d := map[*pipeline.Log]bool{}, slices.Index(dimensions, dimension)
	for _, l := range t.run.Logs {
		if slices.Contains(values, [3]string{l.Host, l.Job, l.LogName}[d]) &&
			(hosts == nil || slices.Contains(hosts, l.Host)) {
			out[l] = true
		}
	}
	return out
}

// tell adds a result to the first story that it belongs to, or begins one. Incidents are told last, then shifts.
func (t *teller) tell(r result) {
	for i := range t.stories {
		s := &t.stories[i]
		if slices.ContainsFunc(s.results, func(o result) bool { return t.oneTime(&o, &r) && t.oneCause(s, &o, &r) }) {
			s.results = append(s.results, r)
			return
		}
	}
	t.stories = append(t.stories, story{[]result{r}})
}

// oneTime reports whether most of the shorter of two results is within the other, give or take a step.
func (t *teller) oneTime(a, b *result) bool {
	shorter, longer := min(a.to-a.from, b.to-b.from), max(a.to-a.from, b.to-b.from)
	if float64(longer) >= wholeRun*float64(t.to-t.from) && 2*shorter < longer {
		return false
	}
	return 2*(min(a.to, b.to)-max(a.from, b.from)+t.step) > shorter+t.step
}

// oneCause reports whether a result has the cause of one of a story, which is of its time.
func (t *teller) oneCause(s *story, a, b *result) bool {
	switch {
	case a.incident != nil:
		return b.incident != nil && a.incident.Direction != b.incident.Direction
	case a.shift != nil:
		return a.shift.Direction != b.shift.Direction
	case b.shift != nil:
		return a.straggler != nil && makesTail(s, b.shift.Direction, &b.shift.from.Percentiles[1])
	case b.incident != nil && a.stall != nil:
		steady := steadyOf(b.incident, t.Segments)
		return steady == nil ||
			b.incident.LostIOPS <= (t.share(a.stall, b.incident.Direction)+otherLoss)*steady.IOPS
	case b.incident != nil:
		var p99 *float64
		if steady := steadyOf(b.incident, t.Segments); steady != nil {
			p99 = steady.P99
		}
		return a.straggler != nil && makesTail(s, b.incident.Direction, p99)
	case a.stall != nil && b.stall != nil:
		return false
	case a.straggler != nil && b.straggler != nil && a.straggler.Dimension == b.straggler.Dimension &&
		!t.whole(a) && !t.whole(b) && max(a.from-b.from, b.from-a.from, a.to-b.to, b.to-a.to) <= t.step:
		return true // several hosts have begun and ended together
	}
	return within(a.logs, b.logs) || within(b.logs, a.logs)
}

func within(some, all map[*pipeline.Log]bool) bool {
	for l := range some {
		if !all[l] {
			return false
		}
	}
	return len(some) > 0
}

func (t *teller) whole(r *result) bool { return float64(r.to-r.from) >= wholeRun*float64(t.to-t.from) }

// makesTail reports whether what makes p99 of the run worse than usual may be the stragglers of a story: without a
// single one it is less than half as much worse, in decades; several have most of the I/Os above it.
func makesTail(s *story, direction string, usual *float64) bool {
	var one *Straggler
	n, share := 0, 0.0
	for _, r := range s.results {
		if r.straggler != nil && r.straggler.Direction == direction && r.straggler.Percentile == 99 {
			one, n, share = r.straggler, n+1, share+r.straggler.Share
		}
	}
	if n > 1 {
		return share >= 0.5
	}
	if n == 0 || one.Pooled == nil || one.Without == nil || usual == nil {
		return true
	}
	worse := func(v float64) float64 { return math.Log(max(v, 1) / max(*usual, 1)) }
	return worse(*one.Without) <= max(worse(*one.Pooled)/2, math.Log(leastSlow))
}

// share returns the share of the I/Os of a direction that hosts, jobs or logs have outside their stall; 1 if unknown.
func (t *teller) share(of *Stall, direction string) float64 {
	for _, g := range t.peers.groups {
		if g.direction != direction || dimensions[g.dimension] != of.Dimension {
			continue
		}
		own, all := 0.0, 0.0
		for i := range g.blocks {
			for v, m := range g.blocks[i].members {
				if all += float64(m.n); slices.Contains(of.Values, g.values[v]) {
					own += float64(m.n)
				}
			}
		}
		if all > 0 {
			return own / all
		}
	}
	return 1
}

// steadyOf returns the longest segment of the level with which another one is compared; nil if there is none.
func steadyOf(of *Segment, segments []Segment) (steady *Segment) {
	for i := range segments {
		if o := &segments[i]; o.Direction == of.Direction && o.level == of.level &&
			(o.Kind == Steady || o.Kind == Shift) && (steady == nil || o.ToMS-o.FromMS > steady.ToMS-steady.FromMS) {
			steady = o
		}
	}
	return steady
}

// rank orders results by how much they tell of the cause.
func (r *result) rank() int {
	return slices.Index([]bool{r.stall != nil, r.level != nil, r.straggler != nil, true}, true)
}

// finding tells a story in one sentence: its cause, as far as it is known, and what that did to the run.
func (t *teller) finding(s *story) Finding {
	lead := slices.MinFunc(s.results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.finding.Factor, a.finding.Factor))
	})
	out := lead.finding
	if !t.whole(&lead) {
		out.FromMS, out.ToMS = lead.from, lead.to
	}
	if of := lead.stall; of != nil {
		if out.Stalled = of.Hosts; of.Dimension == dimensions[0] {
			out.Stalled = of.Values
		}
	}
	if len(s.results) == 1 {
		return out
	}
	var stragglers []result
	var incidents []*Segment
	sure := ""
	for _, r := range s.results {
		out.Factor = max(out.Factor, r.finding.Factor)
		if r.finding.Confidence <= out.Confidence {
			out.Confidence, sure = r.finding.Confidence, r.certain()
		}
		if r.straggler != nil {
			stragglers = append(stragglers, r)
		}
		if r.incident != nil {
			incidents = append(incidents, r.incident)
		}
	}
	var text []string
	switch {
	case lead.stall != nil:
		text = append(text, lead.stall.text(), without(stragglers))
	case lead.level != nil:
		text = append(text, lead.level.text(), likewise(&lead, s.results))
	case lead.straggler != nil:
		text = append(text, t.together(lead.straggler, stragglers), lead.straggler.text(), likewise(&lead, s.results))
	}
	if len(incidents) > 0 {
		about := t.incident(incidents)
		if lead.incident == nil {
			about = strings.ToLower(about[:1]) + about[1:]
		}
		text = append(text, about)
	}
	for i := range s.results {
		if r := &s.results[i]; r.shift != nil && r.shift == lead.shift {
			text = slices.Insert(text, 0, r.shift.text)
		} else if r.shift != nil {
			text = append(text, strings.ToLower(r.shift.text[:1])+r.shift.text[1:])
		}
	}
	text = slices.DeleteFunc(text, func(part string) bool { return part == "" })
	out.Text = strings.Join(text, "; ") + "; confidence " + sure + "."
	return out
}

// certain formats the confidence of a result: of a stall or an incident, a lower limit.
func (r *result) certain() string {
	if r.straggler == nil && r.level == nil {
		return "over " + certain(r.p)
	}
	return certain(r.p)
}

// without says what the worst of stragglers does to a percentile, beside their stall.
func without(stragglers []result) string {
	var worst *Straggler
	most := 0.0
	for _, r := range stragglers {
		if s := r.straggler; s.Pooled != nil && s.Without != nil && r.finding.Factor > most {
			worst, most = s, r.finding.Factor
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("%s p%g from %s to %s is %s, without %s %s %s", worst.Direction, worst.Percentile,
		fio.Clock(worst.SinceMS), fio.Clock(worst.UntilMS), latency(*worst.Pooled), worst.Dimension, worst.Value,
		latency(*worst.Without))
}

// likewise says at which other percentiles and in which other directions the same ones stand out.
func likewise(lead *result, results []result) string {
	var also []string
	for _, r := range results {
		of := ""
		switch {
		case r.straggler != nil && r.straggler != lead.straggler:
			of = fmt.Sprintf("%s p%g", r.straggler.Direction, r.straggler.Percentile)
		case r.level != nil && r.level != lead.level:
			of = r.level.Direction + "s"
		}
		if own := lead.straggler; of != "" && !slices.Contains(also, of) &&
			(own == nil || of != fmt.Sprintf("%s p%g", own.Direction, own.Percentile)) {
			also = append(also, of)
		}
	}
	if len(also) == 0 {
		return ""
	}
	slices.SortFunc(also, fio.Natural)
	return "likewise in " + fio.List(also, "and")
}

// together names the hosts, jobs or logs that stand out with the worst of them; "" if it is alone.
func (t *teller) together(worst *Straggler, stragglers []result) string {
	var values []string
	for _, r := range stragglers {
		if r.straggler.Dimension == worst.Dimension && !slices.Contains(values, r.straggler.Value) {
			values = append(values, r.straggler.Value)
		}
	}
	if len(values) < 2 {
		return ""
	}
	return names(worst.Dimension, values, false) + " stand out together"
}
