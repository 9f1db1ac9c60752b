//go:build integration && linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// timed says that nothing else keeps the machine busy, so that real times can be judged
// (make times).
var timed = os.Getenv("FIOLAT_TEST_TIMES") != ""

// needTimes skips a test that judges nothing else.
func needTimes(t *testing.T) {
	t.Helper()
	if !timed {
		t.Skip("compares real times: make times")
	}
}

// need runs a program that the test cannot do without.
func need(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s(these tests need root, or user and mount namespaces: unshare -rm go test ...; and "+
			"the Debian packages fio and bindfs)", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ramDisk is a file system of its own, in memory.
func ramDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	need(t, "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func realTarget(path string, cfg DirConfig) *Target {
	return &Target{Path: path, Open: func(ctx context.Context) (Files, error) { return OpenDir(ctx, path, cfg) }}
}

// awaitThat waits until what was recorded is so.
func (r *recorder) awaitThat(ctx context.Context, so func() bool) {
	is := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return so()
	}
	for ctx.Err() == nil && !is() {
		time.Sleep(10 * time.Millisecond)
	}
}

// A FUSE file system whose server is stopped: the other target keeps its schedule,
// the hung one gives growing samples, and responds again when the server goes on.
func TestSystemStoppedServer(t *testing.T) {
	below, mounted, other := t.TempDir(), t.TempDir(), t.TempDir()
	server := bindfs(t, below, mounted)
	var r recorder
	cfg := r.config()
	cfg.Every, cfg.Deadline, cfg.Interval = 100*time.Millisecond, 500*time.Millisecond, time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var changes, samples int // said and measured when the server was stopped
	go func() {
		time.Sleep(3 * time.Second)
		server.Signal(unix.SIGSTOP)
		beside := 0
		r.awaitThat(ctx, func() bool {
			changes, samples, beside = len(r.changes), len(r.samples[mounted]), len(r.samples[other])
			return true
		})
		time.Sleep(4 * time.Second)
		r.awaitThat(ctx, func() bool {
			of := r.samples[mounted][samples:]
			hangs := len(of) > 0 && of[len(of)-1].AtLeast && of[len(of)-1].Took > 2*cfg.Deadline
			return hangs && len(r.samples[other]) > beside+10
		})
		server.Signal(unix.SIGCONT)
		r.awaitThat(ctx, func() bool {
			return strings.Contains(strings.Join(r.changes[changes:], "\n"), mounted+": responds again")
		})
		time.Sleep(3 * time.Second)
		cancel()
	}()
	if err := Run(ctx, cfg, []*Target{realTarget(mounted, testConfig()), realTarget(other, testConfig())}); err != nil {
		t.Fatal(err)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Fatalf("no hang and no end of it in 10 minutes, or the other target stood still: said %q", r.changes)
	}
	rounds, late, missed := r.sum(other)
	t.Logf("the other target: %d rounds, %d late, %d missed", rounds, late, missed)
	if rounds == 0 || timed && (rounds < 85 || missed > 10) {
		t.Errorf("the other target: %d rounds, %d missed; want 100 and 0", rounds, missed)
	}
	var growing []time.Duration
	var end Sample // the first that is whole after those of the hang
	for _, s := range r.samples[mounted][samples:] {
		if s.AtLeast && end.Took == 0 {
			growing = append(growing, s.Took)
		} else if len(growing) > 0 && end.Took == 0 {
			end = s
		}
	}
	t.Logf("samples of the hang: %v; its end: %v %v; said %q", growing, end.Op, end.Took, r.changes)
	if len(growing) == 0 || growing[len(growing)-1] > end.Took || !slices.IsSorted(growing) {
		t.Errorf("samples of the hang: %v", growing)
	}
	if timed && (len(growing) < 35 || end.Took < 3500*time.Millisecond || end.Took > 6*time.Second) {
		t.Errorf("the hang of 4 s ended as %+v; samples of it: %v", end, growing)
	}
	said := strings.Join(r.changes, "\n")
	if !strings.Contains(said, mounted+": hangs: a "+end.Op.String()) ||
		!strings.Contains(said, "responds again: the "+end.Op.String()) || timed && strings.Contains(said, other) {
		t.Errorf("said\n%s", said)
	}
	last := r.samples[mounted][len(r.samples[mounted])-1]
	if last.Err != nil || timed && last.Took > time.Second {
		t.Errorf("after the hang: %+v", last)
	}
	// FUSE, like NFS, keeps what is open under another name, where it would be in the way.
	if foreign, err := Cleanup(mounted, "h"); foreign != nil || err != nil {
		t.Errorf("clean-up: %v, %v", foreign, err)
	}
}

// A disk that others fill: creates fail and are counted, and when there is room again all goes on.
func TestSystemFullDisk(t *testing.T) {
	dir := ramDisk(t, "size=4m")
	d := openDir(t, dir)
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	for range 3 {
		checkRound(t, d, "[create:ENOSPC stat:skipped small-read:skipped delete:skipped]")
	}
	if err := d.Keep([]byte("{}")); err != nil {
		t.Errorf("the status: %v", err)
	}
	filler.Truncate(0)
	filler.Close()
	checkRound(t, d, "[]")
}

// The probe is not in the way of a read-only remount; from then on what writes fails, and what reads goes on.
func TestSystemReadOnly(t *testing.T) {
	dir := ramDisk(t, "size=4m")
	d := openDir(t, dir)
	for _, small := range []bool{false, true} {
		want := "[write:EROFS create:EROFS stat:skipped small-read:skipped delete:skipped]"
		if small {
			d.Do(Create)
			want = "[write:EROFS create:skipped delete:EROFS]"
		}
		need(t, "mount", "-o", "remount,ro", dir)
		for range 3 {
			checkRound(t, d, want)
		}
		need(t, "mount", "-o", "remount,rw", dir)
		round(d)
		checkRound(t, d, "[]")
	}
}

// loopDisk is ext4 on a loop device, whose file lies in a directory.
func loopDisk(t *testing.T, in, options string) string {
	t.Helper()
	dir := t.TempDir()
	image := filepath.Join(in, "image")
	need(t, "truncate", "-s", "380m", image)
	need(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
	need(t, "mount", "-o", options, image, dir)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// bindfs serves a directory in another place, by a process with one thread.
func bindfs(t *testing.T, below, mounted string) *os.Process {
	t.Helper()
	server := exec.Command("bindfs", "-f", below, mounted)
	if err := server.Start(); err != nil {
		t.Fatalf("bindfs: %v (Debian package bindfs)", err)
	}
	t.Cleanup(func() {
		server.Process.Signal(unix.SIGCONT)
		unix.Unmount(mounted, unix.MNT_DETACH)
		server.Process.Kill()
		server.Wait()
	})
	for n := 0; ; n++ {
		if b, err := os.ReadFile("/proc/mounts"); err == nil && strings.Contains(string(b), " "+mounted+" fuse") {
			return server.Process
		}
		if n > 500 {
			t.Fatal("bindfs does not mount")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fioLoad keeps a directory's bandwidth busy.
func fioLoad(dir string, d time.Duration) error {
	out, err := exec.Command("fio", "--name=load", "--directory="+dir, "--rw=rw", "--bs=1m", "--direct=1",
		"--ioengine=libaio", "--iodepth=16",
		"--size=128m", "--time_based", fmt.Sprintf("--runtime=%d", d/time.Second)).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("fio: %w\n%s", err, out)
	}
	return err
}

// slowdownIn is the median slowdown of an operation in a part of the time.
func (r *recorder) slowdownIn(t *testing.T, path string, op Operation, from, to time.Time) float64 {
	t.Helper()
	var s []float64
	for _, x := range r.samples[path] {
		if x.Op == op && x.Slowdown > 0 && x.At.After(from) && x.At.Before(to) {
			s = append(s, x.Slowdown)
		}
	}
	if len(s) < 20 {
		t.Fatalf("%s: %d samples of %v", path, len(s), op)
	}
	slices.Sort(s)
	return s[len(s)/2]
}

// Load on one of two file systems, ext4 on a loop device each, is switched on and off
// again: the loaded phase of that one stands out, where the load is: in reads and
// writes. All the rest is as usual.
func TestSystemLoadStandsOut(t *testing.T) {
	needTimes(t)
	const phase = 8 * time.Second
	loaded, quiet := loopDisk(t, ramDisk(t, "size=400m"), "loop"), loopDisk(t, ramDisk(t, "size=400m"), "loop")
	direct := DirConfig{Name: "h", Size: 64 << 20, Direct: true, Warn: func(string) {}}
	targets := []*Target{realTarget(loaded, direct), realTarget(quiet, direct)}
	var r recorder
	cfg := r.config()
	cfg.Every = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 3*phase)
	defer cancel()
	var on, off time.Time
	load := make(chan error, 1)
	time.AfterFunc(phase, func() {
		on = time.Now()
		err := fioLoad(loaded, phase)
		off = time.Now()
		load <- err
	})
	if err := Run(ctx, cfg, targets); err != nil {
		t.Fatal(err)
	}
	if err := <-load; err != nil {
		t.Fatal(err)
	}
	begin, end := on.Add(-phase), off.Add(time.Hour)
	before := func(path string, op Operation) float64 { return r.slowdownIn(t, path, op, begin, on) }
	during := func(path string, op Operation) float64 {
		return r.slowdownIn(t, path, op, on.Add(time.Second), off.Add(-time.Second))
	}
	after := func(path string, op Operation) float64 { return r.slowdownIn(t, path, op, off, end) }
	for op := range operations {
		t.Logf("%-10v loaded: %.2f before, %.2f during, %.2f after; other: %.2f, %.2f, %.2f", op,
			before(loaded, op), during(loaded, op), after(loaded, op),
			before(quiet, op), during(quiet, op), after(quiet, op))
		if s := before(loaded, op); s < 0.7 || s > 1.4 {
			t.Errorf("%v before the load: %.2f times slower than usual", op, s)
		}
	}
	for _, op := range []Operation{Read, Write} {
		here, there := during(loaded, op), during(quiet, op)
		if here < 2 || here < 1.5*there {
			t.Errorf("%v under load: %.2f times slower than usual, %.2f on the other file system", op, here, there)
		}
		for _, metadata := range []Operation{Create, Stat, Delete} {
			if m := during(loaded, metadata); m > here {
				t.Errorf("a load of bandwidth slowed %v down by %.2f, and %v by %.2f", metadata, m, op, here)
			}
		}
	}
}

// A parallel file system in small: names and small files are served by one process with one thread, which has each
// change of a name on disk before the next, and the data file lies on a disk of its own. A storm of metadata by many
// processes makes metadata slow and leaves data as it is; a load of bandwidth does the reverse.
func TestSystemMetadataStormAndBandwidth(t *testing.T) {
	needTimes(t)
	const phase = 7 * time.Second
	disk, below, mds := loopDisk(t, ramDisk(t, "size=400m"), "loop"), loopDisk(t, t.TempDir(), "loop,dirsync"),
		t.TempDir()
	bindfs(t, below, mds)
	name, place := filepath.Join(disk, "file"), filepath.Join(mds, own, dataName)
	err := errors.Join(os.WriteFile(name, nil, 0o600), os.Mkdir(filepath.Dir(place), 0o700),
		os.WriteFile(place, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	need(t, "mount", "--bind", name, place)
	t.Cleanup(func() { unix.Unmount(place, unix.MNT_DETACH) })

	var r recorder
	run := r.config()
	run.Every = 50 * time.Millisecond
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*phase)
	defer cancel()
	load := make(chan error, 2)
	time.AfterFunc(phase, func() {
		for i := range 8 {
			storm, stop := context.WithTimeout(context.Background(), phase)
			defer stop()
			// the processor is not what is to be short
			cmd := exec.CommandContext(storm, "nice", "-n", "19", os.Args[0])
			cmd.Env = append(os.Environ(), "FIOLAT_PROBE_STORM="+filepath.Join(mds, fmt.Sprint("storm", i)))
			if err := cmd.Start(); err != nil {
				load <- err
				return
			}
			defer cmd.Wait()
		}
		load <- nil
	})
	time.AfterFunc(3*phase, func() { load <- fioLoad(disk, phase) })
	target := realTarget(mds, DirConfig{Name: "h", Size: 64 << 20, Direct: true, Warn: func(string) {}})
	if err := Run(ctx, run, []*Target{target}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-load; err != nil {
			t.Fatal(err)
		}
	}
	var got [5][operations]float64
	for i := range got {
		for op := range operations {
			from := start.Add(time.Duration(i)*phase + time.Second)
			got[i][op] = r.slowdownIn(t, mds, op, from, from.Add(phase-2*time.Second))
		}
		t.Logf("%-9s %.2f", []string{"quiet", "storm", "quiet", "bandwidth", "quiet"}[i], got[i])
	}
	metadata, data := []Operation{Create, Stat, SmallRead, Delete}, []Operation{Read, Write}
	for _, m := range metadata {
		for _, d := range data {
			if got[1][m] < 1.5*got[1][d] {
				t.Errorf("storm: %v %.2f, %v %.2f", m, got[1][m], d, got[1][d])
			}
			if got[3][d] < 1.5*got[3][m] {
				t.Errorf("bandwidth: %v %.2f, %v %.2f", m, got[3][m], d, got[3][d])
			}
		}
	}
}

// init is one process of the storm, if asked to be.
func init() {
	dir := os.Getenv("FIOLAT_PROBE_STORM")
	if dir == "" {
		return
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		panic(err)
	}
	for n := 0; ; n++ {
		name := filepath.Join(dir, fmt.Sprint(n%20))
		if os.Remove(name); os.WriteFile(name, make([]byte, 3901), 0o600) != nil {
			os.Exit(1)
		}
	}
}
