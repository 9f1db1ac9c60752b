package source

import (
	"bytes"
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"fiolat/fio"
)

// Files opens any number of files for reading with a bounded number of descriptors: regular files that are not being
// read are closed when another one has to be opened, and opened again at their next read. Pipes and terminals cannot
// be opened again and stay open. The zero value is ready to use, by any number of goroutines.
//
// A regular file must stay as it was when first opened. One that was replaced or deleted, grew, shrank or was written
// to is a *fio.ParseError at the next opening or at the end, whichever comes first, and never an early end. The end of
// a file of up to 64 KiB that is not compressed comes when it is opened: it is read as a whole.
type Files struct {
	// Max is how many regular files may be open; default 256. Opening one again is cheap beside reading a block. If
	// the system allows fewer, Max is lowered to three quarters of what turned out to be possible, since others need
	// descriptors too.
	Max int

	mu   sync.Mutex
	open int       // number of open regular files
	idle list.List // those not being read, least recently used first: *File
}

// File is an open file of Files; one goroutine at a time may read it.
type File struct {
	files *Files
	path  string
	info  fs.FileInfo // as it was when first opened
	at    int64       // offset of the next read, if it is a regular file
	all   []byte      // all of a small file, which then is not open
	block *Block      // which holds all, if not nil

	f    *os.File
	idle *list.Element
}

