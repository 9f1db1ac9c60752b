package ingest

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxFrame bounds what is decompressed in one go, packed and unpacked: pzstd's
	// frames are of 8 MiB at its usual level and of 32 MiB at the highest.
	maxFrame = 32 << 20
	// maxFrames bounds the sum of all that is at work or waits to be read.
	maxFrames = 64 << 20
	// enoughFrames is for how much frames are taken together: bgzip's are of 64 KiB.
	enoughFrames = 1 << 20
	// zstdBlock is the most that a compressed block of zstd can become.
	zstdBlock = 128 << 10
)

// frames decompresses the frames (of gzip: the members) of a file side by side. It
// cuts the file where their headers say that they end, without decompressing, and
// judges nothing: from the first frame on that is larger than maxFrame, does not
// tell its size, or can't be decompressed, the file is left to the one decompressor
// for all, which finds the words for what may be wrong.
//
// One goroutine calls it; each frame at work has one more.
type frames struct {
	src     io.Reader // packed
	format  string
	workers int

	buf   []byte  // read and not cut yet
	eof   bool    // src has ended, or failed
	ended bool    // what follows is not for frames
	at    int64   // where queue begins in the file
	queue []*unit // cut, in order; all of them are being decompressed or done
	held  int     // bytes of queue and now
	now   *unit   // being read
	left  []byte  // of now
	spare []*unit
}

// unit is some whole frames.
type unit struct {
	packed, out []byte
	room        []byte // for out
	size        int    // the most that either of them needs
	sound       bool
	done        chan struct{}
}

// read is Read; ok is false at the end of what is for frames.
func (f *frames) read(p []byte) (n int, ok bool) {
	for len(f.left) == 0 {
		if u := f.now; u != nil {
			f.now, f.held, f.spare = nil, f.held-u.size, append(f.spare, u)
		}
		for !f.ended && len(f.queue) < f.workers && f.held+maxFrame <= maxFrames {
			f.cut()
		}
		if len(f.queue) == 0 {
			return 0, false
		}
		u := f.queue[0]
		<-u.done
		if !u.sound {
			return 0, false
		}
		f.now, f.left, f.queue = u, u.out, f.queue[1:]
		f.at += int64(len(u.packed))
	}
	n = copy(p, f.left)
	f.left = f.left[n:]
	return n, true
}

// rest is what was read of the file and not handed out decompressed. Nothing is at
// work any more.
func (f *frames) rest() (packed []byte) {
	for _, u := range f.queue {
		<-u.done
		packed = append(packed, u.packed...)
	}
	return append(packed, f.buf...)
}

// cut takes whole frames off the file and has them decompressed.
func (f *frames) cut() {
	end, size := 0, 0
	for max(end, size) < enoughFrames {
		next, more, ok := f.frame(end)
		if f.ended = !ok; f.ended || max(next, size+more) > maxFrame {
			break
		}
		end, size = next, size+more
	}
	if end == 0 {
		f.ended = true
		return
	}
	u := new(unit)
	if last := len(f.spare) - 1; last >= 0 {
		u, f.spare = f.spare[last], f.spare[:last]
	}
	free := u.packed[:0]
	u.packed, u.size, u.sound, u.done = f.buf[:end], max(end, size), false, make(chan struct{})
	f.buf = append(free, f.buf[end:]...)
	f.queue, f.held = append(f.queue, u), f.held+u.size
	if cap(u.room) < size {
		u.room = make([]byte, size)
	}
	go f.unpack(u, size)
}

// unpack decompresses u, of which at most size bytes may come: of gzip just so many.
func (f *frames) unpack(u *unit, size int) {
	defer close(u.done)
	if f.format == "zstd" {
		z, err := newZstd()
		if err == nil {
			u.out, err = z.DecodeAll(u.packed, u.room[:0])
			zstds.Put(z)
		}
		u.sound = err == nil
		return
	}
	g := newGunzip(bytes.NewReader(u.packed))
	defer g.free()
	out := bounded(u.room[:0:size])
	_, err := g.WriteTo(&out)
	u.out = out
	u.sound = err == nil && len(out) == size
}

