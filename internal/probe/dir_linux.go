package probe

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"

	"golang.org/x/sys/unix"
)

const (
	pageSize = 4096
	// dirFlags open a directory, but not through a symbolic link.
	dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	newFlags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// Dir is a probe's directory. It implements Files. Every name is looked up in an open
// directory with O_NOFOLLOW, so nothing outside of it can be reached.
//
// It makes system calls directly: package os would register the descriptors with the runtime's poller, and that would
// be timed, too.
type Dir struct {
	path   string // DIR
	cfg    DirConfig
	layout Layout
	rng    *rand.Rand

	dir, pool, lock int      // descriptors, -1 if not open
	inode           uint64   // of the pool
	stale           bool     // after an error: reopen everything
	small           []uint64 // the pool, oldest first
	next            uint64
	block, content  []byte
	stat            unix.Stat_t // reused: allocating one would be timed
}

// OpenDir opens the probe's directory below path and creates what is missing: everything
// the first time, later what a kill left incomplete. It fails with a *fio.UsageError if
// another probe uses the directory or if it was prepared with another layout.
func OpenDir(ctx context.Context, path string, cfg DirConfig) (_ *Dir, err error) {
	d := &Dir{path: path, cfg: cfg, layout: cfg.Layout, dir: -1, pool: -1, lock: -1,
		rng: rand.New(rand.NewPCG(cfg.Seed, 1))}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if len(cfg.Name) > maxName || !goodName.MatchString(cfg.Name) {
		return nil, usagef("choose a name of letters, digits, '.', '-' and '_' with --host",
			"%q cannot be part of a directory name", cfg.Name)
	}
	if err = d.open(true); err != nil {
		return nil, err
	}
	if err = d.prepare(); err != nil {
		return nil, err
	}
	if err = d.makeData(ctx); err != nil {
		return nil, err
	}
	if err = d.makePool(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// Layout returns the layout in use.
func (d *Dir) Layout() Layout { return d.layout }

// name returns the path of a file of the directory.
func (d *Dir) name(file string) string { return filepath.Join(d.path, dirPrefix+d.cfg.Name, file) }

// at adds a path to an error.
func (d *Dir) at(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.name(name), Err: err}
}

// open opens and locks the directory, creating it if create is set.
func (d *Dir) open(create bool) error {
	top, err := unix.Open(d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: d.path, Err: err}
	}
	defer unix.Close(top) //nolint:errcheck // read only
	name := dirPrefix + d.cfg.Name
	if create {
		if err = unix.Mkdirat(top, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return d.at("mkdir", "", err)
		}
	}
	if d.dir, err = unix.Openat(top, name, dirFlags, 0); err != nil {
		return d.at("open", "", err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(d.dir, &st); err != nil {
		return d.at("stat", "", err)
	}
	if int(st.Uid) != os.Geteuid() {
		return usagef("probe as that user, or under another name with --host",
			"%s belongs to user %d", filepath.Join(d.path, name), st.Uid)
	}
	if create {
		if err = d.ours(); err != nil {
			return err
		}
	}
	if err = d.takeLock(create); err != nil {
		return err
	}
	if create {
		if err = unix.Mkdirat(d.dir, poolName, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return d.at("mkdir", poolName, err)
		}
	}
	if d.pool, err = unix.Openat(d.dir, poolName, dirFlags, 0); err != nil {
		return d.at("open", poolName, err)
	}
	if err = unix.Fstat(d.pool, &st); err == nil && d.inode != 0 && d.inode != st.Ino {
		d.inode = st.Ino
		return d.scanPool() // it was replaced meanwhile
	}
	d.inode = st.Ino
	return d.at("stat", poolName, err)
}

// ours fails if the directory holds files but no manifest: then no probe created it.
// Files that are created before the manifest are allowed.
func (d *Dir) ours() error {
	if _, err := d.read(manifestName); !errors.Is(err, unix.ENOENT) {
		return err
	}
	names, err := list(d.dir)
	if err != nil {
		return d.at("read", "", err)
	}
	for _, n := range names {
		if n == manifestName+tempSuffix || n == lockName {
			continue
		}
		if n == poolName {
			if fd, err := unix.Openat(d.dir, poolName, dirFlags, 0); err == nil {
				files, err := list(fd)
				unix.Close(fd) //nolint:errcheck // read only
				if err == nil && len(files) == 0 {
					continue
				}
			}
		}
		return usagef("choose another name with --host, or find out who created it",
			"%s contains %q and no manifest: no probe created it", d.name(""), n)
	}
	return nil
}

// takeLock excludes other probes while this process lives. Over NFS an exclusive lock
// needs a file that is open for writing; elsewhere such a file would prevent a read-only
// remount.
func (d *Dir) takeLock(create bool) error {
	for _, flags := range []int{unix.O_RDONLY, unix.O_RDWR} {
		fd, err := unix.Openat(d.dir, lockName, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) && create {
			fd, err = unix.Openat(d.dir, lockName, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		}
		if err != nil {
			return d.at("open", lockName, err)
		}
		switch err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			d.lock = fd
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			unix.Close(fd) //nolint:errcheck // nothing was written
			return usagef("stop the other probe, or choose another name with --host",
				"%s is already being probed", d.name(""))
		case errors.Is(err, unix.EBADF):
			unix.Close(fd) //nolint:errcheck // nothing was written
			continue
		default: // a file system without locks
			d.lock = fd
			d.cfg.Warn(fmt.Sprintf("%s: this file system has no locks (%v): "+
				"make sure that no other probe uses the name %s there", d.path, err, d.cfg.Name))
			return nil
		}
	}
	return d.at("lock", lockName, unix.EBADF)
}

// prepare compares the layout with the manifest, or writes the manifest.
func (d *Dir) prepare() error {
	l := &d.layout
	l.Block = cmp.Or(l.Block, defaultBlock)
	if l.Data > 0 && l.Data < l.Block {
		return usagef("choose a smaller --block or a larger --size",
			"blocks of %d bytes do not fit into a file of %d", l.Block, l.Data)
	}
	l.Data -= l.Data % l.Block
	var m manifest
	b, err := d.read(manifestName)
	switch {
	case errors.Is(err, unix.ENOENT):
		l.File = cmp.Or(l.File, defaultFile)
		l.Pool = cmp.Or(l.Pool, defaultPool)
		if err = d.sizeData(); err != nil {
			return err
		}
		m = manifest{manifestVersion, d.cfg.Name, l.File, l.Pool, l.Data}
		if b, err = json.Marshal(m); err == nil {
			err = d.replace(manifestName, append(b, '\n'))
		}
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err = json.Unmarshal(b, &m); err != nil || m.Version != manifestVersion || m.File < 1 || m.Pool < 1 ||
			m.Data < 1 {
			return usagef("run --cleanup of the version that created it",
				"%s is not a manifest of this version", d.name(manifestName))
		}
		for _, c := range []struct {
			what, unit string
			want, has  int64
		}{{"small file size", " bytes", l.File, m.File}, {"small files", "", int64(l.Pool), int64(m.Pool)},
			{"large file size", " bytes", l.Data, m.Data}} {
			if c.want != 0 && c.want != c.has {
				return usagef("omit that flag, or run --cleanup first",
					"%s was prepared with other settings: %s: %d%s, not %d", d.name(""), c.what, c.has, c.unit, c.want)
			}
		}
		l.File, l.Pool, l.Data = m.File, m.Pool, m.Data
	}
	if l.Block > l.Data {
		return usagef("choose a smaller --block or a larger --size",
			"blocks of %d bytes do not fit into a file of %d", l.Block, l.Data)
	}
	if l.Direct && l.Block%pageSize != 0 {
		return usagef(fmt.Sprintf("choose a multiple of %d", pageSize),
			"--direct with blocks of %d bytes", l.Block)
	}
	if memory := memorySize(); l.Data < 2*memory && !l.Direct {
		d.cfg.Warn(fmt.Sprintf("%s: the large file has %d MiB, less than twice the memory (%d MiB): "+
			"most reads come from the page cache and say little about the file system; pass --size or --direct",
			d.path, l.Data>>20, memory>>20))
	}
	if d.block, err = unix.Mmap(-1, 0, int(l.Block), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
		return fmt.Errorf("a block of %d bytes: %w", l.Block, err) // mapped, because O_DIRECT needs whole pages
	}
	d.fill(d.block)
	d.content = make([]byte, l.File)
	d.fill(d.content)
	return nil
}

// sizeData determines the size of the large file.
func (d *Dir) sizeData() error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.dir, &st); err != nil {
		return d.at("statfs", "", err)
	}
	free := int64(st.Bavail) * st.Bsize
	l := &d.layout
	if l.Data == 0 {
		l.Data = min(1<<30, free/100) // nobody asked for more
	}
	l.Data -= l.Data % l.Block
	if l.Data < l.Block || l.Data+int64(l.Pool)*max(l.File, pageSize) > free {
		return usagef("choose a smaller --size or --pool, or free some space",
			"%s: %d MiB are free: too little for a large file of %d MiB and %d small ones",
			d.path, free>>20, l.Data>>20, l.Pool)
	}
	return nil
}

// makeData writes the missing part of the large file and drops it from the page cache.
func (d *Dir) makeData(ctx context.Context) error {
	fd, err := unix.Openat(d.dir, dataName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return d.at("open", dataName, err)
	}
	defer unix.Close(fd) //nolint:errcheck // synced
	if err = d.onlyOurs(fd); err != nil {
		return d.at("open", dataName, err)
	}
	if st := &d.stat; st.Size < d.layout.Data {
		const step = 1 << 20
		buf := make([]byte, step)
		for at := st.Size - st.Size%step; at < d.layout.Data; at += step {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			d.fill(buf)
			if err = writeAll(fd, buf[:min(step, d.layout.Data-at)], at); err != nil {
				return d.at("write", dataName, err)
			}
			d.progress(LargeFile, min(at+step, d.layout.Data), d.layout.Data)
		}
		if err = unix.Fsync(fd); err != nil {
			return d.at("sync", dataName, err)
		}
	}
	_ = unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) // advice
	if d.layout.Direct {
		fd, err := unix.Openat(d.dir, dataName, unix.O_RDWR|unix.O_DIRECT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINVAL) {
			return &fio.UsageError{Msg: d.path + ": this file system has no direct I/O", Hint: "omit --direct"}
		} else if err != nil {
			return d.at("open", dataName, err)
		}
		unix.Close(fd) //nolint:errcheck // nothing was written
	}
	return nil
}

