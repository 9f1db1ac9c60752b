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

	"fiolat/ingest"
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

// proc is a program that runs.
type proc struct {
	*exec.Cmd
	said bytes.Buffer
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
	p := &proc{Cmd: exec.CommandContext(t.Context(), name, args...)}
	p.Env = env
	p.Dir, p.Stdout, p.Stderr = dir, &p.said, &p.said
	p.Cmd.Cancel = func() error { return p.Process.Kill() }
	if err := p.Start(); err != nil {
		t.Fatalf("these tests need fio and nbdkit (Debian packages): %v", err)
	}
	return p
}

func (p *proc) ends(t *testing.T, code int) {
	t.Helper()
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != code {
		t.Fatalf("%v: exit %d, want %d\n%s", p.Args, got, code, p.said.String())
	}
}

// kill9 kills it as a crash would.
func (p *proc) kill9(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatalf("%v\n%s", err, p.said.String())
	}
	_ = p.Wait()
}

func nullJob(seconds int, more ...string) []string {
	return append([]string{"--name=x", "--ioengine=null", "--size=1g", "--bs=4k", "--rw=randrw", "--rate_iops=400", "--numjobs=2",
		"--time_based", fmt.Sprintf("--runtime=%d", seconds)}, more...)
}

// counted is what fio says it counted, by direction.
func counted(t *testing.T, kind ingest.Kind, files ...string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := ingest.ParseMeta(f, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries {
			for d := range e.Dirs {
				if n := e.Dirs[d].Kind[kind].N; n > 0 {
					out[ingest.Direction(d).String()] += float64(n)
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
		same = same && math.Abs(got[d]-n) < 1e-6
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

// TestLiveInTime: through fiolat live -- fio ... each interval can be found soon after
// its end, the sums are fio's, and they stay so when the logs are ingested afterwards.
//
// It runs before the parallel tests: what is measured is fiolat and not how busy they
// keep the server. As docs/live.md says, setup comes first.
func TestLiveInTime(t *testing.T) {
	es := server(t)
	prefix := livePrefix(t, es, "time")
	if code, _, stderr := fiolat(t, nil, "setup", "--es", es, "--index-prefix", prefix); code != exitOK {
		t.Fatalf("setup: exit %d\n%s", code, stderr)
	}
	dir := t.TempDir()
	// A server that has only just started takes seconds for its first index.
	ingestInto(t, es, livePrefix(t, es, "warm"), real+"/gaps")
	// What fio prints, kept to compare with.
	script := "#!/bin/bash\nset -o pipefail\nfio \"$@\" | tee " + dir + "/fio.json\n"
	if err := os.WriteFile(dir+"/fio", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	seconds := liveSeconds(t)
	p := start(t, dir, "fiolat", append([]string{"live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--kind", "clat,lat", "--sla", "iops >= 1000000", "--", "./fio"},
		nullJob(seconds, "--lat_percentiles=1", "--write_hist_log=x", "--log_hist_msec=1000")...)...)
	done := make(chan error, 1)
	go func() { done <- p.Wait() }()

	// As a panel asks: no refresh, the interval that began last.
	var delays []time.Duration
	seen, running := 0.0, false
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
		var found struct {
			Aggregations struct{ Last struct{ Value *float64 } }
		}
		if !poll(t, es+"/"+prefix+"-histogram-*/_search?ignore_unavailable=true", `{"size":0,"query":{"bool":{"filter":[{"term":{"fio.kind":"clat"}},{"range":{"@timestamp":{"gte":"now-15m"}}}]}},"aggs":{"last":{"max":{"field":"@timestamp"}}}}`, &found) {
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
			for _, doc := range documents(t, es, prefix+"-run") {
				running = running || bytes.Contains(doc, []byte(`"status":"running"`))
			}
		}
	}
	if code := p.ProcessState.ExitCode(); code != exitOK {
		t.Fatalf("exit %d\n%s", code, p.said.String())
	}
	delays = delays[:len(delays)-1] // the last one is cut short by the end of the run
	slices.Sort(delays)
	if len(delays) < seconds*8/10 { // the server and the load share two processors with this
		t.Fatalf("%d intervals were seen while fio ran for %d s\n%s", len(delays), seconds, p.said.String())
	}
	t.Logf("%d intervals of 1 s could be found after their end within (best) %v, (median) %v, (worst) %v", len(delays), delays[0].Round(time.Millisecond), delays[len(delays)/2].Round(time.Millisecond), delays[len(delays)-1].Round(time.Millisecond))
	// A busy machine may hold one up; more say that it is not the machine.
	if late := delays[len(delays)*9/10]; late > 2*time.Second {
		t.Errorf("one interval in ten could be found only %v after its end, or later", late)
	}
	if !running {
		t.Error("the document of the run never said running")
	}
	clat, lat := counted(t, ingest.Clat, dir+"/fio.json"), counted(t, ingest.Lat, dir+"/fio.json")
	sameCounts(t, "live clat", samples(t, es, prefix, "clat"), clat)
	sameCounts(t, "live lat", samples(t, es, prefix, "lat"), lat)
	t.Logf("I/Os in the documents are fio's own: clat %v, lat %v", clat, lat)
	before := documents(t, es, prefix+"-event-*")
	if len(before) == 0 {
		t.Error("no event says that the rule is broken")
	}
	if !strings.Contains(p.said.String(), "(groupid=0") || strings.Count(p.said.String(), "Run status group") != 1 {
		t.Errorf("fio's own report is not there once:\n%s", p.said.String())
	}

	// The logs replace what was live, of their kind alone.
	os.Remove(dir + "/fio")
	if code, _, stderr := fiolat(t, nil, "ingest", "--es", es, "--index-prefix", prefix, "--run-id", "R", dir); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	sameCounts(t, "after the ingest of the logs", samples(t, es, prefix, "clat"), clat)
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
	if after := documents(t, es, prefix+"-event-*"); !reflect.DeepEqual(after, before) {
		t.Errorf("events: %d before, %d after", len(before), len(after))
	}
	if runs := documents(t, es, prefix+"-run"); len(runs) != 2 {
		t.Errorf("%d documents of the run, want one of each kind", len(runs))
	}
}

// TestLiveKilled: fio writes a file that fiolat live follows. Killed twice and started
// again it leaves the documents of one that was not disturbed.
func TestLiveKilled(t *testing.T) {
	t.Parallel()
	es := server(t)
	prefix, dir := livePrefix(t, es, "killed"), t.TempDir()
	fio := start(t, dir, "fio", nullJob(liveSeconds(t), "--status-interval=1", "--output-format=json+", "--output=fio.json")...)
	args := func(prefix, file string) []string {
		return []string{"live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--by", "direction,host,job", "--follow", file}
	}
	for range 2 {
		p := start(t, dir, "fiolat", args(prefix, "fio.json")...)
		time.Sleep(time.Duration(liveSeconds(t)) * time.Second / 3)
		p.kill9(t)
	}
	if n := len(documents(t, es, prefix+"-histogram-*")); n == 0 {
		t.Error("nothing was indexed before it was killed")
	}
	p := start(t, dir, "fiolat", args(prefix, "fio.json")...)
	fio.ends(t, 0)
	p.ends(t, exitOK)
	undisturbed := livePrefix(t, es, "undisturbed")
	start(t, dir, "fiolat", args(undisturbed, "fio.json")...).ends(t, exitOK)
	for _, index := range []string{"-histogram-*", "-percentiles-*", "-run"} {
		got, want := documents(t, es, prefix+index), documents(t, es, undisturbed+index)
		if len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d documents, undisturbed %d, and they are not the same", index, len(got), len(want))
		}
		t.Logf("%s: %d documents, the same as undisturbed", index, len(got))
	}
	sameCounts(t, "killed twice", samples(t, es, prefix, "clat"), counted(t, ingest.Clat, dir+"/fio.json"))
}

// TestLiveParts: two hosts follow their own fio into one run; both are killed and
// started again.
func TestLiveParts(t *testing.T) {
	t.Parallel()
	es := server(t)
	prefix, dir := livePrefix(t, es, "parts"), t.TempDir()
	var fios, lives []*proc
	parts := []string{"a", "b"}
	follow := func(part string) *proc {
		return start(t, dir, "fiolat", "live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--part", part, "--host", "host-"+part, "--interval", "1s", "--follow", part+".json")
	}
	for _, part := range parts {
		lives = append(lives, follow(part))
		fios = append(fios, start(t, dir, "fio", nullJob(liveSeconds(t), "--status-interval=1", "--output-format=json+", "--output="+part+".json")...))
		time.Sleep(300 * time.Millisecond)
	}
	time.Sleep(time.Duration(liveSeconds(t)) * time.Second / 2)
	for i, part := range parts {
		lives[i].kill9(t)
		lives[i] = follow(part)
	}
	for i := range parts {
		fios[i].ends(t, 0)
		lives[i].ends(t, exitOK)
	}
	want := counted(t, ingest.Clat, dir+"/a.json", dir+"/b.json")
	sameCounts(t, "two parts", samples(t, es, prefix, "clat"), want)
	if code, _, stderr := fiolat(t, nil, "merge", "--es", es, "--index-prefix", prefix, "--parts", "2", "R"); code != exitOK {
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

// TestLiveStall: a device that stalls for 3 s is told of within two intervals, and when
// it is well again; each once, also by a webhook that fails twice first.
func TestLiveStall(t *testing.T) {
	t.Parallel()
	es := server(t)
	for _, fail := range []int{0, 2} {
		t.Run(fmt.Sprintf("failing %d times", fail), func(t *testing.T) {
			t.Parallel()
			prefix, dir := livePrefix(t, es, fmt.Sprint("stall", fail)), t.TempDir()
			hook := &pager{fail: fail}
			web := httptest.NewServer(hook)
			defer web.Close()
			if err := os.WriteFile(dir+"/secret", []byte("s3cret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			disk := start(t, dir, "nbdkit", "-f", "-U", "disk.sock", "memory", "64M")
			defer disk.kill9(t)
			for n := 0; ; n++ {
				if _, err := os.Stat(dir + "/disk.sock"); err == nil {
					break
				}
				if time.Sleep(50 * time.Millisecond); n > 200 {
					t.Fatalf("nbdkit does not start\n%s", disk.said.String())
				}
			}
			p := start(t, dir, "fiolat", "live", "--es", es, "--index-prefix", prefix, "--run-id", "R", "--sla", "read p99 < 500ms",
				"--alert-webhook", web.URL, "--alert-secret-file", "secret", "--alert-command", "cat >>"+dir+"/told", "--",
				"fio", "--name=x", "--ioengine=nbd", "--uri=nbd+unix:///?socket="+dir+"/disk.sock", "--rw=randread", "--rate_iops=300", "--iodepth=4", "--numjobs=2", "--time_based", "--runtime=14")
			time.Sleep(5500 * time.Millisecond)
			stalled := time.Now()
			if err := disk.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			if err := disk.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			p.ends(t, exitOK)
			var actions []string
			for _, e := range hook.events {
				actions = append(actions, fmt.Sprint(e["event"].(map[string]any)["action"]))
			}
			if !slices.Equal(actions, []string{"sla-breach", "sla-recovery"}) || len(hook.bad) > 0 || len(hook.attempts) != 2+fail {
				t.Fatalf("the webhook was told %v in %d requests; %v\n%s", actions, len(hook.attempts), hook.bad, p.said.String())
			}
			late, well := hook.attempts[0].Sub(stalled), hook.attempts[len(hook.attempts)-1].Sub(stalled.Add(3*time.Second))
			t.Logf("alert %v after the stall began, recovery %v after it ended", late.Round(time.Millisecond), well.Round(time.Millisecond))
			if late < 0 || late > 3*time.Second { // within two intervals, and a second for a busy machine
				t.Errorf("the alert came %v after the stall began", late)
			}
			if told, err := os.ReadFile(dir + "/told"); err != nil || strings.Count(string(told), "\n") != 2 {
				t.Errorf("the command was told %q (%v)", told, err)
			}
			events := documents(t, es, prefix+"-event-*")
			for _, e := range hook.events {
				if _, ok := events[fmt.Sprint(e["id"])]; !ok {
					t.Errorf("no document of %v", e)
				}
			}
			if len(events) != 2 {
				t.Errorf("%d events in Elasticsearch: %s", len(events), events)
			}
			// The seconds of the stall are empty, and judged to be broken.
			empty := 0
			for _, source := range documents(t, es, prefix+"-percentiles-*") {
				if d := decode(t, source); d.Scope == "direction" && d.Fio.Direction == "read" && d.Samples == 0 && bytes.Contains(source, []byte(`"stalled":true`)) {
					empty++
				}
			}
			if empty < 1 || empty > 3 {
				t.Errorf("%d seconds are empty and called stalled", empty)
			}
		})
	}
}

// TestLiveExit: fio's exit code and signals are passed on.
func TestLiveExit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir, "fiolat", "live", "--", "fio", "--name=x", "--ioengine=nosuch").ends(t, 1)
	p := start(t, dir, "fiolat", append([]string{"live", "--output", "docs", "--", "fio"}, nullJob(60)...)...)
	time.Sleep(3500 * time.Millisecond)
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.ends(t, 128)
	if !strings.Contains(p.said.String(), "terminating on signal 2") || !strings.Contains(p.said.String(), "missing from the logs 0") {
		t.Errorf("fio was not brought to its end:\n%s", p.said.String())
	}
}
