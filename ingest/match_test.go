package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/internal/testkit"
)

// matched is a run's logs in words, a line each: label, host, job, entry with
// members, offset, how.
func matched(t *testing.T, in *Input) (lines []string, warnings string) {
	t.Helper()
	logs, warned, err := Match(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		entry := "-"
		if l.Entry != nil {
			entry = fmt.Sprintf("%s/%d", l.Entry.JobName, l.Members)
			if l.Entry.Dirs[fio.Read].Kind[fio.Clat].N+l.Entry.Dirs[fio.Write].Kind[fio.Clat].N == 0 {
				entry += "/without"
			}
		}
		lines = append(lines, fmt.Sprintf("%s %q %s %s %v %s", l.LogName, l.Host, l.Job, entry, l.Start.Offset,
			l.Start.How))
	}
	return lines, strings.Join(warned, "\n")
}

func check(t *testing.T, got []string, want string) {
	t.Helper()
	if g := strings.Join(got, "\n"); g != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", g, strings.TrimSpace(want))
	}
}

func one(t *testing.T, paths ...string) *Input {
	t.Helper()
	ins, err := Discover(paths, DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ins) != 1 {
		t.Fatalf("%d runs", len(ins))
	}
	return ins[0]
}

// copied is a copy of a folder of testdata without the files of these names.
func copied(t *testing.T, name string, without ...string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(filepath.Join("fiojson", "testdata", "meta", name))
	if err != nil {
		t.Fatal(err)
	}
next:
	for _, e := range entries {
		for _, w := range without {
			if ok, _ := filepath.Match(w, e.Name()); ok {
				continue next
			}
		}
		text, err := os.ReadFile(filepath.Join("fiojson", "testdata", "meta", name, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, e.Name(), string(text))
	}
	return dir
}

// TestMatchReal: runs of fio 3.33, with and without what was beside their logs.
func TestMatchReal(t *testing.T) {
	for name, c := range map[string]struct {
		dir, without string
		only         string // these logs alone
		want, warn   string
	}{
		"groups, job file": {dir: "fio-3.33-groups", want: `
a_clat_hist.1.log "" one one/3 0s fio's start
a_clat_hist.2.log "" one one/3 0s fio's start
a_clat_hist.3.log "" two one/3 0s fio's start
a_clat_hist.4.log "" three three/3 3s stage 2 (stonewall in the job file) + ramp_time
a_clat_hist.5.log "" three three/3 3s stage 2 (stonewall in the job file) + ramp_time
a_clat_hist.6.log "" four three/3 2s stage 2 (stonewall in the job file) + startdelay
a_clat_hist.7.log "" five five/1 2s stage 2 (stonewall in the job file)`},
		// The group's options are those of its last section, and stonewall and new_group
		// cannot be distinguished here: 2 + 3 s and 3 + 2 s make the same sum.
		"groups": {dir: "fio-3.33-groups", without: "job.fio", want: `
a_clat_hist.1.log "" one one/3 0s fio's start
a_clat_hist.2.log "" one one/3 0s fio's start
a_clat_hist.3.log "" one one/3 0s fio's start
a_clat_hist.4.log "" three three/3 2.002s stage 2 (stonewall guessed) + startdelay
a_clat_hist.5.log "" three three/3 2.002s stage 2 (stonewall guessed) + startdelay
a_clat_hist.6.log "" three three/3 2.002s stage 2 (stonewall guessed) + startdelay
a_clat_hist.7.log "" five five/1 4.003s stage 3 (stonewall guessed)`, warn: "cannot tell which of the 3 groups of " +
			"jobs began after a stonewall; pass the job file"},
		"groups, no JSON": {dir: "fio-3.33-groups", without: "fio.json", want: `
a_clat_hist.1.log "" one - 0s fio's start
a_clat_hist.2.log "" one - 0s fio's start
a_clat_hist.3.log "" two - 0s fio's start
a_clat_hist.4.log "" three - 3s stage 2 (stonewall in the job file) + ramp_time
a_clat_hist.5.log "" three - 3s stage 2 (stonewall in the job file) + ramp_time
a_clat_hist.6.log "" four - 2s stage 2 (stonewall in the job file) + startdelay
a_clat_hist.7.log "" five - 2s stage 2 (stonewall in the job file)`, warn: "ramp_time may take up to a second longer"},
		"one log of a group": {dir: "fio-3.33-groups", only: "a_clat_hist.2.log", want: `
a_clat_hist.2.log "" one one/3/without 0s fio's start`, warn: `job "one" covers 3 threads, ` +
			`but logs of only 1 are here: the others' I/Os are missing, and its totals are not used`},
		"one log of one": {dir: "fio-3.33-groups", only: "a_clat_hist.7.log", want: `
a_clat_hist.7.log "" five five/1 2s stage 2 (stonewall in the job file)`},
		"a log is lost": {dir: "fio-3.33-groups", without: "a_clat_hist.6.log", only: "*_clat_hist.[45].log", want: `
a_clat_hist.4.log "" three three/3 3s stage 2 (stonewall in the job file) + ramp_time
a_clat_hist.5.log "" three three/3 3s stage 2 (stonewall in the job file) + ramp_time`,
			warn: "covers 3 threads, but logs of only 2 are here: the others' I/Os are missing"},
		"stonewall, job file": {dir: "fio-3.33-stonewall", want: `
a_clat_hist.1.log "" one one/1 0s fio's start
a_clat_hist.2.log "" two two/1 2.001s stage 2 (stonewall in the job file) + ramp_time
a_clat_hist.3.log "" three three/1 4.002s stage 3 (stonewall in the job file)
a_clat_hist.4.log "" three three/1 4.002s stage 3 (stonewall in the job file)
a_clat_hist.5.log "" four four/1 5.003s stage 4 (stonewall in the job file)`},
		"stonewall": {dir: "fio-3.33-stonewall", without: "job.fio", want: `
a_clat_hist.1.log "" one one/1 0s fio's start
a_clat_hist.2.log "" two two/1 2.001s stage 2 (stonewall, by the time elapsed) + ramp_time
a_clat_hist.3.log "" three three/1 4.002s stage 3 (stonewall, by the time elapsed)
a_clat_hist.4.log "" three three/1 4.002s stage 3 (stonewall, by the time elapsed)
a_clat_hist.5.log "" four four/1 5.003s stage 4 (stonewall, by the time elapsed)`},
		"new_group": {dir: "fio-3.33-new-group", without: "job.fio", want: `
x_clat_hist.1.log "" x x/1 0s fio's start
y_clat_hist.2.log "" y y/1 1s startdelay`},
		"numjobs, the last of a stream": {dir: "fio-3.33-status", without: "job.fio", want: `
s_clat_hist.1.log "" s s/3 0s fio's start
s_clat_hist.2.log "" s s/3 0s fio's start
s_clat_hist.3.log "" s s/3 0s fio's start`},
		"client": {dir: "fio-3.33-client", without: "job.fio", want: `
c_clat_hist.1.log.127.0.1.1 "127.0.1.1" c c/2 0s fio's start
c_clat_hist.2.log.127.0.1.1 "127.0.1.1" c c/2 0s fio's start
c_clat_hist.1.log.127.0.1.2 "127.0.1.2" c c/2 0s fio's start
c_clat_hist.2.log.127.0.1.2 "127.0.1.2" c c/2 0s fio's start`},
		"logs alone": {dir: "fio-3.33-client", without: "[fj]*", want: `
c_clat_hist.1.log.127.0.1.1 "127.0.1.1" c - 0s taken to be fio's own start
c_clat_hist.2.log.127.0.1.1 "127.0.1.1" c - 0s taken to be fio's own start
c_clat_hist.1.log.127.0.1.2 "127.0.1.2" c - 0s taken to be fio's own start
c_clat_hist.2.log.127.0.1.2 "127.0.1.2" c - 0s taken to be fio's own start`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, c.dir, strings.Fields(c.without)...)
			if c.only != "" {
				dir = filepath.Join(dir, c.only)
			}
			lines, warned := matched(t, one(t, dir))
			check(t, lines, c.want)
			if c.warn == "" && warned != "" || !strings.Contains(warned, c.warn) {
				t.Errorf("warned: %q", warned)
			}
		})
	}
}

