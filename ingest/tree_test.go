package ingest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/source"
)

// TestTree: whatever is in a folder, and however often a command looks for runs, each folder is listed once, and what
// is fio's opened once. But JSON of more than 64 KiB is opened to find out what it is, and to read it, and the first
// 64 KiB of JSON without logs are read once more for the run's id.
func TestTree(t *testing.T) {
	t.Parallel()
	json := func(job string) string {
		return `{"fio version" : "fio-3.36", "timestamp_ms" : 1795225577655, "jobs" : [{"jobname" : "` + job + `",
			"job options" : {"write_hist_log" : "` + job + `"}, "job_start" : 1795225576000, "job_runtime" : 1200,
			"read" : {"runtime" : 1200, "total_ios" : 1, "clat_ns" : {"N" : 1, "bins" : {"500" : 1}}}}]}`
	}
	log := "1000, 0, 4096, " + strings.Repeat("0, ", 28) + "1\n"
	for name, files := range map[string]map[string]string{
		"JSON beside":       {"a_clat_hist.1.log": log, "fio.json": json("a"), "a.fio": "[a]\nrw=read\n"},
		"JSON apart":        {"logs/a_clat_hist.1.log": log, "json/fio.json": json("a")},
		"JSON above":        {"x/logs/a_clat_hist.1.log": log, "fio.out": json("a")},
		"large JSON":        {"a_clat_hist.1.log": log, "big": json("a") + strings.Repeat(" ", source.SmallSize)},
		"only JSON":         {"h1/c.json": json("a"), "h2/c.json": json("b")},
		"neither":           {"x/y/text": "no\n", "z": ""},
		"logs of two kinds": {"a_clat_hist.1.log": log, "a_lat.1.log": "1, 2, 0, 4096\n", "fio.json": json("a")},
		"runs and JSON": {"r1/a_clat_hist.1.log": log, "r1/fio.json": json("a"), "r2/b_clat_hist.1.log": "1" + log,
			"r2/fio.json": json("b"), "r3/c.json": json("c")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for path, text := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, dir, path, text)
			}
			calls := map[string]int{}
			tree, system := new(Tree), hooked(func(op, path string) error {
				if op == "readdir" || op == "open" {
					calls[op+" "+path]++
				}
				return nil
			})
			var all []*Input
			for _, kind := range []fio.Kind{fio.Clat, fio.Lat} {
				runs, _ := Discover([]string{dir}, DiscoverOptions{Kind: kind, Tree: tree, system: system})
				all = append(all, runs...)
				_, _, err := DiscoverJSONRuns([]string{dir}, all, DiscoverOptions{Tree: tree, system: system})
				if err != nil {
					t.Fatal(err)
				}
			}
			for path := range files {
				if calls["readdir "+filepath.Dir(filepath.Join(dir, path))] != 1 {
					t.Errorf("the folder of %s was not listed", path)
				}
			}
			for call, n := range calls {
				most, known := map[string]int{"big": 2, "text": 3, "z": 3, "c.json": 2}[filepath.Base(call)]
				if n > most && known || n > 1 && !known {
					t.Errorf("%s: %d times", call, n)
				}
			}
		})
	}
}

// TestTreeCopies: what one discovery changes in fio's JSON is not so for the next one.
func TestTreeCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "fio.json", `{"fio version" : "fio-3.36", "jobs" : [{"jobname" : "a", "job_runtime" : 1000}]}`)
	write(t, dir, "a_clat_hist.1.log", "1000, 0, 4096, 1\n")
	tree := new(Tree)
	var said []string
	for range 2 {
		runs, err := Discover([]string{dir}, DiscoverOptions{Tree: tree})
		if err != nil {
			t.Fatal(err)
		}
		m := runs[0].Metas[0]
		e := &m.Entries[0]
		said = append(said, fmt.Sprintf("%q %q %v %v", m.Notes, e.Host, e.Part, e.Sections))
		m.Notes, e.Host, e.Part, e.Sections = append(m.Notes, "x"), "h", true, nil
	}
	if said[0] != said[1] {
		t.Errorf("%s, then %s", said[0], said[1])
	}
}

// TestTreeTake: what a Tree has listed is taken once, and then listed again.
func TestTreeTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a_clat_hist.1.log", "1000, 0, 4096, 1\n")
	tree := new(Tree)
	if names := tree.List(dir + "/"); len(names) != 1 || names[0] != "a_clat_hist.1.log" {
		t.Errorf("%q", names)
	}
	write(t, dir, "a_clat_hist.2.log", "2000, 0, 4096, 1\n")
	for _, want := range []int{1, 2} {
		runs, err := Discover([]string{dir}, DiscoverOptions{Tree: tree.Take(dir, "no/such/folder")})
		if err != nil || len(runs[0].Logs) != want {
			t.Fatalf("%+v, %v; want %d logs", runs, err, want)
		}
	}
}

// TestCannotReadTwice: what cannot be read is the same error for all that share a Tree.
func TestCannotReadTwice(t *testing.T) {
	t.Parallel()
	err := unreadable("a.json", fs.ErrPermission)
	var first error
	for range 2 {
		r := newFileReader(osFileSystem(), nil, func(string) bool { return false })
		r.CannotRead("a.json", err)
		if first == nil {
			first = r.Unread[0]
		}
		if got := r.Unread[0].Error(); got != first.Error() || strings.Count(got, "--skip-bad") != 1 {
			t.Error(got)
		}
	}
}

// TestIsBelow: the search for JSON above a folder ends where it began, or where paths do not tell what is above.
func TestIsBelow(t *testing.T) {
	t.Parallel()
	d := newDiscovery(DiscoverOptions{})
	d.searched = []string{"..", "a"}
	for dir, want := range map[string]bool{"a": true, "a/b": true, "../c": true, "b": true, ".": false, "..": false,
		"../..": false} {
		if got := d.isBelow(dir); got != want {
			t.Errorf("%s: %t, want %t", dir, got, want)
		}
	}
}
