// Package descriptors ends the program with advice if it may open too few files. Go's runtime crashes if it cannot open
// the two that it needs for timers, files and pipes, and packages of other modules need them in their initialisation
// (protobuf, parquet-go). Go initialises packages by their paths, those first that need no other one: so this one
// imports as little as they do, not even fmt.
package descriptors

import (
	"os"
	"strconv"
	"syscall"
)

const need = 6 // those two, a directory, and some logs

func init() {
	if !enough() {
		_, _ = os.Stderr.WriteString("fiolat: fewer than " + strconv.Itoa(need) + " file descriptors are free" +
			Advice() + "\n")
		os.Exit(1)
	}
}

// enough reports whether enough descriptors are free for any command.
func enough() bool {
	for range need {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EMFILE || err == syscall.ENFILE {
			return false
		}
		if err == nil {
			defer syscall.Close(fd) //nolint:errcheck // nothing was written
		}
	}
	return true
}

// Advice says how many files the process may open, and how to raise that. Go has raised the soft limit to the hard one.
func Advice() string {
	text := "too few files"
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		text = strconv.FormatUint(limit.Cur, 10) + " files at a time (`ulimit -n`)"
	}
	return "; this process may open " + text + "; raise the hard limit: `ulimit -n 1024` as root, LimitNOFILE= of a " +
		"systemd unit, or --ulimit nofile= of a container"
}
