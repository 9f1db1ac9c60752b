package stored

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"fiolat/internal/tempfile"
)

// sortSource returns the next value in ascending order of keys; more is false at its end.
type sortSource[T any] func() (v T, more bool, err error)

// sorter sorts more values than memory should hold: it writes sorted sections to a temporary file, and merges them. T
// must be a type that encoding/gob can encode.
type sorter[T any] struct {
	// Key returns what values are sorted by.
	Key func(*T) int64
	// Size estimates the bytes that a value takes in memory. At most Limit bytes are held, but always one value.
	Size  func(*T) int
	Limit int

	held    []T
	bytes   int
	file    *os.File
	end     int64 // of the file
	spilled []*io.SectionReader
}

// Add adds a value.
func (s *sorter[T]) Add(v T) error {
	size := s.Size(&v)
	if s.bytes+size > s.Limit && len(s.held) > 0 {
		if err := s.spill(); err != nil {
			return fmt.Errorf("cannot write a temporary file for sorting (set TMPDIR to one with space): %w", err)
		}
	}
	s.held = append(s.held, v)
	s.bytes += size
	return nil
}

// spill writes the values held to the file as one sorted section.
func (s *sorter[T]) spill() (err error) {
	if s.file == nil {
		if s.file, err = tempfile.CreateUnlinked(); err != nil {
			return err
		}
	}
	buffered := bufio.NewWriter(s.file)
	out := gob.NewEncoder(buffered)
	for _, v := range s.sorted() {
		if err = out.Encode(v); err != nil {
			return err
		}
	}
	if err = buffered.Flush(); err != nil {
		return err
	}
	from := s.end
	if s.end, err = s.file.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	s.spilled = append(s.spilled, io.NewSectionReader(s.file, from, s.end-from))
	clear(s.held)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

func (s *sorter[T]) sorted() []T {
	slices.SortStableFunc(s.held, func(a, b T) int { return cmp.Compare(s.Key(&a), s.Key(&b)) })
	return s.held
}

// Sources returns what was added, for mergeAll. Values of equal key keep the order in which they were added. Nothing
// may be added afterwards.
func (s *sorter[T]) Sources() (all []sortSource[T]) {
	for _, section := range s.spilled {
		in := gob.NewDecoder(bufio.NewReaderSize(section, 64<<10))
		all = append(all, func() (v T, more bool, err error) {
			err = in.Decode(&v)
			if errors.Is(err, io.EOF) {
				return v, false, nil
			}
			return v, err == nil, err
		})
	}
	rest := s.sorted()
	return append(all, func() (v T, more bool, err error) {
		if len(rest) == 0 {
			return v, false, nil
		}
		v, rest = rest[0], rest[1:]
		return v, true, nil
	})
}

// Close removes the file.
func (s *sorter[T]) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// mergeAll calls each with the values of all sources in ascending order of keys, those of equal key in the order of the
// sources. An error of each ends it and is returned unwrapped.
func mergeAll[T any](ctx context.Context, sources []sortSource[T], key func(*T) int64, each func(T) error) error {
	var all heads[T]
	for i, next := range sources {
		h := &head[T]{next: next, order: i}
		more, err := h.read(key)
		if err != nil {
			return err
		}
		if more {
			all = append(all, h)
		}
	}
	heap.Init(&all)
	for len(all) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		h := all[0]
		if err := each(h.value); err != nil {
			return err
		}
		more, err := h.read(key)
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&all, 0)
		} else {
			heap.Pop(&all)
		}
	}
	return nil
}

// head is a source and its next value.
type head[T any] struct {
	next  sortSource[T]
	order int
	value T
	key   int64
}

func (h *head[T]) read(key func(*T) int64) (more bool, err error) {
	h.value, more, err = h.next()
	if more {
		h.key = key(&h.value)
	}
	return more, err
}

type heads[T any] []*head[T]

func (h heads[T]) Len() int      { return len(h) }
func (h heads[T]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h heads[T]) Less(i, j int) bool {
	return h[i].key < h[j].key || h[i].key == h[j].key && h[i].order < h[j].order
}
func (h *heads[T]) Push(x any) { *h = append(*h, x.(*head[T])) }
func (h *heads[T]) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
