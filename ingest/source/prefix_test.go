package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSamePrefix: a file that was replaced is told by any byte of what was read, the first and the last, too.
func TestSamePrefix(t *testing.T) {
	t.Parallel()
	const step = 64 << 10
	long := strings.Repeat("x", 2*step)
	for _, tt := range []struct {
		name, a, b string
		n          int64
		want       bool
	}{
		{"nothing was read", "ab", "ab", 0, false},
		{"the same", "abc", "abc", 3, true},
		{"what follows does not count", "abc", "abd", 2, true},
		{"the first byte", "abc", "xbc", 3, false},
		{"the last byte", "abc", "abx", 3, false},
		{"shorter", "abc", "ab", 3, false},
		{"several blocks", long, long, 2 * step, true},
		{"the first byte of several blocks", long, "y" + long[1:], 2 * step, false},
		{"the last byte of several blocks", long, long[1:] + "y", 2 * step, false},
		{"the first byte of the second block", long, long[:step] + "y" + long[1:step], 2 * step, false},
	} {
		dir := t.TempDir()
		var files [2]*os.File
		for i, text := range []string{tt.a, tt.b} {
			path := filepath.Join(dir, string(rune('a'+i)))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			files[i] = f
		}
		if got, err := samePrefix(files[0], files[1], tt.n); got != tt.want || err != nil {
			t.Errorf("%s: %t, %v; want %t", tt.name, got, err, tt.want)
		}
		if err := files[1].Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := samePrefix(files[0], files[1], tt.n); errors.Is(err, os.ErrClosed) != (tt.n > 0) {
			t.Errorf("%s: %v of a file that cannot be read", tt.name, err)
		}
	}
}
