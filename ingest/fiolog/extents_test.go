package fiolog

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestExtents: a log is split where time runs backwards, and nowhere else.
func TestExtents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0, ", 100_000) // longer than what is read at a time
	for _, tt := range []struct {
		name, text string
		want       []string // the extents' text
	}{
		{"nothing", "", []string{""}},
		{"one thread", "1, a\n2, b\n2, c\n", []string{"1, a\n2, b\n2, c\n"}},
		{"three", "5, a\n9, b\n5, c\n6, d\n0, e\n", []string{"5, a\n9, b\n", "5, c\n6, d\n", "0, e\n"}},
		{"no newline at the end", "5, a\n1, b", []string{"5, a\n", "1, b"}},
		{"lines longer than a block", "7, " + long + "\n3, " + long + "\n",
			[]string{"7, " + long + "\n", "3, " + long + "\n"}},
		{"lines without a stamp", "7, a\n\nx\n8, b\n2, c\n", []string{"7, a\n\nx\n8, b\n", "2, c\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := int64(0)
			var got []string
			for i, e := range Extents(strings.NewReader(tt.text)) {
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
	if got := Extents(failing); len(got) != 1 {
		t.Errorf("%d extents of a log that cannot be read, want it whole", len(got))
	}
}
