package intervals

import (
	"context"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// chunk is how many intervals are added up at a time: few enough to be in the processor's caches when the sink reads
// them.
const chunk = 8

// maxSums is roughly how many histograms may be in use for that: with thousands of hosts fewer intervals
// are added up at a time.
const maxSums = 1 << 13

// manyLeaves are the leaves beyond which histograms are packed: fewer take little memory, and packing its time.
const manyLeaves = maxSums / chunk

// Batch is a range of intervals that every log has passed.
type Batch struct {
	from, To  int64
	rows      []*row   // from `from` on; may be fewer than the intervals
	ios       []taken  // by log
	active    []*scope // those with I/O so far
	newScopes []*scope // of them, those that earlier intervals had no row for
}

// leaves returns the histograms of the leaves in interval q; none if it has no I/O.
func (b *Batch) leaves(q int64) []*fiohist.Hist {
	if i := q - b.from; i < int64(len(b.rows)) && b.rows[i] != nil {
		return b.rows[i].leaves
	}
	return nil
}

// of returns the I/Os of a log in interval q; nil if there are none.
func (b *Batch) of(l *Member, q int64) *IOs { return b.ios[l.index].of(q) }

// Cut removes the intervals before to from the logs and returns them.
func (m *Merger) Cut(to int64) *Batch {
	b := &Batch{from: m.Done, To: to, rows: m.cells.take(m.Done, to), ios: make([]taken, len(m.logs))}
	for i, l := range m.logs {
		b.ios[i] = l.Open.take(b.To)
	}
	m.Done = b.To
	m.limit()
	for _, sc := range m.scopes {
		for _, i := range sc.leaves {
			if m.leafSpecs[i].seen() {
				b.active = append(b.active, sc)
				if sc.rows < b.from {
					b.newScopes = append(b.newScopes, sc)
				}
				break
			}
		}
	}
	return b
}

// Emit adds up the intervals of the batch, several at a time, and passes them to the
// sink in order. A nil batch has none.
func (m *Merger) Emit(ctx context.Context, b *Batch) error {
	if b == nil {
		return nil
	}
	if err := m.Begin(ctx); err != nil {
		return err
	}
	if err := m.backfill(ctx, b); err != nil {
		return err
	}
	if m.picks {
		m.choose(b)
	}
	atOnce := int64(min(max(maxSums/max(len(b.active), 1), 1), chunk))
	to := min(b.To, m.end)
	busy := m.busy(b)
	for from := max(b.from, m.first); from < to; {
		n := min(atOnce, to-from)
		if still := nextBusy(busy, from-b.from) + b.from; still-from > n {
			still = min(still, to)
			if err := m.repeat(ctx, from, still, b); err != nil {
				return err
			}
			from = still
			continue
		}
		err := m.addUp(ctx, int(n), b.active, func(i int, mem *sums) *merged {
			return m.interval(from+int64(i), b, mem)
		})
		if err != nil {
			return err
		}
		from += n
	}
	for _, sc := range b.active {
		sc.rows = b.To
	}
	return nil
}

// busy returns which intervals of the batch have rows of their own: those with I/O, and those in which something
// begins or ends. All others between two of them are alike.
func (m *Merger) busy(b *Batch) []bool {
	busy := make([]bool, b.To-b.from)
	start, end := m.Grid.Start(b.from), m.Grid.Start(b.To)
	edge := func(at int64) {
		if start <= at && at < end {
			busy[m.Grid.Index(at)-b.from] = true
		}
	}
	for i, r := range b.rows {
		busy[i] = r != nil
	}
	for _, l := range m.logs {
		for d := range l.DirInfo {
			spans := append([]pipeline.Span{l.published[d].span, {To: l.lostUntil[d]}}, l.DirInfo[d].Holes...)
			for _, s := range spans {
				edge(s.From)
				edge(s.To)
			}
		}
	}
	if m.picks {
		edge(m.Run.Window.From)
		edge(m.Run.Window.To)
	}
	return busy
}

// nextBusy returns the first index from at on that is busy, or their number.
func nextBusy(busy []bool, at int64) int64 {
	if i := slices.Index(busy[at:], true); i >= 0 {
		return at + int64(i)
	}
	return int64(len(busy))
}

// repeat passes on intervals that are alike and have no I/O.
func (m *Merger) repeat(ctx context.Context, from, to int64, b *Batch) error {
	m.prepare(1, b.active)
	m.sums[0].used = 0
	one := m.interval(from, b, &m.sums[0])
	var q pipeline.Interval
	for at := from; at < to; at++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q = pipeline.Interval{Offset: m.Grid.Start(at), Rows: append(q.Rows[:0], one.Rows...), Ran: one.Ran}
		if err := m.sink.Interval(ctx, &q); err != nil {
			return err
		}
	}
	m.count += int(to - from)
	return nil
}

