package client

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged has the kernel give up a connection whose peer acknowledges nothing for unacknowledged, even
// after the process has closed it or was stopped: what it holds of a request is then never delivered. A system
// that cannot do that connects all the same.
func (d dialer) limitUnacknowledged(_, _ string, conn syscall.RawConn) error {
	return conn.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.unacknowledged.Milliseconds()))
	})
}