func TestMatchTrees(t *testing.T) {
	lines, warned := matched(t, one(t, "testdata/trees/cbt"))
	check(t, lines, `
output.0_clat_hist.1.log.node1 "node1" librbdfio-0 librbdfio-0/1 0s fio's start
output.1_clat_hist.1.log.node1 "node1" librbdfio-1 librbdfio-1/1 0s fio's start
output.0_clat_hist.1.log.node2 "node2" librbdfio-0 librbdfio-0/1 0s fio's start
output.1_clat_hist.1.log.node2 "node2" librbdfio-1 librbdfio-1/1 0s fio's start`)
	if warned != "" {
		t.Error(warned)
	}
	lines, warned = matched(t, one(t, "testdata/trees/pbench/1-4KiB"))
	check(t, lines, `
127.0.1.1/c_clat_hist.1.log "127.0.1.1" c c/2 0s fio's start
127.0.1.1/c_clat_hist.2.log "127.0.1.1" c c/2 0s fio's start
127.0.1.2/c_clat_hist.1.log "127.0.1.2" c c/2 0s fio's start
127.0.1.2/c_clat_hist.2.log "127.0.1.2" c c/2 0s fio's start`)
	if warned != "" {
		t.Error(warned)
	}
	in := one(t, "testdata/trees/cbt")
	logs, _, err := Match(in)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []uint64{200, 300, 250, 351} { // as the hosts' own JSON has it
		if got := logs[i].Entry.Dirs[fio.Read].Kind[fio.Clat].N; got != n {
			t.Errorf("%s: %d, want %d", logs[i].LogName, got, n)
		}
	}
}

