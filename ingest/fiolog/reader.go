package fiolog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

const (
	defaultMaxLine = 1 << 20
	defaultBlock   = 256 << 10

	// slack is how far scanLine may look beyond the end of a line. Blocks have that much room after their end, so
	// that even their last line takes the fast path.
	slack = 64
)

// blocks and records hold free memory, as *[]byte and *Record. Reusing it is cheaper than new memory, which the
// system has to clear.
var blocks, records sync.Pool

func newBlock(size int) []byte {
	if b, ok := blocks.Get().(*[]byte); ok && cap(*b) >= size {
		return (*b)[:size]
	}
	return make([]byte, size)
}

// ReaderOptions are the options of a Reader. The zero value suits a histogram log.
type ReaderOptions struct {
	// MaxLine is the longest line, in bytes without its end, that is held in memory; default 1 MiB, where fio's
	// longest are 40 KiB. A longer one is a ParseError.
	MaxLine int
	// Block is how many bytes are read at a time, default 256 KiB. A Reader holds one block (more only for a line
	// longer than it) and 20 KiB for the record: with thousands of logs open at once, use less.
	Block int
	// Columns is the number of buckets that each record must have, if it is known, e.g. from the part of the log
	// before this one. If it is 0, or fits no geometry, the first good line decides.
	Columns int
	// Single, if not nil, says that the log is one of single I/Os (write_lat_log), to be counted on this grid, whose
	// Unit is the unit of the log's latencies. A record is then the I/Os of one stamp and direction.
	Single *fiohist.Geometry
	// HalfSound says that the counts from the middle bucket on are no counts: they are left out.
	HalfSound bool
	// Oversized accepts counts beyond MaxCount; the caller must not take them for I/Os.
	Oversized bool
	// After is the number of lines of the file before the first that is read.
	After int64
}

// Reader reads the records of one histogram log, or of one log of single I/Os.
//
// Its records are exactly what the file holds: the stamp within MaxTime, a direction below Directions, as many
// buckets in each line as in the first good one, counts up to MaxCount. It checks neither the order of the stamps nor
// one record against another.
//
// Blanks (spaces and tabs) around numbers are accepted, empty lines are skipped, and the last line needs no newline
// if no bucket is missing. All else is a *fio.ParseError: nothing is guessed or repaired.
type Reader struct {
	name string
	src  io.Reader
	opt  ReaderOptions

	// buf[pos:end] are lines that are read but not parsed, buf[end:have] the start of the next one. What follows is
	// slack or leftovers, which scanLine may look at but does not use.
	buf            []byte
	pos, end, have int
	block          []byte // memory for buf, if this Reader reads the input
	rest           []byte // the start of a line while r is parked

	// chunks is src if that is an unpacker in use; chunk is what it returned beyond buf.
	chunks unpacker
	chunk  []byte

	err      error // the input's own error at its end
	held     error // of the first fill, to be returned by the next
	cut      bool  // buf[pos:end] is the last line and has no newline
	skipping bool  // inside a line longer than MaxLine, already reported

	line     int64
	good     int64 // of them, those with a record
	over     bool  // tooBad was reported: nothing more is read
	geometry fiohist.Geometry
	columns  int
	rec      Record
	single   singles

	parsers int    // how many goroutines may parse ahead
	ahead   *ahead // not nil once they do
}

// unpacker is an input that returns what it decompressed without a copy, if InChunks. The next call of Chunk
// overwrites it.
type unpacker interface {
	InChunks() bool
	Chunk() ([]byte, error)
}

// NewReader returns a Reader of a stream, which must be decompressed. The name is for errors.
func NewReader(r io.Reader, name string, opt ReaderOptions) *Reader {
	n := newReader(name, opt)
	n.from(r)
	return n
}

// NewBytesReader returns a Reader of a log, or whole lines of one, that is in memory. Several of them can read parts
// of one log at the same time; each counts its own lines, from After+1.
func NewBytesReader(data []byte, name string, opt ReaderOptions) *Reader {
	r := newReader(name, opt)
	r.buf, r.have, r.err = data, len(data), io.EOF
	r.end = bytes.LastIndexByte(data, '\n') + 1
	return r
}

func newReader(name string, opt ReaderOptions) *Reader {
	if opt.MaxLine <= 0 {
		opt.MaxLine = defaultMaxLine
	}
	if opt.Block <= 0 {
		opt.Block = defaultBlock
	}
	r := &Reader{name: name, opt: opt, line: opt.After, good: opt.After}
	if opt.Columns > 0 {
		if g, err := fiohist.GeometryOf(opt.Columns); err == nil {
			r.setGeometry(g)
		}
	}
	r.single.next = fio.Directions
	if opt.Single != nil {
		r.geometry = *opt.Single
	}
	return r
}

