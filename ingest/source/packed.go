package source

import (
	"archive/tar"
	"bytes"

	"fiolat/fio"
)

// PackedError reports an archive, or data packed in a way that is not read.
type PackedError struct{ fio.ParseError }

func (e *PackedError) Unwrap() error { return &e.ParseError }

// packings are recognized by the first bytes of a file.
var packings = []struct{ magic, is, unpack string }{
	{"\xFD7zXZ\x00", "packed with xz", "xz -d "},
	{"PK\x03\x04", "a zip archive", "unzip "},
	{"PK\x05\x06", "a zip archive", "unzip "}, // an empty one
	// fio stores a zlib stream for each chunk of a log (log_store_compressed).
	{"\x78\x9C", "a log that fio compressed", "fio --inflate-log="},
	{"\x78\x01", "a log that fio compressed", "fio --inflate-log="},
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
	return errPacked(path, "a tar archive", "tar xf ")
}

func errPacked(path, is, unpack string) error {
	file := fio.Printable(path)
	if path == "-" {
		file = "FILE"
	}
	return &PackedError{fio.ParseError{File: path, Msg: is + ", which is not read",
		Hint: "unpack it with `" + unpack + file + "`"}}
}
