package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/alert"
)

// status is a stream of documents of one job that completes so many reads in each
// second, the last of them now.
func status(start time.Time, reads ...int) []byte {
	var b bytes.Buffer
	n := 0
	for i, r := range reads {
		n += r
		fmt.Fprintf(&b, `{"fio version":"fio-3.33","timestamp_ms":%d,"jobs":[{"jobname":"a","job_runtime":%d,`+
			`"read":{"total_ios":%d,"runtime":%d,"clat_ns":{"N":%d,"min":1000,"max":100096,"bins":{"1004":%d,`+
			`"100096":%d}}}}]}`+"\n",
			start.Add(time.Duration(i+1)*time.Second).UnixMilli(), 1000*(i+1), n, 1000*(i+1), n, n-n/10, n/10)
	}
	return b.Bytes()
}

func repeat(n, times int) []int { return slices.Repeat([]int{n}, times) }

// TestLiveDocuments: the same documents from a file, from a growing one and from
// standard input; several kinds side by side.
func TestLiveDocuments(t *testing.T) {
	t.Parallel()
	stream := real + "/live/fio-status.json"
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	var want []esmodeltest.Doc
	for _, from := range [][]string{{stream}, {"--follow", stream}, {"-"}, nil} {
		s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
		code, stdout, stderr := fiolat(t, text, append([]string{"live", "--es", s.URL, "--output", t.TempDir(),
			"--run-id", "R", "--format", "ndjson"}, from...)...)
		if code != exitOK || strings.Count(stdout, `"scope":"run"`) != 7 || !strings.Contains(stderr, " 72,001 I/Os") {
			t.Fatalf("%v: exit %d\n%s\n%s", from, code, stderr, stdout)
		}
		docs := append(s.Docs("fio-histogram-*"), s.Docs("fio-percentiles-*")...)
		if want == nil {
			want = docs
		}
		if len(docs) == 0 || len(docs) != len(want) {
			t.Fatalf("%v: %d documents, want %d", from, len(docs), len(want))
		}
		for i := range docs {
			if docs[i].ID != want[i].ID || !bytes.Equal(docs[i].Source, want[i].Source) {
				t.Fatalf("%v: %s, want %s", from, docs[i].Source, want[i].Source)
			}
		}
		if run := s.Docs("fio-run"); len(run) != 1 || !strings.Contains(string(run[0].Source), `"status":"complete"`) {
			t.Errorf("%v: %v", from, run)
		}
	}

	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	kinds := regexp.MustCompile(`"clat_ns":({.*?}})`).ReplaceAll(status(time.Now().Add(-time.Minute), 100, 200, 300),
		[]byte(`"slat_ns":$1,"clat_ns":$1,"lat_ns":$1`))
	if code, _, stderr := fiolat(t, kinds, "live", "--es", s.URL, "--output", t.TempDir(), "--run-id", "R", "--kind",
		"clat,slat,lat"); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	sums := map[string]float64{}
	for _, d := range s.Docs("fio-histogram-*") {
		var doc struct {
			Samples float64
			Fio     struct{ Kind string }
		}
		if err := json.Unmarshal(d.Source, &doc); err != nil {
			t.Fatal(err)
		}
		sums[doc.Fio.Kind] += doc.Samples
	}
	if len(sums) != 3 || math.Abs(sums["clat"]-600) > 1e-6 || math.Abs(sums["slat"]-sums["clat"]) > 1e-6 ||
		math.Abs(sums["lat"]-sums["clat"]) > 1e-6 || len(s.Docs("fio-run")) != 3 {
		t.Errorf("I/Os by kind: %v; %d documents of runs", sums, len(s.Docs("fio-run")))
	}
}

