//go:build integration && linux

package probe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// agree says whether two times of the same, in ns, are within 20 %, or the microseconds that Go takes around system
// calls.
func agree(t *testing.T, what string, ours, theirs float64) bool {
	t.Helper()
	t.Logf("%-14s %8s, %8s: %+.1f %%", what, Text(ours), Text(theirs), 100*(ours/theirs-1))
	return math.Abs(ours-theirs) <= max(0.2*theirs, 10e3)
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
func TestSystemTimesAgreeWithTheKernel(t *testing.T) {
	needTimes(t)
	const rounds, few = 400, 8 // the trace has whole microseconds
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nothing := func() { _, _, _ = unix.Syscall(unix.SYS_GETPPID, 0, 0, 0) } // the way Dir calls
	for _, direct := range []bool{false, true} {
		f, err := OpenDir(t.Context(), t.TempDir(), DirConfig{Name: "h", Size: 128 << 20, Direct: direct,
			Warn: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		d := f.(*Dir)
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

// untimed are the system calls that are not part of an operation.
var untimed = []string{strconv.Itoa(unix.SYS_FSTAT), strconv.Itoa(unix.SYS_FADVISE64)}

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
		var entry, first, last, other float64
		for _, m := range traced.FindAllStringSubmatch(string(b), -1) {
			us, _ := strconv.ParseFloat(m[1]+m[2], 64)
			ns, parts := 1000*us, m[4] == strconv.Itoa(unix.SYS_GETPPID)
			switch {
			case m[3] == "enter" && parts:
				if entry = ns; len(idle) > 0 {
					busy = append(busy, last-first-other)
				}
			case m[3] == "enter":
				if last = ns; first == 0 {
					first = ns
				}
			case parts:
				idle, first, other = append(idle, ns-entry), 0, 0
			case slices.Contains(untimed, m[4]):
				other += ns - last
			default:
				last = ns
			}
		}
		return idle, busy
	}
}
