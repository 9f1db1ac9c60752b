package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"fiolat/internal/fiohist"
)

// ReaderOptions are bounds of a Reader; the zero value is usual.
type ReaderOptions struct {
	// MaxLine is the longest line in bytes, default 1 MiB.
	MaxLine int
	// Block is how much is read at a time, default 256 KiB.
	Block int
}

// Reader reads the records of a histogram log, decompressed.
//
// It finds the end of a line (bytes.IndexByte looks at 32 bytes at a time) and
// parses the line in one pass over it. 95 of 100 columns are 0, so eight of them,
// "0, " eight times, are skipped by comparing three words.
type Reader struct {
	in   io.Reader
	name string
	opt  ReaderOptions
	buf  []byte
	pos  int // start of what is not parsed yet
	end  int // end of what was read
	err  error
	line int64
	g    fiohist.Geometry
	cols int
	rec  Record
}

// NewReader reads from r; name is for errors.
func NewReader(r io.Reader, name string, opt ReaderOptions) *Reader {
	if opt.MaxLine <= 0 {
		opt.MaxLine = 1 << 20
	}
	if opt.Block <= 0 {
		opt.Block = 256 << 10
	}
	return &Reader{in: r, name: name, opt: opt, buf: make([]byte, opt.Block)}
}

// Geometry is known once a record was read.
func (r *Reader) Geometry() (fiohist.Geometry, bool) { return r.g, r.cols > 0 }

// Line is the number of the line last read.
func (r *Reader) Line() int64 { return r.line }

// Next returns the next record, io.EOF at the end, or a *ParseError for a line
// that is not what fio writes, after which it may be called again.
func (r *Reader) Next() (*Record, error) {
	for {
		line, whole, err := r.nextLine()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		if bad := r.parse(line, whole); bad != nil {
			bad.File, bad.Line = r.name, r.line
			return nil, bad
		}
		return &r.rec, nil
	}
}

// nextLine is the next line without its end; whole is false for one that ends with
// the file.
func (r *Reader) nextLine() (line []byte, whole bool, err error) {
	from := r.pos
	for {
		if i := bytes.IndexByte(r.buf[from:r.end], '\n'); i >= 0 {
			line = r.buf[r.pos : from+i]
			r.pos = from + i + 1
			r.line++
			return line, true, nil
		}
		if r.end-r.pos > r.opt.MaxLine {
			return nil, false, r.skipLong()
		}
		if r.err != nil {
			if r.pos < r.end && errors.Is(r.err, io.EOF) {
				line = r.buf[r.pos:r.end]
				r.pos = r.end
				r.line++
				return line, false, nil
			}
			return nil, false, r.err
		}
		if r.pos > 0 {
			copy(r.buf, r.buf[r.pos:r.end])
			r.end -= r.pos
			r.pos = 0
		}
		from = r.end
		if r.end == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		r.fill()
	}
}

func (r *Reader) fill() {
	n, err := r.in.Read(r.buf[r.end:])
	r.end += n
	if err != nil {
		r.err = err
		if !errors.Is(err, io.EOF) {
			var bad *ParseError
			if !errors.As(err, &bad) {
				r.err = fmt.Errorf("%s: after line %d: %w", Printable(r.name), r.line, err)
			}
		}
	}
}

// skipLong passes over a line that is too long without holding it.
func (r *Reader) skipLong() error {
	r.line++
	for {
		if i := bytes.IndexByte(r.buf[r.pos:r.end], '\n'); i >= 0 {
			r.pos += i + 1
			break
		}
		r.pos, r.end = 0, 0
		if r.err != nil {
			break
		}
		r.fill()
	}
	return &ParseError{File: r.name, Line: r.line, Msg: fmt.Sprintf("a line of more than %d bytes", r.opt.MaxLine), Hint: "this is no histogram log, or it is damaged; --max-line allows longer ones, --skip-bad skips it"}
}

const (
	zeros0 = 0x2c30202c30202c30 // `0, 0, 0,` as little-endian words: three words are eight columns
	zeros1 = 0x30202c30202c3020 // ` 0, 0, 0`
	zeros2 = 0x202c30202c30202c // `, 0, 0, `
)

// parse reads a line into r.rec.
func (r *Reader) parse(line []byte, whole bool) *ParseError {
	rec := &r.rec
	rec.Line = r.line
	rec.Index, rec.Count = rec.Index[:0], rec.Count[:0]
	var lead [3]uint64
	i := blanks(line)
	for f := range lead {
		v, n, ok := number(line[i:])
		if !ok {
			return r.explain(line, whole)
		}
		lead[f] = v
		i += n
		if n = separator(line[i:]); n == 0 {
			return r.explain(line, whole)
		}
		i += n
	}
	if lead[0] > MaxTime || lead[1] >= Directions {
		return r.explain(line, whole)
	}
	rec.Time, rec.Dir = int64(lead[0]), Direction(lead[1])
	col := 0
	for {
		for i+24 <= len(line) {
			w := line[i : i+24 : i+24]
			if binary.LittleEndian.Uint64(w) != zeros0 || binary.LittleEndian.Uint64(w[8:]) != zeros1 || binary.LittleEndian.Uint64(w[16:]) != zeros2 {
				break
			}
			i += 24
			col += 8
		}
		i += blanks(line[i:])
		start, v := i, uint64(0)
		for ; i < len(line) && line[i]-'0' <= 9; i++ {
			if v = v*10 + uint64(line[i]-'0'); v > MaxCount {
				return r.explain(line, whole)
			}
		}
		if i == start || col >= maxColumns {
			return r.explain(line, whole)
		}
		if v != 0 {
			rec.Index = append(rec.Index, uint16(col))
			rec.Count = append(rec.Count, v)
		}
		col++
		if i < len(line) && line[i] != ',' {
			i += blanks(line[i:])
		}
		if i == len(line) {
			break
		}
		if line[i] != ',' {
			return r.explain(line, whole)
		}
		if i++; i < len(line) && line[i] == ' ' {
			i++
		}
	}
	if col != r.cols {
		if r.cols != 0 {
			return r.explain(line, whole)
		}
		g, err := fiohist.GeometryOf(col)
		if err != nil {
			return r.explain(line, whole)
		}
		r.g, r.cols = g, col
	}
	return nil
}