// Reset makes r read another log with the same options and the same memory.
func (r *Reader) Reset(src io.Reader, name string) {
	n := newReader(name, r.opt)
	n.from(src)
	n.block = r.block
	n.rec.Index, n.rec.Count = r.rec.Index, r.rec.Count
	if n.columns != 0 {
		n.setGeometry(n.geometry) // the memory taken over may be too small
	}
	*r = *n
}

func (r *Reader) from(src io.Reader) {
	r.src = src
	if s, ok := src.(unpacker); ok && s.InChunks() {
		r.chunks = s
	}
}

// Geometry returns the geometry of the log, and whether it is known: it is once a record was read.
func (r *Reader) Geometry() (fiohist.Geometry, bool) { return r.geometry, r.columns != 0 }

// Line returns the number, from 1, of the last line that was read; 0 before the first.
func (r *Reader) Line() int64 { return r.line }

// expectedColumns returns the number of columns. Before the first good line it comes from the commas of the next line,
// and is 0 if no geometry has so many.
func (r *Reader) expectedColumns() int {
	if r.columns != 0 {
		return r.columns
	}
	line := r.buf[r.pos:r.end]
	columns := bytes.Count(line[:max(bytes.IndexByte(line, '\n'), 0)], []byte{','}) - 2
	if _, err := fiohist.GeometryOf(columns); err != nil {
		return 0
	}
	r.room(columns)
	return columns
}

func (r *Reader) setGeometry(g fiohist.Geometry) {
	r.geometry, r.columns = g, g.Columns()
	r.room(r.columns)
}

// room makes rec large enough for that many columns.
func (r *Reader) room(columns int) {
	rec := &r.rec
	columns += spare
	if cap(rec.Index) == 0 {
		if used, ok := records.Get().(*Record); ok {
			rec.Index, rec.Count = used.Index[:0], used.Count[:0]
		}
	}
	if cap(rec.Index) < columns || cap(rec.Count) < columns {
		rec.Index = append(make([]uint16, 0, columns), rec.Index...)
		rec.Count = append(make([]float64, 0, columns), rec.Count...)
	}
}

// Next returns the next record. It belongs to the Reader and is overwritten by the next call.
//
// At the end of the log the error is io.EOF. For a line that fio would not write it is a *fio.ParseError with the
// line's number; the next call goes on with the line after it. If the input itself is damaged, as a compressed file
// that is cut, it is a *fio.ParseError without a line, once, after the complete lines before, and then io.EOF; the
// same holds once more than maxBad lines hold no record. Any other error is the input's own, and final.
func (r *Reader) Next() (*Record, error) {
	if r.over {
		return nil, io.EOF
	}
	rec, err := r.next()
	if err == nil && r.opt.Single == nil {
		r.good++
	} else if err != nil && !errors.Is(err, io.EOF) && r.tooBad() {
		r.over = true
		return nil, &fio.ParseError{File: r.name, Msg: fmt.Sprintf("more than %d lines up to line %d are empty or bad",
			maxBad, r.line), Hint: "this is no log of fio's"}
	}
	return rec, err
}

// maxBad is how many lines without a record a log may have, empty ones included. fio writes none, but a compressed
// file of kilobytes may hold billions.
const maxBad = 100_000

// tooBad reports whether there were more of them.
func (r *Reader) tooBad() bool { return r.line-r.good > maxBad }

// errTooBad is next's error for such a log.
var errTooBad = errors.New("too many bad lines")

func (r *Reader) next() (*Record, error) {
	if r.opt.Single != nil {
		return r.nextSingle()
	}
	if r.ahead != nil {
		return r.ahead.next(r)
	}
	for {
		if r.pos == r.end {
			if r.parsers > 0 && r.columns != 0 && r.line > 0 && r.err == nil && len(r.chunk) == 0 {
				r.ahead = startAhead(r)
				return r.ahead.next(r)
			}
			if err := r.fill(); err != nil {
				return nil, r.explain(err)
			}
		}
		if columns := r.expectedColumns(); columns != 0 && !r.cut {
			ahead := r.buf[r.pos:min(r.end+slack, len(r.buf))]
			if n := scanLine(ahead, &r.rec, columns); n != 0 && n <= r.opt.MaxLine {
				if r.columns == 0 {
					r.geometry, _ = fiohist.GeometryOf(columns) // no error: likely checked it
					r.columns = columns
				}
				r.pos += n
				r.line++
				r.rec.Line = r.line
				r.halve()
				return &r.rec, nil
			}
		}
		line := r.takeLine()
		if len(line) <= r.opt.MaxLine && blanks(line) == len(line) {
			if r.tooBad() {
				return nil, errTooBad
			}
			continue
		}
		if bad := r.parse(line); bad != nil {
			return nil, bad.at(r.name, r.line)
		}
		return &r.rec, nil
	}
}

