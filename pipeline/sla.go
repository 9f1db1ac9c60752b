package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
)

// String describes the change in words.
func (c *Change) String() string {
	where := ""
	if c.Dims.Host != "" {
		where = " on " + c.Dims.Host
	}
	v := &c.Last
	value := fmt.Sprintf("%.4g I/Os per second", v.Value)
	if c.Rule.Latency() {
		value = fio.Duration(math.Round(v.Value/1e3) * 1e3)
	}
	switch {
	case !v.Known:
		value = "unknown"
	case v.Stalled:
		value = "at least " + value + " (no I/O completes)"
	}
	if c.Breach {
		return fmt.Sprintf("SLA broken%s: %s; it is %s%s", where, c.Rule.Text, value, c.TailCause)
	}
	if c.Early {
		return fmt.Sprintf("SLA not broken after all%s: %s; it is %s", where, c.Rule.Text, value)
	}
	return fmt.Sprintf("SLA kept again%s: %s; it is %s", where, c.Rule.Text, value)
}

// Watch is a Sink that judges by rules what it passes on to another sink. It adds the verdicts to the rows, breaches
// and recoveries to the intervals, and the outcomes to the summary.
//
// A rule is judged on the I/Os of all hosts together or, in a part of a run (--part), on those of each host.
type Watch struct {
	next     Sink
	rules    []fio.SLARule
	patience int
	run      *Run
	scopes   map[fio.Dims]*watched
	order    []fio.Dims                 // of scopes
	hosts    map[string]map[string]bool // by host, or "": the directions that have had I/O
	done     int64                      // offset of the last interval judged
}

// watched is the state of one scope.
type watched struct {
	scope       string
	rules       []*fio.SLARule
	judge       *sla.Judge
	watches     []*sla.Watch
	silentUntil []int64      // by rule: time until which silence has broken it, ns from the run's start; 0: it has not
	now         fiohist.Hist // of the interval
	total       fiohist.Hist
	limits      fiohist.Limits
	open        bool // some I/Os have no limits
}

// WithRules returns a Watch that passes on to next, or next itself if there are no rules.
func WithRules(rules []fio.SLARule, next Sink) Sink {
	if len(rules) == 0 {
		return next
	}
	return NewWatch(rules, 1, next)
}

// NewWatch returns a Watch that passes on to next. patience is how many intervals in a row make a breach
// of a rule that does not set it.
func NewWatch(rules []fio.SLARule, patience int, next Sink) *Watch {
	return &Watch{next: next, rules: rules, patience: patience}
}

// Begin starts watching and passes the run on.
func (w *Watch) Begin(ctx context.Context, run *Run) error {
	w.run, w.scopes, w.order, w.hosts = run, map[fio.Dims]*watched{}, nil, map[string]map[string]bool{}
	w.done = run.FirstInterval - 1
	if run.Part == "" {
		w.watch("")
	}
	return w.next.Begin(ctx, run)
}

// watch adds the scopes of a host, or of all hosts together if host is "".
func (w *Watch) watch(host string) {
	w.hosts[host] = map[string]bool{}
	directions := w.run.Directions()
	if directions[0] == fio.All { // a rule about reads is not judged, but has an outcome, too
		directions = fio.DirectionNames()
	}
	for _, d := range append([]string{fio.All}, directions...) {
		s := &watched{scope: fio.DirectionScope}
		whole := d == w.run.TotalDirection()
		switch {
		case host != "" && whole:
			s.scope = fio.HostScope
		case host != "":
			s.scope = fio.HostDirectionScope
		case whole:
			s.scope = fio.RunScope
		}
		for i := range w.rules {
			if r := &w.rules[i]; r.Direction == d {
				s.rules = append(s.rules, r)
				s.watches = append(s.watches, sla.NewWatch(r, w.patience, w.run.Interval, w.run.UsualInterval()))
			}
		}
		if len(s.rules) > 0 {
			s.judge = sla.NewJudge(w.run.Geometry, s.rules, len(w.rules))
			s.silentUntil = make([]int64, len(s.rules))
			w.scopes[fio.Dims{Host: host, Direction: d}] = s
		}
	}
	w.order = slices.SortedFunc(maps.Keys(w.scopes), func(a, b fio.Dims) int {
		return cmp.Or(fio.Natural(a.Host, b.Host), cmp.Compare(a.Direction, b.Direction))
	})
}

// Late passes the rows on. They do not change what was known of their interval when it was judged.
func (w *Watch) Late(ctx context.Context, q *Interval) error { return w.next.Late(ctx, q) }

