package diagnose

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"fiolat/analysis/outliers"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// By is the split of a run that all dimensions need.
var By = []string{fio.ByDirection, fio.ByHost, fio.ByJob, fio.ByLog}

// Watch is a pipeline.Sink that collects what a Diagnosis needs. Its leaves must be split by what is to be compared.
type Watch struct {
	pipeline.Discard
	run    *pipeline.Run
	board  *board
	buffer []leaf
	pools  pools
	works  map[[3]string]string // by direction, host and job
}

// Begin implements pipeline.Sink.
func (w *Watch) Begin(_ context.Context, run *pipeline.Run) error {
	w.run, w.board = run, newBoard(run.Geometry, run.FirstInterval, run.Interval)
	return nil
}

// Interval implements pipeline.Sink.
func (w *Watch) Interval(_ context.Context, q *pipeline.Interval) error {
	w.buffer = leavesOf(w.buffer[:0], q)
	w.board.add(q.Offset, w.buffer, w.pools.collect(w.buffer), q.Rows)
	return nil
}

// Full is a Watch that makes a second pass over the run if hosts, jobs or logs stand out.
type Full struct {
	Watch
	// Reread passes the same run to a sink. Without it what stands out has no exact percentiles.
	Reread func(context.Context, pipeline.Sink) error
	// Notes are the notes on the run, the earliest first.
	Notes []Note
	// Above is the latency in ns from which on an I/O is an outlier; 0 is what outliers.Collector takes.
	Above int64
	// Kept, unless nil, is the diagnosis of a run that was rolled up, by its finer intervals.
	Kept *Stored
	// Diagnosis is set by End.
	Diagnosis *Diagnosis

	slow outliers.Collector
}

// Begin implements pipeline.Sink.
func (f *Full) Begin(ctx context.Context, run *pipeline.Run) error {
	f.slow.Above = f.Above
	return errors.Join(f.Watch.Begin(ctx, run), f.slow.Begin(ctx, run))
}

// Interval implements pipeline.Sink.
func (f *Full) Interval(ctx context.Context, q *pipeline.Interval) error {
	if f.Kept != nil {
		return nil
	}
	return errors.Join(f.Watch.Interval(ctx, q), f.slow.Interval(ctx, q))
}

// End sets Diagnosis.
func (f *Full) End(ctx context.Context, sum *pipeline.Summary) error {
	if f.Kept != nil {
		f.Diagnosis = f.Kept.diagnosis(f.run, f.Notes)
		return nil
	}
	s := f.search()
	if f.Reread != nil {
		second := &secondPass{board: f.board, hits: s.hits}
		if slices.ContainsFunc(s.hits, func(h hit) bool { return h.group != nil }) {
			if err := f.Reread(ctx, second); err != nil {
				return err
			}
		}
	}
	f.Diagnosis = f.diagnose(s, f.Notes)
	f.Diagnosis.single(f.slow.Found(), f.Notes)
	f.Diagnosis.missing(sum.Account.HostsMissing)
	return nil
}

// Outliers returns the single slow I/Os of each job's direction, also of those that have none.
func (f *Full) Outliers() []outliers.Group { return f.slow.Found() }

// Single returns the longest outliers of the run; valid after End.
func (f *Full) Single() *pipeline.Outliers { return outliers.Events(f.Diagnosis.Outliers, maxListed) }

// Document returns the stored form of the Diagnosis; valid after End.
func (f *Full) Document() pipeline.Diagnosis { return f.Diagnosis.Stored() }

// Diagnose returns the diagnosis without a second pass.
func (w *Watch) Diagnose() *Diagnosis { return w.diagnose(w.search(), nil) }

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

// Single returns nil: what is far above the rest is known only of all hosts.
func (p *Part) Single() *pipeline.Outliers { return nil }

// Events returns none.
func (p *Part) Events() []pipeline.Straggler { return nil }

func leavesOf(to []leaf, q *pipeline.Interval) []leaf {
	for i := range q.Leaves {
		l := &q.Leaves[i]
		to = append(to, leaf{Direction: l.Dims.Direction, By: dimKey(&l.Dims), Hist: l.Hist, Limits: l.Limits})
	}
	return to
}

func dimKey(d *fio.Dims) [3]string { return [3]string{d.Host, d.Job, d.Log} }

// secondPass is a pipeline.Sink that adds up the I/Os of the members of hits, and of all others at that time.
type secondPass struct {
	pipeline.Discard
	board  *board
	hits   []hit
	buffer []leaf
}

