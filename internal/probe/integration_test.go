//go:build integration && linux

package probe

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// need runs a program that the test cannot do without.
func need(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s(these tests need root, or user and mount namespaces: unshare -rm go test ...; and the Debian packages strace and bindfs)", name, strings.Join(args, " "), err, out)
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

func realTarget(path string, seed uint64) *Target {
	cfg := testConfig(nil)
	cfg.Seed = seed
	return &Target{Path: path, Open: func(ctx context.Context) (Files, error) { return OpenDir(ctx, path, cfg) }}
}

// A FUSE file system whose server is stopped: the other target keeps its schedule,
// the hung one gives growing samples, and answers again when the server goes on.
func TestStoppedServer(t *testing.T) {
	below, mounted, other := t.TempDir(), t.TempDir(), t.TempDir()
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
			break
		}
		if n > 500 {
			t.Fatal("bindfs does not mount")
		}
		time.Sleep(10 * time.Millisecond)
	}
	var r recorder
	cfg := r.config()
	cfg.Every, cfg.Deadline, cfg.Interval = 100*time.Millisecond, 500*time.Millisecond, time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	time.AfterFunc(3*time.Second, func() { server.Process.Signal(unix.SIGSTOP) })
	time.AfterFunc(7*time.Second, func() { server.Process.Signal(unix.SIGCONT) })
	if err := Run(ctx, cfg, []*Target{realTarget(mounted, 1), realTarget(other, 2)}); err != nil {
		t.Fatal(err)
	}
	rounds, late, missed := r.sum(other)
	t.Logf("the other target: %d rounds, %d late, %d missed", rounds, late, missed)
	if rounds < 85 || missed > 10 {
		t.Errorf("the other target: %d rounds, %d missed; want 100 and 0", rounds, missed)
	}
	var growing []time.Duration
	var end Sample
	for _, s := range r.samples[mounted] {
		if s.AtLeast {
			growing = append(growing, s.Took)
		} else if s.Took > end.Took {
			end = s
		}
	}
	t.Logf("samples of the hang: %v; its end: %v %v; said %q", growing, end.Op, end.Took, r.changes)
	if len(growing) < 35 || !slices.IsSorted(growing[:30]) || growing[len(growing)-1] < 3500*time.Millisecond {
		t.Errorf("samples of the hang: %v", growing)
	}
	if end.Took < 3500*time.Millisecond || end.Took > 6*time.Second {
		t.Errorf("the hang of 4 s ended as %+v", end)
	}
	said := strings.Join(r.changes, "\n")
	if !strings.Contains(said, mounted+": hangs: a "+end.Op.String()) || !strings.Contains(said, "answers again: the "+end.Op.String()) || strings.Contains(said, other) {
		t.Errorf("said\n%s", said)
	}
	last := r.samples[mounted][len(r.samples[mounted])-1]
	if last.Err != nil || last.Took > time.Second {
		t.Errorf("after the hang: %+v", last)
	}
	// FUSE, like NFS, keeps what is open under another name, where it would be in the way.
	if foreign, err := Cleanup(mounted, "h"); foreign != nil || err != nil {
		t.Errorf("clean-up: %v, %v", foreign, err)
	}
}

// A disk that others fill: creates fail and are counted, nothing is deleted without
// a new file in its place, and when there is room again all goes on.
func TestFullDisk(t *testing.T) {
	dir := ramDisk(t, "size=2m")
	d := openDir(t, dir)
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	for range 3 {
		if failed := round(d); failed[Create] != "ENOSPC" || failed[Delete] != "skipped" || len(failed) != 2 {
			t.Errorf("full: %v", failed)
		}
	}
	if n := len(poolFiles(t, dir)); n != small.Pool {
		t.Errorf("%d files in the pool", n)
	}
	if err := d.Keep([]byte("{}")); ErrorName(err) != "ENOSPC" {
		t.Errorf("the status: %v", err)
	}
	filler.Truncate(0)
	filler.Close()
	if failed := round(d); len(failed) > 0 {
		t.Errorf("room again: %v", failed)
	}
	if err := d.Keep([]byte("{}")); err != nil {
		t.Error(err)
	}
}

