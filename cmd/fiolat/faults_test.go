package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
)

// No command, however it ended, leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFullOutput: where standard output takes no more, not everything arrived. That is no
// fault of the input.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	logs := []string{real + "/gaps"}
	for _, args := range [][]string{
		append([]string{"percentiles"}, logs...), append([]string{"percentiles", "--format", "csv"}, logs...),
		append([]string{"percentiles", "--format", "json"}, logs...),
		append([]string{"percentiles", "--format", "ndjson"}, logs...), append([]string{"inspect"}, logs...),
		append([]string{"inspect", "--format", "json"}, logs...),
		{"percentiles", "--like", "fiologparser_hist", real + "/gaps/gaps_clat_hist.1.log"}, {"compare", logs[0],
			logs[0]}, {"--help"}, {"percentiles", "--help"}, {"--version"},
		{"setup", "--export", "-"}, {"live", "--format", "ndjson", "--output", t.TempDir(), real +
			"/live/fio-status.json"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer full.Close()
		var errs bytes.Buffer
		code := run(t.Context(), append([]string{"fiolat"}, args...), strings.NewReader(""), full, &errs)
		if code != exitIncomplete || strings.Count(errs.String(), "standard output: no space left on device") != 1 {
			t.Errorf("%q: exit %d\n%s", args, code, &errs)
		}
	}
}

// A file that cannot be written to its end, as on a full disk, is no fault of the input; what was there before stays.
func TestFileCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"percentiles": "percentiles --format json -o out", "inspect": "inspect -o out", "report": "report -o out",
		"history": "history -o out.html", "ingest": "ingest --run-id r --start 2026-09-01T00:00:00Z --output .",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, logs := programAndLogs(t)
			cmd, _, stderr := program(t, nil)
			cmd.Args = []string{"sh", "-c", `ulimit -f 1; exec "$0" ` + args + ` "$1"`, cmd.Path, logs + "/gaps"}
			cmd.Path, cmd.Dir = "/bin/sh", t.TempDir()
			there := map[string]bool{"out": true, "out.html": true, "fio-run.r.ndjson": true}
			for file := range there {
				if err := os.WriteFile(filepath.Join(cmd.Dir, file), []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Run() // the exit code says it
			if code := cmd.ProcessState.ExitCode(); code != exitIncomplete ||
				!strings.Contains(stderr.String(), "file too large") {
				t.Errorf("exit %d\n%s", code, stderr)
			}
			entries, err := os.ReadDir(cmd.Dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if b, _ := os.ReadFile(filepath.Join(cmd.Dir, e.Name())); !there[e.Name()] || string(b) != "old" {
					t.Errorf("%s holds %d bytes", e.Name(), len(b))
				}
			}
		})
	}
}

// TestHangup: SIGHUP ends a command as SIGTERM does, unless it was ignored at the start.
func TestHangup(t *testing.T) {
	t.Parallel()
	hangup := make(chan os.Signal, 1) // a signal that is handled is not ignored in children, though these tests may be
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	for _, tc := range []struct {
		name string
		trap string
		code int
	}{{"by itself", "", exitInterrupted}, {"under nohup", "trap '' HUP; ", exitOK}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd, stdin, stderr := reading(t, tc.trap)
			if ignored := ignores(cmd.Process.Pid, syscall.SIGHUP); ignored != (tc.code == exitOK) {
				t.Errorf("whether it ignores the signal: %v", ignored)
			}
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if tc.code == exitOK { // else it ends while it waits for more
				stdin.Write(goodLog(t)[100:])
				stdin.Close()
			}
			cmd.Wait()
			stdin.Close()
			if code := cmd.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("%v, want exit %d\n%s", cmd.ProcessState, tc.code, stderr)
			}
		})
	}
}

