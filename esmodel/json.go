package esmodel

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD byte by
// byte: file and job names are whatever somebody typed, and Elasticsearch refuses
// a whole document for one broken byte.
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

// word is the text of a number with a comma behind it; its last byte is its length.
// Copying all of it, always as many bytes, is several times faster than appending
// as many as there are.
type word [16]byte

// newWord makes a word of a bucket's middle or number, which have twelve digits at most.
func newWord(v float64) (w word) {
	text := append(appendFloat(w[:0], v), ',')
	w[len(w)-1] = uint8(len(text))
	return w
}

func (w *word) append(dst []byte) []byte {
	n := len(dst)
	if cap(dst)-n < len(w) {
		dst = slices.Grow(dst, len(w))
	}
	*(*word)(dst[n : n+len(w)]) = *w
	return dst[:n+int(w[len(w)-1])]
}

// floats writes what appendFloat writes, and remembers some of it. Most weights of a
// leaf are a small count times the share of a record that lies in the quantum, so
// the same few have to be written again and again, and 17 digits take 50 ns.
type floats [1 << floatBits]struct {
	bits uint64
	text [24]byte // with a comma, and in the last byte the length; 0 is none
}

// floatBits is for 256 KiB. Of the weights of an ingest at 1 s a quarter had to be written
// with half of that, a tenth with eight times as much, which did not pay.
const floatBits = 13

// append appends all of v, each with a comma behind it.
func (f *floats) append(dst []byte, v []float64) []byte {
	for _, x := range v {
		bits := math.Float64bits(x)
		e := &f[bits*0x9e3779b97f4a7c15>>(64-floatBits)]
		n := len(dst)
		if e.bits == bits && e.text[len(e.text)-1] > 0 {
			if cap(dst)-n < len(e.text) {
				dst = slices.Grow(dst, len(e.text))
			}
			*(*[len(e.text)]byte)(dst[n : n+len(e.text)]) = e.text
			dst = dst[:n+int(e.text[len(e.text)-1])]
			continue
		}
		dst = append(appendFloat(dst, x), ',')
		if size := len(dst) - n; size < len(e.text) {
			copy(e.text[:], dst[n:])
			e.bits, e.text[len(e.text)-1] = bits, uint8(size)
		}
	}
	return dst
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

// MustJSON is v, of maps, strings and finite numbers, as JSON.
func MustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps of strings and numbers come here
	}
	return b
}
