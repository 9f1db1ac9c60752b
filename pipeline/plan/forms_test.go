package plan

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
)

// TestForms reads real logs in forms that were refused or misread: by direction the I/Os, and what must be warned of.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		paths    []string
		version  int
		want     map[string]float64
		warns    string // "": nothing may be
		err      string
		interval time.Duration // the default; 0: not looked at
		reads    [2]float64    // mean and greatest latency of all reads in ns, as fio counted them; 0: not looked at
	}{
		{name: "fio on Windows", paths: []string{"windows-crlf"},
			want: map[string]float64{"read": 2491, "write": 2491}},
		{name: "a copy that rsync has not finished", paths: []string{"partial-copies"},
			warns: "a copy that rsync has not finished", want: map[string]float64{"read": 2499, "write": 2499}},
		{name: "job names with a slash", paths: []string{"slash-names"}, want: map[string]float64{"read": 600,
			"write": 601}},
		{name: "JSON of a run that went on after errors", paths: []string{"json-only-error"},
			warns: "fio ended with error 5 (input/output error)", want: map[string]float64{"read": 1373}},
		// Damaged by fio --client, as the logs of the other hosts prove, whose 2,396 and 2,392 reads fio counted; all
		// but the last window of 127.0.0.2.
		{name: "the JSON of one host of three missing", paths: []string{"sibling-not-repaired"},
			warns: "127.0.0.2: when its host started is unknown; assuming that the 3 hosts started together",
			want:  map[string]float64{"read": 7040}},
		{name: "a host that is not in the JSON", paths: []string{"host-not-in-json"},
			warns: "127.0.0.2: when its host started is unknown; assuming that the 2 hosts started together",
			want:  map[string]float64{"read": 2401 + 2253}},
		{name: "per_job_logs=0, a log for each job", paths: []string{"jobfile-own-names"}, interval: time.Second,
			want: map[string]float64{"read": 2698, "write": 2694}}, // what the logs hold
		{name: "two servers at one address, with a job file each", paths: []string{"ports-own"},
			warns: "2 logs repaired", want: map[string]float64{"read": 2398 + 1195}}, // their JSON has the names of one
		{name: "single I/Os of an unknown version", paths: []string{"fio2-lat-log"}, err: "pass --fio-version 2 or 3"},
		{name: "single I/Os of fio 2", paths: []string{"fio2-lat-log"}, version: 2,
			reads: [2]float64{1727.2e3, 26910e3}, want: map[string]float64{"read": 800, "write": 801}},
		{name: "single I/Os with log_store_compressed", paths: []string{"fz-only"}, warns: "fz-only/x_clat.1.log.fz: " +
			"a log that fio compressed, which is not read; unpack it with `fio --inflate-log=testdata/", want: map[string]float64{"read": 1500, "write": 1501}},
		{name: "single I/Os on standard input", paths: []string{"-"},
			want: map[string]float64{"read": 200, "write": 200}},
		{name: "a stall that the median spacing misreads", paths: []string{"18-window-length-guessed"},
			warns: "the stamps allow 879ms to 1.001s; assuming 1s", want: map[string]float64{"read": 901},
			interval: time.Second},
		{name: "stamps a little late", paths: []string{"interval-guess/s1"}, interval: time.Second},
		{name: "stamps a little late, 2", paths: []string{"interval-guess/s2"}, interval: time.Second},
		{name: "stamps a little late, 3", paths: []string{"interval-guess/s3"}, interval: time.Second},
		{name: "stamps a little late, 4", paths: []string{"interval-guess/s4"}, interval: time.Second},
		{name: "stamps a little late, 5", paths: []string{"interval-guess/s5"}, interval: time.Second},
		{name: "stamps a little late, 6", paths: []string{"interval-guess/s6"}, interval: time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := fio.Defaults()
			s.FioVersion = tt.version
			stdin, err := os.Open("testdata/cases/single-ios-stdin/x_clat.1.log")
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			for i, path := range tt.paths {
				if path != "-" {
					tt.paths[i] = filepath.Join("testdata/cases", path)
				}
			}
			var warnings []string
			got, err := process(t, Config{Settings: s, Stdin: stdin, Warn: func(w string) {
				warnings = append(warnings, w)
			}}, tt.paths...)
			if err != nil || tt.err != "" {
				if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			sums := samples(got)
			for direction, want := range tt.want {
				if n := sums[direction]; n < want-1e-6 || n > want+1e-6 {
					t.Errorf("%v %ss, want %v", n, direction, want)
				}
			}
			said := strings.Join(warnings, "\n")
			if tt.want != nil && tt.warns == "" && said != "" || !strings.Contains(said, tt.warns) {
				t.Errorf("warned %q, want %q", said, tt.warns)
			}
			if tt.interval != 0 && got.Run.Interval != tt.interval.Nanoseconds() {
				t.Errorf("interval %v", time.Duration(got.Run.Interval))
			}
			for _, r := range got.Sum.Total {
				if tt.reads[0] > 0 && r.Dims.Direction == "read" &&
					(math.Abs(r.Stats.Mean/tt.reads[0]-1) > 0.02 || math.Abs(r.Stats.Max/tt.reads[1]-1) > 0.02) {
					t.Errorf("reads of mean %v and max %v, want %v", r.Stats.Mean, r.Stats.Max, tt.reads)
				}
			}
		})
	}
}

