package fiojson

import (
	"encoding/binary"
	"iter"
)

// Bin is a bucket of json+: NS is the middle of the bucket (or its only value).
type Bin struct {
	NS    int64
	Count uint64
}

// Bins is a histogram of json+: bins in ascending order. A run may have millions, of which packed each takes five
// bytes or so: the differences between keys, and the counts, as variable-length integers.
type Bins struct {
	packed string
	n      int
}

// NewBins makes Bins of these, which must ascend.
func NewBins(bins []Bin) Bins {
	packed := make([]byte, 0, 8*len(bins))
	last := int64(0)
	for _, b := range bins {
		packed = binary.AppendUvarint(packed, uint64(b.NS-last))
		packed = binary.AppendUvarint(packed, b.Count)
		last = b.NS
	}
	return Bins{packed: string(packed), n: len(bins)}
}

// Len is the number of bins.
func (b Bins) Len() int { return b.n }

// All are the bins, ascending.
func (b Bins) All() iter.Seq[Bin] {
	return func(yield func(Bin) bool) {
		r := b.reader()
		for bin, ok := r.next(); ok && yield(bin); {
			bin, ok = r.next()
		}
	}
}

// binReader unpacks one bin after the other.
type binReader struct {
	rest string
	ns   int64
}

func (b Bins) reader() *binReader { return &binReader{rest: b.packed} }

// next is the next bin, false at the end.
func (r *binReader) next() (Bin, bool) {
	if r.rest == "" {
		return Bin{}, false
	}
	r.ns += int64(r.number())
	return Bin{NS: r.ns, Count: r.number()}, true
}

func (r *binReader) number() (v uint64) {
	for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
		c := r.rest[i]
		v |= uint64(c&0x7F) << shift
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return v
		}
	}
}
