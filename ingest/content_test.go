package ingest

import (
	"strings"
	"testing"
)

// TestKindOf counts the bytes that are read, too: a large text of others is left after its start.
func TestKindOf(t *testing.T) {
	t.Parallel()
	const json = `{"fio version" : "fio-3.33", "jobs" : []}`
	for _, tt := range []struct {
		name, text string
		want       FileKind
		most       int // bytes read
	}{
		{"json", json, JSONFile, 4 << 10},
		{"json after one banner", "fio: this platform does not support process shared mutexes\n" + json, JSONFile, 4 << 10},
		{"json after the banners of 1,000 hosts", strings.Repeat("hostname=h, be=0, 64-bit, os=Linux, arch=x86-64, "+
			"fio=fio-3.33, flags=1\n", 1000) + json, JSONFile, 1 << 20},
		{"job file", "[global]\nrw=randread\n[a]\n", JobFile, 4 << 10},
		{"job file after a long comment", strings.Repeat("# what this is for\n", 1000) + "[a]\nrw=read\n", JobFile,
			1 << 20},
		{"log", "1000, 0, 4096, 1, 2\n", LogFile, 4 << 10},
		{"numbers", strings.Repeat("1;2;3;4\n", 100_000), OtherFile, 4 << 10},
		{"prose", strings.Repeat("what was measured, and how\n", 100_000), OtherFile, 4 << 10},
		{"json in a script", "import json\ndoc = [" + json + "]\n", OtherFile, 4 << 10},
		{"json in a function", "def doc(jobs):\n    return {\n        \"fio version\": v, \"jobs\": jobs}", OtherFile,
			4 << 10},
		{"json in a call", "json.dump({" + json[1:] + ", f)", OtherFile, 4 << 10},
		{"json in a here document", "cat >want.json <<'EOF'\n" + json + "\nEOF\n", OtherFile, 4 << 10},
		{"json after a here document", "+ fio - <<EOF\n[a]\nEOF\n" + json, JSONFile, 4 << 10},
		{"json that a shell printed", "+ output=" + json, JSONFile, 4 << 10},
		{"json that a program printed", "output = " + json, JSONFile, 4 << 10},
		{"json in json", `{"stdout": {"a": [` + json + `]}}`, JSONFile, 4 << 10},
		{"binary", "ab\x00" + strings.Repeat("c", 10_000), OtherFile, 4 << 10},
		{"empty", "", OtherFile, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := strings.NewReader(tt.text)
			got, err := kindOf(r, "file")
			if err != nil || got != tt.want {
				t.Errorf("%v, %v, want %v", got, err, tt.want)
			}
			if read := len(tt.text) - r.Len(); read > tt.most {
				t.Errorf("%d bytes read, want %d at most", read, tt.most)
			}
		})
	}
}

// TestMaybePrefixed: what the expression matches is not left out, and fio's own JSON is.
func TestMaybePrefixed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"fio's":                 {"{\n  \"fio version\" : \"fio-3.33\",\n", false},
		"after a banner":        {"hostname=h, be=0\n{\n  \"fio version\"", false},
		"on one line":           {`x {"fio version": "a"}`, false},
		"prefixed":              {"12:00 {\n12:00   \"fio version\"", true},
		"prefixed, with blanks": {"a\n12:00 { \t\r\n12:01   \"fio version\"", true},
		"the second":            {"{\n\"fio version\"\n}\n> {\n> \"fio version\"", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := maybePrefixed([]byte(c.text)); got != c.want || firstLines.MatchString(c.text) != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