// A second SIGINT kills a command, also where it was ignored at the start, as in the background of a script.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	interrupt := make(chan os.Signal, 1) // as in TestHangup
	signal.Notify(interrupt, syscall.SIGINT)
	t.Cleanup(func() { signal.Stop(interrupt) })
	for name, trap := range map[string]string{"by itself": "", "in the background": "trap '' INT; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, stdin, stderr := reading(t, trap) // for seconds after the first signal
			interruptUntilEnd(cmd)
			if code := cmd.ProcessState.ExitCode(); code != -1 {
				t.Errorf("%v, want the end by a signal\n%s", cmd.ProcessState, stderr)
			}
			stdin.Close()
		})
	}
}

// A second signal kills live and the command that it started, also one that ignores signals.
func TestSecondSignalOfLive(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"by itself": "", "in the background": "trap '' INT; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fake, ready := filepath.Join(dir, "fio"), filepath.Join(dir, "pid")
			script := "#!/bin/sh\ntrap '' INT TERM\necho $$ >pid.tmp\n/bin/mv pid.tmp pid\n" +
				"while :; do /bin/sleep 1; done\n"
			if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd, _, stderr := program(t, nil)
			cmd.Args = []string{"sh", "-c", trap + `exec "$0" live --output out -- ./fio --name=a`, cmd.Path}
			cmd.Path, cmd.Dir = "/bin/sh", dir
			cmd.WaitDelay = time.Second // for its output, if what it started lives on
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			for pid == 0 {
				text, _ := os.ReadFile(ready)
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				time.Sleep(time.Millisecond)
			}
			defer syscall.Kill(-pid, syscall.SIGKILL) // it should be gone
			interruptUntilEnd(cmd)
			if code := cmd.ProcessState.ExitCode(); code != -1 {
				t.Fatalf("%v, want the end by a signal\n%s", cmd.ProcessState, stderr)
			}
			for alive := true; alive; time.Sleep(time.Millisecond) { // what was killed may take a moment
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				alive = len(stat) > 0 && !strings.Contains(string(stat), ") Z ")
			}
		})
	}
}

