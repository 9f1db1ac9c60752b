package jsonw

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMembers(t *testing.T) {
	b := Object(nil).Begin().Open("empty").End().Open("of").Number("x", 0.5).Null("y").True("no", false).
		True("yes", true).Optional("none", "").Texts("none", nil).Texts("list", []string{"a", "b"}).
		Map("none", nil).Map("map", map[string]string{"b": "2", "a\"": "1,"}).End()
	b = b.Array("objects").Begin().Int("n", -1).End().Begin().End().EndArray().NumberIf(false, "z", 1).
		Bytes("raw", []byte("[]")).Members(`"m":{}`).End()
	const want = `{"empty":{},"of":{"x":0.5,"y":null,"yes":true,"list":["a","b"],"map":{"a\"":"1,","b":"2"}},` +
		`"objects":[{"n":-1},{}],"z":null,"raw":[],"m":{}}`
	if string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	if two := append(b, '\n').Begin().End(); !bytes.HasSuffix(two, []byte("}\n{}")) {
		t.Errorf("a second document: %s", two)
	}
}

func TestTimes(t *testing.T) {
	const at = 1788220798 * 1e9
	for ns, want := range map[int64]string{0: `"1970-01-01T00:00:00.000Z"`,
		at + 5e6: `"2026-08-31T23:59:58.005Z"`, at + 5e3: `"2026-08-31T23:59:58.000005Z"`,
		at + 1: `"2026-08-31T23:59:58.000000001Z"`, -1e6: `"1969-12-31T23:59:59.999Z"`} {
		if got := string(AppendTime(nil, ns)); got != want {
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
