package fiolog

import (
	"encoding/binary"
	"math/bits"
)

// Words of fio's lines as they look when loaded little-endian.
const (
	zeros0 = 0x2C30202C30202C30 // `0, 0, 0,`
	zeros1 = 0x30202C30202C3020 // ` 0, 0, 0`
	zeros2 = 0x202C30202C30202C // `, 0, 0, `, then the pattern repeats

	oneDigit, oneMask = 0x202C00, 0xFFFF00             // `1, `
	twoDigits, twMask = 0x202C0000, 0xFFFF0000         // `12, `
	twoOnes, twoMask  = 0x202C00202C00, 0xFFFF00FFFF00 // `1, 2, `
	digitBits         = 0x1010101010101010             // set in digits, not in `,`, ` ` and newline
	zeroDigits        = 0x3030303030303030             // '0' in each byte
	overNine          = 0x7676767676767676             // added to a byte above 9, sets its high bit
	highBits          = 0x8080808080808080
)

// spare is how many entries beyond one a column index and count need room for: scanBlocks writes four at a time.
const spare = 4

// largest is the largest count that is accepted.
const largest = 1<<44 - 1

// scanColumns reads the columns at b[p:], p at least 8, and the newline (or CRLF) after them, if they are byte for byte
// as fio writes them: `c0, c1, ..., cN`, N+1 = len(index) = len(count). It returns the end of the line, the number n of
// columns that are not 0, which are then in index[:n] and count[:n], and the sum of their counts. end is 0 for any
// other line, and may be for one that ends within 48 bytes of the end of b. avx2 needs capacity for spare more entries
// in both slices.
func scanColumns(b []byte, p int, index []uint16, count []float64) (end, n int, sum uint64) {
	end, n, sum = avx2(b, p, index, count)
	if end != 0 {
		return end, n, sum
	}
	return portable(b, p, index, count)
}

// portable is scanColumns on any processor.
//
// Runs of zeros are skipped 24 bytes (3 words, 8 columns) at a time. One column of one digit, two such columns, and
// one column of two digits have branches of their own: a branch that is predicted right lets the next column start
// before this one is done. Any other column has to wait for the length of the one before. It is read without
// branches: the first byte without bit 4 gives the number of digits, multiplications make them a number, and that is
// always stored and kept only if it is not 0. Branches for more cases make it slower.
func portable(b []byte, p int, index []uint16, count []float64) (end, n int, sum uint64) {
	le := binary.LittleEndian
	columns := len(index)
	count = count[:columns]
	col := 0
	bad := uint64(0) // its high bits are set by bytes that are no digits
	for {
		if uint(p)+8 > uint(len(b)) {
			return 0, 0, 0
		}
		x := le.Uint64(b[p : p+8])
		if x == zeros0 {
			from := p
			for {
				if uint(p)+48 > uint(len(b)) {
					return 0, 0, 0
				}
				w := (*[48]byte)(b[p : p+48])
				x0, x1, x2 := le.Uint64(w[0:])^zeros0, le.Uint64(w[8:])^zeros1, le.Uint64(w[16:])^zeros2
				if x0|x1|x2 != 0 {
					p += zeroColumns(x0, x1, x2)
					break
				}
				x0, x1, x2 = le.Uint64(w[24:])^zeros0, le.Uint64(w[32:])^zeros1, le.Uint64(w[40:])^zeros2
				if x0|x1|x2 != 0 {
					p += 24 + zeroColumns(x0, x1, x2)
					break
				}
				p += 48
			}
			col += (p - from) / 3
			if uint(p)+8 > uint(len(b)) {
				return 0, 0, 0
			}
			x = le.Uint64(b[p : p+8])
		}
		if col >= columns {
			return 0, 0, 0
		}
		var v uint64
		switch {
		case x&twoMask == twoOnes && col+1 < columns:
			first := x&0xFF - '0'
			bad |= first + overNine&0xFF | first
			index[n], count[n] = uint16(col), float64(int64(first)) // cheaper than converting a uint64
			sum += first
			n += notZero(first)
			col++
			v = x>>24&0xFF - '0'
			bad |= v + overNine&0xFF | v
			p += 6
		case x&oneMask == oneDigit:
			v = x&0xFF - '0'
			bad |= v + overNine&0xFF | v
			p += 3
		case x&twMask == twoDigits:
			y := x&0xFFFF ^ zeroDigits&0xFFFF
			bad |= y + overNine&0xFFFF | y
			v = y&0xFF*10 + y>>8
			p += 4
		default:
			ends := ^x & digitBits
			if width := uint(bits.TrailingZeros64(ends)) &^ 7; width <= 48 {
				y := x << ((64 - width) & 63)
				y ^= zeroDigits << ((64 - width) & 63)
				bad |= y + overNine | y
				y = y*10 + y>>8
				v = (y&0x000000FF000000FF*0x000F424000000064 +
					y>>16&0x000000FF000000FF*0x0000271000000001) >> 32 & 0xFFFFFFFF
				p += int(width >> 3)
			} else if v, p = longCount(b, p); v > largest {
				return 0, 0, 0
			}
			if uint(p)+2 > uint(len(b)) {
				return 0, 0, 0
			}
			if le.Uint16(b[p:p+2]) == 0x202C {
				p += 2
				break
			}
			if b[p] == '\r' { // fio on Windows
				p++
			}
			if col != columns-1 || b[p] != '\n' || bad&highBits != 0 {
				return 0, 0, 0
			}
			index[n], count[n] = uint16(col), float64(int64(v))
			n += notZero(v)
			return p + 1, n, sum + v
		}
		index[n], count[n] = uint16(col), float64(int64(v))
		sum += v
		n += notZero(v)
		col++
	}
}

// longCount reads the digits, seven or more, at b[p:] and returns where they end. A value above largest stands for
// any that is too large.
func longCount(b []byte, p int) (v uint64, next int) {
	for ; p < len(b) && b[p]-'0' <= 9; p++ {
		v = v*10 + uint64(b[p]-'0')
		if v > largest {
			break
		}
	}
	return v, p
}

// zeroColumns returns the length in bytes of the columns `0, ` at the start of 24 bytes, given their XOR with eight
// such columns.
func zeroColumns(x0, x1, x2 uint64) int {
	n := 0
	if x0 == 0 {
		x0, n = x1, 8
		if x1 == 0 {
			x0, n = x2, 16
		}
	}
	n += bits.TrailingZeros64(x0) >> 3
	return n * 43 >> 7 * 3 // n / 3 * 3 for n < 24
}

// notZero returns 0 for 0, else 1, without a branch. x must be below 2^63.
func notZero(x uint64) int { return int(-x >> 63) }
