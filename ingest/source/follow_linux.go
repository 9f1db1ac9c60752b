package source

import (
	"errors"
	"os"
	"syscall"
)

// beingWritten reports whether anybody has the file open for writing, if that can be known. The kernel grants a read
// lease only while nobody has (fcntl(2), F_SETLEASE), and only to the file's owner and to root. The lease is given
// back at once.
func beingWritten(f *os.File) (written, known bool) {
	lease := func(kind uintptr) error {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		var no syscall.Errno
		err = raw.Control(func(fd uintptr) {
			_, _, no = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETLEASE, kind)
		})
		if err == nil && no != 0 {
			return no
		}
		return err
	}
	switch err := lease(syscall.F_RDLCK); {
	case err == nil:
		return false, lease(syscall.F_UNLCK) == nil
	case errors.Is(err, syscall.EAGAIN):
		return true, true
	}
	return false, false
}