// Begin calls the sink's Begin, if that has not been done.
func (m *Merger) Begin(ctx context.Context) error {
	if m.Begun {
		return nil
	}
	m.Begun = true
	return m.sink.Begin(ctx, m.Run)
}

// Reuse takes back the memory of a batch that was emitted, or nil. No log may be read meanwhile.
func (m *Merger) Reuse(b *Batch) {
	if b != nil {
		m.cells.reuse(b.rows)
	}
}

// Pack makes the open intervals before end take less memory: all logs have passed them, and only tails may come into
// them.
func (m *Merger) Pack(end int64) { m.cells.pack(max(m.Done, m.packed), end); m.packed = end }

// Held returns roughly how many bytes the open intervals take.
func (m *Merger) Held() int {
	logs := 0
	for _, l := range m.logs {
		logs += len(l.Open.ios)
	}
	return m.cells.held + logs*iosBytes
}

// Interval returns roughly how many bytes an interval takes in which all logs have I/O: in the directions that they
// have had so far, or in one.
func (m *Merger) Interval() int {
	leaves, seen := 0, 0
	for i := range m.leafSpecs {
		s := &m.leafSpecs[i]
		if s.seen() {
			seen++
		}
		next := fio.Dims{}
		if i+1 < len(m.leafSpecs) {
			next = m.leafSpecs[i+1].dims
		}
		next.Direction = s.dims.Direction
		if i+1 == len(m.leafSpecs) || next != s.dims {
			leaves, seen = leaves+max(seen, 1), 0
		}
	}
	return leaves*cellBytes + len(m.logs)*iosBytes
}

// backfill passes on the empty rows of scopes whose first I/O came after some intervals had left: every
// scope value has a row in every interval.
func (m *Merger) backfill(ctx context.Context, b *Batch) error {
	if len(b.newScopes) == 0 {
		return nil
	}
	from := b.from
	for _, sc := range b.newScopes {
		from = min(from, sc.rows)
	}
	for q := from; q < min(b.from, m.end); q++ {
		interval := pipeline.Interval{Offset: m.Grid.Start(q)}
		start, end := m.span(q)
		for _, sc := range b.newScopes {
			if sc.rows <= q {
				row := m.row(sc, new(fiohist.Ranks))
				sc.cover(&row, start, end)
				interval.Rows = append(interval.Rows, row)
			}
		}
		if err := m.sink.Late(ctx, &interval); err != nil {
			return err
		}
	}
	return nil
}

// Stored is an interval whose leaves come from storage.
type Stored struct {
	leaves []*fiohist.Hist // by leaf
	byLog  []IOs           // by log: not 0 if it has I/O
}

// Index returns the index of each leaf of the run.
func (m *Merger) Index() map[fio.Dims]int {
	index := map[fio.Dims]int{}
	for i, s := range m.leafSpecs {
		index[s.dims] = i
	}
	return index
}

// NewStored returns an interval without I/O.
func (m *Merger) NewStored() *Stored {
	return &Stored{make([]*fiohist.Hist, len(m.leafSpecs)), make([]IOs, len(m.logs))}
}

// AddStored adds a stored histogram to leaf i; members are the logs with I/O in it.
func (m *Merger) AddStored(q *Stored, i int, h *fiohist.Hist, members []int) {
	if q.leaves[i] == nil {
		q.leaves[i] = h
	} else { // hosts whose names are not known share a leaf, across parts
		q.leaves[i].AddHist(h)
	}
	for _, log := range members {
		q.byLog[log][m.leafSpecs[i].dir] = 1
	}
}

// DropHosts leaves out the scopes that contain the host, but for those that have a Row.TailPart.
func (m *Merger) DropHosts() {
	m.scopes = slices.DeleteFunc(m.scopes, func(sc *scope) bool {
		return sc.dims.Host != "" && sc.peers == nil
	})
}

// EmitStored adds up the next n intervals and passes them to the sink. stored may be shorter: the rest has no I/O.
func (m *Merger) EmitStored(ctx context.Context, n int, stored []*Stored) error {
	if m.active == nil {
		m.limit()
		for _, sc := range m.scopes {
			if slices.ContainsFunc(sc.leaves, func(i int) bool { return m.leafSpecs[i].seen() }) {
				m.active = append(m.active, sc)
			}
		}
	}
	before := m.Done
	m.Done += int64(n)
	from := max(before, m.first)
	n = int(max(min(m.Done, m.end)-from, 0))
	return m.addUp(ctx, n, m.active, func(i int, mem *sums) *merged {
		var q *Stored
		if at := from - before + int64(i); at < int64(len(stored)) {
			q = stored[at]
		} else {
			q = m.NewStored()
		}
		return m.rows(from+int64(i), mem, q.leaves, func(l *Member) *IOs { return &q.byLog[l.index] }, m.active)
	})
}
