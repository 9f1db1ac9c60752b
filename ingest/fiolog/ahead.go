package fiolog

import (
	"errors"
	"io"
	"math"

	"fiolat/fio"
)

// ReadAhead makes r use more than one core: from the first block after the first good record on, a goroutine reads
// (and decompresses) and cuts the input into blocks of whole lines, and up to parsers of them at a time are parsed
// while Next returns the records of an earlier one, in the order of the file. Next returns the same records and
// errors as without it; 0 parsers change nothing.
//
// It takes 2 + parsers blocks of memory and the records in them, some 2 MiB with one parser and fio's records; a
// block grows only for a longer line. A Reader that reads ahead must be stopped with Stop if it is not read to its
// end.
//
// More than three parsers bring nothing, since the records have to be placed and added up in order. Cutting the file
// at fixed offsets, so that each worker reads its own part, would also spread the copy from the page cache, but would
// serve neither pipes nor compressed logs.
func (r *Reader) ReadAhead(parsers int) { r.parsers = parsers }

// ahead is the state of a Reader that reads ahead. Its batches cycle: free, being read, being parsed, in use by the
// caller.
type ahead struct {
	free  chan *batch
	order chan *batch   // read, in the order of the input
	stop  chan struct{} // closed by Stop
	ended chan struct{} // closed when the reading goroutine ends
	now   *batch        // in use by the caller
	base  int64         // lines before now
}

// batch is a block of whole lines, or the error of fill instead.
type batch struct {
	block  []byte
	lines  Reader // of block; counts from 2, since line 1 of a log is checked for a byte-order mark
	fault  error  // of fill
	parsed chan struct{}
	out    []parsed
	next   int // in out
	index  []uint16
	count  []float64
}

// parsed is a record, or the error of a line.
type parsed struct {
	rec Record
	bad *fio.ParseError
}

// startAhead takes over r's input at the end of a block.
func startAhead(r *Reader) *ahead {
	n := r.parsers + 2
	a := &ahead{free: make(chan *batch, n), order: make(chan *batch, n), stop: make(chan struct{}),
		ended: make(chan struct{}), base: r.line}
	for range n {
		a.free <- &batch{parsed: make(chan struct{}, 1)}
	}
	c := &Reader{name: r.name, src: r.src, opt: r.opt, buf: r.buf, pos: r.pos, end: r.end, have: r.have,
		skipping: r.skipping}
	c.opt.After = 0 // the first line of a batch, which is line 2 to its reader, is not the first of the log
	geometry := r.geometry
	go func() {
		defer close(a.ended)
		for {
			var b *batch
			select {
			case b = <-a.free:
			case <-a.stop:
				return
			}
			// The start of a line at the end of the last block is copied into this one. The last block may be parsed
			// meanwhile, but only this goroutine writes to blocks.
			c.block = b.block
			b.fault = c.fill()
			b.block = nil
			b.lines = Reader{name: c.name, opt: c.opt, err: io.EOF, line: 1, rec: b.lines.rec}
			if b.fault == nil {
				b.block = c.block
				b.lines.buf, b.lines.pos, b.lines.end, b.lines.have, b.lines.cut = c.buf, c.pos, c.end, c.end, c.cut
				c.pos = c.end
			}
			b.lines.good = math.MaxInt64 / 2 // next counts bad lines, over all blocks
			b.lines.setGeometry(geometry)
			a.order <- b
			go b.parse()
			if b.fault != nil && !passes(b.fault) {
				return
			}
		}
	}()
	return a
}

// passes reports whether there is more to come after this error of fill.
func passes(err error) bool {
	var damage *fio.ParseError
	return errors.Is(err, errLongLine) || errors.As(err, &damage)
}

// parse parses the lines into records.
func (b *batch) parse() {
	b.out, b.index, b.count, b.next = b.out[:0], b.index[:0], b.count[:0], 0
	for b.fault == nil {
		rec, err := b.lines.Next()
		var bad *fio.ParseError
		switch {
		case err == nil:
			n, out := len(b.index), parsed{rec: *rec}
			b.index, b.count = append(b.index, rec.Index...), append(b.count, rec.Count...)
			out.rec.Index, out.rec.Count = b.index[n:len(b.index):len(b.index)], b.count[n:len(b.count):len(b.count)]
			b.out = append(b.out, out)
			continue
		case errors.As(err, &bad):
			b.out = append(b.out, parsed{bad: bad})
			continue
		}
		break // the end
	}
	b.parsed <- struct{}{}
}

// next is Reader.next for a Reader that reads ahead.
func (a *ahead) next(r *Reader) (*Record, error) {
	for {
		b := a.now
		if b == nil {
			b = <-a.order
			<-b.parsed
			a.now = b
		}
		if b.next < len(b.out) {
			p := &b.out[b.next]
			b.next++
			if p.bad != nil {
				p.bad.Line += a.base - 1
				r.line = p.bad.Line
				return nil, p.bad
			}
			p.rec.Line += a.base - 1
			r.line = p.rec.Line
			return &p.rec, nil
		}
		a.base += b.lines.line - 1
		b.lines.line = 1 // so that they count once
		r.line = a.base
		if r.tooBad() {
			return nil, errTooBad
		}
		var err error
		if b.fault != nil {
			err = r.explain(b.fault)
			a.base = r.line
		}
		if b.fault == nil || passes(b.fault) {
			a.now = nil
			a.free <- b
		}
		if err != nil {
			return nil, err
		}
	}
}
