package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fiolat/fio"
)

// Warnings are one line: those that differ in names and numbers only are said once, with their number and the first of
// them, and so are equal ones; as JSON each is a line.
func TestAlike(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		u := New(nil, nil, &out)
		u.JSON = json
		outer := u.Hold()
		for i := range 9 {
			release := u.Hold()
			u.Warn(fmt.Sprintf("runs/%d/a_clat_hist.1.log: %d I/Os of job %q are missing", i, 7+i, fmt.Sprint("j", i)))
			if i < 2 {
				u.Warn(fmt.Sprintf("left out: run %d is partial", i))
				u.Warn("left out: run 0 is partial")
			}
			u.Say("info", "taken %d", i)
			release()
		}
		outer()
		u.Warn("left out: run 3 is partial")
		want := []string{
			"taken 8",
			`fiolat: warning: runs/0/a_clat_hist.1.log: 7 I/Os of job "j0" are missing (and 8 more like it: ` +
				"runs/1/a_clat_hist.1.log, runs/2/a_clat_hist.1.log, runs/3/a_clat_hist.1.log, runs/4/a_clat_hist.1.log and " +
				"4 more); also: left out: run 0 is partial (and 1 more like it)",
			"fiolat: warning: left out: run 3 is partial",
			"",
		}
		if _, got, _ := strings.Cut(out.String(), "taken 7\n"); !json && got != strings.Join(want, "\n") {
			t.Errorf("%s", out.String())
		}
		if n := strings.Count(out.String(), `"level":"warning"`); json && n != 14 {
			t.Errorf("%d warnings, want 14\n%s", n, out.String())
		}
	}
}

// An error is said after all warnings that it may be due to.
func TestAlikeBeforeError(t *testing.T) {
	var out bytes.Buffer
	u := New(nil, nil, &out)
	defer u.Hold()()
	u.Warn("a")
	u.Say("error", "b")
	if out.String() != "fiolat: warning: a\nfiolat: error: b\n" {
		t.Errorf("%q", out.String())
	}
}

// All warnings are one line above the output; with Verbose each is one, and so is a note.
func TestHoldUntilOutput(t *testing.T) {
	const lost, cut = "a.log: 3 of the 9 reads are lost; pass --skip-bad", "b.json is cut off; run fio again"
	for _, tt := range []struct {
		name     string
		verbose  bool
		warnings []string
		want     string
	}{
		{"none", false, nil, "table\n"},
		{"one", false, []string{lost}, "fiolat: warning: " + lost + "\ntable\n"},
		{"two", false, []string{lost, cut},
			"fiolat: warning: " + lost + "; also: " + cut + "\ntable\n"},
		{"two, verbose", true, []string{lost, cut},
			"fiolat: warning: " + lost + "\nfiolat: warning: " + cut + "\ntable\n"},
		{"a note and one", false, []string{fio.NotePrefix + "repaired", lost},
			"fiolat: note: repaired\nfiolat: warning: " + lost + "\ntable\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			u := New(nil, &out, &out)
			u.Verbose = tt.verbose
			release := u.HoldUntilOutput()
			for _, w := range tt.warnings {
				u.Warn(w)
			}
			fmt.Fprintln(u.Stdout, "table")
			u.Warn("late")
			release()
			if want := tt.want + "fiolat: warning: late\n"; out.String() != want {
				t.Errorf("got\n%swant\n%s", out.String(), want)
			}
		})
	}
}
