package esmodel

import (
	"bytes"
	"encoding/json"
	"math"
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

func TestMilli(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 1: "0.001", 10: "0.01", 999: "0.999", 1000: "1", 100100: "100.1",
		1234567: "1234.567", 0.25: "0.00025", 1 << 53: "9007199254740.992"} {
		if got := string(appendMilli([]byte("0"), n)); got != "0"+want {
			t.Errorf("%v became %s, want %s", n, got, want)
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
