//go:build !linux

package client

import "syscall"

func (dialer) limitUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }
