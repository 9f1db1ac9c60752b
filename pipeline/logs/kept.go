package logs

import (
	"encoding/binary"

	"fiolat/ingest/fiolog"
)

// recordQueue holds records that wait to be placed. Most buckets take two bytes with their count instead of ten.
type recordQueue struct {
	b       []byte
	at      int // offset of the first record in b
	records int
	of      [fiolog.Directions]int // records by direction
	latest  int64                  // stamp of the last record added, ms
	rec     fiolog.Record          // what next returned
	lines   int64                  // lines skipped before it
}

// add appends a record; lines is how many were skipped before it.
func (k *recordQueue) add(r *fiolog.Record, lines int64) {
	k.of[r.Dir]++
	k.latest = r.Time
	if k.at > len(k.b)/2 { // a queue that never runs empty must not grow
		k.b, k.at = k.b[:copy(k.b, k.b[k.at:])], 0
	}
	for _, v := range []uint64{
		uint64(r.Time), uint64(r.Dir), uint64(r.Line), uint64(lines), r.IOs, r.NS, uint64(len(r.Index)),
	} {
		k.b = binary.AppendUvarint(k.b, v)
	}
	before := uint16(0)
	for i, at := range r.Index {
		k.b = binary.AppendUvarint(k.b, uint64(at-before))
		k.b = binary.AppendUvarint(k.b, uint64(r.Count[i])) // whole, see fiolog.Record
		before = at
	}
	k.records++
}

// next removes the first record and returns it; it is overwritten by the next call.
func (k *recordQueue) next() *fiolog.Record {
	value := func() uint64 {
		v, n := binary.Uvarint(k.b[k.at:])
		k.at += n
		return v
	}
	r := &k.rec
	r.Time, r.Dir, r.Line, k.lines = int64(value()), fiolog.Direction(value()), int64(value()), int64(value())
	r.IOs, r.NS = value(), value()
	k.of[r.Dir]--
	r.Index, r.Count = r.Index[:0], r.Count[:0]
	bucket := uint16(0)
	for range value() {
		bucket += uint16(value())
		r.Index, r.Count = append(r.Index, bucket), append(r.Count, float64(value()))
	}
	if k.records--; k.records == 0 {
		k.b, k.at = nil, 0
	}
	return r
}

func (k *recordQueue) each(f func(*fiolog.Record)) {
	for all := (recordQueue{b: k.b, at: k.at, records: k.records}); all.records > 0; {
		f(all.next())
	}
}
