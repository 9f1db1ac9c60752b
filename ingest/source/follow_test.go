package source

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollow: a file that does not exist yet, grows in chunks, is begun anew, and ends
// when its writer closes it.
func TestFollow(t *testing.T) {
	for _, tc := range []struct {
		name string
		idle time.Duration
	}{{"until its writer is gone", 0}, {"until it is idle", 3 * time.Second}} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.idle == 0 && runtime.GOOS != "linux" {
				t.Skip("only Linux tells who has a file open")
			}
			path := filepath.Join(t.TempDir(), "out.json")
			synctest.Test(t, func(t *testing.T) {
				got := make(chan string, 1)
				go func() {
					f := Follow(t.Context(), path, tc.idle)
					defer f.Close()
					b, err := io.ReadAll(f)
					if err != nil {
						t.Error(err)
					}
					got <- string(b)
				}()
				time.Sleep(50*time.Millisecond + time.Microsecond) // never at the moment of a look
				w, err := os.Create(path)
				must(t, err)
				for _, chunk := range []string{"one ", "two ", "three "} {
					writeTo(t, w, chunk)
					time.Sleep(100 * time.Millisecond)
				}
				must(t, w.Truncate(0))
				_, err = w.WriteAt([]byte("anew"), 0)
				must(t, err)
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				select {
				case s := <-got:
					t.Fatalf("it ended while the file was open: %q", s)
				default:
				}
				must(t, w.Close())
				if s := <-got; s != "one two three anew" {
					t.Errorf("%q", s)
				}
			})
		})
	}
}

// TestFollowReplaced: whatever happens to the name of the file, all that was written to it
// and to those that take its place is read, once.
func TestFollowReplaced(t *testing.T) {
	for _, tc := range []struct {
		name  string
		idle  time.Duration
		does  func(t *testing.T, path string, old *os.File)
		want  string
		warns string
	}{
		{"renamed, another one begun", 0, func(t *testing.T, path string, old *os.File) {
			must(t, os.Rename(path, path+".1"))
			time.Sleep(time.Second)
			writeTo(t, old, "more ")
			must(t, os.WriteFile(path, []byte("another"), 0o600))
			time.Sleep(time.Second)
			writeTo(t, old, "late ")
			must(t, old.Close())
		}, "one more late another", "deleted or renamed | replaced by another file; reading it from its start"},
		{"deleted, another one begun later", 0, func(t *testing.T, path string, old *os.File) {
			must(t, os.Remove(path))
			writeTo(t, old, "more ")
			must(t, old.Close())
			time.Sleep(30 * time.Second)
			must(t, os.WriteFile(path, []byte("another"), 0o600))
		}, "one more another", "deleted or renamed | replaced by another file; reading it from its start"},
		{"deleted for good", 0, func(t *testing.T, path string, old *os.File) {
			must(t, os.Remove(path))
			writeTo(t, old, "more ")
			must(t, old.Close())
		}, "one more ", "deleted or renamed"},
		{"replaced by rename", 0, func(t *testing.T, path string, old *os.File) {
			must(t, os.WriteFile(path+".new", []byte("another"), 0o600))
			must(t, os.Rename(path+".new", path))
			time.Sleep(time.Second)
			writeTo(t, old, "more ")
			must(t, old.Close())
		}, "one more another", "replaced by another file; reading it from its start"},
		{"a copy brought up to date", 0, func(t *testing.T, path string, old *os.File) {
			must(t, os.WriteFile(path+".new", []byte("one two "), 0o600))
			must(t, os.Rename(path+".new", path))
			must(t, old.Close())
		}, "one two ", "begins with the same data; continuing where the old one ended"},
		{"a copy brought up to date, until it is idle", time.Minute, func(t *testing.T, path string, old *os.File) {
			must(t, old.Close())
			for _, whole := range []string{"one two ", "one two three ", "one two three four"} {
				time.Sleep(50 * time.Second)
				must(t, os.WriteFile(path+".new", []byte(whole), 0o600))
				must(t, os.Rename(path+".new", path))
			}
		}, "one two three four", strings.Repeat("begins with the same data | ", 2) + "begins with the same data"},
		{"replaced, until it is idle", time.Minute, func(t *testing.T, path string, old *os.File) {
			must(t, os.Rename(path, path+".1"))
			must(t, os.WriteFile(path, []byte("another"), 0o600))
			writeTo(t, old, "more ")
			must(t, old.Close())
		}, "one more another", "replaced by another file; reading it from its start"},
		{"empty and replaced", 0, func(t *testing.T, path string, old *os.File) {
			must(t, old.Truncate(0))
			time.Sleep(time.Second)
			must(t, old.Close())
			must(t, os.WriteFile(path+".new", []byte("another"), 0o600))
			must(t, os.Rename(path+".new", path))
		}, "one another", "replaced by another file; reading it from its start"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.idle == 0 && runtime.GOOS != "linux" {
				t.Skip("only Linux tells who has a file open")
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(dir, "out.json")
				old, err := os.Create(path)
				must(t, err)
				writeTo(t, old, "one ")
				var warnings []string
				f := Follow(t.Context(), path, tc.idle)
				f.Warn = func(s string) { warnings = append(warnings, s) }
				got := make(chan string)
				go func() {
					defer f.Close()
					b, err := io.ReadAll(f)
					if err != nil {
						t.Error(err)
					}
					got <- string(b)
				}()
				time.Sleep(time.Second + time.Millisecond) // never at the moment of a look
				tc.does(t, path, old)
				if s := <-got; s != tc.want {
					t.Errorf("%q, want %q", s, tc.want)
				}
				for _, want := range strings.Split(tc.warns, " | ") {
					if len(warnings) == 0 || !strings.Contains(warnings[0], want) {
						t.Fatalf("warnings %q, want %q", warnings, tc.warns)
					}
					warnings = warnings[1:]
				}
				if len(warnings) > 0 {
					t.Errorf("and %q", warnings)
				}
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writeTo(t *testing.T, f *os.File, text string) {
	t.Helper()
	_, err := f.WriteString(text)
	must(t, err)
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := Follow(ctx, filepath.Join(t.TempDir(), "never"), 0)
	if b, err := io.ReadAll(f); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
}

// TestFollowerClosed: a file is closed once, and one that never was there is no error.
func TestFollowerClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := Follow(t.Context(), path, time.Second).Close(); err != nil {
		t.Error(err)
	}
	must(t, os.WriteFile(path, []byte("x"), 0o600))
	f := Follow(t.Context(), path, time.Second)
	_, err := f.Read(make([]byte, 1))
	must(t, err)
	must(t, f.Close())
	if _, err := f.f.Stat(); err == nil {
		t.Error("it is still open")
	}
}
