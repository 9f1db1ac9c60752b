package matrix

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/fio-options.md and testdata/gaps.txt anew")

// TestMatrix checks fiolat against real runs of two versions of fio, and docs/fio-options.md against what it said.
//
// With -short it asks every tenth question, and `make nightly` asks ingest about all of them.
func TestMatrix(t *testing.T) {
	testkit.NotRaced(t)
	if !testkit.All() {
		ingestEvery = 10
	}
	if testing.Short() {
		askEvery, ingestEvery = 10, 20
	}
	archives, err := filepath.Glob("testdata/fio-*.tar.zst")
	if err != nil || len(archives) < 2 {
		t.Fatalf("archives of runs in testdata: %q, %v", archives, err)
	}
	runs := t.TempDir()
	for _, archive := range archives {
		for name, data := range testkit.Packed(t, archive) {
			testkit.Write(t, runs, name, data)
		}
	}
	parallel := 2 * runtime.GOMAXPROCS(0) // for ingest waits for the disk
	answers, err := check(t.Context(), testkit.Program(t), runs, "", parallel)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) < 1000/askEvery {
		t.Fatalf("%d answers: most runs are missing", len(answers))
	}
	testGaps(t, answers)
	if testing.Short() {
		return // the pages show all answers
	}
	testPage(t, page(answers))
	testOptions(t, answers)
}

// testOptions: where an option led to a refusal or a warning, inspect names it.
func testOptions(t *testing.T, answers []*answer) {
	cases := map[string][]*answer{}
	for _, a := range answers {
		if a.shape == nil {
			cases[a.truth.About] = append(cases[a.truth.About], a)
		}
	}
	for about, want := range map[string]string{
		"write_hist_log without log_hist_msec": "log_hist_msec",
		"clat_percentiles=0":                   "clat_percentiles",
		"lat_percentiles":                      "clat_percentiles", // the case that also has clat_percentiles=0
		"disable_clat":                         "disable_clat",
		"gtod_reduce":                          "gtod_reduce",
		"io_submit_mode=offload":               "io_submit_mode",
		"log_compression":                      "log_compression",
		"log_avg_msec":                         "log_avg_msec",
		"log_window_value":                     "log_avg_msec",
		"log_max_value":                        "log_avg_msec",
		"log_offset":                           "log_offset",
		"log_issue_time":                       "log_issue_time",
		"per_job_logs=0":                       "per_job_logs",
		"unified_rw_reporting=mixed":           "unified_rw_reporting",
		"stonewall":                            "stonewall",
		"startdelay":                           "startdelay",
		"ramp_time":                            "ramp_time",
		"wait_for":                             "wait_for",
		"log_alternate_epoch with a monotonic clock": "log_alternate_epoch",
	} {
		if got := options(cases[about]); !strings.Contains(got, "`"+want+"`") {
			t.Errorf("%s: inspect names %s, want %s", about, got, want)
		}
	}
}

// testGaps fails for each answer that is wrong without a word, or refused without need, and isn't a known gap.
// Known gaps are listed with what differs; the list only gets shorter.
func testGaps(t *testing.T, answers []*answer) {
	const file = "testdata/gaps.txt"
	found := map[string]string{} // and the reason
	for _, a := range answers {
		if a.Verdict == wrong || a.Verdict == overcareful {
			found[fmt.Sprintf("%s\t%s\t%s", a.Verdict, a.Folder, a.given())] = a.Reason + strings.Join(a.Said, " ")
		}
	}
	if *update {
		var b strings.Builder
		for _, gap := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&b, "%s\t%s\n", gap, found[gap])
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if i := strings.LastIndex(line, "\t"); i >= 0 {
			known[line[:i]] = true
		}
	}
	for gap, reason := range found {
		if !known[gap] {
			t.Errorf("%s: %s", gap, reason)
		}
	}
	for gap := range known {
		if found[gap] == "" {
			t.Logf("no longer a gap: go test ./internal/matrix -update: %s", gap)
		}
	}
}

// testPage compares the verdicts; how a message is worded may change without the page.
func testPage(t *testing.T, want string) {
	const file = "../../docs/fio-options.md"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if w, g := withoutGist(want), withoutGist(string(text)); w != g {
		wants, has := strings.Split(w, "\n"), strings.Split(g, "\n")
		for i := range min(len(wants), len(has)) {
			if wants[i] != has[i] {
				t.Fatalf("%s:%d: %s\nnow: %s\nto write it anew: go test ./internal/matrix -update",
					file, i+1, has[i], wants[i])
			}
		}
		t.Fatalf("%s has %d lines, now %d: go test ./internal/matrix -update", file, len(has), len(wants))
	}
}

func withoutGist(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		cells := strings.Split(line, " | ")
		if len(cells) > 2 {
			cells = cells[:len(cells)-1]
		}
		b.WriteString(strings.TrimSpace(strings.Join(cells, " | ")) + "\n")
	}
	return b.String()
}