// interruptUntilEnd sends SIGINT to a program, as two that come at once may be one, and waits for its end.
func interruptUntilEnd(cmd *exec.Cmd) {
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for again := true; again; {
		cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
			again = false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// reading is a program that reads a log from a pipe, which holds the log's begin only; trap is a shell's, before it.
func reading(t *testing.T, trap string) (cmd *exec.Cmd, stdin *os.File, stderr *bytes.Buffer) {
	t.Helper()
	cmd, _, stderr = program(t, nil, "percentiles", "-")
	self := cmd.Path
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", trap + `exec "$0" percentiles -`, self}
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = in
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	stdin.Write(goodLog(t)[:100])
	for n := 1; n > 0; time.Sleep(time.Millisecond) { // when it reads, it has been ready for signals for long
		if n, err = unix.IoctlGetInt(int(stdin.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	return cmd, stdin, stderr
}

// ignores says whether a process ignores a signal, as the kernel sees it.
func ignores(pid int, s syscall.Signal) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, set, _ := strings.Cut(string(status), "SigIgn:\t")
	set, _, _ = strings.Cut(set, "\n")
	mask, _ := strconv.ParseUint(set, 16, 64)
	return mask>>(s-1)&1 == 1
}

// Too few file descriptors are an error that names the limit and what to do, however few there are, and never a trace
// of Go's runtime.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]struct {
		code int
		says string
	}{
		4:  {exitIncomplete, "fewer than 6 file descriptors are free"},
		6:  {exitIncomplete, "fewer than 6 file descriptors are free"},
		7:  {exitIncomplete, "fewer than 6 file descriptors are free"},
		32: {exitOK, ""},
	} {
		cmd, _, stderr := program(t, nil)
		cmd.Args = []string{"sh", "-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(limit), cmd.Path, "percentiles",
			real + "/randrw"}
		cmd.Path = "/bin/sh"
		cmd.Run()
		said := stderr.String()
		if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.Contains(said, want.says) {
			t.Errorf("%d: exit %d, want %d and %q\n%s", limit, code, want.code, want.says, said)
		}
		limited := fmt.Sprintf("this process may open %d files at a time (`ulimit -n`); raise the hard limit", limit)
		if want.says != "" && !strings.Contains(said, limited) {
			t.Errorf("%d: it does not say %q\n%s", limit, limited, said)
		}
	}
}

// longLog is a real log made longer.
func longLog(t *testing.T, name string, records int) []byte {
	t.Helper()
	b, err := os.ReadFile(real + "/" + name)
	if err == nil {
		b, err = testlog.Resample(b, 1, time.Second, records)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// first does something before the first byte is read that was not looked at beforehand.
type first struct {
	io.Reader
	looked int
	do     func()
	sync.Once
}

func (f *first) Read(p []byte) (int, error) {
	if f.looked > 0 {
		n, err := f.Reader.Read(p[:min(len(p), f.looked)])
		f.looked -= n
		return n, err
	}
	f.Do(f.do)
	return f.Reader.Read(p)
}

// closed returns a function that waits until somebody has opened a file, read some of it, and closed it again, so many
// times.
func closed(t *testing.T, path string, times int) func() error {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { events.Close() })
	if _, err = syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN|syscall.IN_CLOSE_NOWRITE); err != nil {
		t.Fatal(err)
	}
	return func() error {
		if err := events.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			return err
		}
		for seen := 0; seen < 2*times; { // each time it is opened and closed: equal events in a row would be one
			n, err := events.Read(make([]byte, 16*syscall.SizeofInotifyEvent))
			if err != nil {
				return err
			}
			seen += n / syscall.SizeofInotifyEvent
		}
		return nil
	}
}

// unfinished fails if a run is called complete, or if nothing is said of it although
// documents are there.
func unfinished(t *testing.T, s *esmodeltest.Server, want string) {
	t.Helper()
	status := ""
	for _, d := range s.Docs("fio-run") {
		status = fmt.Sprint(d.Fields["run.status"])
	}
	if status != want {
		t.Errorf("the run says %q, want %q", status, want)
	}
	if n := len(s.Docs("*")); (want == "") != (n == 0) {
		t.Errorf("%d documents of a run that says %q", n, want)
	}
}

// A log that changes while it is read is named, and nothing of it is indexed. The
// second log is standard input: when it is asked for its first byte, the first log's
// head has been read, and the rest is to come.
func TestLogChangesWhileItIsRead(t *testing.T) {
	long := longLog(t, "gaps/gaps_clat_hist.1.log", 400)
	tests := []struct {
		name string
		do   func(path string) error
		want string
	}{
		{"grows", func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(long[:100])
				f.Close()
			}
			return err
		}, "was extended from"},
		{"cut between two records", func(path string) error {
			return os.Truncate(path, int64(bytes.LastIndexByte(long[:len(long)-1], '\n')+1))
		}, "was cut from"},
		{"cut inside a record", func(path string) error { return os.Truncate(path, int64(len(long)-1000)) },
			"was cut from"},
		{"cut to nothing", func(path string) error { return os.Truncate(path, 0) }, "was cut from"},
		{"written anew", func(path string) error {
			time.Sleep(20 * time.Millisecond) // file systems' clocks tick every 4 ms
			return os.WriteFile(path, long, 0o600)
		}, "was written to"},
		{"deleted", os.Remove, "was deleted"},
		{"replaced", func(path string) error {
			err := os.WriteFile(path+".new", long, 0o600)
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			return err
		}, "was replaced"},
		{"directory gone", func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
			"was deleted"},
	}
	for _, skip := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, --skip-bad=%v", tt.name, skip), func(t *testing.T) {
				s := esmodeltest.New(t, esmodeltest.Options{})
				defer s.Close()
				path := filepath.Join(t.TempDir(), "logs", "long_clat_hist.1.log")
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, long, 0o600); err != nil {
					t.Fatal(err)
				}
				headRead := closed(t, path, 2) // its first bytes say what it is
				in := &first{Reader: bytes.NewReader(long), looked: 64 << 10, do: func() {
					if err := headRead(); err != nil {
						t.Error("the log's head was not read: ", err)
					}
					if err := tt.do(path); err != nil {
						t.Error(err)
					}
				}}
				var out, errs bytes.Buffer
				code := run(context.Background(), []string{"fiolat", "ingest", "--es", s.URL, "--output", t.TempDir(),
					"--workers", "2",
					"--start", "2026-01-01T00:00:00Z", fmt.Sprintf("--skip-bad=%v", skip), path, "-"}, in, &out, &errs)
				if skip && code == exitOK && strings.Contains(errs.String(), "warning: skipped: ") &&
					strings.Contains(errs.String(), path) {
					return // its change was seen early enough to leave it out, by name
				}
				if code != exitInput || !strings.Contains(errs.String(), path+": the file "+tt.want) {
					t.Errorf("exit %d, want %d and %q\n%s", code, exitInput, tt.want, &errs)
				}
				unfinished(t, s, "")
			})
		}
	}
}

