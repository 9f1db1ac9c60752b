package fiolog

import (
	"fmt"
	"slices"

	"fiolat/ingest/blockscan"
)

// Direction is fio's data direction.
type Direction uint8

// The directions as fio numbers them in its logs.
const (
	Read Direction = iota
	Write
	Trim
	Directions = 3
)

var directionNames = [Directions]string{"read", "write", "trim"}

// String is the direction's name in fio's JSON: read, write or trim.
func (d Direction) String() string {
	if d < Directions {
		return directionNames[d]
	}
	return fmt.Sprintf("direction %d", uint8(d))
}

// ParseDirection is the direction of that name.
func ParseDirection(name string) (Direction, bool) {
	d := slices.Index(directionNames[:], name)
	return Direction(max(d, 0)), d >= 0
}

// Kind is which of fio's latencies a log or a set of bins holds.
type Kind uint8

// Completion, submission and total latency, which may be logged, and that of fsync, fdatasync and sync_file_range,
// which is in fio's JSON only.
const (
	Clat Kind = iota
	Slat
	Lat
	Sync
	Kinds = 3 // that are logged
)

var kindNames = [Kinds + 1]string{"clat", "slat", "lat", "sync"}

// String is the kind's name in fio: clat, slat, lat or sync.
func (k Kind) String() string { return kindNames[k] }

// ParseKind is the kind of that name.
func ParseKind(name string) (Kind, bool) {
	k := slices.Index(kindNames[:], name)
	return Kind(max(k, 0)), k >= 0
}

// Record is one line of a histogram log: what completed in one direction since the previous record of that direction.
// Of a log of single I/Os it is what completed at one stamp. Only buckets that are not 0 are held.
//
// A Record and its slices belong to the Reader and are overwritten by its next call: use Clone to keep one.
type Record struct {
	// Time is the stamp in ms: the END of the record's interval, counted from the
	// job's start or, with log_unix_epoch, from 1970.
	Time int64
	// Dir is the direction.
	Dir Direction
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
	MaxCount = blockscan.Largest
	// MaxTime is the largest stamp in ms that is accepted: the year 2200.
	MaxTime = 7258118400000
)
