package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles: however few may be open, every file is read to its end; a pipe stays open.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	files := &Files{Max: 2}
	var open []*File
	for i := range 10 {
		path := fmt.Sprintf("%s/%d", dir, i)
		if err := os.WriteFile(path, bytes.Repeat([]byte{byte('0' + i)}, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := files.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
	}
	got := make([]string, len(open))
	buf := make([]byte, 30_000)
	for ended := 0; ended < len(open); {
		for i, f := range open {
			n, err := f.Read(buf)
			got[i] += string(buf[:n])
			if errors.Is(err, io.EOF) {
				ended++
			} else if err != nil {
				t.Fatal(err)
			}
			if files.open > 2 {
				t.Fatalf("%d files are open", files.open)
			}
		}
	}
	for i, f := range open {
		if got[i] != strings.Repeat(fmt.Sprint(i), 100_000) {
			t.Errorf("file %d: %d bytes of %.10q", i, len(got[i]), got[i])
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if files.open != 0 || files.idle.Len() != 0 {
		t.Errorf("%d files are still open, %d idle", files.open, files.idle.Len())
	}
}

// TestSmallFiles: a small file is read when it is opened, and takes no descriptor then; what happens to it later does
// not matter. A compressed one is read like a large one.
func TestSmallFiles(t *testing.T) {
	t.Parallel()
	files := new(Files)
	for name, tt := range map[string]struct {
		text  string
		whole bool
	}{"empty": {"", true},
		"small": {strings.Repeat("1, 2\n", 100), true}, "64 KiB": {strings.Repeat("x", SmallSize), true},
		"larger": {strings.Repeat("x", SmallSize+1), false}, "gzip": {"\x1f\x8b\x08 and more", false}} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := files.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Whole() != tt.whole || files.open > 0 != !tt.whole {
			t.Errorf("%s: whole %v, %d open", name, f.Whole(), files.open)
		}
		if tt.whole {
			if err := os.WriteFile(path, []byte("another text"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		at := make([]byte, 3)
		n, _ := f.ReadAt(at, 2)
		if want := tt.text[min(2, len(tt.text)):]; string(at[:n]) != want[:min(3, len(want))] {
			t.Errorf("%s: %q at 2", name, at[:n])
		}
		if got, err := io.ReadAll(f); err != nil || string(got) != tt.text {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
