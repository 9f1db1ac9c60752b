package logs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// TestOpenRefused: a log that cannot be read at its start is an error that names it.
func TestOpenRefused(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for _, tt := range []struct {
		name, data string
		stdin      io.Reader // else a file
		noHash     bool
		want       string
	}{
		{"sound", "1000, 0, 4096, 1\n", nil, false, ""},
		{"sound, from a pipe", "", strings.NewReader("1000, 0, 4096, 1\n"), false, ""},
		{"xz", "\xfd7zXZ\x00", nil, false, "xz"},
		{"xz, not hashed", "\xfd7zXZ\x00", nil, true, "xz"},
		{"a pipe that breaks", "", iotest.ErrReader(broken), false, broken.Error()},
		{"a pipe that breaks, not hashed", "", iotest.ErrReader(broken), true, broken.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := "-"
			if tt.stdin == nil {
				path = filepath.Join(t.TempDir(), "a_clat_hist.1.log")
				if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfg := &Config{Files: new(source.Files), Stdin: tt.stdin, NoHash: tt.noHash}
			l := &State{cfg: cfg, Member: intervals.Member{
				Log: &pipeline.Log{Log: &ingest.Log{Source: &ingest.Source{Path: path}}}}}
			o, err := openLog(l)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path) {
					t.Errorf("%v, want %s: ... %s", err, path, tt.want)
				}
				return
			}
			if err == nil {
				err = o.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCounted: an entry's I/Os are those of all its directions, or of unified_rw_reporting=mixed.
func TestCounted(t *testing.T) {
	t.Parallel()
	e := &fiojson.Entry{}
	for d, n := range []uint64{1, 20, 300} { // reads, writes, trims
		e.Dirs[d].Kind[fio.Clat].N, e.Dirs[d].TotalIOs = n, 2*n
	}
	mixed := &fiojson.Entry{}
	mixed.Mixed.Kind[fio.Clat].N, mixed.Mixed.TotalIOs = 7, 9
	for _, tt := range []struct {
		name             string
		entry            *fiojson.Entry
		kind             fio.Kind
		measured, issued uint64
	}{
		{"directions", e, fio.Clat, 321, 642},
		{"of another kind", e, fio.Slat, 0, 642},
		{"mixed", mixed, fio.Clat, 7, 9},
	} {
		measured, issued := jobLog(&fiojson.Document{}, tt.entry).counted(tt.kind)
		if measured != tt.measured || issued != tt.issued {
			t.Errorf("%s: %d measured of %d, want %d of %d", tt.name, measured, issued, tt.measured, tt.issued)
		}
	}
}

// TestIdle: an empty log is its job's if fio measured no I/O of it; one that it measured is missing.
func TestIdle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		measured, issued uint64
		failed           int
		full             bool
		want             string // the beginning; "" if the log should not be empty
	}{
		{"nothing done", 0, 0, 0, false, "by fio's JSON it did no I/O"},
		{"one measured", 1, 1, 0, false, ""},
		{"one measured, then it failed", 1, 1, 5, false, ""},
		{"none measured", 0, 9, 0, false, "of its 9 I/Os fio measured no latency"},
		{"failed", 0, 0, 5, false, "fio ended it with error 5 (input/output error), and measured no latencies"},
		{"not empty", 0, 0, 0, true, ""},
	} {
		e := &fiojson.Entry{Error: tt.failed}
		e.Dirs[fio.Write].Kind[fio.Clat].N, e.Dirs[fio.Write].TotalIOs = tt.measured, tt.issued
		l := jobLog(&fiojson.Document{}, e)
		l.Empty = !tt.full
		if got := l.idle(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
