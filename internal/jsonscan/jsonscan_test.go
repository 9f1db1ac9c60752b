package jsonscan

import (
	"encoding/json"
	"reflect"
	"testing"
)

type sample struct {
	A int
	B struct {
		S string
		F []float64
		I []int
	}
}

func scan(text []byte) (out sample, ok bool) {
	s := New(text)
	s.Object(func(key string) {
		switch key {
		case "A":
			out.A = s.Int()
		case "B":
			s.Object(func(key string) {
				switch key {
				case "S":
					out.B.S = s.Text()
				case "F":
					out.B.F = s.Floats(nil)
				case "I":
					out.B.I = s.Ints(nil)
				default:
					s.Skip()
				}
			})
		default:
			s.Skip()
		}
	})
	return out, !s.Failed
}

// FuzzScan: what is read of valid JSON without a failure is what encoding/json reads.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		`{"x":{"y":[1,"]}\"\\",{}],"z":null},"A":-7,"B":{"S":"é, {","F":[0.1,1e-9,5E+3,0],"w":true,"I":[1, 2 ,3]}}`,
		`{}`, ` { "A" : 3 , "q" : [ ] } `, `{"B":{"F":[],"I":[]}}`, `{"A":1.5}`, `{"B":{"S":"\u0041"}}`, `[1]`,
		`{"A":1}x`,
		"{\"B\":{\"S\":\"\xa9\"}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var keys map[string]json.RawMessage
		if json.Unmarshal(text, &keys) != nil || keys == nil {
			scan(text) // it must end
			return
		}
		got, ok := scan(text)
		var want sample
		if !ok || json.Unmarshal(text, &want) != nil || len(keys) > 0 && twice(text) {
			return
		}
		if len(got.B.F) == 0 && len(want.B.F) == 0 {
			got.B.F, want.B.F = nil, nil
		}
		if len(got.B.I) == 0 && len(want.B.I) == 0 {
			got.B.I, want.B.I = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	})
}

// twice says that keys may come twice, or in another case, which encoding/json treats alike.
func twice(text []byte) bool {
	seen, s := map[string]bool{}, New(text)
	again := false
	s.Object(func(key string) {
		again = again || seen[key] || key == "a" || key == "b"
		seen[key] = true
		if key != "B" || s.peek() != '{' {
			s.Skip()
			return
		}
		inner := map[string]bool{}
		s.Object(func(key string) {
			again = again || inner[key] || key == "s" || key == "f" || key == "i"
			inner[key] = true
			s.Skip()
		})
	})
	return again || s.Failed
}

// A value that is not what was asked for is a failure, and no wrong value.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"A":1.5}`, `{"A":"1"}`, `{"A":null}`, `{"B":{"S":"\u0041"}}`, `{"B":{"F":[null]}}`,
		`{"B":{"I":3}}`, `[1]`, ``, `{"A"`, `{"A":1`} {
		if got, ok := scan([]byte(text)); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
