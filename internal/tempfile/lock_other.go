//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tempfile

import (
	"errors"
	"os"
)

var ErrLocked = errors.New("locked by another process")

// Lock cannot lock here. Temporary files of killed processes then stay, since
// running ones may own them.
func Lock(*os.File) error { return errors.ErrUnsupported }
