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

// small is a layout that is quick to make.
var small = Layout{Block: 4096, File: 3901, Pool: 20, Data: 1 << 20}

func testConfig(warnings *[]string) DirConfig {
	return DirConfig{Name: "h", Layout: small, Seed: 1, Warn: func(text string) {
		if warnings != nil {
			*warnings = append(*warnings, text)
		}
	}}
}

func openDir(t testing.TB, path string) *Dir {
	t.Helper()
	d, err := OpenDir(context.Background(), path, testConfig(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.close() })
	return d
}

// round does one round and returns the names of the errors.
func round(d *Dir) (failed map[Operation]string) {
	failed = map[Operation]string{}
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
	return failed
}

func poolFiles(t testing.TB, path string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(path, dirPrefix+"h", poolName, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tree are the files below a directory, with their sizes.
func tree(t testing.TB, path string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(path, func(p string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(path, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// First in, first out: after as many rounds as there are files each has been
// replaced, and there are as many as before.
func TestRounds(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	before := poolFiles(t, dir)
	for range small.Pool {
		if failed := round(d); len(failed) > 0 {
			t.Fatal(failed)
		}
	}
	after := poolFiles(t, dir)
	if len(before) != small.Pool || len(after) != small.Pool || before[small.Pool-1] >= after[0] {
		t.Errorf("%v became %v", before, after)
	}
	if st, err := os.Stat(filepath.Join(dir, dirPrefix+"h", dataName)); err != nil || st.Size() != small.Data {
		t.Errorf("the large file: %v %v", st.Size(), err)
	}
	for _, op := range []Operation{Read, Write, Create, Stat, SmallRead, Delete} {
		at, took, err := d.Do(op)
		if err != nil || took <= 0 || time.Since(at) < took {
			t.Errorf("%v: %v at %v, %v", op, took, at, err)
		}
	}
}

// TestDirUnlocked: a closed directory can be probed again, also while a process that is just being started still has
// the file of the lock.
func TestDirUnlocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := OpenDir(t.Context(), dir, testConfig(nil))
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(d.lock)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited) // it was only held
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenDir(t.Context(), dir, testConfig(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHardLink: a hard link planted in place of the large file is not written to, before
// the probe begins nor while it runs.
func TestHardLink(t *testing.T) {
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(theirs, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := openDir(t, dir)
	data := filepath.Join(dir, dirPrefix+"h", dataName)
	plant := func() {
		if err := os.Remove(data); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(theirs, data); err != nil {
			t.Fatal(err)
		}
	}
	plant()
	if _, _, err := d.Do(Write); !errors.Is(err, errLinked) {
		t.Errorf("while it runs: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := OpenDir(t.Context(), dir, testConfig(nil)); !errors.Is(err, errLinked) {
		t.Errorf("before: %v", err)
		if err == nil {
			again.Close()
		}
	}
	if b, err := os.ReadFile(theirs); err != nil || string(b) != "precious" {
		t.Errorf("the linked file holds %.100q, %v", b, err)
	}
}

// Only what was made goes; what somebody else put there is named, and stays.
func TestCleanup(t *testing.T) {
	t.Run("all ours", func(t *testing.T) {
		dir := t.TempDir()
		d := openDir(t, dir)
		round(d)
		if err := d.Keep([]byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		var busy *fio.UsageError
		_, err := Cleanup(dir, "h")
		if !errors.As(err, &busy) || !strings.Contains(err.Error(), "already being probed") {
			t.Errorf("clean-up beside a probe at work: %v", err)
		}
		d.close()
		if foreign, err := Cleanup(dir, "h"); err != nil || foreign != nil {
			t.Errorf("%v, %v", foreign, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
	t.Run("with the files of others", func(t *testing.T) {
		dir := t.TempDir()
		openDir(t, dir).close()
		own := filepath.Join(dir, dirPrefix+"h")
		for _, name := range []string{"notes", poolName + "/notes", "../mine"} {
			if err := os.WriteFile(filepath.Join(own, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(dir, "mine"), filepath.Join(own, poolName, smallName(7777))); err != nil {
			t.Fatal(err)
		}
		foreign, err := Cleanup(dir, "h")
		if err != nil || fmt.Sprint(foreign) != "[pool/000000007777 pool/notes notes]" {
			t.Errorf("%v, %v", foreign, err)
		}
		if got := fmt.Sprint(tree(t, dir)); got != "[.fiolat-probe.h/manifest.json .fiolat-probe.h/notes "+
			".fiolat-probe.h/pool/000000007777 .fiolat-probe.h/pool/notes mine]" {
			t.Errorf("left %v", got)
		}
	})
	t.Run("nothing there", func(t *testing.T) {
		if _, err := Cleanup(t.TempDir(), "h"); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
}

// What is not ours is neither written to nor followed.
func TestRefusals(t *testing.T) {
	own := dirPrefix + "h"
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, dir string)
		want  string
	}{
		{"a symlink in place of the directory", func(t *testing.T, dir string) {
			os.Mkdir(filepath.Join(dir, "victim"), 0o700)
			os.Symlink("victim", filepath.Join(dir, own))
		}, "not a directory"},
		{"a directory of somebody else's things", func(t *testing.T, dir string) {
			os.Mkdir(filepath.Join(dir, own), 0o700)
			os.WriteFile(filepath.Join(dir, own, dataName), []byte("precious"), 0o600)
		}, "no manifest"},
		{"a symlink in place of the large file", func(t *testing.T, dir string) {
			openDir(t, dir).close()
			os.WriteFile(filepath.Join(dir, "victim"), []byte("precious"), 0o600)
			os.Remove(filepath.Join(dir, own, dataName))
			os.Symlink("../victim", filepath.Join(dir, own, dataName))
		}, "symbolic links"},
		{"a symlink in place of the pool", func(t *testing.T, dir string) {
			openDir(t, dir).close()
			os.Mkdir(filepath.Join(dir, "victim"), 0o700)
			os.RemoveAll(filepath.Join(dir, own, poolName))
			os.Symlink("../victim", filepath.Join(dir, own, poolName))
		}, "not a directory"},
		{"another size of pool", func(t *testing.T, dir string) {
			l := small
			l.Pool = 5
			d, err := OpenDir(context.Background(), dir, DirConfig{Name: "h", Layout: l, Warn: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			d.close()
		}, "with other settings: small files: 5, not 20"},
		{"a manifest that is none", func(t *testing.T, dir string) {
			openDir(t, dir).close()
			os.WriteFile(filepath.Join(dir, own, manifestName), []byte("{}"), 0o600)
		}, "not a manifest"},
		{"no such directory", func(t *testing.T, dir string) { os.Remove(dir) }, "no such file"},
		{"no space", func(t *testing.T, dir string) {
			l := small
			l.Data = 1 << 60
			_, err := OpenDir(context.Background(), dir, DirConfig{Name: "h", Layout: l, Warn: func(string) {}})
			if err == nil || !strings.Contains(err.Error(), "are free: too little") {
				t.Error(err)
			}
			openDir(t, dir) // stays locked
		}, "already being probed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.setup(t, dir)
			var before []string
			if _, err := os.Stat(dir); err == nil {
				before = tree(t, dir)
			}
			if _, err := OpenDir(context.Background(), dir, testConfig(nil)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if before == nil {
				return
			}
			if after := tree(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%v became %v", before, after)
			}
			for _, name := range []string{"victim", own + "/" + dataName} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) == 8 &&
					string(b) != "precious" {
					t.Errorf("%s was written to", name)
				}
			}
		})
	}
}

// A file that has the name of the next one is not written over.
func TestExistingFileIsKept(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	name := filepath.Join(dir, dirPrefix+"h", poolName, smallName(d.next))
	if err := os.WriteFile(name, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if failed := round(d); failed[Create] != "EEXIST" || failed[Delete] != "skipped" || len(failed) != 2 {
		t.Error(failed)
	}
	if b, _ := os.ReadFile(name); string(b) != "precious" {
		t.Errorf("it now holds %q", b)
	}
	if failed := round(d); len(failed) > 0 {
		t.Errorf("the next round: %v", failed)
	}
}

// A directory that is removed gives errors, and one that is made anew is probed on.
func TestRemovedDirectory(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, dirPrefix+"h")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		failed := round(d)
		for op := range operations {
			if want := "ENOENT"; failed[op] != want && !(op == Delete && failed[op] == "skipped") {
				t.Errorf("%v: %q, want %s", op, failed[op], want)
			}
		}
	}
	other, err := OpenDir(context.Background(), dir, testConfig(nil))
	if err != nil {
		t.Fatal(err)
	}
	other.close()
	if failed := round(d); len(failed) > 0 {
		t.Errorf("made anew: %v", failed)
	}
	if n := len(poolFiles(t, dir)); n != small.Pool {
		t.Errorf("%d files in the pool", n)
	}
}

// A large file that somebody cut short is a short read.
func TestShortFile(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	if err := os.Truncate(filepath.Join(dir, dirPrefix+"h", dataName), 0); err != nil {
		t.Fatal(err)
	}
	if failed := round(d); failed[Read] != "SHORT" {
		t.Error(failed)
	}
}

// The same seed, the same places.
func TestSeed(t *testing.T) {
	places := func(seed uint64) (out []int64) {
		cfg := testConfig(nil)
		cfg.Seed = seed
		d, err := OpenDir(context.Background(), t.TempDir(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		for range 8 {
			out = append(out, d.rng.Int64N(1<<40))
		}
		return out
	}
	if a, b, c := places(1), places(1), places(2); fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) == fmt.Sprint(c) {
		t.Errorf("%v\n%v\n%v", a, b, c)
	}
}

func TestSmallFileIsWarnedOf(t *testing.T) {
	var warnings []string
	d, err := OpenDir(context.Background(), t.TempDir(), testConfig(&warnings))
	if err != nil {
		t.Fatal(err)
	}
	d.close()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "less than twice the memory") {
		t.Errorf("%q", warnings)
	}
}

// TestMain is the probe that TestKill kills, if asked to be.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FIOLAT_PROBE_VICTIM"); dir != "" {
		d, err := OpenDir(context.Background(), dir, testConfig(nil))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for n := 0; ; n++ {
			if failed := round(d); len(failed) > 0 {
				fmt.Println(failed)
				os.Exit(1)
			}
			if err := d.Keep([]byte(`{}`)); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// A probe that is killed at any moment, while it prepares or later, leaves at most
// one file more than the pool; the next one goes on, with a whole pool.
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
		if n := len(poolFiles(t, dir)); n > small.Pool+1 {
			t.Fatalf("kill %d: %d files in the pool", i, n)
		}
	}
	d := openDir(t, dir)
	files := poolFiles(t, dir)
	if len(files) != small.Pool {
		t.Errorf("%d files in the pool", len(files))
	}
	for _, f := range files {
		if st, err := os.Stat(f); err != nil || st.Size() != small.File {
			t.Errorf("%s: %v, %v", f, st, err)
		}
	}
	if failed := round(d); len(failed) > 0 {
		t.Error(failed)
	}
	d.close()
	if foreign, err := Cleanup(dir, "h"); foreign != nil || err != nil {
		t.Errorf("%v, %v", foreign, err)
	}
}
