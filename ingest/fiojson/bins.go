package fiojson

import (
	"encoding/binary"
	"iter"
	"os"

	"fiolat/internal/tempfile"
)

// Bin is a bucket of json+: NS is the middle of the bucket (or its only value).
type Bin struct {
	NS    int64
	Count uint64
}

// Bins is a histogram of json+: bins in ascending order. A run may have millions, so they are packed: the differences
// between keys, and the counts, as variable-length integers. Those of a large document are in a file, and are read
// when they are needed.
//
// Most totals have none, and are many: Bins are a pointer.
type Bins struct{ *bins }

type bins struct {
	packed string
	n      int
	sum    uint64 // of all counts
	odd    string // how they contradict fio's mean or maximum; "" if they do not

	file *os.File // if not nil, it holds packed
	at   int64
	size int
}

// NewBins returns Bins of the given bins, which must be in ascending order.
func NewBins(of []Bin) Bins {
	if len(of) == 0 {
		return Bins{}
	}
	packed, sum := pack(nil, of)
	return Bins{&bins{packed: string(packed), n: len(of), sum: sum}}
}

// pack appends bins to packed ones, and adds up their counts.
func pack(to []byte, of []Bin) (packed []byte, sum uint64) {
	last := int64(0)
	for _, b := range of {
		to = binary.AppendUvarint(to, uint64(b.NS-last))
		to = binary.AppendUvarint(to, b.Count)
		last, sum = b.NS, sum+b.Count
	}
	return to, sum
}

// Len is the number of bins.
func (b Bins) Len() int {
	if b.bins == nil {
		return 0
	}
	return b.n
}

// All iterates over the bins in ascending order. An error, as the last element, says that they could not be read
// again.
func (b Bins) All() iter.Seq2[Bin, error] {
	return func(yield func(Bin, error) bool) {
		if b.bins == nil {
			return
		}
		packed := b.packed
		if b.file != nil {
			buf := make([]byte, b.size)
			if _, err := b.file.ReadAt(buf, b.at); err != nil {
				yield(Bin{}, err)
				return
			}
			packed = string(buf)
		}
		number := func() (v uint64) {
			for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
				c := packed[i]
				v |= uint64(c&0x7F) << shift
				if c < 0x80 {
					packed = packed[i+1:]
					return v
				}
			}
		}
		for ns := int64(0); packed != ""; {
			ns += int64(number())
			if !yield(Bin{NS: ns, Count: number()}, nil) {
				return
			}
		}
	}
}

// maxBins is how many bytes of a document's bins are held in memory. Tests change it.
var maxBins = 1 << 20

// binStore keeps the bins of a document: the first in memory, and the rest in a file without a name. If that cannot
// be made or written, they stay in memory. The file goes with the last Bins that are in it.
type binStore struct {
	held   int // bytes
	file   *os.File
	end    int64
	failed bool
	buf    []byte
}

// keep packs bins, and returns how many bytes they take.
func (s *binStore) keep(of []Bin) (_ Bins, size int) {
	if len(of) == 0 {
		return Bins{}, 0
	}
	b := &bins{n: len(of)}
	s.buf, b.sum = pack(s.buf[:0], of)
	size = len(s.buf)
	s.held += size
	if s.held > maxBins && s.file == nil && !s.failed {
		var err error
		s.file, err = tempfile.CreateUnlinked()
		s.failed = err != nil
	}
	if s.held > maxBins && !s.failed {
		if _, err := s.file.WriteAt(s.buf, s.end); err == nil {
			b.file, b.at, b.size = s.file, s.end, size
			s.end += int64(size)
			return Bins{b}, size
		}
		s.failed = true
	}
	b.packed = string(s.buf)
	return Bins{b}, size
}
