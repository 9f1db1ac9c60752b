package diagnose

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/pipeline"
)

// By is the split that a run must have for all of dimensions to be distinguished.
var By = []string{"direction", "host", "job", "log"}

// Watch looks at a run as it passes. It is a pipeline.Sink; its leaves must be split by what is to be compared.
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

// Begin takes the run.
func (w *Watch) Begin(_ context.Context, run *pipeline.Run) error {
	w.run = run
	w.peers = newPeers(run.Geometry, run.FirstQuantum, run.Interval)
	w.peers.open = func(direction string) bool { return openLoop(run, direction) }
	w.timeline = newTimeline(run.Geometry, run.FirstQuantum, run.Interval)
	return nil
}

// Quantum takes a quantum.
func (w *Watch) Quantum(_ context.Context, q *pipeline.Quantum) error {
	w.buffer = leavesOf(w.buffer[:0], q)
	pooled := w.pools.of(w.buffer)
	if q.Peers != nil {
		w.peers.addPeers(q.Offset, q.Peers)
	} else {
		w.peers.add(q.Offset, w.buffer, pooled, q.Rows)
	}
	w.timeline.add(q.Offset, pooled)
	for i := range q.Rows {
		if s := &q.Rows[i].Stats; q.Rows[i].Scope == "run" {
			w.latency += s.Mean * s.Samples
		}
	}
	w.quanta++
	return nil
}

// End takes the end.
func (w *Watch) End(_ context.Context, s *pipeline.Summary) error {
	w.summary = s
	return nil
}

// Full is a Watch that has the run once more if somebody stands out.
type Full struct {
	Watch
	// Again passes the same run to a sink; nil: it cannot be had twice, and stragglers come without Pooled and Without.
	Again func(context.Context, pipeline.Sink) error
	// Notes are those of the run, the earliest first.
	Notes []Note
	// Diagnosis is there after End.
	Diagnosis *Diagnosis
}

// End makes the Diagnosis.
func (f *Full) End(ctx context.Context, s *pipeline.Summary) error {
	if err := f.Watch.End(ctx, s); err != nil {
		return err
	}
	stragglers := f.Stragglers()
	if len(stragglers) > 0 && f.Again != nil {
		second := newSecond(stragglers)
		if err := f.Again(ctx, second); err != nil {
			return err
		}
		stragglers = second.Stragglers()
	}
	f.Diagnosis = f.Diagnose(stragglers, f.Notes)
	return nil
}

// Document is the Diagnosis as the document of the run has it; after End.
func (f *Full) Document() any { return f.Diagnosis.Stored() }

func leavesOf(to []leaf, q *pipeline.Quantum) []leaf {
	for i := range q.Leaves {
		l := &q.Leaves[i]
		to = append(to, leaf{Direction: l.Dims.Direction, By: by(&l.Dims), Hist: l.Hist, Limits: l.Limits})
	}
	return to
}

// by are the values of dimensions.
func by(d *pipeline.Dims) [3]string { return [3]string{d.Host, d.Job, d.Log} }

// Stragglers are those that stand out; secondPass fills in the rest.
func (w *Watch) Stragglers() []Straggler { return w.peers.Stragglers() }

// secondPass is for the same run once more: it completes the stragglers. It is a pipeline.Sink.
type secondPass struct {
	pipeline.Discard
	details *details
	of      []Straggler
	buffer  []leaf
}

// newSecond makes a secondPass for what Watch.Stragglers returned.
func newSecond(of []Straggler) *secondPass { return &secondPass{of: of} }

// Begin takes the run.
func (s *secondPass) Begin(_ context.Context, run *pipeline.Run) error {
	s.details = newDetails(run.Geometry, s.of)
	return nil
}

// Quantum takes a quantum.
func (s *secondPass) Quantum(_ context.Context, q *pipeline.Quantum) error {
	s.buffer = leavesOf(s.buffer[:0], q)
	s.details.Add(q.Offset, s.buffer)
	return nil
}

// End takes the end.
func (s *secondPass) End(context.Context, *pipeline.Summary) error {
	s.of = s.details.Stragglers()
	return nil
}

// Stragglers are those given to newSecond, complete and worst first.
func (s *secondPass) Stragglers() []Straggler { return s.of }

// running are the times in which the logs of a direction ran and have their records.
func (w *Watch) running(direction string) (out []span) {
	for _, l := range w.run.Logs {
		for d := range fiolog.Direction(fiolog.Directions) {
			dir := &l.Dirs[d]
			if d.String() != direction || !dir.Some {
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

// Load says how many I/Os were in flight.
type Load struct {
	// Mean is the mean number of I/Os in flight while any job ran: the sum of all latencies over that time (Little,
	// Operations Research 9 (1961), 383-387). Latencies are taken from the middles of fio's buckets.
	Mean float64 `json:"mean"`
	// Limit is the mean of the sum of iodepth over the jobs' threads in that time; null where an iodepth is not known.
	Limit *float64 `json:"limit"`
	Text  string   `json:"text"`
}

// Load is that of the whole run; nil without I/O.
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

// time is for how many ns any log ran, and the sum over the logs of iodepth times the time that each of them ran.
func (w *Watch) time() (ran, limit float64, known bool) {
	var spans []span
	known = true
	for _, l := range w.run.Logs {
		if l.Empty || l.End <= l.Start {
			continue
		}
		spans = append(spans, span{l.Start, l.End})
		depth, ok := depthOf(l.Log)
		known = known && ok
		limit += float64(depth) * float64(l.End-l.Start)
	}
	return float64(union(spans)), limit, known && len(spans) > 0
}

// depthOf is how many I/Os of a log can be in flight: iodepth, but 1 with a synchronous engine.
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

// union is how long any of spans lasts.
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
