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

// Keep returns what the Pick leaves of a histogram of interval q, nil if nothing, and adds the rest to PickedAway. If
// the window cuts the interval, the I/Os are shared out as if they had completed evenly in it.
func (m *Merger) Keep(q int64, h *fiohist.Hist, of fio.Dims) *fiohist.Hist {
	share := 0.0
	if m.Run.Pick.Holds(of) {
		share = m.Run.Window.Share(m.Grid.Start(q), m.Grid.Start(q+1))
	}
	switch share {
	case 1:
		return h
	case 0:
		m.PickedAway += h.Sum()
		return nil
	}
	var all, kept fiohist.Sparse
	all.Set(h)
	kept.Share(&all, 0, share)
	m.PickedAway += all.Sum() - kept.Sum()
	return kept.Hist()
}

// choose reduces the intervals of a batch to what is picked.
func (m *Merger) choose(b Batch) {
	names := m.Run.Directions()
	for _, l := range m.logs {
		dims := *l.Dims()
		for i, hists := range b.Intervals[l] {
			if hists == nil {
				continue
			}
			for d, h := range hists {
				if h != nil {
					dims.Direction = names[d]
					hists[d] = m.Keep(b.from+int64(i), h, dims)
				}
			}
		}
	}
}