// Input that fails after documents of it were sent: the run is partial.
func TestInputFailsMidway(t *testing.T) {
	testkit.NotRaced(t)
	long := longLog(t, "epoch/epoch_clat_hist.1.log", 400)
	cut := long[:len(long)-100]
	tests := []struct {
		name  string
		stdin io.Reader
		want  string
	}{
		{"a read error", io.MultiReader(bytes.NewReader(cut), failing{&fs.PathError{Op: "read", Path: "/dev/stdin",
			Err: syscall.EIO}}), "input/output error"},
		{"the writer of a pipe dies", bytes.NewReader(cut), "cut"},
		{"gz that ends early", bytes.NewReader(testkit.Gzipped(long)[:len(testkit.Gzipped(long))-1000]), "unexpected end of gzip data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{})
			defer s.Close()
			var out, errs bytes.Buffer
			code := run(context.Background(), []string{"fiolat", "ingest", "--es", s.URL, "--output", t.TempDir(),
				"--start", "2026-01-01T00:00:00Z", "--by", "direction", "-"}, tt.stdin, &out, &errs)
			if code != exitInput || !strings.Contains(errs.String(), tt.want) {
				t.Errorf("exit %d, want %d and %q\n%s", code, exitInput, tt.want, &errs)
			}
			unfinished(t, s, "partial")
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A file that cannot be read at all, and a pipe that ends in the middle of a line.
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "x_clat_hist.1.log")
	if err := os.Symlink("/proc/self/mem", name); err != nil { // its first page is not there: EIO
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "y_clat_hist.1.log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if w, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			w.Write(goodLog(t)[:10000])
			w.Close()
		}
	}()
	if code, _, stderr := fiolat(t, nil, "percentiles", name); code != exitInput ||
		!strings.Contains(stderr, "input/output error") {
		t.Errorf("exit %d, want %d\n%s", code, exitInput, stderr)
	}
	for path, want := range map[string]string{name: "input/output error", pipe: "cut"} {
		s := esmodeltest.New(t, esmodeltest.Options{})
		code, _, stderr := fiolat(t, nil, "ingest", "--es", s.URL, "--output", t.TempDir(), "--start",
			"2026-01-01T00:00:00Z", path)
		if code != exitInput || !strings.Contains(stderr, path) || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, want %d and %q\n%s", code, exitInput, want, stderr)
		}
		unfinished(t, s, "")
		s.Close()
	}
}

