package fiolog

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// Columns of a line in a log of single I/Os (write_lat_log): stamp, latency,
// direction, block size; then, by version and option, offset (log_offset), priority,
// and the time of issue (log_issue_time). With log_window_value=both the largest
// latency stands before the direction: 0 for a single I/O, which has one latency only.
const minSingle, maxSingle = 4, 8

// minBoth is the fewest columns with log_window_value=both: versions that have it always write the priority.
const minBoth = 6

// singles collects the I/Os of one stamp, to be returned as one record per direction, so that a log of single I/Os
// reads like one of histograms with a window of 1 ms.
type singles struct {
	columns int  // of the log's lines; 0 before the first
	both    bool // log_window_value=both: the direction is in the fourth column
	time    int64
	line    int64 // of the stamp's first I/O
	dirs    [fio.Directions]struct {
		counts  []uint64 // by bucket
		touched []uint16 // those that are not 0
		ns      uint64   // sum of all latencies
	}
	next    fio.Direction // the next one to return; Directions if there is none
	waiting bool          // there is an I/O of the next stamp
	first   singleIO      // that I/O
}

// singleIO is one line.
type singleIO struct {
	time    int64
	latency int64
	dir     fio.Direction
	line    int64
}

// add counts an I/O of the stamp.
func (s *singles) add(io singleIO, g fiohist.Geometry) {
	d := &s.dirs[io.dir]
	if d.counts == nil {
		d.counts = make([]uint64, g.Columns())
	}
	d.ns += uint64(io.latency)
	b := g.Index(io.latency)
	d.counts[b]++
	if d.counts[b] == 1 {
		d.touched = append(d.touched, uint16(b))
	}
}

// take returns the stamp's records one by one, and false when there are no more.
func (s *singles) take(rec *Record) bool {
	for ; s.next < fio.Directions; s.next++ {
		d := &s.dirs[s.next]
		if len(d.touched) == 0 {
			continue
		}
		slices.Sort(d.touched)
		rec.Time, rec.Dir, rec.Line, rec.NS = s.time, s.next, s.line, d.ns
		d.ns = 0
		rec.Index, rec.Count, rec.IOs = append(rec.Index[:0], d.touched...), rec.Count[:0], 0
		for _, b := range d.touched {
			rec.Count = append(rec.Count, float64(d.counts[b]))
			rec.IOs += d.counts[b]
			d.counts[b] = 0
		}
		d.touched = d.touched[:0]
		s.next++
		return true
	}
	return false
}

// nextSingle is Next for a log of single I/Os.
func (r *Reader) nextSingle() (*Record, error) {
	s := &r.single
	for {
		if s.take(&r.rec) {
			return &r.rec, nil
		}
		if s.waiting {
			s.waiting = false
			s.time, s.line = s.first.time, s.first.line
			s.add(s.first, r.geometry)
		}
		if r.pos == r.end {
			if err := r.fill(); err != nil {
				err = r.explain(err)
				var bad *fio.ParseError
				s.next = 0
				if errors.As(err, &bad) || !s.take(&r.rec) {
					s.next = fio.Directions
					return nil, err
				}
				return &r.rec, nil // the next fill returns the same error
			}
		}
		io, n := scanSingle(r.buf[r.pos:r.end], s.columns, s.both)
		if n != 0 && n <= r.opt.MaxLine {
			r.pos += n
			r.line++
			io.latency *= r.geometry.Unit
			io.line = r.line
		} else {
			line := r.takeLine()
			if len(line) <= r.opt.MaxLine && blanks(line) == len(line) {
				if r.tooBad() {
					return nil, errTooBad
				}
				continue
			}
			var bad *lineError
			io, bad = r.parseSingle(line)
			if bad != nil {
				return nil, bad.at(r.name, r.line)
			}
		}
		r.good++
		if r.columns != 0 && io.time == s.time {
			s.add(io, r.geometry)
			continue
		}
		r.columns = r.geometry.Columns()
		s.first, s.waiting, s.next = io, true, 0
	}
}

