// Package jsonw appends JSON to bytes, member by member, for what is written too often for encoding/json. The same
// values give the same bytes.
package jsonw

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Object is the text of a document in which the last object or array is open. A method that takes a name adds a member.
type Object []byte

// next appends the comma that a member or an element needs after another one. A newline ends a document.
func (b Object) next() Object {
	if len(b) > 0 {
		switch b[len(b)-1] {
		case '{', '[', '\n':
		default:
			b = append(b, ',')
		}
	}
	return b
}

// Key appends a member up to its value.
func (b Object) Key(name string) Object {
	return append(append(append(b.next(), '"'), name...), '"', ':')
}

// Open begins an object that is a member.
func (b Object) Open(name string) Object { return append(b.Key(name), '{') }

// Array begins a list that is a member.
func (b Object) Array(name string) Object { return append(b.Key(name), '[') }

// Begin begins an object that is an element, or the document.
func (b Object) Begin() Object { return append(b.next(), '{') }

// End ends an object.
func (b Object) End() Object { return append(b, '}') }

// EndArray ends a list.
func (b Object) EndArray() Object { return append(b, ']') }

// Members appends members that were made before, if there are any.
func (b Object) Members(text string) Object {
	if text == "" {
		return b
	}
	return append(b.next(), text...)
}

// Number appends a number as AppendNumber does.
func (b Object) Number(name string, v float64) Object { return AppendNumber(b.Key(name), v) }

// Int appends a whole number.
func (b Object) Int(name string, v int64) Object { return strconv.AppendInt(b.Key(name), v, 10) }

// Time appends a time in ns since 1970 as AppendTime does.
func (b Object) Time(name string, ns int64) Object { return AppendTime(b.Key(name), ns) }

// Text appends a text as AppendString does.
func (b Object) Text(name, v string) Object { return AppendString(b.Key(name), v) }

// Bytes appends a value that is JSON.
func (b Object) Bytes(name string, v []byte) Object { return append(b.Key(name), v...) }

// Null appends null.
func (b Object) Null(name string) Object { return append(b.Key(name), "null"...) }

// NumberIf appends a number, null if it is not known.
func (b Object) NumberIf(known bool, name string, v float64) Object {
	if !known {
		return b.Null(name)
	}
	return b.Number(name, v)
}

// Optional appends a text unless it is "".
func (b Object) Optional(name, v string) Object {
	if v == "" {
		return b
	}
	return b.Text(name, v)
}

// True appends true if it holds, else nothing.
func (b Object) True(name string, holds bool) Object {
	if !holds {
		return b
	}
	return append(b.Key(name), "true"...)
}

// Texts appends a list of texts, nothing without any.
func (b Object) Texts(name string, list []string) Object {
	for i, v := range list {
		if i == 0 {
			b = b.Array(name)
		}
		b = AppendString(b.next(), v)
	}
	if len(list) > 0 {
		b = b.EndArray()
	}
	return b
}

// Map appends an object of texts, sorted by name, nothing without any.
func (b Object) Map(name string, m map[string]string) Object {
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i == 0 {
			b = b.Open(name)
		}
		b = AppendString(append(AppendString(b.next(), k), ':'), m[k])
	}
	if len(m) > 0 {
		b = b.End()
	}
	return b
}

// AppendString appends s as a JSON string. Each byte that is not valid UTF-8 becomes U+FFFD: file and job names
// may contain anything, and Elasticsearch rejects a whole document for one invalid byte.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\t':
				dst = append(dst, '\\', 't')
			case '\r':
				dst = append(dst, '\\', 'r')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendNumber appends the shortest decimal that reads back as v, in the form of JSON libraries: without
// exponent from 1e-6 to 1e21. NaN and infinities, which JSON lacks, become null; callers that must not lose
// them check first.
func AppendNumber(dst []byte, v float64) []byte {
	if a := math.Abs(v); a < 1<<53 && v == math.Trunc(v) {
		return strconv.AppendInt(dst, int64(v), 10) // most counts are whole; -0 becomes 0
	} else if !(a <= math.MaxFloat64) {
		return append(dst, "null"...)
	} else if milli := math.Round(a * 1000); milli < 1<<53 && milli/1000 == a {
		if v < 0 {
			dst = append(dst, '-')
		}
		n := int64(milli)
		dst = strconv.AppendInt(dst, n/1000, 10)
		dst = append(dst, '.', byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
		return bytes.TrimRight(dst, "0")
	} else if a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'e', -1, 64)
}

// AppendTime appends a time in ns since 1970 as ISO 8601 in UTC, with milliseconds, or with microseconds or
// nanoseconds if it takes them to be exact.
func AppendTime(dst []byte, ns int64) []byte {
	t := time.Unix(0, ns).UTC()
	layout := "2006-01-02T15:04:05.000Z"
	switch {
	case ns%1e6 == 0:
	case ns%1e3 == 0:
		layout = "2006-01-02T15:04:05.000000Z"
	default:
		layout = "2006-01-02T15:04:05.000000000Z"
	}
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, layout)
	return append(dst, '"')
}
