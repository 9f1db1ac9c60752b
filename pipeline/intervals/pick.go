package intervals

import (
	"math"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// pick finds the range of intervals that overlap the run's Pick.
func (m *Merger) pick() {
	m.picks, m.first, m.end = !m.Run.Pick.Empty(), m.Grid.First, math.MaxInt64
	if !m.picks {
		return
	}
	if from := m.Run.Window.From; from > m.Grid.Start(m.first) {
		m.first = m.Grid.Index(from)
	}
	if to := m.Run.Window.To; to < math.MaxInt64 {
		m.end = m.Grid.Last(to) + 1
	}
	m.Run.FirstInterval = m.Grid.Start(m.first)
}

// span returns the part of interval q that is looked at.
func (m *Merger) span(q int64) (start, end int64) {
	start, end = m.Grid.Start(q), m.Grid.Start(q+1)
	if m.picks {
		start, end = m.Run.Window.Clip(start, end)
	}
	return start, end
}

// Keep returns what the Pick leaves of a histogram of interval q, nil if nothing, and counts the rest as PickedAway.
func (m *Merger) Keep(q int64, h *fiohist.Hist, of fio.Dims) *fiohist.Hist {
	if m.Run.Pick.Holds(of) {
		return m.inWindow(q, h)
	}
	m.away += h.Sum()
	return nil
}

// inWindow is Keep for what is picked but for the time. If the window cuts the interval, the I/Os are shared out as if
// they had completed evenly in it.
func (m *Merger) inWindow(q int64, h *fiohist.Hist) *fiohist.Hist {
	switch share := m.share(q); share {
	case 1:
		return h
	case 0:
		m.away += h.Sum()
		return nil
	default:
		var all, kept fiohist.Sparse
		all.Set(h)
		kept.Share(&all, 0, share)
		m.away += all.Sum() - kept.Sum()
		return kept.Hist()
	}
}

// share returns which part of interval q is looked at, 0 to 1.
func (m *Merger) share(q int64) float64 {
	if !m.picks {
		return 1
	}
	return m.Run.Window.Share(m.Grid.Start(q), m.Grid.Start(q+1))
}

// PickedAway returns the number of I/Os that the Pick leaves out so far.
func (m *Merger) PickedAway() float64 {
	if h := m.cells.away.leaves[0]; h != nil {
		return m.away + h.Sum()
	}
	return m.away
}

// choose reduces the intervals of a batch to what is picked.
func (m *Merger) choose(b *Batch) {
	for i, r := range b.rows {
		if r == nil {
			continue
		}
		for k, h := range r.leaves {
			if h != nil {
				r.leaves[k] = m.inWindow(b.from+int64(i), h)
			}
		}
	}
}
