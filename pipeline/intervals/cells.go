package intervals

import (
	"sync"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// IOs are the I/Os of a log in an interval, by direction.
type IOs [fio.Directions]float64

// cells are the histograms of the leaves in the intervals that not all logs have passed. Any number of goroutines may
// add to them: sums of whole parts do not depend on the order.
type cells struct {
	leaves int
	away   row // one histogram of all I/Os that are in no leaf

	mu    sync.Mutex
	rows  map[int64]*row // by interval
	spare []*fiohist.Hist
	held  int // roughly the bytes that histograms in rows take
}

// row is an interval in which there are I/Os.
type row struct {
	mu     sync.Mutex
	leaves []*fiohist.Hist // nil without I/O
}

const (
	// cellBytes is roughly the memory of a histogram of real logs: eleven pages of 64 buckets.
	cellBytes = 6 << 10
	// iosBytes is that of IOs.
	iosBytes = 8 * fio.Directions
)

// row returns the row of an interval.
func (c *cells) row(q int64) *row {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rows[q]
	if r == nil {
		r = &row{leaves: make([]*fiohist.Hist, c.leaves)}
		c.rows[q] = r
	}
	return r
}

// add calls f with the histogram of a leaf in a row, and returns what it does. One that is packed stays so.
func (c *cells) add(r *row, leaf int, f func(*fiohist.Hist) float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.leaves[leaf]
	if h != nil && !h.Packed() {
		return f(h)
	}
	r.leaves[leaf] = c.next()
	if h == nil {
		return f(r.leaves[leaf])
	}
	r.leaves[leaf].AddHist(h)
	n := f(r.leaves[leaf])
	c.packLeaf(r, leaf)
	c.release(h)
	return n
}

// packLeaf packs the histogram of a leaf in a row, if there is one. The caller holds the row's lock.
func (c *cells) packLeaf(r *row, leaf int) {
	h := r.leaves[leaf]
	if h == nil || h.Packed() {
		return
	}
	r.leaves[leaf] = h.Pack()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare = append(c.spare, h)
	c.held += bytesOf(r.leaves[leaf]) - cellBytes
}

// next returns an empty histogram, a used one if possible.
func (c *cells) next() *fiohist.Hist {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held += cellBytes
	last := len(c.spare) - 1
	if last < 0 {
		return new(fiohist.Hist)
	}
	h := c.spare[last]
	c.spare = c.spare[:last]
	h.Reset()
	return h
}

// release takes back what a histogram counts in held.
func (c *cells) release(h *fiohist.Hist) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= bytesOf(h)
}

// bytesOf returns roughly how many bytes the histogram of a leaf takes.
func bytesOf(h *fiohist.Hist) int {
	switch {
	case h == nil:
		return 0
	case h.Packed():
		return h.PackedBytes()
	}
	return cellBytes
}

// take removes and returns the rows of the intervals from from on and before to; nil stands for one without I/O. There
// may be fewer: the rest has none.
func (c *cells) take(from, to int64) (out []*row) {
	last := from - 1
	for q := range c.rows {
		if q < to {
			last = max(last, q)
		}
	}
	out = make([]*row, last+1-from)
	for i := range out {
		if r := c.rows[from+int64(i)]; r != nil {
			out[i] = r
			delete(c.rows, from+int64(i))
			for _, h := range r.leaves {
				c.release(h)
			}
		}
	}
	return out
}

// reuse takes back the histograms of rows that were taken.
func (c *cells) reuse(rows []*row) {
	for _, r := range rows {
		if r == nil {
			continue
		}
		for _, h := range r.leaves {
			if h != nil && !h.Packed() {
				c.spare = append(c.spare, h)
			}
		}
	}
}

// pack packs the histograms of the intervals from from on and before to.
func (c *cells) pack(from, to int64) {
	for q := from; q < to; q++ {
		r := c.rows[q]
		if r == nil {
			continue
		}
		for i := range r.leaves {
			c.packLeaf(r, i)
		}
	}
}

// move makes the histograms those of n leaves, of which to has the index of each of the leaves before.
func (c *cells) move(n int, to []int) {
	c.leaves = n
	for _, r := range c.rows {
		before := r.leaves
		r.leaves = make([]*fiohist.Hist, n)
		for i, h := range before {
			r.leaves[to[i]] = h
		}
	}
}

// Open is where a log's I/Os are added to the intervals that are still open.
type Open struct {
	First int64 // the intervals before it are not
	cells *cells
	leaf  [fio.Directions]int // its leaf by direction, or noLeaf
	pack  bool                // its histograms are to be packed once it is read
	at    int64               // the interval that was added to last
	row   *row                // of it; or nil
	from  int64               // interval of ios[0]
	ios   []IOs               // the I/Os of the log in leaves
}

// noLeaf stands for the leaf of I/Os that Run.Pick leaves out.
const noLeaf = -1

// add calls f with the histogram that is to be added to, and counts the I/Os that f says it added. It returns an error
// if the interval is closed or beyond MaxSpan.
func (o *Open) add(q int64, d fio.Direction, f func(*fiohist.Hist) float64) (float64, error) {
	switch {
	case q < o.First:
		return 0, errClosed
	case q-o.First >= MaxSpan:
		return 0, ErrSpan
	case o.leaf[d] == noLeaf:
		return o.cells.add(&o.cells.away, 0, f), nil
	case o.row == nil || q != o.at:
		o.at, o.row = q, o.cells.row(q)
	}
	n := o.cells.add(o.row, o.leaf[d], f)
	if len(o.ios) == 0 {
		o.from = q
	}
	if q < o.from {
		o.ios, o.from = append(make([]IOs, o.from-q), o.ios...), q
	}
	for o.End() <= q {
		o.ios = append(o.ios, IOs{})
	}
	o.ios[q-o.from][d] += n
	return n, nil
}

// Ended makes what was added take less memory, if there are many leaves: the log was read to its end, and only its tail
// may come yet.
func (o *Open) Ended() {
	if !o.pack {
		return
	}
	for i := range o.ios {
		r := o.cells.row(o.from + int64(i))
		r.mu.Lock()
		for d, n := range o.ios[i] {
			if n > 0 {
				o.cells.packLeaf(r, o.leaf[d])
			}
		}
		r.mu.Unlock()
	}
}

// End returns the interval after the last open one with I/O in a leaf.
func (o *Open) End() int64 { return max(o.from+int64(len(o.ios)), o.First) }

// taken are the I/Os of a log in intervals that were taken, the first of which is from.
type taken struct {
	from int64
	ios  []IOs
}

// of returns the I/Os in an interval; nil if there are none.
func (t *taken) of(q int64) *IOs {
	if i := q - t.from; i >= 0 && i < int64(len(t.ios)) {
		return &t.ios[i]
	}
	return nil
}

// take removes and returns what is before end.
func (o *Open) take(end int64) taken {
	n := min(max(end-o.from, 0), int64(len(o.ios)))
	t := taken{o.from, o.ios[:n:n]}
	o.ios, o.from, o.row = append([]IOs(nil), o.ios[n:]...), o.from+n, nil
	o.First = max(end, o.First)
	return t
}
