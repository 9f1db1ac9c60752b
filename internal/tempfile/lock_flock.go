//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tempfile

import (
	"os"
	"syscall"
)

// ErrLocked says that a running process has locked a file.
const ErrLocked = syscall.EWOULDBLOCK

// Lock locks a file until it is closed. Any error but ErrLocked means that the
// file system has no locks.
func Lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