// doc is a document with these entries.
func doc(path string, entries ...fiojson.Entry) *fiojson.Document {
	for i := range entries {
		e := &entries[i]
		e.Dirs[fio.Read].Kind[fio.Clat] = fiojson.Totals{N: 7, Max: 9}
		if e.RuntimeMS == 0 {
			e.RuntimeMS, e.LongestMS = 1000, 1000
		}
	}
	return &fiojson.Document{Path: path, Version: "fio-3.33", TimestampMS: 1700000010000, Entries: entries,
		Documents: 1}
}

func input(logs string, metas ...*fiojson.Document) *Input {
	in := &Input{Metas: metas}
	for _, path := range strings.Fields(logs) {
		name, _ := parseName(filepath.Base(path))
		in.Logs = append(in.Logs, &Source{Path: path, Base: filepath.Base(path), Name: name, Host: name.Host})
	}
	return in
}

// TestMatchDocuments: which JSON a log belongs to.
func TestMatchDocuments(t *testing.T) {
	grouped := jobfile.Options{"write_hist_log": "a"}
	for name, c := range map[string]struct {
		in         *Input
		want, warn string
	}{
		"by jobname": {input("a_clat_hist.1.log b_clat_hist.1.log", doc("1.json", fiojson.Entry{JobName: "b"}),
			doc("2.json", fiojson.Entry{JobName: "a"})), `
a_clat_hist.1.log "" a a/1 0s fio's start
b_clat_hist.1.log "" b b/1 0s fio's start`, ""},
		"by option": {input("a_clat_hist.1.log b_clat_hist.1.log", doc("1.json", fiojson.Entry{JobName: "x",
			Options: jobfile.Options{"write_hist_log": "/tmp/b"}}), doc("2.json", fiojson.Entry{JobName: "y",
			Options: grouped})), `
a_clat_hist.1.log "" y y/1 0s fio's start
b_clat_hist.1.log "" x x/1 0s fio's start`, ""},
		"by the JSON's name": {input("a_clat_hist.1.log b_clat_hist.1.log", doc("json_b.json",
			fiojson.Entry{JobName: "x"}), doc("a.json.gz", fiojson.Entry{JobName: "y"})), `
a_clat_hist.1.log "" y y/1 0s fio's start
b_clat_hist.1.log "" x x/1 0s fio's start`, ""},
		"ambiguous": {input("a_clat_hist.1.log", doc("1.json", fiojson.Entry{JobName: "a"}), doc("2.json",
			fiojson.Entry{JobName: "a"}, fiojson.Entry{JobName: "b"})), `
a_clat_hist.1.log "" a - 0s taken to be fio's own start`, "a_clat_hist.1.log: cannot tell which JSON goes with " +
			"this log: 1.json, 2.json; pass it with --fio-json"},
		"a copy": {input("a_clat_hist.1.log", doc("1.json", fiojson.Entry{JobName: "a"}), doc("1.json.gz",
			fiojson.Entry{JobName: "a"})), `
a_clat_hist.1.log "" a a/1 0s fio's start`, ""},
		"each folder's own": {input("h1/a_clat_hist.1.log h2/a_clat_hist.1.log", doc("h1/fio.json",
			fiojson.Entry{JobName: "x"}), doc("h2/fio.json", fiojson.Entry{JobName: "y"})), `
h1/a_clat_hist.1.log "" x x/1 0s fio's start
h2/a_clat_hist.1.log "" y y/1 0s fio's start`, ""},
		"another folder's": {input("h1/a_clat_hist.1.log h2/a_clat_hist.1.log", doc("h1/fio.json",
			fiojson.Entry{JobName: "x"})), `
h1/a_clat_hist.1.log "" x x/1 0s fio's start
h2/a_clat_hist.1.log "" a - 0s taken to be fio's own start`, ""},
		"another host's": {input("a_clat_hist.1.log.h1 a_clat_hist.1.log.h2", doc("out.h1",
			fiojson.Entry{JobName: "x"})), `
a_clat_hist.1.log.h1 "h1" x x/1 0s fio's start
a_clat_hist.1.log.h2 "h2" a - 0s taken to be fio's own start`, "a_clat_hist.1.log.h2: cannot tell which JSON goes " +
			"with this log"},
		"hosts with one JSON of none": {input("a_clat_hist.1.log.h1 a_clat_hist.1.log.h2", doc("fio.json",
			fiojson.Entry{JobName: "x"})), `
a_clat_hist.1.log.h1 "h1" a - 0s fio's start of all jobs
a_clat_hist.1.log.h2 "h2" a - 0s fio's start of all jobs`, `fio.json: cannot tell which host's JSON this is: "h1", ` +
			`"h2"; pass each host's with --fio-json`},
		"two runs, JSON of one": {input("a_clat_hist.1.log b_clat_hist.1.log", doc("fio.json",
			fiojson.Entry{JobName: "x", Options: grouped})), `
a_clat_hist.1.log "" x x/1 0s fio's start
b_clat_hist.1.log "" b - 0s fio's start of all jobs`, ""},
		"one host by two names": {input("a_clat_hist.1.log.box", doc("fio.json", fiojson.Entry{JobName: "x",
			Host: "10.0.0.1"})), `
a_clat_hist.1.log.box "box" x x/1 0s fio's start`, ""},
		"with and without a domain": {input("a_clat_hist.1.log.n1.example.com a_clat_hist.1.log.n2", doc("fio.json",
			fiojson.Entry{JobName: "x", Host: "n1"}, fiojson.Entry{JobName: "y", Host: "n2.example.com"})), `
a_clat_hist.1.log.n1.example.com "n1.example.com" x x/1 0s fio's start
a_clat_hist.1.log.n2 "n2" y y/1 0s fio's start`, ""},
		"a host without a job": {input("a_clat_hist.1.log.n1 a_clat_hist.1.log.n2", doc("fio.json",
			fiojson.Entry{JobName: "x", Host: "n1"}, fiojson.Entry{JobName: "x", Host: "n3"})), `
a_clat_hist.1.log.n1 "n1" x x/1 0s fio's start
a_clat_hist.1.log.n2 "n2" a - 0s taken to be fio's own start`, `a_clat_hist.1.log.n2: cannot tell which JSON goes ` +
			`with this log`},
		"the host is the JSON's": {input("a_clat_hist.1.log", doc("fio.json", fiojson.Entry{JobName: "x", Host: "n1"})),
			`
a_clat_hist.1.log "n1" x x/1 0s fio's start`, ""},
		"one log of all jobs": {input("a_clat_hist.log", doc("fio.json", fiojson.Entry{JobName: "x", RuntimeMS: 3000,
			LongestMS: 1000})), `
a_clat_hist.log "" x x/1 0s fio's start`, ""},
		"prefixes differ in a group": {input("a_clat_hist.1.log b_clat_hist.2.log", doc("fio.json",
			fiojson.Entry{JobName: "x", RuntimeMS: 2000, LongestMS: 1000})), `
a_clat_hist.1.log "" a x/2 0s fio's start
b_clat_hist.2.log "" b x/2 0s fio's start`, ""},
		"threads that cannot be spread": {input("a_clat_hist.1.log a_clat_hist.2.log a_clat_hist.3.log "+
			"a_clat_hist.4.log", doc("fio.json", fiojson.Entry{JobName: "x", RuntimeMS: 1500, LongestMS: 1000},
			fiojson.Entry{JobName: "y", RuntimeMS: 1, LongestMS: 1})), `
a_clat_hist.1.log "" a - 0s fio's start of all jobs
a_clat_hist.2.log "" a - 0s fio's start of all jobs
a_clat_hist.3.log "" a - 0s fio's start of all jobs
a_clat_hist.4.log "" a - 0s fio's start of all jobs`, "a_clat_hist.1.log: cannot tell which jobs of fio.json these " +
			"4 logs belong to (2 entries, 4 threads); pass the job file"},
		"a section without logs": {input("a_clat_hist.1.log c_clat_hist.3.log", doc("fio.json",
			fiojson.Entry{JobName: "a"}, fiojson.Entry{JobName: "b"}, fiojson.Entry{JobName: "c"})), `
a_clat_hist.1.log "" a a/1 0s fio's start
c_clat_hist.3.log "" c c/1 0s fio's start`, "fio.json: 1 job without a log: b, 7 reads in fio's JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			lines, warned := matched(t, c.in)
			check(t, lines, c.want)
			if c.warn == "" && warned != "" || !strings.Contains(warned, c.warn) {
				t.Errorf("warned: %q", warned)
			}
		})
	}
}

