package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

const real = "../../testdata/fio"

// fiolat runs the whole program in this process.
func fiolat(t testing.TB, stdin []byte, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), append([]string{"fiolat"}, args...), bytes.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// goodLog is a real log.
func goodLog(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(real + "/gaps/gaps_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBadInput(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	good := goodLog(t)
	lines := bytes.SplitAfter(good, []byte("\n"))
	third := func(edit func(line []byte) []byte) []byte {
		var out []byte
		for i, l := range lines {
			if i == 2 {
				l = edit(bytes.Clone(l))
			}
			out = append(out, l...)
		}
		return out
	}
	field := func(n int, v string) func([]byte) []byte {
		return func(line []byte) []byte {
			f := strings.Split(string(line), ", ")
			f[n] = v
			return []byte(strings.Join(f, ", "))
		}
	}
	tests := []struct {
		name string
		file string // bad_clat_hist.1.log unless said
		data []byte
		at   string // what the message names
		want []string
		// rest is how many lines --skip-bad skips; -1: the whole log is skipped.
		rest int
	}{
		{name: "1855 buckets", data: third(func(l []byte) []byte { return append(l[:len(l)-4], '\n') }), at: ".log:3:",
			want: []string{"1855", "1856"}, rest: 1},
		{name: "letters", data: third(field(40, "x1")), at: ".log:3:", want: []string{"column 41 is not a number"},
			rest: 1},
		{name: "a negative number", data: third(field(40, "-1")), at: ".log:3:",
			want: []string{"column 41 is negative"}, rest: 1},
		{name: "beyond 2^64", data: third(field(40, "18446744073709551617")), at: ".log:3:",
			want: []string{"18446744073709551617"}, rest: 1},
		{name: "a wrapped counter", data: third(field(40, "18446744073709551610")), at: ".log:3:",
			want: []string{"wrap"}, rest: 1},
		{name: "direction 3", data: third(field(1, "3")), at: ".log:3:", want: []string{"direction"}, rest: 1},
		{name: "a cut last line", data: good[:len(good)-2000], at: ".log:20:", want: []string{"cut"}, rest: 1},
		{name: "a byte-order mark", data: append([]byte("\xef\xbb\xbf"), good...), at: ".log:1:",
			want: []string{"byte-order mark"}, rest: 1},
		{name: "a 100 MB line", data: third(func([]byte) []byte {
			return append(bytes.Repeat([]byte("0, "), 100<<20/3), '\n')
		}), at: ".log:3:", want: []string{"a line of more than"}, rest: 1},
		{name: "binary data", data: third(func(l []byte) []byte { return append([]byte{0, 1, 2, 0xff}, l...) }),
			at: ".log:3:", want: []string{"binary"}, rest: 1},
		{name: "a gz that ends early", file: "bad_clat_hist.1.log.gz",
			data: testkit.Gzipped(good)[:len(testkit.Gzipped(good))/2],
			at:   ".log.gz", want: []string{"gzip"}, rest: -1},
		{name: "log_compression", data: []byte("1, 94230894823, 0, 4096, 0\n2, 94230894899, 0, 4096, 0\n"),
			at: ".log:1:", want: []string{"log_compression"}, rest: -1},
		{name: "all zero", data: allZero(lines), at: ".log", want: []string{"clat_percentiles"}, rest: -1},
		{name: "time runs backwards", data: append(bytes.Clone(good), lines[0]...), at: ".log:21:",
			want: []string{"backwards", "per_job_logs=0"}, rest: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name := tt.file
			if name == "" {
				name = "bad_clat_hist.1.log"
			}
			bad := filepath.Join(dir, name)
			if err := os.WriteFile(bad, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			for _, args := range [][]string{
				{"percentiles", "--format", "ndjson", bad},
				{"ingest", "--start", "2026-01-01T00:00:00Z", "--output", out, bad},
				{"inspect", bad},
			} {
				code, stdout, stderr := fiolat(t, nil, args...)
				if code != exitInput {
					t.Errorf("%s: exit %d, want %d\n%s", args[0], code, exitInput, stderr)
				}
				for _, want := range append(tt.want, tt.at) {
					if !strings.Contains(stderr, want) {
						t.Errorf("%s: the message does not say %q:\n%.2000s", args[0], want, stderr)
					}
				}
				if args[0] == "percentiles" && stdout != "" {
					t.Errorf("rows were printed all the same:\n%.500s", stdout)
				}
			}
			if found, _ := filepath.Glob(filepath.Join(out, "*.ndjson")); len(found) > 0 {
				t.Errorf("documents were written all the same: %v", found)
			}

			// With a good log beside it, --skip-bad goes on, and says so.
			if err := os.WriteFile(filepath.Join(dir, "good_clat_hist.2.log"), good, 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := fiolat(t, nil, "percentiles", "--format", "json", "--log-format", "json",
				"--skip-bad", dir)
			if code != exitOK {
				t.Fatalf("--skip-bad: exit %d\n%.2000s", code, stderr)
			}
			var got struct {
				Account struct {
					Logs         int `json:"logs"`
					LogsSkipped  int `json:"logs_skipped"`
					LinesSkipped int `json:"lines_skipped"`
				}
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			wantLogs, wantLines := 1, 0
			if tt.rest >= 0 {
				wantLogs, wantLines = 2, tt.rest
			}
			if got.Account.Logs != wantLogs || got.Account.LogsSkipped != 2-wantLogs ||
				got.Account.LinesSkipped != wantLines {
				t.Errorf("--skip-bad: %+v, want %d logs and %d lines skipped\n%.2000s", got.Account, wantLogs,
					wantLines, stderr)
			}
			if !strings.Contains(stderr, name) {
				t.Errorf("--skip-bad does not name %s:\n%.2000s", name, stderr)
			}
		})
	}
}

// allZero is the log without any I/O.
func allZero(lines [][]byte) (out []byte) {
	for _, l := range lines {
		f := strings.Split(strings.TrimSpace(string(l)), ", ")
		for i := 3; i < len(f); i++ {
			f[i] = "0"
		}
		if len(f) > 3 {
			out = append(out, strings.Join(f, ", ")+"\n"...)
		}
	}
	return out
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no arguments", []string{"percentiles"}, exitUsage, "name the logs"},
		{"unknown command", []string{"percentile"}, exitUsage, `no such command: "percentile"`},
		{"flag without its value", []string{"percentiles", "run", "--from"}, exitUsage,
			"--from needs a value; see fiolat percentiles --help"},
		{"unknown flag", []string{"percentiles", "--wat", "x"}, exitUsage, "wat"},
		{"several faults at once", []string{"percentiles", "--interval", "x", "--by", "disk", "--align", "y", empty},
			exitUsage, `--by "disk"`},
		{"flag after the path", []string{"percentiles", real + "/gaps", "--format", "xml"}, exitUsage,
			`--format "xml"`},
		{"missing file", []string{"percentiles", empty + "/no_clat_hist.1.log"}, exitInput, "no_clat_hist.1.log"},
		{"directory without logs", []string{"percentiles", empty}, exitInput, "write_hist_log"},
		{"glob without a match", []string{"percentiles", empty + "/*_clat_hist.*.log"}, exitInput, "*_clat_hist.*.log"},
		{"a part without a run", []string{"ingest", "--part", "a", real + "/gaps"}, exitUsage, "--run-id"},
		{"an empty run id", []string{"ingest", "--run-id", "", real + "/gaps"}, exitUsage, `--run-id "": it is empty`},
		{"a run id that cannot be stored", []string{"ingest", "--dry-run", "--run-id", strings.Repeat("x", 513),
			real + "/gaps"}, exitUsage, "--run-id is longer than 512 bytes"},
		{"a label that cannot be found", []string{"ingest", "--dry-run", "--label", "a=" + strings.Repeat("x", 513),
			real + "/gaps"}, exitUsage, `the value of label "a" is longer than 512 bytes`},
		{"an offset of a host that is not there", []string{"percentiles", "--offset", "nobody=1s", real + "/cluster"},
			exitUsage, "nobody"},
		{"several runs", []string{"percentiles", real}, exitUsage, "12 runs"},
		{"a command that is gone", []string{"explain", "libaio"}, exitUsage, "fiolat inspect PATH has"},
		{"a flag that is gone", []string{"setup", "--rollup-after", "720h"}, exitUsage, "let cron run fiolat rollup"},
		{"finer than logged", []string{"percentiles", "--coarseness", "1", real + "/epoch"}, exitUsage,
			"log_hist_coarseness=3"},
		{"no wall clock", []string{"ingest", "--output", empty + "/out", real + "/live/live_clat_hist.1.log",
			"--fio-json", real + "/gaps/gaps.fio"}, exitInput, "gaps.fio"},
		{"auto from a pipe", []string{"percentiles", "--interval", "auto", "-"}, exitUsage, "only once"},
		{"auto with a strange accuracy", []string{"percentiles", "--interval", "auto", "--accuracy", "0.1", real +
			"/gaps"}, exitUsage, "such as 10%"},
		{"accuracy without auto", []string{"percentiles", "--accuracy", "5%", real + "/gaps"}, exitUsage,
			"--interval auto"},
		{"like: its own usage", []string{"percentiles", "--like", "fiologparser_hist"}, exitUsage, "no log is named"},
		{"like: unknown program", []string{"percentiles", "--like", "fio"}, exitUsage, "fiologparser_hist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := fiolat(t, nil, tt.args...)
			if code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, want %d and %q in:\n%s", code, tt.code, tt.want, stderr)
			}
			if stdout != "" {
				t.Errorf("standard output is for data, but says:\n%s", stdout)
			}
		})
	}
}

