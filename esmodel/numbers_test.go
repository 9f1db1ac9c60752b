package esmodel

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// FuzzNumberList: what is read is what encoding/json reads, to the last bit. Only null, which fiolat never
// writes, is an error here.
func FuzzNumberList(f *testing.F) {
	for _, s := range []string{
		`[]`, ` [ ] `, `[0]`, `[-0]`, `[1,2]`, `[ 1 , 2 ]`, "[\n1,\n2.5]",
		`[0.5004995004995005,19.979493506493508,0.499]`,
		`[9007199254740991,9007199254740992,9007199254740993]`, `[0.1,0.2,0.30000000000000004,1e-7,1E21,-3.5]`,
		`[0.0000000000000000000001,123456789012345678901234567890]`, `[0.000000000000000001,1.000000000000000000]`,
		`[9999999999999999999,0.9999999999999999999,999999999999999999]`, `[null]`, `["1"]`, `[[1,2]]`, `[1.0]`,
		`{}`, `7`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var floats numberList[float64]
		var slow []*float64
		if !json.Valid([]byte(text)) {
			return
		}
		err, slowErr := json.Unmarshal([]byte(text), &floats), json.Unmarshal([]byte(text), &slow)
		null := slices.Contains(slow, nil)
		if (err != nil) != (slowErr != nil || null) && strings.TrimSpace(text) != "null" {
			t.Fatalf("%q: %v, by encoding/json %v", text, err, slowErr)
		}
		for i := 0; err == nil && i < len(floats); i++ {
			if math.Float64bits(floats[i]) != math.Float64bits(*slow[i]) {
				t.Errorf("%q: %d is %v, by encoding/json %v", text, i, floats[i], *slow[i])
			}
		}
		var ints numberList[int]
		var slowInts []int
		err, slowErr = json.Unmarshal([]byte(text), &ints), json.Unmarshal([]byte(text), &slowInts)
		if err == nil && (slowErr != nil || !slices.Equal(ints, slowInts)) {
			t.Errorf("%q: %v, by encoding/json %v, %v", text, ints, slowInts, slowErr)
		}
	})
}
