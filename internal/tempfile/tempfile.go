// Package tempfile makes files that appear under their names only when they are complete.
// A process that is killed leaves a hidden file behind, which the next one removes.
package tempfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a new temporary file in the directory where it will have its name. Its writer holds a
// lock on it.
type File struct {
	*os.File
	root       *os.Root
	temp, name string
	ownsRoot   bool        // the file owns root
	mode       fs.FileMode // permission bits that the file will have
}

const (
	suffix = ".tmp"
	random = 4 // bytes in a name
	// private are the permission bits of a new file.
	private = 0o600
	// Extra is how much longer than its name a temporary file's is.
	Extra = len(".") + len(".") + 2*random + len(suffix)
)

// Create makes a file that Publish will give the name name in root. If the file system has no
// locks, files that killed processes left behind stay.
func Create(root *os.Root, name string) (*File, error) {
	for range 100 {
		temp := tempName(name)
		f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, private)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_ = Lock(f)
		ours, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		// Another process may have removed it as abandoned before it was locked.
		if there, err := root.Lstat(temp); err != nil || !os.SameFile(ours, there) {
			_ = f.Close()
			continue
		}
		return &File{File: f, root: root, temp: temp, name: name, mode: private}, nil
	}
	return nil, fmt.Errorf("no free name for a temporary file beside %s", name)
}

// tempName returns a random name for a file that is to have a name.
func tempName(name string) string {
	var r [random]byte
	rand.Read(r[:])
	return "." + name + "." + hex.EncodeToString(r[:]) + suffix
}

// CreateAt makes a file that Publish will move to path, and removes what killed processes left of it.
func CreateAt(path string) (*File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	Clear(root, func(other string) bool { return other == name })
	f, err := Create(root, name)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	f.ownsRoot = true
	return f, nil
}

// KeepMode gives the file the permission bits of the regular file that it replaces, if there is one.
func (f *File) KeepMode() {
	if st, err := f.root.Lstat(f.name); err == nil && st.Mode().IsRegular() {
		f.mode = st.Mode().Perm()
	}
}

// Publish gives the file its name, replacing a file that had it, and closes it. It survives a loss of power after
// that: until then the old file does.
func (f *File) Publish() error {
	if f.mode != private {
		_ = f.Chmod(f.mode) // not all file systems can: then only the owner reads it
	}
	if err := f.Sync(); err != nil {
		return err // the caller discards it
	}
	if err := f.root.Rename(f.temp, f.name); err != nil {
		return err
	}
	f.syncDir()
	_ = f.Close() // all of it is on the disk
	return f.leave()
}

// syncDir makes renames durable.
func (f *File) syncDir() {
	if dir, err := f.root.Open("."); err == nil {
		_ = dir.Sync() // not all file systems can
		_ = dir.Close()
	}
}

// PublishAll publishes files together. If one cannot be published, then none is, and those that they were to replace
// are there as before. They remain to be discarded then.
func PublishAll(files []*File) (err error) {
	old := make([]kept, len(files))
	for i, f := range files {
		if err = f.Sync(); err == nil {
			old[i], err = f.keep()
		}
		if err == nil {
			err = f.root.Rename(f.temp, f.name)
		}
		if err == nil {
			continue
		}
		for ; i >= 0; i-- {
			err = errors.Join(err, files[i].restore(old[i]))
			old[i].drop(files[i].root)
		}
		return err
	}
	for i, f := range files {
		old[i].drop(f.root)
		f.syncDir()
		_ = f.Close() // all of it is on the disk
		err = errors.Join(err, f.leave())
	}
	return err
}

// kept is a file that is about to be replaced; the zero value is none.
type kept struct {
	temp string
	lock *os.File // so that others do not take it for abandoned
}

// keep gives the file that is to be replaced a second name, or where the file system has no links, another one.
func (f *File) keep() (old kept, err error) {
	st, err := f.root.Lstat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return old, nil
	case err != nil:
		return old, err
	case st.IsDir():
		return old, fmt.Errorf("%s is a directory", f.name)
	}
	if old.lock, err = f.root.Open(f.name); err == nil {
		_ = Lock(old.lock)
	}
	old.temp = tempName(f.name)
	if err = f.root.Link(f.name, old.temp); err != nil {
		err = f.root.Rename(f.name, old.temp)
	}
	return old, err
}

// restore takes the name from the file, if it has it, and gives it to the one that was to be replaced.
func (f *File) restore(old kept) (err error) {
	if _, gone := f.root.Lstat(f.temp); gone != nil {
		err = f.root.Rename(f.name, f.temp)
	}
	if old.temp != "" {
		err = errors.Join(err, f.root.Rename(old.temp, f.name))
	}
	return err
}

func (k *kept) drop(root *os.Root) {
	if k.temp != "" {
		_ = root.Remove(k.temp) // it may be restored; else the next writer removes it
	}
	if k.lock != nil {
		_ = k.lock.Close() // nothing was written
	}
}

// Discard closes and removes a file that was not published.
func (f *File) Discard() error {
	_ = f.Close() // it is removed
	return errors.Join(f.root.Remove(f.temp), f.leave())
}

func (f *File) leave() error {
	if f.ownsRoot {
		return f.root.Close()
	}
	return nil
}

// Clear removes files that killed processes left in a directory, if mine reports true for the
// names that they were to have.
func Clear(root *os.Root, mine func(name string) bool) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if name, ok := nameOf(e.Name()); !ok || !mine(name) || !e.Type().IsRegular() {
			continue
		}
		f, err := root.Open(e.Name())
		if err != nil {
			continue
		}
		if Lock(f) == nil {
			_ = root.Remove(e.Name()) // best effort
		}
		_ = f.Close() // nothing was written
	}
}

// nameOf returns the name that a temporary file was to have.
func nameOf(temp string) (string, bool) {
	name, ok := strings.CutSuffix(temp, suffix)
	name, hidden := strings.CutPrefix(name, ".")
	at := len(name) - 1 - 2*random
	if !ok || !hidden || at < 1 || name[at] != '.' {
		return "", false
	}
	if _, err := hex.DecodeString(name[at+1:]); err != nil {
		return "", false
	}
	return name[:at], true
}

// CreateUnlinked makes a file in the system's directory for temporary files and removes its name at once, so that the
// file is gone when the process ends in any way.
func CreateUnlinked() (*os.File, error) {
	f, err := os.CreateTemp("", "fiolat-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}
