package ingest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	// pollEvery is how often a Follower looks for more.
	pollEvery = 20 * time.Millisecond
	// DefaultIdle is how long it waits where nobody can tell whether a writer is left.
	DefaultIdle = time.Minute
)

// Follower reads a file that grows, and waits at its end for more; also for the file to
// appear. It ends when nobody has the file open for writing any more. Where the kernel
// does not tell that (over a network, another owner's file, another system), or if Idle
// is set, it ends when nothing has come for that long. A file that becomes shorter was
// begun anew and is read from its start.
type Follower struct {
	Path string
	Idle time.Duration
	ctx  context.Context
	f    *os.File
	at   int64
	last time.Time // when something came
}

// Follow makes a Follower, which must be closed; when ctx ends so does the file.
func Follow(ctx context.Context, path string, idle time.Duration) *Follower {
	return &Follower{Path: path, Idle: idle, ctx: ctx}
}

// Read waits until there is something.
func (f *Follower) Read(p []byte) (int, error) {
	if err := f.open(); err != nil {
		return 0, err
	}
	for {
		ended := f.ended() // before looking for more: it may have been written just now
		n, err := f.f.Read(p)
		if n > 0 {
			f.at += int64(n)
			f.last = time.Now()
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		info, err := f.f.Stat()
		if err != nil {
			return 0, err
		}
		if info.Size() < f.at {
			if _, err = f.f.Seek(0, io.SeekStart); err != nil {
				return 0, err
			}
			f.at = 0
			continue
		}
		if ended {
			return 0, io.EOF
		}
		if !f.pause() {
			return 0, io.EOF
		}
	}
}

// open waits for the file.
func (f *Follower) open() error {
	for f.f == nil {
		file, err := os.Open(f.Path)
		switch {
		case err == nil:
			f.f, f.last = file, time.Now()
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case !f.pause():
			return io.EOF
		}
	}
	return nil
}

// pause waits for a moment; false when it is over.
func (f *Follower) pause() bool {
	select {
	case <-time.After(pollEvery):
		return true
	case <-f.ctx.Done():
		return false
	}
}

// ended says that nothing more will come. Of an empty file nobody knows.
func (f *Follower) ended() bool {
	if f.at == 0 {
		return false
	}
	idle := f.Idle
	if idle == 0 {
		if written, known := beingWritten(f.f); known {
			return !written
		}
		idle = DefaultIdle
	}
	return time.Since(f.last) >= idle
}

// Close closes the file.
func (f *Follower) Close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}
