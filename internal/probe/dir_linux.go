package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/internal/tempfile"

	"golang.org/x/sys/unix"
)

// DirConfig configures OpenDir.
type DirConfig struct {
	// Name distinguishes the probes of one directory. It is the host's name, since many hosts may see the same file
	// system.
	Name string
	// Size is the size in bytes of the data, rounded down to blocks; 0 means as it is, or 1 GiB, but at most 1 % of
	// the free space.
	Size int64
	// Direct bypasses the page cache.
	Direct bool
	// Making is called with the size when the data file is about to be made.
	Making func(size int64)
	// Warn is called with warnings.
	Warn func(text string)
}

// A probe's directory is DIR/.fiolat-probe.NAME. In it are two files, each of which begins with magic:
//
//	data   made once, and locked while it is probed: a block with the header, then the blocks to read and write
//	small  exists during a round
//
// The header is magic, a checksum and the last Status. Without a valid one, the file is incomplete.
const (
	dirPrefix = ".fiolat-probe."
	dataName  = "data"
	smallName = "small"
	magic     = "fiolat probe 2\n"

	blockSize = 1 << 20
	smallSize = 3901
	pageSize  = 4096
)

// goodName matches valid names. The length is checked separately, because a counted repetition takes long to compile
// at start.
var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 201

// header is the JSON of the header.
type header struct {
	Direct bool            `json:"direct"`
	Status json.RawMessage `json:"status"`
}

// Dir is a probe's directory. It implements Files.
type Dir struct {
	path   string // DIR
	cfg    DirConfig
	size   int64 // of the data
	kept   []byte
	direct int // the flag for opening the data file

	root           *os.Root
	lock           *os.File    // the data file
	data           fs.FileInfo // of the data file
	small          bool        // there is a small file
	stale          bool        // after an error: reopen everything
	block, content []byte
}

func usagef(hint, format string, args ...any) error {
	return &fio.UsageError{Msg: fmt.Sprintf(format, args...), Hint: hint}
}

var errReplaced = errors.New("the data file was replaced")

// OpenDir opens the probe's directory below path, and makes what is missing. It fails with a *fio.UsageError if another
// probe uses the directory, or if there is something else in place of its files.
func OpenDir(ctx context.Context, path string, cfg DirConfig) (_ Files, err error) {
	if len(cfg.Name) > maxName || !goodName.MatchString(cfg.Name) {
		return nil, usagef("choose a name of letters, digits, '.', '-' and '_' with --host",
			"%q cannot be part of a directory name", cfg.Name)
	}
	d := &Dir{path: path, cfg: cfg, content: make([]byte, smallSize)}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	d.block, err = unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("a block of memory: %w", err) // mapped, because O_DIRECT needs whole pages
	}
	fill(d.block)
	fill(d.content[copy(d.content, magic):])
	if err = d.open(true); err != nil {
		return nil, err
	}
	if d.small { // of a probe that was killed; it may be incomplete
		if err = d.root.Remove(smallName); err != nil {
			return nil, d.in(err)
		}
		d.small = false
	}
	d.size = d.data.Size() - blockSize
	if h, err := readHeader(d.lock); err != nil {
		if err = d.make(ctx); err != nil {
			return nil, d.in(err)
		}
	} else if h.Direct == cfg.Direct { // other times cannot be compared
		d.kept = h.Status
	}
	if want := cfg.Size - cfg.Size%blockSize; cfg.Size > 0 && want != d.size {
		return nil, usagef("omit --size, or run --cleanup first", "%s was made with %d bytes of data, not %d", d.name(),
			d.size, want)
	}
	if cfg.Direct {
		d.direct = unix.O_DIRECT
		if _, err := d.do(dataName, os.O_RDONLY|d.direct, d.block, blockSize); errors.Is(err, unix.EINVAL) {
			return nil, usagef("omit --direct", "%s: this file system has no direct I/O", path)
		}
	}
	return d, nil
}

func (d *Dir) name() string { return filepath.Join(d.path, dirPrefix+d.cfg.Name) }

// in adds the directory to an error.
func (d *Dir) in(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.name(), err)
}