// The probe is not in the way of a read-only remount; from then on what writes fails,
// and what reads goes on.
func TestReadOnly(t *testing.T) {
	dir := ramDisk(t, "size=4m")
	d := openDir(t, dir)
	need(t, "mount", "-o", "remount,ro", dir)
	for range 3 {
		failed := round(d)
		if failed[Write] != "EROFS" || failed[Create] != "EROFS" || failed[Delete] != "skipped" || len(failed) != 3 {
			t.Errorf("read-only: %v", failed)
		}
	}
	need(t, "mount", "-o", "remount,rw", dir)
	if failed := round(d); len(failed) > 0 {
		t.Errorf("writable again: %v", failed)
	}
}

// strace is asked how long the same system calls took. It stops the process twice a
// call, which takes longer than a stat, so each call is made 3 ms longer (-e
// inject=...:delay_enter), which both see.
func TestTimesAgreeWithStrace(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("%v (Debian package strace)", err)
	}
	dir := t.TempDir()
	openDir(t, dir).close()
	log := filepath.Join(t.TempDir(), "strace")
	cmd := exec.Command("strace", "-f", "-T", "-o", log, "-e", "trace=openat,pread64,pwrite64,close,newfstatat,unlinkat,write",
		"-e", "inject=pread64,pwrite64,newfstatat,unlinkat:delay_enter=3000", os.Args[0])
	cmd.Env = append(os.Environ(), "FIOLAT_PROBE_TIMES="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("strace: %v", err)
	}
	ours := map[string][]float64{}
	for line := range strings.Lines(string(out)) {
		var op string
		var ns float64
		if _, err := fmt.Sscan(line, &op, &ns); err == nil {
			ours[op] = append(ours[op], ns)
		}
	}
	theirs := straceTimes(t, log)
	t.Log("median, operation: fiolat, strace")
	for op := range Operations {
		a, b := ours[op.String()], theirs[op.String()]
		if len(a) < 20 || len(a) != len(b) {
			t.Fatalf("%v: %d times, strace has %d", op, len(a), len(b))
		}
		slices.Sort(a)
		slices.Sort(b)
		x, y := a[len(a)/2], b[len(b)/2]
		t.Logf("%-10v %s, %s: %+.1f %%", op, Text(x), Text(y), 100*(x/y-1))
		if math.Abs(x/y-1) > 0.2 {
			t.Errorf("%v: we say %s, strace says %s", op, Text(x), Text(y))
		}
	}
}

