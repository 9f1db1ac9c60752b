package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fiolat/ingest/source"
)

// entry is a file of an archive; a folder if its name ends in a slash.
type entry struct {
	name, content, link string
	kind                byte
}

var modified = time.Unix(1_700_000_000, 0)

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o444, Size: int64(len(e.content)), ModTime: modified, Typeflag: e.kind,
			Linkname: e.link}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, flags uint16, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: modified, Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	tree := []entry{{name: "./", kind: tar.TypeDir}, {name: "./h1/", kind: tar.TypeDir}, {name: "./h1/a.log",
		content: "1, 2, 0, 512\n"}, {name: "h2/b/c.json", content: "{}"}}
	zeros := strings.Repeat("\x00", 65<<20)
	for name, tc := range map[string]struct {
		archive    []byte
		fail, left string
	}{
		"tar":               {archive: tarOf(t, tree...)},
		"tar.gz":            {archive: pack(t, "gzip", tarOf(t, tree...))},
		"tar.zst":           {archive: pack(t, "zstd", tarOf(t, tree...))},
		"tar.xz":            {archive: pack(t, "xz", tarOf(t, tree...))},
		"zip":               {archive: zipOf(t, 0, tree[2:]...)},
		"zip of PowerShell": {archive: zipOf(t, 0, entry{name: `h1\a.log`, content: tree[2].content}, tree[3])},
		"updated": {archive: tarOf(t, append([]entry{{name: "h1/a.log", content: "old, and longer than the new one"}},
			tree...)...)},
		"links and more": {
			archive: tarOf(t, append([]entry{
				{name: "latest", kind: tar.TypeSymlink, link: "h1"}, {name: "../evil", content: "x"},
				{name: "/tmp/evil", content: "x"}, {name: "h1/../../evil", content: "x"},
				{name: "pipe", kind: tar.TypeFifo}}, tree...)...),
			left: "not unpacked: latest (a link), ../evil (its path leads out of the archive), /tmp/evil (its path " +
				"leads out of the archive), h1/../../evil (its path leads out of the archive) and 1 more; unpack it",
		},
		"hard link": {archive: tarOf(t, append(tree, entry{name: "h1/x.log", kind: tar.TypeLink, link: "h1/a.log"})...),
			left: "h1/x.log (a link)"},
		"bomb": {archive: pack(t, "zstd", tarOf(t, entry{name: "a", content: zeros})),
			fail: "more than 1000 times"},
		"zip bomb":          {archive: zipOf(t, 0, entry{name: "a", content: zeros}), fail: "more than 1000 times"},
		"cut":               {archive: tarOf(t, tree...)[:2000], fail: "the file is cut"},
		"cut between files": {archive: tarOf(t, tree...)[:2048], fail: "the file is cut"},
		"cut gzip":          {archive: pack(t, "gzip", tarOf(t, tree...))[:150], fail: "unexpected end of gzip data"},
		"cut zip": {archive: zipOf(t, 0, tree[2:]...)[:100],
			fail: "damaged archive: zip: not a valid zip file"},
		"encrypted":  {archive: zipOf(t, 1, tree[2:]...), fail: "a.log in it is encrypted"},
		"file twice": {archive: tarOf(t, tree[2], entry{name: "h1/a.log/b", content: "x"}), fail: "unpack into "},
		"damaged tar": {archive: append(tarOf(t, tree[2])[:1024], bytes.Repeat([]byte("x"), 512)...),
			fail: "damaged archive"},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			path := filepath.Join(t.TempDir(), "a.pack")
			if err := os.WriteFile(path, tc.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(path, "h1", "a.log")
			if got := source.ArchiveOf(log); got != path {
				t.Fatalf("archive %q", got)
			}
			err := source.Unpack(path)
			if tc.fail != "" {
				left, _ := os.ReadDir(tmp)
				if err == nil || len(left) > 0 || !strings.Contains(err.Error(), tc.fail) ||
					!strings.Contains(err.Error(), "a.pack: ") {
					t.Errorf("%v, left behind: %v", err, left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(source.Path(log))
			info, bad := os.Stat(source.Path(log))
			if err != nil || bad != nil || string(got) != tree[2].content || !info.ModTime().Equal(modified) {
				t.Errorf("%q, %v, %v", got, info, err)
			}
			if _, err := os.Stat(source.Path(filepath.Join(path, "h2/b/c.json"))); err != nil {
				t.Error(err)
			}
			left := source.LeftOut(log)
			if (left == nil) != (tc.left == "") || left != nil && !strings.Contains(left.Error(), tc.left) {
				t.Errorf("left out: %v", left)
			}
		})
	}
	for _, text := range []string{"", "1, 2, 0, 512\n", string(pack(t, "gzip", randrw(t))), zeros[:4096]} {
		path := filepath.Join(t.TempDir(), "a.tar")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := source.ArchiveOf(path); got != "" {
			t.Errorf("%.10q is an archive", text)
		}
	}
}

// TestArchiveOf_Pipe: a pipe is not opened.
func TestArchiveOf_Pipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := source.ArchiveOf(path); got != "" {
		t.Errorf("archive %q", got)
	}
}

func TestArchiveStem(t *testing.T) {
	for base, want := range map[string]string{"a.tar": "a", "night.1.tar.gz": "night.1", "a.tgz": "a", "b.tar.zst": "b",
		"c.zip": "c", "d.txz": "d", "e": "e", ".tar": ".tar", "f.gz": "f"} {
		if got := source.ArchiveStem(base); got != want {
			t.Errorf("%s: %q", base, got)
		}
	}
}
