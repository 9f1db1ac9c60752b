package client

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel gives up what the peer does not acknowledge before the claim under which it was sent can be taken over:
// nothing is sent 30 s after its last renewal, and 60 s after that it is taken over.
func TestUnacknowledgedIsGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tr, err := newTransport(Config{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tr.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(largeWrites).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got int
	if e := raw.Control(func(fd uintptr) {
		got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}); e != nil || err != nil {
		t.Fatal(e, err)
	}
	if want := 25000; got != want {
		t.Errorf("%d ms, want %d", got, want)
	}
}
