//go:build integration && linux

package probe

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// agree says whether two times of the same, in ns, are within 20 %.
func agree(t *testing.T, what string, ours, theirs float64) bool {
	t.Helper()
	t.Logf("%-14s %8s, %8s: %+.1f %%", what, Text(ours), Text(theirs), 100*(ours/theirs-1))
	return math.Abs(ours/theirs-1) <= 0.2
}

// again is for a machine on which others work: what they disturbed is measured anew.
func again(t *testing.T, measure func() bool) {
	t.Helper()
	const tries = 8
	for range tries {
		if measure() {
			return
		}
	}
	t.Errorf("they do not agree, %d times", tries)
}

// median is that of the means of a few at a time.
func median(ns []float64, few int) float64 {
	var means []float64
	for part := range slices.Chunk(ns, few) {
		sum := 0.0
		for _, x := range part {
			sum += x
		}
		means = append(means, sum/float64(len(part)))
	}
	slices.Sort(means)
	return means[len(means)/2]
}

// usualSizes makes the files that a probe makes unless told otherwise, but for the
// large one, which is smaller.
func usualSizes(t *testing.T, dir string, direct bool) *Dir {
	t.Helper()
	cfg := testConfig(nil)
	cfg.Layout = Layout{Block: 1 << 20, Data: 128 << 20, File: 3901, Pool: 3000, Direct: direct}
	d, err := OpenDir(t.Context(), dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

func do(t *testing.T, d *Dir, op Operation) float64 {
	_, took, err := d.Do(op)
	if err != nil {
		t.Fatal(op, err)
	}
	return float64(took)
}

// The kernel's own times, by the trace of system calls that perf trace shows: of an
// operation, from the entry into its first call to the exit from its last. What lies
// before and after, and the tracing, is about half a microsecond, which is a quarter
// of a stat; a call that does nothing says how much, and that is taken off.
func TestTimesAgreeWithTheKernel(t *testing.T) {
	needTimes(t)
	const rounds, few = 400, 8 // the trace has whole microseconds
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nothing := func() { _, _, _ = unix.Syscall(unix.SYS_GETPPID, 0, 0, 0) } // the way Dir calls
	for _, direct := range []bool{false, true} {
		d := usualSizes(t, t.TempDir(), direct)
		again(t, func() bool {
			var ours, theirs [operations][]float64
			var beside []float64
			stop := kernelTrace(t)
			for range rounds {
				for op := range operations {
					at := time.Now()
					nothing()
					beside = append(beside, float64(time.Since(at)))
					ours[op] = append(ours[op], do(t, d, op))
				}
			}
			nothing()
			idle, busy := stop()
			if len(busy) != rounds*int(operations) {
				t.Fatalf("the kernel's trace has %d of %d operations", len(busy), rounds*int(operations))
			}
			for i, ns := range busy {
				theirs[i%int(operations)] = append(theirs[i%int(operations)], ns)
			}
			off := median(beside, few) - median(idle, few)
			t.Logf("direct %t; operation: fiolat less %s, the kernel", direct, Text(off))
			all := true
			for op := range operations {
				all = agree(t, op.String(), median(ours[op], few)-off, median(theirs[op], few)) && all
			}
			return all
		})
	}
}

var traced = regexp.MustCompile(` (\d+)\.(\d{6}): sys_(enter|exit): NR (\d+)`)

// kernelTrace has the kernel write down when this thread enters and leaves system
// calls, until stop is called. Calls of getppid part them: idle are their times, busy
// those from the first entry after one to the last exit before the next, in ns.
func kernelTrace(t *testing.T) (stop func() (idle, busy []float64)) {
	t.Helper()
	tracing := t.TempDir()
	need(t, "mount", "-t", "tracefs", "tracefs", tracing)
	t.Cleanup(func() { unix.Unmount(tracing, unix.MNT_DETACH) })
	mine, err := os.MkdirTemp(filepath.Join(tracing, "instances"), "fiolat")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(mine) })
	set := func(name, value string) {
		if err := os.WriteFile(filepath.Join(mine, name), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	set("trace_clock", "mono") // that of Go
	set("buffer_size_kb", "8192")
	for _, event := range []string{"sys_enter", "sys_exit"} {
		set("events/raw_syscalls/"+event+"/filter", fmt.Sprint("common_pid == ", unix.Gettid()))
		set("events/raw_syscalls/"+event+"/enable", "1")
	}
	return func() (idle, busy []float64) {
		set("tracing_on", "0")
		b, err := os.ReadFile(filepath.Join(mine, "trace"))
		if err != nil {
			t.Fatal(err)
		}
		var entry, first, last float64
		for _, m := range traced.FindAllStringSubmatch(string(b), -1) {
			us, _ := strconv.ParseFloat(m[1]+m[2], 64)
			ns, parts := 1000*us, m[4] == strconv.Itoa(unix.SYS_GETPPID)
			switch {
			case m[3] == "enter" && parts:
				if entry = ns; len(idle) > 0 {
					busy = append(busy, last-first)
				}
			case m[3] == "enter":
				if first == 0 {
					first = ns
				}
			case parts:
				idle, first = append(idle, ns-entry), 0
			default:
				last = ns
			}
		}
		return idle, busy
	}
}

// fio does the same in the same directories, in turn with the probe and in short
// phases, for a machine is never the same for long. It times open, read and write of
// small files in jobs apart, and no close, which is timed here.
func TestTimesAgreeWithFio(t *testing.T) {
	needTimes(t)
	const n, phases = 100, 7
	d := usualSizes(t, loopDisk(t, ramDisk(t, "size=400m"), "loop"), false)
	own := filepath.Join(d.path, dirPrefix+"h")
	pool := filepath.Join(own, poolName)
	block := fmt.Sprintf("--ioengine=psync --bs=1m --io_size=%dm --size=%d --filename=%s --allow_file_create=0 "+
		"--invalidate=0 --norandommap --randrepeat=0",
		n, d.layout.Data, dataName)
	file := "--bs=3901 --filesize=3901 --openfiles=1 --file_service_type=sequential --fallocate=none --invalidate=0 " +
		"--unlink=1"
	one, many := fmt.Sprintf("%s --loops=%d", file, n), fmt.Sprintf("%s --nrfiles=%d", file, n)
	t.Log("operation: fiolat, fio")
	for _, tt := range []struct {
		op     Operation
		direct bool
		close  bool
		dir    string
		jobs   []string // their times are added up
	}{
		{Read, false, false, own, []string{block + " --rw=randread"}},
		{Write, false, false, own, []string{block + " --rw=randwrite"}},
		{Read, true, false, own, []string{block + " --rw=randread --direct=1"}},
		{Write, true, false, own, []string{block + " --rw=randwrite --direct=1"}},
		{Create, false, true, pool, []string{many + " --ioengine=filecreate", many +
			" --ioengine=psync --rw=write --create_on_open=1"}},
		{Stat, false, false, pool, []string{one + " --ioengine=filestat --stat_type=lstat"}},
		// what is there is opened
		{SmallRead, false, true, pool, []string{one + " --ioengine=filecreate", one + " --ioengine=psync --rw=read"}},
		{Delete, false, false, pool, []string{many + " --ioengine=filedelete"}},
	} {
		d.layout.Direct = tt.direct
		what := tt.op.String()
		if tt.direct {
			what += ", direct"
		}
		again(t, func() bool {
			var ours, theirs []float64
			for range phases {
				took := map[Operation][]float64{}
				ops := []Operation{tt.op}
				if tt.op == Create || tt.op == Delete {
					ops = []Operation{Create, Delete}
				}
				for _, op := range ops {
					if op == Delete { // of files that are on disk, as fio's are
						_ = unix.Syncfs(d.pool)
					}
					d.layout.Pool += map[Operation]int{Create: n, Delete: -n}[op] // as many at a time as fio does
					for range n {
						took[op] = append(took[op], do(t, d, op))
					}
				}
				ours = append(ours, median(took[tt.op], 1))
				sum := 0.0
				for _, job := range tt.jobs {
					sum += fioMedian(t, tt.dir, n, strings.Fields(job)...)
				}
				if tt.close {
					sum += closeMedian(t, d, n, tt.op == Create)
				}
				theirs = append(theirs, sum)
			}
			return agree(t, what, median(ours, 1), median(theirs, 1))
		})
	}
}

// fioMedian is fio's median of n operations, in ns.
func fioMedian(t *testing.T, dir string, n int, args ...string) float64 {
	t.Helper()
	cmd := exec.Command("fio", append([]string{"--name=fio", "--output-format=json", "--percentile_list=50"},
		args...)...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var j struct {
		Jobs []struct {
			Read, Write struct {
				Latency struct {
					N          int
					Percentile map[string]float64
				} `json:"clat_ns"`
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &j)
	}
	if err != nil || len(j.Jobs) != 1 {
		t.Fatalf("%v: %v (Debian package fio)\n%s", cmd.Args, err, said.String())
	}
	l := j.Jobs[0].Read.Latency
	if l.N == 0 {
		l = j.Jobs[0].Write.Latency
	}
	if l.N != n {
		t.Fatalf("%v: %d operations, want %d", cmd.Args, l.N, n)
	}
	return l.Percentile["50.000000"]
}

// closeMedian is the median of n closes of small files, in ns.
func closeMedian(t *testing.T, d *Dir, n int, written bool) float64 {
	t.Helper()
	name, flags, use := smallName(d.small[0]), unix.O_RDONLY, readAll
	if written {
		name, flags, use = "written", newFlags, writeAll
	}
	var took []float64
	for range n {
		fd, err := unix.Openat(d.pool, name, flags, 0o600)
		if err == nil {
			err = use(fd, d.content, 0)
		}
		at := time.Now()
		if err == nil {
			err = unix.Close(fd)
		}
		took = append(took, float64(time.Since(at)))
		if err == nil && written {
			err = unix.Unlinkat(d.pool, name, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return median(took, 1)
}
