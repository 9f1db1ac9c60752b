package fiolog

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether this processor has all instructions that avx2 needs.
var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

// avx2 is scanColumns for the lines that scanBlocks accepts, if hasAVX2; for others end is 0.
func avx2(b []byte, p int, index []uint16, count []float64) (end, n int, sum uint64) {
	columns := len(index)
	if !hasAVX2 || cap(index) < columns+spare || cap(count) < columns+spare {
		return 0, 0, 0
	}
	return scanBlocks(b, p, &index[0], &count[0], columns)
}

// scanBlocks reads the columns at b[p:], p at least 8, and the newline after them. It returns the end of the line,
// the number of columns that are not 0 and the sum of their counts; end is 0 for a line that is not as fio writes it,
// for one with a count of eight digits or more, and for one that ends within 60 bytes of the end of b. It writes
// columns + spare entries at most.
//
// It has no branches to predict for single columns: bit masks show where all columns of a block end before the first
// is read.
//
//go:noescape
func scanBlocks(b []byte, p int, index *uint16, count *float64, columns int) (end, n int, sum uint64)