// bounded takes what it has room for.
type bounded []byte

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > cap(*b)-len(*b) {
		return 0, io.ErrShortBuffer
	}
	*b = append(*b, p...)
	return len(p), nil
}

// frame finds the end of the frame that begins at a place in buf, and the most that
// can come out of it. It is not ok if the frame does not tell, or is too large.
func (f *frames) frame(at int) (end, size int, ok bool) {
	if f.format == "zstd" {
		end, size, ok = f.zstdFrame(at)
	} else {
		end, size, ok = f.gzipMember(at)
	}
	return end, size, ok && max(end-at, size) <= maxFrame && f.have(end)
}

// have reads until buf holds so many bytes.
func (f *frames) have(n int) bool {
	if more := n - len(f.buf); more > 0 && !f.eof {
		room := max(more, 32<<10) // little is left over for the next unit, and copied
		f.buf = slices.Grow(f.buf, room)
		got, err := io.ReadAtLeast(f.src, f.buf[len(f.buf):len(f.buf)+room], more)
		f.buf, f.eof = f.buf[:len(f.buf)+got], err != nil
	}
	return len(f.buf) >= n
}

// zstdFrame follows RFC 8878, 3.1.1: a header, blocks with headers of 3 bytes, and
// perhaps a checksum of 4; or a frame to skip.
func (f *frames) zstdFrame(at int) (end, size int, ok bool) {
	f.have(at + zstd.HeaderMaxSize)
	var h zstd.Header
	if at >= len(f.buf) || h.Decode(f.buf[at:]) != nil {
		return 0, 0, false
	}
	end = at + h.HeaderSize
	if h.Skippable {
		return end + int(h.SkippableSize), 0, true
	}
	for last := false; !last; {
		if !f.have(end+3) || max(end-at, size) > maxFrame {
			return 0, 0, false
		}
		head := int(f.buf[end]) | int(f.buf[end+1])<<8 | int(f.buf[end+2])<<16
		last = head&1 != 0
		end += 3
		n := head >> 3
		switch head >> 1 & 3 {
		case 0: // as it is
			end, size = end+n, size+n
		case 1: // one byte, repeated
			end, size = end+1, size+n
		case 2:
			end, size = end+n, size+zstdBlock
		default:
			return 0, 0, false
		}
	}
	if h.HasCheckSum {
		end += 4
	}
	if h.HasFCS {
		if h.FrameContentSize > uint64(size) {
			return 0, 0, false
		}
		size = int(h.FrameContentSize)
	}
	return end, size, true
}

// gzipMember follows RFC 1952, 2.3, and the format of bgzip (SAM specification, 4.1):
// an extra field BC has the size of the member less 1, and its last 4 bytes have
// that of what comes out, which is no more than 64 KiB.
func (f *frames) gzipMember(at int) (end, size int, ok bool) {
	const fixed, extra = 12, 4 // bytes of a header up to its extra fields; the flag for them
	if !f.have(at+fixed) || !bytes.HasPrefix(f.buf[at:], gzipMagic) || f.buf[at+3]&extra == 0 {
		return 0, 0, false
	}
	fields := at + fixed
	first := fields + int(binary.LittleEndian.Uint16(f.buf[fields-2:]))
	if !f.have(first) {
		return 0, 0, false
	}
	for fields+6 <= first {
		n := int(binary.LittleEndian.Uint16(f.buf[fields+2:]))
		if string(f.buf[fields:fields+2]) == "BC" && n == 2 {
			end = at + int(binary.LittleEndian.Uint16(f.buf[fields+4:])) + 1
			if end < first+8 || !f.have(end) {
				return 0, 0, false
			}
			size = int(binary.LittleEndian.Uint32(f.buf[end-4:]))
			return end, size, size <= 64<<10
		}
		fields += 4 + n
	}
	return 0, 0, false
}
