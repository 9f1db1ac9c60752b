package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
)

// madeRun is a folder with the log of a made-up run of two minutes.
func madeRun(t *testing.T, seed uint64, median time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	log := testlog.Config{Seed: seed, Dirs: []fio.Direction{fio.Read, fio.Write}, Duration: 120 * time.Second,
		Rate:    400,
		Latency: testlog.Mixture(testlog.LogNormal(median, 0.4), testlog.LogNormal(20*median, 0.4), 0.03)}.Log()
	if err := os.WriteFile(filepath.Join(dir, "a_clat_hist.1.log"), log, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

type compared struct {
	Confidence  float64
	Comparisons []struct {
		Baseline, Other struct {
			Name       string
			Intervals  int `json:"quanta"`
			Runs       int
			IntervalMS float64 `json:"interval_ms"`
		}
		Rows []struct {
			Direction, Metric, Verdict string
			Baseline, Other, Change    *float64
			fio.Limits                 `json:"ci"`
			RunNoise                   *float64 `json:"run_noise"`
		}
		Caveat, Note string
	}
	Group *struct {
		Name string
		Runs int
		Rows []struct {
			Direction, Metric string
			Value             *float64
			RunNoise          *float64 `json:"run_noise"`
		}
	}
	FailIf []struct {
		Rule, Run string
		Failed    bool
	} `json:"fail_if"`
}

func compareJSON(t *testing.T, want int, args ...string) (c compared) {
	t.Helper()
	code, stdout, stderr := fiolat(t, nil, append([]string{"compare", "--format", "json"}, args...)...)
	if code != want {
		t.Fatalf("exit %d, want %d\n%s", code, want, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompare(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	base, again, slower := madeRun(t, 1, 100*time.Microsecond), madeRun(t, 2, 100*time.Microsecond), madeRun(t, 3,
		110*time.Microsecond)
	docs := filepath.Join(t.TempDir(), "docs")
	if code, _, stderr := fiolat(t, nil, "ingest", "--start", "2026-01-01T00:00:00Z", "--output", docs,
		again); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	c := compareJSON(t, exitCompare, "--run-noise", "1%/100", "--fail-if", "read p50 +5%",
		"--fail-if", "p90 +50%", base, docs, slower)
	if len(c.Comparisons) != 2 || c.Confidence != 0.95 {
		t.Fatalf("%+v", c)
	}
	for i, want := range []string{"same", "higher"} {
		for _, row := range c.Comparisons[i].Rows {
			if row.Metric == "p50" && row.Verdict != want ||
				row.Metric == "iops" && (row.Verdict == "higher" || row.Verdict == "lower") {
				t.Errorf("%s: %+v, want %s", c.Comparisons[i].Other.Name, row, want)
			}
			if row.Low == nil || *row.Low > *row.Change || *row.High < *row.Change {
				t.Errorf("the limits do not enclose the change: %+v", row)
			}
		}
		if n := len(c.Comparisons[i].Rows); n != 3*7 {
			t.Errorf("%d rows, want p50, p90, p95, p99, p99.9, mean and iops of all, read and write", n)
		}
	}
	var failed []bool
	for _, f := range c.FailIf {
		failed = append(failed, f.Failed)
	}
	if want := []bool{false, false, true, false}; len(failed) != 4 || failed[0] != want[0] || failed[1] != want[1] ||
		failed[2] != want[2] || failed[3] != want[3] {
		t.Errorf("rules failed: %+v", c.FailIf)
	}

	// The same from the logs and from their documents, but for the rounding of counts.
	a, b := compareJSON(t, exitOK, base, again), compareJSON(t, exitOK, base, docs)
	a.Comparisons[0].Other.Name, b.Comparisons[0].Other.Name = "", ""
	var x, y any
	for v, of := range map[*any]any{&x: a, &y: b} {
		text, err := json.Marshal(of)
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := near("", y, x); d != "" {
		t.Error(d)
	}

	for _, format := range []string{"table", "markdown"} {
		code, stdout, stderr := fiolat(t, nil, "compare", "--format", format, "--run-noise", "0%", "--fail-if",
			"read p50 +5%", base, slower)
		if code != exitCompare || !strings.Contains(stderr, "--fail-if") || !strings.Contains(stdout,
			"FAILED: read p50 +") || !strings.Contains(stdout, "higher") {
			t.Errorf("%s: exit %d\n%s\n%s", format, code, stdout, stderr)
		}
		if rows := strings.Count(stdout, "\n| "); (rows == 3) != (format == "markdown") {
			t.Errorf("%s has %d rows of Markdown:\n%s", format, rows, stdout)
		}
	}
	if c := compareJSON(t, exitOK, real+"/gaps", real+"/gaps", "--interval",
		"5s"); !strings.Contains(c.Comparisons[0].Note, "3 intervals of 5 s") || c.Comparisons[0].Rows[0].Low != nil {
		t.Errorf("limits from three intervals: %+v", c.Comparisons[0])
	}
}

// TestManageUsage: what is wrong with the command line is said before anything is
// asked of Elasticsearch, which is not there.
func TestManageUsage(t *testing.T) {
	t.Setenv("ELASTICSEARCH_URL", "")
	gaps := real + "/gaps"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"compare", gaps}, "at least one other run"},
		{[]string{"compare", "--fail-if", "read p99", gaps, gaps}, "[DIRECTION] METRIC CHANGE%"},
		{[]string{"compare", "--fail-if", "trim p99 +1%", gaps, gaps}, "has no I/O that this rule applies to"},
		{[]string{"compare", "--percentiles", "50,100", gaps, gaps}, "100"},
		{[]string{"compare", "--fail-if", "read p99 +10%", gaps, gaps}, "--run-noise 'p99=P%'"},
		{[]string{"compare", "--fail-if", "read p99 +10%", "--run-noise", "write p99=3%", gaps, gaps},
			"--run-noise 'p99=P%'"},
		{[]string{"compare", "--run-noise", "p99", gaps, gaps}, "percentage"},
		{[]string{"compare", "--run-noise", "p100=3%", gaps, gaps}, "METRIC="},
		{[]string{"compare", "--run-noise", "-3%", gaps, gaps}, "from 0%"},
		{[]string{"compare", "--margin", "5", gaps, gaps}, "--margin"},
		{[]string{"compare", "a=" + gaps + "," + gaps, gaps}, "twice"},
		{[]string{"compare", "a=" + gaps + ",", gaps}, "NAME=RUN,RUN"},
		{[]string{"compare", "a=" + gaps + "," + real + "/slow", gaps}, "is in a and in"},
		{[]string{"runs"}, "no Elasticsearch"},
		{[]string{"runs", "--since", "yesterday"}, "such as 12h or 7d"},
		{[]string{"runs", "--label", "x"}, "KEY=VALUE"},
		{[]string{"annotate", "r", "text"}, "--at +90s"},
		{[]string{"annotate", "--at", "noon", "r", "text"}, "offset from the run"},
		{[]string{"annotate", "--at", "90", "r", "text"}, "offset from the run"},
		{[]string{"annotate", "--at", "+1x", "r", "text"}, "duration"},
		{[]string{"annotate", "--at", "+1s", "r", " "}, "what happened"},
		{[]string{"delete"}, "name runs"},
		{[]string{"delete", "r"}, "--yes"},
		{[]string{"delete", "--yes", "r"}, "no Elasticsearch"},
	} {
		code, stdout, stderr := fiolat(t, nil, tt.args...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) || stdout != "" {
			t.Errorf("%v: exit %d, want %d and %q in:\n%s%s", tt.args, code, exitUsage, tt.want, stdout, stderr)
		}
	}
	for _, name := range []string{"no-such-run", "label:build=1"} {
		refused(t, exitInput, []string{name + ": no such file", "pass --es URL"}, "compare", gaps, name)
	}
}

// TestCompareGroups: a tree and NAME=RUN,RUN are groups, what is shown moves no verdict and no exit code, and a group
// by itself says what its runs differ by.
func TestCompareGroups(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	tree := t.TempDir()
	var before []string
	for seed := range uint64(4) {
		dir := madeRun(t, 10+seed, 100*time.Microsecond)
		to := filepath.Join(tree, filepath.Base(dir))
		if err := os.Rename(dir, to); err != nil {
			t.Fatal(err)
		}
		before = append(before, to)
	}
	var after []string
	for seed := range uint64(4) {
		after = append(after, madeRun(t, 20+seed, 120*time.Microsecond))
	}
	slower := "slower=" + strings.Join(after, ",")
	c := compareJSON(t, exitCompare, "--fail-if", "read p50 +10%", "--fail-if", "iops -5%", tree, slower)
	r := c.Comparisons[0]
	if r.Baseline.Name != tree || r.Baseline.Runs != 4 || r.Other.Name != "slower" || r.Other.Runs != 4 ||
		r.Caveat != "" {
		t.Fatalf("%+v", r)
	}
	limits := map[string]float64{}
	for _, row := range r.Rows {
		want := map[string]string{"p50": "higher", "p90": "higher"}[row.Metric]
		if row.Low == nil || row.RunNoise == nil || want != "" && row.Verdict != want {
			t.Errorf("%+v, want %s", row, want)
		}
		limits[row.Direction+row.Metric] = *row.Low
	}
	if len(c.FailIf) != 2 || !c.FailIf[0].Failed || c.FailIf[1].Failed {
		t.Errorf("%+v", c.FailIf)
	}
	c = compareJSON(t, exitCompare, "--percentiles", "99,97.5", "--fail-if", "read p50 +10%", "--fail-if", "iops -5%",
		tree, slower)
	for _, row := range c.Comparisons[0].Rows {
		if low, ok := limits[row.Direction+row.Metric]; ok && low != *row.Low {
			t.Errorf("--percentiles moves the limit of %s %s from %g to %g", row.Direction, row.Metric, low, *row.Low)
		}
	}
	if c := compareJSON(t, exitOK, tree); c.Group == nil || c.Group.Runs != 4 || *c.Group.Rows[0].Value < 8e4 ||
		*c.Group.Rows[0].RunNoise > 0.05 {
		t.Errorf("%+v", c.Group)
	}
	_, stdout, _ := fiolat(t, nil, "compare", "--format", "markdown", "two="+before[0]+","+before[1], before[2])
	if !strings.HasPrefix(stdout, "2 and 1 runs: too few to estimate run-to-run variation; use at least 3 per side") {
		t.Errorf("too few runs:\n%s", stdout)
	}
	refused(t, exitUsage, []string{"is in a twice"}, "compare", "--by", "job",
		"a="+real+"/gaps,"+before[0]+","+before[0], before[1])
}

// Names in Markdown are no tags or links.
func TestCompareMarkdownNames(t *testing.T) {
	t.Parallel()
	name := `<script>alert(1)</script>[x](javascript:alert(1))`
	_, stdout, _ := fiolat(t, nil, "compare", "--format", "markdown", "--run-noise", "0%", "--fail-if", "read p50 +5%",
		name+"="+real+"/gaps", name+"2="+real+"/slow")
	for _, want := range []string{"baseline: ", "run: ", "fail if read p50 +5%: "} {
		if !strings.Contains(stdout, want+`\<script>alert(1)\</script>[x]\(javascript:alert(1))`) {
			t.Errorf("after %q is no escaped name:\n%s", want, stdout)
		}
	}
	if strings.Count(stdout, "<script") != strings.Count(stdout, `\<script`) {
		t.Errorf("a tag in\n%s", stdout)
	}
}

// A run against the stored runs of its series before it, a directory of documents as a group, and what is
// said of groups that drift could explain or that are no repeats.
func TestCompareWithHistory(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	dirs, docs := nights(t), filepath.Join(t.TempDir(), "docs")
	ingest := func(i int) {
		args := []string{"ingest", "--start", fmt.Sprintf("2026-01-%02dT02:00:00Z", i+1), "--label", "series=nightly",
			"--interval", "1s", "--run-id", fmt.Sprintf("night-%02d", i+1)}
		must(t, append(args, "--es", s.URL, dirs[i])...)
		must(t, append(args, "--output", docs, dirs[i])...)
	}
	baseline := []string{"--interval", "1s", "--es", s.URL, "--baseline", "label:series=nightly", "--fail-if",
		"read p50 +10%"}
	for i := range 4 {
		ingest(i)
	}
	refused(t, exitUsage, []string{"4 runs of this workload", "it takes 5"}, append(append([]string{"compare"},
		baseline...), dirs[9])...)
	for i := 4; i < 8; i++ {
		ingest(i)
	}
	slower := compareJSON(t, exitCompare, append(baseline, dirs[9])...)
	if c := slower.Comparisons[0]; c.Baseline.Runs != 8 || c.Caveat != "" || c.Rows[0].Metric != "p50" ||
		c.Rows[0].Verdict != "higher" {
		t.Errorf("%+v", c)
	}
	// One of the series, against those before it.
	if c := compareJSON(t, exitOK, append(baseline, "night-07")...).Comparisons[0]; c.Baseline.Runs != 6 ||
		c.Rows[0].Verdict == "higher" || c.Rows[0].Verdict == "lower" {
		t.Errorf("%+v", c)
	}
	ingest(8)
	ingest(9)
	// Of one that nobody knows the start of: the series as it is, two runs after its change.
	refused(t, exitUsage, []string{"since its change at 2026-01-09T02:00:00Z: 2 runs"}, append(append(
		[]string{"compare"}, baseline...), madeRun(t, 77, 100*time.Microsecond))...)

	group := compareJSON(t, exitOK, docs).Group
	logs := compareJSON(t, exitOK, append([]string{"--interval", "1s"}, "all="+strings.Join(dirs, ","))...).Group
	if group == nil || group.Runs != 10 || math.Abs(*group.Rows[0].Value / *logs.Rows[0].Value - 1) > 1e-4 {
		t.Errorf("a directory of documents of ten runs: %+v", group)
	}

	const drift = "started before"
	es := []string{"--es", s.URL}
	c := compareJSON(t, exitOK, append(es, "a=night-01,night-02,night-03", "b=night-04,night-05,night-06")...)
	if note := c.Comparisons[0].Note; !strings.Contains(note, "all runs of a "+drift+" those of b") {
		t.Errorf("one group before the other: %q", note)
	}
	if note := slower.Comparisons[0].Note; note != "" {
		t.Errorf("a run against the series before it: %q", note)
	}
	c = compareJSON(t, exitOK, append(es, "a=night-01,night-03,night-05", "b=night-02,night-04,night-06")...)
	if note := c.Comparisons[0].Note; strings.Contains(note, drift) {
		t.Errorf("groups in turn: %q", note)
	}
	fio := filepath.Join("..", "..", "testdata", "fio")
	if _, _, stderr := fiolat(t, nil, "compare", "g="+filepath.Join(fio, "exact")+","+filepath.Join(fio,
		"randrw")); !strings.Contains(stderr, "g holds runs of different workloads") {
		t.Errorf("a group of unlike runs: %s", stderr)
	}
}

// TestComparePlainJSON compares runs of which there is only fio's JSON without histograms.
func TestComparePlainJSON(t *testing.T) {
	plain := func(iops, p99 int) string {
		return fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":1790000000000,"jobs":[{"jobname":"a",`+
			`"job_runtime":10000,"job options":{"rw":"randread"},"read":{"io_bytes":%d,"iops":%d,"runtime":10000,`+
			`"total_ios":%d,"clat_ns":`+
			`{"min":100,"max":9000,"mean":500,"stddev":9,"N":%d,"percentile":{"50.000000":400,"99.000000":%d}}}}]}`,
			40960*iops, iops, 10*iops, 10*iops, p99)
	}
	dir := layoutFiles(t, map[string]string{"before.json": plain(200, 2000), "after.json": plain(180, 3000),
		"repeats/1.json": plain(201, 2010), "repeats/2.json": plain(199, 1990), "repeats/3.json": plain(200, 2001)})
	before, after := filepath.Join(dir, "before.json"), filepath.Join(dir, "after.json")
	code, out, stderr := fiolat(t, nil, "compare", before, after)
	for _, want := range []string{`read +p50 .* \+0\.00 %`, `read +p99 +2\.000 +3\.000 +\+50\.00 % +-`,
		`read +iops +200\.0/s +180\.0/s +-10\.00 %`} {
		if !regexp.MustCompile(want).MatchString(out) || code != 0 {
			t.Errorf("exit %d, want %s\n%s%s", code, want, out, stderr)
		}
	}
	logs := "../../testdata/fio/randrw"
	if code, out, stderr = fiolat(t, nil, "compare", before, logs); code != 0 || !strings.Contains(out, "figures only") {
		t.Errorf("with logs: exit %d\n%s%s", code, out, stderr)
	}
	code, out, stderr = fiolat(t, nil, "compare", "--fail-if", "read p99 +20%", "r="+filepath.Join(dir,
		"repeats/1.json")+
		","+filepath.Join(dir, "repeats/2.json")+","+filepath.Join(dir, "repeats/3.json"), after)
	if code == 0 {
		t.Errorf("a rule without enough runs is judged\n%s%s", out, stderr)
	}
}

// TestCompareByHost: the host that changed is named first, with the others' tables after it, and a host of one run
// alone is left out by name.
func TestCompareByHost(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	run := func(seed uint64, medians map[string]time.Duration) string {
		dir := t.TempDir()
		for i, host := range slices.Sorted(maps.Keys(medians)) {
			if err := os.Rename(madeRun(t, seed+uint64(i), medians[host]), filepath.Join(dir, host)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	const usual = 100 * time.Microsecond
	before := run(10, map[string]time.Duration{"h1": usual, "h2": usual, "h3": usual})
	after := run(20, map[string]time.Duration{"h1": usual, "h2": usual + usual/2, "h4": usual})
	args := []string{"compare", "--by", "host", "--hosts-by", "folder"}
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		out    string
		stderr string
	}{
		{"the host that changed", []string{before, after}, exitOK,
			`^changed most in .+, not for certain: host h2: (read|write) p[\d.]+ from .* to .*, \+\d\d\.\d\d % .*\n\n` +
				`host: h1\n(.*\n)*host: h2\n`,
			`left out: host "h3" is only in .*and 1 more like it: "h4"`},
		{"a rule", []string{"--run-noise", "0%", "--fail-if", "p50 +20%", before, after}, exitCompare,
			`, host h2: FAILED: read p50 `, ""},
		{"the same", []string{before, before}, exitOK, `^host: h1\n`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, stderr := fiolat(t, nil, append(slices.Clone(args), tt.args...)...)
			if code != tt.code || !regexp.MustCompile(tt.out).MatchString(out) ||
				!regexp.MustCompile(tt.stderr).MatchString(stderr) {
				t.Errorf("exit %d, want %d\n%s%s", code, tt.code, out, stderr)
			}
		})
	}
	_, out, _ := fiolat(t, nil, append(args, "--format", "json", before, after)...)
	if !regexp.MustCompile(`"host": "h2",\s+"direction": "\w+",\s+"metric": "[\w.]+",\s+"certain": false`).
		MatchString(out) {
		t.Error(out)
	}
}
