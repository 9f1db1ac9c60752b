package main

import (
	"fmt"
	"io"
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
