//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package esmodel

import (
	"os"
	"syscall"
)

// errLocked says that another process has locked a file, and lives.
const errLocked = syscall.EWOULDBLOCK

// lockFile locks a file until it is closed. Any other error than errLocked says
// that the file system has no locks.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
