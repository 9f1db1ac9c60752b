package ingest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fiolat/fio"
	"fiolat/ingest/source"
)

// fileSystem is what a fileReader asks of the operating system.
type fileSystem struct {
	// ReadDir lists a folder, sorted by name; of a folder with more than most entries, if that is above 0, some.
	ReadDir func(dir string, most int) ([]os.DirEntry, error)
	Stat    func(path string) (fs.FileInfo, error)
	Open    func(path string, stdin io.Reader) (io.ReadCloser, error)
	// Head reads the start of a file into all of buf, if the file is that long. With more it does so only if more says
	// so of the first headBytes bytes, and else reads no others; whole means that buf has all of the file.
	Head func(path string, buf []byte, more func(start []byte) bool) (n int, whole bool, err error)
}

// osFileSystem is the operating system itself.
func osFileSystem() fileSystem {
	return fileSystem{
		readDir,
		os.Stat,
		func(path string, stdin io.Reader) (io.ReadCloser, error) { return source.Open(path, stdin) },
		head,
	}
}

func readDir(dir string, most int) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	_ = f.Close() // it was only read
	return entries, err
}

// head reads with three calls of the operating system; os.File makes a dozen, which folders with thousands of files of
// others cannot afford.
func head(path string, buf []byte, more func([]byte) bool) (n int, whole bool, err error) {
	const flags = syscall.O_RDONLY | syscall.O_CLOEXEC
	fd, err := retryInterrupted(func() (int, error) { return syscall.Open(path, flags, 0) })
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, syscall.Close(fd)) }()
	read := func(part []byte) bool {
		got, bad := retryInterrupted(func() (int, error) { return syscall.Read(fd, part) })
		n, err = n+max(got, 0), bad
		return got > 0
	}
	if more == nil {
		read(buf)
		return n, false, err
	}
	read(buf[:min(len(buf), headBytes)])
	if err == nil && more(buf[:n]) {
		for !whole && n < len(buf) {
			whole = !read(buf[n:])
		}
	}
	return n, whole, err
}

// retryInterrupted repeats a call that a signal interrupts.
func retryInterrupted(call func() (int, error)) (n int, err error) {
	for {
		n, err = call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// fileReader reads folders and files.
type fileReader struct {
	fileSystem

	Unread   []error  // what could not be read, each once: *unreadError
	Warnings []string // links in a circle, and a folder above the one asked for that cannot be listed
	// Beyond is above 0 while a folder is read that was not asked for: others may have files of their own there, and no
	// more entries than that are listed.
	Beyond int

	stdin io.Reader
	isLog func(name string) bool
	named map[string]bool // the paths of Unread and Warnings
}

// newFileReader returns a fileReader with what "-" stands for. isLog recognizes names that are always needed.
func newFileReader(sys fileSystem, stdin io.Reader, isLog func(name string) bool) *fileReader {
	return &fileReader{fileSystem: sys, stdin: stdin, isLog: isLog, named: map[string]bool{}}
}

// unreadError reports a file or folder that exists and cannot be read: a part of the input is missing.
type unreadError struct {
	fio.ParseError
	cause error
}

func (e *unreadError) Unwrap() []error { return []error{&e.ParseError, e.cause} }

// unreadable describes an error of the operating system about path; a *fio.ParseError is returned as it is.
func unreadable(path string, err error) error {
	if _, is := errors.AsType[*fio.ParseError](err); is {
		return err
	}
	e := &unreadError{fio.ParseError{File: path, Hint: "check the path"}, err}
	if errors.Is(err, fs.ErrPermission) {
		e.Hint = "ask for the right to read it"
	}
	if no, is := errors.AsType[syscall.Errno](err); is {
		err = no
	}
	e.Msg = err.Error()
	return e
}

// CannotRead notes that what was found at path cannot be read.
func (r *fileReader) CannotRead(path string, err error) {
	log := r.isLog(filepath.Base(path))
	switch {
	case r.named[path]:
		return
	case r.Beyond > 0 && errors.Is(err, fs.ErrPermission):
		return // a folder that was not asked for may have files of others
	case errors.Is(err, syscall.ELOOP): // no file is behind it
		r.Warnings = append(r.Warnings, unreadable(path, err).Error())
		r.named[path] = true
		return
	case errors.Is(err, fs.ErrNotExist) && log:
		err = errors.New("it leads nowhere: a link to a volume that is not mounted?")
	case errors.Is(err, fs.ErrNotExist):
		return // a link of another name that leads nowhere, like the lock of an editor
	}
	err = unreadable(path, err)
	if e, is := errors.AsType[*unreadError](err); is {
		own := *e // which is kept, and may be noted again
		own.Hint += ", or leave it out with --skip-bad: the run is then partial"
		err = &own
	}
	r.Unread, r.named[path] = append(r.Unread, err), true
}

// Keep notes err if it says that path cannot be read, and reports whether it does.
func (r *fileReader) Keep(path string, err error) bool {
	_, is := errors.AsType[*unreadError](err)
	if is {
		r.CannotRead(path, err)
	}
	return is
}

// CannotList notes that a folder cannot be listed, if err is not nil.
func (r *fileReader) CannotList(dir string, err error) {
	if err != nil && r.Beyond > 0 && errors.Is(err, fs.ErrPermission) {
		r.Warnings = append(r.Warnings, unreadable(dir, err).Error()+
			"; if fio's JSON of these logs is in it, pass that with --fio-json")
	} else if err != nil {
		r.CannotRead(dir, err)
	}
}

// Start reads the start of a regular file as it is on disk into buf, as fileSystem.Head does. An error is an
// *unreadError.
func (r *fileReader) Start(path string, buf []byte, more func([]byte) bool) (head []byte, whole bool, err error) {
	n, whole, err := r.fileSystem.Head(path, buf, more)
	if err != nil {
		err = unreadable(path, err)
	}
	return buf[:n], whole, err
}

// Whole is Start of a file that info describes. It reports whether that is all of it, and it did not change meanwhile.
func (r *fileReader) Whole(path string, info fs.FileInfo, buf []byte) (head []byte, whole bool, err error) {
	head, _, err = r.Start(path, buf, nil)
	if err != nil || int64(len(head)) != info.Size() {
		return head, false, err
	}
	now, bad := r.Stat(path)
	return head, bad == nil && os.SameFile(info, now) && now.Size() == info.Size() &&
		now.ModTime().Equal(info.ModTime()), nil
}

// Read calls f with what is in a file. An error of the operating system is an *unreadError, whatever f makes of it.
func (r *fileReader) Read(path string, f func(io.Reader) error) error {
	file, err := r.fileSystem.Open(path, r.stdin)
	if err != nil {
		return unreadable(path, err)
	}
	defer file.Close()
	in := &observed{r: file}
	err = f(in)
	if in.failed != nil {
		err = unreadable(path, in.failed)
	}
	return err
}

// observed remembers the error of the operating system at which reading ended.
type observed struct {
	r      io.Reader
	failed error
}

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	if _, is := errors.AsType[syscall.Errno](err); is {
		o.failed = err
	}
	return n, err
}