// Drained reports whether Next has to read before it can return another record.
func (r *Reader) Drained() bool {
	if a := r.ahead; a != nil {
		return a.now == nil || a.now.next == len(a.now.out)
	}
	return r.pos == r.end && len(r.chunk) == 0
}

// Park releases the memory of the block and the record until r reads on, if r is Drained. Of many logs that take
// turns, each then holds no more than the start of a line.
func (r *Reader) Park() {
	if r.block == nil || r.chunks != nil || !r.Drained() || r.ahead != nil {
		return
	}
	block, rec := r.block, r.rec
	r.rest = append(r.rest[:0], r.buf[r.pos:r.have]...)
	r.buf, r.block, r.pos, r.end, r.have = r.rest, nil, 0, 0, len(r.rest)
	blocks.Put(&block)
	r.rec = Record{}
	records.Put(&rec)
}

// Stop ends the use of r and releases its memory. If r reads ahead, nothing reads the input any more when Stop
// returns; if a read can block forever, as of a pipe, close the input first.
func (r *Reader) Stop() {
	if r.ahead != nil {
		close(r.ahead.stop)
		<-r.ahead.ended
	} else if block := r.block; block != nil && r.chunks == nil {
		blocks.Put(&block)
	}
	if rec := r.rec; cap(rec.Count) > 0 {
		records.Put(&rec)
	}
	*r = Reader{name: r.name, err: fs.ErrClosed, line: r.line, geometry: r.geometry, columns: r.columns}
}

// takeLine returns the next line of buf without its end, which is CRLF if fio ran on Windows.
func (r *Reader) takeLine() []byte {
	line := r.buf[r.pos:r.end]
	r.pos = r.end
	if !r.cut {
		n := bytes.IndexByte(line, '\n')
		r.pos -= len(line) - n - 1
		line = line[:n]
	}
	r.line++
	if len(line) <= r.opt.MaxLine {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	return line
}

// parse reads a line that scanLine refused.
func (r *Reader) parse(line []byte) *lineError {
	if len(line) > r.opt.MaxLine {
		return longLine(r.opt.MaxLine)
	}
	if r.line == r.opt.After+1 {
		if bad := notText(line); bad != nil {
			return bad
		}
	}
	n, over, bad := parseAny(line, &r.rec, r.columns, r.cut)
	if over != nil && bad == nil && r.opt.HalfSound &&
		!slices.ContainsFunc(r.rec.Count[:r.below(n/2)], func(n float64) bool { return n > MaxCount }) {
		over = nil
	}
	if over != nil && (bad != nil || !r.opt.Oversized) {
		return over
	} else if bad != nil {
		return bad
	}
	if r.columns == 0 {
		g, err := fiohist.GeometryOf(n)
		if err != nil { // parseLine checked it
			return faultf(notALog, "%v", err)
		}
		r.setGeometry(g)
	}
	r.rec.Line = r.line
	r.halve()
	return nil
}

// below returns how many of the record's buckets are below one.
func (r *Reader) below(bucket int) int {
	n, _ := slices.BinarySearch(r.rec.Index, uint16(bucket))
	return n
}

// halve leaves out the counts that are none, with HalfSound.
func (r *Reader) halve() {
	if !r.opt.HalfSound {
		return
	}
	rec, n := &r.rec, r.below(r.columns/2)
	rec.Index, rec.Count, rec.IOs = rec.Index[:n], rec.Count[:n], 0
	for _, ios := range rec.Count {
		rec.IOs += uint64(ios)
	}
}

// errLongLine is fill's error for a line longer than MaxLine; the next call skips the rest of it.
var errLongLine = errors.New("long line")

// fill reads until buf holds a line, or returns why there is none. pos == end must hold. Its errors have no line
// numbers; explain adds them.
func (r *Reader) fill() error {
	if err := r.held; err != nil {
		r.held = nil
		return err
	}
	for r.err == nil {
		if err := r.read(); err != nil {
			return err
		}
		if r.pos < r.end {
			return nil
		}
	}
	// The input has ended. What is left is a line without a newline.
	left := r.have - r.pos
	r.pos, r.end = r.have, r.have
	var damage *fio.ParseError
	switch {
	case errors.Is(r.err, io.EOF):
		if left > 0 && !r.skipping {
			r.pos -= left
			r.cut = true
			return nil
		}
		r.Park()
		return io.EOF
	case errors.As(r.err, &damage):
		r.err = io.EOF
		return damage
	}
	return r.err
}

// explain turns an error of fill into one for the caller, with the line and the log's name. Errors of files have the
// name already.
func (r *Reader) explain(err error) error {
	var file *fs.PathError
	var damage *fio.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errLongLine):
		r.line++
		bad := longLine(r.opt.MaxLine)
		return &fio.ParseError{File: r.name, Line: r.line, Msg: bad.msg, Hint: bad.hint}
	case errors.As(err, &damage):
		d := *damage
		if r.line > 0 {
			d.Msg += fmt.Sprintf(" (after line %d)", r.line)
		}
		return &d
	case errors.As(err, &file):
		return &fs.PathError{Op: fmt.Sprintf("after line %d: %s", r.line, file.Op), Path: fio.Printable(r.name),
			Err: file.Err}
	}
	return fmt.Errorf("%s: after line %d: %w", fio.Printable(r.name), r.line, err)
}

