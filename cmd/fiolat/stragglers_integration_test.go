//go:build integration && linux

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fiolat/analysis/diagnose"
	"fiolat/pipeline/pipelinetest"
)

// faultRuns is how many runs get a fault: ten where real times are judged.
func faultRuns() int {
	if os.Getenv("FIOLAT_TEST_TIMES") != "" {
		return 10
	}
	return 1
}

// disks are some disks with a latency of 8 ms, of which any may become slow.
type disks struct {
	dir string
	n   int
}

func newDisks(t *testing.T, n int) *disks {
	t.Helper()
	d := &disks{t.TempDir(), n}
	for i := range n {
		d.limit(t, i, "100M")
		server := start(t, d.dir, "nbdkit", "-f", "-U", fmt.Sprintf("disk%d", i), "--filter=rate", "--filter=delay",
			"memory", "64M", "delay-read=8ms", "rate=100M", fmt.Sprintf("rate-file=%s/rate%d", d.dir, i),
			"burstiness=0.2")
		server.until(t, "nbdkit starts", func() bool {
			_, err := os.Stat(fmt.Sprintf("%s/disk%d", d.dir, i))
			return err == nil
		})
	}
	return d
}

// limit sets the bandwidth of a disk in bits per second: 100M is no limit, with 5M four I/Os in flight take three times
// as long, and 1M is 30 I/Os a second.
func (d *disks) limit(t *testing.T, i int, rate string) {
	t.Helper()
	name := fmt.Sprintf("%s/rate%d", d.dir, i)
	err := os.WriteFile(name+".new", []byte(rate), 0o600)
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// jobs are the arguments of a fio with a job for each disk, and its rate_iops if there are rates.
func (d *disks) jobs(seconds int, rates []string) []string {
	args := []string{"--ioengine=nbd", "--rw=randread", "--bs=4k", "--iodepth=4", "--time_based",
		fmt.Sprintf("--runtime=%d", seconds), "--log_hist_msec=1000", "--log_unix_epoch=1"}
	global := slices.Clone(args)
	args = nil
	for i := range d.n {
		name := fmt.Sprintf("disk%d", i)
		args = append(append(append(args, "--name="+name), global...), "--uri=nbd+unix:///?socket="+d.dir+"/"+name,
			"--write_hist_log="+name)
		if rates != nil {
			args = append(args, "--rate_iops="+rates[i])
		}
	}
	return args
}

// diagnosed is what fiolat says of a run, and its start in ms since 1970.
func diagnosed(t *testing.T, args ...string) (d diagnose.Diagnosis, start int64) {
	t.Helper()
	code, out, stderr := fiolat(t, nil, append([]string{"percentiles", "--format", "ndjson"}, args...)...)
	var row struct {
		Timestamp time.Time
		OffsetMS  int64 `json:"offset_ms"`
	}
	first, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &row); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v\n%s", code, err, stderr)
	}
	code, out, stderr = fiolat(t, nil, append([]string{"diagnose", "--format", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v\n%s", code, err, stderr)
	}
	return d, row.Timestamp.UnixMilli() - row.OffsetMS
}

// within says that a time in ms of the run is at most one interval from a moment.
func within(ms, start int64, at time.Time) bool {
	off := start + ms - at.UnixMilli()
	return off >= -1000 && off <= 1000
}

// TestServerSlowDisk: of six disks one becomes slow while fio runs, and fast again.
func TestServerSlowDisk(t *testing.T) {
	beside(t)
	for _, c := range []struct {
		name, limit string
		rates       []string // rate_iops of each disk; none: closed loops
	}{
		{"closed loops", "5M", nil},
		{"loads from 40 to 90 I/Os a second", "1M", []string{"40", "50", "60", "70", "80", "90"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.rates != nil && faultRuns() == 1 {
				t.Skip("runs in make times")
			}
			right, runs := 0, faultRuns()
			for n := range runs {
				rng := rand.New(rand.NewPCG(uint64(n), 1))
				d, bad := newDisks(t, 6), rng.IntN(6)
				fio := start(t, d.dir, "fio", append([]string{"--output-format=json+", "--output=fio.json"},
					d.jobs(28, c.rates)...)...)
				time.Sleep(time.Duration((8 + 4*rng.Float64()) * float64(time.Second)))
				d.limit(t, bad, c.limit)
				from := time.Now()
				time.Sleep(time.Duration((6 + 6*rng.Float64()) * float64(time.Second)))
				d.limit(t, bad, "100M")
				to := time.Now()
				fio.ends(t, 0)
				got, began := diagnosed(t, d.dir)
				named, others, job := false, false, fmt.Sprintf("disk%d", bad)
				for _, f := range got.Findings {
					switch {
					case f.About != "slow" || f.Dimension == "run":
					case !slices.Equal(f.Who, []string{job}):
						others = true
					case within(f.FromMS, began, from) && within(f.ToMS, began, to):
						named = true
					}
				}
				if named && !others {
					right++
				} else {
					t.Logf("run %d: %s from %d to %d ms; %q", n, job, from.UnixMilli()-began, to.UnixMilli()-began,
						got.Sentences(diagnose.MostShown))
				}
			}
			t.Logf("the slow disk alone is named, with onset and end within a quantum, in %d of %d runs", right, runs)
			if right < runs && runs > 1 {
				t.Errorf("%d of %d", right, runs)
			}
		})
	}
}

// TestServerStoppedBindfs: a file system stands still for 1 to 10 s.
func TestServerStoppedBindfs(t *testing.T) {
	beside(t)
	right, runs := 0, faultRuns()
	for n := range runs {
		rng := rand.New(rand.NewPCG(uint64(n), 2))
		server, mounted := bindfs(t)
		dir := t.TempDir()
		fio := start(t, dir, "fio", "--output-format=json+", "--output=fio.json", "--name=x", "--directory="+mounted,
			"--ioengine=psync", "--rw=randwrite", "--bs=4k", "--size=16m", "--rate_iops=500", "--time_based",
			"--runtime=28", "--log_hist_msec=1000", "--log_unix_epoch=1", "--write_hist_log=x")
		time.Sleep(time.Duration((8 + 4*rng.Float64()) * float64(time.Second)))
		if err := server.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		time.Sleep(time.Duration((1 + 9*rng.Float64()) * float64(time.Second)))
		to := time.Now()
		if err := server.Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		fio.ends(t, 0)
		got, began := diagnosed(t, dir)
		found := got.Findings
		stall := slices.IndexFunc(found, func(f diagnose.Finding) bool {
			return within(f.FromMS, began, from) && within(f.ToMS, began, to)
		})
		if stall >= 0 {
			right++
		}
		if stall < 0 || len(found) > 1 { // on a machine with other work there are others
			t.Logf("run %d: from %d to %d ms; %q", n, from.UnixMilli()-began, to.UnixMilli()-began,
				got.Sentences(diagnose.MostShown))
		}
	}
	t.Logf("the stall is a finding, with onset and end within a quantum, in %d of %d runs", right, runs)
	if right < runs && runs > 1 {
		t.Errorf("%d of %d", right, runs)
	}
}

// replayFio writes a ./fio that prints what a real one printed in TestServerLiveStraggler on an idle machine, and its
// logs: on a busy machine fio 3.33 prints few reports. Timestamps begin ten minutes from now, as old breaches are not
// alerted.
func replayFio(t *testing.T, dir string) {
	t.Helper()
	stamp := regexp.MustCompile(`\b17954341[0-9]{5}\b`)
	later := time.Since(time.Unix(1795434122, 0)).Truncate(time.Second).Milliseconds() + 600_000
	recorded, _ := filepath.Glob("testdata/straggler/*.zst")
	for _, name := range recorded {
		data, err := pipelinetest.Unpacked(name)
		if err == nil {
			data = stamp.ReplaceAllFunc(data, func(ms []byte) []byte {
				n, _ := strconv.ParseInt(string(ms), 10, 64)
				return strconv.AppendInt(nil, n+later, 10)
			})
			err = os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(name), ".zst")), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/fio", []byte("#!/bin/sh\ncat fio.json\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestServerLiveStraggler: of six disks one becomes slow while fiolat live follows fio, or what fio wrote then. The
// alert of the broken rule names it, and so do an alert and an event of their own, and in the end the diagnosis of the
// run. What is stored of the logs afterwards has the same diagnosis as the logs.
func TestServerLiveStraggler(t *testing.T) {
	es := server(t)
	const (
		bad   = "disk2"
		since = 13 // reports
	)
	var (
		prefix string
		hook   *pager
		d      *disks
		p      *proc
		slow   time.Time
	)
	retry(t, func(try int) bool {
		prefix, hook = livePrefix(t, es, fmt.Sprint("straggler", try)), &pager{}
		web := httptest.NewServer(hook)
		t.Cleanup(web.Close)
		timed := os.Getenv("FIOLAT_TEST_TIMES") != ""
		if timed {
			d = newDisks(t, 6)
			recordFio(t, d.dir)
		} else {
			d = &disks{t.TempDir(), 6}
			replayFio(t, d.dir)
		}
		if err := os.WriteFile(d.dir+"/secret", []byte("s3cret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p = start(t, d.dir, "fiolat", append([]string{"live", "--es", es, "--index-prefix", prefix, "--run-id", "R",
			"--host", "h", "--by", "direction,job", "--interval", "1s", "--sla", "read p99.9 < 30ms",
			"--alert-webhook", web.URL, "--alert-secret-file", "secret", "--", "./fio"}, d.jobs(30, nil)...)...)
		if !timed {
			slow = statusTimes(t, d.dir+"/fio.json")[since-1]
			return p.lasted(t, exitOK)
		}
		if !p.until(t, "reports", func() bool { return len(statusTimes(t, d.dir+"/fio.json")) >= since }) {
			return false
		}
		d.limit(t, 2, "1M") // 130 ms, of more than one I/O in a hundred
		slow = time.Now()
		return p.lasted(t, exitOK)
	})

	var rule, own string
	for _, e := range hook.events {
		message, event := fmt.Sprint(e["message"]), e["event"].(map[string]any)
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(event["end"]))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.1f s after the fault: %s", at.Sub(slow).Seconds(), message)
		switch {
		case at.Before(slow):
		case event["action"] == "sla-breach" && rule == "":
			rule = message
		case event["action"] == "straggler" && strings.Contains(message, bad) && own == "":
			own = message
		}
	}
	if own == "" || !strings.Contains(rule, "job "+bad+" has ") {
		t.Errorf("the rule's alert is %q, the straggler's %q\n%s", rule, own, p.said.String())
	}
	stored := 0
	for _, e := range documents(t, es, prefix+"-event-*") {
		if strings.Contains(string(e), `"action":"straggler"`) && strings.Contains(string(e), `"who":["`+bad+`"]`) {
			stored++
		}
	}
	if stored == 0 {
		t.Error("no event of the straggler is stored")
	}
	for _, run := range documents(t, es, prefix+"-run") {
		if !strings.Contains(string(run), `"dimension":"job","who":["`+bad+`"]`) {
			t.Errorf("the diagnosis of the run that ended does not name it: %s", run)
		}
	}

	logs := filepath.Join(d.dir, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(d.dir + "/*_clat_hist.*.log")
	for _, name := range found {
		if err := os.Rename(name, filepath.Join(logs, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := fiolat(t, nil, "ingest", "--es", es, "--index-prefix", prefix, "--run-id", "L", "--by",
		"direction,job", logs)
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	of, _ := diagnosed(t, logs)
	code, out, stderr := fiolat(t, nil, "diagnose", "--format", "json", "--es", es, "--index-prefix", prefix, "L")
	var again diagnose.Diagnosis
	if err := json.Unmarshal([]byte(out), &again); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v\n%s", code, err, stderr)
	}
	names := func(d *diagnose.Diagnosis) (out []string) {
		for _, f := range d.Findings {
			out = append(out, fmt.Sprint(f.Dimension, " ", f.Who, " ", f.Measure, " ", f.FromMS, " ", f.ToMS))
		}
		return out
	}
	if a, b := names(&of), names(&again); len(b) == 0 || !slices.Equal(a, b) {
		t.Errorf("of the logs %q, of what is stored %q", a, b)
	}
	begins := 0
	for _, e := range documents(t, es, prefix+"-event-*") {
		if strings.Contains(string(e), `"id":"L"`) && strings.Contains(string(e), `"status":"began"`) {
			begins++
		}
	}
	if begins == 0 {
		t.Error("the ingest of the logs stored no event of the straggler")
	}
}

// TestServerInFlight: the queue of an asynchronous engine is always full, by the completion latency with fio's own
// submission latency, and where that is little, without: at any depth on a device with 200 reads a second, which the
// kernel makes of any (as root, with blkio of cgroup v1).
func TestServerInFlight(t *testing.T) {
	beside(t)
	timed := os.Getenv("FIOLAT_TEST_TIMES") != "" // other work makes fio wait between two I/Os
	for _, slow := range []bool{false, true} {
		if slow && !timed {
			break
		}
		for depth, most := range map[int]float64{1: 0.05, 4: 0.02, 16: 0.02, 64: 0.02} {
			dir := t.TempDir()
			group := "true"
			if slow {
				group = "echo $$ >" + throttled(t, dir) + "/cgroup.procs"
			}
			start(t, dir, "sh", "-ec", group+`; exec fio "$@"`, "fio", "--output-format=json+", "--output=fio.json",
				"--name=x", "--ioengine=libaio", "--direct=1", "--rw=randread", "--bs=4k", "--size=32m",
				fmt.Sprintf("--iodepth=%d", depth), "--time_based", "--runtime=5", "--log_hist_msec=1000",
				"--log_unix_epoch=1", "--write_hist_log=x").ends(t, 0)
			d, _ := diagnosed(t, dir)
			data, err := os.ReadFile(filepath.Join(dir, "fio.json"))
			var said struct {
				Jobs []struct {
					Read struct {
						Runtime float64
						Slat    struct{ N, Mean float64 } `json:"slat_ns"`
					}
				}
			}
			if err == nil {
				err = json.Unmarshal(data, &said)
			}
			load := d.More[len(d.More)-1]
			if err != nil || load.About != "concurrency" || *load.Others != float64(depth) {
				t.Fatalf("depth %d: %v, %+v", depth, err, load)
			}
			r := said.Jobs[0].Read
			clat, all := *load.Own/float64(depth), (*load.Own+r.Slat.N*r.Slat.Mean/(r.Runtime*1e6))/float64(depth)
			t.Logf("depth %d, slow %v: %.4f of it by clat, %.4f with slat", depth, slow, clat, all)
			if all > 1+most || timed && (all < 1-most || (depth >= 16 || slow) && math.Abs(clat-1) > 0.1) {
				t.Errorf("depth %d, slow %v: %.4f of it by clat, %.4f with slat", depth, slow, clat, all)
			}
		}
	}
}

// throttled is a control group in which the device of a directory has 200 reads a second.
func throttled(t *testing.T, dir string) string {
	t.Helper()
	var st unix.Stat_t
	group, err := os.MkdirTemp("/sys/fs/cgroup/blkio", "fiolat")
	if err == nil {
		t.Cleanup(func() { _ = os.Remove(group) })
		err = unix.Stat(dir, &st)
	}
	if err == nil {
		limit := fmt.Sprintf("%d:%d 200", unix.Major(st.Dev), unix.Minor(st.Dev))
		err = os.WriteFile(group+"/blkio.throttle.read_iops_device", []byte(limit), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return group
}
