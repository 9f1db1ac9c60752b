package fiolog

import "strconv"

// blockSize is the third column that AppendRecord writes. In fio's logs it is the block size of the I/O that closed the
// window; readers ignore it.
const blockSize = "4096"

// AppendRecord appends to dst the line that fio writes for rec with that many buckets: `time, direction, block size,
// c0, c1, ..., cN` and a newline.
func AppendRecord(dst []byte, rec *Record, columns int) []byte {
	dst = strconv.AppendInt(dst, rec.Time, 10)
	dst = append(dst, ", "...)
	dst = strconv.AppendUint(dst, uint64(rec.Dir), 10)
	dst = append(dst, ", "+blockSize...)
	next := 0
	for col := range columns {
		dst = append(dst, ", "...)
		if next < len(rec.Index) && int(rec.Index[next]) == col {
			dst = strconv.AppendUint(dst, uint64(rec.Count[next]), 10)
			next++
			continue
		}
		dst = append(dst, '0')
	}
	return append(dst, '\n')
}
