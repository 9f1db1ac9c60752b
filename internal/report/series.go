package report

import (
	"math"

	"fiolat/fio/fiohist"
)

// series are the numbers of a page, as its script reads them. A series begins with a byte: how many bytes its numbers
// have, and whether they are differences. Then come the lowest byte of each number, the next one of each, and so on,
// which packs better than one number after the other.
type series struct {
	b     []byte
	rough bool
	unit  float64 // of counts
}

const differences = 0x80

func (s *series) add(values []int64, header byte) {
	last, used := int64(0), uint64(0)
	coded := make([]uint64, len(values))
	for k, v := range values {
		coded[k] = uint64(v)
		if header == differences {
			coded[k], last = uint64((v-last)<<1^(v-last)>>63), v // small, whatever the sign
		}
		used |= coded[k]
	}
	at := len(s.b)
	s.b = append(s.b, header)
	for ; used > 0; used >>= 8 {
		s.b[at]++
		for k := range coded {
			s.b = append(s.b, byte(coded[k]))
			coded[k] >>= 8
		}
	}
}

// exactStep is the ratio, less 1, of neighbouring latencies that can be told apart; step that of latencies by column,
// limitStep of limits to their percentile.
const exactStep = 1e-5

func (s *series) step() float64 {
	if s.rough {
		return 4e-4
	}
	return exactStep
}

func (s *series) limitStep() float64 {
	if s.rough {
		return 2e-2
	}
	return exactStep
}

// logarithm returns how many steps ns is above 1; nothing is below.
func logarithm(ns, step float64) int64 {
	return int64(math.Round(math.Log(max(math.Abs(ns), 1)) / step))
}

func (s *series) latencies(values []float64, step float64) {
	out := make([]int64, len(values))
	for k, v := range values {
		out[k] = logarithm(v, step)
	}
	s.add(out, differences)
}

// limits adds how far a limit is from its percentile; 0 is none.
func (s *series) limits(of, limit []float64) {
	out := make([]int64, len(of))
	for k, v := range limit {
		if v != fiohist.NoLimit {
			ratio := max(v, 1) / max(math.Abs(of[k]), 1)
			out[k] = 1 + logarithm(max(ratio, 1/ratio), s.limitStep())
		}
	}
	s.add(out, differences)
}

// counts adds numbers of I/Os. One is 0 only if there is none, because that breaks a line.
func (s *series) counts(values []float64) {
	out := make([]int64, len(values))
	for k, v := range values {
		if v > 0 {
			out[k] = max(1, int64(math.Round(v*s.unit)))
		}
	}
	s.add(out, differences)
}

// cells adds the counts of a histogram by row and column. They are rounded so that the I/Os up to any row are right,
// not each cell.
func (s *series) cells(rows [][]float64, columns int) {
	out := make([][]int64, len(rows))
	for r := range rows {
		out[r] = make([]int64, columns)
	}
	for k := range columns {
		sum, said := 0.0, int64(0)
		for r, counts := range rows {
			if counts != nil {
				sum += counts[k]
			}
			upTo := int64(math.Round(sum * s.unit))
			out[r][k], said = upTo-said, upTo
		}
	}
	for _, counts := range out {
		s.add(counts, 0)
	}
}

// whole adds whole numbers that differ little from one to the next.
func whole[T int | int32 | int64](s *series, values []T) {
	out := make([]int64, len(values))
	for k, v := range values {
		out[k] = int64(v)
	}
	s.add(out, differences)
}
