package fiolog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzReader: whatever the text and however it comes, the Reader gives the records
// and refuses the lines that its slow twin does; no I/O is lost or made up; and
// what is written back reads the same, either fast way.
func FuzzReader(f *testing.F) {
	for _, name := range []string{"randrw/randrw_clat_hist.1.log", "epoch/epoch_clat_hist.1.log",
		"slow/slow_clat_hist.1.log"} {
		text, err := os.ReadFile(filepath.Join("../../testdata/fio", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text[:bytes.IndexByte(text, '\n')+1]), uint16(100))
	}
	coarse := line() + "\n"
	for _, text := range []string{
		coarse + coarse, coarse[:40], strings.TrimSuffix(coarse, "\n"), "\n\n" + coarse + " \t\n", "\xef\xbb\xbf" +
			coarse, utf16(coarse),
		strings.ReplaceAll(coarse, "\n", "\r\n"), strings.ReplaceAll(coarse, ", ", ","), strings.ReplaceAll(coarse,
			", ", "\t , "),
		coarse + line("20", "-1") + "\n" + coarse, line("20", "18446744073709551616"), line("20",
			"18446744073709551615"), line("20", "1234567", "21", "12345678", "22", "17592186044415"),
		coarse + line("1", "3"), coarse + line("5", ""), coarse + line("5", "\x00"), coarse + strings.Repeat("0, ",
			1200),
		"501, 94470363743424, 1, 4096, 0\n501, 94470363791088, 0, 4096, 0\n", "time, direction, bs\n", "5, 2, 4096" +
			strings.Repeat(", 0", 1856) + "\n",
	} {
		f.Add(text, uint16(9))
	}
	const maxLine = 3000 // long enough for a coarse record, short enough to be met
	f.Fuzz(func(t *testing.T, text string, block uint16) {
		limit := maxLine
		if block%2 == 0 {
			limit = defaultMaxLine
		}
		want, total := slowRead([]byte(text), limit, 0)
		r := NewBytesReader([]byte(text), "fuzz", ReaderOptions{MaxLine: limit})
		sameItems(t, "bytes", readAll(t, r), want)
		sameItems(t, "stream", readAll(t, NewReader(strings.NewReader(text), "fuzz", ReaderOptions{Block: int(block),
			MaxLine: limit})), want)
		for _, parsers := range []int{1, 2, 16} {
			ahead := NewReader(strings.NewReader(text), "fuzz", ReaderOptions{Block: int(block), MaxLine: limit})
			ahead.ReadAhead(parsers)
			sameItems(t, fmt.Sprintf("%d parsers ahead", parsers), readAll(t, ahead), want)
		}
		for _, parsers := range []int{0, 2} {
			for format, in := range inChunks(t, []byte(text), min(max(int(block), len(text)/64+1), 1<<16-1)) {
				r := NewReader(in, "fuzz", ReaderOptions{MaxLine: limit})
				r.ReadAhead(parsers)
				sameItems(t, fmt.Sprintf("%s in chunks, %d parsers ahead", format, parsers), readAll(t, r), want)
				in.Close()
			}
		}

		g, ok := r.Geometry()
		if !ok {
			return
		}
		var back []byte
		var records []item
		for _, i := range want {
			if !i.bad {
				records = append(records, i)
				back = AppendRecord(back, &i.rec, g.Columns())
			}
		}
		back = append(back, make([]byte, slack)...)
		for way, scan := range scanners() {
			fast, sum, at := newRecord(g.Columns()), uint64(0), 0
			for _, i := range records {
				n := scan(back[at:], &fast, g.Columns())
				if n == 0 && way == "AVX2" && slices.ContainsFunc(i.rec.Count,
					func(c float64) bool { return c >= 1e7 }) {
					n = scanners()["Portable"](back[at:], &fast, g.Columns())
				}
				if n == 0 {
					t.Fatalf("%s: written back, it is not taken: %v", way, i)
				}
				fast.Line = i.line
				if !(item{rec: fast, line: i.line}).equal(i) {
					t.Fatalf("%s: written back: %v, want %v", way, fast, i)
				}
				sum += fast.IOs
				at += n
			}
			if sum != total {
				t.Fatalf("%s: %d I/Os, want %d", way, sum, total)
			}
		}

		// What a way takes of a text that nobody has put straight, parseLine takes just so.
		raw := append([]byte(text), make([]byte, slack)...)
		for way, scan := range scanners() {
			fast, careful := newRecord(g.Columns()), Record{}
			at := 0
			for line := range bytes.Lines([]byte(text)) {
				n := scan(raw[at:], &fast, g.Columns())
				if n == 0 {
					at += len(line)
					continue
				}
				got, bad := parseLine(bytes.TrimSuffix(raw[at:at+n-1], []byte{'\r'}), &careful, g.Columns(), false)
				if bad != nil || got != g.Columns() || raw[at+n-1] != '\n' ||
					!(item{rec: fast}).equal(item{rec: careful}) || fast.Dir != careful.Dir {
					t.Fatalf("%s: %v, want %v, %v", way, fast, careful, bad)
				}
				at += n
			}
		}
	})
}