// onlyOurs fails unless fd is a regular file of this user without other hard links: a planted link would lead to
// another file. The result of fstat is left in d.stat.
func (d *Dir) onlyOurs(fd int) error {
	switch err := unix.Fstat(fd, &d.stat); {
	case err != nil:
		return err
	case d.stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return unix.EINVAL
	case d.stat.Nlink != 1:
		return errLinked
	case int(d.stat.Uid) != os.Geteuid():
		return unix.EPERM
	}
	return nil
}

var errLinked = errors.New("the file has another hard link; refusing to write to it")

// scanPool adds the existing small files to the pool. After a kill the last one may be
// incomplete.
func (d *Dir) scanPool() error {
	names, err := list(d.pool)
	if err != nil {
		return d.at("read", poolName, err)
	}
	d.small = nil
	for _, name := range names {
		if n, ours := smallNumber(name); ours {
			d.small = append(d.small, n)
		} else {
			d.cfg.Warn(fmt.Sprintf("%s: %q was not created by the probe and is left alone", d.name(poolName), name))
		}
	}
	slices.Sort(d.small)
	if n := len(d.small); n > 0 {
		newest := d.small[n-1]
		d.next = newest + 1
		var st unix.Stat_t
		if err = unix.Fstatat(d.pool, smallName(newest), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return d.at("stat", poolName, err)
		}
		if st.Size != d.layout.File {
			return d.remove(n - 1)
		}
	}
	return nil
}

