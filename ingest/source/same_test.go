package source

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestSameBytes: whole files are compared, or of long ones of one size only the first and the last block.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	of := func(name string, length int, changed ...int) string {
		b := bytes.Repeat([]byte("fio "), length/4)
		for _, at := range changed {
			b[at] = 'x'
		}
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, b, 0o600))
		return path
	}
	const long = 4 * compared
	for name, tt := range map[string]struct {
		a, b        string
		whole, ends bool
	}{
		"short":               {of("a", 40), of("b", 40), true, true},
		"short, other":        {of("c", 40), of("d", 40, 39), false, false},
		"two blocks":          {of("e", 2*compared), of("f", 2*compared, compared), false, false},
		"long":                {of("g", long), of("h", long), true, true},
		"long, other begin":   {of("i", long), of("j", long, 0), false, false},
		"long, other middle":  {of("k", long), of("l", long, long/2), false, true},
		"long, other end":     {of("m", long), of("n", long, long-1), false, false},
		"empty":               {of("o", 0), of("p", 0), true, true},
		"one that is missing": {of("q", 40), filepath.Join(dir, "none"), false, false},
		"a folder":            {dir, dir, false, false},
	} {
		whole, ends := SameBytes(tt.a, tt.b, false), SameBytes(tt.a, tt.b, true)
		if whole != tt.whole || ends != tt.ends {
			t.Errorf("%s: %v, by their ends %v", name, whole, ends)
		}
	}
}
