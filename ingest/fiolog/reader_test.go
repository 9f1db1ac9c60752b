package fiolog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/source"
	"fiolat/internal/testkit"
)

// item is what stands in one line of a log: a record, or something bad.
type item struct {
	rec  Record
	line int64
	bad  bool
}

func (i item) String() string {
	if i.bad {
		return fmt.Sprintf("line %d: bad", i.line)
	}
	return fmt.Sprintf("line %d: %d, %v, %v %v", i.line, i.rec.Time, i.rec.Dir, i.rec.Index, i.rec.Count)
}

func (i item) equal(o item) bool {
	return i.line == o.line && i.bad == o.bad && i.rec.Time == o.rec.Time && i.rec.Dir == o.rec.Dir &&
		slices.Equal(i.rec.Index, o.rec.Index) && slices.Equal(i.rec.Count, o.rec.Count) && i.rec.IOs == o.rec.IOs
}

// slowRead is the Reader's obvious twin: the whole log in memory, split at commas.
func slowRead(data []byte, maxLine, columns int) (items []item, total uint64) {
	for n, line := range strings.Split(string(data), "\n") {
		it := item{line: int64(n + 1)}
		if len(line) <= maxLine {
			line = strings.TrimSuffix(line, "\r")
		}
		if len(line) <= maxLine && strings.Trim(line, " \t") == "" {
			continue
		}
		rec, got, err := slowParse(line)
		if _, fits := fiohist.GeometryOf(got); err != nil || fits != nil || columns != 0 && got != columns ||
			len(line) > maxLine {
			it.bad = true
		} else {
			columns = got
			it.rec = rec
			total += rec.IOs
		}
		items = append(items, it)
	}
	return items, total
}

func slowParse(line string) (rec Record, columns int, err error) {
	var v []uint64
	for f := range strings.SplitSeq(line, ",") {
		n, err := strconv.ParseUint(strings.Trim(f, " \t"), 10, 64)
		if err != nil {
			return rec, 0, err
		}
		v = append(v, n)
	}
	if len(v) < 3 || v[0] > MaxTime || v[1] > 2 {
		return rec, 0, errors.New("bad start")
	}
	rec.Time, rec.Dir = int64(v[0]), fio.Direction(v[1])
	for i, c := range v[3:] {
		if c > MaxCount {
			return rec, 0, errors.New("wrapped")
		}
		if c > 0 {
			rec.Index, rec.Count = append(rec.Index, uint16(i)), append(rec.Count, float64(c))
			rec.IOs += c
		}
	}
	return rec, len(v) - 3, nil
}

// readAll is everything that a Reader says, bad lines by their number only.
func readAll(t testing.TB, r *Reader) (items []item) {
	t.Helper()
	for {
		rec, err := r.Next()
		var bad *fio.ParseError
		switch {
		case errors.Is(err, io.EOF):
			if rec, err = r.Next(); rec != nil || !errors.Is(err, io.EOF) {
				t.Fatalf("after the end: %v, %v", rec, err)
			}
			return items
		case errors.As(err, &bad):
			if bad.Line != r.Line() || bad.Msg == "" || bad.Hint == "" {
				t.Fatalf("line %d: incomplete error %+v", r.Line(), bad)
			}
			items = append(items, item{line: bad.Line, bad: true})
		case err != nil:
			t.Fatal(err)
		default:
			if rec.Line != r.Line() {
				t.Fatalf("record of line %d, but Line is %d", rec.Line, r.Line())
			}
			items = append(items, item{line: rec.Line, rec: *rec.Clone()})
		}
	}
}

func sameItems(t testing.TB, what string, got, want []item) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: %v is missing", what, want[i])
		case i >= len(want):
			t.Fatalf("%s: %v is too much", what, got[i])
		case !got[i].equal(want[i]):
			t.Fatalf("%s:\n got %v\nwant %v", what, got[i], want[i])
		}
	}
}

// realLogs are logs that fio wrote, by name.
func realLogs(t testing.TB) map[string][]byte {
	t.Helper()
	logs := map[string][]byte{}
	for _, pattern := range []string{"../../testdata/fio/*/*_clat_hist.*", "testdata/logs/fio-*/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, f := range files {
			in, err := source.Open(f, nil)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(in)
			if err = errors.Join(err, in.Close()); err != nil {
				t.Fatal(err)
			}
			logs[filepath.Base(f)] = data
		}
	}
	return logs
}

