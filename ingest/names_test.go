package ingest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/internal/testkit"
)

// TestName: what a shell opens for fiolat has no name, and a folder under /dev has.
func TestName(t *testing.T) {
	t.Parallel()
	for root, want := range map[string]string{"/dev/shm/night 1": "night 1", "/dev/fd": "", "/dev": "", "/": "",
		"/proc/self/fd": "", "/dev/fd/63": ""} {
		in := &Input{Root: root, Logs: []*Source{{Path: root}}}
		if got := in.Name(); got != want {
			t.Errorf("%s: %q, want %q", root, got, want)
		}
	}
}

// TestDiffering: names of runs are the least of their paths that tells them apart.
func TestDiffering(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, paths, want string }{
		{"one", "/runs/a", "a"},
		{"folders of one", "/runs/a,/runs/b", "a,b"},
		{"far from each other, but of different names", "/x/a,/y/z/b", "a,b"},
		{"an element that all have says nothing", "/runs/a/fio/logs,/runs/b/fio/logs", "a,b"},
		{"a matrix", "/cbt/op-4k/qd-1/randread,/cbt/op-4k/qd-1/randwrite,/cbt/op-64k/qd-1/randread,/cbt/op-64k/qd-1/randwrite",
			"op-4k/randread,op-4k/randwrite,op-64k/randread,op-64k/randwrite"},
		{"one below another", "/runs/a,/runs/a/a", "a,a/a"},
		{"no more than it takes", "/x/1/a,/x/2/a,/y/3/b", "1/a,2/a,3/b"},
	} {
		got := differing(strings.Split(tc.paths, ","))
		if strings.Join(got, ",") != tc.want {
			t.Errorf("%s: %q, want %s", tc.name, got, tc.want)
		}
		if slices.Sort(got); len(slices.Compact(got)) != strings.Count(tc.paths, ",")+1 {
			t.Errorf("%s: %q are not all different", tc.name, got)
		}
	}
}

// TestNameRuns: runs that are found together have different names, and one alone that of its folder.
func TestNameRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, folder := range []string{"4k/randread", "64k/randread"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, folder), "a_clat_hist.1.log",
			fmt.Sprintf("%d, 0, 4096, %s1\n", 1000+i, strings.Repeat("1, ", 28)))
	}
	for path, want := range map[string]string{dir: "4k,64k", filepath.Join(dir, "4k"): "randread"} {
		runs, err := Discover([]string{path}, DiscoverOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, in := range runs {
			names = append(names, in.Name())
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestApart: runs of one folder are told apart by what their jobs do, and those of which that is not known by numbers.
func TestApart(t *testing.T) {
	t.Parallel()
	for want, runs := range map[string][]string{
		"(randread)|(randwrite)":         {"randread", "randwrite"},
		"(randread) #1|(randread) #2":    {"randread", "randread"},
		"#1|#2":                          {"", ""},
		"(randread)|#2":                  {"randread", ""},
		"(randread) #1|#2|(randread) #3": {"randread", "", "randread"},
		"(randrw, rwmixread 65)|(randrw, rwmixread 90)": {"randrw 65", "randrw 90"},
		"(randrw, rwmixread 65) #1|(randrw, rwmixread 90)|(randrw, rwmixread 65) #3": {"randrw 65", "randrw 90",
			"randrw 65"},
	} {
		var inputs []*Input
		for _, rw := range runs {
			in := &Input{Root: "root", Logs: []*Source{{Path: "root/a_clat_hist.1.log"}}}
			if rw, mix, _ := strings.Cut(rw, " "); rw != "" {
				o := jobfile.Options{"rw": rw}
				if mix != "" {
					o["rwmixread"] = mix
				}
				in.Metas = []*fiojson.Document{{Entries: []fiojson.Entry{{Options: o}}}}
			}
			inputs = append(inputs, in)
		}
		if got := strings.Join(apart(inputs), "|"); got != want {
			t.Errorf("%q: %s, want %s", runs, got, want)
		}
	}
}

// TestLogsBesideNamedJSON: fio's JSON that is named stands for itself, but without histograms for the run of the logs
// beside it.
func TestLogsBesideNamedJSON(t *testing.T) {
	t.Parallel()
	const plain = `{"fio version": "fio-3.36", "timestamp_ms": 1795225577655, "jobs": [{"jobname": "a",
		"job_start": 1795225576000, "job_runtime": 1200,
		"read": {"runtime": 1200, "total_ios": 1, "clat_ns": {"N": 1, "min": 500, "max": 500, "mean": 500%s}}}]}`
	for name, tc := range map[string]struct {
		bins   string
		log    bool
		logs   int // -1: an error
		single bool
	}{
		"no histograms, logs of another name": {"", true, 1, false},
		"no histograms, no logs":              {"", false, -1, false},
		"histograms":                          {`, "bins": {"500": 1}`, true, 1, true},
	} {
		dir := t.TempDir()
		write(t, dir, "fio.json", fmt.Sprintf(plain, tc.bins))
		if tc.log {
			write(t, dir, "other_clat_hist.1.log", "1000, 0, 4096, "+strings.Repeat("0, ", 28)+"1\n")
		}
		runs, err := Discover([]string{filepath.Join(dir, "fio.json")}, DiscoverOptions{})
		switch {
		case tc.logs < 0 != (err != nil):
			t.Errorf("%s: %v", name, err)
		case err == nil && (len(runs) != 1 || len(runs[0].Logs) != tc.logs || runs[0].JSONOnly() != tc.single):
			t.Errorf("%s: %d runs, of JSON alone: %v", name, len(runs), runs[0].JSONOnly())
		case err == nil && tc.single == slices.ContainsFunc(runs[0].Warnings, func(w string) bool {
			return strings.Contains(w, "read with the logs of its run beside it")
		}):
			t.Errorf("%s: said %q", name, runs[0].Warnings)
		}
	}
}

// TestSplitName: names are split as a regular expression, slow and plain to read, splits them.
func TestSplitName(t *testing.T) {
	t.Parallel()
	renamed := regexp.MustCompile(`[._-]hist\.log$`)
	plain := regexp.MustCompile(`(?s)^(.*)_(clat_hist|clat|slat|lat)(?:\.([1-9][0-9]*))?\.log(?:\.(.+))?$`)
	parts := []string{"a", "_", "clat", "_clat_hist", "_hist", "_slat", "_lat", "lat", ".", ".0", ".1", ".12", "3",
		"log", ".log", ".log", "host", "\n", "\xff", "-hist.log", "hist.log"}
	matched := 0
	rng := rand.New(rand.NewPCG(3, 4))
	for range testkit.Size(t, 20_000) {
		name := ""
		for range rng.IntN(9) {
			name += parts[rng.IntN(len(parts))]
		}
		prefix, kind, number, host, ok := splitName(name)
		var got []string
		if ok {
			got = []string{name, prefix, kind, number, host}
			matched++
		}
		if want := plain.FindStringSubmatch(name); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", name, got, want)
		}
		if got, want := isRenamed(name), renamed.MatchString(name); got != want {
			t.Fatalf("%q: renamed is %v, want %v", name, got, want)
		}
	}
	if matched < 100 {
		t.Errorf("only %d names are of logs", matched)
	}
}
