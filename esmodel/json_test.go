package esmodel

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio/fiohist"
)

func TestTimes(t *testing.T) {
	for ns, want := range map[int64]string{0: `"1970-01-01T00:00:00.000Z"`,
		esmodeltest.At + 5e6: `"2026-08-31T23:59:58.005Z"`, esmodeltest.At + 5e3: `"2026-08-31T23:59:58.000005Z"`,
		esmodeltest.At + 1: `"2026-08-31T23:59:58.000000001Z"`, -1e6: `"1969-12-31T23:59:59.999Z"`} {
		if got := string(appendTime(nil, ns)); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x1f\"\\/\n\r\t\b\x7f", "ü\xff\xc3(\u2028", "\xed\xa0\x80", "<script>&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); !utf8.Valid(b) || got != want && !brokenRun(s) {
			t.Fatalf("%q became %q, want %q", s, got, want)
		}
		if !bytes.ContainsAny(b, "\n\r\x00") {
			return
		}
		t.Fatalf("control characters in %q", b)
	})
}

// brokenRun: ToValidUTF8 makes one U+FFFD of several broken bytes in a row, where
// encoding/json and this package make one of each.
func brokenRun(s string) bool { return !utf8.ValidString(s) }

// A word holds the middle and the number of every bucket there is.
func TestWords(t *testing.T) {
	for columns := range 64*32 + 1 {
		g, err := fiohist.GeometryOf(columns)
		if err != nil {
			continue
		}
		for i := range columns {
			for _, v := range []float64{g.Middle(i), float64(i)} {
				w := newWord(v)
				if got, want := string(w.append([]byte("x"))), "x"+string(appendFloat(nil, v))+","; got != want {
					t.Fatalf("%v: %v became %s, want %s", g, v, got, want)
				}
			}
		}
	}
}

// floats writes what appendFloat writes, whatever it has written before.
func TestFloats(t *testing.T) {
	var f floats
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{
		0,
		math.Copysign(0, -1),
		1,
		-math.MaxFloat64,
		-1.2345678901234567e-300,
		1.2345678901234567e-6,
		math.NaN(),
		math.Inf(1),
		1 << 60,
	}
	for range 20000 {
		v := float64(r.IntN(300)) * 0.999000999000999
		if n := r.IntN(40); n < len(special) {
			v = special[n]
		}
		if got, want := string(f.append([]byte("x"), []float64{v, 1})), "x"+string(
			appendFloat(nil, v),
		)+",1,"; got != want {
			t.Fatalf("%v became %s, want %s", v, got, want)
		}
	}
}

func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1e-7, 1e21, 1e20, 1 << 53, math.MaxFloat64,
		math.SmallestNonzeroFloat64, -2.5, math.Inf(1), math.NaN()} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		b := appendFloat(nil, v)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if string(b) != "null" {
				t.Fatalf("%v became %s", v, b)
			}
			return
		}
		var got float64
		if err := json.Unmarshal(b, &got); err != nil || got != v {
			t.Fatalf("%v became %s, read back as %v: %v", v, b, got, err)
		}
	})
}
