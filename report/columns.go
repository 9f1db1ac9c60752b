package report

import (
	"encoding/binary"
	"math"
	"os"
	"slices"

	"fiolat/fio/fiohist"
	"fiolat/internal/tempfile"
)

// bins is a sparse histogram. The zero value is empty. Counts stay float64: with fewer bits, a rank between two buckets
// could change sides.
type bins struct {
	at   []uint16 // buckets, ascending; nil if they are in the file
	n    []float64
	from int64 // offset in the file
	size int   // number of buckets
}

// binBytes is the size of a bucket and its count, in memory and in the file.
const binBytes = 10

// columns stores histograms in memory up to a limit, and the others in an unlinked temporary file. err is the first
// error of the file.
type columns struct {
	limit, held int // bytes
	file        *os.File
	end         int64
	buf         []byte
	at          []uint16
	n           []float64
	err         error
}

func (c *columns) keep(h *fiohist.Hist) bins {
	c.at, c.n = h.Sparse(c.at[:0], c.n[:0])
	b := bins{size: len(c.at)}
	c.held += b.size * binBytes
	if c.held <= c.limit || b.size == 0 {
		b.at, b.n = slices.Clone(c.at), slices.Clone(c.n)
		return b
	}
	if c.file == nil {
		c.file, c.err = tempfile.CreateUnlinked()
	}
	c.buf = c.buf[:0]
	for k, i := range c.at {
		c.buf = binary.LittleEndian.AppendUint16(c.buf, i)
		c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(c.n[k]))
	}
	b.from = c.end
	if c.err == nil {
		_, c.err = c.file.WriteAt(c.buf, c.end)
		c.end += int64(len(c.buf))
	}
	return b
}

// load returns the buckets and counts of a histogram. They are valid until the next load or keep.
func (c *columns) load(b bins) ([]uint16, []float64) {
	if b.at != nil || b.size == 0 {
		return b.at, b.n
	}
	c.buf = slices.Grow(c.buf[:0], b.size*binBytes)[:b.size*binBytes]
	if c.err == nil {
		_, c.err = c.file.ReadAt(c.buf, b.from)
	}
	if c.err != nil {
		return nil, nil
	}
	c.at, c.n = c.at[:0], c.n[:0]
	for left := c.buf; len(left) > 0; left = left[binBytes:] {
		c.at = append(c.at, binary.LittleEndian.Uint16(left))
		c.n = append(c.n, math.Float64frombits(binary.LittleEndian.Uint64(left[2:])))
	}
	return c.at, c.n
}

func (c *columns) addTo(b bins, h *fiohist.Hist) {
	at, n := c.load(b)
	h.AddAll(at, n, 0)
}

// close releases the file.
func (c *columns) close() {
	if c.file != nil {
		c.file.Close() //nolint:errcheck // nothing of it is needed any more
	}
}

// leaf is one element of the finest split. Each I/O is in exactly one leaf.
type leaf struct {
	dims   dims
	limits fiohist.Limits
	total  fiohist.Hist
	cols   []bins       // finished columns; trailing ones without I/O are missing
	open   fiohist.Hist // of the current column
}

// finish stores the open histogram as column k.
func (l *leaf) finish(k int, in *columns) {
	if l.open.Empty() {
		return
	}
	l.cols = append(l.cols, make([]bins, k+1-len(l.cols))...)
	l.cols[k] = in.keep(&l.open)
	l.open.Reset()
}

// halve merges columns 0 and 1, 2 and 3, and so on. sum is scratch space.
func (l *leaf) halve(from, to *columns, sum *fiohist.Hist) {
	for k := 0; k < len(l.cols); k += 2 {
		sum.Reset()
		from.addTo(l.cols[k], sum)
		if k+1 < len(l.cols) {
			from.addTo(l.cols[k+1], sum)
		}
		l.cols[k/2] = to.keep(sum)
	}
	keep := (len(l.cols) + 1) / 2
	clear(l.cols[keep:])
	l.cols = l.cols[:keep]
}

// coverage is what a scope value has in a column beside its I/Os.
type coverage struct {
	intervals int32
	logs      int32   // minimum over the intervals of the logs with I/O
	idle      int32   // intervals in which logs were running and nothing completed
	covered   float64 // seconds in which a log was running
}

func (s *coverage) add(o coverage) {
	if o.intervals == 0 {
		return
	}
	if s.intervals == 0 || o.logs < s.logs {
		s.logs = o.logs
	}
	s.intervals += o.intervals
	s.idle += o.idle
	s.covered += o.covered
}

// scope is one scope value, which users can select on the page.
type scope struct {
	dims dims
	cols []coverage
}

func (s *scope) add(k int, o coverage) {
	if k >= len(s.cols) {
		s.cols = append(s.cols, make([]coverage, k+1-len(s.cols))...)
	}
	s.cols[k].add(o)
}

func (s *scope) halve() {
	for k := range s.cols {
		if k%2 == 1 {
			s.cols[k/2].add(s.cols[k])
		} else {
			s.cols[k/2] = s.cols[k]
		}
	}
	s.cols = slices.Clip(s.cols[:(len(s.cols)+1)/2])
}
