package main

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// TestDeletedMonth: of a run whose months were deleted, runs and summary have the figures of its document, and report
// says what is gone.
func TestDeletedMonth(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	must(t, "ingest", "--es", s.URL, "--run-id", "R", "--start", "2026-02-28T23:59:55Z", real+"/exact")
	must(t, "ingest", "--es", s.URL, "--run-id", "before", "--start", "2026-02-10T00:00:00Z", real+"/exact")
	summary := func() (rows []any) {
		t.Helper()
		code, stdout, stderr := fiolat(t, nil, "summary", "--es", s.URL, "--format", "json", "--percentiles", "50,99",
			"R")
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &rows); err != nil || len(rows) < 2 {
			t.Fatal(rows, err)
		}
		for _, row := range rows {
			for _, name := range []string{"ci", "ci_at_least", "seconds"} { // of independent I/Os, and of documents
				delete(row.(map[string]any), name)
			}
		}
		return rows
	}
	before := summary()
	gone := func(want int) {
		t.Helper()
		if _, stdout, _ := fiolat(t, nil, "runs", "--es", s.URL); strings.Count(stdout, "figures only") != want {
			t.Errorf("want %d with figures only:\n%s", want, stdout)
		}
	}
	gone(0)
	for i, month := range []string{"02", "03"} { // R ran in both
		for _, kind := range []string{"histogram", "percentiles"} {
			s.Drop("fio-" + kind + "-2026." + month)
		}
		if d := near("", summary(), before); d != "" {
			t.Errorf("without month %s: %s", month, d)
		}
		gone(1 + i)
	}
	refused(t, exitInput, []string{"0 leaves are stored", "lifecycle policy", "fiolat runs, summary"}, "report", "-o",
		t.TempDir()+"/r.html", "--es", s.URL, "R")
	refused(t, exitInput, []string{"0 leaves are stored"}, "summary", "--es", s.URL, "--from", "1", "R")
}

// TestFiguresOnly: what compare and history say of runs of which one month or both were deleted, also after a rollup,
// is what they said before, without the limits that need intervals.
func TestFiguresOnly(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, rolled := range []bool{false, true} {
		s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
		for i, dir := range nights(t)[4:] { // the last two are slow
			must(t, "ingest", "--es", s.URL, "--interval", "1s", "--run-id", fmt.Sprint("R", i), "--label",
				"month="+"ab"[i%2:i%2+1], "--start", fmt.Sprintf("2026-%02d-%02dT00:00:00Z", 3+i%2, 1+i), dir)
		}
		if rolled {
			must(t, "rollup", "--es", s.URL, "--interval", "5s", "R0", "R1", "R2", "R3", "R4", "R5")
		}
		tests := []struct {
			name          string
			args          []string
			limits, after bool   // as long as there are intervals, and after that
			half, whole   string // note, when one month and both are gone
		}{
			{"runs", []string{"R0", "R5"}, !rolled, false, "figures only: no limits: intervals were deleted of R0",
				"figures only: no limits: intervals were deleted of R0, R5"},
			{"noise", []string{"--run-noise", "4%", "R0", "R5"}, true, true,
				"figures only: limits that ignore the noise within the runs: intervals were deleted of R0",
				"figures only: limits that ignore the noise within the runs: intervals were deleted of R0, R5"},
			{"groups", []string{"a=label:month=a", "b=label:month=b"}, true, true,
				"figures only: intervals were deleted of R0, R2, R4",
				"figures only: intervals were deleted of R0, R2, R4, R1, R3, R5"},
		}
		before := make([]compared, len(tests))
		compare := func(i int) compared {
			return compareJSON(t, exitOK, append([]string{"--es", s.URL}, tests[i].args...)...)
		}
		for i := range tests {
			if before[i] = compare(i); strings.Contains(before[i].Comparisons[0].Note, "figures only") {
				t.Error(before[i].Comparisons[0].Note)
			}
		}
		series, _ := historyJSON(t, "--es", s.URL)
		for month, index := range []string{"fio-histogram-2026.03", "fio-histogram-2026.04"} {
			s.Drop(index)
			for i, of := range tests {
				c, was := compare(i).Comparisons[0], before[i].Comparisons[0]
				if note, _, _ := strings.Cut(c.Note, "\n"); note != []string{of.half, of.whole}[month] {
					t.Errorf("rolled up: %v, %s: %s", rolled, of.name, c.Note)
				}
				for k, row := range c.Rows {
					if math.Abs(*row.Change-*was.Rows[k].Change) > 1e-4 || (row.Low != nil) != of.after ||
						row.Low == nil && row.Verdict != "inconclusive" || (was.Rows[k].Low != nil) != of.limits {
						t.Errorf("rolled up: %v, %s: %+v, before %+v", rolled, of.name, row, was.Rows[k])
					}
				}
			}
			if again, _ := historyJSON(t, "--es", s.URL); !reflect.DeepEqual(again, series) {
				t.Errorf("history: %+v, before %+v", again, series)
			}
		}
		refused(t, exitUsage, []string{"run-to-run variation"}, "compare", "--es", s.URL, "--fail-if", "p50 +5%", "R0",
			"R5")
		refused(t, exitInput, []string{"0 leaves are stored"}, "compare", "--es", s.URL, "--from", "1", "R0", "R5")
	}
}