// TestEffects holds the page's table to the cases.
func TestEffects(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases() {
		if c.About != "" && effects[c.About] == "" {
			t.Errorf("case %s: nothing is said about %q", c.Name, c.About)
		}
		seen[c.About] = true
	}
	for about := range effects {
		if !seen[about] {
			t.Errorf("no case is about %q", about)
		}
	}
}

// TestJudge shows that the checker can say no: each defect is one that it is there to find.
func TestJudge(t *testing.T) {
	tr := &groundTruth{
		Kind: hist, Mode: alone,
		Entries: []entry{
			{Job: "a", N: map[string]int64{"read": 100}, Issued: map[string]int64{"read": 100}},
			{Job: "b", N: map[string]int64{"read": 50}, Issued: map[string]int64{"read": 50}},
		},
		Logged: map[string]int64{"read": 130}, Fullest: map[string]int64{"read": 20},
		Records: map[string][][2]int64{"read": {{500, 30}, {1000, 30}, {1500, 40}, {2000, 30}}},
	}
	rows := func(a, b float64, at ...float64) []row {
		all := []row{
			{Scope: "job+direction", Job: "a", Direction: "read", Samples: a},
			{Scope: "job+direction", Job: "b", Direction: "read", Samples: b},
		}
		for i, n := range at {
			all = append(all, row{Scope: "direction", Direction: "read", Offset: float64(i) * 500, Samples: n})
		}
		return all
	}
	for _, c := range []struct {
		name        string
		rows        []row
		json        bool
		sums, times bool
	}{
		{"right", rows(100, 50, 30, 30, 40, 30, 20), true, false, false},
		{"right without JSON", rows(0, 0, 30, 30, 40, 30), false, false, false},
		{"tail missing", rows(100, 50, 30, 30, 40, 30), true, true, false},
		{"too many", rows(100, 50, 60, 60, 80, 60), false, true, true},
		{"wrong job", rows(50, 100, 30, 30, 40, 30, 20), true, true, false},
		{"all in the last second", rows(100, 50, 0, 0, 0, 0, 150), true, false, true},
		{"nothing", nil, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sums, times := tr.judge(c.rows, c.json)
			if (sums != "") != c.sums || (times != "") != c.times {
				t.Errorf("sums %q, times %q", sums, times)
			}
		})
	}
}

// TestReadable: logs of unified_rw_reporting=both are readable if they hold what fio counted by direction.
func TestReadable(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts map[string]int64
		logged int64
		want   bool
	}{
		{"mixed", map[string]int64{"mixed": 200}, 90, true},
		{"both", map[string]int64{"mixed": 200, "read": 100, "write": 100}, 90, true},
		{"both, and a log is another's", map[string]int64{"mixed": 400, "read": 200, "write": 200}, 90, false},
	} {
		tr := &groundTruth{Kind: hist, Mode: ports, Entries: []entry{{N: c.counts}},
			Logged:  map[string]int64{"read": c.logged, "write": c.logged},
			Fullest: map[string]int64{"read": 20, "write": 20}}
		if got := tr.readable(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestAccount shows that an account that does not add up is found.
func TestAccount(t *testing.T) {
	for _, c := range []struct {
		name    string
		account account
		bad     bool
	}{
		{"whole", account{Logged: 90, Counted: 100, Known: true, Missing: 10, Restored: 10, Placed: 100}, false},
		{"named", account{Logged: 90, Counted: 100, Known: true, Missing: 10, NotPlaced: 10, Placed: 90}, false},
		{"no totals", account{Logged: 90, Placed: 90}, false},
		{"more than logged", account{Logged: 90, Placed: 100}, true},
		{"a silent loss", account{Logged: 90, Counted: 100, Known: true, Missing: 10, Placed: 90}, true},
		{"not missed", account{Logged: 90, Counted: 100, Known: true, Placed: 90}, true},
	} {
		if text := c.account.checkSums(); (text != "") != c.bad {
			t.Errorf("%s: %q", c.name, text)
		}
	}
	a := answer{Verdict: named, truth: &groundTruth{Kind: hist, Logs: []string{"h_clat_hist.1.log"}}}
	used := use{Path: "run/h_clat_hist.1.log", Use: "used"}
	for _, c := range []struct {
		name     string
		uses     []use
		warnings []string
		bad      bool
	}{
		{"a warning of the run", []use{used}, []string{"lost"}, false},
		{"a warning of the log", []use{{used.Path, "used with a warning", []string{"lost"}, nil}}, nil, false},
		{"no reason", []use{{used.Path, "not used", nil, nil}}, nil, true},
		{"no warning", []use{used}, nil, true},
		{"no log", nil, []string{"lost"}, true},
	} {
		if text := a.checkUses(c.uses, nil, c.warnings, "run"); (text != "") != c.bad {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}
