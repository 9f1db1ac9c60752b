package like

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// hlog is a whole log in memory, without empty buckets.
type hlog struct {
	path    string
	columns int // of the first line, blank or not
	records []record
	bad     *badLine // the malformed line after records, nil at the end of the file
}

// record is a line of a log.
type record struct {
	line    int
	columns int
	head    [3]int64 // time in ms, direction, block size; zero where there are fewer columns
	bins    []bin    // ascending
}

func (r *record) time() int64      { return r.head[0] }
func (r *record) direction() int64 { return r.head[1] }

// bin is a non-empty bucket.
type bin struct {
	index  uint32
	wide   bool  // n holds the bits of a float64, as the count exceeds int64, such as that of a wrapped counter
	beyond bool  // the count exceeds uint64, too
	n      int64 // the count
}

func (b bin) float() float64 {
	if b.wide {
		return math.Float64frombits(uint64(b.n))
	}
	return float64(b.n)
}

type badLine struct {
	line int
	what string
}

// dialect is how a program parses a line. All accept plain decimal numbers after spaces. number converts any other
// token that the program takes for a whole number to a form that strconv parses, and returns false for the rest.
type dialect struct {
	skipBlank bool
	number    func(string) (string, bool)
}

var (
	// pctilesLines is line.strip() and int() of each token.
	pctilesLines = dialect{true, pyInt}
	// parserLines is pandas.read_csv with dtype=int.
	parserLines = dialect{true, func(s string) (string, bool) {
		if strings.Contains(s, "_") {
			return "", false
		}
		return pyInt(s)
	}}
	// unweightedLines is int() after removing all spaces: "1 2" is 12.
	unweightedLines = dialect{false, func(s string) (string, bool) {
		return pyInt(strings.ReplaceAll(s, " ", ""))
	}}
)

const (
	maxLine   = 64 << 20 // longer than any line of a log, but not of a binary file
	arenaSize = 8192     // bins allocated at a time
)

// zeros is eight empty buckets as fio writes them: three 64-bit words to compare.
const zeros = " 0, 0, 0, 0, 0, 0, 0, 0,"

var zero0, zero1, zero2 = binary.LittleEndian.Uint64([]byte(zeros)),
	binary.LittleEndian.Uint64([]byte(zeros[8:])),
	binary.LittleEndian.Uint64([]byte(zeros[16:]))

// lineReader turns lines into records.
type lineReader struct {
	dialect
	arena []bin // preallocated bins
}

// record parses a line. wrong says what is wrong with it, "" if nothing.
func (r *lineReader) record(line []byte) (rec record, wrong string) {
	if cap(r.arena)-len(r.arena) < 512 {
		r.arena = make([]bin, 0, arenaSize)
	}
	start := len(r.arena)
	col, i := 0, 0
	for {
		// A token starts at i.
		for col >= len(rec.head) && i+len(zeros) <= len(line) &&
			binary.LittleEndian.Uint64(line[i:]) == zero0 &&
			binary.LittleEndian.Uint64(line[i+8:]) == zero1 &&
			binary.LittleEndian.Uint64(line[i+16:]) == zero2 {
			col += 8
			i += len(zeros)
		}
		j := i
		for j < len(line) && line[j] == ' ' {
			j++
		}
		digits, v := j, int64(0)
		for j < len(line) && line[j]-'0' <= 9 {
			v = v*10 + int64(line[j]-'0')
			j++
		}
		wide, beyond := false, false
		if plain := j > digits && j-digits <= 18 && (j == len(line) || line[j] == ','); !plain {
			for j < len(line) && line[j] != ',' {
				j++
			}
			var ok bool
			if v, wide, beyond, ok = r.odd(string(line[i:j])); !ok {
				return rec, fmt.Sprintf("column %d is %s, not a whole number", col+1, quote(line[i:j]))
			}
		}
		switch {
		case col >= len(rec.head):
			if v != 0 {
				if len(r.arena) == cap(r.arena) {
					// The record moves to a new arena, so that its bins stay together.
					r.arena = append(make([]bin, 0, arenaSize+2*(len(r.arena)-start)), r.arena[start:]...)
					start = 0
				}
				r.arena = append(r.arena, bin{uint32(col - len(rec.head)), wide, beyond, v})
			}
		case wide:
			return rec, fmt.Sprintf("column %d is %s, beyond 64 bits", col+1, quote(line[i:j]))
		default:
			rec.head[col] = v
		}
		col++
		if j == len(line) {
			break
		}
		i = j + 1
	}
	rec.columns = col
	rec.bins = r.arena[start:len(r.arena):len(r.arena)]
	return rec, ""
}

// odd parses a token that is not just digits.
func (r *lineReader) odd(token string) (v int64, wide, beyond, ok bool) {
	s, ok := r.number(token)
	if !ok {
		return 0, false, false, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return v, false, false, true
	}
	_, err = strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
	beyond = err != nil
	f, err := strconv.ParseFloat(s, 64)
	return int64(math.Float64bits(f)), true, beyond, err == nil
}

func quote(token []byte) string {
	if len(token) > 40 {
		token = append(token[:37:37], "..."...)
	}
	return strconv.Quote(string(token))
}

// read reads a whole log, up to the first malformed line. Lines end as in Python's text mode, with a line feed, a
// carriage return, or both.
func read(ctx context.Context, path string, d dialect) (*hlog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l := &hlog{path: path, columns: 1}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 256<<10), maxLine)
	r := &lineReader{dialect: d}
	n := 0
	for lines.Scan() {
		if n&255 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for rest, more := lines.Bytes(), true; more; {
			var line []byte
			line, rest, more = bytes.Cut(rest, []byte{'\r'})
			n++
			if n == 1 {
				l.columns = 1 + bytes.Count(line, []byte{','})
			}
			if d.skipBlank && len(bytes.Trim(line, pySpace)) == 0 {
				continue
			}
			rec, wrong := r.record(line)
			if wrong != "" {
				l.bad = &badLine{n, wrong}
				return l, nil
			}
			rec.line = n
			l.records = append(l.records, rec)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		l.bad = &badLine{n + 1, "a line without an end, not a histogram"}
		return l, nil
	}
	if lines.Err() != nil {
		return nil, lines.Err()
	}
	return l, nil
}

// readAll reads each file once, even if named several times, GOMAXPROCS files at a time. It returns a log for each
// path, in the order of the paths.
func readAll(ctx context.Context, program string, paths []string, d dialect) ([]*hlog, error) {
	type result struct {
		log *hlog
		err error
	}
	results := make(map[string]*result, len(paths))
	work := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for _, path := range paths {
		if results[path] != nil {
			continue
		}
		res := new(result)
		results[path] = res
		work <- struct{}{}
		all.Go(func() {
			res.log, res.err = read(ctx, path, d)
			<-work
		})
	}
	all.Wait()
	logs := make([]*hlog, len(paths))
	for i, path := range paths {
		res := results[path]
		if res.err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			// The message has the path already.
			cause := res.err
			if pe := (*os.PathError)(nil); errors.As(cause, &pe) {
				cause = pe.Err
			}
			return nil, stop(program, path, "name plain files that can be read; fiolat percentiles takes "+
				"directories, globs and compressed logs as well", "%v", cause)
		}
		logs[i] = res.log
	}
	return logs, nil
}