// TestLiveReplaced: a followed file is renamed while fio writes to it, and another fio
// writes a new one. No I/O of either is missing.
func TestLiveReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	fio, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-time.Minute)
	documents := bytes.SplitAfter(status(start, repeat(100, 6)...), []byte("\n"))
	fio.Write(bytes.Join(documents[:3], nil))
	said, out := make(chan string), filepath.Join(dir, "out")
	go func() {
		code, _, stderr := fiolat(t, nil, "live", "--output", out, "--run-id", "R", "--interval", "1s",
			"--follow", path)
		said <- fmt.Sprintf("exit %d\n%s", code, stderr)
	}()
	for { // until it has read from the file, which it also opens to see what it is
		if _, err := os.Stat(out); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, status(start.Add(10*time.Second), repeat(50, 4)...), 0o600); err != nil {
		t.Fatal(err)
	}
	fio.Write(bytes.Join(documents[3:], nil))
	fio.Close()
	if got := <-said; !strings.HasPrefix(got, "exit 0\n") || !strings.Contains(got, " 800 I/Os") ||
		!strings.Contains(got, "replaced by another file") {
		t.Error(got)
	}
}

// TestLiveAuto: the interval is chosen from the first minute, on the ladder of logs.
func TestLiveAuto(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	start := time.Now().Truncate(time.Minute).Add(-2 * time.Minute)
	code, _, stderr := fiolat(t, status(start, repeat(300, 90)...), "live", "--es", s.URL, "--output", t.TempDir(),
		"--run-id", "R", "--interval", "auto", "--percentiles", "50,99")
	if code != exitOK || !strings.Contains(stderr, "2s chosen: p99 is known to within 10 % of itself") ||
		!strings.Contains(stderr, "by the first 1m0s") {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	if run := string(s.Docs("fio-run")[0].Source); !strings.Contains(run, `"interval":{"ms":2000`) ||
		!strings.Contains(run, "by the first 1m0s") {
		t.Errorf("the document of the run does not say so: %s", run)
	}
	if code, _, stderr := fiolat(t, status(start, 100, 100, 100), "live", "--output", t.TempDir(), "--interval",
		"auto"); code != exitOK || !strings.Contains(stderr, "chosen: ") {
		t.Errorf("less than a minute: exit %d\n%s", code, stderr)
	}
}

// TestLiveAlerts: what is broken now is alerted, what is over since long is not, and a receiver
// that was not reached is named.
func TestLiveAlerts(t *testing.T) {
	t.Parallel()
	received := make(chan map[string]any, 100)
	var answer atomic.Int32
	answer.Store(http.StatusOK)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event map[string]any
		body := new(bytes.Buffer)
		if _, err := body.ReadFrom(r.Body); err != nil ||
			r.Header.Get(alert.SignatureHeader) != alert.Sign([]byte("key"), body.Bytes()) ||
			json.Unmarshal(body.Bytes(), &event) != nil || event["id"] != r.Header.Get(alert.IDHeader) {
			t.Errorf("%v %s", r.Header, body)
		}
		received <- event
		w.WriteHeader(int(answer.Load()))
	}))
	defer hook.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// broken from the 6th second on, kept from the 10th
	reads := []int{500, 500, 500, 10, 500, 10, 10, 500, 10, 500, 500}
	live := func(start time.Time) (int, string, []map[string]any) {
		code, _, stderr := fiolat(t, status(start, reads...), "live", "--output", t.TempDir(), "--run-id", "R", "--sla",
			"iops >= 100", "--alert-webhook", hook.URL+"/token", "--alert-secret-file", secret, "--interval", "1s")
		if strings.Contains(stderr, "token") {
			t.Errorf("the URL is in the message:\n%s", stderr)
		}
		var alerts []map[string]any
		for len(received) > 0 {
			alerts = append(alerts, <-received)
		}
		return code, stderr, alerts
	}
	now := time.Now().Truncate(time.Second)
	start := now.Add(-15 * time.Second)
	code, stderr, alerts := live(start)
	if code != exitOK || len(alerts) != 2 || alerts[0]["event"].(map[string]any)["action"] != "sla-breach" ||
		alerts[1]["event"].(map[string]any)["action"] != "sla-recovery" {
		t.Fatalf("exit %d, %v\n%s", code, alerts, stderr)
	}
	for i, second := range []int{5, 9} {
		want := start.Add(time.Duration(second) * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
		if at := alerts[i]["@timestamp"]; at != want {
			t.Errorf("event %d is at %v; the run began at %v", i, at, start)
		}
	}
	if code, stderr, alerts = live(now.Add(-time.Hour)); code != exitOK || len(alerts) != 0 || !strings.Contains(stderr,
		"are not alerted") {
		t.Errorf("exit %d, %d alerts of an hour ago\n%s", code, len(alerts), stderr)
	}
	answer.Store(http.StatusGone)
	gone := ": SLA broken: all iops >= 100; it is 10 I/Os per second: 410 Gone"
	code, stderr, _ = live(start)
	if code != exitIncomplete || !strings.Contains(stderr, gone) || !strings.Contains(stderr, "0 delivered, 2 not") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

func TestLiveUsage(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stream := real + "/live/fio-status.json"
	for _, tc := range []struct {
		name, args string
		code       int
		want       string
	}{
		{"two files", "a b", exitUsage, "to start fio"},
		{"no command", "--", exitUsage, "name fio"},
		{"a command that is not there", "-- /nonexistent/fio x", exitUsage, "/nonexistent/fio"},
		{"a file that is not there", "/nonexistent/f", exitInput, "/nonexistent/f"},
		{"follow nothing", "--follow", exitUsage, "name the FILE"},
		{"alerts without rules", "--alert-command true -", exitUsage, "--sla"},
		{"no URL", "--sla iops>=1 --alert-webhook example.org -", exitUsage, "--alert-webhook"},
		{"a password", "--sla iops>=1 --alert-webhook http://u:pw@example.org -", exitUsage, "FIOLAT_ALERT_WEBHOOK"},
		{"no secret", "--sla iops>=1 --alert-webhook http://127.0.0.1:1 --alert-secret-file EMPTY -", exitUsage,
			"no secret"},
		{"a kind", "--kind clat,plat -", exitUsage, "plat"},
		{"a format", "--format xml -", exitUsage, "ndjson"},
		{"accuracy", "--accuracy 5% -", exitUsage, "--interval auto"},
		{"a part of nothing", "--part a -", exitUsage, "--run-id"},
		{"not live", real + "/gaps/gaps_clat_hist.1.log", exitInput, "a log, and not what fio prints"},
		{"a kind that is not there", "--kind slat --output OUT STREAM", exitOK,
			"slat_percentiles=1"},
		{"an SLA", "--output OUT --fail-on-sla --sla iops>=1000000 STREAM", exitSLA, "SLA broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"live"}, strings.Fields(tc.args)...)
			for i, file := range args { // their names may have spaces
				switch file {
				case "EMPTY":
					args[i] = empty
				case "OUT":
					args[i] = t.TempDir()
				case "STREAM":
					args[i] = stream
				}
			}
			code, _, stderr := fiolat(t, nil, args...)
			if code != tc.code || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "u:pw") {
				t.Errorf("exit %d, want %d and %q in:\n%s", code, tc.code, tc.want, stderr)
			}
		})
	}
}

