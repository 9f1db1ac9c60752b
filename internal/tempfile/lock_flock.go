//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tempfile

import (
	"os"
	"syscall"
)

// ErrLocked says that another process has locked a file, and lives.
const ErrLocked = syscall.EWOULDBLOCK

// Lock locks a file until it is closed. Any other error than ErrLocked says
// that the file system has no locks.
func Lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
