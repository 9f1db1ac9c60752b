package fio_test

import (
	"encoding/json"
	"testing"

	"fiolat/fio"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"node 01", "node 01"},
		{"a\u202egol.b", `a\u202egol.b`},
		{"\u061c\u200e\u200f\u202a\u2066\u2069", `\u061c\u200e\u200f\u202a\u2066\u2069`},
		{"a\u200bb\ufeff\u2060", `a\u200bb\ufeff\u2060`},
		{"\x1b[31m\r\n\x7f\u009b\u2028", `\x1b[31m\r\n\x7f\u009b\u2028`},
		{"\xff\xfe", `\xff\xfe`},
		{"می\u200cخواهم", "می\u200cخواهم"},
		{"क्\u200dष", "क्\u200dष"},
		{"a\u200d", `a\u200d`},
		{"1\u200c2", `1\u200c2`},
		{"テスト\u3000１ \u00a0", "テスト\u3000１ \u00a0"},
		{`"\u202e"`, `"\u202e"`},
		{"\"\u202e\\", `"\u202e\`},
		{"", ""},
	} {
		got := fio.Printable(tt.name)
		if got != tt.want {
			t.Errorf("%+q: %+q, want %+q", tt.name, got, tt.want)
		}
		if again := fio.Printable(got); again != got {
			t.Errorf("%+q: escaped twice it is %+q", tt.name, again)
		}
		want := map[string]any{tt.want: []any{tt.want, "x", 1.5, map[string]any{"k\\\"": tt.want}}}
		doc, err := json.Marshal(map[string]any{tt.name: []any{tt.name, "x", 1.5, map[string]any{"k\\\"": tt.name}}})
		if err != nil {
			t.Fatal(err)
		}
		var is map[string]any
		if err := json.Unmarshal(fio.PrintableJSON(doc, ""), &is); err != nil {
			t.Errorf("%+q: %v", tt.name, err)
		}
		wanted, _ := json.Marshal(want)
		found, _ := json.Marshal(is)
		if tt.name != "\xff\xfe" && string(found) != string(wanted) {
			t.Errorf("%+q in JSON: %s, want %s", tt.name, found, wanted)
		}
	}
	if got := fio.PrintableText("a\n\tb\r\n\u202e"); got != "a\n\tb\r\n\\u202e" {
		t.Errorf("%q", got)
	}
}
