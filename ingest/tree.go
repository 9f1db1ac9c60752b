package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
)

// Tree is what was found out about folders and files. Discover and DiscoverJSONRuns for the same paths list each
// folder, and look at each file, once if they share it. The zero value knows nothing; it is not for later changes.
type Tree struct {
	folders map[string]listing
	named   map[string]*file  // those asked for by their paths, in no folder when that was
	real    map[string]string // real paths of folders
	kept    int               // bytes of small files that were kept
}

func newTree() *Tree {
	return &Tree{folders: map[string]listing{}, named: map[string]*file{}, real: map[string]string{}}
}

// listing is what is in a folder.
type listing struct {
	files []*file // sorted by name, as far as they can be read
	err   error
	cut   bool // there may be more
}

// file is an entry of a folder, or a file that was named.
type file struct {
	path string
	mode fs.FileMode // the type of the entry: that of a link, not of what it leads to
	kind FileKind    // once looked is set

	looked   bool
	empty    bool // its content
	unnamed  bool // a histogram log, not compressed, by another name
	averages bool // a log without latencies, by its name

	*logFile           // nil: it is no log by its name
	status   *status   // of a file behind a link, and of a log; nil: not asked for
	text     *contents // nil: none, and no error
}

// logFile is what only logs have.
type logFile struct {
	name  Name
	small *atomic.Pointer[source.Small]
	of    digest
}

// status describes what a path leads to.
type status struct {
	info fs.FileInfo
	err  error
}

// contents is what fio's JSON or a job file holds, or why a file cannot be read.
type contents struct {
	err   error  // of the file's kind
	start []byte // see discovery.start
	size  int64  // known with start
	metas once[[]*fiojson.Document]
	job   once[*jobfile.File]
}

// once is the result of what is done once.
type once[T any] struct {
	value T
	err   error
	done  bool
}

func (o *once[T]) get(do func() (T, error)) (T, error) {
	if !o.done {
		o.value, o.err = do()
		o.done = true
	}
	return o.value, o.err
}

func newFile(path string, mode fs.FileMode) *file {
	f := &file{path: path, mode: mode}
	if name, ok := parseName(f.base()); ok {
		f.logFile = &logFile{name: name}
	}
	f.averages = strings.Contains(path, ".log") && otherLog.MatchString(f.base())
	return f
}

func (f *file) base() string { return filepath.Base(f.path) }

// isLink reports whether the entry is a symbolic link.
func (f *file) isLink() bool { return f.mode&fs.ModeSymlink != 0 }

// isEmptyJSON reports whether the file, which was looked at, is JSON by its name and of 0 bytes.
func (f *file) isEmptyJSON() bool {
	return f.empty && f.mode.IsRegular() && filepath.Ext(f.path) == ".json"
}

func (f *file) contents() *contents {
	if f.text == nil {
		f.text = new(contents)
	}
	return f.text
}

// folder lists a folder; if most is above 0 and it has as many entries, it may have more.
func (d *discovery) folder(dir string, most int) listing {
	dir = filepath.Clean(dir)
	of, known := d.tree.folders[dir]
	if known && (!of.cut || most > 0) {
		return of
	}
	entries, err := d.files.ReadDir(dir, most)
	of = listing{err: err, cut: most > 0 && len(entries) >= most}
	of.files = make([]*file, len(entries))
	for i, e := range entries {
		path := filepath.Join(dir, e.Name())
		f := d.tree.named[path]
		if f == nil {
			f = newFile(path, e.Type())
		}
		f.mode = e.Type()
		of.files[i] = f
	}
	d.tree.folders[dir] = of
	return of
}

// List returns the names of what is in a folder, sorted, as far as it can be read.
func (t *Tree) List(dir string) (names []string) {
	for _, f := range newDiscovery(DiscoverOptions{Tree: t}).folder(dir, 0).files {
		names = append(names, f.base())
	}
	return names
}

// Take returns a Tree of what is in the folders that paths name, which the Tree then forgets.
func (t *Tree) Take(paths ...string) *Tree {
	out := newTree()
	for _, path := range paths {
		dir := filepath.Clean(path)
		of, known := t.folders[dir]
		if known {
			out.folders[dir] = of
		}
		delete(t.folders, dir)
	}
	return out
}

// list returns what is in a folder, sorted by name, and notes that it cannot be read.
func (d *discovery) list(dir string) []*file {
	of := d.folder(dir, d.files.Beyond)
	d.files.CannotList(dir, of.err)
	return of.files
}

// texts returns the files of a folder that may be fio's JSON or job files.
func (d *discovery) texts(dir string) iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, f := range d.list(dir) {
			if d.isText(f) && !yield(f) {
				return
			}
		}
	}
}

