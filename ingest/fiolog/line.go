package fiolog

import (
	"fiolat/fio"
)

// scanLine reads the line at the start of b into rec if it is, byte for byte, as fio writes it: `time, direction,
// block size, c0, c1, ..., cN` and a newline, N+1 = columns. It returns the line's length with the newline, or 0 for
// any other line, good or bad, which parseLine then reads. It may return 0 for one that ends within 48 bytes of the
// end of b, too. It allocates nothing: rec's slices must have room for columns + Spare entries.
//
// It keeps no state, so that any number of workers can read parts of one log. It does not look for the end of the
// line first (bytes.IndexByte): that is another pass over all bytes.
func scanLine(b []byte, rec *Record, columns int) int {
	p, ok := scanHead(b, rec)
	if !ok {
		return 0
	}
	index, count := rec.Index[:columns], rec.Count[:columns]
	end, n, sum := scanColumns(b, p, index, count)
	if end != 0 {
		rec.Index, rec.Count, rec.IOs = index[:n], count[:n], sum
	}
	return end
}

// scanHead reads stamp and direction and skips the block size, which is only that of the I/O that closed the window.
func scanHead(b []byte, rec *Record) (next int, ok bool) {
	if len(b) < 64 {
		return 0, false
	}
	h := (*[64]byte)(b)
	p, stamp := 0, int64(0)
	for ; p < 14 && h[p]-'0' <= 9; p++ {
		stamp = stamp*10 + int64(h[p]-'0')
	}
	if p == 0 || h[p] != ',' || h[p+1] != ' ' || stamp > MaxTime {
		return 0, false
	}
	p += 2
	dir := h[p] - '0'
	if dir >= fio.Directions || h[p+1] != ',' || h[p+2] != ' ' {
		return 0, false
	}
	p += 3
	size := p
	for ; p < size+19 && h[p]-'0' <= 9; p++ {
	}
	if p == size || h[p] != ',' || h[p+1] != ' ' {
		return 0, false
	}
	rec.Time, rec.Dir = stamp, fio.Direction(dir)
	return p + 2, true
}
