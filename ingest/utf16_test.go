package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUTF16JSON: JSON that a shell saved in UTF-16 is named, found or given.
func TestUTF16JSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/fio/gaps/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile("../testdata/fio/gaps/gaps_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	for name, swap := range map[string]int{"little": 0, "big": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			little := utf16(string(text))
			b := make([]byte, len(little))
			for i := range b {
				b[i] = little[i^swap]
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "fio.json")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "gaps_clat_hist.1.log"), log, 0o600); err != nil {
				t.Fatal(err)
			}
			const want = "fio.json: fio's JSON in UTF-16"
			in, err := Discover([]string{dir}, DiscoverOptions{})
			if err != nil || len(in) != 1 || !strings.Contains(strings.Join(in[0].Warnings, "; "), want) {
				t.Errorf("found: %v, %+v", err, in)
			}
			if _, err = Discover([]string{dir}, DiscoverOptions{FioJSON: []string{path}}); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("given: %v", err)
			}
		})
	}
}

func utf16(s string) string {
	b := []byte{0xFF, 0xFE}
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return string(b)
}
