package delivery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/pipeline"
)

func dirRun(t *testing.T, dir string, id, part, gen string, n int, fail error) (*Sink, error) {
	t.Helper()
	run := esmodeltest.Run()
	run.ID, run.Part, run.Generation = id, part, gen
	w, err := NewDirWriter(dir, "fio")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSink(w, SinkOptions{})
	intervals := esmodeltest.Intervals(run, n)
	if fail != nil {
		err := s.Begin(t.Context(), run)
		for _, q := range intervals {
			err = errors.Join(err, s.Interval(t.Context(), q))
		}
		return s, s.Close(t.Context(), errors.Join(err, fail))
	}
	return s, s.Close(t.Context(), drive(t.Context(), s, run, intervals))
}

func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out")
	s, err := dirRun(t, dir, "r", "", "g1", 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"fio-histogram-2026.08.r.ndjson", "fio-histogram-2026.09.r.ndjson",
		"fio-percentiles-2026.08.r.ndjson", "fio-percentiles-2026.09.r.ndjson", "fio-run.r.ndjson"}
	if got := list(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	wantCounts(t, s.Report(), Counts{Made: 4*4 + 5*5 + 1, Written: 4*4 + 5*5 + 1})
	if last := s.Report().Files; len(last) != 5 || !strings.HasSuffix(last[4], "fio-run.r.ndjson") {
		t.Errorf("%q", last)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, want[0]): 0o600} {
		if st, _ := os.Stat(path); st.Mode().Perm() != mode {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
	}
	// Other runs and parts lie beside it; a failed attempt changes nothing; another
	// generation that touches one month only takes the files of the other along.
	if _, err := dirRun(t, dir, "r", "p", "g1", 5, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := dirRun(t, dir, "r.p", "", "g1", 1, nil); err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	old := mustRead(t, filepath.Join(dir, want[0]))
	bad := errors.New("bad input")
	if _, err := dirRun(t, dir, "r", "", "g2", 5, bad); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
	if got := list(t, dir); !slices.Equal(got, before) || mustRead(t, filepath.Join(dir, want[0])) != old {
		t.Errorf("files %q, want %q", got, before)
	}
	if _, err := dirRun(t, dir, "r", "", "g2", 2, nil); err != nil {
		t.Fatal(err)
	}
	after := list(t, dir)
	if slices.Contains(after, want[1]) || slices.Contains(after, want[3]) || len(after) != len(before)-2 {
		t.Errorf("files %q", after)
	}
	if strings.Contains(mustRead(t, filepath.Join(dir, want[0])), "g1") {
		t.Error("the old generation is still there")
	}
}

// The files hold what the other writer would send.
func TestDirectoryHoldsTheSame(t *testing.T) {
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r/1", "", "g1", 20, nil); err != nil {
		t.Fatal(err)
	}
	s, c := standIn(t)
	if _, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 20))
}

func TestDirectoryWillNotBeLedAway(t *testing.T) {
	base := t.TempDir()
	elsewhere := filepath.Join(base, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "out")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Skip(err)
	}
	var usage *fio.UsageError
	for _, path := range []string{link, link + "/"} {
		if _, err := dirRun(t, path, "r", "", "g", 2, nil); !errors.As(err, &usage) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A symlink in place of a file is replaced, not followed.
	dir := filepath.Join(base, "real")
	victim := filepath.Join(base, "victim")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim,
		filepath.Join(dir, "fio-run.r.ndjson"))); err != nil {
		t.Fatal(err)
	}
	if _, err := dirRun(t, dir, "r", "", "g", 2, nil); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(filepath.Join(dir, "fio-run.r.ndjson")); err != nil || !st.Mode().IsRegular() ||
		mustRead(t, victim) != "precious" {
		t.Errorf("%v, %v", st, err)
	}
	if got := list(t, elsewhere); len(got) != 0 {
		t.Errorf("written elsewhere: %q", got)
	}
	// The spool does not follow one either: it takes another name.
	if err := os.Symlink(victim, filepath.Join(dir, "fio-spool.r.ndjson")); err != nil {
		t.Fatal(err)
	}
	sp := newSpoolFile(dir, "fio-spool.r")
	if _, err := sp.append([][]byte{[]byte("x\n")}); err != nil {
		t.Fatal(err)
	}
	if err := sp.close(); err != nil || sp.name != "fio-spool.r~2.ndjson" || mustRead(t, victim) != "precious" {
		t.Errorf("%s, %v", sp.name, err)
	}
}

