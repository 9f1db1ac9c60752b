package diagnose

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
)

// By is the split of a run that all dimensions need.
var By = []string{fio.ByDirection, fio.ByHost, fio.ByJob, fio.ByLog}

// Watch is a pipeline.Sink that collects what a Diagnosis needs. Its leaves must be split by what is to be compared.
type Watch struct {
	pipeline.Discard
	run      *pipeline.Run
	peers    *peers
	timeline *timeline
	summary  *pipeline.Summary
	quanta   int
	// latency is the sum of all latencies in ns.
	latency float64
	buffer  []leaf
	pools   pools
}

// Begin implements pipeline.Sink.
func (w *Watch) Begin(_ context.Context, run *pipeline.Run) error {
	w.run = run
	w.peers = newPeers(run.Geometry, run.FirstQuantum, run.Interval)
	w.peers.openLoop = func(direction string) bool { return openLoop(run, direction) }
	w.timeline = newTimeline(run.Geometry, run.FirstQuantum, run.Interval)
	for _, l := range run.Logs {
		w.timeline.window = max(w.timeline.window, int64(l.Interval))
	}
	return nil
}

// Quantum implements pipeline.Sink.
func (w *Watch) Quantum(_ context.Context, q *pipeline.Quantum) error {
	w.buffer = leavesOf(w.buffer[:0], q)
	pooled := w.pools.collect(w.buffer)
	w.peers.add(q.Offset, w.buffer, pooled, q.Rows)
	w.timeline.add(q.Offset, pooled)
	for i := range q.Rows {
		if s := &q.Rows[i].Stats; q.Rows[i].Scope == fio.RunScope {
			w.latency += s.Mean * s.Samples
		}
	}
	w.quanta++
	return nil
}

// End implements pipeline.Sink.
func (w *Watch) End(_ context.Context, s *pipeline.Summary) error {
	w.summary = s
	return nil
}

// Full is a Watch that makes a second pass over the run if there are stragglers.
type Full struct {
	Watch
	// Reread passes the same run to a sink. Without it stragglers have no Pooled and Without.
	Reread func(context.Context, pipeline.Sink) error
	// Notes are the notes on the run, the earliest first.
	Notes []Note
	// Diagnosis is set by End.
	Diagnosis *Diagnosis
}

// End sets Diagnosis.
func (f *Full) End(ctx context.Context, s *pipeline.Summary) error {
	if err := f.Watch.End(ctx, s); err != nil {
		return err
	}
	stragglers := f.Stragglers()
	if len(stragglers) > 0 && f.Reread != nil {
		second := newSecond(stragglers)
		if err := f.Reread(ctx, second); err != nil {
			return err
		}
		stragglers = second.Stragglers()
	}
	f.Diagnosis = f.Diagnose(stragglers, f.Notes)
	return nil
}

// Document returns the stored form of the Diagnosis; valid after End.
func (f *Full) Document() pipeline.Diagnosis { return f.Diagnosis.Stored() }

// Part finds what a part of a run stores of a diagnosis: its stalls, which the merged run cannot find again.
type Part struct {
	pipeline.Discard
	run *pipeline.Run
}

// Begin implements pipeline.Sink.
func (p *Part) Begin(_ context.Context, run *pipeline.Run) error {
	p.run = run
	return nil
}

// Document returns the stalls; nil if there are none.
func (p *Part) Document() pipeline.Diagnosis {
	stalls := (&Watch{run: p.run}).Stalls()
	if len(stalls) == 0 {
		return nil
	}
	return &storedPart{stalls[:min(len(stalls), maxListed)]}
}

// Events returns none.
func (p *Part) Events() []pipeline.Straggler { return nil }

func leavesOf(to []leaf, q *pipeline.Quantum) []leaf {
	for i := range q.Leaves {
		l := &q.Leaves[i]
		to = append(to, leaf{Direction: l.Dims.Direction, By: by(&l.Dims), Hist: l.Hist, Limits: l.Limits})
	}
	return to
}