// Early passes the changes on.
func (w *Watch) Early(ctx context.Context, q *Interval) error { return w.next.Early(ctx, q) }

// Interval judges the interval and passes it on.
func (w *Watch) Interval(ctx context.Context, q *Interval) error {
	w.done = q.Offset
	w.add(q.Leaves)
	running := map[string]*Row{} // by host: its row of all directions, else of one of them
	for i := range q.Rows {
		if r := &q.Rows[i]; r.Dims.Job == "" && r.Dims.Log == "" && (running[r.Dims.Host] == nil ||
			r.Dims.Direction == fio.All) {
			running[r.Dims.Host] = r
		}
	}
	for _, d := range w.order {
		s := w.scopes[d]
		sq := sla.Interval{Start: q.Offset, Length: w.run.Interval, Hist: &s.now}
		if !s.open {
			sq.Limits = s.limits
		}
		row := find(q.Rows, d)
		ran := cmp.Or(row, find(q.Ran, d))
		if all := cmp.Or(ran, running[d.Host]); all != nil && all.IOPSKnown && w.holds(d) {
			sq.Running, sq.Partial = true, !q.Whole && (all.Uneven || all.Partial(w.run.Interval))
			sq.IOPS = s.now.Sum() / (float64(all.Covered) / 1e9)
		}
		verdicts := s.judge.Judge(&sq)
		if all := cmp.Or(row, running[d.Host]); all != nil && all.Lost >= int64(time.Millisecond) {
			for i := range verdicts { // the lost I/Os might change any verdict
				verdicts[i].Status = sla.Unknown
			}
		}
		if row != nil {
			row.SLA = append(row.SLA, verdicts...)
		}
		if all := running[d.Host]; all != nil && all.Dims.Direction == fio.All && d.Direction != fio.All &&
			len(w.hosts[d.Host]) == 1 && w.hosts[d.Host][d.Direction] {
			all.SLA = append(all.SLA, verdicts...) // all I/Os so far are of this direction
		}
		for i, v := range verdicts {
			end := q.Offset + w.run.Interval
			if c, changed := s.watches[i].Observe(v, q.Offset, end); changed {
				change := Change{Scope: s.scope, Dims: d, Change: c, Alerted: s.silentUntil[i] > 0}
				if c.Breach && c.Rule.Latency() {
					change.TailCause = tailCause(q, d)
				}
				q.Changes = append(q.Changes, change)
				s.silentUntil[i] = 0
			} else if s.silentUntil[i] > 0 && q.Offset >= s.silentUntil[i] && v.Status == sla.OK {
				// The silence was no breach.
				c = sla.Change{Rule: v.Rule, Start: q.Offset, End: end, First: v, Last: v}
				q.Changes = append(q.Changes, Change{Scope: s.scope, Dims: d, Change: c, Early: true})
				s.silentUntil[i] = 0
			}
		}
		s.total.AddHist(&s.now)
		s.now = fiohist.Hist{}
	}
	return w.next.Interval(ctx, q)
}

// minTailFactor is the least factor by which TailPercentile must be lower without a host, job or log that is named.
const minTailFactor = 1.3

// tailCause returns which host, job or log causes the tail of an interval, as text to append; "" if none does.
func tailCause(q *Interval, d fio.Dims) string {
	most, text := minTailFactor, ""
	see := func(r *Row) {
		if p := r.TailPart; p == nil || r.Dims.Direction != d.Direction || p.Without <= 0 || p.All < most*p.Without {
			return
		}
		name := cmp.Or(r.Dims.Host, r.Dims.Job, r.Dims.Log)
		dimension := fio.Undirected(r.Scope)
		most = r.TailPart.All / r.TailPart.Without
		text = fmt.Sprintf("; %s %s has %.0f %% of the I/Os above p%d and %.0f %% of all, and without it p%d is %v",
			dimension, name, max(r.TailPart.Share, 0)*100, TailPercentile, r.TailPart.Expected*100, TailPercentile,
			fio.Duration(math.Round(r.TailPart.Without/1e3)*1e3))
	}
	for i := range q.Rows {
		see(&q.Rows[i])
	}
	return text
}

