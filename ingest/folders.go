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
	// Head reads the start of a file into all of buf, if the file is that long.
	Head func(path string, buf []byte) (int, error)
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
func head(path string, buf []byte) (n int, err error) {
	const flags = syscall.O_RDONLY | syscall.O_CLOEXEC
	fd, err := retryInterrupted(func() (int, error) { return syscall.Open(path, flags, 0) })
	if err != nil {
		return 0, err
	}
	n, err = retryInterrupted(func() (int, error) { return syscall.Read(fd, buf) })
	return max(n, 0), errors.Join(err, syscall.Close(fd))
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
	last  string          // the folder listed last, and what is in it: one with logs is listed for several reasons
	in    []os.DirEntry
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
		e.Hint += ", or leave it out with --skip-bad: the run is then partial"
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

// List returns what is in a folder, sorted by name, as far as it can be read.
func (r *fileReader) List(dir string) []os.DirEntry {
	if dir == r.last {
		return r.in
	}
	entries, err := r.fileSystem.ReadDir(dir, r.Beyond)
	if err != nil && r.Beyond > 0 && errors.Is(err, fs.ErrPermission) {
		r.Warnings = append(r.Warnings, unreadable(dir, err).Error()+
			"; if fio's JSON of these logs is in it, pass that with --fio-json")
	} else if err != nil {
		r.CannotRead(dir, err)
	} else if r.Beyond == 0 {
		r.last, r.in = dir, entries
	}
	return entries
}

// HasText reports whether path is a regular file that is not empty.
func (r *fileReader) HasText(path string) bool {
	info, err := r.Stat(path)
	if err != nil {
		r.CannotRead(path, err)
	}
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// IsFile reports whether an entry of a folder, at path, is a regular file, or a link to one that is not empty.
func (r *fileReader) IsFile(path string, e os.DirEntry) bool {
	return e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0 && r.HasText(path)
}

// Head reads the start of a regular file as it is on disk into buf. An error is an *unreadError.
func (r *fileReader) Head(path string, buf []byte) ([]byte, error) {
	n, err := r.fileSystem.Head(path, buf)
	if err != nil {
		err = unreadable(path, err)
	}
	return buf[:n], err
}

// Whole is Head of a file that info describes. It reports whether that is all of it, and it did not change meanwhile.
func (r *fileReader) Whole(path string, info fs.FileInfo, buf []byte) (head []byte, whole bool, err error) {
	head, err = r.Head(path, buf)
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

// Glob returns the paths that match a pattern, as filepath.Glob does, which ignores folders that cannot be read. What
// exists by the name of the pattern, or of a folder in it, is meant itself.
func (r *fileReader) Glob(pattern string) (out []string, err error) {
	if _, err = r.Stat(pattern); err == nil {
		return []string{pattern}, nil
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		if !errors.Is(err, fs.ErrNotExist) {
			r.CannotRead(pattern, err)
		}
		return nil, nil
	}
	dir, name := filepath.Split(pattern)
	if _, err = filepath.Match(name, ""); err != nil {
		return nil, err
	}
	dirs, err := r.Glob(strings.TrimSuffix(dir, "/"))
	if dir == "" || dir == "/" {
		dirs, err = []string{dir}, nil
	}
	for _, folder := range dirs {
		at := folder
		if at == "" {
			at = "."
		}
		if info, bad := r.Stat(at); bad == nil && !info.IsDir() {
			continue
		}
		for _, e := range r.List(at) {
			if ok, _ := filepath.Match(name, e.Name()); ok {
				out = append(out, filepath.Join(folder, e.Name()))
			}
		}
	}
	return out, err
}
