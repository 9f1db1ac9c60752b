//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tempfile

import (
	"errors"
	"os"
)

var ErrLocked = errors.New("locked by another process")

// Lock cannot lock here. Temporary files of the dead then stay: they could be
// those of the living.
func Lock(*os.File) error { return errors.ErrUnsupported }
