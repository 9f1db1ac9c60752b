package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"fiolat/fio"
)

const (
	// pollEvery is how often a Follower looks for more.
	pollEvery = 20 * time.Millisecond
	// defaultIdle is how long it waits where it cannot find out whether a writer is left.
	defaultIdle = time.Minute
)

// Follower reads a file that grows and waits at its end for more; it also waits for the file to appear. It ends when
// nobody has the file open for writing any more. Where the kernel does not tell that (over a network, another owner's
// file, another system), or if Idle is set, it ends when nothing has come for that long. A file that becomes shorter
// was started anew and is read from its start.
//
// If another file takes its place, it reads the old one to that end first, and then the new one: all of it, or, if
// the new one begins with all of the old one, as a copy updated by rename does, only what follows. If the file is
// deleted or renamed, and was read to its end, it waits for another one as long as for an idle one.
type Follower struct {
	Path string
	Idle time.Duration
	// Warn, if not nil, is called when the file is replaced or gone.
	Warn         func(string)
	ctx          context.Context
	f            *os.File
	at           int64
	last         time.Time // when data last came
	missingSince time.Time // when the file was found to be missing at Path; zero: it is there
}

// Follow returns a Follower, which must be closed. Once ctx is done, Read returns io.EOF instead of waiting.
func Follow(ctx context.Context, path string, idle time.Duration) *Follower {
	return &Follower{Path: path, Idle: idle, ctx: ctx}
}

// Read waits until there is data, or the file has ended.
func (f *Follower) Read(p []byte) (int, error) {
	for {
		if err := f.open(); err != nil {
			return 0, err
		}
		over, ended := f.ended() // before reading: a writer may write and close in between
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
		there, err := os.Stat(f.Path)
		switch {
		case err == nil && os.SameFile(info, there):
			f.missingSince = time.Time{}
			if ended && f.at > 0 { // an empty file may not have been begun
				return 0, io.EOF
			}
		case err == nil && over:
			if err = f.next(); err != nil {
				return 0, err
			}
			continue
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			return 0, err
		case f.missingSince.IsZero():
			f.missingSince = time.Now()
			f.warn("deleted or renamed; reading it to its end, then waiting for a new file")
		case over && f.at > 0 && time.Since(f.missingSince) >= f.idle():
			return 0, io.EOF
		}
		if !f.pause() {
			return 0, io.EOF
		}
	}
}

// next switches to the file that has taken the place of this one.
func (f *Follower) next() error {
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	same, err := samePrefix(f.f, file, f.at)
	if err == nil && !same {
		f.at = 0
	}
	if err == nil {
		_, err = file.Seek(f.at, io.SeekStart)
	}
	if err != nil {
		file.Close() //nolint:errcheck // nothing was written
		return err
	}
	if same {
		f.warn("replaced by a file that begins with the same data; continuing where the old one ended")
	} else {
		f.warn("replaced by another file; reading it from its start")
	}
	f.f.Close() //nolint:errcheck // nothing was written
	f.f, f.last, f.missingSince = file, time.Now(), time.Time{}
	return nil
}

// samePrefix reports whether both files begin with the same n bytes; it is false for n = 0.
func samePrefix(a, b *os.File, n int64) (bool, error) {
	const step = 64 << 10
	var blocks [2][step]byte
	for at := int64(0); at < n; at += step {
		want := min(step, n-at)
		for i, f := range []*os.File{a, b} {
			if got, err := f.ReadAt(blocks[i][:want], at); int64(got) < want {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return false, err
			}
		}
		if !bytes.Equal(blocks[0][:want], blocks[1][:want]) {
			return false, nil
		}
	}
	return n > 0, nil
}

func (f *Follower) warn(what string) {
	if f.Warn != nil {
		f.Warn(fio.Printable(f.Path) + ": " + what)
	}
}

// idle returns how long to wait without new data.
func (f *Follower) idle() time.Duration { return cmp.Or(f.Idle, defaultIdle) }

// open opens the file, and waits for it to appear.
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

// pause waits until the next look at the file; it returns false if ctx is done.
func (f *Follower) pause() bool {
	select {
	case <-time.After(pollEvery):
		return true
	case <-f.ctx.Done():
		return false
	}
}

// ended reports whether nothing more is written to the file, so that one that took its place is next (over), and
// whether to stop waiting (all).
func (f *Follower) ended() (over, all bool) {
	idle := time.Since(f.last) >= f.idle()
	if written, known := beingWritten(f.f); known {
		return !written, !written && f.Idle == 0 || idle && f.Idle > 0
	}
	return idle, idle
}

// Close closes the file.
func (f *Follower) Close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}