// open opens and locks the directory. If create is set, it makes the directory and an empty data file.
func (d *Dir) open(create bool) error {
	top, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer top.Close()
	dir := dirPrefix + d.cfg.Name
	if create {
		err = top.Mkdir(dir, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return d.in(err)
		}
	}
	info, err := top.Lstat(dir)
	switch {
	case err != nil:
		return d.in(err)
	case !info.IsDir():
		return usagef("choose another name with --host", "%s is not a directory", d.name())
	case owner(info) != os.Geteuid():
		return usagef("probe as that user, or under another name with --host", "%s belongs to user %d", d.name(),
			owner(info))
	}
	if d.root, err = top.OpenRoot(dir); err != nil {
		return d.in(err)
	}
	if now, err := d.root.Stat("."); err != nil || !os.SameFile(info, now) {
		return d.in(cmp.Or(err, errReplaced))
	}
	if create {
		if f, err := d.root.OpenFile(dataName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = f.Close() // nothing was written
		} else if !errors.Is(err, fs.ErrExist) {
			return d.in(err)
		}
	}
	if d.data, err = d.statOwn(dataName); err != nil {
		return err
	}
	if err = d.takeLock(); err != nil {
		return err
	}
	_, err = d.statOwn(smallName)
	d.small = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// statOwn fails unless a file can only be one that the probe created: it is empty or begins with magic, and no other
// name leads to it.
func (d *Dir) statOwn(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, d.in(err)
	}
	const hint = "choose another name with --host, or find out who created it"
	switch file := filepath.Join(d.name(), name); {
	case !info.Mode().IsRegular():
		return nil, usagef(hint, "%s is not a regular file", file)
	case info.Sys().(*syscall.Stat_t).Nlink != 1:
		return nil, usagef(hint, "%s has another hard link; refusing to write to it", file)
	case owner(info) != os.Geteuid():
		return nil, usagef(hint, "%s belongs to user %d", file, owner(info))
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, d.in(err)
	}
	defer f.Close()
	begin := make([]byte, len(magic))
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, d.in(err)
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) || !strings.HasPrefix(magic, string(begin[:n])) {
		return nil, usagef(hint, "%s: no probe of this version created it", filepath.Join(d.name(), name))
	}
	return info, nil
}

// takeLock excludes other probes while this process lives. Over NFS an exclusive lock needs a file that is open for
// writing; elsewhere such a file would prevent a read-only remount.
func (d *Dir) takeLock() (err error) {
	for _, flags := range []int{os.O_RDONLY, os.O_RDWR} {
		if d.lock, err = d.root.OpenFile(dataName, flags, 0); err != nil {
			return d.in(err)
		}
		err = tempfile.Lock(d.lock)
		if !errors.Is(err, unix.EBADF) {
			break
		}
		_ = d.lock.Close() // nothing was written
	}
	if errors.Is(err, tempfile.ErrLocked) {
		return usagef("stop the other probe, or choose another name with --host", "%s is already being probed", d.name())
	} else if err != nil {
		d.cfg.Warn(fmt.Sprintf("%s: this file system has no locks (%v): make sure that no other probe uses the name %s "+
			"there", d.path, err, d.cfg.Name))
	}
	return d.in(d.same(d.lock))
}

func readHeader(f io.ReaderAt) (h header, err error) {
	b := make([]byte, blockSize)
	if _, err = f.ReadAt(b, 0); err != nil {
		return h, err
	}
	lines := bytes.SplitN(b, []byte("\n"), 4)
	if len(lines) < 4 || string(lines[1]) != checksum(lines[2]) {
		return h, errors.New("the data file is incomplete")
	}
	return h, json.Unmarshal(lines[2], &h)
}

func checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b)) }

// make fills the data file, and then writes its header.
func (d *Dir) make(ctx context.Context) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(d.lock.Fd()), &st); err != nil {
		return os.NewSyscallError("statfs", err)
	}
	free := int64(st.Bavail) * st.Bsize
	d.size = cmp.Or(d.cfg.Size, min(1<<30, max(free/100, blockSize)))
	d.size -= d.size % blockSize
	if d.size+2*blockSize > free {
		return usagef("choose a smaller --size, or free some space", "%d MiB are free: too little for %d MiB of data",
			free>>20, d.size>>20)
	}
	if d.cfg.Making != nil {
		d.cfg.Making(d.size)
	}
	f, err := d.root.OpenFile(dataName, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = d.same(f); err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(magic), 0)
	}
	for at := int64(blockSize); err == nil && at <= d.size; at += blockSize {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fill(d.block)
		_, err = f.WriteAt(d.block, at)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.Keep([]byte("null"))
	}
	return err
}

// same fails if an open file is not the one that was locked.
func (d *Dir) same(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, d.data) {
		err = errReplaced
	}
	return err
}

// Ready reopens everything after an error: what comes back at the same path is another file system.
func (d *Dir) Ready() error {
	if !d.stale {
		return nil
	}
	d.close()
	err := d.open(false)
	d.stale = err != nil
	return err
}

