package fiojson

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
)

// TestPutTogether takes apart documents into which the jobs of several runs were put, and leaves those of one as they
// are. A job is written NAME/GROUP/ELAPSED/START+RUNTIME OPTION...
func TestPutTogether(t *testing.T) {
	const client = "client"
	for _, c := range []struct {
		name string
		jobs []string
		want []int // jobs of each run
		sign string
	}{
		{"two sections", []string{"a/0/2/0+1000 bs=4k", "b/0/2/0+1000 bs=4k"}, []int{2}, ""},
		{"threads of a section", []string{"a/0/2/0+1000 numjobs=2", "a/0/2/0+1000 numjobs=2"}, []int{2}, ""},
		{"stages", []string{"a/0/5/0+1000 bs=4k", "a/1/5/0+1000 bs=4k", "a/2/5/0+1000 bs=4k"}, []int{3}, ""},
		{"a second began while fio printed", []string{"a/0/5/0+1000 bs=4k", "b/0/6/0+1000 bs=4k"}, []int{2}, ""},
		{"groups", []string{"a/0/5/0+1000 group_reporting", "b/1/5/0+1000 group_reporting"}, []int{2}, ""},
		{"group of one job", []string{"a/0/5/0+1000 bs=4k", "b/0/5/0+1000 group_reporting=0"}, []int{2}, ""},
		{"delayed", []string{"a/0/9/1000000000000+1000 bs=4k", "a/0/9/1000000005000+1000 startdelay=5"}, []int{2}, ""},
		{"old fio without options", []string{"a/0/0/0+1000", "a/0/0/0+1000"}, []int{2}, ""},
		{"at the same time", []string{"a/0/2/1000000000000+900 bs=4k", "a/0/2/1000000000100+900 bs=8k"}, []int{2}, ""},

		{"elapsed", []string{"a/0/2/0+1000 bs=4k", "b/0/4/0+1000 bs=4k"}, []int{1, 1}, "elapsed is 2 and 4"},
		{"elapsed falls", []string{"a/0/3/0+1000", "b/0/2/0+1000"}, []int{1, 1}, "elapsed is 3 and 2"},
		{"stages twice", []string{"a/0/5/0+1000", "b/1/5/0+1000", "a/0/5/0+1000", "b/1/5/0+1000"}, []int{2, 2},
			"groupid 0 comes after 1"},
		{"sums twice", []string{"a/0/5/0+1000 group_reporting", "b/0/5/0+1000 group_reporting"}, []int{1, 1},
			`would have made one of jobs "a" and "b"`},
		{"job_start", []string{"a/0/2/1000000000000+1000 bs=4k", "b/0/2/1000000009000+1000 bs=4k"}, []int{1, 1},
			"took 10000 ms by job_start, and elapsed is 2"},
		{"job_start over client", []string{client, "a/0/0/1000000000000+1000", "a/0/0/1000000009000+1000"}, []int{1, 1},
			`job "a" began again 8000 ms after`},
		{"three, of which two look alike", []string{"a/0/2/0+1000 bs=4k", "a/0/2/0+1000 bs=8k", "a/0/4/0+1000 bs=16k"},
			[]int{1, 1, 1}, "elapsed is 2 and 4"},

		{"one name", []string{"a/0/2/0+1000 bs=4k", "a/0/2/0+1000 bs=8k"}, []int{2}, "note: x: read as one run"},
		{"threads twice", []string{"a/0/2/0+1000 numjobs=2", "a/0/2/0+1000 numjobs=2", "a/0/2/0+1000 numjobs=2",
			"a/0/2/0+1000 numjobs=2"}, []int{4}, "note: x: read as one run"},
	} {
		list, start := "jobs", 0
		if c.jobs[0] == client {
			list, start = "client_stats", 1
		}
		var jobs []string
		for i, j := range c.jobs[start:] {
			var name, options string
			var group, elapsed, at, ms int
			head, rest, _ := strings.Cut(j, " ")
			parts := strings.Split(head, "/")
			name = parts[0]
			_, err := fmt.Sscanf(strings.Join(parts[1:], " "), "%d %d %d+%d", &group, &elapsed, &at, &ms)
			if err != nil {
				t.Fatal(err)
			}
			if rest != "" {
				k, v, _ := strings.Cut(rest, "=")
				options = fmt.Sprintf(`"job options": {%q: %q}, `, k, v)
			}
			jobs = append(jobs, fmt.Sprintf(`{"jobname": %q, "groupid": %d, "elapsed": %d, "job_start": %d, `+
				`%s"job_runtime": %d, "read": {"total_ios": %d, "runtime": %d}}`,
				name, group, elapsed, at, options, ms, 10-i, ms))
		}
		text := fmt.Sprintf(`{"fio version": "fio-3.33", "timestamp_ms": 1000000010000, %q: [%s]}`, list,
			strings.Join(jobs, ",\n"))
		runs, err := ParseAll(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, m := range runs {
			got = append(got, len(m.Entries))
		}
		said := strings.Join(runs[0].Notes, "\n")
		if !slices.Equal(got, c.want) || !strings.Contains(said, c.sign) || (c.sign == "") != (said == "") {
			t.Errorf("%s: runs of %v jobs, want %v: %s", c.name, got, c.want, said)
		}
		if (len(runs) > 1) != (runs[0].TimestampMS == 0) {
			t.Errorf("%s: time of the report %d", c.name, runs[0].TimestampMS)
		}
	}
}

// TestNotPutTogether: no document of the test data is of several runs, but those that fio's statuses are appended to.
func TestNotPutTogether(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if name, _, _ := strings.Cut(e.Name(), "."); err != nil || e.IsDir() || name == e.Name() ||
			!strings.Contains(e.Name(), ".json") {
			return err
		}
		r, err := source.Open(path, nil)
		if err != nil {
			return nil //nolint:nilerr // damaged on purpose
		}
		defer r.Close()
		runs, err := ParseAll(r, path)
		if err != nil {
			return nil //nolint:nilerr // not fio's
		}
		for _, m := range runs {
			n++
			for _, note := range m.Notes {
				if strings.Contains(note, "put together") {
					t.Error(note)
				}
			}
		}
		return nil
	})
	if err != nil || n < 50 {
		t.Error(n, err)
	}
}

// TestDoubtBesideProof: once one run is proven to be another one's, a job that is there again begins one, too, at each
// of its jobs.
func TestDoubtBesideProof(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		jobs    string // a letter for each entry
		elapsed []int64
		want    string // jobs by run
	}{
		"no proof":                   {"abab", []int64{9, 9, 9, 9}, "abab"},
		"proof":                      {"abab", []int64{9, 9, 20, 20}, "ab ab"},
		"doubt, then proof":          {"ababab", []int64{9, 9, 9, 9, 20, 20}, "ab ab ab"},
		"proof, then doubt":          {"ababab", []int64{9, 9, 20, 20, 20, 20}, "ab ab ab"},
		"three jobs, doubt, a proof": {"abcabcabc", []int64{9, 9, 9, 9, 9, 9, 20, 20, 20}, "abc abc abc"},
	} {
		m := &Document{Path: "x.json"}
		for i, job := range tt.jobs {
			m.Entries = append(m.Entries, Entry{JobName: string(job), Elapsed: tt.elapsed[i],
				Options: jobfile.Options{"rw": "read", "name": string(job)}})
		}
		var got []string
		for _, run := range m.fios() {
			var jobs strings.Builder
			for _, e := range run.Entries {
				jobs.WriteString(e.JobName)
			}
			got = append(got, jobs.String())
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
}