// scanSingle reads the line at the start of b if it is, byte for byte, as fio writes it, with that many columns. It
// returns the line's length with the newline, or 0 for any other line, good or bad, which parseSingle then reads. It
// is the hot path: parseSingle is much slower.
func scanSingle(b []byte, columns int, both bool) (io singleIO, n int) {
	if columns == 0 {
		return io, 0
	}
	p := 0
	for ; p < len(b) && p < 13 && b[p]-'0' <= 9; p++ {
		io.time = io.time*10 + int64(b[p]-'0')
	}
	if p == 0 || p+2 > len(b) || b[p] != ',' || b[p+1] != ' ' || io.time > MaxTime {
		return io, 0
	}
	p += 2
	start := p
	for ; p < len(b) && p < start+15 && b[p]-'0' <= 9; p++ {
		io.latency = io.latency*10 + int64(b[p]-'0')
	}
	col := 3
	if both {
		if p+3 > len(b) || b[p] != ',' || b[p+1] != ' ' || b[p+2] != '0' {
			return io, 0
		}
		p += 3
		col++
	}
	if p == start || p+6 > len(b) || b[p] != ',' || b[p+1] != ' ' || b[p+2]-'0' >= fio.Directions || b[p+3] != ',' ||
		b[p+4] != ' ' || b[p+5] == '0' {
		return io, 0
	}
	io.dir = fio.Direction(b[p+2] - '0')
	p += 5
	for ; ; col++ {
		start = p
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
		switch {
		case p == start || p == len(b):
			return io, 0
		case b[p] == '\n' && col == columns-1:
			return io, p + 1
		case b[p] == '\r' && col == columns-1 && p+1 < len(b) && b[p+1] == '\n': // fio on Windows
			return io, p + 2
		case col == columns-1 || p+2 > len(b) || b[p] != ',' || b[p+1] != ' ':
			return io, 0
		}
		p += 2
	}
}

const singleHint = "is it a log of write_lat_log, and undamaged? " + skipIt

// parseSingle reads a line without its end.
func (r *Reader) parseSingle(line []byte) (io singleIO, bad *lineError) {
	if len(line) > r.opt.MaxLine {
		return io, longLine(r.opt.MaxLine)
	}
	if r.line == r.opt.After+1 {
		bad = notText(line)
		if bad != nil {
			return io, bad
		}
	}
	if n := bytes.Count(line, []byte(",")) + 1; n > maxSingle && r.single.columns == 0 {
		return io, faultf("pass it by its own name (NAME_clat_hist.N.log)",
			"%d columns, as in a histogram log; one of single I/Os has %d to %d", n, minSingle, maxSingle)
	}
	var values [maxSingle]uint64
	fields := 0
	for p := 0; ; fields++ {
		p += blanks(line[p:])
		start := p
		v, n := number(line[p:])
		p += n
		if v == 0 && n == 1 && fields >= minSingle && p < len(line) && line[p] == 'x' { // a priority in hexadecimal
			p++
			p += hexDigits(line[p:])
		}
		p += blanks(line[p:])
		switch {
		case n == 0 || p < len(line) && line[p] != ',':
			if n == 0 && r.cut && p == len(line) {
				return io, cutSingle(fields, r.single.columns)
			}
			return io, notNumber(line, start, fields, 0)
		case fields == 0 && v > MaxTime:
			return io, faultf(skipIt, "the stamp %d ms is beyond the year 2200", v)
		case fields == 1 && v > maxLatency:
			return io, faultf(singleHint, "a latency of %s: no I/O takes longer than a month",
				excerpt(line[start:start+n]))
		}
		if fields < maxSingle {
			values[fields] = v
		}
		if p == len(line) {
			break
		}
		p++
	}
	fields++
	switch s := &r.single; {
	case fields != s.columns && r.cut && (s.columns != 0 || fields < minSingle):
		return io, cutSingle(fields, s.columns)
	case fields != s.columns && s.columns != 0:
		return io, faultf(skipIt, "%d columns, want %d: line cut short?", fields, s.columns)
	case fields < minSingle:
		return io, faultf(singleHint, "%d columns: a log of single I/Os has %d to %d", fields, minSingle, maxSingle)
	}
	first := r.single.columns == 0
	both := r.single.both
	if first {
		both, bad = layout(values, fields)
		if bad != nil {
			return io, bad
		}
	}
	dir, size := values[2], values[3]
	if both {
		dir, size = values[3], values[4]
	}
	switch {
	case dir >= fio.Directions:
		return io, unknownDirection(dir)
	case size == 0:
		bad = faultf("run fio again without log_avg_msec, or pass --skip-bad",
			"it holds averages (block size 0, as log_avg_msec makes them): percentiles cannot be computed from "+
				"averages")
		bad.log = first
		return io, bad
	case both && values[2] != 0:
		return io, faultf(singleHint, "two latencies of one I/O, %d and %d", values[1], values[2])
	}
	r.single.columns, r.single.both = fields, both
	return singleIO{time: int64(values[0]), latency: int64(values[1]) * r.geometry.Unit, dir: fio.Direction(dir),
		line: r.line}, nil
}

