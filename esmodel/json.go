package esmodel

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

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

// appendFloat appends the shortest decimal that reads back as v, in the form of JSON libraries: without
// exponent from 1e-6 to 1e21. NaN and infinities, which JSON lacks, become null; callers that must not lose
// them check first.
func appendFloat(dst []byte, v float64) []byte {
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

// rounded returns v to a part of 1, as documents have it: latencies to a tenth of a ns, rates and numbers of I/Os to a
// thousandth. More digits take a third of the space of a document.
func rounded(v, parts float64) float64 {
	if math.Abs(v) < 1<<50 {
		return math.Round(v*parts) / parts
	}
	return v
}

const tenth, thousandth = 10, 1000

// word is the text of a number followed by a comma; its last byte is the length. Copying all 16 bytes is faster
// than appending only as many as are used.
type word [16]byte

// newWord returns the word of the middle or the index of a bucket, which have at most twelve digits.
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

// appendTime appends a time in ns since 1970 as ISO 8601 in UTC, with milliseconds, or with microseconds or
// nanoseconds if it takes them to be exact.
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

// MustJSON returns v as JSON. It panics if v cannot be encoded, for example because of a number that is not
// finite.
func MustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug of the caller
	}
	return b
}