// smallNumber returns the number in the name of a small file.
func smallNumber(name string) (n uint64, ours bool) {
	n, err := strconv.ParseUint(name, 10, 64)
	return n, err == nil && smallName(n) == name
}

// makePool creates the missing small files.
func (d *Dir) makePool(ctx context.Context) (err error) {
	if err = d.scanPool(); err != nil {
		return err
	}
	for len(d.small) > d.layout.Pool {
		if err = d.remove(0); err != nil {
			return err
		}
	}
	for len(d.small) < d.layout.Pool {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err = d.create(); err != nil {
			return err
		}
		d.progress("small files", int64(len(d.small)), int64(d.layout.Pool))
	}
	return nil
}

func (d *Dir) progress(what string, done, total int64) {
	if d.cfg.Progress != nil {
		d.cfg.Progress(what, done, total)
	}
}

// remove removes file i of the pool.
func (d *Dir) remove(i int) error {
	if err := unix.Unlinkat(d.pool, smallName(d.small[i]), 0); err != nil {
		return d.at("remove", filepath.Join(poolName, smallName(d.small[i])), err)
	}
	d.small = slices.Delete(d.small, i, i+1)
	return nil
}

// Ready reopens everything after an error: what comes back at the same path is another
// file system.
func (d *Dir) Ready() error {
	if !d.stale {
		return nil
	}
	d.close()
	if err := d.open(false); err != nil {
		d.close()
		return err
	}
	d.stale = false
	return nil
}

