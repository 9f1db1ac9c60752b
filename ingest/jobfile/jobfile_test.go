package jobfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/internal/testkit"
)

func parseJobs(t *testing.T, text string) *File {
	t.Helper()
	j, err := Parse(strings.NewReader(text), "x.fio")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// threadsOf is one word per thread: section, group, stage, JSON entry.
func threadsOf(j *File) string {
	var out []string
	of, _ := j.Entries()
	for i, s := range j.Threads() {
		out = append(out, fmt.Sprintf("%s/%d/%d/%d", s.Name, s.Group, s.Stage, of[i]))
	}
	return strings.Join(out, " ")
}

// TestThreads: groups, stages and entries as fio 3.33 made them of the same files.
func TestThreads(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"one":             {"[a]\nrw=read", "a/0/0/0"},
		"numjobs":         {"[a]\nnumjobs=2\n[b]", "a/0/0/0 a/0/0/1 b/0/0/2"},
		"numjobs grouped": {"[global]\ngroup_reporting\n[a]\nnumjobs=2\n[b]", "a/0/0/0 a/0/0/0 b/0/0/0"},
		"stonewall": {"[a]\n[b]\nstonewall\n[c]\nwait_for_previous=1\n[d]\nstonewall=0",
			"a/0/0/0 b/1/1/1 c/2/2/2 d/2/2/3"},
		"new_group": {"[global]\ngroup_reporting=1\n[a]\nnew_group\nstonewall\n[b]\n[c]\nnew_group\n" +
			"[d]\nstonewall\nnew_group", "a/0/0/0 b/0/0/0 c/1/0/1 d/2/1/2"},
		"stonewall in [global]": {"[global]\nstonewall\n[a]\nnumjobs=2\n[b]", "a/0/0/0 a/0/0/1 b/1/1/2"},
		"groups begun and left": {"[global]\ngroup_reporting\nstonewall\n[a]\nnumjobs=2\n[b]\nstonewall=0\n[c]\n" +
			"[d]\nstonewall=0\nstats=0\n[e]\nstonewall=0\ngroup_reporting=0\n[f]\nstonewall=0\n" +
			"group_reporting=1", "a/0/0/0 a/0/0/0 b/0/0/0 c/1/1/1 d/1/1/-1 e/1/1/2 f/1/1/2"},
		"later [global]": {"[global]\nnumjobs=2\n[a]\n[global]\nnumjobs=1\nstonewall\n[b]",
			"a/0/0/0 a/0/0/1 b/1/1/2"},
		"a global of another name": {"[global_x]\nnumjobs=2\n[a]", "a/0/0/0 a/0/0/1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := threadsOf(parseJobs(t, c.text)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseJobFile(t *testing.T) {
	j := parseJobs(t, "; comment\r\n\n# another\n[global] ; here, too\n  bs = 4k # "+
		"blanks\nreadwrite=randrw\nwrite_hist_log=all\ntimeout=5\n"+
		"[a b]\ngroup_reporting\nwrite_hist_log\n[c]\nwrite_hist_log=dir/own\nbs=8k\nname=see\n[d]\nwrite_lat_log\n"+
		"write_hist_log=${X}")
	type section struct {
		Name string
		Line int64
		Options
		hist, lat string
	}
	var got []section
	for _, s := range j.Sections {
		hist, _ := s.LogPrefix(true)
		lat, _ := s.LogPrefix(false)
		got = append(got, section{s.Name, s.Line, s.Options, hist, lat})
	}
	want := []section{
		{"a b", 9, Options{"bs": "4k", "rw": "randrw", "runtime": "5", "write_hist_log": "all", "group_reporting": ""},
			"all", ""},
		{"c", 12, Options{"bs": "8k", "rw": "randrw", "runtime": "5", "write_hist_log": "dir/own", "name": "see"},
			"own", ""},
		{"d", 16, Options{"bs": "4k", "rw": "randrw", "runtime": "5", "write_hist_log": "${X}", "write_lat_log": ""},
			"", "d"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseJobFileInclude(t *testing.T) {
	testkit.NotRaced(t)
	dir := t.TempDir()
	testkit.Write(t, dir, "common.inc", "bs=4k\ninclude more.inc\n")
	testkit.Write(t, dir, "more.inc", "numjobs=3\n")
	testkit.Write(t, dir, "loop.inc", "include loop.inc\n")
	testkit.Write(t, dir, "section.inc", "rw=read\n[x]\n")
	testkit.Write(t, dir, "many8.inc", strings.Repeat("bs=4k\n", 100))
	for i := range 8 {
		testkit.Write(t, dir, fmt.Sprintf("many%d.inc", i), strings.Repeat(fmt.Sprintf("include many%d.inc\n", i+1),
			100))
	}
	options := new(strings.Builder)
	for i := range 5000 {
		fmt.Fprintf(options, "o%d=\n", i)
	}
	for name, c := range map[string]struct{ text, err string }{
		"nested":   {"[global]\ninclude common.inc\n[a]", ""},
		"absolute": {"[a]\ninclude " + filepath.Join(dir, "common.inc"), ""},
		"loop":     {"[a]\ninclude loop.inc", "loop.inc:1: included too deep; does a file include itself?"},
		"100^8":    {"[a]\ninclude many0.inc", "more than 16 MiB with what it includes; is this a fio job file?"},
		"sections": {"[global]\n" + options.String() + strings.Repeat("[a]\n", 5000),
			"more than 16 MiB with what it includes; is this a fio job file?"},
		"missing": {"[a]\nrw=read\ninclude no.inc", "job.fio:3: include no.inc: no such file or directory; put the " +
			"included file beside the job file"},
		"a section": {"[a]\ninclude section.inc", "section.inc:2: a section in an included file; fio allows options " +
			"only"},
		"a folder": {"[a]\ninclude .", "job.fio:2: include .: not a file; put the included file beside the job file"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := Parse(strings.NewReader(c.text), filepath.Join(dir, "job.fio"))
			if c.err != "" {
				var pe *fio.ParseError
				if !errors.As(err, &pe) || !strings.HasSuffix(strings.ReplaceAll(err.Error(),
					dir+string(filepath.Separator), ""), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || len(j.Threads()) != 3 || j.Sections[0].Options["bs"] != "4k" {
				t.Errorf("%+v, %v", j, err)
			}
		})
	}
}

// A comment ends a section's name, of which fio then drops the last character as if it were the bracket.
func TestParseJobFileNames(t *testing.T) {
	for text, want := range map[string]string{
		"[a b]\n": "a b", "[ab;c]\n": "a", "[a#b]": Unnamed, "[]": Unnamed, "[a": Unnamed, "[ab": "a",
		"[unnamed]": Unnamed,
	} {
		j, err := Parse(strings.NewReader(text+"\nwrite_hist_log\n"), "x.fio")
		if err != nil || j.Sections[0].Name != want {
			t.Errorf("%q: %+v, %v; want the name %q", text, j, err, want)
		}
		logs := want
		if want == Unnamed && text != "[unnamed]" { // fio names the log _clat_hist.1.log
			logs = ""
		}
		if got, known := j.Sections[0].LogPrefix(true); got != logs || !known {
			t.Errorf("%q: logs named %q, want %q", text, got, logs)
		}
	}
}

func TestParseJobFileErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no section": {"[global]\nbs=4k\n", "x.fio: no job section ([name]) in it; pass the job file that fio was " +
			"run with"},
		"option first": {"\nbs=4k\x1b[2J\n[a]", `x.fio:2: an option before any [section]; is this a fio job file?`},
		"no name":      {"[a]\n[\n", `x.fio:2: a [section] without a name; write [name]`},
		"a long line": {"[a]\n" + strings.Repeat("x", maxJobLine+1), "x.fio:2: bufio.Scanner: token too long; is " +
			"this a fio job file?"},
		"too many": {"[a]\nnumjobs=999999999\n[b]\nnumjobs=999999999\n",
			"x.fio: 2097154 threads are more than fio starts; is this a fio job file?"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := Parse(strings.NewReader(c.text), "x.fio")
			var pe *fio.ParseError
			if j != nil || !errors.As(err, &pe) || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "3": 3 * time.Second, " 10s ": 10 * time.Second, "+2": 2 * time.Second, "500ms": 500 * time.Millisecond,
		"500msec": 500 * time.Millisecond,
		"20us":    20 * time.Microsecond, "20usec": 20 * time.Microsecond, "2m": 2 * time.Minute, "1h": time.Hour,
		"1D": 24 * time.Hour, "5S": 5 * time.Second,
		"1.5": time.Second, "1.5s": time.Second, // fio stops at the point, before the suffix
		"2min": 2 * time.Microsecond, "3sec": 3 * time.Microsecond, // measured with fio 3.33
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "s", "-5", "1-3", "1,3", "00:01:00", "(1+2)", "99999999999999999999",
		"9999999999999d", "nan"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if _, err := ParseDuration("1-3"); !strings.Contains(err.Error(), "random") {
		t.Error(err)
	}
}

// TestSizeBounds: sizes as fio reads them, in bytes; what no size is, or is one of more than 63 bits, is none.
func TestSizeBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"4k": 4096, "4KiB": 4096, "1.5m": 1.5 * (1 << 20), "512b": 512,
		"0x1000": 4096, "0x7fffffffffffffff": 1 << 63, "0x8000000000000000": -1, "-1": -1, "k": -1, "": -1} {
		got, ok := Size(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
}
