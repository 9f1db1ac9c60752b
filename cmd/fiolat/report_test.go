package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// numbers are all numbers of a page that its script draws, and those of its kinds.
func numbers(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)id="h-whole".*?</section>|id="packed">.*?</script>`).
		FindAllString(string(b), -1)
	want := 1
	if strings.Contains(string(b), `id="kinds"`) {
		want = 2
	}
	if len(m) != want || len(m[want-1]) < 300 {
		t.Fatalf("%s: %d blocks of numbers", file, len(m))
	}
	return strings.Join(m, "")
}

// stores are where a run can be stored: each takes flags and logs, and returns the
// arguments for report.
func testReportStored(t *testing.T, store func(t *testing.T, logs []string) []string) {
	for _, tt := range []struct{ folder, kinds string }{
		{"randrw", "clat"}, {"cluster", "clat"}, {"gaps", "clat"}, {"slow", "clat"}, {"latkinds", "all"}, {"latkinds",
			"lat,slat"}, {"kinds", "all"}, {"latkinds", "slat"},
	} {
		t.Run(tt.folder+"/"+tt.kinds, func(t *testing.T) {
			dir := t.TempDir()
			logs, stored := filepath.Join(dir, "logs.html"), filepath.Join(dir, "stored.html")
			// Whole counts, which documents do not round, are of one interval.
			args := []string{"--kind", tt.kinds, "--interval", "1h", real + "/" + tt.folder}
			if code, _, stderr := fiolat(t, nil, append([]string{"report", "-o", logs, "--by", "host,direction"},
				args...)...); code != exitOK {
				t.Fatalf("exit %d\n%s", code, stderr)
			}
			code, _, stderr := fiolat(t, nil, append([]string{"report", "-o", stored}, store(t, args)...)...)
			if code != exitOK || !strings.Contains(stderr, stored) {
				t.Fatalf("exit %d\n%s", code, stderr)
			}
			if numbers(t, logs) != numbers(t, stored) {
				t.Error("the page of the stored run has other numbers than that of its logs")
			}
		})
	}
}

// A page of stored documents is that of the logs they were made of, and so is the
// one that ingest leaves beside them.
func TestReportOfDirectory(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	testReportStored(t, func(t *testing.T, logs []string) []string {
		docs := filepath.Join(t.TempDir(), "docs")
		if code, _, stderr := fiolat(t, nil, append([]string{"ingest", "--output", docs},
			logs...)...); code != exitOK || !strings.Contains(stderr, "report.html") {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		beside := filepath.Join(t.TempDir(), "again.html")
		if code, _, stderr := fiolat(t, nil, "report", "-o", beside, docs); code != exitOK {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		if numbers(t, filepath.Join(docs, "report.html")) != numbers(t, beside) {
			t.Error("the page beside the documents has other numbers")
		}
		return []string{docs}
	})
}

func TestReportOfElasticsearch(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	testReportStored(t, func(t *testing.T, logs []string) []string {
		es := esmodeltest.New(t, esmodeltest.Options{Histogram: true}).URL
		if code, _, stderr := fiolat(t, nil, append([]string{"ingest", "--es", es, "--run-id", "r"},
			logs...)...); code != exitOK {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		return []string{"--es", es, "r"}
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	docs := at("docs")
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", docs, real+"/gaps", real+"/slow"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	if pages, err := filepath.Glob(docs + "/report.*.html"); err != nil || len(pages) != 2 {
		t.Errorf("pages beside two runs: %v, %v", pages, err)
	}
	tests := []struct {
		name string
		args []string
		code int
		want string
		file bool // one is there afterwards
	}{
		{"a page", []string{"-o", at("a.html"), real + "/gaps"}, exitOK, "1 log, 1,200 I/Os", true},
		{"its name and percentiles", []string{"-o", at("b.html"), "--run-name", "the one", "--percentiles", "50,99.99",
			real + "/gaps"}, exitOK, "page", true},
		{"a broken SLA rule", []string{"-o", at("l.html"), "--sla", "read p99 < 60ns", "--fail-on-sla", real + "/gaps"},
			exitSLA, "read p99 < 60ns", true},
		{"dry run", []string{"-o", at("c.html"), "--dry-run", real + "/gaps"}, exitOK, "bytes would be written", false},
		{"no logs named", []string{"-o", at("d.html")}, exitUsage, "name the logs", false},
		{"several runs", []string{"-o", at("e.html"), real + "/gaps", real + "/slow"}, exitOK, "page", true},
		{"nowhere to write", []string{"-o", at("no/f.html"), real + "/gaps"}, exitUsage, "--output", false},
		{"standard output", []string{"-o", "-", real + "/gaps"}, exitUsage, "pages and pictures are not printed",
			false},
		{"a directory to write to", []string{"-o", docs, real + "/gaps"}, exitUsage, "not a regular file", true},
		{"several stored runs", []string{"-o", at("g.html"), docs}, exitOK, "page", true},
		{"one of several stored runs", []string{"-o", at("k.html"), "--run-id", "2084907ae99336836b205119778c1605",
			docs}, exitOK, "1 log, 1,200 I/Os", true},
		{"settings of a stored run", []string{"-o", at("h.html"), "--interval", "5s", docs}, exitUsage, "--interval",
			false},
		{"bad logs", []string{"-o", at("j.html"), "../../ingest/fiolog/testdata/logs/fio-3.33-log_compression"},
			exitInput, "log_compression", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := fiolat(t, nil, append([]string{"report"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit %d, want %d and %q\n%s%s", code, tt.code, tt.want, stdout, stderr)
			}
			if tt.args[0] != "-o" {
				return
			}
			if _, err := os.Stat(tt.args[1]); (err == nil) != tt.file {
				t.Errorf("the page: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Dir(tt.args[1]) + "/.*" + filepath.Base(tt.args[1]) +
				"*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