// TestThreadsOf: how many threads an entry stands for, as (runtime sum/longest,
// numjobs).
func TestThreadsOf(t *testing.T) {
	type e struct {
		sum, longest int64
		numjobs      string
	}
	for name, c := range map[string]struct {
		entries []e
		threads int
		want    []int
	}{
		"one each":                   {[]e{{1000, 1000, ""}, {1000, 1001, ""}}, 2, []int{1, 1}},
		"one each, numjobs shown":    {[]e{{1000, 1000, "2"}, {1000, 1000, "2"}}, 2, []int{1, 1}},
		"one each, fsync at the end": {[]e{{1700, 1000, ""}, {1000, 1000, ""}}, 2, []int{1, 1}},
		"more entries than logs":     {[]e{{1000, 1000, ""}, {1000, 1000, ""}, {5, 5, ""}}, 2, []int{1, 1, 1}},
		"a group":                    {[]e{{9000, 3001, ""}}, 3, []int{3}},
		"a group of unlike jobs":     {[]e{{4000, 3001, ""}}, 3, []int{3}},
		"numjobs of a group":         {[]e{{2000, 1000, "2"}, {3000, 1000, "3"}}, 5, []int{2, 3}},
		"by the time run": {[]e{{9000, 3001, ""}, {9001, 3002, ""}, {3001, 3002, ""}}, 7,
			[]int{3, 3, 1}},
		"numjobs of the last section only": {[]e{{3000, 1000, "2"}, {1000, 1000, ""}}, 4, []int{3, 1}},
		"what is left is one entry's":      {[]e{{1500, 1000, ""}, {1000, 1000, ""}}, 3, []int{2, 1}},
		"a part of the logs":               {[]e{{3000, 1000, ""}, {1000, 1000, ""}}, 2, []int{3, 1}},
		"a part of the logs of one":        {[]e{{3000, 1000, ""}}, 1, []int{3}},
		"no runtime of any direction":      {[]e{{3000, 0, "2"}, {3000, 1000, "3"}}, 5, []int{2, 3}},
		"one, and no such runtime":         {[]e{{3000, 0, ""}}, 3, []int{3}},
		"nothing known of the time":        {[]e{{0, 0, ""}, {0, 0, ""}}, 3, nil},
		"nothing known, but numjobs":       {[]e{{0, 0, "1"}, {0, 0, "2"}}, 3, []int{1, 2}},
		"too many ways":                    {[]e{{0, 0, ""}, {0, 0, ""}, {0, 0, ""}}, 40, nil},
		"absurd times":                     {[]e{{1 << 60, 1, ""}, {1, 1 << 60, "99999999999999999999"}}, 2, []int{1, 1}},
		"none":                             {nil, 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var entries []*fiojson.Entry
			for _, x := range c.entries {
				n := &fiojson.Entry{RuntimeMS: x.sum, LongestMS: x.longest}
				if x.numjobs != "" {
					n.Options = jobfile.Options{"numjobs": x.numjobs}
				}
				entries = append(entries, n)
			}
			if got := threadsOf(&fiojson.Document{}, entries, c.threads); !slices.Equal(got, c.want) {
				t.Error(got)
			}
		})
	}
}