var (
	straceCall = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += .*<([0-9.]+)>`)
	smallFile  = regexp.MustCompile(`"\d{12}"`)
)

// straceTimes adds up the calls that belong to each operation, in ns. Between an
// openat and the next close all is of that file: one thread does one thing at a time.
func straceTimes(t *testing.T, log string) map[string][]float64 {
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]float64{}
	var op string
	var sum float64
	started := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "begin") { // what the victim writes when the preparation is over
			started = true
		}
		m := straceCall.FindStringSubmatch(lines.Text())
		if m == nil || !started {
			continue
		}
		call, args := m[2], m[3]
		seconds, _ := strconv.ParseFloat(m[4], 64)
		ns := seconds * 1e9
		switch {
		case call == "openat" && strings.Contains(args, `"data"`):
			op, sum = "read", ns
			if strings.Contains(args, "O_WRONLY") {
				op = "write"
			}
		case call == "openat" && smallFile.MatchString(args):
			op, sum = "small-read", ns
			if strings.Contains(args, "O_CREAT") {
				op = "create"
			}
		case call == "newfstatat" && smallFile.MatchString(args):
			out["stat"] = append(out["stat"], ns)
		case call == "unlinkat" && smallFile.MatchString(args):
			out["delete"] = append(out["delete"], ns)
		case op != "" && (call == "pread64" || call == "pwrite64"):
			sum += ns
		case op != "" && call == "close":
			out[op] = append(out[op], sum+ns)
			op = ""
		}
	}
	return out
}

// victimOfStrace prints how long 30 rounds took.
func init() {
	dir := os.Getenv("FIOLAT_PROBE_TIMES")
	if dir == "" {
		return
	}
	d, err := OpenDir(context.Background(), dir, testConfig(nil))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("begin")
	for range 30 {
		for op := range Operations {
			if _, took, err := d.Do(op); err == nil {
				fmt.Println(op, took.Nanoseconds())
			}
		}
	}
	os.Exit(0)
}

// Load on one of two file systems, ext4 on a loop device each, is switched on and off
// again: the loaded phase of that one stands out, where the load is: in reads and
// writes. All the rest is as usual.
func TestLoadStandsOut(t *testing.T) {
	const phase = 8 * time.Second
	disk := func() string {
		dir := t.TempDir()
		image := filepath.Join(ramDisk(t, "size=400m"), "image")
		need(t, "truncate", "-s", "380m", image)
		need(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
		need(t, "mount", "-o", "loop", image, dir)
		t.Cleanup(func() { need(t, "umount", dir) })
		return dir
	}
	loaded, quiet := disk(), disk()
	var targets []*Target
	for i, path := range []string{loaded, quiet} {
		cfg := testConfig(nil)
		cfg.Layout, cfg.Seed = Layout{Block: 1 << 20, Data: 64 << 20, Pool: 200, Direct: true}, uint64(i)
		targets = append(targets, &Target{Path: path, Open: func(ctx context.Context) (Files, error) { return OpenDir(ctx, path, cfg) }})
	}
	var r recorder
	cfg := r.config()
	cfg.Every = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 3*phase)
	defer cancel()
	var on, off time.Time
	load := make(chan error, 1)
	time.AfterFunc(phase, func() {
		on = time.Now()
		out, err := exec.Command("fio", "--name=load", "--directory="+loaded, "--rw=rw", "--bs=1m", "--direct=1", "--ioengine=libaio", "--iodepth=16",
			"--size=128m", "--time_based", fmt.Sprintf("--runtime=%d", phase/time.Second)).CombinedOutput()
		off = time.Now()
		if err != nil {
			err = fmt.Errorf("fio: %w\n%s", err, out)
		}
		load <- err
	})
	if err := Run(ctx, cfg, targets); err != nil {
		t.Fatal(err)
	}
	if err := <-load; err != nil {
		t.Fatal(err)
	}
	// The median slowdown of an operation in a part of the time.
	median := func(path string, op Operation, in func(at time.Time) bool) float64 {
		var s []float64
		for _, x := range r.samples[path] {
			if x.Op == op && x.Slowdown > 0 && in(x.At) {
				s = append(s, x.Slowdown)
			}
		}
		if len(s) < 20 {
			t.Fatalf("%s: %d samples of %v", path, len(s), op)
		}
		slices.Sort(s)
		return s[len(s)/2]
	}
	before := func(at time.Time) bool { return at.Before(on) }
	during := func(at time.Time) bool { return at.After(on.Add(time.Second)) && at.Before(off.Add(-time.Second)) }
	after := func(at time.Time) bool { return at.After(off) }
	for op := range Operations {
		t.Logf("%-10v loaded: %.2f before, %.2f during, %.2f after; other: %.2f, %.2f, %.2f", op,
			median(loaded, op, before), median(loaded, op, during), median(loaded, op, after),
			median(quiet, op, before), median(quiet, op, during), median(quiet, op, after))
		if s := median(loaded, op, before); s < 0.7 || s > 1.4 {
			t.Errorf("%v before the load: %.2f times slower than usual", op, s)
		}
	}
	for _, op := range []Operation{Read, Write} {
		here, there := median(loaded, op, during), median(quiet, op, during)
		if here < 2 || here < 1.5*there {
			t.Errorf("%v under load: %.2f times slower than usual, %.2f on the other file system", op, here, there)
		}
		for _, metadata := range []Operation{Create, Stat, Delete} {
			if m := median(loaded, metadata, during); m > here {
				t.Errorf("a load of bandwidth slowed %v down by %.2f, and %v by %.2f", metadata, m, op, here)
			}
		}
	}
}