// sums are the I/Os of members, and of all others, in a window; rest are those of lone members outside.
type sums struct {
	own, rest fiohist.Hist
	limits    [2]limits
	alike     [2]fiohist.Hist // of own and rest what is compared, if that is not all
	all       float64         // how many I/Os of any member there are in the window of lone ones
}

// limits are the smallest and the largest latency of several leaves.
type limits struct {
	fiohist.Limits
	unknown bool // those of some leaf are unknown
}

func (l *limits) widen(o fiohist.Limits) { l.Limits, l.unknown = l.Widen(o), l.unknown || !o.Known }

func (l *limits) known() fiohist.Limits {
	if l.unknown {
		return fiohist.Limits{}
	}
	return l.Limits
}

// Interval implements pipeline.Sink.
func (s *secondPass) Interval(_ context.Context, q *pipeline.Interval) error {
	s.buffer = leavesOf(s.buffer[:0], q)
	at := int((q.Offset-s.board.first)/s.board.interval) / s.board.fold
	for i := range s.hits {
		h := &s.hits[i]
		if h.group == nil {
			continue
		}
		if h.sums == nil {
			h.sums = new(sums)
		}
		for k := range s.buffer {
			l := &s.buffer[k]
			if l.Direction != h.direction {
				continue
			}
			v, known := h.group.index[l.By[h.group.dimension]]
			hist, of := &h.sums.rest, &h.sums.limits[1]
			if known && slices.Contains(h.members, v) {
				hist, of = &h.sums.own, &h.sums.limits[0]
			}
			in := h.inside(at)
			if h.alone {
				if in {
					h.sums.all += l.Hist.Sum()
				}
				if !known || hist != &h.sums.own || at < h.outside.from || at >= h.outside.to {
					continue
				}
				if !in {
					hist, in = &h.sums.rest, true
				}
				of = &h.sums.limits[0]
			}
			if of.widen(l.Limits); !in {
				continue
			}
			hist.AddHist(l.Hist)
			if h.like != nil && h.like.logs[l.By[2]] {
				h.sums.alike[btoi(hist == &h.sums.rest)].AddHist(l.Hist)
			}
		}
	}
	return nil
}

// setLoads are the options that set the load from outside, so that a slower device gets as many I/Os as a fast one.
var setLoads = []string{"rate_iops", "rate", "thinktime"}

// setsLoad reports whether the job of a log is known to set the load of a direction.
func setsLoad(l *pipeline.Log, direction int) bool {
	return l.Log != nil && slices.ContainsFunc(setLoads, func(name string) bool {
		v, _ := l.Option(name)
		parts := strings.Split(v, ",") // for reads, writes and trims; the last one also for the rest
		return strings.ContainsAny(parts[min(direction, len(parts)-1)], "123456789")
	})
}

// picked reports whether any I/Os of the log are looked at.
func (w *Watch) picked(l *pipeline.Log) bool {
	return slices.ContainsFunc(w.run.Directions(), func(d string) bool { return w.run.Pick.HoldsLog(l, d) })
}

// times says when the logs of a direction ran and when they stood still, by block.
type times struct {
	logs    []*pipeline.Log
	whole   [][]bool // by log: it ran in all of the block, with all its records
	stalled [][]bool // by log: it stood still in some of the block
	loads   []bool   // by log: options of its job set the load
	setLoad bool     // those of all jobs do
}

// add adds a log.
func (t *times) add(l *pipeline.Log, whole, stalled []bool, setLoad bool) {
	t.logs, t.whole, t.stalled = append(t.logs, l), append(t.whole, whole), append(t.stalled, stalled)
	t.loads = append(t.loads, setLoad)
}

// times returns those of a direction. A log's direction ends with its last record.
func (w *Watch) times(direction string, stalls []Stall) *times {
	t := &times{}
	d, b, n := slices.Index(w.run.Directions(), direction), w.board, w.board.blocks()
	var logs *group
	for _, g := range b.groups {
		if g.direction == direction && dimensions[g.dimension] == fio.ByLog {
			logs = g
		}
	}
	for _, l := range w.run.Logs {
		dir := &l.Dirs[max(d, 0)]
		if w.run.Live || l.Empty || !dir.HasIO || !w.picked(l) {
			continue
		}
		end := l.End
		if logs != nil {
			if v, ok := logs.index[l.LogName]; ok {
				last := n - 1
				idle := func(k int) bool {
					return k >= len(logs.blocks) || v >= len(logs.blocks[k]) || logs.blocks[k][v].n == 0
				}
				for last > 0 && idle(last) {
					last--
				}
				if from := b.first + int64(last)*b.length(); end > from+b.length() {
					end = from // only the other direction went on
				}
			}
		}
		whole, still := make([]bool, n), make([]bool, n)
		for k := range n {
			from := b.first + int64(k)*b.length()
			whole[k] = l.Start <= from && end >= from+b.length()
		}
		for _, hole := range dir.Holes {
			for k := b.at(hole.From); k < n && b.first+int64(k)*b.length() < hole.To; k++ {
				whole[k] = false
			}
		}
		for i := range stalls {
			s := &stalls[i]
			if !s.Concerns(l) {
				continue
			}
			for k := b.at(s.SinceMS * 1e6); k <= min(b.at(s.UntilMS*1e6), n-1); k++ {
				whole[k], still[k] = false, true
			}
		}
		t.add(l, whole, still, setsLoad(l, d))
	}
	t.setLoad = len(t.logs) > 0 && !slices.Contains(t.loads, false)
	return t
}

