package esmodel

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/internal/jsonw"
)

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
				if got, want := string(w.append([]byte("x"))), "x"+string(jsonw.AppendNumber(nil, v))+","; got != want {
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
		if got := string(jsonw.AppendNumber([]byte("0"), rounded(tt.v, tt.parts))); got != "0"+tt.want {
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
		b := jsonw.AppendNumber(nil, v)
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
