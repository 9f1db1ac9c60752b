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

// Batch is a range of intervals that every log has passed.
type Batch struct {
	from, To  int64
	Intervals map[*Member][]*Hists // from `from` on; may be shorter than the batch
	active    []*scope             // those with I/O so far
	newScopes []*scope             // of them, those that earlier intervals had no row for
}

// Cut removes the intervals before to from the logs and returns them.
func (m *Merger) Cut(to int64) Batch {
	b := Batch{from: m.Done, To: to}
	b.Intervals = make(map[*Member][]*Hists, len(m.logs))
	for _, l := range m.logs {
		b.Intervals[l] = l.Open.Take(b.To)
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
// sink in order.
func (m *Merger) Emit(ctx context.Context, b Batch) error {
	if b.Intervals == nil {
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
	atOnce := int64(min(max(maxSums/max(len(b.active), 1), m.workers), chunk))
	to := min(b.To, m.end)
	for from := max(b.from, m.first); from < to; from += atOnce {
		n := int(min(atOnce, to-from))
		err := m.addUp(ctx, n, b.active, func(i int, mem *sums) *merged {
			q := from + int64(i)
			return m.interval(q, mem, func(l *Member) *Hists {
				if at := b.Intervals[l]; q-b.from < int64(len(at)) {
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
		sc.rows = b.To
	}
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

// Reuse returns the memory of an emitted batch to its logs.
func (b *Batch) Reuse() {
	for l, hists := range b.Intervals {
		l.Open.used = hists
	}
}

// backfill passes on the empty rows of scopes whose first I/O came after some intervals had left: every
// scope value has a row in every interval.
func (m *Merger) backfill(ctx context.Context, b Batch) error {
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
	byLog  []Hists         // by log: which of them have I/O
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
	return &Stored{make([]*fiohist.Hist, len(m.leafSpecs)), make([]Hists, len(m.logs))}
}

// AddStored adds a stored histogram to leaf i; members are the logs with I/O in it.
func (m *Merger) AddStored(q *Stored, i int, h *fiohist.Hist, members []int) {
	if q.leaves[i] == nil {
		q.leaves[i] = h
	} else { // hosts whose names are not known share a leaf, across parts
		q.leaves[i].AddHist(h)
	}
	for _, log := range members {
		q.byLog[log][m.leafSpecs[i].dir] = h
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
		histsOf := func(l *Member) *Hists { return &q.byLog[l.index] }
		out := m.rows(from+int64(i), mem, q.leaves, histsOf, m.active)
		out.Leaves = m.leaves(q.leaves, histsOf)
		return out
	})
}
