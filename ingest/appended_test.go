package ingest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/fio"
)

// TestAppended: the threads of a log without a thread number are given the entries of fio's
// JSON that their counts fit, all of them; if there are several ways, that is said.
func TestAppended(t *testing.T) {
	t.Parallel()
	const a, b = "1, 70, 0, 4096\n2, 70, 0, 4096\n", "1, 90, 0, 4096\n4, 90, 0, 4096\n"
	entry := func(job string, group, ns, n string) string {
		return fmt.Sprintf(`{"jobname":%q,"groupid":%s,"job options":{"write_lat_log":"x"},
			"read":{"runtime":4,"clat_ns":{"N":%s,"bins":{%q:%s}}}}`, job, group, n, ns, n)
	}
	mean := func(job, ns string) string {
		return strings.Replace(entry(job, "0", "70", "2"), `"N":2,"bins":{"70":2}`, `"N":2,"mean":`+ns, 1)
	}
	fio := func(entries ...string) string {
		return `{"fio version":"fio-3.36","global options":{"per_job_logs":"0"},"jobs":[` +
			strings.Join(entries, ",") + "]}"
	}
	for _, tt := range []struct {
		name, log, json string
		want, warn, bad string
	}{
		{"by their counts", b + a, fio(entry("one", "0", "70", "2"), entry("two", "0", "90", "2")),
			"x_clat.log#1 \"\" two two/1 0s fio's start\nx_clat.log#2 \"\" one one/1 0s fio's start", "", ""},
		{"all of one group", a + a, fio(entry("one", "0", "70", "4")),
			"x_clat.log#1 \"\" one one/2 0s fio's start\nx_clat.log#2 \"\" one one/2 0s fio's start", "", ""},
		{"one of two, the other is missing", b, fio(entry("one", "0", "70", "2"), entry("two", "0", "90", "2")),
			"x_clat.log \"\" two two/1 0s fio's start", `job "one" has no log here: its 2 reads are missing`, ""},
		{"one of two, from a stamp of 0", "0, 90, 0, 4096\n4, 90, 0, 4096\n",
			fio(entry("one", "0", "70", "2"), entry("two", "0", "90", "2")),
			"x_clat.log \"\" two two/1 0s fio's start", `job "one" has no log here: its 2 reads are missing`, ""},
		{"nothing tells", a + a, fio(entry("one", "0", "70", "2"), entry("two", "0", "70", "2")),
			"x_clat.log#1 \"\" one one/1 0s fio's start\nx_clat.log#2 \"\" two two/1 0s fio's start",
			`which job wrote which part is not certain: by its counts, part 1 may be of job "one" or of job "two"`, ""},
		{"only one way for all", a + "1, 70, 0, 4096\n",
			fio(entry("one", "0", "70", "1"), entry("two", "0", "70", "2")),
			"x_clat.log#1 \"\" two two/1 0s fio's start\nx_clat.log#2 \"\" one one/1 0s fio's start", "", ""},
		{"by their means", b + a, fio(mean("one", "70.000000"), mean("two", "90.000000")),
			"x_clat.log#1 \"\" two two/1 0s fio's start\nx_clat.log#2 \"\" one one/1 0s fio's start", "", ""},
		{"another run's", a + b, fio(entry("one", "0", "30", "2"), entry("two", "0", "30", "2")),
			"", "", "and their counts do not show which jobs of"},
		{"without fio's JSON", a + b, "",
			"x_clat.log#1 \"\" x - 0s taken to be fio's own start\n" +
				"x_clat.log#2 \"\" x - 0s taken to be fio's own start",
			"2 threads appended their logs to this file (per_job_logs=0), and which job wrote which part is " +
				"unknown", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "x_clat.log", tt.log)
			if tt.json != "" {
				write(t, dir, "fio.json", tt.json)
			}
			in := one(t, dir)
			lines, warned := matched(t, in)
			logs, _, err := Match(in)
			if err != nil {
				t.Fatal(err)
			}
			if tt.bad != "" {
				if len(logs) != 1 || logs[0].Bad == nil || !strings.Contains(logs[0].Bad.Error(), tt.bad) {
					t.Errorf("%d logs, %v; want %q", len(logs), logs[0].Bad, tt.bad)
				}
				return
			}
			check(t, lines, tt.want)
			if tt.warn == "" && warned != "" || !strings.Contains(warned, tt.warn) {
				t.Errorf("warned %q, want %q", warned, tt.warn)
			}
		})
	}
}

// TestSumsFromZero: a first stamp of 0 is a stamp.
func TestSumsFromZero(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a_clat_hist.1.log", strings.ReplaceAll("0, 0, 4096, N\n1000, 0, 4096, N\n2000, 0, 4096, N\n", "N",
		strings.Repeat("1, ", 28)+"1"))
	path := filepath.Join(dir, "a_clat_hist.1.log")
	s, err := (&Log{Source: &Source{Path: path, Name: Name{Kind: fio.Clat, Hist: true}}}).sums()
	if err != nil || s.first != 0 || s.last != 2000 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSumsOfPacked: a log in a format that is not read has no sums, and says why.
func TestSumsOfPacked(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a_clat_hist.1.log", "\xfd7zXZ\x00") // xz
	l := &Log{Source: &Source{Path: filepath.Join(dir, "a_clat_hist.1.log"), Name: Name{Kind: fio.Clat, Hist: true}}}
	if s, err := l.sums(); err == nil {
		t.Errorf("read: %+v", s)
	}
}
