package report

import (
	"slices"

	"fiolat/internal/fiohist"
)

// bins is a histogram of which only what is not 0 is kept: a tenth of a dense one.
// The zero value is empty. Counts keep all their bits: with fewer, a rank that falls
// between two buckets can change sides.
type bins struct {
	at []uint16 // buckets, ascending
	n  []float64
}

func binsOf(h *fiohist.Hist) bins {
	size := 0
	h.Each(func(int, float64) { size++ })
	b := bins{make([]uint16, 0, size), make([]float64, 0, size)}
	h.Each(func(i int, w float64) { b.at, b.n = append(b.at, uint16(i)), append(b.n, w) })
	return b
}

func (b bins) addTo(h *fiohist.Hist) {
	h.AddAll(b.at, b.n, 0, 1)
}

// leaf is one element of the finest split: each I/O is in exactly one.
type leaf struct {
	dims   dims
	limits fiohist.Limits
	total  fiohist.Hist
	cols   []bins        // finished columns; shorter than the run if it was silent
	open   *fiohist.Hist // of the column under way
}

// finish puts the open histogram into column k.
func (l *leaf) finish(k int) {
	if l.open == nil {
		return
	}
	l.cols = append(l.cols, make([]bins, k+1-len(l.cols))...)
	l.cols[k] = binsOf(l.open)
	l.open = nil
}

// halve adds up columns 0 and 1, 2 and 3, and so on.
func (l *leaf) halve() {
	for k := 0; k < len(l.cols); k += 2 {
		sum := l.cols[k]
		if k+1 < len(l.cols) && l.cols[k+1].at != nil {
			if sum.at == nil {
				sum = l.cols[k+1]
			} else {
				var h fiohist.Hist
				sum.addTo(&h)
				l.cols[k+1].addTo(&h)
				sum = binsOf(&h)
			}
		}
		l.cols[k/2] = sum
	}
	keep := (len(l.cols) + 1) / 2
	clear(l.cols[keep:])
	l.cols = l.cols[:keep]
}

// stretch is what is known of a scope value in a column beside its I/Os.
type stretch struct {
	quanta  int32
	logs    int32   // the fewest with I/O in any quantum
	covered float64 // seconds in which a log was running
}

func (s *stretch) add(o stretch) {
	if o.quanta == 0 {
		return
	}
	if s.quanta == 0 || o.logs < s.logs {
		s.logs = o.logs
	}
	s.quanta += o.quanta
	s.covered += o.covered
}

// scope is one scope value: what can be chosen on the page.
type scope struct {
	dims dims
	cols []stretch
}

func (s *scope) add(k int, o stretch) {
	if k >= len(s.cols) {
		s.cols = append(s.cols, make([]stretch, k+1-len(s.cols))...)
	}
	s.cols[k].add(o)
}

func (s *scope) halve() {
	for k := range s.cols {
		if k%2 == 1 {
			s.cols[k/2].add(s.cols[k])
		} else {
			s.cols[k/2] = s.cols[k]
		}
	}
	s.cols = slices.Clip(s.cols[:(len(s.cols)+1)/2])
}
