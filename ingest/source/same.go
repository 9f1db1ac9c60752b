package source

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// compared is how much of two files is compared at a time, and of their ends where only these are.
const compared = 64 << 10

// SameBytes compares the bytes of two files, or with ends only the first and the last 64 KiB of two files of one size.
// What cannot be read is not the same.
func SameBytes(a, b string, ends bool) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	if !same(io.LimitReader(x, compared), io.LimitReader(y, compared)) {
		return false
	}
	if ends {
		for _, f := range []*os.File{x, y} {
			if info, err := f.Stat(); err != nil {
				return false
			} else if info.Size() > 2*compared {
				if _, err = f.Seek(-compared, io.SeekEnd); err != nil {
					return false
				}
			}
		}
	}
	return same(x, y)
}

// SameContent compares what two files hold, decompressed. What cannot be read is not the same.
func SameContent(a, b string, stdin io.Reader) bool {
	x, err := Open(a, stdin)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := Open(b, stdin)
	if err != nil {
		return false
	}
	defer y.Close()
	return same(x, y)
}

func same(x, y io.Reader) bool {
	var a, b []byte
	for size := 4 << 10; ; size = min(2*size, compared) { // most that are not the same differ soon
		if len(a) < size {
			a, b = make([]byte, size), make([]byte, size)
		}
		n, errX := io.ReadFull(x, a)
		m, errY := io.ReadFull(y, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			return false
		}
		if errX != nil || errY != nil {
			return ended(errX) && ended(errY)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