// What a writer that was killed left is taken away; what a living one is writing is
// not.
func TestStaleFilesGo(t *testing.T) {
	dir := t.TempDir()
	stay := []string{".fio-run.r.ndjson.tmp", ".x-run.r.ndjson.0123abcd.tmp", "fio-run.r.ndjson.0123abcd.tmp",
		"notes.txt"}
	gone := []string{".fio-run.r.ndjson.0123abcd.tmp", ".fio-run.other.ndjson.0123abcd.tmp"}
	for _, name := range slices.Concat(stay, gone) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, _ := NewDirWriter(dir, "fio")
	living := NewSink(w, SinkOptions{})
	run := esmodeltest.Run()
	run.ID = "r"
	if err := errors.Join(living.Begin(t.Context(), run), living.Interval(t.Context(), esmodeltest.Intervals(run,
		2)[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := dirRun(t, dir, "r", "", "g", 2, nil); err != nil {
		t.Fatal(err)
	}
	got := list(t, dir)
	for _, name := range gone {
		if slices.Contains(got, name) {
			t.Errorf("%s is left behind", name)
		}
	}
	for _, name := range stay {
		if !slices.Contains(got, name) {
			t.Errorf("%s is gone", name)
		}
	}
	if err := living.Close(t.Context(), living.End(t.Context(), esmodeltest.Summary(run, nil))); err != nil {
		t.Errorf("the living writer: %v", err)
	}
}

func TestFileNames(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a", "a.b", "a/b", "a%2Fb", "..", ".", "", "~", "a~2", strings.Repeat("x", 300),
		strings.Repeat("x", 301), "ü", "a\x00b", "-rf"} {
		for _, part := range []string{"", "b", "p/q", "slat"} {
			for kind := range fio.Kind(fio.Kinds) {
				tail := fileSuffix(&pipeline.Run{ID: id, Part: part, Kind: kind})
				key := fmt.Sprintf("%q %q %v", id, part, kind)
				if other, ok := seen[tail]; ok || strings.ContainsAny(tail, "/\\\x00 ") || len(tail) > 200 {
					t.Errorf("%s is %q, like %s", key, tail, other)
				}
				seen[tail] = key
			}
		}
	}
}

// Where one file cannot be published, all others stay as they were.
func TestDirectoryIsPublishedWhole(t *testing.T) {
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r", "", "g1", 5, nil); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, "fio-percentiles-2026.09.r.ndjson")
	if err := errors.Join(os.Remove(blocked), os.MkdirAll(filepath.Join(blocked, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	_, err := dirRun(t, dir, "r", "", "g2", 5, nil)
	if !errors.As(err, new(*OutputError)) || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
	if after := list(t, dir); !slices.Equal(after, before) {
		t.Errorf("there are %q, and were %q", after, before)
	}
	for _, name := range before {
		if path := filepath.Join(dir, name); path != blocked && !strings.Contains(mustRead(t, path), `"g1"`) {
			t.Errorf("%s was replaced", name)
		}
	}
}

func TestCountWriter(t *testing.T) {
	run := esmodeltest.Run()
	w := NewCountWriter()
	s := NewSink(w, SinkOptions{})
	intervals := esmodeltest.Intervals(run, 5)
	if err := s.Close(t.Context(), drive(t.Context(), s, run, intervals)); err != nil {
		t.Fatal(err)
	}
	srv := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{srv.URL}})
	real, err := ingestRun(t.Context(), c, BulkConfig{}, run, intervals)
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Report().Total(), real.Report().Total()
	if a.Made != b.Made || a.Bytes != b.Bytes || a.Indexed != 0 {
		t.Errorf("counted %+v, sent %+v", a, b)
	}
}

// Names of files that fit stay, to be replaced; others are cut for all files of the run alike, and nothing is lost.
func TestLongFileNames(t *testing.T) {
	seen := map[string]string{}
	for _, of := range []struct {
		name, of  string
		most      int // times
		sometimes bool
	}{{"CJK", "夜", 26, true}, {"stamp", "2026-11-28T16:33:22+00:00 ", 3, true}, {"letters", "x", 90, false}} {
		for n := of.most - 10; n <= of.most; n++ {
			id := strings.Repeat(of.of, max(n, 1))
			run := &pipeline.Run{ID: id, Part: id}
			dir := t.TempDir()
			for range 2 {
				if _, err := dirRun(t, dir, id, id, "g1", 3, nil); err != nil {
					t.Fatal(err)
				}
			}
			files := list(t, dir)
			if len(files) != 4 {
				t.Errorf("%q: %q", id, files)
			}
			as := fileSuffix(run) + ".ndjson"
			fits := len(".fio-percentiles-2026.08"+as+".01234567.tmp") <= 255
			if stays := slices.Contains(files, "fio-run"+as); stays != fits || !fits && !of.sometimes {
				t.Errorf("%q: %q, want %q: %v", id, files, as, fits)
			}
			if other, ok := seen[files[0]]; ok && other != id {
				t.Errorf("%q and %q have one name", id, other)
			}
			seen[files[0]] = id
			for spools := 1; spools <= 2; spools++ {
				s := newSpoolFile(dir, "fio-spool"+fileSuffix(run))
				if _, err := s.append([][]byte{[]byte("x\n")}); err != nil {
					t.Fatal(err)
				}
				stays := s.name == "fio-spool"+as
				if fits := len("fio-spool"+as) <= 255; spools == 1 && stays != fits || s.close() != nil {
					t.Errorf("%q: %q", id, s.name)
				}
			}
			if err := newSpoolFile(dir, "fio-spool"+fileSuffix(run)).removeOld(); err != nil || len(list(t, dir)) != 4 {
				t.Errorf("%v, %q are left", err, list(t, dir))
			}
		}
	}
}

// A spool that cannot be made is told before anything is sent, and one that is not used leaves nothing.
func TestSpoolIsTried(t *testing.T) {
	s, c := standIn(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for spool, good := range map[string]bool{filepath.Join(dir, "a", "b"): true, file: false,
		filepath.Join(file, "in"): false, filepath.Join(dir, strings.Repeat("x", 256)): false} {
		before := len(s.Requests(""))
		run := esmodeltest.Run()
		_, err := ingestRun(t.Context(), c, BulkConfig{SpoolDir: spool}, run, esmodeltest.Intervals(run, 3))
		sent := len(s.Requests("")) > before
		if good != (err == nil) || !good && (sent || !errors.As(err, new(*OutputError)) ||
			errors.As(err, new(*fio.UsageError))) {
			t.Errorf("%.80s: sent %v, %v", spool, sent, err)
		}
		if left := list(t, dir); !slices.Equal(left, []string{"file"}) {
			t.Errorf("%q are left", left)
		}
	}
}

// TestNames: a directory that cannot be listed is an error, not an empty one.
func TestNames(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := names(root); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if err = root.Close(); err != nil {
		t.Fatal(err)
	}
	if all, err := names(root); err == nil {
		t.Errorf("%v, want an error", all)
	}
}
