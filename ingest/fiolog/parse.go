package fiolog

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// lineError says what is wrong with a line and what to do about it; log means that all of the log is affected.
type lineError struct {
	msg, hint string
	log       bool
}

// at returns the error of a line, or of all of the log.
func (e *lineError) at(file string, line int64) *fio.ParseError {
	if e.log {
		line = 0
	}
	return &fio.ParseError{File: file, Line: line, Msg: e.msg, Hint: e.hint, Useless: e.log}
}

const (
	skipIt  = "re-run fio or copy the log again, or pass --skip-bad to count and skip the line"
	notALog = "is it a histogram log (NAME_clat_hist.N.log), and undamaged? " + skipIt
)

func faultf(hint, format string, args ...any) *lineError {
	return &lineError{msg: fmt.Sprintf(format, args...), hint: hint}
}

// MaxColumns is the number of columns of the largest geometry: 32 groups.
const MaxColumns = 32 * fiohist.PerGroup

// unknownDirection is the fault of a line whose direction has that number.
func unknownDirection(v uint64) *lineError {
	var known []string
	for d, name := range fio.DirectionNames() {
		known = append(known, fmt.Sprintf("%d (%s)", d, name))
	}
	return faultf(skipIt, "direction %d: fio knows %s", v, fio.List(known, "and"))
}

// parseLine reads a line, without its end, into rec and returns the number of its buckets. It is the slow path, for
// lines with odd spacing and for explaining what is wrong. columns is the number of buckets that there must be, 0 for
// any; cut means that this is the last line of the log and has no newline.
//
// It reports the first fault in the line.
func parseLine(line []byte, rec *Record, columns int, cut bool) (int, *lineError) {
	n, over, bad := parseAny(line, rec, columns, cut)
	if over != nil {
		return 0, over
	}
	return n, bad
}

// parseAny is parseLine for a line in which counts may be beyond MaxCount: over is the fault of the first of them.
func parseAny(line []byte, rec *Record, columns int, cut bool) (buckets int, over, bad *lineError) {
	rec.Index, rec.Count, rec.IOs = rec.Index[:0], rec.Count[:0], 0
	p := 0
	field := 0 // from 0: stamp, direction, block size, buckets
	for {
		p += blanks(line[p:])
		for field > 2 && p+1 < len(line) && line[p] == '0' && line[p+1] == ',' {
			field++ // most are 0
			p += 2
			p += blanks(line[p:])
		}
		start := p
		v, n := number(line[p:])
		p += n
		p += blanks(line[p:])
		more := p < len(line)
		switch {
		case n == 0 && cut && !more && field > 0:
			return 0, over, cutShort(field-3, columns)
		case n == 0 || more && line[p] != ',':
			return 0, over, notNumber(line, start, field, columns)
		case v == math.MaxUint64 && !isMaxUint64(line[start:start+n]):
			return 0, over, faultf(skipIt, "column %d: %s is beyond 2^64", field+1, excerpt(line[start:start+n]))
		}
		switch {
		case field == 0:
			if v > MaxTime {
				return 0, over, faultf(skipIt, "the stamp %d ms is beyond the year 2200", v)
			}
			rec.Time = int64(v)
		case field == 1:
			if v >= fio.Directions {
				if bad := pointers(line, cut); bad != nil {
					return 0, over, bad
				}
				return 0, over, unknownDirection(v)
			}
			rec.Dir = fio.Direction(v)
		case field == 2 || v == 0 || field-3 >= MaxColumns:
		default:
			if v > MaxCount && over == nil {
				over = wrapped(line, field-3, v)
			}
			rec.Index = append(rec.Index, uint16(field-3))
			rec.Count = append(rec.Count, float64(min(v, 1<<60)))
			rec.IOs += min(v, MaxCount+1)
		}
		field++
		if !more {
			break
		}
		p++
	}
	n := max(field-3, 0)
	if columns == 0 {
		_, err := fiohist.GeometryOf(n)
		switch bad := pointers(line, cut); {
		case err == nil:
			return n, over, nil
		case bad != nil:
			return 0, over, bad
		case cut:
			return 0, over, cutShort(n, 0)
		}
		return 0, over, faultf(notALog, "%v", err)
	}
	switch {
	case n == columns:
		return n, over, nil
	case n > columns:
		return 0, over, faultf(skipIt, "%d buckets, want %d: two lines run into one?", n, columns)
	case cut:
		return 0, over, cutShort(n, columns)
	}
	return 0, over, faultf(skipIt, "%d buckets, want %d: line cut short?", n, columns)
}

// number reads the digits at the start of b. It returns their value, or MaxUint64 if that is larger, and how many
// they are.
func number(b []byte) (v uint64, n int) {
	for ; n < len(b) && b[n]-'0' <= 9; n++ {
		d := uint64(b[n] - '0')
		if v > (math.MaxUint64-d)/10 {
			for n < len(b) && b[n]-'0' <= 9 {
				n++
			}
			return math.MaxUint64, n
		}
		v = v*10 + d
	}
	return v, n
}

func isMaxUint64(digits []byte) bool {
	return string(bytes.TrimLeft(digits, "0")) == "18446744073709551615"
}

