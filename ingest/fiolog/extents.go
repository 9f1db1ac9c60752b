package fiolog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"fiolat/fio"
)

// Extent is the part of a log that one thread wrote. With per_job_logs=0 fio appends the whole log of each thread to
// one file when the thread ends, so time runs backwards where the next thread's log begins.
type Extent struct {
	// N counts a file's extents from 1.
	N int
	// After is the number of lines before it. Offset and Size are in bytes of the decompressed file.
	After, Offset, Size int64
	// Blocks are the block sizes in its lines, by direction, each once; of many the first.
	Blocks [fio.Directions][]uint64
}

const maxBlocks = 16

// addBlock notes the block size of a record, from the text behind its stamp, and the number of the column that has it.
func (e *Extent) addBlock(text []byte, column int) {
	var direction, block uint64
	for range column {
		_, text, _ = bytes.Cut(text, []byte{','})
		direction = block
		block, _ = number(text[blanks(text):])
	}
	of := &e.Blocks[min(direction, fio.Directions-1)]
	if len(*of) < maxBlocks && !slices.Contains(*of, block) {
		*of = append(*of, block)
	}
}

// maxExtents is more than the threads that fio can start.
const maxExtents = 1 << 20

// Read returns a reader of the extent's bytes out of r, which reads the decompressed file from its start.
func (e *Extent) Read(r io.Reader) io.Reader {
	return &extentReader{r: r, skip: e.Offset, left: e.Size}
}

type extentReader struct {
	r          io.Reader
	skip, left int64
}

func (e *extentReader) Read(p []byte) (int, error) {
	if e.skip > 0 {
		n, err := io.CopyN(io.Discard, e.r, e.skip)
		e.skip -= n
		if err != nil {
			return 0, err
		}
	}
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	return n, err
}

// Extents finds the extents of a log, of histograms or of single I/Os, where the latency is before the direction. It
// returns a single one for a log that cannot be read: reading it later returns the error. A new one begins where time
// runs backwards, where the windows of h ms of one thread cannot lie (0: unknown), or where stamps reach the next of
// the times given, in ms.
func Extents(r io.Reader, hist bool, h int64, begins ...int64) []Extent {
	lines := bufio.NewReaderSize(r, 64<<10)
	block := 3
	if hist {
		block = 2
	}
	all := []Extent{{N: 1}}
	last, line := uint64(0), int64(0)
	var windows [fio.Directions]bounds
	for begin := true; ; {
		text, err := lines.ReadSlice('\n')
		if begin && len(text) > 0 {
			stamp, digits := number(text)
			next := false
			for digits > 0 && len(begins) > 0 && stamp > uint64(begins[0]) {
				next, begins = last > 0, begins[1:]
			}
			next = next || digits > 0 && stamp < last
			if !next && h > 0 && digits > 0 && stamp < MaxTime {
				next = !boundsOf(&windows, text[digits:]).allow(int64(stamp), h)
			}
			if next {
				now := &all[len(all)-1]
				all = append(all, Extent{N: now.N + 1, After: line, Offset: now.Offset + now.Size})
				windows = [fio.Directions]bounds{}
			}
			if digits > 0 {
				last = stamp
				boundsOf(&windows, text[digits:]).add(int64(stamp), h, severalIOs(text))
				all[len(all)-1].addBlock(text[digits:], block)
			}
			line++
		}
		all[len(all)-1].Size += int64(len(text))
		begin = err == nil
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil && !errors.Is(err, bufio.ErrBufferFull), len(all) > maxExtents:
			return []Extent{{N: 1}}
		}
	}
}

// bounds are what the records of one direction of a thread say of the time B at which its first window opened, in ms:
// record n is written at B + (n+1) h or later, and if it holds two or more I/Os it was open at the stamp before it.
type bounds struct {
	records, last int64
	least         int64
}

func boundsOf(of *[fio.Directions]bounds, text []byte) *bounds {
	_, text, _ = bytes.Cut(text, []byte{','})
	d, _ := number(text[blanks(text):])
	return &of[min(d, fio.Directions-1)]
}

// allow reports whether the next record can be of the same thread.
func (b *bounds) allow(stamp, h int64) bool { return stamp-(b.records+1)*h >= b.least }

func (b *bounds) add(stamp, h int64, several bool) {
	if b.records > 0 && several {
		b.least = max(b.least, b.last-(b.records+1)*h+1)
	}
	b.records, b.last = b.records+1, stamp
}

// severalIOs reports whether a record holds two I/Os or more.
func severalIOs(text []byte) bool {
	sum := uint64(0)
	for column := 0; len(text) > 0 && sum < 2; column++ {
		var field []byte
		field, text, _ = bytes.Cut(text, []byte{','})
		if n, _ := number(field[blanks(field):]); column > 2 {
			sum += min(n, 2)
		}
	}
	return sum >= 2
}
