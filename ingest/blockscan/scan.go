package blockscan

import (
	"encoding/binary"
	"math/bits"
)

// Words of fio's lines as they look when loaded little-endian.
const (
	zeros0 = 0x2C30202C30202C30 // `0, 0, 0,`
	zeros1 = 0x30202C30202C3020 // ` 0, 0, 0`
	zeros2 = 0x202C30202C30202C // `, 0, 0, `, and then it starts again

	oneDigit, oneMask = 0x202C00, 0xFFFF00             // `1, `
	twoDigits, twMask = 0x202C0000, 0xFFFF0000         // `12, `
	twoOnes, twoMask  = 0x202C00202C00, 0xFFFF00FFFF00 // `1, 2, `
	digitBits         = 0x1010101010101010             // set in digits, not in `,`, ` ` and newline
	zeroDigits        = 0x3030303030303030             // '0' in each byte
	overNine          = 0x7676767676767676             // lifts what is above 9 into the high bit
	highBits          = 0x8080808080808080
)

// Spare is how many entries more than columns Columns wants to have room for:
// scanBlocks writes four at a time.
const Spare = 4

// Largest is the largest count of seven digits or more that is taken.
const Largest = 1<<44 - 1

// Columns reads the columns of a line at b[p:], p at least 8, and the newline behind them, if they are, byte for
// byte, as fio writes them: `c0, c1, ..., cN`, N+1 = len(index) = len(count). It returns where the line ends, how many
// columns are not 0, which index and count then start with, and the sum of their counts; end is 0 for any other line,
// and for one that ends within 48 bytes of the end of b. Both slices must have room for Spare entries more.
func Columns(b []byte, p int, index []uint16, count []float64) (end, n int, sum uint64) {
	if end, n, sum = AVX2(b, p, index, count); end != 0 {
		return end, n, sum
	}
	return Portable(b, p, index, count)
}

// Portable is Columns on any processor.
//
// How it got its speed, in GB/s on one core of a 2025 server for 6.8 MB of records
// like fio/randrw (1856 columns, some 200 of them not 0, in 35 clusters; every
// record different, for branch predictors learn repeated ones by heart and gain a
// third), best of 12:
//
//	3.4  zeros skipped by 24 bytes (3 words, 8 columns), other columns byte by byte
//	3.7  bit masks of the commas in 64 bytes first, columns from the masks
//	4.4  columns without branches: digits counted by the first byte without bit 4,
//	     made a number by multiplications, stored always and kept if not 0
//	5.4  the same, and a branch of its own for a column of one digit
//	5.9  and for one of two digits
//	6.6  and for two columns of one digit each
//	6.4  the same with bounds checks and without unsafe: this one
//
// A branch that guesses the length right lets the next column start before this
// one is done; without any, each column waits ten cycles for the length of the one
// before. Three columns of one digit at once, a branch on 0 instead of the store,
// and starting to skip at 12 or 24 bytes of zeros instead of 8 all cost 3 to 10 %.
func Portable(b []byte, p int, index []uint16, count []float64) (end, n int, sum uint64) {
	le := binary.LittleEndian
	columns := len(index)
	count = count[:columns]
	col := 0
	bad := uint64(0) // gathers the high bits of what were no digits
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
			index[n], count[n] = uint16(col), float64(int64(first)) // cheaper than of a uint64
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
			} else if v, p = longCount(b, p); v > Largest {
				return 0, 0, 0
			}
			if uint(p)+2 > uint(len(b)) {
				return 0, 0, 0
			}
			if le.Uint16(b[p:p+2]) == 0x202C {
				p += 2
				break
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

// longCount reads the digits, seven or more, at b[p:] and returns where they end;
// a value above Largest stands for all of those.
func longCount(b []byte, p int) (v uint64, next int) {
	for ; p < len(b) && b[p]-'0' <= 9; p++ {
		if v = v*10 + uint64(b[p]-'0'); v > Largest {
			break
		}
	}
	return v, p
}

// zeroColumns is the length of the columns `0, ` at the start of 24 bytes, given
// where these differ from eight of them.
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

// notZero is 1, or 0 for 0, without a branch: x is below 2^63.
func notZero(x uint64) int { return int(-x >> 63) }
