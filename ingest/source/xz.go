package source

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"runtime"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader reads the streams and blocks of an xz file (tukaani.org/xz/xz-file-format.txt) and checks the dictionary of
// each before it is allocated: the library's own reader allocates what any header asks for, up to 4 GiB.
type xzReader struct {
	in    *bufio.Reader
	n     int64 // bytes taken from in
	flags [2]byte
	check func() hash.Hash // of this stream's blocks
	state func() error     // what comes next; sets block when a block has begun

	block   io.Reader // the open block's data; nil: none is open
	sum     hash.Hash
	start   int64    // where the open block's header began
	size    int64    // decompressed bytes of the open block
	declare [2]int64 // its compressed and decompressed size as the header says; -1: not said
	head    int64    // the length of its header
	records []xzRecord
	large   bool // the last block's dictionary is worth collecting at once
}

type xzRecord struct{ unpadded, size int64 }

func newXZ(packed io.Reader) *xzReader {
	x := &xzReader{in: bufio.NewReaderSize(packed, 64<<10)}
	x.state = x.stream
	return x
}

var errXZ = errors.New("not as xz writes it")

// ReadByte makes the library read byte by byte what it needs, and no more.
func (x *xzReader) ReadByte() (byte, error) {
	c, err := x.in.ReadByte()
	if err == nil {
		x.n++
	}
	return c, err
}

// packedXZ is what the library reads from.
type packedXZ struct{ *xzReader }

func (p packedXZ) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.n += int64(n)
	return n, err
}