// TestStages: which groups began after a stonewall, by the seconds elapsed.
func TestStages(t *testing.T) {
	run := func(group int, ms, elapsed int64, o jobfile.Options) fiojson.Entry {
		return fiojson.Entry{JobName: fmt.Sprint("g", group), GroupID: group, RuntimeMS: ms, LongestMS: ms,
			Elapsed: elapsed, Options: o}
	}
	for name, c := range map[string]struct {
		entries []fiojson.Entry
		want    string // offsets
		how     string // of the last
		warn    string
	}{
		"in sequence": {[]fiojson.Entry{run(0, 2001, 7, nil), run(1, 4001, 7, nil)}, "[0s 2.001s]",
			"stage 2 (stonewall, by the time elapsed)", ""},
		"at once": {[]fiojson.Entry{run(0, 2001, 5, nil), run(1, 4001, 5, nil)}, "[0s 0s]", "fio's start",
			""},
		"shown": {[]fiojson.Entry{run(0, 2000, 0, nil), run(1, 1000, 0, jobfile.Options{"stonewall": "1"})},
			"[0s 2s]", "stage 2 (stonewall in the JSON)", ""},
		"one shown": {[]fiojson.Entry{run(0, 2000, 6, nil), run(1, 1000, 6, jobfile.Options{"stonewall": "1"}),
			run(2, 2000, 6, nil)}, "[0s 2s 3s]", "stage 3 (stonewall, by the time elapsed)", ""},
		// 2 + 5 s, or 5 + 1 s and some
		"one of two": {[]fiojson.Entry{run(0, 2000, 7, nil), run(1, 5000, 7, nil), run(2, 1000, 7, nil)},
			"[0s 2s 2s]", "stage 2 (stonewall guessed)", "cannot tell which"},
		"one way": {[]fiojson.Entry{run(0, 9000, 11, nil), run(1, 3000, 11, nil), run(2, 1000, 11, nil)},
			"[0s 0s 9s]", "stage 2 (stonewall, by the time elapsed)", ""},
		"no way": {[]fiojson.Entry{run(0, 9000, 99, nil), run(1, 3000, 99, nil)}, "[0s 9s]",
			"stage 2 (stonewall guessed)", "cannot tell which"},
		"not known": {[]fiojson.Entry{run(0, 2000, 0, nil), run(1, 1000, 0, nil)}, "[0s 2s]",
			"stage 2 (stonewall taken for granted)", "if it was new_group, pass the job file"},
		"delay and ramp": {[]fiojson.Entry{run(0, 2000, 8, jobfile.Options{"startdelay": "1", "ramp_time": "500ms"}),
			run(1, 4000, 8, jobfile.Options{"ramp_time": "250ms"})}, "[1.5s 3.75s]",
			"stage 2 (stonewall, by the time elapsed) + ramp_time", ""},
		"a random delay": {[]fiojson.Entry{run(0, 2000, 3, jobfile.Options{"startdelay": "1-3"})}, "[0s]",
			"fio's start", `fio.json: job "g0": startdelay: "1-3" is a range`},
		"one after another": {[]fiojson.Entry{run(0, 1001, 13, nil), run(1, 1001, 13, nil), run(2, 1001, 13, nil),
			run(3, 1001, 13, nil), run(4, 1001, 13, nil), run(5, 1001, 13, nil), run(6, 1001, 13, nil), run(7, 1001, 13,
				nil), run(8, 1001, 13, nil), run(9, 1001, 13, nil)}, "[0s 1.001s 2.002s 3.003s 4.004s 5.005s 6.006s " +
			"7.007s 8.008s 9.009s]", "stage 10 (stonewall, by the time elapsed)", ""},
		"later than known": {
			[]fiojson.Entry{run(0, 2000, 9, nil), run(1, 4000, 9, jobfile.Options{"stonewall": "1"})},
			"[0s 2s]", "stage 2 (stonewall in the JSON)", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			names := ""
			for i := range c.entries {
				names += fmt.Sprintf("a_clat_hist.%d.log ", i+1)
			}
			logs, warned, err := Match(input(names, doc("fio.json", c.entries...)))
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Duration
			for _, l := range logs {
				got = append(got, l.Start.Offset)
			}
			if w := strings.Join(warned, "\n"); c.warn == "" && w != "" || !strings.Contains(w, c.warn) {
				t.Errorf("warned %q", w)
			}
			if fmt.Sprint(got) != c.want || logs[len(logs)-1].Start.How != c.how {
				t.Errorf("%v, %s", got, logs[len(logs)-1].Start.How)
			}
		})
	}
}