// TestSiblingUnit: a histogram log beside single I/Os in four columns tells the unit of these.
func TestSiblingUnit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		columns int
		want    float64
	}{"fio 2": {1216, 500e3}, "fio 2 of 24 groups": {1536, 500e3}, "fio 3": {1856, 500}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{"x_lat.1.log": "1, 500, 0, 4096\n",
				"x_clat_hist.1.log": "1000, 0, 4096" + strings.Repeat(", 0", tt.columns-1) + ", 1\n"})
			s := fio.Defaults()
			s.Kind = 2
			_, c := planned(t, s, dir)
			for _, r := range c.Rows {
				if r.Scope == "run" && r.Stats.Samples > 0 && (r.Stats.Max < tt.want || r.Stats.Max > 1.02*tt.want) {
					t.Errorf("max %v ns, want %v", r.Stats.Max, tt.want)
				}
			}
			if samples(c)["read"] != 1 {
				t.Errorf("%v", samples(c))
			}
		})
	}
}

// TestLogNamedAfterJob: of two jobs whose write_hist_log has no value, the one without a log is named.
func TestLogNamedAfterJob(t *testing.T) {
	t.Parallel()
	entry := func(name, options string) string {
		return `{"jobname":"` + name + `","job_runtime":1500,"job options":{` + options + `},"read":{"runtime":1500,` +
			`"total_ios":1,"clat_ns":{"N":1,"min":11,"max":11,"bins":{"11":1}}}}`
	}
	json := func(options string) string {
		return `{"fio version":"fio-3.33","jobs":[` + entry("a", options) + "," + entry("b", options) + "]}"
	}
	for name, tt := range map[string]struct{ options, job, want string }{
		"fio's JSON tells": {`"write_hist_log":"","log_hist_msec":"1000"`, "",
			`job "b" has no log here: its 1 reads are`},
		"the job file does": {`"log_hist_msec":"1000"`, "write_hist_log\n", `job "b" has no log here: its 1 reads are`},
		"neither":           {`"log_hist_msec":"1000"`, "", `job "b" has no log here, though other jobs have one`},
		"it has none":       {`"log_hist_msec":"1000"`, "rw=read\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := map[string]string{"fio.json": json(tt.options),
				"a_clat_hist.1.log": "1000, 0, 4096" + strings.Repeat(", 0", 11) + ", 1" +
					strings.Repeat(", 0", 1844) + "\n"}
			if tt.job != "" {
				content["job.fio"] = "[a]\nwrite_hist_log\nlog_hist_msec=1000\n[b]\nlog_hist_msec=1000\n" + tt.job
			}
			warnings, _ := warned(t, files(t, content))
			said := regexp.MustCompile(`job "b"[^\n]*`).FindString(strings.Join(warnings, "\n"))
			if (said == "") != (tt.want == "") || !strings.Contains(said, tt.want) {
				t.Errorf("warned %q, want %q", warnings, tt.want)
			}
		})
	}
}