// TestUnreadablePart: a log of a stored run that cannot be found any more leaves the stored documents alone. With
// --skip-bad the others are ingested, and the run is partial.
func TestUnreadablePart(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"a link that leads nowhere": "/not/mounted",
		"a log that cannot be read": "/proc/self/mem",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i := 1; i <= 2; i++ {
				name := filepath.Join(dir, fmt.Sprintf("c%d_clat_hist.%d.log", i, i))
				if err := os.WriteFile(name, longLog(t, "gaps/gaps_clat_hist.1.log", 2+i), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := esmodeltest.New(t, esmodeltest.Options{})
			defer s.Close()
			ingest := func(more ...string) (int, string) {
				code, _, stderr := fiolat(t, nil, append([]string{"ingest", "--es", s.URL, "--output", t.TempDir(),
					"--start", "2026-01-01T00:00:00Z", "--run-id", "therun1", dir}, more...)...)
				return code, stderr
			}
			if code, stderr := ingest(); code != 0 {
				t.Fatal(code, stderr)
			}
			unfinished(t, s, "complete")
			stored := len(s.Docs("*"))
			lost := filepath.Join(dir, "c2_clat_hist.2.log")
			if err := errors.Join(os.Remove(lost), os.Symlink(path, lost)); err != nil {
				t.Fatal(err)
			}
			if code, stderr := ingest(); code != exitInput || !strings.Contains(stderr, lost) {
				t.Errorf("exit %d\n%s", code, stderr)
			}
			unfinished(t, s, "complete")
			if code, stderr := ingest("--skip-bad"); code != 0 || !strings.Contains(stderr, lost) ||
				strings.Contains(stderr, "all accounted for") {
				t.Errorf("exit %d\n%s", code, stderr)
			}
			unfinished(t, s, "partial")
			if n := len(s.Docs("*")); n < stored {
				t.Errorf("%d documents of %d are left", n, stored)
			}
		})
	}
}

// TestForeignIndex: copies of indices by names that fiolat does not use are neither counted nor emptied, but named.
func TestForeignIndex(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	defer s.Close()
	ingest := func(interval string) string {
		code, _, stderr := fiolat(t, nil, "ingest", "--es", s.URL, "--output", t.TempDir(), "--start",
			"2026-01-01T00:00:00Z", "--run-id", "therun1", "--interval", interval, real+"/gaps")
		if code != 0 {
			t.Errorf("exit %d\n%s", code, stderr)
		}
		unfinished(t, s, "complete")
		return stderr
	}
	ingest("1s")
	var copies bytes.Buffer
	names := []string{"fio-histogram-2026.01-backup", "fio-percentiles-2026.01-backup", "fio-percentiles-mine",
		"fio-histogram-2026.01.old"}
	for _, name := range names {
		for _, d := range s.Docs("fio-" + strings.Split(name, "-")[1] + "-2026.01") {
			fmt.Fprintf(&copies, `{"index":{"_index":%q,"_id":%q}}`+"\n%s\n", name, d.ID, d.Source)
		}
	}
	reply, err := http.Post(s.URL+"/_bulk", "application/x-ndjson", &copies)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatal(reply, err)
	}
	reply.Body.Close()
	held := map[string]int{}
	for _, name := range names {
		if held[name] = len(s.Docs(name)); held[name] == 0 {
			t.Fatalf("%s is empty", name)
		}
	}
	for _, interval := range []string{"1s", "2s"} {
		stderr := ingest(interval)
		for _, name := range names {
			if strings.Count(stderr, name) != 1 {
				t.Errorf("%s is not named once\n%s", name, stderr)
			}
		}
	}
	if code, _, stderr := fiolat(t, nil, "delete", "--es", s.URL, "--yes", "therun1"); code != 0 {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	for _, name := range names {
		if n := len(s.Docs(name)); n != held[name] {
			t.Errorf("%s: %d documents of %d are left", name, n, held[name])
		}
	}
}

// TestClosedStderr: nobody reads the messages any more, and the documents are written all the same.
func TestClosedStderr(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	defer s.Close()
	cmd, _, _ := program(t, nil, "ingest", "--es", s.URL, "--output", t.TempDir(), "--start", "2026-01-01T00:00:00Z",
		real+"/gaps")
	r, w, err := os.Pipe()
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stderr = w
	if err = cmd.Run(); err != nil {
		t.Error(err)
	}
	unfinished(t, s, "complete")
}