// TestLiveKindsBesideLogs: an ingest of one kind leaves the documents of another alone.
func TestLiveKindsBesideLogs(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	count := func() map[string]int {
		n := map[string]int{}
		for _, index := range []string{"fio-histogram-*", "fio-percentiles-*", "fio-run"} {
			for _, d := range s.Docs(index) {
				var doc struct{ Fio struct{ Kind string } }
				if err := json.Unmarshal(d.Source, &doc); err != nil {
					t.Fatal(err)
				}
				n[doc.Fio.Kind]++
			}
		}
		return n
	}
	var want map[string]int
	for i, flags := range [][]string{{"--kind", "clat"}, {"--kind", "slat"}, {"--kind", "clat", "--interval", "3s"},
		{"--kind", "clat"}} {
		if code, _, stderr := fiolat(t, nil, append([]string{"ingest", "--es", s.URL, "--output", t.TempDir(),
			"--run-id", "R", real + "/latkinds"}, flags...)...); code != exitOK {
			t.Fatalf("%v: exit %d\n%s", flags, code, stderr)
		}
		switch n := count(); i {
		case 1:
			if want = n; n["clat"] == 0 || n["slat"] == 0 {
				t.Fatalf("documents by kind: %v", n)
			}
		case 2:
			if n["slat"] != want["slat"] || n["clat"] >= want["clat"] {
				t.Errorf("documents by kind: %v, before %v", n, want)
			}
		case 3:
			if n["slat"] != want["slat"] || n["clat"] != want["clat"] {
				t.Errorf("documents by kind: %v, before %v", n, want)
			}
		}
	}
}
