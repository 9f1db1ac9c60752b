package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"fiolat/internal/fiohist"
)

// slowLine is what a line says, the obvious way; ok is false for one that is not
// what fio writes.
func slowLine(line string, columns int) (r Record, n int, ok bool) {
	fields := strings.Split(line, ",")
	if len(fields) < 4 {
		return r, 0, false
	}
	for i, f := range fields {
		f = strings.Trim(f, " \t")
		if f == "" || strings.Trim(f, "0123456789") != "" {
			return r, 0, false
		}
		v, err := strconv.ParseUint(f, 10, 64)
		switch {
		case err != nil, i == 0 && v > MaxTime, i == 1 && v >= Directions, i > 2 && v > MaxCount:
			return r, 0, false
		case i == 0:
			r.Time = int64(v)
		case i == 1:
			r.Dir = Direction(v)
		case i > 2 && v > 0:
			r.Index = append(r.Index, uint16(i-3))
			r.Count = append(r.Count, v)
		}
	}
	n = len(fields) - 3
	if columns > 0 {
		return r, n, n == columns
	}
	_, err := fiohist.GeometryOf(n)
	return r, n, err == nil
}

// slowRead reads a whole log; bad are the numbers of the lines that are none.
func slowRead(text string) (records []Record, bad []int64) {
	columns := 0
	line := int64(0)
	for l := range strings.Lines(text) {
		line++
		if l = strings.TrimSuffix(l, "\n"); l == "" {
			continue
		}
		r, n, ok := slowLine(l, columns)
		if !ok {
			bad = append(bad, line)
			continue
		}
		columns = n
		r.Line = line
		records = append(records, r)
	}
	return records, bad
}

// fastRead does the same with the Reader.
func fastRead(tb testing.TB, r *Reader) (records []Record, bad []int64) {
	tb.Helper()
	for {
		rec, err := r.Next()
		var parse *ParseError
		switch {
		case errors.Is(err, io.EOF):
			return records, bad
		case errors.As(err, &parse):
			bad = append(bad, parse.Line)
			if parse.Msg == "" || parse.Hint == "" || parse.File != "x.log" {
				tb.Fatalf("%+v says too little", parse)
			}
		case err != nil:
			tb.Fatal(err)
		default:
			records = append(records, *rec.Clone())
		}
	}
}

func sameRecords(tb testing.TB, what string, got, want []Record, gotBad, wantBad []int64) {
	tb.Helper()
	if !reflect.DeepEqual(gotBad, wantBad) {
		tb.Fatalf("%s: bad lines %v, want %v", what, gotBad, wantBad)
	}
	if len(got) != len(want) {
		tb.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i].Time != want[i].Time || got[i].Dir != want[i].Dir || got[i].Line != want[i].Line ||
			fmt.Sprint(got[i].Index, got[i].Count) != fmt.Sprint(want[i].Index, want[i].Count) {
			tb.Fatalf("%s: record %d is %+v, want %+v", what, i, got[i], want[i])
		}
	}
}

const realLogs = "../testdata/fio/*/*_clat_hist.*.log*"

// TestReader reads real logs, whatever the blocks in which they come.
func TestReader(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(realLogs)
	if err != nil || len(files) < 15 {
		t.Fatalf("%d logs (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, wantBad := slowRead(string(text))
			if len(want) == 0 || len(wantBad) > 0 {
				t.Fatalf("%d records, bad lines %v", len(want), wantBad)
			}
			for _, block := range []int{1, 7, 1000, 8191, 1 << 20} {
				got, bad := fastRead(t, NewReader(bytes.NewReader(text), "x.log", ReaderOptions{Block: block}))
				sameRecords(t, fmt.Sprintf("block %d", block), got, want, bad, wantBad)
			}
			got, bad := fastRead(t, NewReader(iotest.HalfReader(bytes.NewReader(text)), "x.log", ReaderOptions{Block: 64}))
			sameRecords(t, "half reads", got, want, bad, wantBad)

			// And back: what is written is what fio wrote, but for the block size.
			g, err := fiohist.GeometryOf(strings.Count(strings.SplitN(string(text), "\n", 2)[0], ",") - 2)
			if err != nil {
				t.Fatal(err)
			}
			var back []byte
			for i := range want {
				back = AppendRecord(back, &want[i], g.Columns())
			}
			if string(back) != string(text) {
				t.Error("written back it is another log")
			}
		})
	}
}

