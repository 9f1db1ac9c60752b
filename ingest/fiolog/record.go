package fiolog

import (
	"fiolat/fio"
)

// Record is one line of a histogram log: what completed in one direction since the previous record of that direction.
// Of a log of single I/Os it is what completed at one stamp. Only buckets that are not 0 are held.
//
// A Record and its slices belong to the Reader and are overwritten by its next call: use Clone to keep one.
type Record struct {
	// Time is the stamp in ms: the END of the record's interval, counted from the
	// job's start or, with log_unix_epoch, from 1970.
	Time int64
	// Dir is the direction.
	Dir fio.Direction
	// Index holds the buckets that are not 0, ascending; Count their counts, each a whole number from 1 to MaxCount.
	Index []uint16
	Count []float64
	// IOs is the number of I/Os in the record, the sum of Count.
	IOs uint64
	// NS is the sum of the latencies in ns for single I/Os; else 0.
	NS uint64
	// Line is the number of the line in its file, from 1.
	Line int64
}

// Clone returns a copy that outlives the next call of the Reader.
func (r *Record) Clone() *Record {
	c := *r
	c.Index = append([]uint16(nil), r.Index...)
	c.Count = append([]float64(nil), r.Count...)
	return &c
}

const (
	// MaxCount is the largest count of a bucket that is accepted: 2^44 I/Os are two days of 100 million a second.
	// What fio's known bad logs hold instead of counts is larger: differences that wrapped around below 0 (close to
	// 2^64) and pieces of memory (addresses, from 2^46 on). Sums of 2048 such counts fit 2^55.
	MaxCount = largest
	// MaxTime is the largest stamp in ms that is accepted: the year 2200.
	MaxTime = 7258118400000
)
