// Package testkit has what tests of many packages share. Only tests import it.
package testkit

import (
	"os"
	"testing"
)

// Raced reports whether the race detector is on and only tests in which goroutines meet are wanted, which is so
// unless FIOLAT_RACE_ALL is set.
func Raced() bool { return raceDetector && os.Getenv("FIOLAT_RACE_ALL") == "" }

// NotRaced skips a test that the race detector would only slow down: of one goroutine's arithmetic, or of whole
// commands whose goroutines other tests start as well.
func NotRaced(t *testing.T) {
	t.Helper()
	if Raced() {
		t.Skip("not run with the race detector; FIOLAT_RACE_ALL=1 runs it")
	}
}

// SameFile fails if a file does not hold text; with update it writes the file.
func SameFile(t *testing.T, file, text string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is not what the code makes: run `make docs`", file)
	}
}
