package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/internal/tempfile"
	"fiolat/pipeline"
)

// fileSuffix returns the part of file names that identifies a run: .RUN or .RUN.PART, and the kind of latency
// unless it is clat. Characters other than letters, digits, '-' and '_' are escaped, because users choose the
// names, and dots separate.
func fileSuffix(run *pipeline.Run) string {
	tail := "." + fileWord(run.ID)
	if run.Part != "" {
		tail += "." + fileWord(run.Part)
	}
	if run.Kind != fio.Clat {
		tail += ".kind=" + run.Kind.String()
	}
	return tail
}

func fileWord(s string) string {
	if len(s) > 80 {
		sum := sha256.Sum256([]byte(s))
		return "~" + base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// maxName is the longest name of a file in bytes.
const maxName = 255

// shortened returns the beginning of a name that is too long, and a hash of the whole.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := ".~" + base64.RawURLEncoding.EncodeToString(sum[:16])
	return name[:most-len(hash)] + hash
}

// openDir opens a directory, created with mode 0700 if it does not exist, such that nothing in it is reached
// through a symlink that leads out of it. A directory that is itself a symlink is refused: where others may
// write, they could redirect the files.
func openDir(path string) (*os.Root, error) {
	path = filepath.Clean(path)
	if err := os.MkdirAll(path, 0o700); errors.Is(err, syscall.ENOTDIR) {
		return nil, &fio.UsageError{Msg: fmt.Sprintf("%s is not a directory, or lies in a file", path),
			Hint: "name a directory"}
	} else if err != nil {
		return nil, err
	}
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &fio.UsageError{Msg: fmt.Sprintf("%s is not a directory, or a symlink to one", path),
			Hint: "name the directory itself"}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(seen, now) {
		_ = root.Close()
		return nil, errors.Join(fmt.Errorf("%s was replaced while it was being opened", path), err)
	}
	return root, nil
}

// names returns the names of the files in a directory.
func names(root *os.Root) (out []string, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

// syncDir makes renames durable, on systems that can.
func syncDir(root *os.Root) {
	if d, err := root.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// spoolFile stores documents in the form of a bulk request, for "fiolat load". It is created with the first
// document. Only removeOld touches files of earlier attempts. The writer locks the file until it is complete;
// it ends in the middle of a line only if its writer died. It is synced when it is closed: documents survive a
// killed writer, but not always a power failure before that, when the logs still exist.
type spoolFile struct {
	dir, base string // dir "": there is no spool
	root      *os.Root
	f         *os.File
	name      string
	good      int64 // bytes of complete documents
	failed    error // the first fault
}

func newSpoolFile(dir, base string) *spoolFile { return &spoolFile{dir: dir, base: base} }

func (s *spoolFile) path() string {
	if s.name == "" {
		return ""
	}
	return filepath.Join(s.dir, s.name)
}

// mostFiles is the highest number of a file.
const mostFiles = 9999

// nth returns the name of the n-th file: BASE.ndjson, BASE~2.ndjson. A base has a "~" only as the first
// character of a word.
func (s *spoolFile) nth(n int) string {
	end := esmodel.FileExt
	if n > 1 {
		end = fmt.Sprintf("~%d%s", n, end)
	}
	if len(s.base)+len(end) > maxName {
		return s.short() + end
	}
	return s.base + end
}

// short is the base of names that would be too long.
func (s *spoolFile) short() string {
	return shortened(s.base, maxName-len(fmt.Sprintf("~%d%s", mostFiles, esmodel.FileExt)))
}

// check makes the directory and a file, and takes them away again: what cannot be made is to be known before anything
// is sent.
func (s *spoolFile) check() error {
	if s.dir == "" {
		return nil
	}
	var made []string // the directory, and those above it
	for d, above := filepath.Clean(s.dir), ""; d != above; d, above = filepath.Dir(d), d {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, d)
	}
	err := s.create()
	if err == nil {
		err = s.close()
	}
	for _, d := range made {
		_ = os.Remove(d) // unless another process has put something there
	}
	if no := (*fio.UsageError)(nil); errors.As(err, &no) { // the documents need not come to this
		err = errors.New(no.Error())
	}
	if err == nil {
		return nil
	}
	return outputError(filepath.Join(s.dir, s.nth(1)), err)
}

// append writes documents with their action lines and returns how many of them are in the file. Without a spool
// that is 0, and no error.
func (s *spoolFile) append(docs [][]byte) (stored int, err error) {
	if s.dir == "" {
		return 0, nil
	}
	if s.f == nil {
		if err := s.create(); err != nil {
			return 0, s.fault(err)
		}
	}
	for _, d := range docs {
		if _, err := s.f.Write(d); err != nil {
			// The disk may be full: leave no partial document behind.
			return stored, s.fault(errors.Join(err, s.f.Truncate(s.good), seekTo(s.f, s.good)))
		}
		s.good += int64(len(d))
		stored++
	}
	return stored, nil
}

// fault adds the name of the file to an error.
func (s *spoolFile) fault(err error) error {
	if err == nil {
		return nil
	}
	err = outputError(cmp.Or(s.path(), filepath.Join(s.dir, s.nth(1))), err)
	s.failed = cmp.Or(s.failed, err)
	return err
}

func seekTo(f *os.File, at int64) error {
	_, err := f.Seek(at, 0)
	return err
}

func (s *spoolFile) create() (err error) {
	for n := 1; n <= mostFiles; n++ {
		if s.root == nil {
			if s.root, err = openDir(s.dir); err != nil {
				return err
			}
		}
		s.f, err = s.root.OpenFile(s.nth(n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			s.name = s.nth(n)
			_ = tempfile.Lock(s.f) // keeps load and removeOld away while this process lives
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) { // the check of another process has taken the directory away
			_ = s.root.Close()
			s.root = nil
		} else if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	s.f = nil
	return err
}

// close leaves no file without a document.
func (s *spoolFile) close() error {
	var err error
	if s.f != nil {
		if s.good > 0 {
			err = s.f.Sync()
		} else {
			err = s.root.Remove(s.name)
			s.name = ""
		}
		err = errors.Join(err, s.f.Close())
		syncDir(s.root)
		s.f = nil
	}
	if s.root != nil {
		err = errors.Join(err, s.root.Close())
		s.root = nil
	}
	return s.fault(err)
}

// removeOld removes the files of earlier attempts at the same run, because all documents have arrived now. It
// leaves files that another ingest of the run still writes.
func (s *spoolFile) removeOld() error {
	if s.dir == "" {
		return nil
	}
	if _, err := os.Lstat(s.dir); err != nil {
		return nil
	}
	root, err := openDir(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	all, err := names(root)
	if err != nil {
		return err
	}
	for _, name := range all {
		part, ok := strings.CutPrefix(name, s.base)
		if !ok {
			part, ok = strings.CutPrefix(name, s.short())
		}
		if rest, ok2 := strings.CutSuffix(part, esmodel.FileExt); !ok || !ok2 || rest != "" && rest[0] != '~' {
			continue
		}
		if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() {
			continue
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		if !errors.Is(tempfile.Lock(f), tempfile.ErrLocked) {
			err = root.Remove(name)
		}
		_ = f.Close() // nothing was written
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