// Open opens a file at its start. If as is not nil, the file must still be the one that as was opened for.
func (s *Files) Open(path string, as *File) (*File, error) {
	f := &File{files: s, path: path}
	info, err := os.Stat(path)
	switch {
	case as != nil && errors.Is(err, fs.ErrNotExist):
		return nil, f.changed("deleted")
	case err != nil:
		return nil, err
	}
	f.info = info
	if as != nil {
		f.info = as.info
	}
	if !f.Regular() {
		f.f, err = os.Open(path)
		if outOfDescriptors(err) {
			err = fmt.Errorf("all pipes have to be open at once: %w", err)
		}
	} else if err = f.acquire(info); err == nil {
		err = f.readAll()
		f.release()
		if f.Whole() {
			err = errors.Join(err, f.closeRegular())
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenSmall is Open for a file that was read already.
func (s *Files) OpenSmall(path string, small *Small) *File {
	return &File{files: s, path: path, info: small.Info, all: small.All}
}

// Whole reports whether all of the file was read when it was opened.
func (f *File) Whole() bool { return f.all != nil }

// readAll reads a small file that is open. One without a size is empty, unless it is below /proc.
func (f *File) readAll() error {
	if f.Size() > SmallSize {
		return nil
	}
	block := NewBlock()
	n, err := f.f.ReadAt(block[:max(f.Size(), 1)], 0)
	switch {
	case f.Size() == 0 && n > 0:
		err = &fio.ParseError{File: f.path, Msg: "a file that has content, but no size",
			Hint: "copy it, and pass the copy"}
	case f.Size() == 0 && errors.Is(err, io.EOF):
		err = nil
	case f.Size() > 0 && (err != nil || Packed(block[:n])):
		block.Free()
		return nil // it is read like a large one, and an error is met again
	}
	if err != nil {
		block.Free()
		return err
	}
	f.block, f.all = block, block[:f.Size()]
	return f.unchanged(f.info) // what becomes of it from now on does not matter
}

// Regular reports whether the file can be opened and read again.
func (f *File) Regular() bool { return f.info.Mode().IsRegular() }

// Size is the size of a regular file in bytes, else 0.
func (f *File) Size() int64 {
	if !f.Regular() {
		return 0
	}
	return f.info.Size()
}

// Read reads on from where the last Read ended.
func (f *File) Read(p []byte) (n int, err error) {
	if !f.Regular() {
		return f.f.Read(p)
	}
	if f.Whole() {
		if f.at == f.Size() {
			return 0, io.EOF
		}
		n = copy(p, f.all[f.at:])
		f.at += int64(n)
		return n, nil
	}
	if err = f.acquire(nil); err != nil {
		return 0, err
	}
	defer f.release()
	if left := f.info.Size() - f.at; int64(len(p)) > left {
		p = p[:left]
	}
	if len(p) > 0 {
		n, err = f.f.ReadAt(p, f.at)
		f.at += int64(n)
	}
	if (err == nil || errors.Is(err, io.EOF)) && (n == 0 || n < len(p)) {
		if err = f.unchanged(nil); err == nil {
			err = io.EOF
		}
	}
	return n, err
}

// ReadAt reads at an offset of a regular file, and does not move that of Read.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if f.Whole() {
		return bytes.NewReader(f.all).ReadAt(p, at)
	}
	if err := f.acquire(nil); err != nil {
		return 0, err
	}
	defer f.release()
	return f.f.ReadAt(p, at)
}

// Close closes the file. A pipe may be closed during a Read, which then ends.
func (f *File) Close() error {
	if !f.Regular() {
		return f.f.Close()
	}
	if f.block != nil {
		f.block.Free()
	}
	f.block, f.all = nil, nil
	return f.closeRegular()
}

func (f *File) closeRegular() error {
	f.files.mu.Lock()
	defer f.files.mu.Unlock()
	return f.close()
}

// close closes a regular file, if it is open. The caller holds the lock.
func (f *File) close() error {
	if f.f == nil {
		return nil
	}
	f.files.idle.Remove(f.idle)
	f.files.open--
	err := f.f.Close()
	f.f = nil
	return err
}

// acquire opens the file if necessary, and keeps it open until release. there is for unchanged.
func (f *File) acquire(there fs.FileInfo) error {
	s := f.files
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.f != nil {
		s.idle.Remove(f.idle)
		return nil
	}
	s.Max = cmp.Or(s.Max, 256)
	for s.open >= s.Max && s.closeOne() {
	}
	var err error
	f.f, err = OpenRegular(f.path)
	for outOfDescriptors(err) && s.idle.Len() > 0 {
		s.Max = max(s.open*3/4, 1)
		for s.open >= s.Max && s.closeOne() {
		}
		f.f, err = OpenRegular(f.path)
	}
	if err != nil {
		f.f = nil
		if errors.Is(err, fs.ErrNotExist) {
			err = f.changed("deleted")
		}
		return err
	}
	s.open++
	if err = f.unchanged(there); err != nil {
		f.idle = s.idle.PushBack(f)
		return errors.Join(err, f.close())
	}
	return nil
}

// closeOne closes the least recently used idle file, and reports whether there was one.
func (s *Files) closeOne() bool {
	e := s.idle.Front()
	if e == nil {
		return false
	}
	_ = e.Value.(*File).close() // it was only read
	return true
}

func (f *File) release() {
	f.files.mu.Lock()
	defer f.files.mu.Unlock()
	f.idle = f.files.idle.PushBack(f)
}

// unchanged returns an error if the open file, or what is at its path, differs from what was first opened. there is
// what is at its path, nil if that has to be looked up.
func (f *File) unchanged(there fs.FileInfo) error {
	now, err := f.f.Stat()
	if err != nil {
		return err
	}
	if there == nil {
		there, err = os.Stat(f.path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	how := ""
	switch was := f.info; {
	case err != nil:
		how = "deleted"
	case !os.SameFile(was, now) || !os.SameFile(was, there):
		how = "replaced by another file"
	case now.Size() < was.Size():
		how = fmt.Sprintf("cut from %d to %d bytes", was.Size(), now.Size())
	case now.Size() > was.Size():
		how = fmt.Sprintf("extended from %d to %d bytes", was.Size(), now.Size())
	case !now.ModTime().Equal(was.ModTime()):
		how = "written to"
	default:
		return nil
	}
	return f.changed(how)
}

func (f *File) changed(how string) error {
	return &fio.ParseError{File: f.path, Msg: "the file was " + how + " while it was read",
		Hint: "run again when nobody writes to it any more"}
}

// OpenRegular is os.Open for a regular file, without the system calls that find out whether it can be polled.
func OpenRegular(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, syscall.EINTR):
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
