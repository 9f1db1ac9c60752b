package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/internal/errs"
)

// A path in an archive is the archive's own with that of the file after it: night.tgz/h1/x_clat_hist.1.log. Logs are
// read at any offset and several times, so an archive is unpacked, once, into a directory of its own.

// unpacked are the archives that were unpacked, and the files of Keep, by path.
var unpacked struct {
	sync.RWMutex
	archives map[string]unpackedArchive
	closed   bool
}

type unpackedArchive struct {
	dir string
	// leftOut says what is in the archive and was not unpacked; nil: nothing.
	leftOut error
}

// Path returns where the operating system has a file, which for one in an archive is where that was unpacked.
func Path(name string) string {
	path, _ := unpackedPath(name)
	return path
}

// LeftOut returns an error that says what the archive that a path leads into holds and was not unpacked; nil if that
// is nothing.
func LeftOut(path string) error {
	_, a := unpackedPath(path)
	return a.leftOut
}

func unpackedPath(name string) (string, unpackedArchive) {
	unpacked.RLock()
	defer unpacked.RUnlock()
	if len(unpacked.archives) == 0 {
		return name, unpackedArchive{}
	}
	clean := filepath.Clean(name)
	for archive, a := range unpacked.archives {
		if rest, ok := strings.CutPrefix(clean, archive); ok && (rest == "" || rest[0] == filepath.Separator) {
			return a.dir + rest, a
		}
	}
	return name, unpackedArchive{}
}

// Keep copies what r yields to a file, so that Path finds that under the name given, until RemoveUnpacked.
func Keep(name string, r io.Reader) error {
	f, err := os.CreateTemp("", "fiolat-")
	if err == nil {
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Close()); err == nil {
			err = keep(name, unpackedArchive{dir: f.Name()})
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: copy to %s (TMPDIR): %w", fio.Printable(name), os.TempDir(), err)
	}
	return nil
}

// keep remembers where an archive, or a file, is. It must be removed after an error.
func keep(name string, a unpackedArchive) error {
	unpacked.Lock()
	defer unpacked.Unlock()
	if unpacked.closed {
		return fs.ErrClosed
	}
	if unpacked.archives == nil {
		unpacked.archives = map[string]unpackedArchive{}
	}
	unpacked.archives[name] = a
	return nil
}

// RemoveUnpacked removes what archives were unpacked into. Nothing can be unpacked after that.
func RemoveUnpacked() {
	unpacked.Lock()
	defer unpacked.Unlock()
	unpacked.closed = true
	for _, a := range unpacked.archives {
		_ = os.RemoveAll(a.dir) // best effort, it is in the directory for temporary files
	}
}

var zipMagic = []byte("PK\x03\x04")

// ArchiveOf returns the archive that a path is or leads into: a tar archive, compressed or not, or a zip archive,
// judging by its content; "" if there is none.
func ArchiveOf(path string) string {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	for errors.Is(err, syscall.ENOTDIR) {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() || !isArchive(path) { // opening a pipe could wait forever
		return ""
	}
	return path
}

func isArchive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if isZip(f) {
		return true
	}
	stream, err := Decompress(f, path, nil)
	if err != nil {
		return false
	}
	defer stream.Close()
	_, err = tar.NewReader(stream).Next() // a header has a checksum
	return err == nil
}

func isZip(f io.ReaderAt) bool {
	magic := make([]byte, len(zipMagic))
	n, _ := f.ReadAt(magic, 0)
	return bytes.Equal(magic[:n], zipMagic)
}

// An archive may hold so many files, and so much more than its own size; a bomb holds more.
const (
	maxUnpackedFiles = 200_000
	maxUnpackedTimes = 1000
	minUnpackedLimit = 64 << 20
)

// ArchiveStem returns the name of an archive without what says how it was packed.
func ArchiveStem(base string) string {
	for _, suffix := range []string{".gz", ".zst", ".xz", ".bz2"} {
		if s, ok := strings.CutSuffix(base, suffix); ok {
			base = s
			break
		}
	}
	for _, suffix := range []string{".tar", ".zip", ".tgz", ".tzst", ".txz", ".tbz2", ".tbz"} {
		if s, ok := strings.CutSuffix(base, suffix); ok && s != "" {
			return s
		}
	}
	return base
}

