package fiolog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

var fio3Grid = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

// ioKey is what is counted of single I/Os.
type ioKey struct {
	time int64
	dir  fio.Direction
	b    int
}

// slowSingles is the obvious twin of the reader of single I/Os, for good lines.
func slowSingles(text string, g fiohist.Geometry) map[ioKey]uint64 {
	out := map[ioKey]uint64{}
	both := false // log_window_value=both, as the first line says
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) < 4 {
			continue
		}
		n := func(i int) int64 {
			v, _ := strconv.ParseInt(strings.TrimSpace(f[i]), 10, 64)
			return v
		}
		if len(out) == 0 {
			both = len(f) == 8 || len(f) >= 6 && n(2) == 0 && (n(3) == 0 && n(4) != 0 || n(3) <= 2 && n(4) >= 512)
		}
		dir := n(2)
		if both {
			dir = n(3)
		}
		out[ioKey{n(0), fio.Direction(dir), g.Index(n(1) * g.Unit)}]++
	}
	return out
}

// readSingles reads all records; each stamp and direction must come once in a row.
func readSingles(t testing.TB, r *Reader) map[ioKey]uint64 {
	t.Helper()
	out := map[ioKey]uint64{}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range rec.Index {
			if i > 0 && rec.Index[i-1] >= b {
				t.Fatalf("line %d: buckets %v do not ascend", rec.Line, rec.Index)
			}
			out[ioKey{rec.Time, rec.Dir, int(b)}] += uint64(rec.Count[i])
		}
	}
}

// TestSingleReal: real logs of single I/Os, read whole, byte by byte and in blocks.
func TestSingleReal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"exact/exact_clat.1.log", "exact/exact_clat.2.log", "latkinds/latkinds_clat.1.log",
		"latkinds/latkinds_slat.1.log", "latkinds/latkinds_lat.1.log"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../../testdata/fio/" + name)
			if err != nil {
				t.Fatal(err)
			}
			want := slowSingles(string(text), fio3Grid)
			opt := ReaderOptions{Single: &fio3Grid, Block: 100}
			for how, r := range map[string]*Reader{
				"stream":       NewReader(bytes.NewReader(text), name, opt),
				"byte by byte": NewReader(iotest.OneByteReader(bytes.NewReader(text)), name, opt),
				"memory":       NewBytesReader(text, name, opt),
				"no newline":   NewReader(bytes.NewReader(bytes.TrimSpace(text)), name, opt),
			} {
				if got := readSingles(t, r); !maps.Equal(got, want) {
					t.Errorf("%s: %d counts, want %d", how, len(got), len(want))
				}
			}
		})
	}
}

