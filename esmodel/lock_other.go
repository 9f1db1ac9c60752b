//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package esmodel

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked by another process")

// lockFile cannot lock here. Temporary files of the dead then stay: they could be
// those of the living.
func lockFile(*os.File) error { return errors.ErrUnsupported }