func by(d *fio.Dims) [3]string { return [3]string{d.Host, d.Job, d.Log} }

// Stragglers returns the stragglers. secondPass fills in the rest of their fields.
func (w *Watch) Stragglers() []Straggler { return w.peers.Stragglers() }

// secondPass is a pipeline.Sink for a second pass over the run. It completes the stragglers.
type secondPass struct {
	pipeline.Discard
	details    *details
	stragglers []Straggler
	buffer     []leaf
}

func newSecond(of []Straggler) *secondPass { return &secondPass{stragglers: of} }

func (s *secondPass) Begin(_ context.Context, run *pipeline.Run) error {
	s.details = newDetails(run.Geometry, s.stragglers)
	return nil
}

func (s *secondPass) Quantum(_ context.Context, q *pipeline.Quantum) error {
	s.buffer = leavesOf(s.buffer[:0], q)
	s.details.Add(q.Offset, s.buffer)
	return nil
}

func (s *secondPass) End(context.Context, *pipeline.Summary) error {
	s.stragglers = s.details.Stragglers()
	return nil
}

// Stragglers returns the given stragglers, complete and worst first.
func (s *secondPass) Stragglers() []Straggler { return s.stragglers }

// running returns when the logs of a direction ran, without gaps in their records.
func (w *Watch) running(direction string) (out []span) {
	for _, l := range w.run.Logs {
		for d := range fio.Direction(fio.Directions) {
			dir := &l.Dirs[d]
			if d.String() != direction || !dir.HasIO {
				continue
			}
			at := l.Start
			for _, hole := range dir.Holes {
				out = append(out, span{at, hole.From})
				at = hole.To
			}
			out = append(out, span{at, l.End})
		}
	}
	return out
}

// Load describes how many I/Os were in flight.
type Load struct {
	// Mean is the mean number of I/Os in flight while any job ran: the sum of all latencies over that time (Little,
	// Operations Research 9 (1961), 383-387). Latencies are the middles of fio's buckets.
	Mean float64 `json:"mean"`
	// Limit is the mean over that time of the sum of iodepth over the threads; null if an iodepth is unknown.
	Limit *float64 `json:"limit"`
	Text  string   `json:"text"`
}

// Load returns the Load of the whole run; nil without I/O.
func (w *Watch) Load() *Load {
	ran, limit, known := w.time()
	if ran <= 0 || w.latency <= 0 {
		return nil
	}
	l := &Load{Mean: w.latency / ran}
	if known {
		limit /= ran
		l.Limit = &limit
	}
	l.Text = l.say()
	return l
}

// time returns for how many ns any log ran, and the sum over the logs of iodepth times the ns that each ran.
func (w *Watch) time() (ran, limit float64, known bool) {
	var spans []span
	known = true
	for _, l := range w.run.Logs {
		if l.Empty || l.End <= l.Start || !w.picked(l) {
			continue
		}
		spans = append(spans, span{l.Start, l.End})
		depth, ok := depthOf(l.Log)
		known = known && ok
		limit += float64(depth) * float64(l.End-l.Start)
	}
	return float64(union(spans)), limit, known && len(spans) > 0
}

// depthOf returns the most I/Os of a log that can be in flight: iodepth, but 1 with a synchronous engine.
func depthOf(l *ingest.Log) (depth int, ok bool) {
	if l.Entry == nil && l.Section == nil {
		return 0, false
	}
	depth = 1
	if v, given := l.Option("iodepth"); given {
		var err error
		if depth, err = strconv.Atoi(v); err != nil {
			return 0, false
		}
	}
	name, _ := l.Option("ioengine")
	if e, known := fiojson.FindEngine(cmp.Or(name, "psync"), "", depth); known && e.Measure == fiojson.Sync {
		depth = 1
	}
	return depth, true
}

// union returns the total time in which there is at least one of spans.
func union(spans []span) (total int64) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.From, b.From) })
	end := int64(math.MinInt64)
	for _, s := range spans {
		if from := max(s.From, end); s.To > from {
			total += s.To - from
			end = s.To
		}
	}
	return total
}
