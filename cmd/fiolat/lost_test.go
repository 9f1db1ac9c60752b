package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

// A disk has room for some bytes.
type disk struct{ room int }

func (d *disk) Write(p []byte) (int, error) {
	n := min(d.room, len(p))
	d.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestOutputStops: wherever standard output stops taking bytes, the command does not end as if all had arrived.
func TestOutputStops(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	logs := real + "/gaps"
	for _, args := range [][]string{
		{"inspect", logs}, {"inspect", "--format", "json", logs}, {"summary", logs},
		{"summary", "--format", "csv", logs}, {"percentiles", "--interval", "10s", logs},
		{"percentiles", "--format", "junit", "--sla", "read p99 < 1s", logs}, {"compare", logs, logs},
		{"diagnose", logs},
	} {
		code, stdout, stderr := fiolat(t, nil, args...)
		if code != exitOK {
			t.Errorf("%q: exit %d\n%s", args, code, stderr)
		}
		for part := range 12 {
			room := len(stdout) * part / 12
			var errs bytes.Buffer
			code := run(t.Context(), append([]string{"fiolat"}, args...), strings.NewReader(""), &disk{room}, &errs)
			if code != exitIncomplete ||
				strings.Count(errs.String(), "standard output: no space left on device") != 1 {
				t.Errorf("%q, after %d of %d bytes: exit %d\n%s", args, room, len(stdout), code, &errs)
			}
		}
	}
}

// TestJUnitUnwritten: a report that cannot be written whole is an error.
func TestJUnitUnwritten(t *testing.T) {
	t.Parallel()
	s := &junitSuite{Name: "s"}
	s.add("run", "read p99 < 1ms", "2 ms", false)
	s.add("run", "write p99 < 1ms", "", false)
	var whole bytes.Buffer
	if err := s.write(&whole); err != nil {
		t.Fatal(err)
	}
	var back junitSuite
	if err := xml.Unmarshal(whole.Bytes(), &back); err != nil || back.Tests != 2 || back.Failures != 1 {
		t.Errorf("%+v, %v", back, err)
	}
	for _, room := range []int{0, len(xml.Header), whole.Len() - 1} {
		if err := s.write(&disk{room}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("after %d bytes: %v", room, err)
		}
	}
}

// TestDescribeIOs: the number at the front is the sum of all jobs and directions, unless more are known to be missing.
func TestDescribeIOs(t *testing.T) {
	t.Parallel()
	jobs := []pipeline.JobAccount{
		{Job: "a", Direction: "read", Counted: 1000, Missing: 100},
		{Job: "b", Host: "h", Direction: "read", Counted: 500, Missing: 20},
		{Job: "a", Direction: "write", Counted: 3000, Missing: 3},
		{Job: "c", Direction: "trim", Counted: 7},
	}
	of := func(j *pipeline.JobAccount) float64 { return j.Missing }
	for _, tt := range []struct {
		name  string
		total float64
		jobs  []pipeline.JobAccount
		want  string
	}{
		{"by direction and job", 0, jobs, "123 lost: 120 of 1,500 reads (a: 100, b on h: 20), 3 of 3,000 writes (a)"},
		{"more than the jobs know", 200, jobs, "200 lost: 120 of 1,500 reads (a: 100, b on h: 20), 3 of 3,000 writes (a)"},
		{"of no job", 9, nil, "9 lost"},
		{"none", 0, jobs[3:], ""},
	} {
		if got := describeIOs("lost", tt.total, tt.jobs, of); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestCurveDirection: a curve is of the direction of its promise, else of the one that is asked for, else of all.
func TestCurveDirection(t *testing.T) {
	t.Parallel()
	rule, err := fio.ParseRule("write p99 < 1ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at   *fio.Rule
		only []string
		want string
	}{
		{nil, nil, "all"}, {nil, []string{"read"}, "read"}, {nil, []string{"read", "write"}, "all"},
		{&rule, nil, "write"}, {&rule, []string{"write"}, "write"},
	} {
		o := &curveOptions{at: tt.at}
		o.logs.Config.Pick.Directions = tt.only
		if got := o.direction(); got != tt.want {
			t.Errorf("at %v, only %q: %q, want %q", tt.at, tt.only, got, tt.want)
		}
	}
}

// TestBaselineUnread: a run that cannot be compared with a series is an error, and never one without differences.
func TestBaselineUnread(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	for _, tt := range []struct {
		code int
		want string
		run  string
	}{
		{exitInput, "nosuchrun", filepath.Join(t.TempDir(), "nosuchrun")},
		{exitUsage, "holds 2 runs", "g=" + real + "/gaps," + real + "/exact"},
	} {
		refused(t, tt.code, []string{tt.want}, "compare", "--es", s.URL, "--baseline", "label:series=nightly", tt.run)
	}
}

// TestReadsThatFail: a command that reads stored runs does not end as if it had read them, with other output, when the
// server refuses any one of its requests.
func TestReadsThatFail(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	dirs, err := writeNights(t.TempDir(), 6, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		must(t, "ingest", "--start", fmt.Sprintf("2026-01-%02dT02:00:00Z", i+1), "--label", "series=nightly",
			"--interval", "5s", "--run-id", fmt.Sprintf("night-%02d", i+1), "--es", s.URL, dir)
	}
	for _, args := range [][]string{
		{"compare", "--interval", "5s", "--baseline", "label:series=nightly", "night-06"},
		{"history", "label:series=nightly"}, {"percentiles", "night-03"}, {"runs"},
	} {
		args = append(args, "--es", s.URL)
		var asked, refuse atomic.Int64
		count := func(*http.Request) bool { return asked.Add(1) == refuse.Load() }
		s.Inject(esmodeltest.Fault{Match: count, Times: -1, Status: 403, Type: "security_exception", Reason: "no"})
		code, whole, stderr := fiolat(t, nil, args...)
		if code != exitOK {
			t.Fatalf("%q: exit %d\n%s", args, code, stderr)
		}
		all, passed := asked.Load(), int64(0)
		for nth := range all {
			asked.Store(0)
			refuse.Store(nth + 1)
			// The last request of a search, which frees it, may fail.
			code, stdout, stderr := fiolat(t, nil, args...)
			if code == exitOK && stdout != whole {
				t.Errorf("%q: exit 0 where request %d of %d is refused\n%s\n%s", args, nth+1, all, stdout, stderr)
			}
			if code == exitOK {
				passed++
			}
		}
		if 2*passed > all {
			t.Errorf("%q: %d of %d requests are of no use", args, passed, all)
		}
		s.Heal()
	}
}