// TestUnlike: an entry that stands for several sections does not tell their starts.
func TestUnlike(t *testing.T) {
	for name, c := range map[string]struct {
		options jobfile.Options
		elapsed int64
		warn    string
	}{
		"together":         {nil, 3, ""},
		"alike":            {jobfile.Options{"numjobs": "2"}, 9, ""},
		"a delay of all":   {jobfile.Options{"numjobs": "2", "startdelay": "3"}, 5, ""},
		"the last waits":   {jobfile.Options{"wait_for": "a"}, 3, "it shows wait_for of the last job only"},
		"longer than any":  {nil, 4, "fio took 4 s, and none of them more than 2.1s"},
		"of unknown times": {nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := fiojson.Entry{JobName: "a", RuntimeMS: 4200, LongestMS: 2100, Elapsed: c.elapsed, Options: c.options}
			_, warned, err := Match(input("a_clat_hist.1.log a_clat_hist.2.log", doc("fio.json", e)))
			if err != nil {
				t.Fatal(err)
			}
			if w := strings.Join(warned, "\n"); c.warn == "" && w != "" || !strings.Contains(w, c.warn) {
				t.Errorf("warned %q", w)
			}
		})
	}
}

func TestJobStart(t *testing.T) {
	in := input("a_clat_hist.1.log a_clat_hist.2.log", doc("fio.json", fiojson.Entry{JobName: "a",
		StartMS: 1700000000500, RuntimeMS: 2000, LongestMS: 1000}))
	logs, _, err := Match(in)
	if err != nil || logs[0].Start.Absolute != 1700000000500 || logs[1].Start.Absolute != 1700000000500 ||
		logs[0].Start.How != "job_start" {
		t.Error(logs[0].Start, err)
	}
	// With the job file the second's is known, too: job_start is the first's.
	in.JobFiles = []*jobfile.File{parseJobs(t, "[global]\ngroup_reporting\nwrite_hist_log=a\n[a]\n[b]\nstartdelay=3\n")}
	in.Metas = []*fiojson.Document{doc("fio.json", fiojson.Entry{JobName: "a", StartMS: 1700000000500, RuntimeMS: 2000,
		LongestMS: 1000})}
	if logs, _, err = Match(in); err != nil || logs[0].Start.Absolute != 1700000000500 ||
		logs[1].Start.Absolute != 1700000003500 {
		t.Error(logs[0].Start, logs[1].Start, err)
	}
	// On another clock (job_start_clock_id) it says nothing.
	in = input("a_clat_hist.1.log", doc("fio.json", fiojson.Entry{JobName: "a", StartMS: 12345,
		Options: jobfile.Options{"startdelay": "2"}}))
	if logs, _, err = Match(in); err != nil || logs[0].Start.Absolute != 0 || logs[0].Start.Offset != 2*time.Second {
		t.Error(logs[0].Start, err)
	}
}

func TestWallClock(t *testing.T) {
	for dir, want := range map[string]int64{
		// By hand: the report's time less the sum of the stages. fio's seconds elapsed
		// agree.
		"fio-3.33-groups": 1795237286660, "fio-3.33-stonewall": 1795237292904, "fio-3.33-new-group": 1795237299441,
		"fio-3.33-status": 1795237302822, "fio-3.33-client": 1795237307000,
	} {
		logs, _, err := Match(one(t, "fiojson/testdata/meta/"+dir))
		if err != nil {
			t.Fatal(err)
		}
		m := logs[0].Meta
		got, how, ok := WallClock(logs, m)
		if !ok || how == "" {
			t.Error(dir, "not known")
		}
		if e := logs[0].Entry.Elapsed; e > 0 && (got < m.TimestampMS-e*1000 || got > m.TimestampMS-(e-2)*1000) {
			t.Errorf("%s: %d is not %d s before %d", dir, got, e, m.TimestampMS)
		}
		if got < want-10 || got > want+10 {
			t.Errorf("%s: %d, want %d", dir, got, want)
		}
	}
	if _, _, ok := WallClock(nil, nil); ok {
		t.Error("a time of nothing")
	}
	if _, _, ok := WallClock(nil, &fiojson.Document{}); ok {
		t.Error("a time without timestamp")
	}
}

