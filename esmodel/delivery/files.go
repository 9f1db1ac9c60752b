package delivery

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fiolat/esmodel/ndjson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/errs"
	"fiolat/internal/tempfile"
	"fiolat/pipeline"
)

// fileTail is what file names say of a run: .RUN or .RUN.PART, and the kind of
// latency where it is not clat. Whatever is not a
// letter, a digit, '-' or '_' is escaped: names come from whoever started the run,
// and dots separate.
func fileTail(run *pipeline.Run) string {
	tail := "." + fileWord(run.ID)
	if run.Part != "" {
		tail += "." + fileWord(run.Part)
	}
	if run.Kind != fiolog.Clat {
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

// openDir opens a directory, made with mode 0700 if it is not there, such that
// nothing in it is reached through a symlink that leads out of it. A directory
// that is itself a symlink is refused: in a place where others may write, it would
// be they who say where our files go.
func openDir(path string) (*os.Root, error) {
	path = filepath.Clean(path)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &errs.UsageError{Msg: fmt.Sprintf("%s is not a directory, or a symlink to one", path),
			Hint: "name the directory itself"}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(seen, now) {
		_ = root.Close()
		return nil, errors.Join(fmt.Errorf("%s was exchanged while it was opened", path), err)
	}
	return root, nil
}

// names are the names in a directory, sorted.
func names(root *os.Root) []string {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// syncDir makes renames last. Not every system can; then there is nothing to do.
func syncDir(root *os.Root) {
	if d, err := root.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// spoolFile takes documents in the form of a bulk request, for "fiolat load". It is
// made when the first one comes; a file of an earlier attempt is never touched,
// but for removeOld. A file ends in the middle of a line only if its writer died.
// Its writer holds a lock on it: until then it is not whole. It is flushed to the
// disk when it is closed: a killed writer's documents are there, those of a machine
// that loses its power before that may not be; the logs are.
type spoolFile struct {
	dir, base string // dir "": there is no spool
	root      *os.Root
	f         *os.File
	name      string
	good      int64 // bytes of complete documents
}

func newSpoolFile(dir, base string) *spoolFile { return &spoolFile{dir: dir, base: base} }

// path is the file's path, "" if there is none.
func (s *spoolFile) path() string {
	if s.name == "" {
		return ""
	}
	return filepath.Join(s.dir, s.name)
}

// nth is the name of the n-th file: BASE.ndjson, BASE~2.ndjson. No base has a "~"
// but as the first character of a word.
func (s *spoolFile) nth(n int) string {
	if n == 1 {
		return s.base + ndjson.Ext
	}
	return fmt.Sprintf("%s~%d%s", s.base, n, ndjson.Ext)
}

// append writes documents with their action lines and returns how many of them are
// in the file; without a spool that is 0, and no error.
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
			// The disk is full, perhaps: leave no half document behind.
			return stored, s.fault(errors.Join(err, s.f.Truncate(s.good), seekTo(s.f, s.good)))
		}
		s.good += int64(len(d))
		stored++
	}
	return stored, nil
}

// fault names what could not be written.
func (s *spoolFile) fault(err error) error {
	if err == nil {
		return nil
	}
	return outputError(filepath.Join(s.dir, s.nth(1)), err)
}

func seekTo(f *os.File, at int64) error {
	_, err := f.Seek(at, 0)
	return err
}

func (s *spoolFile) create() (err error) {
	if s.root == nil {
		if s.root, err = openDir(s.dir); err != nil {
			return err
		}
	}
	for n := 1; n < 10000; n++ {
		s.f, err = s.root.OpenFile(s.nth(n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			s.name = s.nth(n)
			_ = tempfile.Lock(s.f) // load and removeOld keep away while we live
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	s.f = nil
	return err
}

func (s *spoolFile) close() error {
	var err error
	if s.f != nil {
		err = errors.Join(s.f.Sync(), s.f.Close())
		syncDir(s.root)
		s.f = nil
	}
	if s.root != nil {
		err = errors.Join(err, s.root.Close())
		s.root = nil
	}
	return s.fault(err)
}

// removeOld removes what earlier attempts at the same run left: all of it has
// arrived now. What another ingest of the run still writes to is that one's.
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
	for _, name := range names(root) {
		part, ok := strings.CutPrefix(name, s.base)
		if rest, ok2 := strings.CutSuffix(part, ndjson.Ext); !ok || !ok2 || rest != "" && rest[0] != '~' {
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