// TestLiveWithClosedStderr: live and the fio that it started go on when nobody reads their messages.
func TestLiveWithClosedStderr(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	defer s.Close()
	_, logs := programAndLogs(t)
	fake := filepath.Join(t.TempDir(), "fio")
	script := "#!/bin/sh\n" + `for i in 1 2 3; do echo "line $i" >&2 || exit 9; done; exec /bin/cat "$STATUS"` + "\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd, _, _ := program(t, []string{"STATUS=" + logs + "/live/fio-status.json"}, "live", "--es", s.URL, "--output",
		t.TempDir(), "--", fake, "--name=a")
	r, w, err := os.Pipe()
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stderr = w
	if err = cmd.Run(); err != nil {
		t.Error(err)
	}
	unfinished(t, s, "complete")
}

// Rows that nobody reads any more, as with | head, end a run as other errors do: it is partial, and that is said.
func TestRowsUnread(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	defer s.Close()
	cmd, _, stderr := program(t, nil, "live", "--es", s.URL, "--output", t.TempDir(), "--format", "ndjson",
		real+"/live/fio-status.json")
	r, w, err := os.Pipe()
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stdout = w
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitIncomplete ||
		!strings.Contains(stderr.String(), "standard output: broken pipe") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	unfinished(t, s, "partial")
}

// A directory for the documents that cannot be written to is no fault of the input.
func TestOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", "/proc/self/fdinfo/out",
		real+"/gaps"); code != exitIncomplete || !strings.Contains(stderr, "/proc/self/fdinfo/out") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	s := esmodeltest.New(t, esmodeltest.Options{})
	defer s.Close()
	s.Inject(esmodeltest.Fault{Times: -1, Status: 503})
	code, _, stderr := fiolat(t, nil, "ingest", "--es", s.URL, "--max-wait", "0", "--output", "/proc/self/fdinfo/out",
		real+"/gaps")
	if code != exitIncomplete || !strings.Contains(stderr, "cannot be spooled") || strings.Contains(stderr,
		"to finish") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// The command that finishes a job is one for the shell, says what it was told by
// flags, and holds no secret.
func TestPrintedCommand(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	defer s.Close()
	t.Setenv("ELASTICSEARCH_PASSWORD", "s3cret")
	s.Inject(esmodeltest.Fault{Times: 2, Item: func(index, id string) (int, string, string) {
		if !strings.HasSuffix(index, "-run") && id[0] < 'C' {
			return 400, "document_parsing_exception", "too small"
		}
		return 0, "", ""
	}})
	dir := filepath.Join(t.TempDir(), "it's here")
	code, _, stderr := fiolat(t, nil, "ingest", "--es", s.URL, "--es-user", "bob smith", "--index-prefix", "perf",
		"--output", dir, "--run-id", "r", real+"/gaps")
	quoted := "'" + strings.ReplaceAll(dir, "'", `'\''`)
	want := "fiolat: error: to finish: fiolat load --es " + s.URL + " --index-prefix perf --es-user 'bob smith' " +
		quoted + "/perf-spool.r.ndjson' " + quoted + "/perf-refused.r.ndjson'\n"
	if code != exitIncomplete || !strings.Contains(stderr, want) || strings.Contains(stderr, "s3cret") {
		t.Errorf("exit %d, want %s\n%s", code, want, stderr)
	}
	if code, _, stderr := fiolat(t, nil, "load", "--es", s.URL, "--index-prefix", "perf", dir+"/perf-spool.r.ndjson",
		dir+"/perf-refused.r.ndjson"); code != exitOK || !strings.Contains(stderr, "complete   r") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("all has arrived, and these are left: %v", left)
	}
}

// What a report leaves that was killed while it read its log goes with the next one.
func TestReportKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, page := filepath.Join(t.TempDir(), "x_clat_hist.1.log"), filepath.Join(dir, "page.html")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that neither side waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd, _, stderr := program(t, nil, "report", "-o", page, pipe)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, wrote := longLog(t, "gaps/gaps_clat_hist.1.log", 1000), make(chan bool)
	go func() {
		defer close(wrote)
		log.Write(text)
	}()
	var left []os.DirEntry
	for end := time.Now().Add(time.Hour); len(left) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		left, _ = os.ReadDir(dir)
	}
	cmd.Process.Kill()
	cmd.Wait()
	log.Close()
	<-wrote
	if len(left) != 1 || left[0].Name() == "page.html" {
		t.Fatalf("a report at work has made %v\n%s", left, stderr)
	}
	if code, _, stderr := fiolat(t, nil, "report", "-o", page, real+"/gaps"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	if left, _ = os.ReadDir(dir); len(left) != 1 || left[0].Name() != "page.html" {
		t.Errorf("there are %v", left)
	}
}