var folders = []string{"randrw", "exact", "gaps", "slow", "epoch", "trim", "latkinds", "cluster", "startdelay", "live"}

// TestStandIn: a server that enforces all rules of the histogram field, and more
// than Elasticsearch does, accepts every document of every real log; and it gets
// the mapping with the type. With -short each folder has one of the two settings.
func TestStandIn(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for i, folder := range folders {
		for k, flags := range [][]string{nil, {"--align", "inflight", "--interval", "300ms", "--by",
			"direction,host,job,log"}} {
			if testing.Short() && i%2 != k {
				continue
			}
			t.Run(fmt.Sprint(folder, flags), func(t *testing.T) {
				t.Parallel()
				s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
				code, _, stderr := fiolat(t, nil, append(append([]string{"ingest", "--es", s.URL, "--output",
					t.TempDir()}, flags...), real+"/"+folder)...)
				if code != exitOK {
					t.Fatalf("exit %d\n%s", code, stderr)
				}
				if len(s.Docs("fio-histogram-*")) == 0 || len(s.Docs("fio-percentiles-*")) == 0 ||
					len(s.Docs("fio-run")) != 1 {
					t.Error("documents are missing")
				}
				template, err := json.Marshal(s.Template("fio-histogram"))
				if err != nil || !strings.Contains(string(template), `"histogram":{"type":"histogram"`) {
					t.Errorf("the template does not map the histogram type: %s %v", template, err)
				}
			})
		}
	}
}

