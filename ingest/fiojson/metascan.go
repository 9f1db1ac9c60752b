package fiojson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// jsonScan reads JSON as fio writes it, which encoding/json would refuse or hold in memory as a whole: text around
// it, nan and inf, control characters in strings, duplicate keys, several documents in a row. It makes one pass over
// the input and holds one string at a time.
//
// Errors are *syntaxError (the next read begins at the byte that did not fit), errNested, io.EOF or
// io.ErrUnexpectedEOF, or the reader's own, which is kept in err.
type jsonScan struct {
	r      io.Reader
	in     []byte // in[at:] is read but not scanned
	at     int
	line   int64
	end    error // the reader's error, which comes after in
	err    error
	buf    []byte // the text being read
	stack  []byte // closing brackets that skip expects
	held   int    // approximate bytes kept of the document
	bins   []Bin  // of the latency being read; reused
	kbytes bool   // the entry being read has io_kbytes
	micro  bool   // and latencies in microseconds, as in fio 2
	store  binStore
	// inside means that a document has begun, opened that its first key is read already, as that of a nested one.
	inside, opened bool
}

const (
	maxText  = 1 << 20 // of one string; what is longer is cut
	maxDepth = 1 << 20
)

// maxHeld bounds what is kept of a document, in bytes: a file of megabytes can unpack to terabytes of jobs. A
// thousand jobs of fio's with all three kinds of latency and 500 bins each take a sixth of it. A test changes it.
var maxHeld = 512 << 20

// hold adds to what is kept, and fails if that is too much.
func (s *jsonScan) hold(n int) error {
	s.held += n
	if s.held > maxHeld {
		return &syntaxError{s.line, fmt.Sprintf("more than %d MiB of jobs, options and bins in one document",
			maxHeld>>20)}
	}
	return nil
}

type syntaxError struct {
	line int64
	msg  string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }

// errNested means that another fio document begins inside of one: the outer one was cut short. The next call of
// document reads the inner one.
var errNested = errors.New("a document inside of a document")

func newJSONScan(r io.Reader) *jsonScan {
	return &jsonScan{r: r, in: make([]byte, 0, 64<<10), line: 1}
}

// fill reads more input, which overwrites what was read before.
func (s *jsonScan) fill() error {
	n, err := 0, s.end
	for tries := 0; err == nil && n == 0; tries++ {
		n, err = s.r.Read(s.in[:cap(s.in)])
		if tries == 100 {
			err = io.ErrNoProgress
		}
	}
	s.in, s.at, s.end = s.in[:n], 0, err
	if n > 0 {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
	return err
}

// find goes to the next opening brace.
func (s *jsonScan) find() error {
	s.inside, s.opened = false, false
	for {
		text := s.in[s.at:]
		i := bytes.IndexByte(text, '{')
		if i >= 0 {
			text = text[:i]
		}
		s.line += int64(bytes.Count(text, []byte{'\n'}))
		s.at += len(text)
		if i >= 0 {
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// next returns the next byte.
func (s *jsonScan) next() (byte, error) {
	if s.at == len(s.in) {
		if err := s.fill(); err == io.EOF { //nolint:errorlint // fill's own
			return 0, io.ErrUnexpectedEOF
		} else if err != nil {
			return 0, err
		}
	}
	c := s.in[s.at]
	s.at++
	if c == '\n' {
		s.line++
	}
	return c, nil
}

// back steps back over the byte c that next returned.
func (s *jsonScan) back(c byte) {
	if c == '\n' {
		s.line--
	}
	s.at--
}

// peek returns the next byte that is not blank, without reading it.
func (s *jsonScan) peek() (byte, error) {
	for {
		for s.at < len(s.in) {
			switch c := s.in[s.at]; c {
			case '\n':
				s.line++
			case ' ', '\t', '\r':
			default:
				return c, nil
			}
			s.at++
		}
		c, err := s.next()
		if err != nil {
			return 0, err
		}
		s.back(c)
	}
}

// want reads the byte c, after blanks.
func (s *jsonScan) want(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return s.unexpected()
	}
	_, err = s.next()
	return err
}

// unexpected does not quote the byte: the file may be one with secrets.
func (s *jsonScan) unexpected() error {
	if s.at < len(s.in) && s.in[s.at] == 0 {
		return &syntaxError{s.line, "not JSON, but perhaps in UTF-16: a zero byte; convert it back, e.g. with " +
			"`iconv -f UTF-16 -t UTF-8`"}
	}
	return &syntaxError{s.line, "not JSON: an unexpected character"}
}

// key reads a key and its colon. An object inside a document whose first key is versionKey is a new document.
func (s *jsonScan) key(first bool) (string, error) {
	if s.opened {
		s.opened = false
		return versionKey, s.want(':')
	}
	if c, err := s.peek(); err != nil {
		return "", err
	} else if c != '"' {
		return "", s.unexpected()
	}
	k, err := s.quoted()
	if err != nil {
		return "", err
	}
	if first && s.inside && k == versionKey {
		s.opened, s.stack = true, s.stack[:0]
		return "", errNested
	}
	s.inside = true
	return k, s.want(':')
}

// object calls f for each key, to read the value. A value that is no object is
// skipped.
func (s *jsonScan) object(f func(key string) error) error {
	if !s.opened {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c != '{' {
			return s.skip()
		}
		s.next() //nolint:errcheck // peeked
		if c, err = s.peek(); err != nil {
			return err
		}
		if c == '}' {
			s.next() //nolint:errcheck // peeked
			return nil
		}
	}
	for first := true; ; first = false {
		k, err := s.key(first)
		if err != nil {
			return err
		}
		if err := f(k); err != nil {
			return err
		}
		if more, err := s.more('}'); !more {
			return err
		}
	}
}

// array calls f for each element, to read it. A value that is no array is skipped.
func (s *jsonScan) array(f func() error) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != '[' {
		return s.skip()
	}
	s.next() //nolint:errcheck // peeked
	if c, err = s.peek(); err != nil {
		return err
	}
	if c == ']' {
		s.next() //nolint:errcheck // peeked
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if more, err := s.more(']'); !more {
			return err
		}
	}
}

// more reads what follows an element: a comma, or the end.
func (s *jsonScan) more(end byte) (bool, error) {
	c, err := s.peek()
	if err != nil {
		return false, err
	}
	if c != ',' && c != end {
		return false, s.unexpected()
	}
	s.next() //nolint:errcheck // peeked
	return c == ',', nil
}

// skip reads over a value of any depth, without recursion.
func (s *jsonScan) skip() error {
	s.stack = s.stack[:0]
	for {
		c, err := s.peek()
		if err != nil {
			return err
		}
		switch c {
		case '{', '[':
			s.next() //nolint:errcheck // peeked
			end := c + 2
			if c, err := s.peek(); err != nil {
				return err
			} else if c != end {
				if len(s.stack) >= maxDepth {
					return &syntaxError{s.line, "JSON nested too deep"}
				}
				s.stack = append(s.stack, end)
				if end == '}' {
					if _, err := s.key(true); err != nil {
						return err
					}
				}
				continue
			}
			s.next() //nolint:errcheck // peeked
		case '"':
			if _, err := s.quoted(); err != nil {
				return err
			}
		default:
			if _, err := s.word(); err != nil {
				return err
			}
		}
		for { // a value has ended
			if len(s.stack) == 0 {
				return nil
			}
			end := s.stack[len(s.stack)-1]
			more, err := s.more(end)
			if err != nil {
				return err
			}
			if more {
				if end == '}' {
					if _, err := s.key(false); err != nil {
						return err
					}
				}
				break
			}
			s.stack = s.stack[:len(s.stack)-1]
		}
	}
}

// quoted reads a string. A newline ends it with an error: fio never writes one,
// and a string that was cut short must not swallow the next document.
func (s *jsonScan) quoted() (string, error) {
	s.next() //nolint:errcheck // peeked
	s.buf = s.buf[:0]
	for {
		c, err := s.next()
		switch {
		case err != nil:
			return "", err
		case c == '"':
			return string(s.buf), nil
		case c == '\n':
			s.back(c)
			return "", &syntaxError{s.line, "not JSON: a line ends inside a string"}
		case c == '\\':
			if err := s.escape(); err != nil {
				return "", err
			}
		case len(s.buf) < maxText:
			s.buf = append(s.buf, c)
		}
	}
}

func (s *jsonScan) escape() error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if len(s.buf) >= maxText {
		return nil
	}
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case '\n':
		s.back(c)
		return nil
	case 'u':
		var r rune
		for range 4 {
			digit, err := s.next()
			if err != nil {
				return err
			}
			n, bad := strconv.ParseUint(string(digit), 16, 8)
			if bad != nil {
				s.back(digit)
				return &syntaxError{s.line, `not JSON: \u without four digits`}
			}
			r = r<<4 | rune(n)
		}
		s.buf = utf8.AppendRune(s.buf, r)
		return nil
	}
	s.buf = append(s.buf, c)
	return nil
}