// Do performs one operation. It times everything from the name lookup to the close,
// which over NFS sends data to the server.
func (d *Dir) Do(op Operation) (at time.Time, took time.Duration, err error) {
	var name string // built before the clock starts
	if len(d.small) > 0 {
		name = smallName(d.small[0])
	}
	at = time.Now()
	switch op {
	case Read, Write:
		at, took, err = d.data(op)
	case Create:
		if len(d.small) > d.layout.Pool {
			return at, 0, ErrSkipped // the oldest cannot be deleted
		}
		took, err = d.create()
	case Delete:
		if len(d.small) <= d.layout.Pool {
			return at, 0, ErrSkipped // no new one could be created
		}
		err = unix.Unlinkat(d.pool, name, 0)
		took = time.Since(at)
		if err == nil || errors.Is(err, unix.ENOENT) {
			d.small = slices.Delete(d.small, 0, 1)
		}
		err = d.at("remove", poolName, err)
	default:
		if len(d.small) == 0 {
			return at, 0, ErrSkipped
		}
		if op == Stat {
			err = unix.Fstatat(d.pool, name, &d.stat, unix.AT_SYMLINK_NOFOLLOW)
			took = time.Since(at)
		} else {
			err = d.readSmall(name)
			took = time.Since(at)
		}
		err = d.at(op.String(), filepath.Join(poolName, name), err)
	}
	if err != nil {
		d.stale = true
	}
	return at, took, err
}

