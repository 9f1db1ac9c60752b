package ui

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "\n": false, "": false,
		"n\n": false, "yep\n": false} {
		var out bytes.Buffer
		if got := Confirm(strings.NewReader(answer), &out, "sure? "); got != want || out.String() != "sure? " {
			t.Errorf("%q is %v, want %v (asked %q)", answer, got, want, out.String())
		}
	}
}

// TestPrintJSON: what a terminal would obey or hide is escaped, and reads back as it was.
func TestPrintJSON(t *testing.T) {
	t.Parallel()
	name := "a\x7fb\u009bc\u202ed<é"
	for indent, want := range map[string]string{
		"":  `{"name":"a\u007fb\u009bc\u202ed\u003cé"}` + "\n",
		" ": "{\n" + ` "name": "a\u007fb\u009bc\u202ed\u003cé"` + "\n}\n",
	} {
		var out bytes.Buffer
		if err := PrintJSON(&out, map[string]string{"name": name}, indent); err != nil || out.String() != want {
			t.Errorf("indent %q: %q, %v; want %q", indent, out.String(), err, want)
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["name"] != name {
			t.Errorf("indent %q: reads back as %q, %v", indent, back["name"], err)
		}
	}
	if err := PrintJSON(io.Discard, func() {}, ""); err == nil {
		t.Error("a function was written")
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line  string
		width int
		want  string
	}{
		"fits":            {"one two", 7, "one two"},
		"no limit":        {"one two", 0, "one two"},
		"at words":        {"one two three", 8, "one two\n  three"},
		"label":           {"page       out.html, 12 bytes", 20, "page       out.html,\n  12 bytes"},
		"long word":       {"  /a/long/path/name and", 10, "  /a/long/path/name\n  and"},
		"colours":         {"\x1b[31mone\x1b[0m two", 7, "\x1b[31mone\x1b[0m two"},
		"spaces at break": {"one    two", 5, "one\n  two"},
	} {
		if got := Wrap(tt.line, tt.width); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
