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

// Hists is one interval of one log: a histogram per direction, nil without I/O.
type Hists [fio.Directions]*fiohist.Hist

// Open are the open intervals of one log.
type Open struct {
	First int64 // index of at[0]
	at    []*Hists
	Held  int // histograms held, for the memory bound
	spare []*fiohist.Hist
	used  []*Hists // what Take returned, for reuse
	// Pack makes Open pack an interval once the next but one is begun: with many logs, most memory is
	// in intervals that wait for other logs.
	Pack   bool
	packed [fio.Directions]int64 // intervals before this one are packed
}

// maxSpare is how many empty histograms are kept where intervals are packed.
const maxSpare = 8

// hist returns the histogram to add to, or an error if the interval is closed or beyond MaxSpan.
func (c *Open) hist(q int64, d fio.Direction) (*fiohist.Hist, error) {
	i := q - c.First
	if i < 0 {
		return nil, errClosed
	}
	if i >= MaxSpan {
		return nil, ErrSpan
	}
	for int64(len(c.at)) <= i {
		c.at = append(c.at, nil)
	}
	if c.at[i] == nil {
		c.at[i] = new(Hists)
	}
	h := c.at[i][d]
	if h == nil {
		h = c.free()
		c.at[i][d] = h
		c.Held++
		c.packBefore(q-1, d)
	}
	return h, nil
}

func (c *Open) packBefore(q int64, d fio.Direction) {
	if !c.Pack {
		return
	}
	for k := max(c.packed[d], c.First); k < q; k++ {
		if cl := c.at[k-c.First]; cl != nil && cl[d] != nil && !cl[d].Packed() {
			c.spare = append(c.spare, cl[d])
			cl[d] = cl[d].Pack()
		}
	}
	c.packed[d] = max(c.packed[d], q)
}

// Finish packs all intervals, and drops what is kept for more of them, if Pack is set: no record comes any more.
func (c *Open) Finish() {
	if !c.Pack {
		return
	}
	for d := range fio.Direction(fio.Directions) {
		c.packBefore(c.End(), d)
		c.packed[d] = c.First // the tail may come into any of them
	}
	c.spare, c.used = nil, nil
}

// Take removes and returns the intervals before end; nil stands for one without I/O.
func (c *Open) Take(end int64) []*Hists {
	n := min(max(end-c.First, 0), int64(len(c.at)))
	out := c.at[:n:n]
	for _, cl := range out {
		if cl != nil {
			for _, h := range cl {
				if h != nil {
					c.Held--
				}
			}
		}
	}
	c.at = append([]*Hists(nil), c.at[n:]...)
	c.First = max(end, c.First)
	return out
}

// End returns the interval after the last open one.
func (c *Open) End() int64 { return c.First + int64(len(c.at)) }

// free returns an empty histogram, a used one if possible. That is reset only here, by the worker that needs it.
func (c *Open) free() *fiohist.Hist {
	for _, cl := range c.used {
		if cl == nil {
			continue
		}
		for _, h := range cl {
			if h != nil && !h.Packed() && (!c.Pack || len(c.spare) < maxSpare) {
				c.spare = append(c.spare, h)
			}
		}
	}
	c.used = nil
	var h *fiohist.Hist
	if last := len(c.spare) - 1; last >= 0 {
		h, c.spare = c.spare[last], c.spare[:last]
	} else {
		h = new(fiohist.Hist)
	}
	h.Reset()
	return h
}

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
		h, err := a.open.hist(q, d)
		if err != nil {
			return err
		}
		a.Placed += h.AddShare(c.Index, c.Count, a.shift, from, upTo)
	}
	return nil
}

// addInflight counts an I/O where it was in flight: from its completion, it extends backwards by its bucket's middle
// latency. The idea, but not the closed form, is Cronburg and England's (fiologparser_hist).
func (a *Aligner) addInflight(p Piece, c *fiohist.Sparse, d fio.Direction) error {
	for i, b := range c.Index {
		n, latency := c.Count[i], a.middle[b]
		if latency < 1e3 { // below 1 us: as if it had none
			latency = 0
		}
		from := max(a.grid.Index(p.Start-int64(latency)-1), a.grid.First)
		to := max(a.grid.Last(p.end()), a.grid.First)
		placed := 0.0 // what is before the first interval goes into that
		for q := from; q <= to; q++ {
			upTo := 1.0
			if q < to {
				upTo = p.before(a.grid.Start(q+1), latency)
			}
			before := placed
			placed = fiohist.Share(n, 0, upTo)
			if share := placed - before; share > 0 {
				h, err := a.open.hist(q, d)
				if err != nil {
					return err
				}
				h.Add(int(b)>>a.shift, share)
				a.Placed += share
			}
		}
	}
	return nil
}

// Delay returns how long before its completion, in ns, an I/O may count.
func (a *Aligner) Delay() int64 {
	if !a.inflight {
		return 0
	}
	return int64(a.middle[a.g.Last()]) + 1
}
