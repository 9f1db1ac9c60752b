package source

import (
	"archive/tar"
	"bytes"
	"fmt"

	"fiolat/fio"
)

// PackedError reports an archive, or data packed in a way that is not read.
type PackedError struct {
	fio.ParseError
	// Fio: fio packed it (log_compression). A histogram log that is unpacked again holds pointers.
	Fio bool
}

func (e *PackedError) Unwrap() error { return &e.ParseError }

const inflate = "`fio --inflate-log=%s`; if it is a histogram log, that prints pointers: run fio again without " +
	"log_compression"

// packings are recognized by the first bytes of a file.
var packings = []struct{ magic, is, unpack string }{
	{"\xFD7zXZ\x00", "packed with xz", "`xz -d %s`"},
	{"PK\x03\x04", "a zip archive", "`unzip %s`"},
	{"PK\x05\x06", "a zip archive", "`unzip %s`"}, // an empty one
	// fio stores a zlib stream for each chunk of a log (log_store_compressed).
	{"\x78\x9C", "a log that fio compressed", inflate},
	{"\x78\x01", "a log that fio compressed", inflate},
}

// packed returns a *PackedError if a file that starts like this is packed in a way that is not read.
func packed(start []byte, path string) error {
	for _, p := range packings {
		if bytes.HasPrefix(start, []byte(p.magic)) {
			return errPacked(path, p.is, p.unpack)
		}
	}
	return nil
}

// Tar returns a *PackedError if a text, decompressed, starts with the header of a tar archive.
func Tar(start []byte, path string) error {
	if _, err := tar.NewReader(bytes.NewReader(start)).Next(); err != nil { // a header has a checksum
		return nil
	}
	return errPacked(path, "a tar archive", "`tar xf %s`")
}

func errPacked(path, is, unpack string) error {
	file := fio.Printable(path)
	if path == "-" {
		file = "FILE"
	}
	return &PackedError{fio.ParseError{File: path, Msg: is + ", which is not read",
		Hint: "unpack it with " + fmt.Sprintf(unpack, file)}, unpack == inflate}
}
