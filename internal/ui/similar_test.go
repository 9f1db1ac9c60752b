package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Warnings that differ in names and numbers only are said once, with their number and the first of them, and so are
// equal ones; what is not alike, or only two, or JSON, is said one by one.
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
			`fiolat: warning: runs/0/a_clat_hist.1.log: 7 I/Os of job "j0" are missing ` +
				"(and 8 more warnings like this one; --log-format json has each)",
			"fiolat: warning: left out: run 0 is partial",
			"fiolat: warning: left out: run 1 is partial",
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