// TestOutputAndLoad: without an Elasticsearch the same documents go into files,
// and load brings them to where ingest would have.
func TestOutputAndLoad(t *testing.T) {
	t.Parallel()
	direct, loaded := esmodeltest.New(t, esmodeltest.Options{}), esmodeltest.New(t, esmodeltest.Options{})
	dir := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"ingest", "--es", direct.URL, "--output", t.TempDir(), real + "/cluster"},
		{"ingest", "--output", dir, real + "/cluster"},
		{"load", "--es", loaded.URL, dir},
	} {
		if code, _, stderr := fiolat(t, nil, args...); code != exitOK {
			t.Fatalf("%v: exit %d\n%s", args, code, stderr)
		}
	}
	for _, pattern := range []string{"fio-histogram-*", "fio-percentiles-*"} {
		a, b := direct.Docs(pattern), loaded.Docs(pattern)
		if len(a) == 0 || len(a) != len(b) {
			t.Fatalf("%s: %d documents sent, %d loaded", pattern, len(a), len(b))
		}
		for i := range a {
			if a[i].ID != b[i].ID || string(a[i].Source) != string(b[i].Source) {
				t.Fatalf("%s: %s is not %s", pattern, a[i].Source, b[i].Source)
			}
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode is %v (%v)", info.Mode(), err)
	}
}

// TestKnownBadVersions: logs of these versions lack slow I/Os, so that fio's JSON is read instead of them.
func TestKnownBadVersions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(real + "/slow/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(real + "/slow/slow_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	for version, bad := range map[string]bool{"fio-3.5": false, "fio-3.6": true, "fio-3.16": true, "fio-3.17": false,
		"fio-3.6-12-gabcd": true} {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(dir+"/fio.json", bytes.ReplaceAll(text, []byte("fio-3.33"), []byte(version)),
			0o600), os.WriteFile(dir+"/slow_clat_hist.1.log", log, 0o600)); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := fiolat(t, nil, "percentiles", "--interval", "run", dir)
		if code != exitOK || strings.Contains(stderr, "1 log not used") != bad ||
			strings.Contains(stderr, "3.6 to 3.16") != bad {
			t.Errorf("%s: exit %d\n%s", version, code, stderr)
		}
		if code, _, stderr = fiolat(t, nil, "percentiles", "--interval", "1s", dir); (code == exitInput) != bad {
			t.Errorf("%s, with --interval: exit %d\n%s", version, code, stderr)
		}
	}
}

// TestLooksDamaged: without fio's JSON, damage is repaired only on demand.
func TestLooksDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		name := "cluster_clat_hist.1.log." + host
		b, err := os.ReadFile(real + "/cluster/" + name)
		if err == nil { // without the host's suffix nothing tells where it came from
			err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll("cluster_clat_hist.N.log", "N",
				host[len(host)-1:])), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	repaired := func(flags ...string) (int, string) {
		t.Helper()
		code, stdout, stderr := fiolat(t, nil, append([]string{"percentiles", "--format", "json", dir}, flags...)...)
		var got struct {
			Account struct {
				Repaired int `json:"logs_repaired"`
			}
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK {
			t.Fatalf("exit %d, %v\n%s", code, err, stderr)
		}
		return got.Account.Repaired, stderr
	}
	if n, said := repaired(); n != 0 || !strings.Contains(said, "may be damaged") || !strings.Contains(said,
		"--fio-json") {
		t.Errorf("%d logs repaired; said\n%s", n, said)
	}
	if n, _ := repaired("--repair", "yes"); n != 2 {
		t.Errorf("--repair yes: %d logs repaired, want 2", n)
	}
	if n, said := repaired("--repair", "no"); n != 0 || strings.Contains(said, "may be damaged") {
		t.Errorf("--repair no: %d logs repaired; said\n%s", n, said)
	}
}
