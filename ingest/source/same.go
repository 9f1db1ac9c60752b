package source

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// compared is how many bytes are compared at a time, and at each end where only the ends are compared.
const compared = SmallSize

// SameBytes reports whether two files hold the same bytes, or with ends, for two files of one size, whether their
// first and last 64 KiB are the same. Files that cannot be read are not the same.
func SameBytes(a, b string, ends bool) bool {
	x, err := OpenRegular(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := OpenRegular(b)
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

// SameContent reports whether two files hold the same, decompressed. Files that cannot be read are not the same.
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
	one, other := NewBlock(), NewBlock()
	defer one.Free()
	defer other.Free()
	for size := 4 << 10; ; size = min(2*size, compared) { // most files that differ do so early
		a, b := one[:size], other[:size]
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
