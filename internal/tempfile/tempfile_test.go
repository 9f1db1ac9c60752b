package tempfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func in(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := CreateAt(page)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("new")
	if b, _ := os.ReadFile(page); string(b) != "old" {
		t.Errorf("before it is whole the file holds %q", b)
	}
	if err = f.Publish(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(page); string(b) != "new" {
		t.Errorf("the file holds %q", b)
	}
	if _, err = f.root.Stat("."); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the directory stays open: %v", err)
	}
	if st, err := os.Stat(page); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if f, err = CreateAt(page); err != nil {
		t.Fatal(err)
	}
	if err = f.Discard(); err != nil {
		t.Error(err)
	}
	if got := in(t, dir); !slices.Equal(got, []string{"page.html"}) {
		t.Errorf("the directory holds %q", got)
	}
	if _, err = CreateAt(filepath.Join(dir, "none", "page.html")); err == nil {
		t.Error("a file in a directory that is not there")
	}
}

// Of files that are published together all appear or none, and those that were there before stay then.
func TestPublishAll(t *testing.T) {
	for _, broken := range []string{"", "a", "b", "c"} { // a directory has that name
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		want := map[string]string{"a": "old", "b": "", "c": "old"} // what is there before
		var files []*File
		for name, text := range want {
			switch {
			case name == broken:
				err = os.MkdirAll(filepath.Join(dir, name, "full"), 0o700)
			case text != "":
				err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"a", "b", "c"} {
			f, err := Create(root, name)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString("new")
			files = append(files, f)
		}
		err = PublishAll(files)
		if (err != nil) != (broken != "") {
			t.Errorf("%q is broken: %v", broken, err)
		}
		for name, text := range want {
			if broken == "" {
				text = "new"
			}
			if b, _ := os.ReadFile(filepath.Join(dir, name)); name != broken && string(b) != text {
				t.Errorf("%q is broken: %s holds %q, want %q", broken, name, b, text)
			}
		}
		for _, f := range files {
			if err := f.Discard(); broken != "" && err != nil {
				t.Error(err)
			}
		}
		for _, name := range in(t, dir) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("%q is broken: %s is left", broken, name)
			}
		}
	}
}

// What a killed process left goes, and nothing else: not what a living one writes, what was to
// have another name, what is called in another way, or what is no file.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	stay := []string{
		"page.html.0123abcd.tmp", ".page.html.0123abcd", ".page.html.0123abc.tmp", ".page.html.0123abcx.tmp",
		".other.html.0123abcd.tmp", ".page.html.tmp", "..0123abcd.tmp", ".page.html.x0123abcd.tmp",
	}
	const link, folder = ".page.html.00000000.tmp", ".page.html.00000001.tmp"
	for _, name := range append([]string{".page.html.0123abcd.tmp"}, stay...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, stay[0]), filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	living, err := CreateAt(page)
	if err != nil {
		t.Fatal(err)
	}
	next, err := CreateAt(page)
	if err != nil {
		t.Fatal(err)
	}
	want := append(stay, link, folder, living.temp, next.temp)
	slices.Sort(want)
	if got := in(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds\n%q, want\n%q", got, want)
	}
	for _, f := range []*File{living, next} {
		if err := f.Publish(); err != nil {
			t.Error(err)
		}
	}
}

// TestModes: a new file is private, and so is one in the place of another, unless it is to keep the permission bits of
// a regular file.
func TestModes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(path string) error
		keep   bool
		want   os.FileMode
	}{
		{"new", func(string) error { return nil }, true, 0o600},
		{"for all to read", func(path string) error { return written(path, 0o644) }, true, 0o644},
		{"read-only", func(path string) error { return written(path, 0o440) }, true, 0o440},
		{"a link", func(path string) error {
			return errors.Join(written(path+"-of", 0o666), os.Symlink(path+"-of", path))
		}, true, 0o600},
		{"a document", func(path string) error { return written(path, 0o644) }, false, 0o600},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "page.html")
			if err := tc.before(path); err != nil {
				t.Fatal(err)
			}
			f, err := CreateAt(path)
			if err != nil {
				t.Fatal(err)
			}
			if tc.keep {
				f.KeepMode()
			}
			if err := f.Publish(); err != nil {
				t.Fatal(err)
			}
			if st, err := os.Lstat(path); err != nil || st.Mode() != tc.want {
				t.Errorf("%v, %v; want %v", st.Mode(), err, tc.want)
			}
		})
	}
}

// written makes a file with permission bits, whatever the umask.
func written(path string, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode))
}

func publishAlone(f *File) error { return PublishAll([]*File{f}) }

// TestPublishFails: a file that cannot have its name is an error, whatever went wrong, and is gone once discarded.
func TestPublishFails(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, f *File)
		left  []string // in its directory
	}{
		{"a folder has the name", func(t *testing.T, f *File) {
			if err := f.root.MkdirAll("page.html/full", 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"page.html"}},
		{"it was removed", func(t *testing.T, f *File) {
			if err := f.root.Remove(f.temp); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"it cannot be synced", func(_ *testing.T, f *File) { _ = f.Close() }, nil},
	} {
		for _, publish := range []func(*File) error{(*File).Publish, publishAlone} {
			t.Run(tc.name, func(t *testing.T) {
				dir := t.TempDir()
				f, err := CreateAt(filepath.Join(dir, "page.html"))
				if err != nil {
					t.Fatal(err)
				}
				tc.spoil(t, f)
				if publish(f) == nil {
					t.Error("published")
				}
				_ = f.Discard() // there may be nothing left to remove
				if got := in(t, dir); !slices.Equal(got, tc.left) {
					t.Errorf("the directory holds %q, want %q", got, tc.left)
				}
			})
		}
	}
}

// TestCannotBeMade: a file whose folder is missing, or that has too long a name, is an error.
func TestCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "x"), filepath.Join(dir, strings.Repeat("x", 255))} {
		if f, err := CreateAt(path); err == nil || f != nil {
			t.Errorf("%.40s: %v, %v", path, f, err)
		}
	}
}
