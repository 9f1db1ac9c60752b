package fiolog

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"fiolat/fio"
)

// TestExtents: a log is split where time runs backwards, and nowhere else.
func TestExtents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0, ", 100_000) // longer than what is read at a time
	for _, tt := range []struct {
		name, text string
		want       []string // the extents' text
		h          int64
	}{
		{"nothing", "", []string{""}, 0},
		{"one thread", "1, a\n2, b\n2, c\n", []string{"1, a\n2, b\n2, c\n"}, 0},
		{"three", "5, a\n9, b\n5, c\n6, d\n0, e\n", []string{"5, a\n9, b\n", "5, c\n6, d\n", "0, e\n"}, 0},
		{"no newline at the end", "5, a\n1, b", []string{"5, a\n", "1, b"}, 0},
		{"lines longer than a block", "7, " + long + "\n3, " + long + "\n",
			[]string{"7, " + long + "\n", "3, " + long + "\n"}, 0},
		{"lines without a stamp", "7, a\n\nx\n8, b\n2, c\n", []string{"7, a\n\nx\n8, b\n", "2, c\n"}, 0},
		{"one record a thread", "5024, 0, 1, 9\n5161, 0, 1, 9\n5195, 0, 1, 9\n", []string{"5024, 0, 1, 9\n",
			"5161, 0, 1, 9\n", "5195, 0, 1, 9\n"}, 5000},
		{"two directions", "5024, 0, 1, 9\n5161, 1, 1, 9\n", []string{"5024, 0, 1, 9\n5161, 1, 1, 9\n"}, 5000},
		{"single I/Os catch up", "3000, 0, 1, 9\n3000, 0, 1, 1\n3001, 0, 1, 0, 1\n",
			[]string{"3000, 0, 1, 9\n3000, 0, 1, 1\n3001, 0, 1, 0, 1\n"}, 1000},
		{"a later window is too early", "2900, 0, 1, 9\n3600, 0, 1, 9\n3700, 0, 1, 9\n",
			[]string{"2900, 0, 1, 9\n3600, 0, 1, 9\n", "3700, 0, 1, 9\n"}, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := int64(0)
			var got []string
			for i, e := range Extents(strings.NewReader(tt.text), true, tt.h) {
				if e.N != i+1 || e.After != lines {
					t.Errorf("extent %d is numbered %d, after %d lines, want %d", i+1, e.N, e.After, lines)
				}
				for _, slow := range []bool{false, true} {
					r := io.Reader(strings.NewReader(tt.text))
					if slow {
						r = iotest.OneByteReader(r)
					}
					text, err := io.ReadAll(e.Read(r))
					if err != nil {
						t.Fatal(err)
					}
					if len(got) == i {
						got = append(got, string(text))
					}
					if got[i] != string(text) {
						t.Errorf("extent %d is read as %.20q and %.20q", i+1, got[i], text)
					}
				}
				lines += int64(strings.Count(got[i], "\n"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%d extents, want %d", len(got), len(tt.want))
			}
		})
	}
	failing := io.MultiReader(strings.NewReader("5, a\n1, b\n"), iotest.ErrReader(errors.New("broken")))
	if got := Extents(failing, true, 0); len(got) != 1 {
		t.Errorf("%d extents of a log that cannot be read, want it whole", len(got))
	}
}

// TestExtentBlocks: logs of single I/Os have the latency before the direction.
func TestExtentBlocks(t *testing.T) {
	want := [fio.Directions][]uint64{fio.Read: {4096, 512}, fio.Write: {8192}}
	for hist, text := range map[bool]string{
		true:  "1, 0, 4096, 9\n1, 1, 8192, 9\n2, 0, 512, 9\n2, 0, 4096, 9\n",
		false: "1, 70, 0, 4096\n1, 1, 1, 8192, 0\n2, 1, 0, 512\n2, 4096, 0, 4096\n",
	} {
		if got := Extents(strings.NewReader(text), hist, 0)[0].Blocks; !reflect.DeepEqual(got, want) {
			t.Errorf("histograms %t: %v, want %v", hist, got, want)
		}
	}
}
