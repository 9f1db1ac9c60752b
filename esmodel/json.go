package esmodel

import (
	"encoding/json"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/internal/jsonw"
)

// rounded returns v to a part of 1, as documents have it: latencies to a tenth of a ns, rates and numbers of I/Os to a
// thousandth, shares of a tail to a millionth, of I/Os that meet a rule to a billionth. More digits take a third of the
// space of a document.
func rounded(v, parts float64) float64 {
	if math.Abs(v) < 1<<50 {
		return math.Round(v*parts) / parts
	}
	return v
}

const tenth, thousandth, millionth, billionth = 10, 1e3, 1e6, 1e9

// word is the text of a number followed by a comma; its last byte is the length. Copying all 16 bytes is faster
// than appending only as many as are used.
type word [16]byte

// newWord returns the word of the middle or the index of a bucket, which have at most twelve digits.
func newWord(v float64) (w word) {
	text := append(jsonw.AppendNumber(w[:0], v), ',')
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

// MustJSON returns v as JSON. It panics if v cannot be encoded, for example because of a number that is not
// finite.
func MustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug of the caller
	}
	return b
}

// printable returns v as the JSON of a document, in which names are as they are printed.
func printable(v any) []byte { return fio.PrintableJSON(MustJSON(v), "") }

// AppendAction appends the line before a document in a bulk request: op is index, create or delete. Unless term is 0,
// it is refused if the stored document has changed since that version.
func AppendAction(dst []byte, op, index, id string, seqNo, term int64) []byte {
	b := jsonw.Object(dst).Begin().Open(op).Text("_index", index).Text("_id", id)
	if term > 0 {
		b = b.Int("if_seq_no", seqNo).Int("if_primary_term", term)
	}
	return append(b, "}}\n"...)
}
