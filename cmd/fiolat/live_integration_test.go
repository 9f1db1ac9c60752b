//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/internal/alert"
)

// liveSeconds is how long fio runs in these tests.
func liveSeconds(t *testing.T) int {
	t.Helper()
	s := os.Getenv("FIOLAT_TEST_LIVE_SECONDS")
	if s == "" {
		return 15
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 12 {
		t.Fatalf("FIOLAT_TEST_LIVE_SECONDS=%s: want a number of seconds, 12 or more", s)
	}
	return n
}

// beside lets other tests run beside one that does not judge real times now.
func beside(t *testing.T) {
	t.Helper()
	if os.Getenv("FIOLAT_TEST_TIMES") == "" {
		t.Parallel()
	}
}

// proc is a program that runs.
type proc struct {
	*exec.Cmd
	said heard
	done chan struct{} // closed when it has ended
}

// heard is what a program has written so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *heard) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *heard) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func start(t *testing.T, dir, name string, args ...string) *proc {
	t.Helper()
	env := os.Environ()
	if name == "fiolat" { // this very binary
		var err error
		if name, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
		env = append(env, asProgram+"=1")
	}
	p := &proc{Cmd: exec.CommandContext(t.Context(), name, args...), done: make(chan struct{})}
	p.Env = env
	p.Dir, p.Stdout, p.Stderr = dir, &p.said, &p.said
	if err := p.Start(); err != nil {
		t.Fatalf("these tests need fio and nbdkit (Debian packages): %v", err)
	}
	go func() {
		_ = p.Wait()
		close(p.done)
	}()
	return p
}

func (p *proc) ends(t *testing.T, code int) {
	t.Helper()
	<-p.done
	if got := p.ProcessState.ExitCode(); got != code {
		t.Fatalf("%v: exit %d, want %d\n%s", p.Args, got, code, p.said.String())
	}
}

// lasted is ends, and false if fio failed by itself: if a job ends while fio 3.33 makes a status report, which takes
// seconds on a very busy machine, fio exits with an error.
func (p *proc) lasted(t *testing.T, code int) bool {
	t.Helper()
	<-p.done
	if p.ProcessState.ExitCode() != 0 && strings.Contains(p.said.String(), "stuck grabbing stat_sem") {
		return false
	}
	p.ends(t, code)
	return true
}

// retry tries until a fio has lasted, five times.
func retry(t *testing.T, try func(n int) bool) {
	t.Helper()
	for n := range 5 {
		if try(n) {
			return
		}
		t.Log("fio ended too early")
	}
	t.Fatal("five times: is the machine so busy?")
}

// kill9 kills it as a crash would.
func (p *proc) kill9() {
	_ = p.Process.Kill()
	<-p.done
}

func nullJob(seconds int, more ...string) []string {
	return append([]string{"--name=x", "--ioengine=null", "--size=1g", "--bs=4k", "--rw=randrw", "--rate_iops=400",
		"--numjobs=2",
		"--time_based", fmt.Sprintf("--runtime=%d", seconds)}, more...)
}

