package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"fiolat/fio"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/source"
	"fiolat/internal/testkit"
)

// pack compresses data.
func pack(t testing.TB, format string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch format {
	case "plain":
		return data
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err = w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// randrw is a real log.
func randrw(t testing.TB) []byte {
	t.Helper()
	log, err := os.ReadFile("../../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

var formats = []string{"plain", "gzip", "zstd"}

func TestOpen(t *testing.T) {
	t.Parallel()
	log := randrw(t)
	for _, format := range formats {
		packed := pack(t, format, log)
		half := len(log) / 2
		skip := append([]byte{0x5E, 0x2A, 0x4D, 0x18, 4, 0, 0, 0}, "skip"...)
		for name, data := range map[string][]byte{
			"one":               packed,
			"several in one":    append(pack(t, format, log[:half]), pack(t, format, log[half:])...),
			"an empty one, too": append(bytes.Clone(packed), pack(t, format, nil)...),
			"skippable frame":   append(skip, packed...),
		} {
			if name == "skippable frame" && format != "zstd" {
				continue
			}
			t.Run(format+"/"+name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "a.txt") // no suffix that tells
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				for _, from := range []struct {
					path  string
					stdin io.Reader
				}{{path, nil}, {"-", bytes.NewReader(data)}, {"-", iotest.OneByteReader(bytes.NewReader(data))}, {"-",
					iotest.DataErrReader(bytes.NewReader(data))}} {
					in, err := source.Open(from.path, from.stdin)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(in)
					if err != nil || !bytes.Equal(got, log) {
						t.Errorf("%s: %d bytes, want %d: %v", from.path, len(got), len(log), err)
					}
					if err := in.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestOpen_OtherPrograms: files of many frames or members, as pzstd and bgzip write them.
func TestOpen_OtherPrograms(t *testing.T) {
	t.Parallel()
	log := randrw(t)
	for file, want := range map[string][]byte{"pzstd-1.5.4.zst": bytes.Repeat(log, 24), "bgzip-1.16.gz": log,
		"bzip2-1.0.8.bz2": log} {
		in, err := source.Open("testdata/packed/"+file, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d: %v", file, len(got), len(want), err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpen_Short: files shorter than what tells the format.
func TestOpen_Short(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "\n", "1", "12, 0", "\xFD7zX", "PK", "\x28\xB5"} {
		in, err := source.Open("-", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != data {
			t.Errorf("%q: got %q, %v", data, got, err)
		}
	}
}

func TestOpen_NoSuchFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.log")
	if _, err := source.Open(path, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// TestOpen_Cut cuts compressed logs at many places: the records before the cut
// come, complete ones only, and then one error that says what happened.
func TestOpen_Cut(t *testing.T) {
	t.Parallel()
	log := randrw(t)
	for _, format := range formats[1:] {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			packed := pack(t, format, log)
			most := 0
			for cut := len(packed) - 1; cut > 5; cut = cut * 9 / 10 {
				in, err := source.Open("-", bytes.NewReader(packed[:cut]))
				if err != nil {
					t.Fatal(err)
				}
				r := fiolog.NewReader(in, "-", fiolog.ReaderOptions{})
				records := 0
				for err == nil {
					var rec *fiolog.Record
					if rec, err = r.Next(); err == nil {
						if records++; rec.Line != int64(records) {
							t.Fatalf("record %d is of line %d", records, rec.Line)
						}
					}
				}
				var bad *fio.ParseError
				if !errors.As(err, &bad) || bad.Line != 0 || !strings.HasPrefix(bad.Msg,
					"unexpected end of "+format+" data after ") || bad.Hint == "" {
					t.Fatalf("cut at %d of %d: after %d records: %v", cut, len(packed), records, err)
				}
				if want := fmt.Sprintf("data after %d bytes", cut); !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
				if _, err = r.Next(); !errors.Is(err, io.EOF) {
					t.Fatalf("after the error: %v", err)
				}
				most = max(most, records)
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if most < 20 {
				t.Errorf("at most %d of 38 records came before the cut", most)
			}
		})
	}
}

// TestOpen_CutInHeader cuts the second of two compressed files in one near its
// start: none of these is the end of the data.
func TestOpen_CutInHeader(t *testing.T) {
	t.Parallel()
	log := randrw(t)[:6000]
	var named bytes.Buffer
	z := gzip.NewWriter(&named)
	z.Name = "randrw_clat_hist.1.log"
	_, err := z.Write(log)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	for _, format := range formats[1:] {
		first, second := pack(t, format, log), pack(t, format, log)
		if format == "gzip" {
			second = named.Bytes()
		}
		for cut := 1; cut < 60; cut++ {
			in, err := source.Open("-", io.MultiReader(bytes.NewReader(first), bytes.NewReader(second[:cut])))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(in)
			var bad *fio.ParseError
			if !errors.As(err, &bad) || !bytes.HasPrefix(got, log) {
				t.Errorf("%s, cut after %d bytes: %d bytes, %v", format, cut, len(got), err)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOpen_Damaged flips bytes: there must be an error that names the format, or
// (where the format has no checksum over it) other data; never a panic.
func TestOpen_Damaged(t *testing.T) {
	t.Parallel()
	log := randrw(t)
	for _, format := range formats[1:] {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			packed := pack(t, format, log[:50_000])
			named := 0
			for at := 6; at < len(packed); at += 1 + len(packed)/97 {
				bent := bytes.Clone(packed)
				bent[at] ^= 0x55
				in, err := source.Open("-", bytes.NewReader(bent))
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadAll(in)
				var bad *fio.ParseError
				if errors.As(err, &bad) {
					if !strings.Contains(bad.Msg, format+" data") || bad.File != "-" || bad.Hint == "" {
						t.Errorf("byte %d: %v", at, err)
					}
					named++
				} else if err != nil {
					t.Errorf("byte %d: %v", at, err)
				}
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if named < 50 {
				t.Errorf("only %d damages found", named)
			}
		})
	}
}

// TestOpen_InputError: an error of the file is not taken for damage of the data.
func TestOpen_InputError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the cable is out")
	log := randrw(t)
	for _, format := range formats {
		for _, from := range []int{0, 3, 2000} {
			in, err := source.Open("-", io.MultiReader(bytes.NewReader(pack(t, format, log)[:from]),
				iotest.ErrReader(broken)))
			if err == nil {
				_, err = io.ReadAll(in)
			}
			if !errors.Is(err, broken) {
				t.Errorf("%s, after %d bytes: %v", format, from, err)
			}
		}
	}
}

// TestOpen_Close: what is closed early reads nothing more, and the decompressor that
// another stream takes over begins anew.
func TestOpen_Close(t *testing.T) {
	t.Parallel()
	log := randrw(t)
	for _, format := range formats {
		data := bytes.Repeat(pack(t, format, log), 20)
		for range 3 {
			in := bytes.NewReader(data)
			s, err := source.Decompress(struct{ io.Reader }{in}, "log", nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 1000)
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, log[:len(got)]) {
				t.Fatalf("%s: %v, %q", format, err, got)
			}
			left := in.Len()
			if err := s.Close(); err != nil || left == 0 || in.Len() != left {
				t.Errorf("%s: %v, %d bytes to come, %d after closing", format, err, left, in.Len())
			}
			if _, err := s.Read(got); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s: read after closing: %v", format, err)
			}
		}
	}
}

// TestOpen_Bombs: data that grows a thousandfold passes through in bounded memory,
// and data that asks for a huge window is refused.
func TestOpen_Bombs(t *testing.T) {
	testkit.NotRaced(t)
	const size = 256 << 20
	for _, format := range formats[1:] {
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if format == "zstd" {
			var err error
			if w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)); err != nil {
				t.Fatal(err)
			}
		}
		zeros := bytes.Repeat([]byte("0, "), 1<<18)
		for n := 0; n < size; n += len(zeros) {
			if _, err := w.Write(zeros); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in, err := source.Open("-", &b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fiolog.NewReader(in, "bomb", fiolog.ReaderOptions{}).Next()
		var bad *fio.ParseError
		if !errors.As(err, &bad) || !strings.Contains(bad.Msg, "a line of more than") {
			t.Fatalf("%s: %v", format, err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
			t.Errorf("%s: %d bytes allocated", format, got)
		}
	}
}

// TestOpen_HugeWindows: whatever a header asks for, in a first or a later frame, a decompressor takes less than
// 128 MB.
func TestOpen_HugeWindows(t *testing.T) {
	log := randrw(t)
	zst := func(window byte) []byte {
		b := pack(t, "zstd", log)
		if b[4]&0x20 != 0 {
			t.Fatal("this frame has no window")
		}
		b[5] = window << 3 // 2^(10+window) bytes
		return b
	}
	for name, tc := range map[string]struct {
		data []byte
		fail bool
	}{
		"zstd, 2^40":              {zst(30), true},
		"zstd, 128 MiB":           {zst(17), true},
		"zstd, 64 MiB":            {zst(16), false},
		"zstd, a later frame":     {slices.Concat(zst(10), zst(21)), true},
		"zstd, many large frames": {bytes.Repeat(zst(16), 5), false},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			stop, peak := make(chan bool), make(chan uint64)
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			go func() {
				most := uint64(0)
				for {
					select {
					case <-stop:
						peak <- most
						return
					default:
						var now runtime.MemStats
						runtime.ReadMemStats(&now)
						most = max(most, now.HeapAlloc)
						time.Sleep(time.Millisecond)
					}
				}
			}()
			in, err := source.Open("-", bytes.NewReader(tc.data))
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, in)
			stop <- true
			if got := int64(<-peak) - int64(before.HeapAlloc); got > 128e6 {
				t.Errorf("%d bytes in use", got)
			}
			if !tc.fail && (err != nil || n == 0) || tc.fail && (err == nil ||
				!strings.Contains(err.Error(), "zstd data with a window of more than 64 MiB")) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}

// TestOpen_FileGetsShorter: a plain file that gets shorter while it is read is a cut log,
// not a crash.
func TestOpen_FileGetsShorter(t *testing.T) {
	t.Parallel()
	log := randrw(t)
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := source.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := fiolog.NewReader(in, path, fiolog.ReaderOptions{Block: 10_000})
	if _, err = r.Next(); err != nil {
		t.Fatal(err)
	}
	if err = os.Truncate(path, 30_000); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Next()
	}
	if !strings.Contains(err.Error(), ":6: the log is cut: its last line ends after ") {
		t.Errorf("%v", err)
	}
}