func TestMatchJobFiles(t *testing.T) {
	grouped := "[global]\ngroup_reporting\nwrite_hist_log=a\n[a]\n[b]\n"
	for name, c := range map[string]struct {
		files   []string
		used    bool
		warn    string
		ignored int
	}{
		"fits":           {[]string{grouped}, true, "", 0},
		"twice the same": {[]string{grouped, grouped}, true, "", 1},
		"two that fit": {[]string{grouped, grouped + "startdelay=1\n"}, false,
			"both this job file and x.fio fit the logs", 2},
		"more threads": {[]string{grouped + "[c]\n"}, true,
			"covers 3 threads, but logs of only 2 are here", 0},
		"fewer threads": {[]string{"[global]\nwrite_hist_log=a\n[a]\n"}, false, "", 1},
		"other names":   {[]string{strings.Replace(grouped, "=a", "=other", 1)}, false, "", 1},
		"other jobs":    {[]string{strings.Replace(grouped, "[a]", "[z]", 1)}, false, "", 1},
		"other entries": {[]string{strings.Replace(grouped, "group_reporting\n", "", 1)}, false, "", 1},
		"one without logs": {[]string{grouped + "[c]\nwrite_hist_log=${NAME}\n"}, true,
			"covers 3 threads, but logs of only 2 are here", 0},
		"names of variables": {[]string{strings.Replace(grouped, "=a", "=${NAME}", 1)}, true, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := input("a_clat_hist.1.log a_clat_hist.2.log", doc("fio.json", fiojson.Entry{JobName: "a",
				RuntimeMS: 2000, LongestMS: 1000}))
			for _, text := range c.files {
				in.JobFiles = append(in.JobFiles, parseJobs(t, text))
			}
			logs, warned, err := Match(in)
			if err != nil {
				t.Fatal(err)
			}
			if (logs[1].Section != nil) != c.used || len(in.Ignored) != c.ignored {
				t.Errorf("used %v, ignored %q", logs[1].Section != nil, in.Ignored)
			}
			for _, why := range in.Ignored {
				another := strings.Contains(why, "another job file fits the logs, too")
				if another != (c.used || c.warn != "") {
					t.Errorf("ignored %q", why)
				}
			}
			if w := strings.Join(warned, "\n"); c.warn == "" && w != "" || !strings.Contains(w, c.warn) {
				t.Errorf("warned %q", w)
			}
			if c.used {
				if v, ok := logs[1].Option("group_reporting"); v != "" || !ok || logs[1].Job != "b" {
					t.Errorf("option %q, job %s", v, logs[1].Job)
				}
			}
		})
	}
}

func TestLogNames(t *testing.T) {
	for paths, want := range map[string]string{
		"x/a_clat_hist.1.log x/a_clat_hist.2.log.gz": "a_clat_hist.1.log a_clat_hist.2.log",
		"r/x/a_clat_hist.1.log r/y/a_clat_hist.1.log r/y/b_clat_hist.2.log": "x/a_clat_hist.1.log " +
			"y/a_clat_hist.1.log b_clat_hist.2.log",
		"r/x/c/a_clat_hist.1.log r/y/c/a_clat_hist.1.log c/a_clat_hist.1.log": "x/c/a_clat_hist.1.log " +
			"y/c/a_clat_hist.1.log c/a_clat_hist.1.log",
		"- a_clat_hist.1.log": "- a_clat_hist.1.log",
	} {
		logs, _, err := Match(input(paths))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			got = append(got, l.LogName)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", paths, got, want)
		}
	}
}

// folder writes files into a new folder, and write one more.
var folder, write = testkit.Files[string], testkit.Write[string]

// TestMatchJobFilesByLogs: each of several job files is that of the logs that only it names.
func TestMatchJobFilesByLogs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, second, want string }{
		"each its own": {"[a]\nwrite_hist_log=x", "[b]\nwrite_hist_log=y", "a b"},
		"both one":     {"[a]\nwrite_hist_log=x\n[c]\nwrite_hist_log=y", "[b]\nwrite_hist_log=y", "x y"},
	} {
		logs, _, err := Match(one(t, folder(t, map[string]string{"1.fio": c.first + "\nrw=read", "2.fio": c.second +
			"\nrw=read", "x_clat_hist.1.log": "", "y_clat_hist.1.log": ""})))
		if err != nil {
			t.Fatal(err)
		}
		if got := logs[0].Job + " " + logs[1].Job; got != c.want || !logs[0].Start.Unknown {
			t.Errorf("%s: %q, want %q; start %+v", name, got, c.want, logs[0].Start)
		}
	}
}

