// Package folders lists and reads files, and remembers what exists and cannot be read.
package folders

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fiolat/fio"
	"fiolat/ingest/source"
)

// System is what a Reader asks of the operating system.
type System struct {
	ReadDir func(dir string) ([]os.DirEntry, error)
	Stat    func(path string) (fs.FileInfo, error)
	Open    func(path string, stdin io.Reader) (io.ReadCloser, error)
}

// OS is the operating system itself.
func OS() System {
	return System{os.ReadDir, os.Stat, func(path string, stdin io.Reader) (io.ReadCloser, error) {
		return source.Open(path, stdin)
	}}
}

// Reader reads folders and files.
type Reader struct {
	Unread   []error  // what could not be read, each once: *UnreadError
	Warnings []string // links in a circle, and a folder above the one asked for that cannot be listed
	// Beyond is set while a folder is read that was not asked for: others may have files of their own there.
	Beyond bool

	sys   System
	stdin io.Reader
	isLog func(name string) bool
	named map[string]bool // the paths of Unread and Warnings
}

// NewReader returns a Reader with what "-" stands for. isLog recognizes names that are always needed.
func NewReader(sys System, stdin io.Reader, isLog func(name string) bool) *Reader {
	return &Reader{sys: sys, stdin: stdin, isLog: isLog, named: map[string]bool{}}
}

// Stat describes what is at path, behind links.
func (r *Reader) Stat(path string) (fs.FileInfo, error) { return r.sys.Stat(path) }

// ReadDir lists a folder that may be left alone.
func (r *Reader) ReadDir(dir string) ([]os.DirEntry, error) { return r.sys.ReadDir(dir) }

// UnreadError reports a file or folder that exists and cannot be read: a part of the input is missing.
type UnreadError struct {
	fio.ParseError
	cause error
}

func (e *UnreadError) Unwrap() []error { return []error{&e.ParseError, e.cause} }

// Unreadable describes an error of the operating system about path.
func Unreadable(path string, err error) error {
	if _, is := errors.AsType[*UnreadError](err); is {
		return err
	}
	e := &UnreadError{fio.ParseError{File: path, Hint: "check the path"}, err}
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
func (r *Reader) CannotRead(path string, err error) {
	log := r.isLog(filepath.Base(path))
	switch {
	case r.named[path]:
		return
	case r.Beyond && errors.Is(err, fs.ErrPermission):
		return // a folder that was not asked for may have files of others
	case errors.Is(err, syscall.ELOOP): // no file is behind it
		r.Warnings = append(r.Warnings, Unreadable(path, err).Error())
		r.named[path] = true
		return
	case errors.Is(err, fs.ErrNotExist) && log:
		err = errors.New("it leads nowhere: a link to a volume that is not mounted?")
	case errors.Is(err, fs.ErrNotExist):
		return // a link of another name that leads nowhere, like the lock of an editor
	}
	err = Unreadable(path, err)
	if e, is := errors.AsType[*UnreadError](err); is {
		e.Hint += ", or leave it out with --skip-bad: the run is then partial"
	}
	r.Unread, r.named[path] = append(r.Unread, err), true
}

// Keep notes err if it says that path cannot be read, and reports whether it does.
func (r *Reader) Keep(path string, err error) bool {
	_, is := errors.AsType[*UnreadError](err)
	if is {
		r.CannotRead(path, err)
	}
	return is
}

// List returns what is in a folder, sorted by name, as far as it can be read.
func (r *Reader) List(dir string) []os.DirEntry {
	entries, err := r.sys.ReadDir(dir)
	if err != nil && r.Beyond && errors.Is(err, fs.ErrPermission) {
		r.Warnings = append(r.Warnings, Unreadable(dir, err).Error()+
			"; if fio's JSON of these logs is in it, pass that with --fio-json")
	} else if err != nil {
		r.CannotRead(dir, err)
	}
	return entries
}

// HasText reports whether path is a regular file that is not empty.
func (r *Reader) HasText(path string) bool {
	info, err := r.Stat(path)
	if err != nil {
		r.CannotRead(path, err)
	}
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// Read calls f with what is in a file. An error of the operating system is an *UnreadError, whatever f makes of it.
func (r *Reader) Read(path string, f func(io.Reader) error) error {
	file, err := r.sys.Open(path, r.stdin)
	if err != nil {
		return Unreadable(path, err)
	}
	in := &observed{r: file}
	if err = f(in); in.failed != nil {
		err = Unreadable(path, in.failed)
	}
	return errors.Join(err, file.Close())
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

// Glob returns the paths that match a pattern, as filepath.Glob does, which ignores folders that cannot be read.
func (r *Reader) Glob(pattern string) (out []string, err error) {
	if _, err = filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		if _, err = r.Stat(pattern); err == nil {
			out = append(out, pattern)
		} else if !errors.Is(err, fs.ErrNotExist) {
			r.CannotRead(pattern, err)
		}
		return out, nil
	}
	dir, name := filepath.Split(pattern)
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