// add adds leaves to their scopes. It sums them by direction first, so that it does not matter whether
// they come one by one or already added up.
func (w *Watch) add(leaves []Leaf) {
	var order []fio.Dims
	sums := map[fio.Dims]*fiohist.Hist{}
	for i := range leaves {
		l := &leaves[i]
		d := fio.Dims{Direction: l.Dims.Direction}
		if w.run.Part != "" {
			d.Host = l.Dims.Host
			if w.hosts[d.Host] == nil {
				w.watch(d.Host)
			}
		}
		w.hosts[d.Host][d.Direction] = true
		if sums[d] == nil {
			order, sums[d] = append(order, d), new(fiohist.Hist)
		}
		sums[d].AddHist(l.Hist)
		w.each(d, func(s *watched) {
			s.limits, s.open = s.limits.Widen(l.Limits), s.open || !l.Limits.Known
		})
	}
	for _, d := range order {
		w.each(d, func(s *watched) { s.now.AddHist(sums[d]) })
	}
}

// each calls f for the scopes that hold the I/Os of d's direction, and of its host if that is set.
func (w *Watch) each(d fio.Dims, f func(*watched)) {
	for _, direction := range slices.Compact([]string{fio.All, d.Direction}) {
		if s := w.scopes[fio.Dims{Host: d.Host, Direction: direction}]; s != nil {
			f(s)
		}
	}
}

// holds reports whether the run has the I/Os of a scope's direction apart, and Pick keeps them: else nothing is known.
func (w *Watch) holds(d fio.Dims) bool {
	return d.Direction == fio.All ||
		slices.Contains(w.run.Directions(), d.Direction) && w.run.Pick.HoldsDirection(d.Direction)
}

func find(rows []Row, d fio.Dims) *Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Dims == d }); i >= 0 {
		return &rows[i]
	}
	return nil
}

// Silent judges that nothing has been heard since `from`, until `at`, both in ns from the run's start: see Live.Silent.
// A breach gets the interval with which it will begin when the intervals come, or an earlier one if that is too far
// ahead.
func (w *Watch) Silent(ctx context.Context, from, at int64) error {
	interval := w.run.Interval
	first := w.done + (from-w.done+interval-1)/interval*interval
	for _, d := range w.order {
		s := w.scopes[d]
		q := Interval{Offset: first}
		for i, v := range s.judge.Silent(at-from, interval) {
			start := first + v.Window - interval
			if v.Status != sla.Broken || at < start && start-at <= (at-from)/3 {
				continue
			}
			for start > at { // do not delay the alert by a long interval
				start -= interval
			}
			if c, breach := s.watches[i].Preview(v, start, start+interval); breach {
				if s.silentUntil[i] == 0 {
					q.Offset = start
					q.Changes = append(q.Changes, Change{Scope: s.scope, Dims: d, Change: c, Early: true})
				}
				s.silentUntil[i] = at
			}
		}
		if len(q.Changes) > 0 {
			if err := w.next.Early(ctx, &q); err != nil {
				return err
			}
		}
	}
	return nil
}

// End adds the outcomes to the summary and passes it on.
func (w *Watch) End(ctx context.Context, sum *Summary) error {
	for _, d := range w.order {
		s := w.scopes[d]
		q := sla.Interval{Start: w.run.FirstInterval, Length: sum.End - w.run.FirstInterval, Hist: &s.total}
		if !s.open {
			q.Limits = s.limits
		}
		row := cmp.Or(find(sum.Total, d), find(sum.Ran, d), &Row{})
		if row.IOPSKnown && w.holds(d) {
			q.Running, q.IOPS = true, s.total.Sum()/(float64(row.Covered)/1e9)
		}
		whole := s.judge.Whole(&q)
		for i, r := range s.rules {
			if row.Lost >= int64(time.Millisecond) { // the lost I/Os might change the verdict
				whole[i].Status = sla.Unknown
			}
			sum.SLA = append(sum.SLA, Outcome{Scope: s.scope, Dims: d, Rule: r, Watch: s.watches[i],
				Interval: w.run.Interval, Whole: whole[i]})
		}
	}
	return w.next.End(ctx, sum)
}

// Status is the verdict on a run: broken if there was a breach, or the whole run breaks the rule.
func (o *Outcome) Status() sla.Status {
	switch {
	case o.Breaches > 0 || o.Whole.Status == sla.Broken:
		return sla.Broken
	case o.Whole.Status == sla.OK || o.OK > 0 && (!o.Whole.Known || o.Rule.Met(o.Whole.Value)):
		return sla.OK
	}
	return sla.Unknown
}

