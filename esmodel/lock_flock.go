//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package esmodel

import (
	"os"
	"syscall"
)

// lockFile locks a file until it is closed, and says whether that worked.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
