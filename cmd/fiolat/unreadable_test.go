package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Each command names a folder that it may not read, and leaves nothing of the run behind. With --skip-bad the rest
// counts.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // who may read everything: the commands run as nobody
		copyFile(t, self, dir+"/fiolat")
		for _, open := range []string{filepath.Dir(dir), dir + "/fiolat"} {
			if err := os.Chmod(open, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		self = dir + "/fiolat"
	}
	copyFile(t, real+"/gaps/gaps_clat_hist.1.log", dir+"/runs/a/x_clat_hist.1.log", dir+"/runs/b/x_clat_hist.1.log")
	for path, mode := range map[string]os.FileMode{dir: 0o777, dir + "/runs/a/x_clat_hist.1.log": 0o644,
		dir + "/runs/b": 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir+"/runs/b", 0o700) })
	for _, tt := range []struct {
		args string
		code int
	}{
		{"inspect runs", exitInput}, {"percentiles runs", exitInput}, {"percentiles runs/b", exitInput},
		{"percentiles runs/b/x_clat_hist.1.log", exitInput}, {"percentiles runs/*/*.log", exitInput},
		{"percentiles --skip-bad --log-hist-msec 500 runs", exitOK}, {"histogram runs", exitInput},
		{"summary runs/b/*", exitInput}, {"summary runs", exitInput}, {"curve runs", exitInput},
		{"compare runs/a runs/b", exitInput}, {"history runs", exitInput}, {"diagnose runs", exitInput},
		{"report -o x.html runs", exitInput}, {"report -o runs/b/x.html runs/a", exitUsage},
		{"ingest --start mtime --output docs runs", exitInput},
		{"ingest --start mtime --log-hist-msec 500 --output runs/b runs/a", exitIncomplete},
		{"load --es http://127.0.0.1:1 runs/b", exitInput}, {"live runs/b/status.json", exitInput},
		{"percentiles --like fiologparser_hist runs/b/x_clat_hist.1.log", exitInput},
		{"percentiles --offset @runs/b/offsets runs/a", exitUsage},
	} {
		cmd, stdout, stderr := program(t, nil, strings.Fields(tt.args)...)
		cmd.Path, cmd.Dir = self, dir
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		_ = cmd.Run()
		if cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(stderr.String(), "runs/b") ||
			!strings.Contains(stderr.String(), "permission denied") {
			t.Errorf("%s: exit %d, want %d\n%s%s", tt.args, cmd.ProcessState.ExitCode(), tt.code, stdout, stderr)
		}
	}
	if left, err := filepath.Glob(dir + "/[dx]*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