// blanks is the number of spaces and tabs at the start of b.
func blanks(b []byte) (n int) {
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return n
}

// notNumber returns the error for what stands where a number should be.
func notNumber(line []byte, start, field, columns int) *lineError {
	text := line[start:]
	if n := bytes.IndexByte(text, ','); n >= 0 {
		text = text[:n]
	}
	text = bytes.TrimRight(text, " \t")
	if i := bytes.IndexFunc(text, func(c rune) bool {
		return c < ' ' && c != '\t' || c == 0x7F ||
			c == utf8.RuneError
	}); i >= 0 {
		what := ""
		if text[i] == 0 {
			what = " (a file system's zeros after a crash, or UTF-16 text)"
		}
		return faultf(notALog, "column %d: binary data%s", field+1, what)
	}
	switch {
	case len(text) == 0:
		return faultf(skipIt, "column %d is empty", field+1)
	case text[0] == '-' && len(text) > 1 && text[1]-'0' <= 9:
		return faultf(skipIt, "column %d is negative", field+1)
	}
	if len(bytes.Trim(text, "0123456789 \t")) > 0 {
		return faultf(notALog, "column %d is not a number", field+1)
	}
	return faultf(notALog, "column %d: %s is not a number", field+1, excerpt(text))
}

// pointers returns the error for a line of 4 to 7 columns, as single I/Os have, or nil for others. The line must not
// be a complete record of a histogram log.
func pointers(line []byte, cut bool) *lineError {
	fields := bytes.Count(line, []byte(",")) + 1
	at := bytes.IndexByte(line, ',') + 1
	value, _ := number(line[at+blanks(line[at:]):])
	switch {
	case fields > 7 || fields < 4 && !cut:
		return nil
	case value >= 1<<40: // 18 minutes, and so no latency
		return faultf("run fio again without log_compression", "%d columns, the second of them an address: with "+
			"log_compression fio logs pointers instead of histograms", fields)
	case cut:
		return nil // it may as well be the start of a record
	}
	return faultf("pass the job's _clat_hist log; if this is it, run fio again without log_compression",
		"%d columns, as in a log of single I/Os (write_lat_log) or one spoiled by log_compression", fields)
}

func wrapped(line []byte, bucket int, v uint64) *lineError {
	what := "arbitrary memory instead of a count"
	if bucket == 0 && v < 1<<48 {
		return faultf("run fio again without log_offset, or without --client",
			"bucket 0 holds %d I/Os: an address; with log_offset fio --client shifts histograms, or crashes", v)
	}
	if v > math.MaxUint64-MaxCount {
		what = "a counter that wrapped around below 0, a known fault of some versions of fio"
	}
	if 2*bucket >= bytes.Count(line, []byte(","))-2 {
		what += "; versions 3.6 to 3.16 do so from the middle bucket on"
	}
	return faultf("run another version of fio, or pass --skip-bad to count and skip the line",
		"bucket %d holds %d I/Os: %s", bucket, v, what)
}

func cutShort(n, columns int) *lineError {
	of := ""
	if columns > 0 {
		of = " of " + strconv.Itoa(columns)
	}
	return faultf("fio was killed, the disk was full or the copy is not complete: re-run or copy again, or pass "+
		"--skip-bad to use the lines before", "the log is cut: its last line ends after %d%s buckets, without a "+
		"newline", max(n, 0), of)
}

func longLine(limit int) *lineError {
	return faultf("this is no histogram log, or it is damaged; --skip-bad counts and "+
		"skips it", "a line of more than %d bytes", limit)
}

// notText returns the error for a log that starts with a byte-order mark or with the compressed samples of
// log_compression, or nil for others.
func notText(line []byte) *lineError {
	switch {
	case len(line) > 1 && line[0] == 0x78 && line[1]&0x20 == 0 && (0x78<<8+int(line[1]))%31 == 0: // zlib, RFC 1950
		bad := faultf("run fio again without log_compression, or pass --skip-bad to leave the log out",
			"the log is zlib data: with log_compression fio --client stores logs as packed memory, "+
				"and of histograms only their addresses")
		bad.log = true
		return bad
	case bytes.HasPrefix(line, []byte("\xEF\xBB\xBF")):
		return faultf("take it off, e.g. with `tail -c +4`, or pass --skip-bad to skip the line",
			"the log starts with a UTF-8 byte-order mark, which fio does not write: an editor or a shell saved it")
	case bytes.HasPrefix(line, []byte("\xFF\xFE")), bytes.HasPrefix(line, []byte("\xFE\xFF")):
		return faultf("convert it back, e.g. with `iconv -f UTF-16 -t ASCII`",
			"the log starts with a UTF-16 byte-order mark, which fio does not write: an editor or a shell saved it")
	}
	return nil
}

// excerpt quotes the start of digits and blanks. Other bytes are never quoted: a link or a mistake may have led to a
// file with secrets.
func excerpt(b []byte) string {
	const most = 40
	if len(b) > most {
		return `"` + string(b[:most]) + `..."`
	}
	return `"` + string(b) + `"`
}
