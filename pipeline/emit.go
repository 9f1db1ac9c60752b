package pipeline

import (
	"context"
	"slices"

	"fiolat/internal/fiohist"
)

// chunk is how many quanta are added up at a time: so few that the sink finds them in the
// processor's caches.
const chunk = 8

// maxSums is how many histograms they are added up in, roughly: of thousands of hosts fewer quanta
// are added up at a time.
const maxSums = 1 << 13

// batch is a stretch of quanta that every log has passed.
type batch struct {
	from, to int64
	cells    map[*member][]*cell // from `from` on; may be shorter than the batch
	active   []*scope            // those with I/O so far
	late     []*scope            // of them, those that earlier quanta had no row for
}

// cut removes the quanta before to from the logs.
func (m *merger) cut(to int64) batch {
	b := batch{from: m.done, to: to}
	b.cells = make(map[*member][]*cell, len(m.logs))
	for _, l := range m.logs {
		b.cells[l] = l.open.take(b.to)
	}
	m.done = b.to
	m.limit()
	for _, sc := range m.scopes {
		for _, i := range sc.slots {
			if m.slots[i].seen() {
				b.active = append(b.active, sc)
				if sc.rows < b.from {
					b.late = append(b.late, sc)
				}
				break
			}
		}
	}
	return b
}

// emit adds up the quanta of the batch, several at a time, and hands them to the
// sink in order.
func (m *merger) emit(ctx context.Context, b batch) error {
	if b.cells == nil {
		return nil
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	if err := m.backfill(ctx, b); err != nil {
		return err
	}
	atOnce := int64(min(max(maxSums/max(len(b.active), 1), m.workers), chunk))
	for from := b.from; from < b.to; from += atOnce {
		n := int(min(atOnce, b.to-from))
		err := m.hand(ctx, n, b.active, func(i int, mem *sums) *merged {
			q := from + int64(i)
			return m.quantum(q, mem, func(l *member) *cell {
				if at := b.cells[l]; q-b.from < int64(len(at)) {
					return at[q-b.from]
				}
				return nil
			}, b.active)
		})
		if err != nil {
			return err
		}
	}
	for _, sc := range b.active {
		sc.rows = b.to
	}
	return nil
}

// begin begins the sink, if that has not been done.
func (m *merger) begin(ctx context.Context) error {
	if m.begun {
		return nil
	}
	m.begun = true
	return m.sink.Begin(ctx, m.run)
}

// reuse gives the memory of a batch that was emitted back to its logs.
func (b *batch) reuse() {
	for l, cells := range b.cells {
		l.open.used = cells
	}
}

// backfill makes the empty rows of scopes whose first I/O came after some quanta
// had already left: every scope value has a row in every quantum.
func (m *merger) backfill(ctx context.Context, b batch) error {
	if len(b.late) == 0 {
		return nil
	}
	from := b.from
	for _, sc := range b.late {
		from = min(from, sc.rows)
	}
	for q := from; q < b.from; q++ {
		quantum := Quantum{Offset: m.grid.start(q)}
		for _, sc := range b.late {
			if sc.rows <= q {
				row := m.row(sc, nil)
				row.cover(sc, m.grid.start(q), m.grid.start(q+1))
				quantum.Rows = append(quantum.Rows, row)
			}
		}
		if err := m.sink.Quantum(ctx, &quantum); err != nil {
			return err
		}
	}
	return nil
}

// storedQuantum is a quantum of which the leaves come as they were stored.
type storedQuantum struct {
	leaves []*fiohist.Hist // by leaf
	cells  []cell          // by log: which of them have I/O
}

// index says which leaf of the run is which.
func (m *merger) index() map[Dims]int {
	index := map[Dims]int{}
	for i, s := range m.slots {
		index[s.dims] = i
	}
	return index
}

// newStored is a quantum without I/O.
func (m *merger) newStored() *storedQuantum {
	return &storedQuantum{make([]*fiohist.Hist, len(m.slots)), make([]cell, len(m.logs))}
}

// addStored adds a stored histogram to leaf i; members are the logs with I/O in it.
func (m *merger) addStored(q *storedQuantum, i int, h *fiohist.Hist, members []int) {
	if q.leaves[i] == nil {
		q.leaves[i] = h
	} else { // hosts whose names are not known share a leaf, across parts
		q.leaves[i].AddHist(h)
	}
	for _, log := range members {
		q.cells[log][m.slots[i].dir] = h
	}
}

// dropHosts leaves out the scopes that contain the host.
func (m *merger) dropHosts() {
	m.scopes = slices.DeleteFunc(m.scopes, func(sc *scope) bool { return sc.dims.Host != "" })
}

// emitStored adds up the next n quanta, of which the last may be missing for having no I/O, and hands them to the sink.
func (m *merger) emitStored(ctx context.Context, n int, stored []*storedQuantum) error {
	if m.active == nil {
		m.limit()
		for _, sc := range m.scopes {
			if slices.ContainsFunc(sc.slots, func(i int) bool { return m.slots[i].seen() }) {
				m.active = append(m.active, sc)
			}
		}
	}
	from := m.done
	m.done += int64(n)
	return m.hand(ctx, n, m.active, func(i int, mem *sums) *merged {
		var q *storedQuantum
		if i < len(stored) {
			q = stored[i]
		} else {
			q = m.newStored()
		}
		cellOf := func(l *member) *cell { return &q.cells[l.index] }
		out := m.rows(from+int64(i), mem, q.leaves, cellOf, m.active)
		out.Leaves = m.leaves(q.leaves, cellOf)
		return out
	})
}
