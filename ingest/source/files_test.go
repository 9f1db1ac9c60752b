package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
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
		if err := os.WriteFile(path, bytes.Repeat([]byte{byte('0' + i)}, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := files.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
	}
	got := make([]string, len(open))
	buf := make([]byte, 300)
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
		if got[i] != strings.Repeat(fmt.Sprint(i), 1000) {
			t.Errorf("file %d: %q", i, got[i])
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if files.open != 0 || files.idle.Len() != 0 {
		t.Errorf("%d files are still open, %d idle", files.open, files.idle.Len())
	}
}