// isText reports whether an entry of a folder is a file that is no log by its name.
func (d *discovery) isText(f *file) bool { return f.logFile == nil && !f.averages && d.isFile(f) }

// file returns the file with a path.
func (d *discovery) file(path string) *file {
	in := d.tree.folders[filepath.Dir(path)].files
	i, ok := slices.BinarySearchFunc(in, path, func(f *file, path string) int { return strings.Compare(f.path, path) })
	if ok {
		return in[i]
	}
	f := d.tree.named[path]
	if f == nil {
		f = newFile(path, fs.ModeSymlink)
		d.tree.named[path] = f
	}
	return f
}

// stat describes what is behind a file, if it is a link, and notes that it cannot be read.
func (d *discovery) stat(f *file) (fs.FileInfo, error) {
	if f.status == nil {
		f.status = new(status)
		f.status.info, f.status.err = d.files.Stat(f.path)
	}
	if f.status.err != nil {
		d.files.CannotRead(f.path, f.status.err)
	}
	return f.status.info, f.status.err
}

// isFile reports whether a file is regular, or a link to a regular one that is not empty.
func (d *discovery) isFile(f *file) bool {
	if !f.isLink() {
		return f.mode.IsRegular()
	}
	info, err := d.stat(f)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// sniff finds out by its content what a file is. What is packed in a way that is not read is a *source.PackedError, and
// remembered unless nobody asked for its folder.
func (d *discovery) sniff(f *file) (FileKind, error) {
	if !f.looked {
		d.look(f)
	}
	if f.text == nil || f.text.err == nil {
		return f.kind, nil
	}
	if packed, is := errors.AsType[*source.PackedError](f.text.err); is && d.files.Beyond == 0 && !d.isNoted[f] {
		d.packed, d.isNoted[f] = append(d.packed, packed), true
	}
	return f.kind, f.text.err
}

// look reads the start of a file and, if that is fio's JSON or a job file, all of a small one, which is parsed.
func (d *discovery) look(f *file) {
	block := source.NewBlock()
	defer block.Free()
	var kind FileKind
	var err error
	sure := false
	head, whole, bad := d.files.Start(f.path, block[:], func(start []byte) bool {
		if !source.Packed(start) {
			kind, sure, err = kindOfHead(start, f.path)
		}
		return sure && err == nil && (kind == JSONFile || kind == JobFile)
	})
	if bad != nil {
		kind, err = OtherFile, bad
	} else if !sure {
		kind, err = d.kindOf(f.path)
	}
	f.found(kind, err)
	f.empty = bad == nil && len(head) == 0
	f.unnamed = f.logFile == nil && kind == LogFile && histogram.Match(head)
	switch { // an error comes again where the result is asked for
	case whole && kind == JSONFile:
		_, _ = f.contents().metas.get(func() ([]*fiojson.Document, error) {
			return parseJSON(bytes.NewReader(head), f.path)
		})
	case whole && kind == JobFile:
		_, _ = f.contents().job.get(func() (*jobfile.File, error) {
			return jobfile.Parse(bytes.NewReader(head), f.path)
		})
	}
}

// lookAtLog is look for a log that info describes. A small one is read as a whole, and kept while there is room.
func (d *discovery) lookAtLog(f *file, info fs.FileInfo) {
	if f.looked {
		return
	}
	block := source.NewBlock()
	defer block.Free()
	part := block[:]
	if info.Size() > source.SmallSize {
		part = block[:headBytes]
	}
	head, whole, err := d.files.Whole(f.path, info, part)
	kind, sure := OtherFile, err != nil
	if !sure && !source.Packed(head) {
		kind, sure, err = kindOfHead(head[:min(len(head), headBytes)], f.path)
	}
	if !sure {
		kind, err = d.kindOf(f.path)
	}
	f.found(kind, err)
	if whole {
		f.of = digestOf(head)
	}
	if whole && !source.Packed(head) && d.keeps(len(head)) {
		f.small = new(atomic.Pointer[source.Small])
		f.small.Store(&source.Small{Info: info, All: bytes.Clone(head)})
	}
}

// found notes what a file is.
func (f *file) found(kind FileKind, err error) {
	f.kind, f.looked = kind, true
	if err != nil {
		f.contents().err = err
	}
}

// kindOf returns what a file is of which the start does not tell that, or is compressed.
func (d *discovery) kindOf(path string) (kind FileKind, err error) {
	bad := d.files.Read(path, func(r io.Reader) error {
		kind, err = kindOf(r, path)
		return err
	})
	return kind, bad
}

// allSmall are the bytes of small files that are kept at most.
const allSmall = 16 << 20

// keeps reports whether there is room to keep n bytes of a small file, and takes it.
func (d *discovery) keeps(n int) bool {
	fits := n <= allSmall-d.tree.kept
	if fits {
		d.tree.kept += n
	}
	return fits
}

// isPacked reports whether a file is packed in a way that is not read.
func (d *discovery) isPacked(f *file) bool {
	if f.averages || !d.isFile(f) {
		return false
	}
	_, err := d.sniff(f)
	return isPacked(err)
}

func isPacked(err error) bool {
	_, is := errors.AsType[*source.PackedError](err)
	return is
}

// documents returns those of the runs in a file of fio's JSON. Those who share a Tree have copies of their own.
func (d *discovery) documents(f *file) ([]*fiojson.Document, error) {
	if in, ok := d.opt.Stdin.(*jsonInput); ok && f.path == stdin {
		return in.metas, nil
	}
	c := f.contents()
	metas, err := c.metas.get(func() (metas []*fiojson.Document, err error) {
		err = d.files.Read(f.path, func(r io.Reader) (err error) {
			metas, err = parseJSON(r, f.path)
			return err
		})
		return metas, err
	})
	if d.copies == nil {
		return metas, err
	}
	own, known := d.copies[f]
	for i := 0; i < len(metas) && !known; i++ {
		own = append(own, metas[i].Copy())
	}
	d.copies[f] = own
	return own, err
}

// parseJSON reads fio's JSON.
func parseJSON(r io.Reader, path string) ([]*fiojson.Document, error) {
	text := bufio.NewReader(r)
	start, _ := text.Peek(headBytes)
	if isUTF16(start) {
		return nil, errUTF16(path)
	} else if err := source.Tar(start, path); err != nil {
		return nil, err
	}
	inString := inString(start)
	metas, err := fiojson.ParseAll(text, path)
	if err != nil && inString {
		err = errInString(path)
	}
	for _, m := range metas {
		placeJobs(m)
	}
	return metas, err
}

// jobFile returns what is in a job file.
func (d *discovery) jobFile(f *file) (*jobfile.File, error) {
	return f.contents().job.get(func() (j *jobfile.File, err error) {
		err = d.files.Read(f.path, func(r io.Reader) (err error) {
			j, err = jobfile.Parse(r, f.path)
			return err
		})
		return j, err
	})
}

// start returns the first bytes of a file, as far as it can be read: it could be before, and its size.
func (d *discovery) start(path string) ([]byte, int64) {
	if in, ok := d.opt.Stdin.(*jsonInput); ok && path == stdin {
		return in.start, int64(in.size)
	}
	f := d.file(path)
	c := f.contents()
	if c.start != nil {
		return c.start, c.size
	}
	info, err := d.files.Stat(path)
	if err != nil {
		return nil, 0
	}
	start, _, _ := d.files.Start(path, make([]byte, idBytes), nil)
	if d.keeps(len(start)) {
		c.start, c.size = bytes.Clone(start), info.Size()
	}
	return start, info.Size()
}

// glob returns the paths that match a pattern, as filepath.Glob does, which ignores folders that cannot be read. What
// exists by the name of the pattern, or of a folder in it, is meant itself.
func (d *discovery) glob(pattern string) (out []string, err error) {
	if _, err = d.files.Stat(pattern); err == nil {
		return []string{pattern}, nil
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		if !errors.Is(err, fs.ErrNotExist) {
			d.files.CannotRead(pattern, err)
		}
		return nil, nil
	}
	dir, name := filepath.Split(pattern)
	if _, err = filepath.Match(name, ""); err != nil {
		return nil, err
	}
	dirs, err := d.glob(strings.TrimSuffix(dir, "/"))
	if dir == "" || dir == "/" {
		dirs, err = []string{dir}, nil
	}
	for _, folder := range dirs {
		at := folder
		if at == "" {
			at = "."
		}
		if info, bad := d.files.Stat(at); bad == nil && !info.IsDir() {
			continue
		}
		for _, f := range d.list(at) {
			if ok, _ := filepath.Match(name, f.base()); ok {
				out = append(out, filepath.Join(folder, f.base()))
			}
		}
	}
	return out, err
}

// realPath returns where a path leads, behind links. Unlike filepath.EvalSymlinks it looks at each folder once: the
// folders of a deep tree would take a time that grows with the cube of its depth.
func (d *discovery) realPath(path string) string {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 && path == filepath.Clean(path) &&
		path != dir && base != ".." {
		real, ok := d.tree.real[dir]
		if !ok {
			real = d.realPath(dir)
			d.tree.real[dir] = real
		}
		return filepath.Join(real, base)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}
