package source

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// fzReader reads what fio writes with log_store_compressed: a zlib stream for each chunk of the log, with the samples
// as fio has them in memory. It returns the lines that `fio --inflate-log` prints (iolog.c: flush_samples).
type fzReader struct {
	in     *bufio.Reader
	z      io.ReadCloser // the open chunk; nil: none
	layout *fzLayout     // nil: not known yet
	raw    []byte        // samples of the chunk that are not yet in text
	text   []byte        // lines that are not yet read
}

// fzChunk is how many bytes of samples are turned into text at a time.
const fzChunk = 64 << 10

func newFZ(packed io.Reader) *fzReader {
	return &fzReader{in: bufio.NewReaderSize(packed, 64<<10)}
}

func (f *fzReader) Read(p []byte) (int, error) {
	for len(f.text) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

// next turns the next samples into text.
func (f *fzReader) next() error {
	if f.z == nil {
		if _, err := f.in.Peek(1); err != nil {
			return err
		}
		z, err := zlib.NewReader(f.in)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		f.z = z
	}
	ended := false
	for !ended && len(f.raw) < fzChunk {
		at := len(f.raw)
		f.raw = append(f.raw, make([]byte, fzChunk-at)...)
		n, err := f.z.Read(f.raw[at:])
		f.raw = f.raw[:at+n]
		if ended = errors.Is(err, io.EOF); err != nil && !ended {
			return err
		}
	}
	if f.layout == nil && len(f.raw) > 0 {
		if f.layout = fzLayoutOf(f.raw, ended); f.layout == nil {
			return errFZ
		}
	}
	f.text = f.text[:0]
	for f.layout != nil && len(f.raw) >= f.layout.size() {
		f.text = f.layout.appendLine(f.text, f.raw)
		f.raw = f.raw[f.layout.size():]
	}
	if ended {
		f.z = nil
		if len(f.raw) > 0 {
			return errFZ
		}
	}
	return nil
}

var errFZ = errors.New("not the samples of a fio that is known here; unpack it with the fio that wrote it (fio " +
	"--inflate-log) if it is whole")

// fzLayout is fio's struct io_sample: stamp and value come first, with 8 bytes each.
type fzLayout struct {
	dir, priority, block int // offsets; priority is 0 where there is none, and the block size then has 4 bytes
	base                 int // the size without what the flags add
	flags                uint32
}

// Versions of struct io_sample: of most of fio 3, with a second value (fio 3.37), and of fio 2.
var fzLayouts = []fzLayout{
	{dir: 16, priority: 20, block: 24, base: 32},
	{dir: 24, priority: 28, block: 32, base: 40},
	{dir: 16, block: 20, base: 24},
}

// The flags in the direction of all samples of a log (iolog.h: LOG_OFFSET_SAMPLE_BIT and those after it).
const (
	fzOffset   = 1 << 31
	fzPriority = 1 << 30
	fzBoth     = 1 << 29 // log_window_value=both
	fzIssue    = 1 << 28
	fzFlags    = fzOffset | fzPriority | fzBoth | fzIssue
)

// fzLayoutOf returns the layout that fits all of the samples; nil if none does. whole means that they are a chunk.
func fzLayoutOf(raw []byte, whole bool) *fzLayout {
	for _, l := range fzLayouts {
		if len(raw) < l.base {
			continue
		}
		l.flags = binary.LittleEndian.Uint32(raw[l.dir:]) & fzFlags
		if len(raw) >= l.size() && l.fits(raw) && (!whole || len(raw)%l.size() == 0) {
			return &l
		}
	}
	return nil
}

// fits reports whether all samples have the same flags, a direction, and a stamp within a century.
func (l *fzLayout) fits(raw []byte) bool {
	for ; len(raw) >= l.size(); raw = raw[l.size():] {
		dir := binary.LittleEndian.Uint32(raw[l.dir:])
		if dir&fzFlags != l.flags || dir&^fzFlags > 4 || binary.LittleEndian.Uint64(raw) > 100*365*24*3600*1000 {
			return false
		}
	}
	return true
}

// size returns the length of a sample.
func (l *fzLayout) size() int {
	n := l.base
	for _, flag := range []uint32{fzOffset, fzIssue} {
		if l.flags&flag != 0 {
			n += 8
		}
	}
	return n
}

// appendLine appends the line of the first sample.
func (l *fzLayout) appendLine(text, raw []byte) []byte {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(raw[at:]) }
	text = fmt.Appendf(text, "%d, %d", u64(0), int64(u64(8)))
	if l.flags&fzBoth != 0 {
		text = fmt.Appendf(text, ", %d", int64(u64(16)))
	}
	dir := binary.LittleEndian.Uint32(raw[l.dir:]) &^ fzFlags
	if l.priority == 0 {
		text = fmt.Appendf(text, ", %d, %d", dir, binary.LittleEndian.Uint32(raw[l.block:]))
	} else {
		text = fmt.Appendf(text, ", %d, %d", dir, u64(l.block))
	}
	extra := l.base
	if l.flags&fzOffset != 0 {
		text = fmt.Appendf(text, ", %d", u64(extra))
		extra += 8
	}
	switch priority := binary.LittleEndian.Uint16(raw[l.priority:]); {
	case l.priority == 0:
	case l.flags&fzPriority != 0:
		text = fmt.Appendf(text, ", 0x%04x", priority)
	case priority>>13 == 1: // the class of real time
		text = append(text, ", 1"...)
	default:
		text = append(text, ", 0"...)
	}
	if l.flags&fzIssue != 0 {
		text = fmt.Appendf(text, ", %d", u64(extra))
	}
	return append(text, '\n')
}