func TestSingleLines(t *testing.T) {
	t.Parallel()
	fio2 := fiohist.Geometry{Groups: fiohist.GroupsV2, Unit: 1000}
	for _, tc := range []struct {
		name, text string
		grid       fiohist.Geometry
		want       string // records, or the error
	}{
		{"fio 3", "0, 100, 0, 4096\n0, 100, 1, 4096\n7, 20, 0, 512\n", fio3Grid,
			"0 read 100:1 | 0 write 100:1 | 7 read 20:1"},
		{"CRLF", "0, 100, 0, 4096\r\n0, 100, 1, 4096\r\n7, 20, 0, 512\r\n", fio3Grid,
			"0 read 100:1 | 0 write 100:1 | 7 read 20:1"},
		{"offset and priority", "5, 9, 2, 4096, 81920, 0x4001\n5, 9, 2, 4096, 0, 0\n", fio3Grid, "5 trim 9:2"},
		{"time of issue", "5, 9, 1, 4096, 0, 0, 123456789\n", fio3Grid, "5 write 9:1"},
		{"fio 2 counts microseconds", "1, 63, 0, 4096\n1, 70, 0, 4096\n", fio2, "1 read 63:1 70:1"},
		{"beyond the last bucket", "1, 99999999999, 0, 4096\n", fio3Grid, "1 read 1855:1"},
		{"averages of nothing", "", fio3Grid, ""},
		{"averages", "300, 415, 1, 0, 0\n", fio3Grid, "x: it holds averages"},
		{"averages with offset and priority", "300, 415, 1, 0, 0, 0x0000\n", fio3Grid, "x: it holds averages"},
		{"log_compression over --client", "\x78\x9c\x03\x00\x00\x00\x00\x01", fio3Grid, "x: the log is zlib data"},
		{"an average among I/Os", "1, 2, 0, 4096, 0\n2, 3, 0, 0, 0\n", fio3Grid, "x:2: it holds averages"},
		{"averages and maxima", "300, 450, 1313, 1, 0, 0\n", fio3Grid, "x: it holds averages"},
		{"tiny averages and maxima, or blocks of a byte", "300, 1, 2, 1, 0, 0\n", fio3Grid,
			"x:1: cannot tell which column holds the direction: 2 and 1"},
		{"both", "0, 7286, 0, 0, 4096, 0\n1, 5, 0, 1, 4096, 0\n1, 7, 0, 1, 4096, 0\n", fio3Grid,
			"0 read 497:1 | 1 write 5:1 7:1"},
		{"both, writes", "0, 7286, 0, 1, 4096, 0\n", fio3Grid, "0 write 497:1"},
		{"both, all columns", "0, 10, 0, 0, 4096, 65564672, 0x0000, 21657\n1, 5, 0, 2, 4096, 0, 0x0000, 3\n", fio3Grid,
			"0 read 10:1 | 1 trim 5:1"},
		{"both, blanks", "0,10,0,1,4096,0,0\n", fio3Grid, "0 write 10:1"},
		{"both, a second latency", "0, 10, 0, 1, 4096, 0\n0, 10, 11, 1, 4096, 0\n", fio3Grid,
			"x:2: two latencies of one I/O, 10 and 11"},
		{"eight columns without both", "0, 10, 1, 4096, 0, 0, 0, 0\n", fio3Grid, "x:1: direction 4096"},
		{"offset, priority and time of issue", "0, 7, 1, 4096, 65564672, 0x0000, 18337\n", fio3Grid, "0 write 7:1"},
		{"blocks of a byte", "0, 7, 0, 1, 1, 0\n", fio3Grid, "x:1: cannot tell which column holds the direction: 0 " +
			"and 1"},
		{"blocks of a byte, writes", "0, 7, 1, 1, 77, 0\n", fio3Grid, "0 write 7:1"},
		{"blanks", " 1,2 ,0, 4\t\n\n2, 2, 0, 4\n", fio3Grid, "1 read 2:1 | 2 read 2:1"},
		{"cut within a number", "1, 2, 0, 4096, 0\n2, 3, 0,", fio3Grid, "x:2: the log is cut: its last line ends " +
			"after 3 of 5 columns"},
		{"too few", "1, 2, 0\n", fio3Grid, "x:1: 3 columns: a log of single I/Os has 4 to 8"},
		{"other columns", "1, 2, 0, 4096\n1, 2, 0, 4096, 0\n", fio3Grid, "x:2: 5 columns, want 4"},
		{"a histogram", "1, 0, 4096" + strings.Repeat(", 0", 29) + "\n", fio3Grid,
			"x:1: 32 columns, as in a histogram log"},
		{"no number", "1, fast, 0, 4096\n", fio3Grid, "x:1: column 2 is not a number"},
		{"negative", "1, -5, 0, 4096\n", fio3Grid, "x:1: column 2 is negative"},
		{"direction", "1, 5, 3, 4096\n", fio3Grid, "x:1: direction 3"},
		{"an address", "1, 140737353801248, 0, 512\n2, 18446744073709551615, 0, 512\n", fio3Grid,
			`x:2: a latency of "18446744073709551615"`},
		{"stamp", "9999999999999, 5, 0, 4096\n", fio3Grid, "x:1: the stamp 9999999999999 ms is beyond"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(strings.NewReader(tc.text), "x", ReaderOptions{Single: &tc.grid})
			var got []string
			for {
				rec, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					got = []string{err.Error()}
					break
				}
				s := fmt.Sprintf("%d %v", rec.Time, rec.Dir)
				for i, b := range rec.Index {
					s += fmt.Sprintf(" %d:%.0f", b, rec.Count[i])
				}
				got = append(got, s)
			}
			if all := strings.Join(got, " | "); !strings.HasPrefix(all, tc.want) || tc.want == "" && all != "" {
				t.Errorf("got %q, want %q", all, tc.want)
			}
		})
	}
}

