package diagnose

import (
	"context"
	"fmt"
	"slices"

	"fiolat/fio"
	"fiolat/pipeline"
)

const (
	// lookback is the number of latest intervals of a live run that are compared.
	lookback = 240
	// leastHistory is the number of intervals before which nobody is named.
	leastHistory = 20
)

// Live searches the latest intervals of a run that is in progress. It adds the hosts, jobs and logs that begin or cease
// to stand out to the intervals that it passes on to the next sink. One begins when the window in which it stands out
// reaches into the last intervals, as many as the shortest window has, and ends when it no longer does and these
// intervals are less than half as far off.
type Live struct {
	next    pipeline.Sink
	run     *pipeline.Run
	watch   Watch
	current []standing // those that stand out now
}

// standing is a member that stands out; times are in ns from the run's start.
type standing struct {
	finding      Finding
	group        *group
	member       int
	measure      int
	size         float64
	since, until int64
}

// NewLive returns a Live that passes everything on to next.
func NewLive(next pipeline.Sink) *Live { return &Live{next: next} }

// Begin implements pipeline.Sink.
func (l *Live) Begin(ctx context.Context, run *pipeline.Run) error {
	l.run = run
	if err := l.watch.Begin(ctx, run); err != nil {
		return err
	}
	return l.next.Begin(ctx, run)
}

// Interval adds who begins or ceases to stand out and passes the interval on. A part of a run does not have all peers,
// so nobody is named in it.
func (l *Live) Interval(ctx context.Context, q *pipeline.Interval) error {
	if l.run.Part == "" {
		if err := l.watch.Interval(ctx, q); err != nil {
			return err
		}
		for b := l.watch.board; b.intervals > lookback || b.size() > maxMembers/2; {
			b.forget()
		}
		q.Stragglers = l.look(q.Offset + l.run.Interval)
	}
	return l.next.Interval(ctx, q)
}

// Late passes on rows.
func (l *Live) Late(ctx context.Context, q *pipeline.Interval) error { return l.next.Late(ctx, q) }

// Early passes on changes.
func (l *Live) Early(ctx context.Context, q *pipeline.Interval) error { return l.next.Early(ctx, q) }

// End passes on the summary.
func (l *Live) End(ctx context.Context, s *pipeline.Summary) error { return l.next.End(ctx, s) }

// look returns who begins or ceases to stand out by the end of an interval, at now.
func (l *Live) look(now int64) (out []pipeline.Straggler) {
	b := l.watch.board
	if b.intervals < leastHistory {
		return nil
	}
	var found []standing
	hits, fields := l.watch.members()
	for _, h := range hits {
		for _, v := range h.members {
			one := h
			one.members = []int{v}
			s := standing{finding: l.watch.finding(&one, len(b.pooled)), group: h.group, member: v,
				measure: h.measure, size: h.size, since: b.first + int64(h.from)*b.interval,
				until: b.first + int64(h.to)*b.interval}
			s.finding.Text = s.finding.say(&one, ", since "+fio.Clock(s.since/1e6), "", len(b.pooled) > 1)
			found = append(found, s)
		}
	}
	over := now - shortest*b.interval // what has not stood out since then has ended
	l.current = slices.DeleteFunc(l.current, func(was standing) bool {
		seen := func(s standing) bool { return was.same(&s) && s.until > over }
		if was.goesOn(fields) || slices.ContainsFunc(found, seen) {
			return false
		}
		was.until = over
		for i := range found {
			if s := &found[i]; was.same(s) && s.until > was.since {
				was.until = s.until
			}
		}
		out = append(out, was.event(true, now))
		b.except(&was)
		return true
	})
	for _, s := range found {
		if s.until > over && !slices.ContainsFunc(l.current, func(o standing) bool { return o.same(&s) }) {
			l.current = append(l.current, s)
			out = append(out, s.event(false, now))
		}
	}
	return out
}

// goesOn reports whether a member is still at least half as far off in the last intervals.
func (s *standing) goesOn(fields []*field) bool {
	for _, f := range fields {
		if f.group == s.group {
			n := len(f.off[0][0])
			return f.mean(s.measure, s.member, window{n - shortest, n}) >= s.size/2
		}
	}
	return false
}

// same reports whether both are the same host, job or log in the same direction.
func (s *standing) same(o *standing) bool { return s.group == o.group && s.member == o.member }

// except removes a member that has ended to stand out from the intervals in which it did. Otherwise they would hide
// that it begins again.
func (b *board) except(s *standing) {
	for t, block := range s.group.blocks {
		if from := b.first + int64(t)*b.interval; from >= s.since && from < s.until && s.member < len(block) {
			block[s.member] = member{}
		}
	}
}

func (s *standing) event(ended bool, certain int64) pipeline.Straggler {
	return s.finding.event(s.group.names[s.member], s.since, s.until, ended, certain)
}

// event returns the begin or the end of a finding about a member, in ns from the run's start. certain is the end of
// the interval in which it was detected; 0 if the whole run was searched at once.
func (f *Finding) event(who string, since, until int64, ended bool, certain int64) pipeline.Straggler {
	out := pipeline.Straggler{Dimension: f.Dimension, Who: who, Ended: ended, Start: since, End: certain,
		Scope: fio.Scope([]string{f.Dimension, fio.ByDirection}), Measure: f.Measure, Factor: *f.Factor, Own: *f.Own,
		Others: *f.Others, Text: f.Text}
	out.Dims.Direction = f.Direction
	out.Dims.Set(f.Dimension, who)
	if ended {
		out.Start = until
		out.Text = fmt.Sprintf("%s %s no longer stands out among its peers in %ss, as it did from %s to %s",
			f.Dimension, who, f.Direction, fio.Clock(since/1e6), fio.Clock(until/1e6))
	}
	return out
}

// Events returns the begins and ends of who stands out in the whole run; valid after End.
func (f *Full) Events() (out []pipeline.Straggler) {
	all := slices.Concat(f.Diagnosis.Findings, f.Diagnosis.More)
	for i := range all {
		s := &all[i]
		if s.About != aboutSlow || s.Dimension == "run" {
			continue
		}
		for _, who := range s.Who {
			out = append(out, s.event(who, s.FromMS*1e6, s.ToMS*1e6, false, 0))
			if !s.ToEnd {
				out = append(out, s.event(who, s.FromMS*1e6, s.ToMS*1e6, true, 0))
			}
		}
	}
	return out
}