var (
	inAccount = regexp.MustCompile(`documents +(\d+) (?:made|read from \d+ files), (.*? indexed, .*? refused.*?)[;(]`)
	inReasons = regexp.MustCompile(`refused +(\d+): `)
	inError   = regexp.MustCompile(`not everything arrived: of (\d+) documents (\d+) are (indexed[^:\n]*)`)
	noneOf    = regexp.MustCompile(`, 0 [a-z ]+`)
)

// What the account says of documents is what the error below it says, in numbers and words.
func TestAccountAndError(t *testing.T) {
	t.Parallel()
	some := func(id string) bool { return id[0] < 'C' }
	refuse := func(index, id string) (int, string, string) {
		if some(id) {
			return 400, "document_parsing_exception", "too small"
		}
		return 0, "", ""
	}
	busy := func(index, id string) (int, string, string) {
		if some(id) {
			return 429, "es_rejected_execution_exception", "full"
		}
		return 0, "", ""
	}
	ingest := []string{"ingest", "--verbose", "--max-wait", "0", real + "/gaps"}
	for name, tt := range map[string]struct {
		args  []string
		fault esmodeltest.Fault
		says  string
	}{
		"refused":        {ingest, esmodeltest.Fault{Times: -1, Item: refuse}, "refused"},
		"spooled":        {ingest, esmodeltest.Fault{Times: -1, Item: busy}, "spooled"},
		"server is away": {ingest, esmodeltest.Fault{Times: -1, Status: 503}, "spooled"},
		"load, refused":  {[]string{"load", "--max-wait", "0"}, esmodeltest.Fault{Times: -1, Item: refuse}, "refused"},
		"load, not sent": {[]string{"load", "--max-wait", "0"}, esmodeltest.Fault{Times: -1, Item: busy}, "not sent"},
		"probe, refused": {append(slices.Clone(quick), t.TempDir()),
			esmodeltest.Fault{Times: -1, Item: refuse}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := esmodeltest.New(t, esmodeltest.Options{})
			defer s.Close()
			s.Inject(tt.fault)
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{tt.args[0], "--es", s.URL, "--output", out}, tt.args[1:]...)
			if tt.args[0] == "load" {
				if code, _, stderr := fiolat(t, nil, "ingest", "--output", out, real+"/gaps"); code != exitOK {
					t.Fatalf("exit %d\n%s", code, stderr)
				}
				args = append(append([]string{"load", "--es", s.URL}, tt.args[1:]...), out)
			}
			code, _, stderr := fiolat(t, nil, args...)
			account, failure := inAccount.FindStringSubmatch(stderr), inError.FindStringSubmatch(stderr)
			if code != exitIncomplete || account == nil || failure == nil || !strings.Contains(failure[3], tt.says) {
				t.Fatalf("exit %d\n%s", code, stderr)
			}
			got := failure[1] + " " + failure[2] + " " + failure[3]
			if want := account[1] + " " + noneOf.ReplaceAllString(strings.TrimSpace(account[2]), ""); got != want {
				t.Errorf("the account has %q, the error %q\n%s", want, got, stderr)
			}
			refused := 0
			for _, m := range inReasons.FindAllStringSubmatch(stderr, -1) {
				n, _ := strconv.Atoi(m[1])
				refused += n
			}
			if tt.says == "refused" && !strings.Contains(failure[3], fmt.Sprintf(" %d refused", refused)) {
				t.Errorf("the error has %q, its reasons %d\n%s", failure[3], refused, stderr)
			}
		})
	}
}
