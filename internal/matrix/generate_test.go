package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// A folder is one run of fio: its logs, fio.json, job.fio, and truth.json.
type folder struct {
	c    testCase
	mode mode
	fio  string // path of the binary
	ver  string // "3.33"
}

func (f folder) name() string { return fmt.Sprintf("%s-%s-%s-%s", f.ver, f.mode, f.c.Kind, f.c.Name) }

// generate runs every case with every fio, parallel at a time, each into a folder below out. It returns the number of
// folders.
func generate(ctx context.Context, fios []string, all []testCase, out string, parallel int) (int, error) {
	var folders []folder
	for _, fio := range fios {
		text, err := exec.CommandContext(ctx, fio, "--version").Output()
		if err != nil {
			return 0, fmt.Errorf("%s --version: %w", fio, err)
		}
		ver := strings.TrimPrefix(strings.TrimSpace(string(text)), "fio-")
		for _, c := range all {
			for _, m := range c.Modes {
				folders = append(folders, folder{c, m, fio, ver})
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var mu sync.Mutex
	made := 0
	for _, f := range folders {
		group.Go(func() error {
			dir := filepath.Join(out, f.name())
			err := f.run(ctx, dir)
			var no *cannotError
			if errors.As(err, &no) {
				fmt.Fprintf(os.Stderr, "%s: skipped: %v\n", f.name(), err)
				return os.RemoveAll(dir)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.name(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			made++
			return nil
		})
	}
	return made, group.Wait()
}

// cannotError reports a run that is skipped, such as with an option that this fio does not support.
type cannotError struct{ text string }

func (e *cannotError) Error() string { return e.text }

func (f folder) run(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "fiolat-matrix-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()

	own := strings.NewReplacer("fiolat-matrix.", "fiolat-matrix."+filepath.Base(scratch)+".")
	job, more := f.c.jobFile()
	job, more = own.Replace(job), own.Replace(more)
	if err = os.WriteFile(filepath.Join(dir, "job.fio"), []byte(job), 0o644); err != nil {
		return err
	}
	if more != "" { // fio looks for it in its working directory
		if err = os.WriteFile(filepath.Join(dir, included), []byte(more), 0o644); err != nil {
			return err
		}
	}
	defer func() {
		left, _ := filepath.Glob("/dev/shm/fiolat-matrix." + filepath.Base(scratch) + ".*")
		for _, file := range left {
			_ = os.Remove(file)
		}
	}()
	// fio runs with a job file that also records each job's start; the folder gets the original.
	noted := filepath.Join(scratch, "job.fio")
	text := strings.Replace(job, "[global]\n", "[global]\nexec_prerun=date +%s%N\n", 1)
	if err = os.WriteFile(noted, []byte(text), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()

	args := f.c.Output
	if len(args) == 0 {
		args = []string{"--output-format=json+"}
	}
	args = slices.Clone(args)
	if !f.c.Piped {
		args = append(args, "--output="+filepath.Join(scratch, "fio.json"))
	}
	// The working directories of the servers, or of fio itself, which get the output of exec_prerun.
	homes := []string{dir}
	switch f.mode {
	case alone:
		args = append(args, noted)
	default:
		addresses := []string{"127.0.0.1"}
		switch f.mode {
		case ports:
			addresses = append(addresses, "127.0.0.1")
		case hosts:
			addresses = append(addresses, "127.0.0.2")
		}
		homes = nil
		for i, address := range addresses {
			home := filepath.Join(scratch, fmt.Sprint("server", i))
			if err = os.Mkdir(home, 0o755); err != nil {
				return err
			}
			homes = append(homes, home)
			port, stop, cannot := server(ctx, f.fio, address, home)
			if cannot != nil {
				return cannot
			}
			defer stop()
			args = append(args, fmt.Sprintf("--client=ip:%s,%d", address, port), noted)
		}
	}
	cmd := exec.CommandContext(ctx, f.fio, args...)
	cmd.Dir = dir
	var said, output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if f.c.Piped {
		cmd.Stdout = &output
	}
	group(cmd)
	if err = cmd.Start(); err != nil {
		return err
	}
	if f.c.Interrupt > 0 {
		after := time.Duration(f.c.Interrupt) * time.Millisecond
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(os.Interrupt) })
		defer timer.Stop()
	}
	after, fatal := f.c.Kill, func() { _ = cmd.Process.Kill() }
	if f.c.KillJob > 0 {
		after, fatal = f.c.KillJob, func() {
			if all := running(noted); len(all) > 1 { // the first is fio itself
				_ = syscall.Kill(all[len(all)-1], syscall.SIGKILL)
			}
		}
	}
	if after > 0 {
		go func() {
			for started := []string(nil); len(started) == 0 && ctx.Err() == nil; {
				time.Sleep(20 * time.Millisecond)
				started, _ = filepath.Glob(filepath.Join(dir, "*.prerun.txt"))
			}
			time.Sleep(time.Duration(after) * time.Millisecond)
			fatal()
		}()
	}
	err = cmd.Wait()
	defer func() { // jobs may outlive fio
		for _, pid := range running(noted) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	for f.c.Kill > 0 && ctx.Err() == nil && len(running(noted)) > 0 {
		time.Sleep(50 * time.Millisecond) // jobs continue after fio was killed
	}
	if ctx.Err() != nil {
		return &cannotError{"fio did not end in time"}
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log*"))
	if err != nil && len(logs) == 0 { // with logs, the run is used even if it failed or was interrupted
		return &cannotError{fmt.Sprintf("%v: %s", err, said.String())}
	}
	if f.c.Piped {
		if err = os.WriteFile(filepath.Join(scratch, "fio.json"), output.Bytes(), 0o644); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(filepath.Join(scratch, "fio.json"))
	if err != nil && f.c.Kill == 0 {
		return err
	}
	raw = []byte(strings.ReplaceAll(string(raw), `"exec_prerun" : "date +%s%N",`, ""))
	if err := os.WriteFile(filepath.Join(dir, "fio.json"), raw, 0o644); err != nil {
		return err
	}
	starts := map[string]int64{}
	for _, home := range homes {
		notes, _ := filepath.Glob(filepath.Join(home, "*.prerun.txt"))
		for _, note := range notes {
			text, err := os.ReadFile(note)
			if err != nil {
				return err
			}
			ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", note, err)
			}
			name := strings.TrimSuffix(filepath.Base(note), ".prerun.txt")
			if old, ok := starts[name]; !ok || ns < old {
				starts[name] = ns
			}
			if err := os.Remove(note); err != nil {
				return err
			}
		}
	}
	if err := writeTruth(dir, f, starts); err != nil {
		return &cannotError{err.Error()}
	}
	return nil
}

// group makes fio and its jobs, which are separate processes, end together.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}

// running returns the processes with an argument, fio and its jobs, in order of their ids.
func running(arg string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), arg) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// server starts fio --server on a free port and waits until it listens.
func server(ctx context.Context, fio, address, home string) (port int, stop func(), err error) {
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		return 0, nil, err
	}
	port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, nil, err
	}
	where := fmt.Sprintf("--server=ip:%s,%d", address, port)
	cmd := exec.CommandContext(ctx, fio, where)
	cmd.Dir = home
	group(cmd)
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	stop = func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		for _, pid := range running(where) { // jobs have their own process groups
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	// The server would take a connection for a client, so this looks into the kernel's socket table.
	want := fmt.Sprintf(":%04X 00000000:0000 0A", port)
	for range 200 {
		table, err := os.ReadFile("/proc/net/tcp")
		if err == nil && strings.Contains(string(table), want) {
			return port, stop, nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	stop()
	return 0, nil, &cannotError{"fio --server did not listen within 5 s"}
}