func TestReaderSpacing(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0, ", 28)
	tests := []struct{ name, text string }{
		{"no blanks", "1,0,4096" + strings.Repeat(",0", 28) + ",5\n"},
		{"two blanks", "1,  0,  4096" + strings.Repeat(",  0", 28) + ",  5\n"},
		{"tabs and trailing blanks", "1\t,0 ,4096" + strings.Repeat("\t,\t0", 28) + ", 5 \t\n"},
		{"no end of line", "1, 0, 4096, " + zeros + "5"},
		{"empty lines between", "\n1, 0, 4096, " + zeros + "5\n\n\n2, 1, 4096, " + zeros + "6\n\n"},
		{"leading zeros", "1, 0, 4096, " + strings.Repeat("00, ", 28) + "005\n"},
		{"a comma at the end", "1, 0, 4096, " + zeros + "5,\n"},
		{"blanks within a number", "1, 0, 4096, " + zeros + "5 5\n"},
		{"only commas", ",,,\n"},
		{"a short line", "1, 0\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, wantBad := slowRead(tt.text)
			got, bad := fastRead(t, NewReader(strings.NewReader(tt.text), "x.log", ReaderOptions{}))
			sameRecords(t, tt.name, got, want, bad, wantBad)
		})
	}
}

// TestReaderInputError: an error of the input itself ends the reading, after the
// whole lines before it, and names the file.
func TestReaderInputError(t *testing.T) {
	t.Parallel()
	line := "1, 0, 4096, " + strings.Repeat("0, ", 28) + "5\n"
	broken := errors.New("disk on fire")
	r := NewReader(io.MultiReader(strings.NewReader(line+line[:20]), iotest.ErrReader(broken)), "x.log", ReaderOptions{})
	if _, err := r.Next(); err != nil {
		t.Fatalf("the first line: %v", err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "x.log: after line 1") {
			t.Fatalf("error %v, want the input's with the file's name", err)
		}
	}
}

// TestReaderAllocs: records are read without allocating.
func TestReaderAllocs(t *testing.T) {
	text, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(&endless{text: text}, "x.log", ReaderOptions{})
	next := func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// endless repeats a text.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// FuzzReader compares with the slow twin, whatever the input and the block.
func FuzzReader(f *testing.F) {
	files, err := filepath.Glob(realLogs)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files[:3] {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text[:bytes.IndexByte(text, '\n')+1]), uint16(100))
	}
	coarse := "1003, 1, 4096, " + strings.Repeat("0, ", 20) + "17, 0, 0, 3, 0, 0, 0, 0, 99\n"
	for _, s := range []string{coarse + coarse, coarse[:40], coarse[:len(coarse)-1], "\xef\xbb\xbf" + coarse, strings.ReplaceAll(coarse, "\n", "\r\n"),
		strings.Replace(coarse, "17", "-17", 1), strings.Replace(coarse, "17", "18446744073709551617", 1), "1, 94230894823, 0, 4096, 0\n", "\x00\x01\n"} {
		f.Add(s, uint16(9))
	}
	f.Fuzz(func(t *testing.T, text string, block uint16) {
		want, wantBad := slowRead(text)
		got, bad := fastRead(t, NewReader(strings.NewReader(text), "x.log", ReaderOptions{Block: int(block)}))
		sameRecords(t, "fuzz", got, want, bad, wantBad)
	})
}

// BenchmarkReader: go test ./ingest -bench Reader. The text comes from memory; the
// rate is that of parsing alone.
func BenchmarkReader(b *testing.B) {
	for _, name := range []string{"randrw", "exact", "epoch"} {
		text, err := os.ReadFile("../testdata/fio/" + name + "/" + name + "_clat_hist.1.log")
		if err != nil {
			b.Fatal(err)
		}
		b.Run("file="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			lines := bytes.Count(text, []byte("\n"))
			r := NewReader(&endless{text: text}, "x.log", ReaderOptions{})
			for b.Loop() {
				for range lines {
					if _, err := r.Next(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