func TestReader_RealLogs(t *testing.T) {
	for name, data := range realLogs(t) {
		want, total := slowRead(data, defaultMaxLine, 0)
		whole := NewBytesReader(data, name, ReaderOptions{})
		got := readAll(t, whole)
		sameItems(t, name, got, want)
		for _, block := range []int{0, 100, 5000, 16 << 10} {
			r := NewReader(bytes.NewReader(data), name, ReaderOptions{Block: block})
			sameItems(t, fmt.Sprintf("%s in blocks of %d", name, block), readAll(t, r), want)
		}
		if strings.HasPrefix(name, "lc_") {
			continue // log_compression: nothing but errors
		}
		g, ok := whole.Geometry()
		if !ok {
			t.Fatalf("%s: no geometry", name)
		}
		// Every line is one that the fast way takes, and comes back byte for byte
		// but for the block size.
		var sum uint64
		for n, line := range bytes.SplitAfter(data, []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			rec := newRecord(1856)
			for way, scan := range scanners() {
				if used := scan(append(bytes.Clone(line), make([]byte, slack)...), &rec,
					g.Columns()); used != len(line) {
					t.Fatalf("%s:%d: %s took %d of %d bytes", name, n+1, way, used, len(line))
				}
			}
			sum += rec.IOs
			fields := strings.SplitN(string(line), ", ", 4)
			fields[2] = blockSize
			if back := AppendRecord(nil, &rec, g.Columns()); string(back) != strings.Join(fields, ", ") {
				t.Fatalf("%s:%d: written back as\n%.200s", name, n+1, back)
			}
		}
		if sum != total || total == 0 {
			t.Errorf("%s: %d I/Os, want %d", name, sum, total)
		}
	}
}

// scanners are the ways in which scanLine reads the columns of a line, those that this
// processor has.
func scanners() map[string]func([]byte, *Record, int) int {
	ways := map[string]func([]byte, *Record, int) int{}
	for name, columns := range map[string]func([]byte, int, []uint16, []float64) (end, n int, sum uint64){
		"Portable": portable, "AVX2": avx2,
	} {
		if name == "AVX2" && !hasAVX2 {
			continue
		}
		ways[name] = func(b []byte, rec *Record, n int) int {
			p, ok := scanHead(b, rec)
			if !ok {
				return 0
			}
			index, count := rec.Index[:n], rec.Count[:n]
			end, n, sum := columns(b, p, index, count)
			if end != 0 {
				rec.Index, rec.Count, rec.IOs = index[:n], count[:n], sum
			}
			return end
		}
	}
	return ways
}

// newRecord has room for so many columns, not more.
func newRecord(columns int) Record {
	return Record{Index: make([]uint16, 0, columns+spare), Count: make([]float64, 0, columns+spare)}
}

// line is a record of a log with 29 columns (log_hist_coarseness=6): short lines
// make readable tests. Each edit is a column and its text.
func line(edits ...string) string {
	f := strings.Split("1000, 0, 4096"+strings.Repeat(", 0", 29), ", ")
	f[3+7], f[3+8], f[3+9] = "12", "345", "6"
	for i := 0; i+1 < len(edits); i += 2 {
		n, err := strconv.Atoi(edits[i])
		if err != nil {
			panic(err)
		}
		f[n] = edits[i+1]
	}
	return strings.Join(f, ", ")
}

