package fiolog

import (
	"encoding/binary"
	"slices"
	"sync"

	"fiolat/fio"
)

// Queue holds records that wait to be used. Most buckets take two bytes with their count instead of ten.
type Queue struct {
	b       []byte
	at      int // offset of the first record in b
	Records int
	Of      [fio.Directions]int // records by direction
	Latest  int64               // stamp of the last record added, ms
	rec     *Record             // what Next returned
	Skipped int64               // lines skipped before it
}

// queued holds records that Next fills, for reuse: of many logs, few are read at a time.
var queued = sync.Pool{New: func() any { return new(Record) }}

// begun holds the memory of queues that were settled.
var begun = sync.Pool{New: func() any { return new([]byte) }}

// Settle gives up the room for more records. Of many logs, each then takes what its records need.
func (k *Queue) Settle() {
	const most = 64 << 10 // bytes that are worth keeping
	if k.Records == 0 {
		return
	}
	all := k.b
	k.b, k.at = slices.Clone(k.b[k.at:]), 0
	if cap(all) <= most {
		all = all[:0]
		begun.Put(&all)
	}
}

// Free empties the queue, and gives up what Next returned.
func (k *Queue) Free() {
	if k.rec != nil {
		queued.Put(k.rec)
	}
	*k = Queue{}
}

// Add appends a record; skipped is how many lines were skipped before it.
func (k *Queue) Add(r *Record, skipped int64) {
	k.Of[r.Dir]++
	k.Latest = r.Time
	if k.b == nil {
		k.b = *begun.Get().(*[]byte)
	}
	room := 16 + 2*len(r.Index)
	if cap(k.b)-len(k.b) < room && k.at > len(k.b)/4 { // a queue that never runs empty must not grow
		k.b, k.at = k.b[:copy(k.b, k.b[k.at:])], 0
	}
	b := slices.Grow(k.b, room) // in registers: while garbage is collected, each write of k.b is dear
	for _, v := range [...]uint64{
		uint64(r.Time), uint64(r.Dir), uint64(r.Line), uint64(skipped), r.IOs, r.NS, uint64(len(r.Index)),
	} {
		b = appendUvarint(b, v)
	}
	before := uint16(0)
	for i, at := range r.Index {
		b = appendUvarint(b, uint64(at-before))
		b = appendUvarint(b, uint64(r.Count[i])) // whole, see Record
		before = at
	}
	k.b = b
	k.Records++
}

// Next removes the first record and returns it; it is overwritten by the next call.
func (k *Queue) Next() *Record {
	if k.rec == nil {
		k.rec = queued.Get().(*Record)
	}
	r := k.rec
	r.Time, r.Dir, r.Line, k.Skipped = int64(k.value()), fio.Direction(k.value()), int64(k.value()), int64(k.value())
	r.IOs, r.NS = k.value(), k.value()
	k.Of[r.Dir]--
	n := int(k.value())
	r.Index, r.Count = slices.Grow(r.Index[:0], n)[:n], slices.Grow(r.Count[:0], n)[:n]
	bucket := uint16(0)
	for i := range n {
		bucket += uint16(k.value())
		r.Index[i], r.Count[i] = bucket, float64(k.value())
	}
	k.Records--
	if k.Records == 0 {
		k.b, k.at = nil, 0
	}
	return r
}

// appendUvarint is binary.AppendUvarint, inlined for the values of one byte, which most are.
func appendUvarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, v)
}

// value takes the next value off b.
func (k *Queue) value() uint64 {
	if v := k.b[k.at]; v < 0x80 {
		k.at++
		return uint64(v)
	}
	return k.longValue()
}

// longValue is value for any length, apart so that value is inlined.
func (k *Queue) longValue() uint64 {
	v, n := binary.Uvarint(k.b[k.at:])
	k.at += n
	return v
}

// Each passes all records to f.
func (k *Queue) Each(f func(*Record)) {
	all := Queue{b: k.b, at: k.at, Records: k.Records}
	for all.Records > 0 {
		f(all.Next())
	}
	all.Free()
}
