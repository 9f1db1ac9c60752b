package ui

import (
	"bytes"
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
