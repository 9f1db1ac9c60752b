package pipeline

import (
	"encoding/binary"

	"fiolat/ingest"
)

// kept are records that wait to be placed, in order, in a fraction of the memory: a byte or
// two for a bucket and its count instead of ten.
type kept struct {
	b       []byte
	records int
	rec     ingest.Record // what next returned
}

// add appends a record.
func (k *kept) add(r *ingest.Record) {
	for _, v := range []uint64{uint64(r.Time), uint64(r.Dir), uint64(r.Line), r.IOs, r.NS, uint64(len(r.Index))} {
		k.b = binary.AppendUvarint(k.b, v)
	}
	before := uint16(0)
	for i, at := range r.Index {
		k.b = binary.AppendUvarint(k.b, uint64(at-before))
		k.b = binary.AppendUvarint(k.b, uint64(r.Count[i])) // whole, see ingest.Record
		before = at
	}
	k.records++
}

// next removes the first record and returns it; it is overwritten by the next call.
func (k *kept) next() *ingest.Record {
	at := 0
	value := func() uint64 {
		v, n := binary.Uvarint(k.b[at:])
		at += n
		return v
	}
	r := &k.rec
	r.Time, r.Dir, r.Line, r.IOs, r.NS = int64(value()), ingest.Direction(value()), int64(value()), value(), value()
	r.Index, r.Count = r.Index[:0], r.Count[:0]
	bucket := uint16(0)
	for range value() {
		bucket += uint16(value())
		r.Index, r.Count = append(r.Index, bucket), append(r.Count, float64(value()))
	}
	k.b = k.b[at:]
	if k.records--; k.records == 0 {
		k.b = nil
	}
	return r
}

// each calls f for all records, which stay.
func (k *kept) each(f func(*ingest.Record)) {
	for all := (kept{b: k.b, records: k.records}); all.records > 0; {
		f(all.next())
	}
}
