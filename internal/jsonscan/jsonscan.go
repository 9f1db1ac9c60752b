// Package jsonscan reads JSON of a known form, from text that is known to be valid, in a tenth of the time of
// encoding/json. What it does not expect it says, and encoding/json can be asked instead.
package jsonscan

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Scanner reads one value after the other. Once one is not what was asked for, Failed says so, and all others are zero.
type Scanner struct {
	text   []byte
	at     int
	Failed bool
}

// New makes a scanner of a text.
func New(text []byte) *Scanner { return &Scanner{text: text} }

// peek is the next byte that is no space; 0 at the end, and after a failure.
func (s *Scanner) peek() byte {
	for s.at < len(s.text) && !s.Failed {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	s.Failed = true
	return 0
}

// take takes a byte, if it is the next one.
func (s *Scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *Scanner) want(c byte) {
	if !s.take(c) {
		s.Failed = true
	}
}

// Object calls member with each key of an object; it must read or Skip the value.
func (s *Scanner) Object(member func(key string)) {
	s.want('{')
	if s.take('}') {
		return
	}
	for !s.Failed {
		key := s.raw()
		s.want(':')
		if s.Failed {
			return
		}
		member(string(key))
		if !s.take(',') {
			s.want('}')
			return
		}
	}
}

// list calls element for each of an array.
func (s *Scanner) list(element func()) {
	s.want('[')
	if s.take(']') {
		return
	}
	for !s.Failed {
		if element(); !s.take(',') {
			s.want(']')
			return
		}
	}
}

// raw is a string without escapes.
func (s *Scanner) raw() []byte {
	s.want('"')
	if s.Failed {
		return nil
	}
	end := bytes.IndexByte(s.text[s.at:], '"')
	if end < 0 {
		s.Failed = true
		return nil
	}
	out := s.text[s.at : s.at+end]
	if bytes.IndexByte(out, '\\') >= 0 || !utf8.Valid(out) {
		s.Failed = true
		return nil
	}
	s.at += end + 1
	return out
}

// Text is a string.
func (s *Scanner) Text() string { return string(s.raw()) }

// number is the text of a number.
func (s *Scanner) number() []byte {
	s.peek()
	from := s.at
	for s.at < len(s.text) {
		if c := s.text[s.at]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			break
		}
		s.at++
	}
	return s.text[from:s.at]
}

// Int is a whole number.
func (s *Scanner) Int() int {
	n, err := strconv.Atoi(string(s.number()))
	s.Failed = s.Failed || err != nil
	return n
}

// Ints appends an array of whole numbers.
func (s *Scanner) Ints(to []int) []int {
	s.list(func() { to = append(to, s.Int()) })
	return to
}

// Floats appends an array of numbers.
func (s *Scanner) Floats(to []float64) []float64 {
	s.list(func() {
		n, err := strconv.ParseFloat(string(s.number()), 64)
		s.Failed = s.Failed || err != nil
		to = append(to, n)
	})
	return to
}

// Skip passes over a value.
func (s *Scanner) Skip() {
	switch s.peek() {
	case 0:
	case '"':
		s.skipString()
	case '{', '[':
		s.skipNested()
	default: // a number, true, false or null
		from := s.at
		for s.at < len(s.text) && s.text[s.at] != ',' && s.text[s.at] != '}' && s.text[s.at] != ']' {
			s.at++
		}
		s.Failed = s.at == from
	}
}

// skipNested passes over an object or an array, of which only brackets and strings matter.
func (s *Scanner) skipNested() {
	for depth := 0; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.at++
				return
			}
		case '"':
			s.skipString()
			s.at--
		}
	}
	s.Failed = true
}

func (s *Scanner) skipString() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
	s.Failed = true
}