// lastNewline is bytes.LastIndexByte for newlines in lines of kilobytes. bytes.LastIndexByte looks at one byte at a
// time, which matters where blocks are small, as those of gzip are.
func lastNewline(b []byte) int {
	for end := len(b); end > 0; {
		from := max(end-256, 0)
		if bytes.IndexByte(b[from:end], '\n') >= 0 {
			return from + bytes.LastIndexByte(b[from:end], '\n')
		}
		end = from
	}
	return -1
}

// read fills the block from the input until there is a newline in it, the input ends, or a line is too long. That is
// an error at once, since the line's end may be terabytes away in a file of megabytes; the next call skips the rest.
// A block that holds a newline is not filled up, so that slow input from a pipe is not held back.
func (r *Reader) read() error {
	if r.chunks != nil {
		return r.readChunk()
	}
	left := r.buf[r.pos:r.have]
	if r.skipping {
		left = nil
	}
	if need := max(r.opt.Block, len(left)) + slack; len(r.block) < need {
		r.block = newBlock(need)
		r.room(r.columns)
	}
	r.have = copy(r.block, left)
	r.pos, r.end = 0, 0
	for idle := 0; ; {
		room := len(r.block) - slack
		if r.have == room && r.have > r.opt.MaxLine && !r.skipping {
			r.skipping = true
			return errLongLine
		}
		if r.skipping {
			r.have = 0
		}
		if r.have == room {
			room = min(2*room, max(r.opt.MaxLine+1, r.opt.Block))
			r.block = append(make([]byte, 0, room+slack), r.block[:r.have]...)[:room+slack]
		}
		r.buf = r.block
		n, err := r.src.Read(r.block[r.have:room])
		from := r.have
		r.have += n
		if err != nil {
			r.err = err
		}
		got := r.block[from:r.have]
		if last := lastNewline(got); last >= 0 {
			r.end = from + last + 1
			if r.skipping {
				r.skipping = false
				r.pos = from + bytes.IndexByte(got, '\n') + 1
			}
		}
		if r.end > 0 || err != nil {
			return nil
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle > 100 {
			r.err = io.ErrNoProgress
			return nil
		}
	}
}

// readChunk is read for an unpacker. What it decompressed stays in place; only a line that is in two chunks is put
// together in the block.
func (r *Reader) readChunk() error {
	left := r.buf[r.pos:r.have]
	if len(r.chunk) > 0 {
		left, r.chunk = r.chunk, nil
		if last := lastNewline(left); last >= 0 {
			r.buf, r.pos, r.end, r.have = left, 0, last+1, len(left)
			return nil
		}
	}
	line := append(r.block[:0], left...)
	r.pos, r.end, r.have = 0, 0, 0
	for whole := false; !whole && r.err == nil; {
		if len(line) > r.opt.MaxLine && !r.skipping {
			r.skipping = true
			return errLongLine
		}
		var p []byte
		p, r.err = r.chunks.Chunk()
		n := bytes.IndexByte(p, '\n') + 1
		whole = n > 0
		if !whole {
			n = len(p)
		}
		line, r.chunk = append(line, p[:n]...), p[n:]
		if r.skipping {
			line, r.skipping = line[:0], !whole
		}
		if whole {
			r.end = len(line)
		}
	}
	r.have = len(line)
	r.block = append(line, make([]byte, slack)...)
	r.buf = r.block
	return nil
}