// Do performs one operation. It times everything from the name lookup to the close, which over NFS sends data to the
// server.
func (d *Dir) Do(op Operation) (at time.Time, took time.Duration, err error) {
	if op > Write && d.small == (op == Create) {
		return time.Now(), 0, ErrSkipped
	}
	offset := blockSize + rand.Int64N(d.size/blockSize)*blockSize
	if op == Write {
		for i := 0; i < len(d.block); i += pageSize { // defeats deduplication
			binary.NativeEndian.PutUint64(d.block[i:], rand.Uint64())
		}
	}
	at = time.Now()
	switch op {
	case Read:
		took, err = d.do(dataName, os.O_RDONLY|d.direct, d.block, offset)
	case Write:
		took, err = d.do(dataName, os.O_WRONLY|d.direct, d.block, offset)
	case Create:
		took, err = d.do(smallName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, d.content, 0)
		d.small = err == nil
		if err != nil && !errors.Is(err, fs.ErrExist) {
			_ = d.root.Remove(smallName) // incomplete, if it is there
			_, e := d.root.Lstat(smallName)
			d.small = e == nil
		}
	case Stat:
		_, err = d.root.Lstat(smallName)
		took = time.Since(at)
	case SmallRead:
		took, err = d.do(smallName, os.O_RDONLY, d.content, 0)
	case Delete:
		err = d.root.Remove(smallName)
		took = time.Since(at)
		d.small = err != nil && !errors.Is(err, fs.ErrNotExist)
	}
	d.stale = d.stale || err != nil
	return at, took, d.in(err)
}

// do opens a file, reads or writes b, and closes it. What is not the operation is not timed.
func (d *Dir) do(name string, flags int, b []byte, offset int64) (took time.Duration, err error) {
	start := time.Now()
	f, err := d.root.OpenFile(name, flags, 0o600)
	if err != nil {
		return time.Since(start), err
	}
	opened, write := time.Now(), flags&os.O_WRONLY != 0
	if name == dataName {
		err = d.same(f)
		if !write { // what this host has in memory says little about the file system; this is advice
			_ = unix.Fadvise(int(f.Fd()), offset, int64(len(b)), unix.FADV_DONTNEED)
		}
	}
	untimed := time.Since(opened)
	if err == nil {
		if write {
			_, err = f.WriteAt(b, offset)
		} else {
			_, err = f.ReadAt(b, offset)
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return time.Since(start) - untimed, err
}

// Keep stores a status in the header.
func (d *Dir) Keep(status []byte) error {
	b, err := json.Marshal(header{d.cfg.Direct, status})
	if err != nil {
		return err
	}
	_, err = d.do(dataName, os.O_WRONLY, fmt.Appendf(nil, "%s%s\n%s\n", magic, checksum(b), b), 0)
	return err
}

// Kept returns the status of the previous probe, if it did the same operations.
func (d *Dir) Kept() []byte { return d.kept }

// Close closes the directory and leaves its files in place.
func (d *Dir) Close() error {
	d.close()
	return unix.Munmap(d.block)
}

func (d *Dir) close() {
	if d.lock != nil {
		// A child process holds the file, too, until it calls exec.
		_ = unix.Flock(int(d.lock.Fd()), unix.LOCK_UN) // fails only without locks
		_ = d.lock.Close()                             // nothing was written
	}
	if d.root != nil {
		_ = d.root.Close() // nothing was written
	}
	d.lock, d.root = nil, nil
}

// fill fills b with bytes that cannot be compressed.
func fill(b []byte) {
	var next [8]byte
	for len(b) > 0 {
		binary.NativeEndian.PutUint64(next[:], rand.Uint64())
		b = b[copy(b, next[:]):]
	}
}

// Cleanup removes what probes of that name created below path, and returns the names of other files, which stay. It
// fails with a *fio.UsageError while a probe is running.
func Cleanup(path, name string) (foreign []string, err error) {
	d := &Dir{path: path, cfg: DirConfig{Name: name, Warn: func(string) {}}}
	defer d.close()
	err = d.open(false)
	if d.root == nil || err != nil && !errors.Is(err, fs.ErrNotExist) { // or killed at its start
		return nil, err
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, d.in(err)
	}
	for _, e := range entries {
		if _, err := d.statOwn(e.Name()); err != nil || e.Name() != dataName && e.Name() != smallName {
			foreign = append(foreign, e.Name())
			continue
		}
		if e.Name() == dataName && d.lock != nil {
			_ = d.lock.Close() // over NFS and FUSE an open file would be renamed and stay
			d.lock = nil
		}
		if err = d.root.Remove(e.Name()); err != nil {
			return foreign, d.in(err)
		}
	}
	if len(foreign) > 0 {
		return foreign, nil
	}
	top, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return nil, d.in(top.Remove(dirPrefix + name))
}

// ReadStatus returns the statuses of all probes below path by name. It blocks while the file system hangs.
func ReadStatus(path string) (map[string]*Status, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), dirPrefix+"*/"+dataName)
	if err != nil {
		return nil, err
	}
	out := map[string]*Status{}
	for _, name := range names {
		f, err := root.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s := new(Status)
		if h, err := readHeader(f); err == nil && h.Status != nil {
			_ = json.Unmarshal(h.Status, s) // its checksum is right
		}
		_ = f.Close() // only read
		out[strings.TrimPrefix(filepath.Dir(name), dirPrefix)] = s
	}
	if len(out) == 0 {
		return nil, &fio.UsageError{Msg: path + " has not been probed", Hint: "start with fiolat probe " + path}
	}
	return out, nil
}