// recordFio makes dir/fio, a program that runs fio and keeps what it prints in dir/fio.json.
func recordFio(t *testing.T, dir string) {
	t.Helper()
	script := "#!/bin/bash\nset -o pipefail\nfio \"$@\" | tee " + dir + "/fio.json\n"
	if err := os.WriteFile(dir+"/fio", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// until polls until done, for as long as a very busy machine may need, and is false if it has ended before that.
func (p *proc) until(t *testing.T, what string, done func() bool) bool {
	t.Helper()
	for range 30000 {
		if done() {
			return true
		}
		select {
		case <-p.done:
			t.Logf("%s: it has ended\n%s", what, p.said.String())
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("%s: not in ten minutes\n%s", what, p.said.String())
	return false
}

// counted is what fio says it counted, by direction.
func counted(t *testing.T, kind fio.Kind, files ...string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := fiojson.Parse(f, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries {
			for d := range e.Dirs {
				if n := e.Dirs[d].Kind[kind].N; n > 0 {
					out[fio.Direction(d).String()] += float64(n)
				}
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("fio counted nothing")
	}
	return out
}

// samples are the sums of the leaves of a kind, by direction.
func samples(t *testing.T, es, prefix, kind string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, source := range documents(t, es, prefix+"-histogram-*") {
		if d := decode(t, source); d.Fio.Kind == kind {
			out[d.Fio.Direction] += d.Samples
		}
	}
	return out
}

func sameCounts(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	same := len(got) == len(want)
	for d, n := range want {
		same = same && math.Abs(got[d]-n) < 0.01 // each document rounds to 0.001
	}
	if !same {
		t.Errorf("%s: %v I/Os in the documents, fio counted %v", what, got, want)
	}
}

func livePrefix(t *testing.T, es, name string) string {
	t.Helper()
	prefix := fmt.Sprintf("live-%s-%d", name, os.Getpid())
	t.Cleanup(func() { wipe(t, es, prefix) })
	return prefix
}

// poll asks; false while an index is being made.
func poll(t *testing.T, url, body string, answer any) bool {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable {
		return false
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, res.Status, err)
	}
	return true
}

// TestServerLiveInTime: through fiolat live -- fio ... intervals can be found while fio runs (how
// soon after their end, `make times` judges), the sums are fio's, and they stay so when the logs are ingested
// afterwards.
//
// As docs/live.md says, setup comes first.
func TestServerLiveInTime(t *testing.T) {
	beside(t)
	retry(t, func(try int) bool { return liveInTime(t, try) })
}

func liveInTime(t *testing.T, try int) bool {
	es := server(t)
	prefix := livePrefix(t, es, fmt.Sprint("time", try))
	if code, _, stderr := fiolat(t, nil, "setup", "--es", es, "--index-prefix", prefix); code != exitOK {
		t.Fatalf("setup: exit %d\n%s", code, stderr)
	}
	dir := t.TempDir()
	// A server that has only just started takes seconds for its first index.
	ingestInto(t, es, livePrefix(t, es, "warm"), real+"/gaps")
	recordFio(t, dir)
	seconds := liveSeconds(t)
	p := start(t, dir, "fiolat", append([]string{"live", "--es", es, "--index-prefix", prefix, "--run-id", "R",
		"--kind", "clat,lat", "--sla", "iops >= 1000000", "--", "./fio"},
		nullJob(seconds, "--lat_percentiles=1", "--write_hist_log=x", "--log_hist_msec=1000")...)...)

	// As a panel asks: no refresh, the interval that began last.
	var delays []time.Duration
	seen, running, looked := 0.0, false, false
	for ended := false; !ended; {
		select {
		case <-p.done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
		var found struct {
			Aggregations struct{ Last struct{ Value *float64 } }
		}
		if !poll(t, es+"/"+prefix+"-histogram-*/_search?ignore_unavailable=true",
			`{"size":0,"query":{"bool":{"filter":[{"term":{"fio.kind":"clat"}},`+
				`{"range":{"@timestamp":{"gte":"now-15m"}}}]}},`+
				`"aggs":{"last":{"max":{"field":"@timestamp"}}}}`, &found) {
			continue
		}
		if last := found.Aggregations.Last.Value; last != nil && *last > seen {
			first := max(seen+1000, *last-30_000)
			if seen == 0 {
				first = *last
			}
			for seen = first; seen <= *last; seen += 1000 { // several may have come at once
				delays = append(delays, time.Since(time.UnixMilli(int64(seen)+1000)))
			}
			seen = *last
		}
		if !running && !ended && seen > 0 {
			looked = true
			for _, doc := range documents(t, es, prefix+"-run") {
				running = running || bytes.Contains(doc, []byte(`"status":"running"`))
			}
		}
	}
	if !p.lasted(t, exitOK) {
		return false
	}
	timed := os.Getenv("FIOLAT_TEST_TIMES") != ""
	if len(delays) < 2 && timed {
		t.Fatalf("%d intervals were seen while fio ran for %d s\n%s", len(delays), seconds, p.said.String())
	}
	if len(delays) > 1 {
		delays = delays[:len(delays)-1] // the last one is cut short by the end of the run
		slices.Sort(delays)
		best, median, worst := delays[0], delays[len(delays)/2], delays[len(delays)-1]
		t.Logf("%d intervals of 1 s could be found after their end within (best) %v, (median) %v, (worst) %v",
			len(delays), best, median, worst)
		// A busy machine may hold one up; more say that it is not the machine.
		if late := delays[len(delays)*9/10]; timed && (late > 2*time.Second || len(delays) < seconds*8/10) {
			t.Errorf("%d intervals seen in %d s, and one in ten could be found only %v after its end, or later",
				len(delays), seconds, late)
		}
	}
	if !running && looked {
		t.Error("the document of the run never said running")
	}
	clat, lat := counted(t, fio.Clat, dir+"/fio.json"), counted(t, fio.Lat, dir+"/fio.json")
	sameCounts(t, "live clat", samples(t, es, prefix, "clat"), clat)
	sameCounts(t, "live lat", samples(t, es, prefix, "lat"), lat)
	t.Logf("I/Os in the documents are fio's own: clat %v, lat %v", clat, lat)
	before := withoutOutliers(t, es, prefix+"-event-*")
	if len(before) == 0 {
		t.Error("no event says that the rule is broken")
	}
	if !strings.Contains(p.said.String(), "(groupid=0") || strings.Count(p.said.String(), "Run status group") != 1 {
		t.Errorf("fio's own report is not there once:\n%s", p.said.String())
	}

	// The logs replace what was live, of their kind alone.
	os.Remove(dir + "/fio")
	if code, _, stderr := fiolat(t, nil, "ingest", "--es", es, "--index-prefix", prefix, "--run-id", "R",
		dir); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	placed := samples(t, es, prefix, "clat")
	for _, doc := range documents(t, es, prefix+"-run") { // records that a busy fio did not write are in no interval
		var run struct {
			Account struct {
				Lost []struct {
					Direction string
					IOs       float64
				}
			}
		}
		if err := json.Unmarshal(doc, &run); err != nil {
			t.Fatal(err)
		}
		for _, l := range run.Account.Lost {
			placed[l.Direction] += l.IOs
		}
	}
	sameCounts(t, "after the ingest of the logs", placed, clat)
	sameCounts(t, "lat after that", samples(t, es, prefix, "lat"), lat)
	generations := map[string]bool{}
	for _, index := range []string{"-histogram-*", "-percentiles-*"} {
		for _, source := range documents(t, es, prefix+index) {
			if d := decode(t, source); d.Fio.Kind == "clat" {
				generations[d.Run.Generation] = true
			}
		}
	}
	if len(generations) != 1 {
		t.Errorf("%d generations of clat are left", len(generations))
	}
	if after := withoutOutliers(t, es, prefix+"-event-*"); !reflect.DeepEqual(after, before) {
		t.Errorf("events: %d before, %d after", len(before), len(after))
	}
	if runs := documents(t, es, prefix+"-run"); len(runs) != 2 {
		t.Errorf("%d documents of the run, want one of each kind", len(runs))
	}
	return true
}

// TestServerLiveKilled: fio writes a file that fiolat live follows. Killed twice and started
// again it leaves the documents of one that was not disturbed.
func TestServerLiveKilled(t *testing.T) {
	t.Parallel()
	retry(t, func(try int) bool { return liveKilled(t, fmt.Sprint("killed", try)) })
}

func liveKilled(t *testing.T, name string) bool {
	es := server(t)
	prefix, dir := livePrefix(t, es, name), t.TempDir()
	job := start(t, dir, "fio", nullJob(3600, "--status-interval=1", "--output-format=json+", "--output=fio.json")...)
	args := func(prefix, file string) []string {
		return []string{"live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--by", "direction,host,job",
			"--follow", file}
	}
	indexed := 0
	follow := func() *proc {
		p := start(t, dir, "fiolat", args(prefix, "fio.json")...)
		p.until(t, "more is indexed", func() bool {
			var reply struct{ Count int }
			url := es + "/" + prefix + "-histogram-*/_count?ignore_unavailable=true"
			more := poll(t, url, `{}`, &reply) && reply.Count > indexed
			indexed = max(indexed, reply.Count)
			return more
		})
		return p
	}
	for range 2 {
		follow().kill9()
	}
	p := follow()
	if err := job.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if !job.lasted(t, 128) {
		return false
	}
	p.ends(t, exitOK)
	undisturbed := livePrefix(t, es, name+"-undisturbed")
	start(t, dir, "fiolat", args(undisturbed, "fio.json")...).ends(t, exitOK)
	for _, index := range []string{"-histogram-*", "-percentiles-*", "-run"} {
		got, want := documents(t, es, prefix+index), documents(t, es, undisturbed+index)
		if len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d documents, undisturbed %d, and they are not the same", index, len(got), len(want))
		}
		t.Logf("%s: %d documents, the same as undisturbed", index, len(got))
	}
	sameCounts(t, "killed twice", samples(t, es, prefix, "clat"), counted(t, fio.Clat, dir+"/fio.json"))
	return true
}

// TestServerLiveParts: two hosts follow their own fio into one run; both are killed and
// started again.
func TestServerLiveParts(t *testing.T) {
	t.Parallel()
	retry(t, func(try int) bool { return liveParts(t, fmt.Sprint("parts", try)) })
}

func liveParts(t *testing.T, name string) bool {
	es := server(t)
	prefix, dir := livePrefix(t, es, name), t.TempDir()
	var fios, lives []*proc
	parts := []string{"a", "b"}
	follow := func(part string) *proc {
		return start(t, dir, "fiolat", "live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--part", part,
			"--host", "host-"+part, "--interval", "1s", "--follow", part+".json")
	}
	for _, part := range parts {
		lives = append(lives, follow(part))
		fios = append(fios, start(t, dir, "fio", nullJob(liveSeconds(t), "--status-interval=1", "--output-format=json+",
			"--output="+part+".json")...))
		time.Sleep(300 * time.Millisecond)
	}
	time.Sleep(time.Duration(liveSeconds(t)) * time.Second / 2)
	for i, part := range parts {
		lives[i].kill9()
		lives[i] = follow(part)
	}
	for i := range parts {
		if !fios[i].lasted(t, 0) {
			return false
		}
		lives[i].ends(t, exitOK)
	}
	want := counted(t, fio.Clat, dir+"/a.json", dir+"/b.json")
	sameCounts(t, "two parts", samples(t, es, prefix, "clat"), want)
	if code, _, stderr := fiolat(t, nil, "merge", "--es", es, "--index-prefix", prefix, "--parts", "2",
		"R"); code != exitOK {
		t.Fatalf("merge: exit %d\n%s", code, stderr)
	}
	merged := map[string]float64{}
	for _, source := range documents(t, es, prefix+"-percentiles-*") {
		if d := decode(t, source); d.Scope == "direction" {
			merged[d.Fio.Direction] += d.Samples
		}
	}
	sameCounts(t, "merged", merged, want)
	t.Logf("I/Os of both hosts together: %v", want)
	return true
}

// pager is a webhook that fails at first.
type pager struct {
	sync.Mutex
	fail     int
	attempts []time.Time
	events   []map[string]any
	bad      []string
}

func (p *pager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Lock()
	defer p.Unlock()
	p.attempts = append(p.attempts, time.Now())
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get(alert.SignatureHeader) != alert.Sign([]byte("s3cret"), body) {
		p.bad = append(p.bad, fmt.Sprint(r.Header, err))
	}
	if p.fail > 0 {
		p.fail--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var event map[string]any
	if err := json.Unmarshal(body, &event); err != nil {
		p.bad = append(p.bad, err.Error())
	}
	p.events = append(p.events, event)
}

// TestServerLiveStall: a device that stalls is alerted by webhook and command, and when it is well
// again; each breach and recovery once, also by a webhook that fails twice first. What is
// stored is what the same status documents give when they are read again, undisturbed;
// an early alert may be withdrawn instead.
//
// On a busy machine fio itself may stall once more, or report so rarely that the stall does
// not show. So what must have been alerted follows from fio's own documents.
func TestServerLiveStall(t *testing.T) {
	t.Parallel()
	es := server(t)
	for _, fail := range []int{0, 2} {
		t.Run(fmt.Sprintf("failing %d times", fail), func(t *testing.T) {
			t.Parallel()
			var (
				prefix, dir   string
				hook          *pager
				p             *proc
				stalled, well time.Time
			)
			args := func(prefix string) []string {
				return []string{"live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--host", "h",
					"--interval", "1s", "--sla", "read p99 < 500ms"}
			}
			retry(t, func(try int) bool {
				prefix, dir = livePrefix(t, es, fmt.Sprint("stall", fail, "-", try)), t.TempDir()
				hook = &pager{fail: fail}
				web := httptest.NewServer(hook)
				t.Cleanup(web.Close)
				if err := os.WriteFile(dir+"/secret", []byte("s3cret\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				disk := start(t, dir, "nbdkit", "-f", "-U", "disk.sock", "memory", "64M")
				disk.until(t, "nbdkit starts", func() bool { _, err := os.Stat(dir + "/disk.sock"); return err == nil })
				recordFio(t, dir)
				p = start(t, dir, "fiolat", append(args(prefix), "--alert-webhook", web.URL, "--alert-secret-file",
					"secret", "--alert-command", "cat >>"+dir+"/sent", "--", "./fio", "--name=x", "--ioengine=nbd",
					"--uri=nbd+unix:///?socket="+dir+"/disk.sock", "--rw=randread", "--rate_iops=300", "--iodepth=4",
					"--numjobs=2", "--time_based", "--runtime=14")...)
				if !p.until(t, "four reports", func() bool { return len(statusTimes(t, dir+"/fio.json")) >= 4 }) {
					return false
				}
				if err := disk.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				stalled = time.Now()
				time.Sleep(3 * time.Second)
				well = time.Now()
				if err := disk.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				return p.lasted(t, exitOK)
			})

			// Each event reached the webhook and the command, once, and the recoveries of stored breaches were sent.
			events := withoutOutliers(t, es, prefix+"-event-*")
			if len(hook.bad) > 0 || len(hook.attempts) != len(hook.events)+fail || len(events) > len(hook.events) {
				t.Fatalf("the webhook received %v in %d requests, %d events in Elasticsearch; %v\n%s", hook.events,
					len(hook.attempts), len(events), hook.bad, p.said.String())
			}
			var sent struct{ actions, starts []string }
			seen, during := map[string]bool{}, false
			var broken time.Time
			for _, e := range hook.events {
				id := fmt.Sprint(e["id"])
				if seen[id] {
					t.Errorf("sent twice: %v", e)
				}
				seen[id] = true
				event := e["event"].(map[string]any)
				at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(event["start"]))
				if err != nil {
					t.Fatal(err)
				}
				sent.actions, sent.starts = append(sent.actions, fmt.Sprint(event["action"])), append(sent.starts,
					fmt.Sprint(event["start"]))
				if event["action"] == "sla-breach" {
					broken = at
				} else if broken.Before(well) && at.After(stalled) {
					during = true
				}
			}
			for id, e := range events {
				if !seen[id] && strings.Contains(string(e), `"sla-recovery"`) {
					t.Errorf("stored and not sent: %s", e)
				}
			}
			t.Logf("sent %v of %v, stalled from %v to %v", sent.actions, sent.starts, stalled.UTC(), well.UTC())
			for i, action := range sent.actions {
				if want := []string{"sla-breach", "sla-recovery"}[i%2]; action != want {
					t.Errorf("event %d is %s, want %s", i+1, action, want)
				}
			}
			if lines, err := os.ReadFile(dir + "/sent"); strings.Count(string(lines), "\n") != len(hook.events) {
				t.Errorf("the command received %q (%v)", lines, err)
			}

			again := livePrefix(t, es, fmt.Sprint("again", fail))
			start(t, dir, "fiolat", append(args(again), "fio.json")...).ends(t, exitOK)
			for _, index := range []string{"-histogram-*", "-percentiles-*", "-event-*"} {
				got, want := documents(t, es, prefix+index), documents(t, es, again+index)
				if len(want) == 0 && index != "-event-*" || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %d documents, %d when the stream is read again, and they are not the same", index,
						len(got), len(want))
				}
			}

			// If fio kept its time before the stall, and showed it, the stall was sent.
			times := statusTimes(t, dir+"/fio.json")
			steady, gaps := true, 0
			for i := 1; i < len(times); i++ {
				step := times[i].Sub(times[i-1])
				if step > 2500*time.Millisecond {
					gaps++
					steady = steady && times[i].After(well)
				} else {
					steady = steady && step < 1400*time.Millisecond
				}
			}
			if steady && gaps == 1 && !during {
				t.Errorf("sent were %v of %v, and not the stall\n%s", sent.actions, sent.starts, p.said.String())
			}
		})
	}
}

// statusTimes are the times of the status documents in a file that may still grow.
func statusTimes(t *testing.T, file string) (times []time.Time) {
	t.Helper()
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _ = fiojson.Each(f, file, func(m *fiojson.Document) error { // the last one may be cut
		times = append(times, time.UnixMilli(m.TimestampMS))
		return nil
	}, func(error) {})
	return times
}

// TestServerLiveExit: fio's exit code and signals are passed on.
func TestServerLiveExit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir, "fiolat", "live", "--", "fio", "--name=x", "--ioengine=nosuch").ends(t, 1)
	var p *proc
	retry(t, func(int) bool {
		p = start(t, dir, "fiolat", append([]string{"live", "--output", "docs", "--", "fio"}, nullJob(60)...)...)
		p.until(t, "fio reports", func() bool { return strings.Contains(p.said.String(), "/s p50") })
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		return p.lasted(t, 128)
	})
	if !strings.Contains(p.said.String(), "terminating on signal 2") || !strings.Contains(p.said.String(),
		"all accounted for") {
		t.Errorf("fio was not brought to its end:\n%s", p.said.String())
	}
}
