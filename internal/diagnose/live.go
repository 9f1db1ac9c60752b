package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/pipeline"
)

const (
	// lookback is the number of latest quanta of a live run that are compared.
	lookback = 240
	// leastHistory is the number of quanta before which no straggler is named.
	leastHistory = 10
)

// Live finds stragglers while a run is in progress. It adds those that start or cease to stand out to the quanta that
// it passes on to the next sink. It applies the tests of peers to the latest quanta. A straggler starts when the
// window in which it stands out reaches into the last minQuanta quanta, and ends when it no longer does.
type Live struct {
	next    pipeline.Sink
	run     *pipeline.Run
	peers   *peers
	pools   pools
	buffer  []leaf
	current []Straggler // those that stand out now
}

// NewLive returns a Live that passes everything on to next.
func NewLive(next pipeline.Sink) *Live { return &Live{next: next} }

// Begin implements pipeline.Sink.
func (l *Live) Begin(ctx context.Context, run *pipeline.Run) error {
	l.run = run
	l.peers = newPeers(run.Geometry, run.FirstQuantum, run.Interval)
	l.peers.openLoop = func(direction string) bool { return openLoop(run, direction) }
	return l.next.Begin(ctx, run)
}

// Quantum adds the stragglers and passes the quantum on. A part of a run does not have all peers, so none are named
// in it.
func (l *Live) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	if l.run.Part == "" {
		l.buffer = leavesOf(l.buffer[:0], q)
		l.peers.add(q.Offset, l.buffer, l.pools.collect(l.buffer), q.Rows)
		for l.peers.quanta > lookback || l.peers.size() > maxMembers/2 {
			l.peers.forget()
		}
		q.Stragglers = l.look(q.Offset + l.run.Interval)
	}
	return l.next.Quantum(ctx, q)
}

// Late passes on rows.
func (l *Live) Late(ctx context.Context, q *pipeline.Quantum) error { return l.next.Late(ctx, q) }

// Early passes on changes.
func (l *Live) Early(ctx context.Context, q *pipeline.Quantum) error { return l.next.Early(ctx, q) }

// End passes on the summary.
func (l *Live) End(ctx context.Context, s *pipeline.Summary) error { return l.next.End(ctx, s) }

// look returns the stragglers that start or end by the end of a quantum, at now.
func (l *Live) look(now int64) (out []pipeline.Straggler) {
	if l.peers.quanta < leastHistory {
		return nil
	}
	found := l.peers.stragglers(l.peers.inWindows())
	over := now - minQuanta*l.run.Interval // what has not stood out since then has ended
	l.current = slices.DeleteFunc(l.current, func(was Straggler) bool {
		at := slices.IndexFunc(found, func(s Straggler) bool { return was.same(&s) && s.until > over })
		if at >= 0 {
			return false
		}
		until := over
		for i := range found {
			if s := &found[i]; was.same(s) && s.until > was.since {
				until = s.until
			}
		}
		was.until = until
		out = append(out, was.event(true, now))
		l.peers.except(&was)
		return true
	})
	for _, s := range found {
		if s.until > over && !slices.ContainsFunc(l.current, func(o Straggler) bool { return o.same(&s) }) {
			l.current = append(l.current, s)
			out = append(out, s.event(false, now))
		}
	}
	return out
}

// same reports whether both are the same host, job or log in the same direction.
func (s *Straggler) same(o *Straggler) bool {
	return s.Dimension == o.Dimension && s.Value == o.Value && s.Direction == o.Direction
}

// forget drops the earliest quantum.
func (p *peers) forget() {
	for _, g := range p.groups {
		g.blocks = g.blocks[min(1, len(g.blocks)):]
	}
	p.first += p.interval
	p.quanta--
}

// except removes an ended straggler from the quanta in which it stood out. Otherwise they would hide that it starts
// again.
func (p *peers) except(s *Straggler) {
	for _, g := range p.groups {
		at, ok := g.index[s.Value]
		if !ok || g.direction != s.Direction || dimensions[g.dimension] != s.Dimension {
			continue
		}
		for t := range g.blocks {
			from := p.first + int64(t)*p.interval
			if m := g.blocks[t].members; from >= s.since && from < s.until && at < len(m) {
				m[at] = member{}
			}
		}
	}
}

// event returns the start or the end of a straggler. certain is the end of the quantum in which it was detected, in
// ns from the run's start; 0 if the whole run was analysed at once.
func (s *Straggler) event(ended bool, certain int64) pipeline.Straggler {
	out := pipeline.Straggler{Dimension: s.Dimension, Value: s.Value, Ended: ended,
		Scope: fio.Scope([]string{s.Dimension, fio.ByDirection}),
		Start: s.since, End: certain, Percentile: s.Percentile, Share: s.Share, Expected: s.Expected, Lift: s.Lift,
		P: s.P}
	out.Dims.Direction = s.Direction
	out.Dims.Set(s.Dimension, s.Value)
	if s.Factor != nil {
		out.Factor = *s.Factor
	}
	if ended {
		out.Start = s.until
		out.Text = fmt.Sprintf("%s %s no longer stands out among its peers in %ss, as it did from %s to %s",
			s.Dimension, s.Value, s.Direction, fio.Clock(s.since/1e6), fio.Clock(s.until/1e6))
		return out
	}
	text, _, _ := strings.Cut(s.finding().Text, "; from ")
	out.Text = text + "; since " + fio.Clock(s.SinceMS)
	return out
}

// Events returns the starts and ends of stragglers in the whole run; valid after End.
func (f *Full) Events() (out []pipeline.Straggler) {
	all := f.Diagnosis.Stored().Stragglers
	for i := range all {
		s := &all[i]
		if slices.ContainsFunc(all[:i], func(o Straggler) bool { return o.same(s) }) {
			continue // the same one at another percentile
		}
		out = append(out, s.event(false, 0))
		if s.Recovered {
			out = append(out, s.event(true, 0))
		}
	}
	return out
}
