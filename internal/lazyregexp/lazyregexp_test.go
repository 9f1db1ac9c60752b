package lazyregexp

import "testing"

func TestNew(t *testing.T) {
	digits, invalid := New(`[0-9]+`), New(`(`)
	if got := digits().FindString("p99"); got != "99" {
		t.Errorf("found %q, want 99", got)
	}
	if first := digits(); first != digits() {
		t.Error("compiled again")
	}
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression did not panic")
		}
	}()
	invalid()
}