// number reads digits; ok is false without any or beyond 2^64.
func number(b []byte) (v uint64, n int, ok bool) {
	for n < len(b) && b[n]-'0' <= 9 {
		d := uint64(b[n] - '0')
		if v > (math.MaxUint64-d)/10 {
			return 0, n, false
		}
		v = v*10 + d
		n++
	}
	return v, n, n > 0
}

// blanks is the number of spaces and tabs at the start of b.
func blanks(b []byte) (n int) {
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return n
}

// separator is the length of a comma with blanks around it, 0 if there is none.
func separator(b []byte) int {
	i := blanks(b)
	if i == len(b) || b[i] != ',' {
		return 0
	}
	return i + 1 + blanks(b[i+1:])
}

// maxColumns is more than any fio writes.
const maxColumns = 1 << 15

// explain says what is wrong with a line that parse refused, with time to look.
func (r *Reader) explain(line []byte, whole bool) *ParseError {
	bad := func(hint, format string, args ...any) *ParseError {
		return &ParseError{Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	const again = "copy the log again, or pass --skip-bad to count and skip the line"
	switch {
	case r.line == 1 && (bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) || bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff"))):
		return bad("save it without one (an editor added it), or pass --skip-bad", "the file starts with a byte-order mark, which fio does not write")
	case bytes.IndexFunc(line, func(c rune) bool { return c < ' ' && c != '\t' && c != '\r' || c == 0xfffd }) >= 0:
		return bad("this is no histogram log, or it is damaged; "+again, "binary data: %s", excerpt(line))
	case bytes.HasSuffix(line, []byte("\r")):
		return bad("convert it back with dos2unix, or copy it again as it is", "the line ends in CRLF: the log was converted on its way")
	}
	fields := bytes.Split(line, []byte(","))
	columns := len(fields) - 3
	for n, f := range fields {
		f = bytes.Trim(f, " \t")
		v, used, ok := number(f)
		switch {
		case len(f) == 0 && n == len(fields)-1 && !whole:
			return r.cut(columns - 1)
		case len(f) == 0:
			return bad(again, "column %d is empty", n+1)
		case f[0] == '-':
			return bad("fio does not write negative numbers; "+again, "column %d is negative: %s", n+1, excerpt(f))
		case used < len(f) && (used == 0 || f[used]-'0' > 9):
			return bad(again, "column %d is not a number: %s", n+1, excerpt(f))
		case !ok:
			return bad(again, "column %d is beyond 2^64: %s", n+1, excerpt(f))
		case n == 0 && v > MaxTime:
			return bad(again, "the stamp %d ms is beyond the year 2200", v)
		case n == 1 && v >= Directions:
			return bad(again, "direction %d: fio knows 0 (read), 1 (write) and 2 (trim)", v)
		}
	}
	if len(fields) >= 4 && len(fields) <= 7 && (r.cols == 0 || r.cols > 4) {
		if whole || r.cols == 0 {
			return bad("re-run without log_compression, or pass --skip-bad", "%d columns: with log_compression fio logs pointers instead of histograms", len(fields))
		}
	}
	for n, f := range fields[min(3, len(fields)):] {
		if v, _, _ := number(bytes.Trim(f, " \t")); v > MaxCount {
			why := "a counter that wrapped around below 0, or memory that is none"
			if n >= 928 {
				why += ", as in logs of fio 3.6 to 3.16"
			}
			return bad("use another fio, or pass --skip-bad to skip the line", "bucket %d holds %d I/Os: %s", n, v, why)
		}
	}
	switch {
	case r.cols == 0:
		if columns < 0 {
			columns = 0
		}
		_, err := fiohist.GeometryOf(columns)
		if err == nil {
			err = errors.New("not a histogram log")
		}
		return bad("is it a histogram log (NAME_clat_hist.N.log)? "+again, "%v", err)
	case !whole && columns < r.cols:
		return r.cut(columns)
	}
	return bad("line cut short, or two written into one? "+again, "%d buckets, want %d", max(columns, 0), r.cols)
}

// cut is for a last line that is not all there.
func (r *Reader) cut(columns int) *ParseError {
	return &ParseError{Msg: fmt.Sprintf("the last line is cut: %d buckets, want %d, and no end of line", max(columns, 0), r.cols),
		Hint: "fio was killed, the disk was full, or the copy is not complete; --skip-bad skips the line"}
}

// excerpt is the start of what was found, fit for a terminal.
func excerpt(b []byte) string {
	const most = 40
	if len(b) > most {
		return Printable(string(b[:most])) + "..."
	}
	return Printable(string(b))
}