// word reads a number, true, false, null, or what C prints for a float: nan, inf.
func (s *jsonScan) word() (string, error) {
	s.buf = s.buf[:0]
	for {
		c, err := s.next()
		if err != nil {
			return "", err
		}
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '+', c == '-', c == '.':
			if len(s.buf) < 64 {
				s.buf = append(s.buf, c)
				continue
			}
		}
		s.back(c)
		if len(s.buf) == 0 || len(s.buf) == 64 {
			return "", s.unexpected()
		}
		return string(s.buf), nil
	}
}

// text returns a string, or a number as it is written; "" for null and for what is neither.
func (s *jsonScan) text() (string, error) {
	c, err := s.peek()
	switch {
	case err != nil:
		return "", err
	case c == '"':
		return s.quoted()
	case c == '{' || c == '[':
		return "", s.skip()
	}
	w, err := s.word()
	if w == "null" {
		w = ""
	}
	return w, err
}

// count returns a number that cannot be negative: a fraction is cut off, what is negative or no number is 0, and what
// is too large is the largest uint64. The text is what was there, "" if that is no number.
func (s *jsonScan) count() (uint64, string, error) {
	text, err := s.text()
	if err != nil {
		return 0, "", err
	}
	if n, bad := strconv.ParseUint(text, 10, 64); bad == nil {
		return n, text, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(f):
		return 0, "", nil
	case f <= 0:
		return 0, text, nil
	case f >= 1<<64:
		return math.MaxUint64, text, nil
	}
	return uint64(f), text, nil
}

// integer returns a number from 0 to the largest int64; what is beyond is 0.
func (s *jsonScan) integer() (int64, error) {
	n, _, err := s.count()
	if n > math.MaxInt64 {
		n = 0
	}
	return int64(n), err
}

// small returns an int; what does not fit is 0.
func (s *jsonScan) small() (int, error) {
	text, err := s.text()
	n, bad := strconv.ParseInt(text, 10, 32)
	if bad != nil {
		n = 0
	}
	return int(n), err
}

// float returns a number; what is negative, beyond int64 or none is 0, and not ok.
func (s *jsonScan) float() (f float64, ok bool, err error) {
	text, err := s.text()
	f, bad := strconv.ParseFloat(text, 64)
	if bad != nil || !(f >= 0) || f >= 1<<63 {
		return 0, false, err
	}
	return f, true, err
}
