package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Open opens a file, or with "-" takes stdin, and decompresses it: gzip, zstd and
// xz are told by their first bytes, whatever the name. Memory is bounded however
// much the data grows.
func Open(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == "-" {
		return Decompress(stdin, path, nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return Decompress(f, path, f)
}

// Decompress reads r, decompressed if it is compressed; name is for errors, and
// closer (or nil) is closed with what is returned.
func Decompress(r io.Reader, name string, closer io.Closer) (io.ReadCloser, error) {
	in, ok := r.(*bufio.Reader)
	if !ok {
		in = bufio.NewReaderSize(r, 64<<10)
	}
	d := &decompressor{r: in, name: name, closer: closer}
	magic, err := in.Peek(6) // shorter at the end of a short file
	if err != nil && !errors.Is(err, io.EOF) {
		_ = d.Close()
		return nil, fmt.Errorf("%s: %w", Printable(name), err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		d.format = "gzip"
		z, zerr := gzip.NewReader(in)
		d.r, err = z, zerr
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d.format = "zstd"
		// One goroutine per log: many logs are read at once.
		z, zerr := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(128<<20))
		if zerr == nil {
			d.free = z.Close
		}
		d.r, err = z, zerr
	case bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		d.format = "xz"
		z, zerr := xz.NewReader(in)
		d.r, err = z, zerr
	default:
		return d, nil
	}
	if err != nil {
		err = d.explain(err)
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

type decompressor struct {
	r            io.Reader
	name, format string
	n            int64
	free         func()
	closer       io.Closer
}

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.explain(err)
	}
	return n, err
}

// explain names the file: the libraries do not know it.
func (d *decompressor) explain(err error) error {
	var path *os.PathError
	switch {
	case d.format == "" || errors.As(err, &path):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &ParseError{File: d.name, Msg: fmt.Sprintf("unexpected end of %s data after %d bytes: the file is cut", d.format, d.n), Hint: "copy it again, or pass --skip-bad to leave it out"}
	}
	return &ParseError{File: d.name, Msg: fmt.Sprintf("damaged %s data after %d bytes: %v", d.format, d.n, err), Hint: "copy it again, or pass --skip-bad to leave it out"}
}

func (d *decompressor) Close() error {
	if d.free != nil {
		d.free()
	}
	if d.closer != nil {
		return d.closer.Close()
	}
	return nil
}
