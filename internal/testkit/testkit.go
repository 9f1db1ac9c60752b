// Package testkit has what tests of many packages share. Only tests import it.
package testkit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"

	"fiolat/fio"
)

// NotRaced skips a test that the race detector would only slow down: of one goroutine's arithmetic, or of whole
// commands whose goroutines other tests start as well. `make test` runs it without the detector.
func NotRaced(t *testing.T) {
	t.Helper()
	if raceDetector {
		Nightly(t)
	}
}

// Nightly skips a test unless FIOLAT_TEST_SIZE is set, as `make nightly` does.
func Nightly(t *testing.T) {
	t.Helper()
	if os.Getenv("FIOLAT_TEST_SIZE") == "" {
		t.Skip("runs in make nightly, or with FIOLAT_TEST_SIZE=1")
	}
}

// All reports whether tests take all of their cases: FIOLAT_TEST_SIZE is set, and the race detector is off.
func All() bool { return os.Getenv("FIOLAT_TEST_SIZE") != "" && !raceDetector }

// Size returns how many inputs a test makes up: FIOLAT_TEST_SIZE if All, else usual.
func Size(tb testing.TB, usual int) int {
	tb.Helper()
	if !All() {
		return usual
	}
	s := os.Getenv("FIOLAT_TEST_SIZE")
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		tb.Fatalf("FIOLAT_TEST_SIZE=%q: want a number above 0", s)
	}
	return n
}

// Simulation skips a test with -short, as `make test` runs it: it draws many made-up inputs.
func Simulation(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation")
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

// Write writes a file below a folder, with the folders that it needs, and returns its path.
func Write[Text string | []byte](tb testing.TB, dir, name string, text Text) string {
	tb.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Files writes files into a new folder.
func Files[Text string | []byte](tb testing.TB, content map[string]Text) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	for name, text := range content {
		Write(tb, dir, name, text)
	}
	return dir
}

// Unpack writes the files of an archive into a new folder.
func Unpack(tb testing.TB, archive string) (dir string) {
	tb.Helper()
	return Files(tb, maps.Collect(Packed(tb, archive)))
}

// Gzipped compresses data.
func Gzipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // a buffer takes all
	_ = z.Close()
	return b.Bytes()
}

// Program builds fiolat and returns its path.
func Program(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "fiolat")
	build := exec.CommandContext(tb.Context(), "go", "build", "-buildvcs=false", "-o", path,
		"fiolat/cmd/fiolat")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v: %s", err, out)
	}
	return path
}

// Request sends JSON to a server and returns the status and the text of its answer.
func Request(tb testing.TB, method, url string, body []byte) (status int, answer []byte) {
	tb.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(tb.Context()), method, url, bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	if answer, err = io.ReadAll(res.Body); err != nil {
		tb.Fatalf("%s %s: %v", method, url, err)
	}
	return res.StatusCode, answer
}

// Packed returns the names and contents of the files in a .tar.zst.
func Packed(tb testing.TB, archive string) iter.Seq2[string, []byte] {
	tb.Helper()
	return func(yield func(string, []byte) bool) {
		f, err := os.Open(archive)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<28))
		if err != nil {
			tb.Fatal(err)
		}
		defer z.Close()
		for files := tar.NewReader(z); ; {
			head, err := files.Next()
			if errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				tb.Fatalf("%s: %v", archive, err)
			} else if head.FileInfo().IsDir() {
				continue
			}
			data, err := io.ReadAll(files)
			if err != nil {
				tb.Fatalf("%s: %v", archive, err)
			}
			if !yield(head.Name, data) {
				return
			}
		}
	}
}

// Rules parses SLA rules.
func Rules(t testing.TB, texts ...string) []fio.SLARule {
	t.Helper()
	rules, err := fio.ParseSLARules(texts)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