// TestReader_Defects has a case for each way in which a log can be wrong. Each is
// line 3 of a log of five lines (good elsewhere) unless the case says otherwise.
func TestReader_Defects(t *testing.T) {
	long := line() + strings.Repeat(", 0", 100)
	tests := []struct {
		name string
		text string // of line 3, without its end
		log  string // or the whole log
		line int64  // where the first error is; default 3
		bad  int    // how many errors there are; default 1
		good int    // how many records; default 4
		msg  string
		hint string
	}{
		{name: "a bucket too few", text: strings.TrimSuffix(line(), ", 0"), msg: "28 buckets, want 29: line cut short?",
			hint: "re-run fio or copy the log again, or pass --skip-bad"},
		{name: "a bucket too many", text: line() + ", 0", msg: "30 buckets, want 29", hint: "--skip-bad"},
		{name: "two lines in one", text: line() + line(), msg: "60 buckets, want 29: two lines run into one?",
			hint: "--skip-bad"},
		{name: "a bucket too few, beyond the largest geometry", text: line() + strings.Repeat(", 0", 3000),
			msg: "3029 buckets, want 29"},
		{name: "only a stamp", text: "1000", msg: "0 buckets, want 29"},
		{name: "letters", text: line("20", "abc"), msg: "column 21 is not a number", hint: "NAME_clat_hist.N.log"},
		{name: "letters behind digits", text: line("20", "12x"), msg: "column 21 is not a number"},
		{name: "a text header", text: "time, direction, bs, counts", msg: "column 1 is not a number",
			hint: "is it a histogram log"},
		{name: "a fraction", text: line("20", "1.5"), msg: "column 21 is not a number"},
		{name: "two numbers in a column", text: line("20", "1 5"), msg: `column 21: "1 5" is not a number`},
		{name: "a semicolon", text: strings.ReplaceAll(line(), ",", ";"), msg: "column 1 is not a number",
			hint: "is it a histogram log"},
		{name: "a plus sign", text: line("20", "+5"), msg: "column 21 is not a number"},
		{name: "what could move the cursor", text: line("20", "a\x1b[2J"), msg: "column 21: binary data"},
		{name: "letters of another script", text: line("20", "zwölf"), msg: "column 21 is not a number"},
		{name: "a long text is quoted in part", text: line("20", strings.Repeat("1 ", 90)+"1"), msg: `column 21: "` +
			strings.Repeat("1 ", 20) + `..." is not a number`},
		{name: "a negative number", text: line("20", "-1"), msg: "column 21 is negative", hint: "--skip-bad"},
		{name: "a negative stamp", text: line("0", "-1000"), msg: "column 1 is negative"},
		{name: "2^64", text: line("20", "18446744073709551616"),
			msg: `column 21: "18446744073709551616" is beyond 2^64`, hint: "--skip-bad"},
		{name: "beyond 2^64", text: line("20", strings.Repeat("9", 30)), msg: `999" is beyond 2^64`},
		{name: "2^64 - 1 in a low bucket", text: line("4", "18446744073709551615"),
			msg:  "bucket 1 holds 18446744073709551615 I/Os: a counter that wrapped around below 0",
			hint: "another version of fio"},
		{name: "a wrapped counter in a high bucket", text: line("20", "18446744073709551000"),
			msg: "versions 3.6 to 3.16", hint: "another version of fio"},
		{name: "a count above MaxCount", text: line("20", strconv.Itoa(MaxCount+1)),
			msg:  "bucket 17 holds 17592186044416 I/Os: arbitrary memory instead of a count",
			hint: "another version of fio"},
		{name: "direction 3", text: line("1", "3"), msg: "direction 3: fio knows 0 (read), 1 (write) and 2 (trim)"},
		{name: "direction 10", text: line("1", "10"), msg: "direction 10:"},
		{name: "a stamp beyond the year 2200", text: line("0", strconv.Itoa(MaxTime+1)),
			msg: "the stamp 7258118400001 ms is beyond the year 2200"},
		{name: "a stamp in ns", text: line("0", "1700000000000000000"), msg: "beyond the year 2200"},
		{name: "an empty column", text: strings.Replace(line(), "0, 0, 0, 0", "0, 0,, 0", 1), msg: "column 6 is empty"},
		{name: "a column of blanks", text: strings.Replace(line(), "0, 0, 0, 0", "0, 0, \t , 0", 1),
			msg: "column 6 is empty"},
		{name: "a comma at the end", text: line() + ",", msg: "column 33 is empty"},
		{name: "a comma at the start", text: ", " + line(), msg: "column 1 is empty"},
		{name: "NUL bytes", text: line("20", "\x00\x00\x00"),
			msg: `column 21: binary data (a file system's zeros after a crash, or UTF-16 text)`, hint: "undamaged?"},
		{name: "NUL bytes only", text: strings.Repeat("\x00", 4096), msg: "column 1: binary data (a file"},
		{name: "control bytes", text: "\x01" + line(), msg: "binary data"},
		{name: "bytes that are no UTF-8", text: line("20", "\xc0\xff"), msg: "column 21: binary data"},
		{name: "DEL", text: line("20", "1\x7f"), msg: "binary data"},
		{name: "a carriage return inside", text: line("20", "1\r2"), msg: "binary data"},
		{name: "a UTF-8 byte-order mark", log: "\xef\xbb\xbf" + line() + "\n" + line() + "\n", line: 1, good: 1,
			msg: "UTF-8 byte-order mark", hint: "tail -c +4"},
		{name: "a UTF-8 byte-order mark further on", text: "\xef\xbb\xbf" + line(), msg: "column 1 is not a number"},
		{name: "UTF-16", log: utf16(line() + "\n" + line() + "\n"), line: 1, bad: 3, good: -1,
			msg: "UTF-16 byte-order mark", hint: "iconv"},
		{name: "a line that is too long", text: long, msg: "a line of more than 200 bytes", hint: "--skip-bad"},
		{name: "a last line that is too long", log: line() + "\n" + long, line: 2, good: 1,
			msg: "a line of more than 200 bytes"},
		{name: "an only line that is too long", log: long + "\n", line: 1, good: -1,
			msg: "a line of more than 200 bytes"},
		{name: "cut in a number", log: line() + "\n" + line()[:40], line: 2, good: 1,
			msg:  "the log is cut: its last line ends after 8 of 29 buckets, without a newline",
			hint: "fio was killed, the disk was full"},
		{name: "cut behind a comma", log: line() + "\n" + line()[:34], line: 2, good: 1,
			msg: "the log is cut: its last line ends after 7 of 29 buckets"},
		{name: "cut behind a blank", log: line() + "\n" + line()[:35], line: 2, good: 1,
			msg: "ends after 7 of 29 buckets"},
		{name: "cut in the stamp", log: line() + "\n" + line()[:2], line: 2, good: 1,
			msg: "ends after 0 of 29 buckets"},
		{name: "cut and bad", log: line() + "\n" + line("4", "x")[:30], line: 2, good: 1,
			msg: "column 5 is not a number"},
		{name: "cut in the only line", log: line()[:40], line: 1, good: -1,
			msg: "its last line ends after 8 buckets, without", hint: "fio was killed"},
		{name: "a column count of no geometry", log: strings.Repeat(strings.Repeat("1, ", 1857)+"1\n", 2),
			line: 1, bad: 2, good: -1, msg: "1855 buckets fit no version of fio", hint: "is it a histogram log"},
		{name: "a bad first line does not set the columns",
			log:  line() + strings.Repeat(", 0", 4) + "\n" + line() + "\n" + line() + "\n",
			line: 1, good: 2, msg: "33 buckets fit no version of fio"},
		{name: "log_compression", log: "501, 94470363743424, 1, 4096, 0\n501, 94470363791088, 0, 4096, 0\n", line: 1,
			bad: 2, good: -1, msg: "5 columns, the second of them an address: with log_compression fio logs pointers",
			hint: "without log_compression"},
		{name: "log_compression without offsets", log: "501, 94470363743424, 1, 4096\n", line: 1, good: -1,
			msg: "4 columns, the second of them an address"},
		{name: "log_compression, cut", log: "501, 94470363743424, 1, 4096, 0\n501, 944703637", line: 1, bad: 2,
			good: -1, msg: "log_compression"},
		{name: "log_compression further on", text: "501, 94470363743424, 1, 4096, 0", msg: "log_compression"},
		{
			name: "log_compression over --client", log: "\x78\x9ccgd\x00\x83\x86\xd0\xfb\n", line: -1, good: -1,
			msg: "the log is zlib data: with log_compression fio --client stores", hint: "without log_compression",
		},
		{
			name: "log_offset over --client", log: line("3", "94178363392992") + "\n", line: 1, good: -1,
			msg:  "bucket 0 holds 94178363392992 I/Os: an address; with log_offset fio --client shifts histograms",
			hint: "without log_offset",
		},
		{name: "a log of single I/Os", log: "1, 81234, 0, 4096\n1, 2, 0, 4096, 8192, 0x0000\n", line: 1, bad: 2,
			good: -1, msg: "4 columns, as in a log of single I/Os (write_lat_log)", hint: "_clat_hist log"},
		{name: "a log of single I/Os of 1 ns", log: "1, 1, 0, 4096\n", line: 1, good: -1, msg: "log of single I/Os"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := tt.log
			if log == "" {
				log = strings.Repeat(line()+"\n", 2) + tt.text + "\n" + strings.Repeat(line()+"\n", 2)
			}
			want := struct {
				line      int64
				bad, good int
			}{tt.line, tt.bad, tt.good}
			if want.line == 0 {
				want.line = 3
			}
			if want.bad == 0 {
				want.bad = 1
			}
			switch want.good {
			case 0:
				want.good = 4
			case -1:
				want.good = 0
			}
			opt := ReaderOptions{}
			if strings.Contains(tt.name, "too long") {
				opt.MaxLine = 200
			}
			for _, block := range []int{-1, 0, 1, 50, 300} {
				opt.Block = block
				r := NewReader(strings.NewReader(log), "runs/a.log", opt)
				if block < 0 {
					r = NewBytesReader([]byte(log), "runs/a.log", opt)
				}
				var first *fio.ParseError
				bad, ok := 0, 0
				for {
					rec, err := r.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					var pe *fio.ParseError
					switch {
					case err == nil:
						if ok++; rec.IOs != 363 {
							t.Errorf("block %d: line %d: %d I/Os", block, rec.Line, rec.IOs)
						}
						continue
					case !errors.As(err, &pe):
						t.Fatal(err)
					}
					if bad++; first == nil {
						first = pe
					}
				}
				if first == nil {
					t.Fatalf("block %d: no error", block)
				}
				if bad != want.bad || ok != want.good {
					t.Errorf("block %d: %d errors and %d records, want %d and %d", block, bad, ok, want.bad, want.good)
				}
				prefix := fmt.Sprintf("runs/a.log:%d: ", want.line)
				if want.line < 0 {
					prefix = "runs/a.log: "
				}
				if text := first.Error(); !strings.HasPrefix(text, prefix) || !strings.Contains(first.Msg, tt.msg) ||
					!strings.Contains(first.Hint, tt.hint) || first.Hint == "" {
					t.Errorf("block %d:\n got %s\nwant %s...%s; ...%s", block, text, prefix, tt.msg, tt.hint)
				}
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

func TestReader_Accepts(t *testing.T) {
	full := line()
	tests := []struct {
		name string
		log  string
		n    int // records, each as line() has it
	}{
		{"no bytes", "", 0},
		{"an empty line only", "\n", 0},
		{"empty lines", "\n\n" + full + "\n\n" + full + "\n\n", 2},
		{"lines of blanks", " \n\t\n" + full + "\n  ", 1},
		{"no newline at the end", full + "\n" + full, 2},
		{"one line without a newline", full, 1},
		{"no spaces", strings.ReplaceAll(full, ", ", ",") + "\n", 1},
		{"two spaces", strings.ReplaceAll(full, ", ", ",  ") + "\n", 1},
		{"tabs", strings.ReplaceAll(full, ", ", ",\t") + "\n", 1},
		{"spaces before commas", strings.ReplaceAll(full, ", ", " , ") + "\n", 1},
		{"spaces at both ends", "  " + full + " \t \n", 1},
		{"leading zeros", strings.ReplaceAll(full, "345", "000000000000000000000000345") + "\n", 1},
		{"CRLF", full + "\r\n" + full + "\r\n\r\n" + full + "\r\n", 3},
		{"CRLF in some lines", full + "\n" + full + "\r\n" + full + "\r", 3},
		{"mixed", full + "\n" + strings.ReplaceAll(full, ", ", ",") + "\n" + full + "\n", 3},
		{"the largest block size", strings.Replace(full, "4096", "18446744073709551615", 1) + "\n" + full + "\n", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, block := range []int{-1, 0, 1, 7, 64} {
				r := NewReader(strings.NewReader(tt.log), "log", ReaderOptions{Block: block})
				if block < 0 {
					r = NewBytesReader([]byte(tt.log), "log", ReaderOptions{})
				}
				items := readAll(t, r)
				if len(items) != tt.n {
					t.Fatalf("block %d: %v, want %d records", block, items, tt.n)
				}
				for _, i := range items {
					if i.bad || i.rec.Time != 1000 || !slices.Equal(i.rec.Index, []uint16{7, 8, 9}) ||
						!slices.Equal(i.rec.Count, []float64{12, 345, 6}) {
						t.Errorf("block %d: %v", block, i)
					}
				}
			}
		})
	}
}

func TestReader_Zeros(t *testing.T) {
	log := "5, 2, 4096" + strings.Repeat(", 0", 1856) + "\n"
	r := NewReader(strings.NewReader(log+log), "log", ReaderOptions{})
	for range 2 {
		rec, err := r.Next()
		if err != nil || rec.Time != 5 || rec.Dir != fio.Trim || len(rec.Index) != 0 || len(rec.Count) != 0 {
			t.Fatalf("%+v, %v", rec, err)
		}
	}
	if g, ok := r.Geometry(); !ok || g != (fiohist.Geometry{Groups: 29, Unit: 1}) {
		t.Errorf("geometry %v, %v", g, ok)
	}
}

// TestReader_Counts has counts of every length next to each other, which is where
// the fast way changes its pace.
func TestReader_Counts(t *testing.T) {
	var log []byte
	rec := Record{Dir: fio.Write}
	v := uint64(1)
	for shift := range 200 {
		rec.Index, rec.Count = rec.Index[:0], rec.Count[:0]
		for i := range 1856 {
			v = v*6364136223846793005 + 1442695040888963407
			if v>>40%uint64(2+shift%7) != 0 {
				continue
			}
			c := v >> 33 % uint64(math.Pow10(1+i*7%14))
			if i == shift%5 {
				c = MaxCount
			}
			if c > 0 {
				rec.Index, rec.Count = append(rec.Index, uint16(i)), append(rec.Count, float64(c))
			}
		}
		rec.Time = int64(v >> 34)
		log = AppendRecord(log, &rec, 1856)
	}
	want, total := slowRead(log, defaultMaxLine, 0)
	if total == 0 || len(want) != 200 {
		t.Fatal("nothing to compare with")
	}
	sameItems(t, "bytes", readAll(t, NewBytesReader(log, "log", ReaderOptions{})), want)
	sameItems(t, "stream", readAll(t, NewReader(bytes.NewReader(log), "log", ReaderOptions{})), want)
}

// TestScanLine_Mutations puts every byte at every place of a line, and every three of
// those that matter: what the fast ways take, the careful way takes just so.
func TestScanLine_Mutations(t *testing.T) {
	testkit.NotRaced(t)
	lengths := "1000, 2, 4096" // of 100 columns; zeros around counts of up to seven digits
	for i := range 100 {
		lengths += ", " + "1203456789"[:max(i%11-3, 0)*(i/11%2)]
		if strings.HasSuffix(lengths, " ") {
			lengths += "0"
		}
	}
	zeros := "5, 1, 4096" + strings.Repeat(", 0", 80) + ", 10, 0, 7, 0, 0, 65, 43, 0, 2" + strings.Repeat(", 0", 60) +
		", 1"
	for way, scan := range scanners() {
		t.Run(way, func(t *testing.T) {
			took := 0
			for _, text := range []string{line(), line("10", "0"), line("3", "1", "4", "22", "31", "123456"), line("31",
				"1234567", "30", "12345678"), lengths, zeros} {
				columns := strings.Count(text, ",") - 2
				fast, careful := newRecord(columns), Record{}
				text += "\n"
				b := append([]byte(text), strings.Repeat("0, ", slack)...)
				check := func() {
					n := scan(b, &fast, columns)
					if n == 0 {
						return
					}
					took++
					if end := bytes.IndexByte(b, '\n'); n != end+1 {
						t.Fatalf("%q: took %d bytes, want %d", b[:len(text)], n, end+1)
					}
					got, bad := parseLine(bytes.TrimSuffix(b[:n-1], []byte{'\r'}), &careful, columns, false)
					if bad != nil || got != columns || fast.Time != careful.Time || fast.Dir != careful.Dir ||
						fast.IOs != careful.IOs ||
						!slices.Equal(fast.Index, careful.Index) || !slices.Equal(fast.Count, careful.Count) {
						t.Fatalf("%q:\nfast    %+v\ncareful %+v %v", b[:n], fast, careful, bad)
					}
				}
				const matter = "019, \nx"
				for i := range text {
					for c := range 256 {
						b[i] = byte(c)
						check()
					}
					for c := range len(matter) * len(matter) * len(matter) {
						b[i], b[i+1], b[i+2] = matter[c%len(matter)], matter[c/len(matter)%len(matter)],
							matter[c/len(matter)/len(matter)]
						check()
					}
					copy(b[i:len(text)], text[i:])
					copy(b[len(text):], "0, ")
				}
			}
			if took < 10000 {
				t.Errorf("it took only %d lines", took)
			}
		})
	}
}

// TestScanLine_Room: what lies behind a record's memory stays as it is, however many
// columns are not 0, and what is cut from a line is not made up.
func TestScanLine_Room(t *testing.T) {
	for columns := 1; columns < 150; columns++ {
		for _, column := range []string{", 0", ", 7", ", 0, 12", ", 345", ", 12345, 0"} {
			text := strings.TrimSuffix("1, 0, 4096"+strings.Repeat(column, columns), ", 0")
			n := strings.Count(text, ",") - 2
			if n <= 0 {
				continue
			}
			b := append([]byte(text), '\n')
			b = append(b, bytes.Repeat([]byte("8, "), slack)...)
			want, _, err := slowParse(text)
			if err != nil {
				t.Fatal(err)
			}
			for way, scan := range scanners() {
				rec := newRecord(n + 100)
				index, count := rec.Index[:cap(rec.Index)], rec.Count[:cap(rec.Count)]
				for i := range index {
					index[i], count[i] = 9999, -1
				}
				room := Record{Index: index[: 0 : n+spare], Count: count[: 0 : n+spare]}
				if used := scan(b[:len(text)+1+slack], &room, n); used != len(text)+1 ||
					!(item{rec: room}).equal(item{rec: want}) {
					t.Fatalf("%s: %q: took %d bytes: %v, want %v", way, text, used, item{rec: room}, item{rec: want})
				}
				for i := n + spare; i < len(index); i++ {
					if index[i] != 9999 || count[i] != -1 {
						t.Fatalf("%s: %d columns of %q: entry %d is written to", way, n, column, i)
					}
				}
				for _, other := range []int{n - 1, n + 1} {
					if used := scan(b, &rec, max(other, 1)); used != 0 && other > 0 {
						t.Fatalf("%s: %q: took %d bytes as %d columns", way, text, used, other)
					}
				}
			}
		}
	}
}

// inChunks is data that a Stream yields in chunks of size bytes.
func inChunks(t testing.TB, data []byte, size int) map[string]*source.Stream {
	t.Helper()
	streams := map[string]*source.Stream{}
	for format, packed := range map[string][]byte{"gzip": chunks(data, size, storedMember), "zstd": chunks(data, size,
		storedFrame)} {
		s, err := source.Decompress(bytes.NewReader(packed), format, nil)
		if err != nil {
			t.Fatal(err)
		}
		streams[format] = s
	}
	return streams
}

// chunks cuts data into chunks of size bytes, each made what pack returns.
func chunks(data []byte, size int, pack func([]byte) []byte) (all []byte) {
	for chunk := range slices.Chunk(data, size) {
		all = append(all, pack(chunk)...)
	}
	return all
}

// storedMember is a member of a gzip (RFC 1952, 2.3) with one stored block (RFC 1951, 3.2.4).
func storedMember(data []byte) []byte {
	b := []byte{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 1}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	b = binary.LittleEndian.AppendUint16(b, ^uint16(len(data)))
	b = append(b, data...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(b, uint32(len(data)))
}

// storedFrame is a frame of zstd (RFC 8878, 3.1.1) with one raw block and a window of 128 KiB.
func storedFrame(data []byte) []byte {
	block := uint32(len(data)<<3 | 1)
	return append([]byte{0x28, 0xB5, 0x2F, 0xFD, 0, 7 << 3, byte(block), byte(block >> 8), byte(block >> 16)}, data...)
}

func TestReader_BlockBoundaries(t *testing.T) {
	log := []byte(line() + "\n\n" + line("20", "x") + "\n" + line("0", "2000", "5", "77") + "\n" + strings.Repeat("9",
		400) + "\n" +
		strings.ReplaceAll(line("0", "3000"), ", ", " ,") + "\n" + line() + ", 0\n" + line("0", "4000") + "\n" +
		line()[:50])
	const maxLine = 300
	want, _ := slowRead(log, maxLine, 0)
	if len(want) != 8 {
		t.Fatal(want)
	}
	for block := 1; block <= len(log)+1; block++ {
		opt := ReaderOptions{Block: block, MaxLine: maxLine}
		for name, in := range map[string]io.Reader{
			"whole":          bytes.NewReader(log),
			"one byte":       iotest.OneByteReader(bytes.NewReader(log)),
			"half":           iotest.HalfReader(bytes.NewReader(log)),
			"data and error": iotest.DataErrReader(bytes.NewReader(log)),
		} {
			sameItems(t, fmt.Sprintf("block %d, %s", block, name), readAll(t, NewReader(in, "log", opt)), want)
		}
		for format, in := range inChunks(t, log, block) {
			r := NewReader(in, "log", ReaderOptions{MaxLine: maxLine})
			if r.chunks == nil {
				t.Fatal("what is decompressed is copied")
			}
			sameItems(t, fmt.Sprintf("%s in chunks of %d", format, block), readAll(t, r), want)
			in.Close()
		}
	}
	sameItems(t, "bytes", readAll(t, NewBytesReader(log, "log", ReaderOptions{MaxLine: maxLine})), want)
}

// TestReader_MaxLine: a line of exactly MaxLine bytes is fine, one more is not.
func TestReader_MaxLine(t *testing.T) {
	log := []byte(line() + "\n" + line() + " \n" + line() + "\n" + strings.Repeat(" ", len(line())+1) + "\n")
	want, _ := slowRead(log, len(line()), 0)
	if len(want) != 4 || want[0].bad || !want[1].bad || want[2].bad || !want[3].bad {
		t.Fatal(want)
	}
	for block := range len(log) + 2 {
		sameItems(t, fmt.Sprint("block ", block), readAll(t, NewReader(bytes.NewReader(log), "log",
			ReaderOptions{Block: block, MaxLine: len(line())})), want)
		for format, in := range inChunks(t, log, block+1) {
			sameItems(t, fmt.Sprintf("%s in chunks of %d", format, block+1), readAll(t, NewReader(in, "log",
				ReaderOptions{MaxLine: len(line())})), want)
			in.Close()
		}
	}
	sameItems(t, "bytes", readAll(t, NewBytesReader(log, "log", ReaderOptions{MaxLine: len(line())})), want)
}

// endless gives a line without end, or n bytes of it.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.n))
	for i := range p[:n] {
		p[i] = "0, "[i%3]
	}
	e.n -= int64(n)
	return n, nil
}

func TestReader_LongLineMemory(t *testing.T) {
	testkit.NotRaced(t)
	in := io.MultiReader(strings.NewReader(line()+"\n"), &endless{256 << 20}, strings.NewReader("\n"+line()+"\n"))
	r := NewReader(in, "log", ReaderOptions{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	items := readAll(t, r)
	runtime.ReadMemStats(&after)
	if len(items) != 3 || items[0].bad || !items[1].bad || items[2].bad {
		t.Fatal(items)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes allocated for a line of 256 MiB", got)
	}
}

func TestReader_Columns(t *testing.T) {
	short, long := line()+"\n", "1, 0, 4096"+strings.Repeat(", 1", 58)+"\n"
	r := NewReader(strings.NewReader(short+long), "log", ReaderOptions{Columns: 58})
	if g, ok := r.Geometry(); !ok || g.Columns() != 58 {
		t.Errorf("geometry %v, %v", g, ok)
	}
	if items := readAll(t, r); len(items) != 2 || !items[0].bad || items[1].bad {
		t.Error(items)
	}
	// A number that fits nothing is no number.
	r = NewReader(strings.NewReader(short), "log", ReaderOptions{Columns: 33})
	if _, ok := r.Geometry(); ok {
		t.Error("geometry of 33 columns")
	}
	if items := readAll(t, r); len(items) != 1 || items[0].bad {
		t.Error(items)
	}
}

func TestReader_Reset(t *testing.T) {
	small, large := line()+"\n", "1, 0, 4096"+strings.Repeat(", 1", 1856)+"\n"
	r := NewReader(strings.NewReader(small+"x\n"+small[:30]), "a", ReaderOptions{})
	readAll(t, r)
	r.Reset(strings.NewReader(large+large), "b")
	if _, ok := r.Geometry(); ok || r.Line() != 0 {
		t.Error("still the old geometry or line")
	}
	want, _ := slowRead([]byte(large+large), defaultMaxLine, 0)
	sameItems(t, "second log", readAll(t, r), want)
	r.Reset(strings.NewReader("y\n"), "c")
	if _, err := r.Next(); err == nil || !strings.HasPrefix(err.Error(), "c:1: ") {
		t.Errorf("%v", err)
	}
}

// TestReader_Parts reads a log in parts, as several workers would.
func TestReader_Parts(t *testing.T) {
	data := realLogs(t)["randrw_clat_hist.1.log"]
	want, _ := slowRead(data, defaultMaxLine, 0)
	cut := bytes.IndexByte(data[len(data)/3:], '\n') + len(data)/3 + 1
	var got []item
	for _, chunk := range [][]byte{data[:cut], data[cut:]} {
		lines := int64(len(got))
		for _, i := range readAll(t, NewBytesReader(chunk, "log", ReaderOptions{Columns: 1856})) {
			i.line += lines
			got = append(got, i)
		}
	}
	sameItems(t, "chunks", got, want)
}

func TestReader_InputErrors(t *testing.T) {
	broken := errors.New("the cable is out")
	data := line() + "\n" + line() + "\n" + line()[:20]
	damage := &fio.ParseError{File: "log", Msg: "damaged", Hint: "copy it again"}
	t.Run("the input's own", func(t *testing.T) {
		r := NewReader(io.MultiReader(strings.NewReader(data), iotest.ErrReader(broken)), "log", ReaderOptions{})
		for range 2 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			_, err := r.Next()
			var bad *fio.ParseError
			if !errors.Is(err, broken) || errors.As(err, &bad) || err.Error() != "log: after line 2: the cable is out" {
				t.Fatalf("%v", err)
			}
		}
	})
	t.Run("damaged data", func(t *testing.T) {
		r := NewReader(io.MultiReader(strings.NewReader(data), iotest.ErrReader(damage)), "log", ReaderOptions{})
		for range 2 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Next(); err == nil || err.Error() != "log: damaged (after line 2); copy it again" {
			t.Errorf("%v", err)
		}
		for range 2 {
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("%v", err)
			}
		}
		if damage.Msg != "damaged" {
			t.Error("the input's error was changed")
		}
	})
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err = NewReader(f, dir, ReaderOptions{}).Next(); err == nil || strings.Count(err.Error(), dir) != 1 {
			t.Errorf("%v", err)
		}
	})
	t.Run("no progress", func(t *testing.T) {
		if _, err := NewReader(stuck{}, "log", ReaderOptions{}).Next(); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%v", err)
		}
	})
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// loop gives the same log again and again.
type loop struct {
	log []byte
	at  int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.log[l.at:])
	l.at = (l.at + n) % len(l.log)
	return n, nil
}

