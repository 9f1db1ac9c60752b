package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fiolat/pipeline"
)

const (
	// lookback is how many quanta of a run that goes on are compared.
	lookback = 240
	// leastHistory is the number of quanta before which nobody is named.
	leastHistory = 10
)

// Live looks for stragglers while a run goes on: it puts those who begin to stand out, or cease to, into the quanta
// that pass through it to another sink. Of the latest quanta it does what peers does of a run. Who stood out in
// minQuanta quanta at least, the latest among them, has begun to; who has not for as many has ceased to.
type Live struct {
	next    pipeline.Sink
	run     *pipeline.Run
	peers   *peers
	pools   pools
	buffer  []leaf
	current []Straggler // who stands out
}

// NewLive makes a Live before next.
func NewLive(next pipeline.Sink) *Live { return &Live{next: next} }

// Begin takes the run.
func (l *Live) Begin(ctx context.Context, run *pipeline.Run) error {
	l.run = run
	l.peers = newPeers(run.Geometry, run.FirstQuantum, run.Interval)
	l.peers.open = func(direction string) bool { return openLoop(run, direction) }
	return l.next.Begin(ctx, run)
}

// Quantum looks at it. A part of a run does not have all peers, so nobody is named in it.
func (l *Live) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	if l.run.Part == "" {
		l.buffer = leavesOf(l.buffer[:0], q)
		l.peers.add(q.Offset, l.buffer, l.pools.of(l.buffer), q.Rows)
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

// look finds who begins to stand out, and who ceases to, at the end of a quantum.
func (l *Live) look(now int64) (out []pipeline.Straggler) {
	if l.peers.quanta < leastHistory {
		return nil
	}
	found := l.peers.Stragglers()
	over := now - minQuanta*l.run.Interval // who has not stood out since then does so no longer
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

// same says that both are of the same host, job or log and direction.
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

// except takes a straggler out of the quanta in which it stood out: it would hide that it stands out once more.
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

// event is the begin or the end of a straggler. certain is the end of the quantum in which that became certain, in ns
// from the run's start; 0: all of the run was looked at together.
func (s *Straggler) event(ended bool, certain int64) pipeline.Straggler {
	out := pipeline.Straggler{Dimension: s.Dimension, Value: s.Value, Scope: s.Dimension + "+direction", Ended: ended,
		Start: s.since, End: certain, Percentile: s.Percentile, Share: s.Share, Expected: s.Expected, Lift: s.Lift,
		P: s.P}
	out.Dims.Direction = s.Direction
	switch s.Dimension {
	case "host":
		out.Dims.Host = s.Value
	case "job":
		out.Dims.Job = s.Value
	case "log":
		out.Dims.Log = s.Value
	}
	if s.Factor != nil {
		out.Factor = *s.Factor
	}
	if ended {
		out.Start = s.until
		out.Text = fmt.Sprintf("%s %s no longer stands out among its peers in %ss, as it did from %s to %s",
			s.Dimension, s.Value, s.Direction, Clock(s.since/1e6), Clock(s.until/1e6))
		return out
	}
	text, _, _ := strings.Cut(s.finding().Text, "; from ")
	out.Text = text + "; since " + Clock(s.SinceMS)
	return out
}

// Events are the begins and ends of stragglers, as all of the run shows them; after End.
func (f *Full) Events() (out []pipeline.Straggler) {
	all := f.Diagnosis.Stored().Stragglers
	for i := range all {
		s := &all[i]
		if slices.ContainsFunc(all[:i], func(o Straggler) bool { return o.same(s) }) {
			continue // at another percentile
		}
		out = append(out, s.event(false, 0))
		if s.Recovered {
			out = append(out, s.event(true, 0))
		}
	}
	return out
}
