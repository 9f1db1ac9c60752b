package main

import (
	"os/exec"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/internal/runsource"
)

// The words of a printed command are what a shell makes of them, and can be printed.
func TestLine(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	words := []string{"a b", "it's", `"$HOME" \ $(x) %d`, "esc\x1b[31m", "new\nline'\t%s\\n",
		"ü\xff", "\u202e", "-e\a"}
	o := runsource.Elasticsearch{Flags: func() []string { return []string{"--es", "http://es:9200"} }}
	line := shellLine(&o, "load", words...)
	if fio.Printable(line) != line {
		t.Errorf("not all of it can be printed: %q", line)
	}
	out, err := exec.Command(sh, "-c", `fiolat() { for w in "$@"; do printf '%s\0' "$w"; done; }; `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(append([]string{"load", "--es", "http://es:9200"}, words...), "\x00") + "\x00"
	if string(out) != want {
		t.Errorf("%s\ngives %q, want %q", line, out, want)
	}
}