func (d *Dir) data(op Operation) (at time.Time, took time.Duration, err error) {
	offset := d.rng.Int64N(d.layout.Data/d.layout.Block) * d.layout.Block
	flags := unix.O_RDONLY
	if op == Write {
		flags = unix.O_WRONLY
		for i := 0; i+8 <= len(d.block); i += pageSize { // defeats deduplication
			binary.NativeEndian.PutUint64(d.block[i:], d.rng.Uint64())
		}
	}
	if d.layout.Direct {
		flags |= unix.O_DIRECT
	}
	at = time.Now()
	fd, err := unix.Openat(d.dir, dataName, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return at, time.Since(at), d.at("open", dataName, err)
	}
	var check time.Duration // not part of the operation
	if op == Read {
		err = readAll(fd, d.block, offset)
	} else {
		opened := time.Now()
		err = d.onlyOurs(fd)
		if check = time.Since(opened); err == nil {
			err = writeAll(fd, d.block, offset)
		}
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	return at, time.Since(at) - check, d.at(op.String(), dataName, err)
}

// create adds a file to the pool. It never opens an existing one.
func (d *Dir) create() (took time.Duration, err error) {
	n := d.next
	d.next++
	name := smallName(n)
	start := time.Now()
	fd, err := unix.Openat(d.pool, name, newFlags, 0o600)
	if err != nil {
		return time.Since(start), d.at("create", filepath.Join(poolName, name), err)
	}
	err = writeAll(fd, d.content, 0)
	if e := unix.Close(fd); err == nil {
		err = e
	}
	took = time.Since(start)
	if err != nil && unix.Unlinkat(d.pool, name, 0) == nil {
		return took, d.at("create", filepath.Join(poolName, name), err)
	}
	d.small = append(d.small, n) // even if it is incomplete and cannot be removed now
	return took, d.at("create", filepath.Join(poolName, name), err)
}

func (d *Dir) readSmall(name string) error {
	fd, err := unix.Openat(d.pool, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = readAll(fd, d.content, 0)
	if e := unix.Close(fd); err == nil {
		err = e
	}
	return err
}

// Keep stores a status.
func (d *Dir) Keep(status []byte) error {
	b, err := json.Marshal(keptStatus{d.layout.Block, d.layout.Direct, status})
	if err != nil {
		return err
	}
	return d.replace(statusName, b)
}

// Kept returns the last stored status if its operations had the same block size.
func (d *Dir) Kept() []byte {
	b, err := d.read(statusName)
	var k keptStatus
	if err != nil || json.Unmarshal(b, &k) != nil || k.Block != d.layout.Block || k.Direct != d.layout.Direct {
		return nil
	}
	return k.Status
}

// Close closes the directory and leaves its files in place.
func (d *Dir) Close() error {
	d.close()
	return unix.Munmap(d.block)
}

func (d *Dir) close() {
	if d.lock >= 0 {
		// A child process holds the file, too, until it calls exec.
		_ = unix.Flock(d.lock, unix.LOCK_UN) // fails only without file locks
	}
	for _, fd := range []*int{&d.pool, &d.dir, &d.lock} {
		if *fd >= 0 {
			unix.Close(*fd) //nolint:errcheck // read only
			*fd = -1
		}
	}
}

// read reads a file of the directory.
func (d *Dir) read(name string) ([]byte, error) { return readFile(d.dir, name, d.at) }

// replace writes a temporary file and renames it over the old one.
func (d *Dir) replace(name string, content []byte) error {
	temp := name + tempSuffix
	if err := unix.Unlinkat(d.dir, temp, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return d.at("remove", temp, err)
	}
	fd, err := unix.Openat(d.dir, temp, newFlags, 0o600)
	if err != nil {
		return d.at("create", temp, err)
	}
	err = writeAll(fd, content, 0)
	if name == manifestName && err == nil {
		err = unix.Fsync(fd)
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err == nil {
		err = unix.Renameat(d.dir, temp, d.dir, name)
	}
	return d.at("write", name, err)
}

// fill fills b with bytes that cannot be compressed.
func (d *Dir) fill(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.NativeEndian.PutUint64(b, d.rng.Uint64())
	}
	for i := range b {
		b[i] = byte(d.rng.Uint32())
	}
}

// Cleanup removes what probes of that name created below path, and returns the names of
// other files, which stay. It fails with a *fio.UsageError while a probe is running.
func Cleanup(path, name string) (foreign []string, err error) {
	d := &Dir{path: path, cfg: DirConfig{Name: name, Warn: func(string) {}}, dir: -1, pool: -1, lock: -1}
	defer d.close()
	if err = d.open(false); err != nil {
		// A probe may have been killed during its first steps.
		if d.dir < 0 || !errors.Is(err, unix.ENOENT) {
			return nil, err
		}
	}
	if err = d.ours(); err != nil {
		return nil, err
	}
	var names []string
	if d.pool >= 0 {
		if names, err = list(d.pool); err != nil {
			return nil, d.at("read", poolName, err)
		}
		for _, name := range names {
			var st unix.Stat_t
			if _, ours := smallNumber(name); !ours || unix.Fstatat(d.pool, name, &st,
				unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
				foreign = append(foreign, filepath.Join(poolName, name))
				continue
			}
			if err = unix.Unlinkat(d.pool, name, 0); err != nil {
				return foreign, d.at("remove", filepath.Join(poolName, name), err)
			}
		}
		if err = unix.Unlinkat(d.dir, poolName, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			return foreign, d.at("remove", poolName, err)
		}
	}
	if names, err = list(d.dir); err != nil {
		return foreign, d.at("read", "", err)
	}
	// The manifest goes after the files it describes, and the lock last.
	known := []string{dataName, statusName, statusName + tempSuffix, manifestName + tempSuffix, manifestName, lockName}
	for _, n := range names {
		if !slices.Contains(known, n) && n != poolName {
			foreign = append(foreign, n)
		}
	}
	for _, n := range known {
		if n == manifestName && len(foreign) > 0 {
			continue // the directory stays a probe's
		}
		if n == lockName && d.lock >= 0 {
			unix.Close(d.lock) //nolint:errcheck // over NFS and FUSE an open file would be renamed and stay
			d.lock = -1
		}
		if err = unix.Unlinkat(d.dir, n, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return foreign, d.at("remove", n, err)
		}
	}
	if len(foreign) > 0 {
		return foreign, nil
	}
	top, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(top) //nolint:errcheck // read only
	return nil, d.at("remove", "", unix.Unlinkat(top, dirPrefix+name, unix.AT_REMOVEDIR))
}

// ReadStatus returns the statuses of all probes below path by name. It blocks while the
// file system hangs.
func ReadStatus(path string) (_ map[string]*Status, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	out := map[string]*Status{}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), dirPrefix)
		if !ok {
			continue
		}
		dir := filepath.Join(path, e.Name())
		fd, err := unix.Open(dir, dirFlags, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		b, err := readFile(fd, statusName, func(op, name string, err error) error {
			return &fs.PathError{Op: op, Path: filepath.Join(dir, name), Err: err}
		})
		unix.Close(fd) //nolint:errcheck // read only
		var k keptStatus
		s := new(Status)
		if err == nil {
			if err = json.Unmarshal(b, &k); err == nil {
				err = json.Unmarshal(k.Status, s)
			}
		} else if errors.Is(err, unix.ENOENT) {
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, statusName), err)
		}
		out[name] = s
	}
	if len(out) == 0 {
		return nil, &fio.UsageError{Msg: path + " has not been probed", Hint: "start with fiolat probe " + path}
	}
	return out, nil
}

// list returns the names in an open directory, sorted.
func list(dir int) ([]string, error) {
	fd, err := unix.Openat(dir, ".", dirFlags, 0) // with its own offset
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// readFile reads up to 1 MiB of a file.
func readFile(dir int, name string, at func(op, name string, err error) error) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, at("open", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, at("read", name, err)
	}
	return b, nil
}

func readAll(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pread(fd, b, at)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

func writeAll(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, at)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

func memorySize() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