// take reads exactly n bytes.
func (x *xzReader) take(n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := io.ReadFull(x.in, b)
	x.n += int64(got)
	return b, cutShort(err)
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// sealed reports whether data ends in its own CRC32.
func sealed(data []byte) bool {
	end := len(data) - 4
	return crc32.ChecksumIEEE(data[:end]) == binary.LittleEndian.Uint32(data[end:])
}

func (x *xzReader) Read(p []byte) (int, error) {
	for {
		for x.block == nil {
			if err := x.state(); err != nil {
				return 0, err
			}
		}
		n, err := x.block.Read(p)
		if n > 0 {
			x.sum.Write(p[:n])
			x.size += int64(n)
		}
		if errors.Is(err, io.EOF) {
			if err = x.endBlock(); err != nil {
				return n, err
			}
		} else if err != nil {
			return n, err
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
}

// stream reads a stream's header, after what may pad the one before it.
func (x *xzReader) stream() error {
	head := make([]byte, 12)
	for {
		n, err := io.ReadFull(x.in, head[:4])
		x.n += int64(n)
		if err != nil {
			return err // io.EOF: the end of the last stream
		}
		if x.n == 4 || !bytes.Equal(head[:4], make([]byte, 4)) {
			break
		}
	}
	rest, err := x.take(8)
	if err != nil {
		return err
	}
	copy(head[4:], rest)
	if !bytes.Equal(head[:6], xzMagic) || !sealed(head[6:]) || head[6] != 0 {
		return errXZ
	}
	x.flags = [2]byte(head[6:8])
	switch head[7] {
	case 0:
		x.check = func() hash.Hash { return noCheck{} }
	case 1:
		x.check = func() hash.Hash { return crc32.NewIEEE() }
	case 4:
		x.check = func() hash.Hash { return crc64.New(crc64.MakeTable(crc64.ECMA)) }
	case 10:
		x.check = sha256.New
	default:
		return errors.New("an unknown kind of checksum")
	}
	x.records, x.state = nil, x.beginBlock
	return nil
}

// beginBlock reads a block's header, or the index.
func (x *xzReader) beginBlock() error {
	x.start = x.n
	first, err := x.take(1)
	if err != nil {
		return err
	}
	if first[0] == 0 {
		return x.index()
	}
	rest, err := x.take(4*(int(first[0])+1) - 1)
	if err != nil {
		return err
	}
	head := append(first, rest...)
	if !sealed(head) || head[1]&0x3C != 0 {
		return errXZ
	}
	x.head = int64(len(head))
	fields := bytes.NewReader(head[2 : len(head)-4])
	for i, said := range []bool{head[1]&0x40 != 0, head[1]&0x80 != 0} {
		if x.declare[i] = -1; said {
			if x.declare[i], err = xzNumber(fields); err != nil {
				return errXZ
			}
		}
	}
	var filter [3]byte // LZMA2, one byte of properties: the size of the dictionary
	if _, err = io.ReadFull(fields, filter[:]); err != nil || filter[1] != 1 || filter[2] > 40 {
		return errXZ
	}
	if head[1]&3 != 0 || filter[0] != 0x21 {
		return errors.New("a filter other than LZMA2")
	}
	dict := int64(2|filter[2]&1) << (filter[2]/2 + 11)
	if filter[2] == 40 || dict > maxWindow {
		return errWindow
	}
	if x.large {
		runtime.GC() // frees the dictionary of the block before: two of them would be too much
	}
	x.large = dict > 8<<20
	x.block, err = lzma.Reader2Config{DictCap: int(dict)}.NewReader2(packedXZ{x})
	x.sum, x.size = x.check(), 0
	return cutShort(err)
}

// endBlock checks a block that was read to its end.
func (x *xzReader) endBlock() error {
	x.block = nil
	packed := x.n - x.start - x.head
	if x.declare[0] >= 0 && x.declare[0] != packed || x.declare[1] >= 0 && x.declare[1] != x.size {
		return errors.New("a block of another size than its header says")
	}
	padding := int(-packed & 3)
	end, err := x.take(padding + x.sum.Size())
	if err != nil {
		return err
	}
	sum := x.sum.Sum(nil)
	if x.sum.Size() < sha256.Size { // CRCs are stored in little endian
		for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
			sum[i], sum[j] = sum[j], sum[i]
		}
	}
	if !bytes.Equal(end[padding:], sum) {
		return errors.New("the checksum of a block differs")
	}
	x.records = append(x.records, xzRecord{x.head + packed + int64(len(sum)), x.size})
	return nil
}

// index reads a stream's index and footer.
func (x *xzReader) index() error {
	sum := crc32.NewIEEE()
	sum.Write([]byte{0})
	in := indexReader{x, sum}
	count, err := xzNumber(in)
	if err == nil && count != int64(len(x.records)) {
		err = errXZ
	}
	for i := 0; err == nil && i < len(x.records); i++ {
		var r xzRecord
		if r.unpadded, err = xzNumber(in); err == nil {
			r.size, err = xzNumber(in)
		}
		if err == nil && r != x.records[i] {
			err = errXZ
		}
	}
	for err == nil && (x.n-x.start)%4 != 0 {
		_, err = in.ReadByte()
	}
	if err != nil {
		return cutShort(err)
	}
	length := x.n - x.start + 4
	end, err := x.take(4 + 12)
	if err != nil {
		return err
	}
	crc, footer := end[:4], end[4:]
	if binary.LittleEndian.Uint32(crc) != sum.Sum32() || string(footer[10:]) != "YZ" ||
		binary.LittleEndian.Uint32(footer) != crc32.ChecksumIEEE(footer[4:10]) ||
		4*(int64(binary.LittleEndian.Uint32(footer[4:]))+1) != length || [2]byte(footer[8:10]) != x.flags {
		return errXZ
	}
	x.state = x.stream
	return nil
}

// indexReader adds what is read to the index's checksum.
type indexReader struct {
	x   *xzReader
	sum hash.Hash32
}

func (r indexReader) ReadByte() (byte, error) {
	c, err := r.x.ReadByte()
	if err == nil {
		r.sum.Write([]byte{c})
	}
	return c, err
}

// xzNumber reads a number: seven bits a byte, nine bytes at most.
func xzNumber(r io.ByteReader) (int64, error) {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > 1<<63-1 {
		err = errXZ
	}
	return int64(n), err
}

// noCheck is the checksum of streams without one.
type noCheck struct{}

func (noCheck) Write(p []byte) (int, error) { return len(p), nil }
func (noCheck) Sum(b []byte) []byte         { return b }
func (noCheck) Reset()                      {}
func (noCheck) Size() int                   { return 0 }
func (noCheck) BlockSize() int              { return 1 }
