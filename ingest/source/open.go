package source

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"fiolat/fio"
)

// Files are read, not mapped into memory: copying a block that stays in the core's cache is cheaper than page faults,
// and a file that is cut while it is read is an end of file instead of a signal. Larger blocks than 256 KiB are not
// faster; smaller ones cost more system calls.

// maxWindow bounds the memory of a decompressor, which takes little more: it is what `zstd --ultra -21` makes. A
// program that reads several logs has several.
const maxWindow = 64 << 20

// The first bytes of compressed files.
var (
	gzipMagic = []byte{0x1F, 0x8B}
	zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}
	bzipMagic = []byte("BZh")
)

// magicBytes are enough to recognize what is packed.
const magicBytes = 6

// Open opens a file, or takes stdin for "-", and decompresses it as Decompress
// does. Closing the result leaves stdin open.
func Open(path string, stdin io.Reader) (*Stream, error) {
	if path == "-" {
		return Decompress(stdin, path, nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return Decompress(f, path, f)
}

// Decompress returns a Stream of r, decompressed if it is gzip, zstd or bzip2; it recognizes them by their first bytes,
// not by name. Several members or frames one after the other are one stream. Data packed in another way is a
// *PackedError. name is for errors; closer, if not nil, is closed with the result.
//
// Memory is bounded however much the data expands: zstd data with a window of more than 64 MiB is refused, in whichever
// frame it comes.
//
// Data that is cut or damaged is a *fio.ParseError of a Read, after everything before it was read; r's own errors
// are returned as they are.
//
// Decompression runs in the goroutine that reads: the caller's where many logs keep all cores busy, one of its own
// where a Reader reads ahead. While open, a gzip stream takes 0.1 MB of memory, a zstd stream little more than its
// window: 2 MiB as `zstd` makes it.
func Decompress(r io.Reader, name string, closer io.Closer) (*Stream, error) {
	d := &Stream{name: name, closer: closer}
	magic := make([]byte, magicBytes)
	n, err := io.ReadFull(r, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(fmt.Errorf("%s: %w", fio.Printable(name), err), d.Close())
	}
	magic = magic[:n]
	if err := packed(magic, name); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.in.r = &putBack{magic, r}
	d.format = formatOf(magic)
	if d.format == "" {
		d.out = &d.in
	}
	return d, nil
}

// Packed reports whether data that starts like this is compressed or packed, in a way that is read or not.
func Packed(start []byte) bool { return formatOf(start) != "" || packed(start, "") != nil }

func formatOf(start []byte) string {
	switch {
	case bytes.HasPrefix(start, gzipMagic):
		return "gzip"
	case bytes.HasPrefix(start, zstdMagic), skippable(start):
		return "zstd"
	case bytes.HasPrefix(start, bzipMagic):
		return "bzip2"
	}
	return ""
}

// open starts decompression.
func (d *Stream) open() (err error) {
	switch d.format {
	case "gzip":
		g := newGunzip(&d.in)
		d.pulled, d.free = newPulled(g), g.free
	case "zstd":
		var z *zstd.Decoder
		if z, err = newZstd(); err != nil {
			return err
		}
		d.pulled, d.free = newPulled(z), func() {
			if z.Reset(nil) == nil {
				zstds.Put(z)
			}
		}
		return z.Reset(&d.in)
	case "bzip2":
		d.out = bzip2.NewReader(&d.in)
	}
	return err
}

// gzips and zstds hold free decompressors, with their windows, for reuse.
var gzips, zstds sync.Pool

// newZstd returns a decompressor that holds no more than the window of one stream.
func newZstd() (*zstd.Decoder, error) {
	if z, ok := zstds.Get().(*zstd.Decoder); ok {
		return z, nil
	}
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

// skippable reports whether data starts with a frame that zstd skips, as pzstd's does.
func skippable(magic []byte) bool {
	return len(magic) >= 4 && magic[0]&0xF0 == 0x50 && bytes.Equal(magic[1:4], []byte{0x2A, 0x4D, 0x18})
}

// Stream reads an input that may be compressed. It tells the input's own errors from damaged data.
type Stream struct {
	name, format string
	in           source
	out          io.Reader // nil: not open yet, or pulled is used instead
	pulled       *pulled
	chunk        []byte // the rest of one for Read
	err          error
	free         func()
	closer       io.Closer
}

// Read reads what is decompressed.
func (d *Stream) Read(p []byte) (int, error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	if d.pulled != nil {
		if len(d.chunk) == 0 {
			var err error
			if d.chunk, err = d.Chunk(); err != nil {
				return 0, err
			}
		}
		n := copy(p, d.chunk)
		d.chunk = d.chunk[n:]
		return n, nil
	}
	n, err := d.out.Read(p)
	switch {
	case err == nil || d.format == "":
		return n, err
	case !errors.Is(err, io.EOF):
		err = d.explain(err)
	}
	d.err = err
	return n, err
}

// ready opens d if it is not open yet.
func (d *Stream) ready() error {
	if d.err == nil && d.out == nil && d.pulled == nil {
		if err := d.open(); err != nil {
			d.err = d.explain(err)
		}
	}
	return d.err
}

// InChunks reports whether Chunk may be called.
func (d *Stream) InChunks() bool {
	return d.format == "gzip" || d.format == "zstd"
}

// Light reports whether it is cheaper to keep d open than to open it again and decompress up to here: it takes little
// memory.
func (d *Stream) Light() bool { return d.format == "gzip" }

// Chunk returns what was decompressed next, without a copy. The next call overwrites it. At the end the error is
// io.EOF.
func (d *Stream) Chunk() ([]byte, error) {
	if err := d.ready(); err != nil {
		return nil, err
	}
	p, err := d.pulled.next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.explain(err)
	}
	return p, err
}

// pulled turns a decompressor's WriteTo, which writes straight from its window, into calls of next: WriteTo runs as a
// coroutine (iter.Pull). If that was made on a locked thread (runtime.LockOSThread), it must be used on that thread
// only.
type pulled struct {
	pull func() ([]byte, bool)
	stop func()
	err  error // of WriteTo
}

func newPulled(src io.WriterTo) *pulled {
	p := new(pulled)
	p.pull, p.stop = iter.Pull(func(yield func([]byte) bool) { _, p.err = src.WriteTo(taker(yield)) })
	return p
}

func (p *pulled) next() ([]byte, error) {
	b, ok := p.pull()
	if ok {
		return b, nil
	}
	return nil, cmp.Or(p.err, io.EOF)
}

// taker is a yield function as an io.Writer.
type taker func([]byte) bool

func (t taker) Write(p []byte) (int, error) {
	if !t(p) {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// gunzip decompresses one member after the other. The library could do so itself, but takes an end inside the header
// of a member for the end of all data.
type gunzip struct {
	z  gzip.Reader
	in *bufio.Reader // the library is slower with any other reader
}

func newGunzip(packed io.Reader) *gunzip {
	g, ok := gzips.Get().(*gunzip)
	if !ok {
		g = &gunzip{in: bufio.NewReaderSize(nil, 64<<10)}
	}
	g.in.Reset(packed)
	return g
}

func (g *gunzip) free() {
	g.in.Reset(nil)
	gzips.Put(g)
}

// WriteTo writes all of it to w.
func (g *gunzip) WriteTo(w io.Writer) (all int64, err error) {
	for {
		if _, err := g.in.Peek(1); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		if err := g.z.Reset(g.in); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return all, err
		}
		g.z.Multistream(false)
		n, err := g.z.WriteTo(w)
		all += n
		if err != nil {
			return all, err
		}
	}
}

// explain returns the input's own error, if that made decompression fail, or a ParseError about the data.
func (d *Stream) explain(err error) error {
	const again = "copy the file again, or pass --skip-bad to leave it out"
	switch {
	case d.in.err != nil && !errors.Is(d.in.err, io.EOF):
		return d.in.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &fio.ParseError{File: d.name, Msg: fmt.Sprintf("unexpected end of %s data after %d bytes: the file "+
			"is cut", d.format, d.in.n), Hint: again}
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return &fio.ParseError{File: d.name, Msg: fmt.Sprintf("%s data with a window of more than %d MiB", d.format,
			maxWindow>>20), Hint: "compress it again without --long, or decompress it first"}
	}
	return &fio.ParseError{File: d.name, Msg: fmt.Sprintf("damaged %s data within %d bytes: %v", d.format, d.in.n,
		err), Hint: again}
}

// Close releases the decompressor, and closes the closer.
func (d *Stream) Close() error {
	d.err = fs.ErrClosed // another stream may use the decompressor next
	if d.free != nil {
		d.pulled.stop()
		d.free()
		d.free = nil
	}
	if d.closer != nil {
		return d.closer.Close()
	}
	return nil
}

// source is the input as stored. It counts bytes and keeps the input's own error.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil {
		s.err = err
	}
	return n, err
}

// putBack returns first the bytes that were read to recognize the format. Unlike with a bufio.Reader, all else goes
// into the caller's memory without a copy.
type putBack struct {
	head []byte
	r    io.Reader
}

func (p *putBack) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.r.Read(b)
}
