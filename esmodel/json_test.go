package esmodel

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
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

func TestRounded(t *testing.T) {
	for _, tt := range []struct {
		v, parts float64
		want     string
	}{
		{1234.56789, tenth, "1234.6"}, {1234.56789, thousandth, "1234.568"}, {0.05, tenth, "0.1"}, {0.0004,
			thousandth, "0"},
		{3, thousandth, "3"}, {-0.0005, thousandth, "-0.001"}, {1e300, tenth, "1e+300"}, {1 << 52, tenth,
			"4503599627370496"},
		{math.NaN(), tenth, "null"},
	} {
		if got := string(appendFloat([]byte("0"), rounded(tt.v, tt.parts))); got != "0"+tt.want {
			t.Errorf("%v in parts of %v became %s, want %s", tt.v, tt.parts, got, tt.want)
		}
	}
}

func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1e-7, 1e21, 1e20, 1 << 53, math.MaxFloat64,
		math.SmallestNonzeroFloat64, -2.5, math.Inf(1), math.NaN(), 0.001, 0.01, 999.999, 100.1, 1234567.891,
		math.Nextafter(0.1, 1), 9007199254740.991} {
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
		if a := math.Abs(v); v != 0 && a >= 1e-6 && a < 1e21 && string(b) != strconv.FormatFloat(v, 'f', -1, 64) {
			t.Fatalf("%v became %s, which is not the shortest", v, b)
		}
	})
}
