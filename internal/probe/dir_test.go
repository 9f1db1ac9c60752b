//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"

	"golang.org/x/sys/unix"
)

const (
	own  = dirPrefix + "h"
	size = 1 << 20
)

func testConfig() DirConfig { return DirConfig{Name: "h", Size: size, Warn: func(string) {}} }

func openDir(t testing.TB, path string) *Dir {
	t.Helper()
	f, err := OpenDir(context.Background(), path, testConfig())
	if err != nil {
		t.Fatal(err)
	}
	d := f.(*Dir)
	t.Cleanup(d.close)
	return d
}

// round does one round and returns the names of the errors.
func round(d *Dir) string {
	failed := map[Operation]string{}
	err := d.Ready()
	for op := range operations {
		e := err
		if e == nil {
			_, _, e = d.Do(op)
		}
		if errors.Is(e, ErrSkipped) {
			failed[op] = "skipped"
		} else if e != nil {
			failed[op] = ErrorName(e)
		}
	}
	return strings.TrimPrefix(fmt.Sprint(failed), "map") // sorted
}

func checkRound(t *testing.T, d *Dir, want string) {
	t.Helper()
	if got := round(d); got != want {
		t.Errorf("failed %s, want %s", got, want)
	}
}

// tree are the files below a directory, with their sizes.
func tree(t testing.TB, path string) string {
	t.Helper()
	var out []string
	if err := filepath.WalkDir(path, func(p string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(path, p)
			info, _ := e.Info()
			out = append(out, fmt.Sprintf("%s %d", strings.Replace(rel, own, "own", 1), info.Size()))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, ", ")
}

const whole = "own/data 2097152"

// TestRounds: operations do what they are called, and leave the data file as it is.
func TestRounds(t *testing.T) {
	for _, direct := range []bool{false, true} {
		dir, cfg := t.TempDir(), testConfig()
		cfg.Direct = direct
		d, err := OpenDir(t.Context(), dir, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for op, want := range []string{Read: whole, Write: whole, Create: whole + ", own/small 3901",
			Stat: whole + ", own/small 3901", SmallRead: whole + ", own/small 3901", Delete: whole} {
			at, took, err := d.Do(Operation(op))
			if got := tree(t, dir); err != nil || took <= 0 || time.Since(at) < took || got != want {
				t.Errorf("%v: %v, %v, %s; want %s", Operation(op), took, err, got, want)
			}
		}
		if _, _, err := d.Do(Stat); !errors.Is(err, ErrSkipped) {
			t.Errorf("stat without a small file: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKept: a status is found again by a probe of the same kind, and not if it is damaged.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	if err := d.Keep([]byte(`{"text":"kept"}`)); err != nil {
		t.Fatal(err)
	}
	d.close()
	kept := func(direct bool) string {
		t.Helper()
		cfg := testConfig()
		cfg.Direct = direct
		f, err := OpenDir(t.Context(), dir, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return string(f.Kept())
	}
	if a, b := kept(false), kept(true); a != `{"text":"kept"}` || b != "" {
		t.Errorf("kept %q, with direct I/O %q", a, b)
	}
	if s, err := ReadStatus(dir); err != nil || len(s) != 1 || s["h"].Text(time.Now()) != "kept" {
		t.Errorf("%v %v", s, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, own, dataName), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("7"), int64(len(magic)+30))
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := kept(false); got != "" || tree(t, dir) != whole {
		t.Errorf("kept %q of a damaged header, and %s", got, tree(t, dir))
	}
	if _, err := ReadStatus(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has not been probed") {
		t.Error(err)
	}
}

// TestDirUnlocked: a closed directory can be probed again, also while a process that is just being started still has
// the file of the lock.
func TestDirUnlocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	inherited, err := unix.Dup(int(d.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited) // it was only held
	d.close()
	openDir(t, dir)
}

// Only what was made goes; what somebody else put there is named, and stays.
func TestCleanup(t *testing.T) {
	dir := t.TempDir()
	if _, err := Cleanup(dir, "h"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	d := openDir(t, dir)
	d.Do(Create)
	var busy *fio.UsageError
	if _, err := Cleanup(dir, "h"); !errors.As(err, &busy) || !strings.Contains(err.Error(), "already being probed") {
		t.Errorf("clean-up beside a probe at work: %v", err)
	}
	d.close()
	for name, content := range map[string]string{"notes": "x", "more/small": magic, "../mine": magic} {
		os.Mkdir(filepath.Join(dir, own, "more"), 0o700)
		if err := os.WriteFile(filepath.Join(dir, own, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../mine", filepath.Join(dir, own, "link")); err != nil {
		t.Fatal(err)
	}
	foreign, err := Cleanup(dir, "h")
	if got := tree(t, dir); err != nil || fmt.Sprint(foreign) != "[link more notes]" ||
		got != "own/link 7, own/more/small 15, own/notes 1, mine 15" {
		t.Errorf("%v %v, left %s", foreign, err, got)
	}
	for _, name := range foreign {
		os.RemoveAll(filepath.Join(dir, own, name))
	}
	openDir(t, dir).close()
	if foreign, err := Cleanup(dir, "h"); err != nil || foreign != nil || tree(t, dir) != "mine 15" {
		t.Errorf("%v %v, left %s", foreign, err, tree(t, dir))
	}
	if _, err := os.Stat(filepath.Join(dir, own)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What is not ours is neither written to nor followed.
func TestRefusals(t *testing.T) {
	replace := func(name string, by func(victim, name string) error) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			openDir(t, dir).close()
			name := filepath.Join(dir, own, name)
			os.Remove(name)
			if err := by(filepath.Join(dir, "victim"), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	inside := func(victim, name string) error { return os.Symlink("../victim", name) }
	theirs := func(victim, name string) error { return os.Rename(victim, name) }
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, dir string)
		want  string
	}{
		{"a symlink in place of the directory", func(t *testing.T, dir string) {
			os.Mkdir(filepath.Join(dir, "other"), 0o700)
			os.Symlink("other", filepath.Join(dir, own))
		}, "not a directory"},
		{"data of somebody else", replace(dataName, theirs), "no probe of this version created it"},
		{"a small file of somebody else", replace(smallName, theirs), "no probe of this version created it"},
		{"a symlink in place of the data", replace(dataName, inside), "not a regular file"},
		{"a symlink in place of the small file", replace(smallName, inside), "not a regular file"},
		{"a hard link in place of the data", replace(dataName, os.Link), "has another hard link"},
		{"a hard link in place of the small file", replace(smallName, os.Link), "has another hard link"},
		{"a pipe in place of the data", replace(dataName, func(_, name string) error {
			return unix.Mkfifo(name, 0o600)
		}), "not a regular file"},
		{"another size", func(t *testing.T, dir string) {
			cfg := testConfig()
			cfg.Size = 2 * size
			f, err := OpenDir(context.Background(), dir, cfg)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}, "was made with 2097152 bytes of data, not 1048576"},
		{"no such directory", func(t *testing.T, dir string) { os.RemoveAll(dir) }, "no such file"},
		{"another probe", func(t *testing.T, dir string) { openDir(t, dir) }, "already being probed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "victim"), []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			tt.setup(t, dir)
			contents := func() (out string) {
				filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
					if err == nil && e.Type()&(os.ModeNamedPipe|os.ModeDir) == 0 {
						b, _ := os.ReadFile(p)
						out += fmt.Sprintf("%s %.100q\n", p, b)
					}
					return nil
				})
				return out
			}
			before := contents()
			if _, err := OpenDir(context.Background(), dir, testConfig()); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if after := contents(); after != before {
				t.Errorf("%s became\n%s", before, after)
			}
		})
	}
	dir, cfg := t.TempDir(), testConfig()
	cfg.Size = 1 << 60
	if _, err := OpenDir(context.Background(), dir, cfg); err == nil ||
		!strings.Contains(err.Error(), "are free: too little") || tree(t, dir) != "own/data 0" {
		t.Errorf("no space: %v, %s", err, tree(t, dir))
	}
	cfg.Name = "../x"
	if _, err := OpenDir(context.Background(), dir, cfg); err == nil ||
		!strings.Contains(err.Error(), "directory name") {
		t.Error(err)
	}
}

// TestReplaced: what takes the place of the files while they are probed is not written to.
func TestReplaced(t *testing.T) {
	for name, op := range map[string]Operation{dataName: Write, smallName: Create} {
		dir, theirs := t.TempDir(), filepath.Join(t.TempDir(), "theirs")
		d := openDir(t, dir)
		if err := os.WriteFile(theirs, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		name = filepath.Join(dir, own, name)
		os.Remove(name)
		if err := os.Link(theirs, name); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Do(op); !errors.Is(err, errReplaced) && !errors.Is(err, os.ErrExist) {
			t.Errorf("%v: %v", op, err)
		}
		checkRound(t, d, everything("OTHER"))
		if b, err := os.ReadFile(theirs); err != nil || string(b) != "precious" {
			t.Errorf("the linked file holds %.100q, %v", b, err)
		}
		if err := os.Remove(name); err != nil {
			t.Errorf("the link is gone: %v", err)
		}
	}
}

// everything is that all operations failed.
func everything(why string) string {
	return "[" + strings.Join(operationNames[:], ":"+why+" ") + ":" + why + "]"
}

// A directory that is removed gives errors, and one that is made anew is probed on.
func TestRemovedDirectory(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, own)); err != nil {
		t.Fatal(err)
	}
	checkRound(t, d, "[read:ENOENT write:ENOENT create:ENOENT stat:skipped small-read:skipped delete:skipped]")
	checkRound(t, d, everything("ENOENT"))
	openDir(t, dir).close()
	checkRound(t, d, "[]")
	// A data file that somebody cut short is a short read.
	if err := os.Truncate(filepath.Join(dir, own, dataName), blockSize); err != nil {
		t.Fatal(err)
	}
	checkRound(t, d, "[read:SHORT]")
}

// TestMain is the probe that TestKill kills, if asked to be.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FIOLAT_PROBE_VICTIM"); dir != "" {
		f, err := OpenDir(context.Background(), dir, testConfig())
		for err == nil {
			if failed := round(f.(*Dir)); failed != "[]" {
				err = errors.New(failed)
			} else {
				err = f.Keep([]byte(`{}`))
			}
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A probe that is killed at any moment, while it makes its files or later, leaves no more than them; the next one goes
// on.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	for i := range 25 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FIOLAT_PROBE_VICTIM="+dir)
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(2+i*3) * time.Millisecond)
		cmd.Process.Signal(unix.SIGKILL)
		cmd.Wait()
		if out.Len() > 0 {
			t.Fatalf("kill %d: %s", i, out.String())
		}
	}
	d := openDir(t, dir)
	checkRound(t, d, "[]")
	if got := tree(t, dir); got != whole {
		t.Error(got)
	}
	d.close()
	if foreign, err := Cleanup(dir, "h"); foreign != nil || err != nil {
		t.Errorf("%v, %v", foreign, err)
	}
}
