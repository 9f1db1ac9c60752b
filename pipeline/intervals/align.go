// Package intervals puts I/Os on a common time grid. It distributes the I/Os of each log over the intervals in whole
// parts, whose sums do not depend on an order, adds the intervals of all logs up by leaf and by scope, and passes them
// to a Sink. It also finds the shortest interval at which a percentile is known well enough.
package intervals

import (
	"errors"
	"fmt"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

const msec = int64(1e6) // ns

// Grid is the common time grid, in ns from the run's time zero.
type Grid struct {
	base     int64 // start of interval 0: 0 on the run's own grid, 0 or less on that from 1970
	Interval int64
	First    int64 // the interval in which the run starts; nothing lies before it
}

// Index returns the interval that holds the time x: intervals are [start, end).
func (g *Grid) Index(x int64) int64 { return floorDiv(x-g.base, g.Interval) }

// Last returns the last interval that (.., end] reaches into.
func (g *Grid) Last(end int64) int64 { return floorDiv(end-1-g.base, g.Interval) }

// Start returns where interval q starts.
func (g *Grid) Start(q int64) int64 { return g.base + q*g.Interval }

// NewGrid returns the grid of a run by its start, interval and settings. Its First is 0.
func NewGrid(run *pipeline.Run) Grid {
	g := Grid{Interval: run.Interval}
	if run.Settings.Grid == fio.GridEpoch {
		g.base = -(run.Start - floorDiv(run.Start, g.Interval)*g.Interval)
	}
	return g
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// MaxSpan is how many intervals a run may span: more means clocks that are years apart. maxRecord is how many one
// record may cover: a stamp that is years off must not fill the memory before it is noticed.
const (
	MaxSpan   = 50_000_000
	maxRecord = 1_000_000
)

var (
	errClosed = errors.New("its I/Os belong to a time that is already finished: the log is out of order by more than " +
		"32 windows")
	errRecord = fmt.Errorf("it covers more than %d intervals: is its stamp right? use a longer --interval if it is",
		maxRecord)
	// ErrSpan says that a run would have too many intervals.
	ErrSpan = fmt.Errorf("more than %d intervals from the run's start: do the hosts' clocks differ? see --offset, "+
		"or use a longer --interval", MaxSpan)
)

// Aligner distributes the I/Os of one log over the intervals.
type Aligner struct {
	grid     *Grid
	inflight bool
	g        fiohist.Geometry // the log's own
	shift    int              // to the run's coarser grid
	middle   []float64        // ns, of the log's own buckets
	open     *Open
	part     fiohist.Sparse // scratch
	before   []float64      // scratch: what is before the interval, by bucket
	// Placed is the number of I/Os that are in intervals.
	Placed float64
}

// NewAligner returns the aligner of a log whose records are of the geometry own, while the run's
// histograms are of common. It adds to open.
func NewAligner(gr *Grid, inflight bool, own, common fiohist.Geometry, open *Open) *Aligner {
	a := &Aligner{grid: gr, inflight: inflight, g: own, shift: common.Coarseness - own.Coarseness, open: open}
	if inflight {
		a.middle = make([]float64, own.Columns())
		for i := range a.middle {
			a.middle[i] = own.Middle(i)
		}
	}
	return a
}

// Piece is when I/Os completed, in ns on the run's clock: evenly in (Start, End], but a share of each in the
// millisecond before Closing.
type Piece struct {
	Start, End, Closing int64
	Share               float64
}

// end returns when the last I/O completed.
func (p *Piece) end() int64 {
	if p.Share > 0 {
		return max(p.End, p.Closing)
	}
	return p.End
}

// before returns the share of an I/O of latency l, in ns, that lies before x.
func (p *Piece) before(x int64, l float64) float64 {
	share := pipeline.InFlightBefore(x, p.Start, p.End, l)
	if p.Share > 0 {
		share += p.Share * (pipeline.InFlightBefore(x, p.Closing-msec, p.Closing, l) - share)
	}
	return share
}

// Add distributes I/Os over the intervals, in whole parts. With overlap, each interval gets the share that completed in
// it.
func (a *Aligner) Add(p Piece, c *fiohist.Sparse, d fio.Direction) error {
	if len(c.Count) == 0 {
		return nil
	}
	last := a.grid.Last(p.end())
	switch {
	case last-a.open.First >= MaxSpan:
		return ErrSpan
	case last-a.grid.Index(p.Start) >= maxRecord:
		return errRecord
	}
	if a.inflight {
		return a.addInflight(p, c, d)
	}
	from, to := max(a.grid.Index(p.Start), a.grid.First), max(last, a.grid.First)
	before := 0.0
	for q := from; q <= to; q++ {
		upTo := 1.0
		if q < to {
			upTo = p.before(a.grid.Start(q+1), 0)
		}
		from := before
		before = upTo
		const small = 1e-6 // it may be less than a part of any bucket's I/Os
		if upTo-from < small {
			if a.part.Share(c, from, upTo); len(a.part.Index) == 0 {
				continue
			}
		}
		n, err := a.open.add(q, d, func(h *fiohist.Hist) float64 {
			return h.AddShare(c.Index, c.Count, a.shift, from, upTo)
		})
		if err != nil {
			return err
		}
		a.Placed += n
	}
	return nil
}

// addInflight counts an I/O where it was in flight: from its completion, it extends backwards by its bucket's middle
// latency. The idea, but not the closed form, is Cronburg and England's (fiologparser_hist).
func (a *Aligner) addInflight(p Piece, c *fiohist.Sparse, d fio.Direction) error {
	first := func(k int) int64 {
		return max(a.grid.Index(p.Start-int64(a.latency(c.Index[k]))-1), a.grid.First)
	}
	a.before = append(a.before[:0], make([]float64, len(c.Index))...)
	slow := len(c.Index) - 1 // the buckets from it on reach into the interval
	to := max(a.grid.Last(p.end()), a.grid.First)
	for q := first(slow); q <= to; q++ {
		for slow > 0 && first(slow-1) <= q {
			slow--
		}
		a.part.Reset()
		for k := slow; k < len(c.Index); k++ {
			upTo := 1.0
			if q < to {
				upTo = p.before(a.grid.Start(q+1), a.latency(c.Index[k]))
			}
			before := a.before[k]
			a.before[k] = fiohist.Share(c.Count[k], 0, upTo)
			if a.before[k] > before {
				a.part.Add(c.Index[k], a.before[k]-before)
			}
		}
		if len(a.part.Index) == 0 {
			continue
		}
		n, err := a.open.add(q, d, func(h *fiohist.Hist) float64 {
			return h.AddShare(a.part.Index, a.part.Count, a.shift, 0, 1)
		})
		if err != nil {
			return err
		}
		a.Placed += n
	}
	return nil
}

// latency returns that of a bucket in ns. Below 1 us it is taken to be none.
func (a *Aligner) latency(bucket uint16) float64 {
	if l := a.middle[bucket]; l >= 1e3 {
		return l
	}
	return 0
}

// Delay returns how long before its completion, in ns, an I/O may count.
func (a *Aligner) Delay() int64 {
	if !a.inflight {
		return 0
	}
	return int64(a.middle[a.g.Last()]) + 1
}
