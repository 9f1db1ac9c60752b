package sla

import "fiolat/fio"

// Change is a breach of a rule, or the recovery from it.
type Change struct {
	Rule   *fio.SLARule
	Breach bool // else a recovery
	// Start and End delimit the first of the intervals that led to the change, in ns.
	Start, End int64
	// First is the verdict on that interval, Last the most recent one.
	First, Last Verdict
}

// Watch follows the verdicts on one rule in one scope. A breach takes a number of
// consecutive broken intervals, a recovery as many that are ok. Unknown intervals neither
// count nor interrupt. Each breach and each recovery is reported once.
type Watch struct {
	need    int
	given   bool // the rule says how many
	broken  bool
	streak  int // consecutive verdicts against the current state
	pending Change

	// Counts of intervals by status. Those that have no value are in none, such as those after the end of the jobs.
	OK, Unknown, Broken int
	// Missed counts the unknown intervals whose own latency violates the rule.
	Missed   int
	Breaches int
	// Worst is the worst value of an interval that is not partial, and WorstAt the start of that interval.
	Worst   Verdict
	WorstAt int64
	// Stalls counts the pauses that broke the rule. LongestFrom and LongestTo are the start and end of the longest.
	Stalls                 int
	LongestFrom, LongestTo int64
	stallFrom              int64 // start of the last one
}

// NewWatch returns a Watch for a rule, judged in intervals of so many ns. Patience is the number of
// consecutive intervals for a breach or recovery if the rule does not say; a stall is then reported at once.
// The intervals of SLARule.For are usual ns long, so that the rule means the same for intervals of any length.
func NewWatch(r *fio.SLARule, patience int, interval, usual int64) *Watch {
	w := &Watch{need: max(patience, 1), given: r.For > 0 || r.Lasting > 0}
	if lasting := int64(r.For)*usual + int64(r.Lasting); lasting > 0 {
		w.need = int((lasting + interval - 1) / interval)
	}
	return w
}

// Observe adds the verdict on the next interval and returns the change it causes, if any.
func (w *Watch) Observe(v Verdict, start, end int64) (c Change, changed bool) {
	w.count(v, start, end)
	against := OK
	if !w.broken {
		against = Broken
	}
	switch v.Status {
	case Unknown:
		return c, false
	case against:
	default:
		w.streak = 0
		return c, false
	}
	if w.streak == 0 {
		w.pending = Change{Rule: v.Rule, Breach: !w.broken, Start: start, End: end, First: v}
	}
	w.streak++
	if w.streak < w.need && !(v.Stalled && !w.given) {
		return c, false
	}
	w.streak = 0
	w.broken = !w.broken
	if w.broken {
		w.Breaches++
	}
	w.pending.Last = v
	return w.pending, true
}

// Preview returns the breach that a verdict on the interval from start to end would cause if
// it came next, and leaves the Watch as it is. There is none during a breach, or if the
// rule demands several intervals.
func (w *Watch) Preview(v Verdict, start, end int64) (c Change, breach bool) {
	if w.broken || w.need > 1 && w.given {
		return c, false
	}
	c = Change{Rule: v.Rule, Breach: true, Start: start, End: end, First: v, Last: v}
	if w.streak > 0 {
		c.Start, c.End, c.First = w.pending.Start, w.pending.End, w.pending.First
	}
	return c, true
}

func (w *Watch) count(v Verdict, start, end int64) {
	switch {
	case v.Status == OK:
		w.OK++
	case v.Status == Broken:
		w.Broken++
	case v.Known:
		w.Unknown++
		if v.Rule.Latency() && !v.Stalled && !v.Rule.Met(v.Value) {
			w.Missed++
		}
	}
	if v.Stalled && v.Status == Broken {
		w.stalled(v, start, end)
	}
	if !v.Known || v.Partial || v.Stalled && v.Status != Broken {
		return
	}
	worse := v.Value > w.Worst.Value
	if v.Rule.Above {
		worse = v.Value < w.Worst.Value
	}
	if !w.Worst.Known || worse {
		w.Worst, w.WorstAt = v, start
	}
}

func (w *Watch) stalled(v Verdict, start, end int64) {
	if v.Partial {
		end = start
	}
	from := end - int64(v.Value)
	if w.Stalls == 0 || from != w.stallFrom {
		w.Stalls++
		w.stallFrom = from
	}
	if end-from > w.LongestTo-w.LongestFrom {
		w.LongestFrom, w.LongestTo = from, end
	}
}
