package blockscan

import "golang.org/x/sys/cpu"

// HasAVX2 reports whether this processor has all instructions that AVX2 needs.
var HasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

// AVX2 is Columns for the lines that scanBlocks accepts, if HasAVX2; for others end is 0.
func AVX2(b []byte, p int, index []uint16, count []float64) (end, n int, sum uint64) {
	columns := len(index)
	if !HasAVX2 || cap(index) < columns+Spare || cap(count) < columns+Spare {
		return 0, 0, 0
	}
	return scanBlocks(b, p, &index[0], &count[0], columns)
}

// scanBlocks reads the columns at b[p:], p at least 8, and the newline after them. It returns the end of the line,
// the number of columns that are not 0 and the sum of their counts; end is 0 for a line that is not as fio writes it,
// for one with a count of eight digits or more, and for one that ends within 60 bytes of the end of b. It writes
// columns + Spare entries at most.
//
// It has no branches to predict for single columns: bit masks show where all columns of a block end before the first
// is read.
//
//go:noescape
func scanBlocks(b []byte, p int, index *uint16, count *float64, columns int) (end, n int, sum uint64)