// Unpack unpacks what ArchiveOf returned, so that Path finds what it holds, until RemoveUnpacked.
func Unpack(archive string) error {
	dir, err := os.MkdirTemp("", "fiolat-")
	if err != nil {
		return err
	}
	u := &unpacking{archive: archive}
	u.root, err = os.OpenRoot(dir)
	if err == nil {
		err = u.all()
		err = errors.Join(err, u.root.Close())
	}
	if _, told := errors.AsType[*fio.ParseError](err); err != nil && !told {
		err = fmt.Errorf("%s: unpack into %s (TMPDIR): %w", fio.Printable(archive), os.TempDir(), err)
	}
	a := unpackedArchive{dir: dir}
	if len(u.leftOut) > 0 {
		a.leftOut = u.fault("not unpacked: "+errs.Some(u.leftOut), unpackYourself+", or leave it out with --skip-bad: "+
			"the run is then partial")
	}
	if err == nil {
		err = keep(archive, a)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// unpacking is an archive while it is unpacked.
type unpacking struct {
	archive string
	root    *os.Root
	leftOut []string
	files   int
	bytes   int64 // that may still be written
}

const unpackYourself = "unpack it and pass the folder"

func (u *unpacking) fault(msg, hint string) error {
	return &fio.ParseError{File: u.archive, Msg: msg, Hint: hint}
}

// all unpacks all.
func (u *unpacking) all() error {
	f, err := os.Open(u.archive)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	u.bytes = max(minUnpackedLimit, maxUnpackedTimes*info.Size())
	if isZip(f) {
		return u.zip(f, info.Size())
	}
	stream, err := Decompress(f, u.archive, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	return u.tar(stream)
}

func (u *unpacking) tar(stream io.Reader) error {
	in := &ending{r: stream}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err = io.Copy(io.Discard, in) // checksums of compressed data are behind the archive
			if err == nil && in.zeros < tarEnd {
				err = io.ErrUnexpectedEOF
			}
			return u.damaged(err)
		case err != nil:
			return u.damaged(err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		if err = u.file(h.Name, h.Linkname, h.FileInfo().Mode(), h.ModTime, r); err != nil {
			return err
		}
	}
}

// tarEnd is how many zero bytes end a tar archive. The library takes the end of the data for its end, too.
const tarEnd = 1024

// ending counts the zero bytes at the end of what was read.
type ending struct {
	r     io.Reader
	zeros int
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	other := len(bytes.TrimRight(p[:n], "\x00"))
	if other > 0 {
		e.zeros = 0
	}
	e.zeros += n - other
	return n, err
}

func (u *unpacking) zip(f io.ReaderAt, size int64) error {
	r, err := zip.NewReader(f, size)
	if err != nil {
		return u.damaged(err)
	}
	for _, z := range r.File {
		if z.Flags&1 != 0 {
			return u.fault(fmt.Sprintf("%s in it is encrypted", fio.Printable(z.Name)), unpackYourself)
		}
		content, err := z.Open()
		if errors.Is(err, zip.ErrAlgorithm) {
			return u.fault(fmt.Sprintf("%s in it is compressed by method %d of zip, which is not known",
				fio.Printable(z.Name), z.Method), unpackYourself)
		} else if err != nil {
			return u.damaged(err)
		}
		name := strings.ReplaceAll(z.Name, `\`, "/") // Windows PowerShell 5 writes such names
		err = u.file(name, "", z.Mode(), z.Modified, content)
		if err = errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// damaged describes an error of reading the archive; nil if there is none.
func (u *unpacking) damaged(err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*fio.ParseError](err); is {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return u.fault("unexpected end of the archive: the file is cut", "copy the file again")
	}
	return u.fault("damaged archive: "+err.Error(), "copy the file again, or "+unpackYourself)
}

// file writes one file or folder of the archive.
func (u *unpacking) file(name, link string, mode fs.FileMode, modified time.Time, content io.Reader) error {
	if u.files++; u.files > maxUnpackedFiles {
		return u.fault(fmt.Sprintf("more than %d files", maxUnpackedFiles), unpackYourself)
	}
	why := ""
	switch {
	case !filepath.IsLocal(name):
		why = "its path leads out of the archive"
	case link != "", mode&fs.ModeSymlink != 0:
		why = "a link"
	case !mode.IsDir() && !mode.IsRegular():
		why = "neither a file nor a folder"
	}
	if why != "" {
		u.leftOut = append(u.leftOut, fmt.Sprintf("%s (%s)", fio.Printable(name), why))
		return nil
	}
	name = filepath.Clean(name)
	if mode.IsDir() {
		return u.root.MkdirAll(name, 0o700)
	}
	if err := u.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	in := &source{r: content}
	n, err := io.Copy(f, io.LimitReader(in, u.bytes+1))
	if err = cmp.Or(err, f.Close()); in.err != nil && !errors.Is(in.err, io.EOF) {
		return u.damaged(in.err)
	} else if err != nil {
		return err
	}
	if u.bytes -= n; u.bytes < 0 {
		return u.fault(fmt.Sprintf("it unpacks to more than %d times its size, as a bomb does", maxUnpackedTimes),
			unpackYourself+" if it is none")
	}
	return u.root.Chtimes(name, modified, modified)
}