// members returns for each member of a group whether all its logs ran in all of a block, and removes from the group's
// percentiles what stood still.
func (t *times) members(g *group, n int) (whole func(v, k int) bool, still func(v, k int) bool) {
	bad, stalled := make([][]bool, len(g.names)), make([][]bool, len(g.names))
	for v := range g.names {
		bad[v], stalled[v] = make([]bool, n), make([]bool, n)
	}
	for i, l := range t.logs {
		v, ok := g.index[l.Dims().Of(dimensions[g.dimension])]
		if !ok {
			continue
		}
		for k := range n {
			bad[v][k] = bad[v][k] || !t.whole[i][k]
			stalled[v][k] = stalled[v][k] || t.stalled[i][k]
		}
	}
	return func(v, k int) bool { return !bad[v][k] }, func(v, k int) bool { return stalled[v][k] }
}

// courses returns what I/Os of a direction do, of which at has the sum in each block, in each time in which the same
// jobs run. t are those of their logs.
func (w *Watch) courses(direction string, t *times, at func(k int) member) (out []*course) {
	b, n := w.board, w.board.blocks()
	full, part, jobs := make([]int, n), make([]bool, n), make([]uint64, n)
	quiet := make([]int, n)
	seen := map[string]int{}
	type running struct{ from, to int }
	var of []running
	for i, l := range t.logs {
		j, ok := seen[l.Job]
		if !ok {
			j = len(of)
			seen[l.Job] = j
			of = append(of, running{n, 0})
		}
		for k := range n {
			from := b.first + int64(k)*b.length()
			switch {
			case t.whole[i][k]:
				full[k]++
				of[j] = running{min(of[j].from, k), max(of[j].to, k+1)}
			case t.stalled[i][k]:
				quiet[k]++
				part[k] = true
				of[j] = running{min(of[j].from, k), max(of[j].to, k+1)}
			case l.Start < from+b.length() && l.End > from:
				part[k] = true
			}
		}
	}
	for j, r := range of {
		for k := r.from; k < r.to; k++ {
			jobs[k] += uint64(j+1) * 0x9E3779B97F4A7C15
		}
	}
	if len(t.logs) == 0 {
		for k := range n {
			full[k], jobs[k] = 1, 1
		}
	}
	top := slices.Max(full)
	begin, _ := w.lasts(&hit{direction: direction})
	for from := 0; from < n; {
		to := from + 1
		for to < n && jobs[to] == jobs[from] {
			to++
		}
		if jobs[from] != 0 && to-from >= leastBlocks {
			c := &course{window: window{from, to}, edge: int(edge / b.length())}
			for k := from; k < to; k++ {
				x, middle := [3]float64{math.NaN(), math.NaN(), math.NaN()}, math.NaN()
				m := at(k)
				if m.n >= fewest && quiet[k] == 0 {
					x[p50], x[p99], middle = m.value(p50), m.value(p99), m.value(mean)
				}
				if !t.setLoad && !part[k] && full[k] > 0 && k >= begin {
					x[iops] = -m.value(iops) - math.Log(float64(top)/float64(full[k]))
				}
				for q := range x {
					c.x[q] = append(c.x[q], x[q])
				}
				c.means = append(c.means, middle)
			}
			out = append(out, c)
		}
		from = to
	}
	return out
}

// sum is the sum of all I/Os of a direction in a block.
func (b *board) sum(direction string, k int) member {
	if k >= len(b.pooled[direction]) {
		return member{}
	}
	s := b.pooled[direction][k].Stats(b.geometry, Percentiles, fiohist.Limits{})
	if s.Empty() {
		return member{}
	}
	return memberOf(fiohist.Tally{Samples: s.Samples, Mean: s.Mean, P50: s.Percentiles[0], P99: s.Percentiles[1]})
}

// leastBlocks is the shortest time in blocks in which something is looked for.
const leastBlocks = 8
