package stored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// value is what is sorted: At is its key, N which it is.
type value struct {
	At   int64
	N    int
	Text []byte
}

func at(v *value) int64 { return v.At }

func newSorter(limit int) *sorter[value] {
	return &sorter[value]{Key: at, Limit: limit, Size: func(v *value) int { return 100 + len(v.Text) }}
}

// Whatever the memory allowed, sorters yield what a stable sort of all values yields.
func TestSorter(t *testing.T) {
	for _, tc := range []struct {
		name           string
		n, keys, limit int
		spilled        int // of all sorters, at least
	}{
		{"nothing", 0, 1, 1 << 20, 0},
		{"in memory", 300, 40, 1 << 20, 0},
		{"on disk", 300, 40, 5_000, 6},
		{"all keys equal", 300, 1, 5_000, 6},
		{"a value larger than memory", 30, 9, 1, 27},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			r := rand.New(rand.NewPCG(1, uint64(tc.n)))
			sorters := []*sorter[value]{newSorter(tc.limit), newSorter(tc.limit), newSorter(tc.limit)}
			var want, got []value
			for i, s := range sorters {
				for n := i; n < tc.n; n += len(sorters) {
					v := value{int64(r.IntN(tc.keys)) - 5, n, make([]byte, r.IntN(100))}
					if err := s.Add(v); err != nil {
						t.Fatal(err)
					}
					want = append(want, v)
				}
			}
			slices.SortStableFunc(want, func(a, b value) int { return cmp.Compare(a.At, b.At) })
			spilled := 0
			var sources []sortSource[value]
			for _, s := range sorters {
				spilled += len(s.spilled)
				sources = append(sources, s.Sources()...)
			}
			if spilled < tc.spilled || tc.spilled == 0 && spilled > 0 {
				t.Errorf("%d sections on disk, want %d or more", spilled, tc.spilled)
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("temporary files with a name: %v, %v", left, err)
			}
			err := mergeAll(t.Context(), sources, at, func(v value) error { got = append(got, v); return nil })
			if err != nil {
				t.Fatal(err)
			}
			// An empty text comes back from a file as none.
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
			for _, s := range sorters {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestSorterWithoutDisk(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	s := newSorter(1)
	if err := s.Add(value{}); err != nil {
		t.Error(err)
	}
	if err := s.Add(value{}); err == nil || !strings.Contains(err.Error(), "temporary file") {
		t.Errorf("%v, want an error of the temporary file", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The error of a source, of each, and of the context ends a merge.
func TestMergeErrors(t *testing.T) {
	broken := errors.New("broken")
	after := func(n int, end error) sortSource[value] {
		return func() (v value, more bool, err error) {
			if n--; n < 0 {
				return v, false, end
			}
			return value{At: 1}, true, nil
		}
	}
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		source sortSource[value]
		each   error
	}{
		{"at the start of a source", t.Context(), after(0, broken), nil},
		{"in the middle of a source", t.Context(), after(2, broken), nil},
		{"of each", t.Context(), after(2, nil), broken},
		{"of the context", canceled, after(2, nil), nil},
	} {
		err := mergeAll(tc.ctx, []sortSource[value]{after(5, nil), tc.source}, at, func(value) error { return tc.each })
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