// FuzzSingle: of any text the reader's good lines are counted as the obvious twin
// counts them, no line is lost, and nothing depends on how the text comes in.
func FuzzSingle(f *testing.F) {
	f.Add([]byte("0, 100, 0, 4096\n0, 100, 1, 4096\n7, 20, 0, 512\n"), uint8(3))
	f.Add([]byte("5, 9, 2, 4096, 81920, 0x4001\n\n6, 1,0,1,1,1\n6, x\n"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, block uint8) {
		read := func(src io.Reader) (ios map[ioKey]uint64, lines []int64, bad int) {
			ios = map[ioKey]uint64{}
			for r := NewReader(src, "x", ReaderOptions{Single: &fio3Grid, Block: int(block)}); ; {
				rec, err := r.Next()
				var pe *fio.ParseError
				switch {
				case errors.Is(err, io.EOF):
					return ios, lines, bad
				case errors.As(err, &pe):
					bad++
					lines = append(lines, pe.Line)
					continue
				case err != nil:
					t.Fatal(err)
				}
				for i, b := range rec.Index {
					ios[ioKey{rec.Time, rec.Dir, int(b)}] += uint64(rec.Count[i])
				}
			}
		}
		ios, lines, bad := read(bytes.NewReader(text))
		slowly, again, _ := read(iotest.OneByteReader(bytes.NewReader(text)))
		if !maps.Equal(ios, slowly) || fmt.Sprint(lines) != fmt.Sprint(again) {
			t.Fatalf("whole: %v, bad lines %v; byte by byte: %v, bad lines %v", ios, lines, slowly, again)
		}
		total, full := uint64(0), 0
		for _, n := range ios {
			total += n
		}
		for line := range bytes.Lines(text) {
			body := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if blanks(body) != len(body) {
				full++
			}
		}
		if int(total)+bad != full {
			t.Fatalf("%d I/Os and %d bad lines of %d", total, bad, full)
		}
		if bad == 0 {
			if want := slowSingles(strings.ReplaceAll(string(text), "\t", " "), fio3Grid); !maps.Equal(ios, want) {
				t.Fatalf("%v, want %v", ios, want)
			}
		}
	})
}

// BenchmarkSingle reads a log of 50,000 I/Os a second: go test -bench Single ./ingest
func BenchmarkSingle(b *testing.B) {
	var text []byte
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 500_000 {
		text = fmt.Appendf(text, "%d, %d, %d, 4096, 0\n", i/50, 60_000+rng.IntN(1<<20), rng.IntN(2))
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	r := NewReader(bytes.NewReader(text), "x", ReaderOptions{Single: &fio3Grid})
	for b.Loop() {
		r.Reset(bytes.NewReader(text), "x")
		n := uint64(0)
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			n += rec.IOs
		}
		if n != 500_000 {
			b.Fatal(n)
		}
	}
}

// TestPointers: a line of four to seven columns, no more, is one of single I/Os or of pointers.
func TestPointers(t *testing.T) {
	t.Parallel()
	const start = "501, 94470363743424, 1"
	for _, tt := range []struct {
		columns  int
		cut, bad bool
	}{{3, false, false}, {4, false, true}, {7, false, true}, {8, false, false}, {3, true, true}, {8, true, false}} {
		line := start + strings.Repeat(", 0", tt.columns-3)
		if err := pointers([]byte(line), tt.cut); (err != nil) != tt.bad {
			t.Errorf("%d columns, cut %v: %v", tt.columns, tt.cut, err)
		}
	}
}

// TestScanSingle: a line that has not the columns of those before it, or a sign more or less, is left to parseSingle.
func TestScanSingle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line    string
		columns int
		both    bool
		read    bool
	}{
		{"7, 20, 1, 4096\n", 4, false, true},
		{"7, 20, 1, 4096\r\n", 4, false, true},
		{"7, 20, 1, 4096, 0, 0\n", 6, false, true},
		{"7, 20, 0, 1, 4096, 0\n", 6, true, true},
		{"7, 20, 1, 4096\n", 0, false, false},
		{"7, 20, 1, 4096\n", 5, false, false},
		{"7, 20, 1, 4096\r\n", 5, false, false},
		{"7, 20, 1, 4096, 0\n", 4, false, false},
		{"7, 20, 1, 4096", 4, false, false},
		{"7, 20, 1, 4096, \n", 5, false, false},
		{"7, 20, 1,4096\n", 4, false, false},
		{"7, 20, 3, 4096\n", 4, false, false},
		{"7, 20, 1, 0\n", 4, false, false},
		{", 20, 1, 4096\n", 4, false, false},
	} {
		io, n := scanSingle([]byte(tt.line), tt.columns, tt.both)
		switch {
		case !tt.read && n != 0 || tt.read && n != len(tt.line):
			t.Errorf("%q, %d columns: %d bytes", tt.line, tt.columns, n)
		case tt.read && (io.time != 7 || io.latency != 20 || io.dir != fio.Write):
			t.Errorf("%q: %+v", tt.line, io)
		}
	}
}
