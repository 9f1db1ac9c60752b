package ingest

import (
	"fmt"
	"strings"
	"testing"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// TestPartsByRate: of two sections of one group that differ in nothing that a log shows but their rate, each has the
// part of its rate. Without rates, or with equal ones, no part is given to either.
func TestPartsByRate(t *testing.T) {
	t.Parallel()
	part := func(perSecond int) (text string) { // two windows of 1 s, in buckets of log_hist_coarseness=6
		for _, ms := range []int{1000, 2000} {
			text += fmt.Sprintf("%d, 0, 4096, 0, %d%s\n", ms, perSecond, strings.Repeat(", 0", 27))
		}
		return text
	}
	for _, tt := range []struct {
		name, slow, fast string
		parts            []int
		want             string
	}{
		{"slow first", "rate_iops=10", "rate_iops=100", []int{10, 100}, "slow fast"},
		{"fast first", "rate_iops=10", "rate_iops=100", []int{100, 10}, "fast slow"},
		{"no rates", "", "", []int{10, 100}, "- -"},
		{"equal rates", "rate_iops=10", "rate_iops=10", []int{10, 10}, "- -"},
	} {
		dir := t.TempDir()
		text := ""
		for _, n := range tt.parts {
			text += part(n)
		}
		write(t, dir, "x_clat_hist.log", text)
		write(t, dir, "fio.json", `{"fio version":"fio-3.36","global options":{"per_job_logs":"0"},"jobs":[
			{"jobname":"slow","groupid":0,"job options":{"write_hist_log":"x"},
			"read":{"runtime":2000,"clat_ns":{"N":`+
			fmt.Sprint(2*(tt.parts[0]+tt.parts[1]))+`}}}]}`)
		write(t, dir, "x.fio", "[global]\nrw=read\nbs=4k\nper_job_logs=0\nwrite_hist_log=x\nlog_hist_msec=1000\nlog_hist_coarseness=6\ngroup_reporting\n[slow]\n"+
			tt.slow+"\n[fast]\n"+tt.fast+"\n")
		logs, _, err := Match(one(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			name := "-"
			if l.Section != nil {
				name = l.Section.Name
			}
			got = append(got, name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, s, tt.want)
		}
	}
}

// TestJobsWithoutLog counts the jobs of fio's JSON that failed, or logged nothing, beside those that have a log.
func TestJobsWithoutLog(t *testing.T) {
	t.Parallel()
	logged := jobfile.Options{"write_hist_log": "a"}
	for _, tt := range []struct {
		name    string
		entries []fiojson.Entry
		want    int
		missing int // logs that were written, and are not here
	}{
		{"none", []fiojson.Entry{{JobName: "a", Options: logged}}, 0, 0},
		{"one that writes none", []fiojson.Entry{{JobName: "a", Options: logged}, {JobName: "b"}}, 1, 0},
		{"two that failed", []fiojson.Entry{{JobName: "a", Options: logged}, {JobName: "b", Error: 5}, {JobName: "c",
			Error: 28}}, 2, 0},
		{"one of each", []fiojson.Entry{{JobName: "a", Options: logged}, {JobName: "b", Error: 5},
			{JobName: "c"}}, 2, 0},
		{"one whose log is not here", []fiojson.Entry{{JobName: "a", Options: logged}, {JobName: "b",
			Options: jobfile.Options{"write_hist_log": "b"}}}, 0, 1},
	} {
		in := input("a_clat_hist.1.log", doc("fio.json", tt.entries...))
		if _, _, err := Match(in); err != nil {
			t.Fatal(err)
		}
		if in.JobsWithoutLog != tt.want || len(in.NoLog) != tt.missing {
			t.Errorf("%s: %d jobs without a log, %d logs missing; want %d, %d", tt.name, in.JobsWithoutLog, len(in.NoLog),
				tt.want, tt.missing)
		}
	}
}
