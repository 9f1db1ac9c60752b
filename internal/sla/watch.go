package sla

// Change is a breach of a rule, or the recovery from it.
type Change struct {
	Rule   *Rule
	Breach bool // else a recovery
	// Start and End are the first quantum of the row that led to it: when it began.
	Start, End int64
	// First is the verdict on that quantum, Last the latest one.
	First, Last Verdict
}

// Watch follows the verdicts on one rule in one scope. A breach is as many broken
// quanta in a row as the rule or its caller says, a recovery as many that are kept;
// unknown ones neither count nor interrupt. So every breach is told once, and so is
// every recovery.
type Watch struct {
	need   int
	broken bool
	row    int   // verdicts in a row that speak against the present state
	told   int64 // when the breach began: what lies before is no recovery from it
	since  Change

	// Counts of quanta by status, of breaches, and the worst value with its quantum.
	OK, Unknown, Broken int
	Breaches            int
	Worst               Verdict
	WorstAt             int64
}

// NewWatch makes a Watch of a rule. Patience is how many quanta in a row it takes
// where the rule does not say; a stall, in which nothing completes at all, is no
// matter of chance and is told at once.
func NewWatch(r *Rule, patience int) *Watch {
	w := &Watch{need: max(r.For, 1)}
	if r.For == 0 {
		w.need = max(patience, 1)
	}
	return w
}

// Status is what the verdicts say together: Broken if there was a breach.
func (w *Watch) Status() Status {
	switch {
	case w.Breaches > 0:
		return Broken
	case w.OK > 0:
		return OK
	}
	return Unknown
}

// See takes the verdict on the next quantum.
func (w *Watch) See(v Verdict, start, end int64) (c Change, changed bool) {
	w.count(v, start)
	against := OK
	if !w.broken {
		against = Broken
	}
	switch v.Status {
	case Unknown:
		return c, false
	case against:
		if w.broken && start < w.told {
			return c, false
		}
	default:
		w.row = 0
		return c, false
	}
	if w.row == 0 {
		w.since = Change{Rule: v.Rule, Breach: !w.broken, Start: start, End: end, First: v}
	}
	w.row++
	if w.row < w.need && !(v.Stalled && v.Rule.For == 0) {
		return c, false
	}
	w.row = 0
	w.broken = !w.broken
	if w.broken {
		w.Breaches++
		w.told = w.since.Start
	}
	w.since.Last = v
	return w.since, true
}

// Stall takes a verdict that rests on nothing having been heard, before the quanta that
// will say so: a breach at once, unless the rule says how many quanta it takes.
func (w *Watch) Stall(v Verdict, start, end int64) (c Change, changed bool) {
	if w.broken || w.need > 1 && v.Rule.For > 0 {
		return c, false
	}
	w.broken, w.row, w.told = true, 0, start
	w.Breaches++
	return Change{Rule: v.Rule, Breach: true, Start: start, End: end, First: v, Last: v}, true
}

func (w *Watch) count(v Verdict, start int64) {
	switch v.Status {
	case OK:
		w.OK++
	case Broken:
		w.Broken++
	default:
		w.Unknown++
	}
	if !v.Known || v.Stalled && v.Status != Broken {
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