// TestMatchPorts: fio --client writes the logs of several servers at one address over
// each other, unless their jobs name them differently.
func TestMatchPorts(t *testing.T) {
	t.Parallel()
	entry := func(name, prefix string, port int) string {
		return fmt.Sprintf(`{"jobname": %q, "hostname": "h", "port": %d, "job options": {"write_hist_log": %q}}`, name,
			port, prefix)
	}
	for name, c := range map[string]struct {
		entries []string
		logs    []string
		want    string   // the job of each log, or why it is bad
		files   []string // job files, all used
	}{
		"one server": {[]string{entry("a", "x", 1)}, []string{"x_clat_hist.1.log.h"}, "a", nil},
		"two servers": {[]string{entry("a", "x", 1), entry("a", "x", 2)}, []string{"x_clat_hist.1.log.h"},
			"2 servers at h (ports 1, 2), but 1 log: fio --client wrote the log of one over that of the other", nil},
		"three servers of two jobs": {[]string{entry("a", "x", 1), entry("b", "x", 1), entry("a", "x", 2), entry("b",
			"x", 2), entry("a", "x", 3), entry("b", "x", 3)},
			[]string{"x_clat_hist.1.log.h", "x_clat_hist.2.log.h"}, "3 servers at h (ports 1, 2, 3), but 1 log: fio " +
				"--client wrote the log of one over that of the other", nil},
		"two job files": {[]string{entry("a", "x", 1), entry("b", "y", 2)}, []string{"x_clat_hist.1.log.h",
			"y_clat_hist.1.log.h"}, "a b",
			[]string{"[a]\nwrite_hist_log=x\nrw=read", "[b]\nwrite_hist_log=y\nrw=read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"fio.json": `{"fio version": "fio-3.42", "client_stats": [` +
				strings.Join(c.entries, ", ") + `]}`}
			for _, l := range c.logs {
				files[l] = ""
			}
			for i, text := range c.files {
				files[fmt.Sprint(i, ".fio")] = text
			}
			in := one(t, folder(t, files))
			logs, _, err := Match(in)
			if err != nil || len(in.Ignored) > 0 {
				t.Fatal(err, in.Ignored)
			}
			var got []string
			for _, l := range logs {
				if l.Bad != nil {
					got = []string{l.Bad.Msg}
					break
				}
				got = append(got, l.Job)
			}
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("got %q, want %q", all, c.want)
			}
		})
	}
}

// TestSchedule: startdelay counts from fio's start, wait_for from the end of its job.
func TestSchedule(t *testing.T) {
	t.Parallel()
	const s = time.Second
	jobs := []job{
		{name: "a", run: 2 * s},
		{name: "b", delay: s, ramp: s, run: s},
		{name: "c", stage: 1, delay: 2 * s, run: s},
		{name: "d", stage: 1, delay: 5 * s, ramp: s, run: s},
		{name: "e", stage: 1, waits: "c", run: 9 * s},
		{name: "f", stage: 2, run: s},
		{name: "g", stage: 2, waits: "nobody", run: s},
	}
	at, latest := schedule(jobs)
	want := []time.Duration{0, 2 * s, 3 * s, 6 * s, 4 * s, 13 * s, 13 * s}
	if !reflect.DeepEqual(at, want) || latest != 14*s {
		t.Errorf("%v, %v; want %v", at, latest, want)
	}
}

func parseJobs(t *testing.T, text string) *jobfile.File {
	t.Helper()
	j, err := jobfile.Parse(strings.NewReader(text), "x.fio")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestLate: how much later than shown a job behind a stonewall may have started.
func TestLate(t *testing.T) {
	for name, c := range map[string]struct {
		elapsed     int64 // s
		first, last int64 // ms
		want        string
	}{
		"whole seconds":   {7, 2000, 4000, "up to 1s"},
		"nearly exact":    {6, 2000, 3900, ""},
		"time is missing": {9, 2000, 4000, "up to 3s"},
		"no time elapsed": {0, 2000, 4000, "some tenths of a second"},
	} {
		t.Run(name, func(t *testing.T) {
			entries := []fiojson.Entry{
				{JobName: "a", RuntimeMS: c.first, LongestMS: c.first, Elapsed: c.elapsed},
				{JobName: "b", GroupID: 1, RuntimeMS: c.last, LongestMS: c.last, Elapsed: c.elapsed,
					Options: jobfile.Options{"stonewall": "1"}},
			}
			logs, _, err := Match(input("a_clat_hist.1.log a_clat_hist.2.log", doc("fio.json", entries...)))
			if err != nil {
				t.Fatal(err)
			}
			if first, last := logs[0].Start.Late, logs[1].Start.Late; first != "" || last != c.want {
				t.Errorf("first %q, last %q, want %q", first, last, c.want)
			}
		})
	}
	for _, jobs := range [][]job{{{guess: true, run: 1}, {stage: 1}}, {{name: "a"}, {waits: "a"}}} {
		if got := (&set{}).describeLateness(jobs, 0); got != "much" {
			t.Errorf("behind a job of unknown length: %q", got)
		}
	}
}