// Word is the verdict on the run as a reader is told it.
func (o *Outcome) Word() string {
	if o.Status() == sla.Unknown && o.Whole.Known && !o.Rule.Met(o.Whole.Value) {
		side := "over"
		if o.Rule.Above {
			side = "below"
		}
		return side + " its limit as measured, not certain"
	}
	return map[sla.Status]string{sla.Broken: "BROKEN", sla.OK: "ok", sla.Unknown: "not certain"}[o.Status()]
}

// String describes the outcome: the verdict, the whole run, its intervals, and the longest pause or else the worst
// interval.
func (o *Outcome) String() string { return o.Tell(": " + o.Word()) }

// Tell is String with another text for the verdict, which follows the rule.
func (o *Outcome) Tell(verdict string) string {
	threshold := o.Rule.Threshold
	limit, beyond := rate(threshold), "below"
	if o.Rule.Latency() {
		limit = fio.Duration(threshold)
		if threshold < 60e9 {
			limit = fio.Latency(threshold, 9)
		}
		if !o.Rule.Above {
			beyond = "above"
		}
	}
	value := func(v float64) string {
		v = roundApart(v, threshold, 3)
		if o.Rule.Latency() {
			return o.Rule.Name + " " + fio.Latency(v, 9)
		}
		return rate(v)
	}
	var b strings.Builder
	if o.Dims.Host != "" {
		b.WriteString(fio.Printable(o.Dims.Host) + ": ")
	}
	b.WriteString(strings.Replace(o.Rule.Text, fio.Duration(threshold), limit, 1) + verdict + ".")
	if o.Whole.Known {
		b.WriteString(" Whole run: " + value(o.Whole.Value))
		if o.Whole.Share >= 0 {
			b.WriteString("; " + o.share(limit))
		}
		b.WriteString(".")
	}
	if !o.Whole.Known && o.OK+o.Broken+o.Unknown == 0 {
		fmt.Fprintf(&b, " The run has no %s that can be judged.", IOs(o.Dims.Direction))
	}
	if o.OK+o.Broken+o.Unknown > 1 {
		interval := "By intervals of " + fio.Duration(float64(o.Interval))
		switch time.Duration(o.Interval) {
		case time.Second:
			interval = "By second"
		case time.Minute:
			interval = "By minute"
		}
		fmt.Fprintf(&b, " %s: %d broken, %d ok, %d not certain", interval, o.Broken, o.OK, o.Unknown)
		if o.Missed > 0 {
			fmt.Fprintf(&b, " (%d of them %s %s)", o.Missed, beyond, limit)
		}
		b.WriteString(".")
	}
	from, to := fio.Clock(o.LongestFrom/1e6), fio.Clock(o.LongestTo/1e6)
	switch {
	case o.Stalls == 1:
		fmt.Fprintf(&b, " Nothing completed from %s to %s.", from, to)
	case o.Stalls > 1:
		fmt.Fprintf(&b, " Nothing completed %d times, the longest from %s to %s.", o.Stalls, from, to)
	case o.Worst.Known && o.OK+o.Broken+o.Unknown > 1:
		fmt.Fprintf(&b, " Worst: %s at %s.", value(o.Worst.Value), fio.Clock(max(o.WorstAt, 0)/1e6))
	}
	return b.String()
}

// share says how many of all I/Os keep the threshold, and how many must.
func (o *Outcome) share(limit string) string {
	bound, need := "within", ""
	allowed := 100 - o.Rule.Percentile
	if o.Rule.Above {
		bound, allowed = "above", o.Rule.Percentile
	}
	if o.Rule.Percentile > 0 {
		need = ", " + fio.Digits(100-allowed, 9) + " % needed"
	}
	kept := 100 - roundApart(100*(1-o.Whole.Share), allowed, 2)
	return fmt.Sprintf("%s %% of %s %s %s%s", fio.Digits(kept, 9), IOs(o.Dims.Direction), bound, limit, need)
}

// roundApart rounds v to that many digits, or to as many as tell it from limit.
func roundApart(v, limit float64, digits int) float64 {
	r := fio.Round(v, digits)
	for ; r == fio.Round(limit, 9) && digits < 9; digits++ {
		r = fio.Round(v, digits+1)
	}
	return r
}

func rate(v float64) string {
	if v >= 1000 {
		return fio.Grouped(v) + " IOPS"
	}
	return fio.Digits(v, 9) + " IOPS"
}

// IOs names the I/Os of a direction.
func IOs(direction string) string {
	if direction == fio.All {
		return "I/Os"
	}
	return direction + "s"
}
