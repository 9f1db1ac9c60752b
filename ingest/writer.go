package ingest

import "strconv"

// AppendRecord appends a line as fio writes it, with a block size of 4096.
func AppendRecord(dst []byte, r *Record, columns int) []byte {
	dst = strconv.AppendInt(dst, r.Time, 10)
	dst = append(dst, ", "...)
	dst = strconv.AppendUint(dst, uint64(r.Dir), 10)
	dst = append(dst, ", 4096"...)
	next := 0
	for i := range columns {
		dst = append(dst, ", "...)
		if next < len(r.Index) && int(r.Index[next]) == i {
			dst = strconv.AppendUint(dst, r.Count[next], 10)
			next++
			continue
		}
		dst = append(dst, '0')
	}
	return append(dst, '\n')
}