// layout finds out from a log's first line whether the direction is in its fourth column (log_window_value=both) or,
// as in all other logs, in its third.
func layout(values [maxSingle]uint64, columns int) (both bool, bad *lineError) {
	plain := values[2] < fio.Directions && columns < maxSingle
	both = values[3] < fio.Directions && columns >= minBoth
	switch {
	case !both && columns == maxSingle:
		return false, unknownDirection(values[3])
	case !both || !plain:
		return both, nil
	case values[3] == 0: // block size of averages before an offset of 0, or direction before a block size
		return values[4] != 0, nil
	case values[2] != 0 && values[4] != 0: // the second latency of a single I/O would be 0
		return false, nil
	case values[4] < minBlock:
		return false, faultf(singleHint, "cannot tell which column holds the direction: %d and %d can both be one",
			values[2], values[3])
	}
	return true, nil
}

// minBlock is the smallest block size of disks, in bytes.
const minBlock = 512

// DetectSingle makes r a Reader of single I/Os, counted on g, if the log's first line is one, and reports whether it
// is. It must be called before Next.
func (r *Reader) DetectSingle(g fiohist.Geometry) bool {
	if r.pos == r.end {
		r.held = r.fill()
		if r.held != nil {
			return false
		}
	}
	line, _, _ := bytes.Cut(r.buf[r.pos:r.end], []byte{'\n'})
	_, value, _ := bytes.Cut(line, []byte{','})
	latency, _ := number(value[blanks(value):])
	fields := bytes.Count(line, []byte{','}) + 1
	if fields < minSingle || fields > maxSingle || latency >= 1<<40 { // an address, see pointers
		return false
	}
	r.opt.Single, r.geometry = &g, g
	return true
}

// SharedFields is the number of columns in which fio 2 and versions of fio 3 before priorities were logged write single
// I/Os: it does not tell the unit of the latencies.
const SharedFields = minSingle

// Fields returns the number of columns of a log of single I/Os; 0 before its first line.
func (r *Reader) Fields() int { return r.single.columns }

// ExtraColumns returns the number of columns that log_offset and log_issue_time added to a log of single I/Os, as far
// as its lines show; 0 before the first.
func (r *Reader) ExtraColumns() int {
	usual := minSingle + 1 // with the priority
	if r.single.both {
		usual++
	}
	return max(r.single.columns-usual, 0)
}

// maxLatency is the longest latency that is accepted, in ns or, of fio 2, in us.
const maxLatency = 31 * 24 * 3600 * 1e9

func cutSingle(fields, columns int) *lineError {
	of := ""
	if columns > 0 {
		of = " of " + strconv.Itoa(columns)
	}
	return faultf("fio was killed, the disk was full or the copy is not complete: re-run or copy again, or pass "+
		"--skip-bad to use the lines before",
		"the log is cut: its last line ends after %d%s columns, without a newline", fields, of)
}

func hexDigits(b []byte) int {
	return len(b) - len(bytes.TrimLeft(b, "0123456789abcdefABCDEF"))
}
