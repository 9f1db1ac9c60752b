package matrix

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// A device says how long the i-th request takes that comes t after the first one, and how it ends; 0 is well.
type device func(write bool, t time.Duration, i int) (time.Duration, syscall.Errno)

// Numbers of the NBD protocol: github.com/NetworkBlockDevice/nbd, doc/proto.md.
const (
	nbdRequest, nbdReply, nbdOption = 0x25609513, 0x67446698, 0x3e889045565a9

	nbdExportName, nbdAbort, nbdInfo, nbdGo = 1, 2, 6, 7
	nbdAck, nbdInfoReply, nbdUnsupported    = 1, 3, 1<<31 | 1
	nbdRead, nbdWrite, nbdDisconnect        = 0, 1, 2
	nbdFixedNewstyle, nbdNoZeroes           = 1, 2
	nbdHasFlags, nbdMultiConn               = 1, 1 << 8
)

// serveNBD serves a block device of so many bytes, in memory, on a Unix socket until the context ends.
func serveNBD(ctx context.Context, socket string, size int, answer device) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := &nbdServer{data: make([]byte, size), answer: answer}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			go func() {
				defer conn.Close()
				_ = s.serve(conn) // the client went away
			}()
		}
	}()
	return nil
}

type nbdServer struct {
	answer device

	mu    sync.Mutex
	data  []byte
	first time.Time
	count int
}

func (s *nbdServer) serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	if noZeroes, err := s.handshake(in, conn); err != nil {
		return err
	} else if !noZeroes {
		if _, err := conn.Write(make([]byte, 124)); err != nil {
			return err
		}
	}
	var writing sync.Mutex
	for {
		var r struct {
			Magic       uint32
			Flags, Type uint16
			Handle, At  uint64
			Length      uint32
		}
		if err := binary.Read(in, binary.BigEndian, &r); err != nil {
			return err
		}
		if r.Magic != nbdRequest || r.Type == nbdDisconnect {
			return errors.New("end")
		}
		var data []byte
		if r.Type == nbdRead || r.Type == nbdWrite {
			if r.At+uint64(r.Length) > uint64(len(s.data)) {
				return errors.New("beyond the device")
			}
			data = s.data[r.At:][:r.Length]
		}
		if r.Type == nbdWrite {
			written := make([]byte, r.Length)
			if _, err := io.ReadFull(in, written); err != nil {
				return err
			}
			s.mu.Lock()
			copy(data, written)
			s.mu.Unlock()
		}
		wait, code := s.next(r.Type == nbdWrite)
		time.AfterFunc(wait, func() {
			reply := binary.BigEndian.AppendUint32(nil, nbdReply)
			reply = binary.BigEndian.AppendUint32(reply, uint32(code))
			reply = binary.BigEndian.AppendUint64(reply, r.Handle)
			if r.Type == nbdRead && code == 0 {
				s.mu.Lock()
				reply = append(reply, data...)
				s.mu.Unlock()
			}
			writing.Lock()
			defer writing.Unlock()
			_, _ = conn.Write(reply)
		})
	}
}

// next returns how the next request ends.
func (s *nbdServer) next(write bool) (time.Duration, syscall.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		s.first = time.Now()
	}
	s.count++
	return s.answer(write, time.Since(s.first), s.count-1)
}

// handshake negotiates until the client asks for the device. It reports whether no zeros must follow.
func (s *nbdServer) handshake(in io.Reader, out io.Writer) (noZeroes bool, _ error) {
	hello := append([]byte("NBDMAGICIHAVEOPT"), 0, nbdFixedNewstyle|nbdNoZeroes)
	if _, err := out.Write(hello); err != nil {
		return false, err
	}
	var flags uint32
	if err := binary.Read(in, binary.BigEndian, &flags); err != nil {
		return false, err
	}
	reply := func(option, kind uint32, data ...byte) error {
		b := binary.BigEndian.AppendUint64(nil, nbdOption)
		for _, n := range []uint32{option, kind, uint32(len(data))} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		_, err := out.Write(append(b, data...))
		return err
	}
	export := binary.BigEndian.AppendUint64(nil, uint64(len(s.data)))
	export = binary.BigEndian.AppendUint16(export, nbdHasFlags|nbdMultiConn)
	for {
		var o struct {
			Magic          uint64
			Option, Length uint32
		}
		if err := binary.Read(in, binary.BigEndian, &o); err != nil {
			return false, err
		}
		if _, err := io.CopyN(io.Discard, in, int64(o.Length)); err != nil {
			return false, err
		}
		var err error
		switch o.Option {
		case nbdExportName:
			_, err = out.Write(export)
			return flags&nbdNoZeroes != 0, err
		case nbdAbort:
			return false, errors.New("aborted")
		case nbdInfo, nbdGo:
			if err = reply(o.Option, nbdInfoReply, append([]byte{0, 0}, export...)...); err == nil {
				err = reply(o.Option, nbdAck)
			}
			if o.Option == nbdGo {
				return true, err
			}
		default:
			err = reply(o.Option, nbdUnsupported)
		}
		if err != nil {
			return false, err
		}
	}
}
