package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/analysis/compare"
	"fiolat/ingest/fiojson"
	"fiolat/internal/ui"
)

// TestTests: how many tables two groups of runs make, and how many runs are in each.
func TestTests(t *testing.T) {
	t.Parallel()
	// side makes a group of runs, each written NAME or NAME:WORKLOAD.
	side := func(runs string) []*compare.Group {
		g := &compare.Group{Name: "g"}
		for _, run := range strings.Fields(runs) {
			name, of, _ := strings.Cut(run, ":")
			general, _, _ := strings.Cut(of, "/") // what the few options of a title tell
			g.Runs = append(g.Runs, &compare.Series{Name: name, Workload: general, Sameness: fiojson.Sameness(of)})
		}
		return []*compare.Group{g}
	}
	for name, c := range map[string]struct{ before, after, want string }{
		"repeats named alike":           {"a/run1 a/run2 a/run3", "b/run1 b/run2 b/run3", ""},
		"repeats of a known workload":   {"a/run1:w a/run2:w", "b/run1:w b/run2:w", ""},
		"tests by name":                 {"a/seq a/rand", "b/seq b/rand", "seq 1+1, rand 1+1"},
		"tests by an option":            {"a/m65:w/65 a/m9:w/9", "b/m65:w/65 b/m9:w/9", "m65 1+1, m9 1+1"},
		"tests, each repeated":          {"a/1:r a/2:r a/3:w a/4:w", "b/1:r b/2:r b/3:w b/4:w", "1 2+2, 3 2+2"},
		"one workload against another":  {"a/run1:q1 a/run2:q1", "b/run1:q64 b/run2:q64", ""},
		"an option of a side":           {"a/1:r/x a/2:w/x", "b/1:r/y b/2:w/y", "1 1+1, 2 1+1"},
		"a test that the other has not": {"a/1:r a/2:w", "b/1:r", "1 1+1"},
	} {
		var got []string
		for _, p := range tests(side(c.before), side(c.after), ui.New(nil, io.Discard, io.Discard)) {
			_, first, _ := strings.Cut(p[0].Runs[0].Name, "/")
			got = append(got, fmt.Sprintf("%s %d+%d", first, len(p[0].Runs), len(p[1].Runs)))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// TestPattern: only numbers that differ become a pattern, so that it takes no other runs.
func TestPattern(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"6.11-base/r*": {"6.11-base/r1", "6.11-base/r2", "6.11-base/r10"},
		"a*/run":       {"a1/run", "a2/run"},
		"6.*-base/r*":  {"6.11-base/r1", "6.12-base/r2"},
		"nightly-*-7":  {"nightly-1-7", "nightly-2-7"},
	} {
		if got := pattern(names); got != want {
			t.Errorf("%q: %s, want %s", slices.Clone(names), got, want)
		}
	}
}

// TestSameOrDifferent: three repeats with the same names on both sides are one table, and mixes of reads and writes are
// series of their own, which also the gate says.
func TestSameOrDifferent(t *testing.T) {
	t.Parallel()
	const cases = "../../testdata/figures-cases/"
	before, after := cases+"repeats-of-one-name/before", cases+"repeats-of-one-name/after"
	for _, args := range [][]string{{before, after}, {"b=" + before, "a=" + after},
		{"b=" + before + "/run1," + before + "/run2," + before + "/run3", "a=" + after + "/run*"}} {
		code, out, stderr := fiolat(t, nil, append([]string{"compare", "--fail-if", "read p99 +900%"}, args...)...)
		if code != 0 || strings.Count(out, "baseline:") != 1 || !strings.Contains(out, "(3+3 runs)") {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, stderr)
		}
	}
	code, out, stderr := fiolat(t, nil, "history", "--fail-if-changed", "3", cases+"history-of-mixes")
	if code != 0 || strings.Count(out, ": 3 runs") != 3 || !strings.Contains(stderr, "rwmixread 100 -> 65") ||
		!strings.Contains(stderr, "rwmixread 65 -> 0") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}

// TestCompareForms: how many tables the forms of compare's arguments make, and of how many runs each.
func TestCompareForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// write writes fio's JSON of a run of a workload.
	write := func(name, options string, p99 int) {
		text := fmt.Sprintf(`{"fio version":"fio-3.36","timestamp_ms":%d,"jobs":[{"jobname":"j","job options":{%s},
			"job_runtime":10000,"read":{"total_ios":1000,"io_bytes":4096000,"runtime":10000,"iops":100,
			"clat_ns":{"min":1000,"max":%d,"mean":%d,"stddev":10,"N":1000,
			"percentile":{"50.000000":%d,"99.000000":%d}}}}]}`,
			1700000000000+p99*100000, options, 2*p99, p99/2, p99/2, p99)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		write(fmt.Sprintf("a/run%d/fio.json", i+1), `"rw":"randread","bs":"4k"`, 100000+i)
		write(fmt.Sprintf("b/run%d/fio.json", i+1), `"rw":"randread","bs":"4096"`, 110000+i)
		write(fmt.Sprintf("deep%d/fio.json", i+1), `"rw":"randread","bs":"4k","iodepth":"64"`, 200000+i)
	}
	for i, side := range []string{"m", "n"} {
		write(side+"/seq/fio.json", `"rw":"read"`, 300000+i)
		write(side+"/rand/fio.json", `"rw":"randread"`, 310000+i)
		write(side+"/mix90/fio.json", `"rw":"randrw","rwmixread":"90"`, 320000+i)
	}
	write("n/mix50/fio.json", `"rw":"randrw","rwmixread":"50"`, 330000)
	for _, c := range []struct {
		args, want string
	}{
		{"a b", "3+3"},
		{"A=a B=b", "3+3"},
		{"A=a/run* B=b/run*", "3+3"},
		{"A=a/run1,a/run2,a/run3 B=b/run1,b/run2,b/run3", "3+3"},
		{"A=a/run1,a/run2 B=b/run1,b/run2,b/run3", "2+3"},
		{"a/run1 b/run1", "1+1"},
		{"a/run1 a/run2 a/run3", "1+1 1+1"},
		{"a B=b/run1", "3+1"},
		{"a deep=deep1,deep2,deep3", "3+3"}, // one workload a side, whatever differs
		{"m n", "1+1 1+1 1+1"},
		{"m/seq n/seq", "1+1"},
		{"a b deep=deep1,deep2,deep3", "3+3 3+3"},
	} {
		args := []string{"compare", "--format", "json"}
		for _, arg := range strings.Fields(c.args) {
			name, list, ok := strings.Cut(arg, "=")
			if !ok {
				name, list = "", arg
			}
			var paths []string
			for _, p := range strings.Split(list, ",") {
				paths = append(paths, filepath.Join(dir, p))
			}
			if list = strings.Join(paths, ","); ok {
				list = name + "=" + list
			}
			args = append(args, list)
		}
		code, out, stderr := fiolat(t, nil, args...)
		var found struct {
			Comparisons []struct{ Baseline, Other struct{ Runs int } }
		}
		if err := json.Unmarshal([]byte(out), &found); code != 0 || err != nil {
			t.Errorf("%s: exit %d, %v\n%s", c.args, code, err, stderr)
			continue
		}
		var got []string
		for _, r := range found.Comparisons {
			got = append(got, fmt.Sprintf("%d+%d", r.Baseline.Runs, r.Other.Runs))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s\n%s", c.args, s, c.want, stderr)
		}
		if c.args == "m n" && !strings.Contains(stderr, "left out") {
			t.Errorf("mix50 has no partner, and that is not said:\n%s", stderr)
		}
	}
}
