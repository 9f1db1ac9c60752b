package ingest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestExtents: a log is split where time runs backwards, and nowhere else.
func TestExtents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0, ", 100_000) // longer than what is read at a time
	for _, tt := range []struct {
		name, text string
		want       []string // the extents' text
	}{
		{"nothing", "", []string{""}},
		{"one thread", "1, a\n2, b\n2, c\n", []string{"1, a\n2, b\n2, c\n"}},
		{"three", "5, a\n9, b\n5, c\n6, d\n0, e\n", []string{"5, a\n9, b\n", "5, c\n6, d\n", "0, e\n"}},
		{"no newline at the end", "5, a\n1, b", []string{"5, a\n", "1, b"}},
		{"lines longer than a block", "7, " + long + "\n3, " + long + "\n",
			[]string{"7, " + long + "\n", "3, " + long + "\n"}},
		{"lines without a stamp", "7, a\n\nx\n8, b\n2, c\n", []string{"7, a\n\nx\n8, b\n", "2, c\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := int64(0)
			var got []string
			for i, e := range Extents(strings.NewReader(tt.text)) {
				if e.N != i+1 || e.After != lines {
					t.Errorf("extent %d is numbered %d, after %d lines, want %d", i+1, e.N, e.After, lines)
				}
				for _, slow := range []bool{false, true} {
					r := io.Reader(strings.NewReader(tt.text))
					if slow {
						r = iotest.OneByteReader(r)
					}
					text, err := io.ReadAll(e.Read(r))
					if err != nil {
						t.Fatal(err)
					}
					if len(got) == i {
						got = append(got, string(text))
					}
					if got[i] != string(text) {
						t.Errorf("extent %d is read as %.20q and %.20q", i+1, got[i], text)
					}
				}
				lines += int64(strings.Count(got[i], "\n"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%d extents, want %d", len(got), len(tt.want))
			}
		})
	}
	failing := io.MultiReader(strings.NewReader("5, a\n1, b\n"), iotest.ErrReader(errors.New("broken")))
	if got := Extents(failing); len(got) != 1 {
		t.Errorf("%d extents of a log that cannot be read, want it whole", len(got))
	}
}

// TestAppended: the threads of a log without a thread number are given the entries of fio's
// JSON that their counts fit; where several do, the log is refused.
func TestAppended(t *testing.T) {
	t.Parallel()
	const a, b = "1, 70, 0, 4096\n2, 70, 0, 4096\n", "1, 90, 0, 4096\n4, 90, 0, 4096\n"
	entry := func(job string, group, ns, n string) string {
		return fmt.Sprintf(`{"jobname":%q,"groupid":%s,"job options":{"write_lat_log":"x"},
			"read":{"runtime":4,"clat_ns":{"N":%s,"bins":{%q:%s}}}}`, job, group, n, ns, n)
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
		{"nothing tells", a + a, fio(entry("one", "0", "70", "2"), entry("two", "0", "70", "2")),
			"", "", "2 threads appended their logs to it (per_job_logs=0), as time runs backwards at line 3"},
		{"another run's", a + b, fio(entry("one", "0", "30", "2"), entry("two", "0", "30", "2")),
			"", "", "and their counts do not tell which jobs of"},
		{"without fio's JSON", a + b, "",
			"x_clat.log#1 \"\" x - 0s taken to be fio's own start\n" +
				"x_clat.log#2 \"\" x - 0s taken to be fio's own start",
			"2 threads appended their logs to it (per_job_logs=0), and nothing says which is whose", ""},
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
