package esmodel

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD byte by
// byte: file and job names are whatever somebody typed, and Elasticsearch refuses
// a whole document for one broken byte.
func appendString(dst []byte, s string) []byte {
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

// appendFloat appends the shortest decimal that reads back as v, in the form that
// JSON libraries write: without exponent from 1e-6 to 1e21. JSON has no NaN and no
// infinity; those become null, and callers that must not lose them check before.
func appendFloat(dst []byte, v float64) []byte {
	if a := math.Abs(v); a < 1<<53 && v == math.Trunc(v) {
		return strconv.AppendInt(dst, int64(v), 10) // most counts are whole; -0 becomes 0
	} else if !(a <= math.MaxFloat64) {
		return append(dst, "null"...)
	} else if a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'e', -1, 64)
}

// floats writes what appendFloat writes, and remembers some of it. Most weights of a
// leaf are a small count times the share of a record that lies in the quantum, so
// the same few have to be written again and again, and 17 digits take 100 ns.
type floats [256]struct {
	bits uint64
	size int
	text [24]byte
}

func (f *floats) append(dst []byte, v float64) []byte {
	bits := math.Float64bits(v)
	e := &f[bits*0x9e3779b97f4a7c15>>56]
	if e.bits != bits || e.size == 0 {
		text := appendFloat(e.text[:0], v)
		if len(text) > len(e.text) { // it is not in e.text, then
			return append(dst, text...)
		}
		e.bits, e.size = bits, len(text)
	}
	return append(dst, e.text[:e.size]...)
}

// appendTime appends ns since 1970 as ISO 8601 in UTC, with milliseconds, or as
// many digits more as it takes to be exact.
func appendTime(dst []byte, ns int64) []byte {
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