// TestReader_Allocs is the parser's budget: nothing per record, on the fast way
// and on the careful one.
func TestReader_Allocs(t *testing.T) {
	log := realLogs(t)["randrw_clat_hist.1.log"]
	for name, log := range map[string][]byte{"as fio writes": log, "other spacing": bytes.ReplaceAll(log, []byte(", "),
		[]byte(","))} {
		r := NewReader(&loop{log: log}, "log", ReaderOptions{})
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per record", name, n)
		}
	}
}

func TestAppendRecord(t *testing.T) {
	rec := &Record{Time: 1000, Dir: fio.Write, Index: []uint16{0, 2, 4}, Count: []float64{1, MaxCount, 7}}
	if got := string(AppendRecord([]byte("before\n"), rec, 5)); got != "before\n1000, 1, 4096, 1, 0, 17592186044415, "+
		"0, 7\n" {
		t.Errorf("got %q", got)
	}
}

// TestReader_TooManyBadLines: a log of endless lines without a record ends, whichever way
// it is read; one whose bad lines are as many as may be is read to its end.
func TestReader_TooManyBadLines(t *testing.T) {
	t.Parallel()
	good, single := line()+"\n", "1, 2, 0, 4096\n"
	for _, tc := range []struct {
		name, start, again string
		grid               *fiohist.Geometry
	}{
		{"empty lines", "", "\n", nil}, {"empty lines behind a record", good, "\n", nil}, {"blanks", good, " \t \n",
			nil}, {"letters", good, "x\n", nil},
		{"good ones between", good, strings.Repeat("\n", 1000) + good, nil},
		{"single I/Os, empty lines", single, "\n", &fio3Grid}, {"single I/Os, letters", single, "x\n", &fio3Grid},
	} {
		for _, parsers := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s/parsers=%d", tc.name, parsers), func(t *testing.T) {
				t.Parallel()
				read := func(n int) (bad int, last error) {
					repeats := n / strings.Count(tc.again, "\n")
					src := io.MultiReader(strings.NewReader(tc.start), strings.NewReader(strings.Repeat(tc.again,
						repeats)))
					r := NewReader(src, "a.log", ReaderOptions{Single: tc.grid})
					r.ReadAhead(parsers)
					defer r.Stop()
					for {
						_, err := r.Next()
						var pe *fio.ParseError
						if errors.Is(err, io.EOF) {
							return bad, last
						}
						if errors.As(err, &pe) {
							bad++
							last = err
						}
					}
				}
				if _, err := read(maxBad); err != nil && strings.Contains(err.Error(), "empty or bad") {
					t.Errorf("%d bad lines: %v", maxBad, err)
				}
				if bad, err := read(3 * maxBad); err == nil || !strings.Contains(err.Error(),
					"a.log: more than 100000 lines") || bad > maxBad+1 {
					t.Errorf("%d errors, the last: %v", bad, err)
				}
			})
		}
	}
}
