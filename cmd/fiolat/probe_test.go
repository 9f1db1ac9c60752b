//go:build linux

package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/esmodeltest"
)

// quick are the flags of a probe that is small and soon over.
var quick = []string{"probe", "--host", "h1", "--size", "1m", "--every", "20ms",
	"--interval", "1s", "--duration", "2500ms"}

type probeDoc struct {
	Timestamp string `json:"@timestamp"`
	Scope     string
	Run       struct{ ID, Generation string }
	Host      struct{ Name string }
	Labels    map[string]string
	Fio       struct{ Kind string }
	Probe     struct {
		Operation, Target, State string
		Slowdown, Overall        float64
		Rounds, Missed, Failed   int64
		Last                     map[string]map[string]float64
	}
	Samples float64
	AtLeast []string `json:"at_least"`
	Latency struct {
		Value, Expected, P50, Min, Max float64
		Histogram                      struct{ Values, Counts []float64 }
	}
}

// checkProbeDocs checks documents of a quick probe of a target against each other.
func checkProbeDocs(t *testing.T, docs []json.RawMessage, target string) {
	t.Helper()
	type sums struct {
		n, underWay   int
		total         float64
		intervals     float64
		histogram     float64
		slow          int
		shortest, top float64
	}
	by := map[string]*sums{}
	rounds := int64(0)
	for _, raw := range docs {
		var d probeDoc
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if d.Probe.Target != target {
			continue
		}
		if d.Run.ID != "probe-h1" || d.Host.Name != "h1" || d.Fio.Kind != "probe" || d.Labels["rack"] != "7" ||
			d.Timestamp == "" {
			t.Fatalf("%s", raw)
		}
		s := by[d.Probe.Operation]
		if s == nil {
			s = &sums{shortest: math.Inf(1)}
			by[d.Probe.Operation] = s
		}
		switch d.Scope {
		case "probe":
			s.n++
			if d.AtLeast != nil {
				s.underWay++
			}
			s.total += d.Latency.Value
			s.shortest, s.top = min(s.shortest, d.Latency.Value), max(s.top, d.Latency.Value)
			if d.Probe.Slowdown > 0 {
				s.slow++
				if want := d.Latency.Value / d.Latency.Expected; math.Abs(d.Probe.Slowdown-want) > 1e-9*want {
					t.Errorf("slowdown %v, want %v", d.Probe.Slowdown, want)
				}
			}
		case "interval":
			s.intervals += d.Samples
			for _, n := range d.Latency.Histogram.Counts {
				s.histogram += n / 1000
			}
			if l := d.Latency; !(l.Min <= l.P50 && l.P50 <= l.Max && l.Min > 0) {
				t.Errorf("statistics: %s", raw)
			}
			// How far what was learned is from what came later, is the machine's affair.
			if w := d.Probe.Last["4h"]; w["samples"] >= 20 && !(0 < w["median"] && w["median"] <= w["p99"] &&
				w["p99"] <= w["max"]) {
				t.Errorf("the last 4 hours: %v", w)
			}
		case "target":
			rounds += d.Probe.Rounds
			if d.Probe.State == "" {
				t.Errorf("no state: %s", raw)
			}
		default:
			t.Errorf("scope %q", d.Scope)
		}
	}
	for _, op := range []string{"read", "write", "create", "stat", "small-read", "delete"} {
		s := by[op]
		if s == nil || s.n == 0 || float64(s.n) != s.intervals || s.intervals != s.histogram ||
			int64(s.n-s.underWay) != rounds || s.slow < s.n-10-s.underWay {
			t.Errorf("%s %s: %+v, in %d rounds", target, op, s, rounds)
		}
	}
}

// probed runs a probe with what args says, and on a machine that is too busy for it anew and for longer, until enough
// is content with what it did.
func probed(t *testing.T, args func() []string, enough func(stdout string) bool) (code int, stdout, stderr string) {
	t.Helper()
	for d := 2500 * time.Millisecond; ; d *= 4 {
		code, stdout, stderr = fiolat(t, nil, slices.Concat(quick, []string{"--duration", d.String()}, args())...)
		if enough(stdout) || d > 10*time.Minute {
			return code, stdout, stderr
		}
	}
}

// everyOperation says that the documents have samples of each operation on a target.
func everyOperation(docs []json.RawMessage, target string) bool {
	seen := map[string]bool{}
	for _, raw := range docs {
		var d probeDoc
		if json.Unmarshal(raw, &d) == nil && d.Scope == "probe" && d.Probe.Target == target {
			seen[d.Probe.Operation] = true
		}
	}
	return len(seen) == 6
}

// readBulk are the documents of probes in the files of a directory.
func readBulk(t *testing.T, dir, pattern string) (docs []json.RawMessage) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		for i := 1; i < len(lines); i += 2 {
			if strings.Contains(lines[i-1], `"_index":"fio-probe-`) {
				docs = append(docs, json.RawMessage(lines[i]))
			}
		}
	}
	return docs
}

func TestProbeIntoFiles(t *testing.T) {
	t.Parallel()
	var dir, out, a, b string
	// how slow a target is, is the machine's affair
	known := func(target string) *regexp.Regexp {
		return regexp.MustCompile(regexp.QuoteMeta(target) +
			`  (quiet|slow|very slow) \([a-z-]+ \d+\.\dx\) .*small-read \d+\.\d`)
	}
	code, stdout, stderr := probed(t, func() []string {
		dir, out = t.TempDir(), filepath.Join(t.TempDir(), "out")
		a, b = filepath.Join(dir, "a"), filepath.Join(dir, "b")
		os.Mkdir(a, 0o700)
		os.Mkdir(b, 0o700)
		return []string{"--output", out, "--label", "rack=7", a, b}
	}, func(stdout string) bool { return known(a).MatchString(stdout) && known(b).MatchString(stdout) })
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	for _, target := range []string{a, b} {
		if !known(target).MatchString(stdout) {
			t.Errorf("no line like %v in\n%s", known(target), stdout)
		}
	}
	docs := readBulk(t, out, "fio-probe-*.probe-h1.ndjson")
	checkProbeDocs(t, docs, a)
	checkProbeDocs(t, docs, b)

	// Every one can be sent as it lies there.
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	if code, _, stderr := fiolat(t, nil, "load", "--es", s.URL, out); code != exitOK ||
		len(s.Docs("fio-probe-*")) != len(docs) {
		t.Errorf("exit %d, %d of %d loaded\n%s", code, len(s.Docs("fio-probe-*")), len(docs), stderr)
	}

	code, stdout, _ = fiolat(t, nil, "probe", "--status", a, b)
	if code != exitOK || !strings.Contains(stdout, a+", seen from h1: ") || !strings.Contains(stdout,
		"this file system is") || !strings.Contains(stdout, "times its usual time") {
		t.Errorf("exit %d, status %q", code, stdout)
	}

	// The next probe knows what is usual from its first sample on.
	var out2 string
	if code, stdout, stderr = probed(t, func() []string {
		out2 = t.TempDir()
		return []string{"--output", out2, "--quiet", a}
	}, func(string) bool { return everyOperation(readBulk(t, out2, "*"), a) }); code != exitOK || stdout != "" {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, raw := range readBulk(t, out2, "*") {
		var d probeDoc
		if json.Unmarshal(raw, &d) == nil && d.Scope == "probe" && d.Probe.Slowdown == 0 && d.AtLeast == nil {
			t.Errorf("no slowdown: %s", raw)
		}
	}

	if code, _, stderr = fiolat(t, nil, "probe", "--cleanup", "--host", "h1", a, b); code != exitOK {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	for _, d := range []string{a, b} {
		if left, _ := os.ReadDir(d); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}

// Into Elasticsearch, and into the spool where there is none: in both cases nothing is
// lost and the account says so.
func TestProbeIntoElasticsearch(t *testing.T) {
	t.Parallel()
	t.Run("that answers", func(t *testing.T) {
		t.Parallel()
		var s *esmodeltest.Server
		var dir string
		stored := func() (docs []json.RawMessage) {
			for _, d := range s.Docs("fio-probe-*") {
				docs = append(docs, d.Source)
			}
			return docs
		}
		code, _, stderr := probed(t, func() []string {
			s, dir = esmodeltest.New(t, esmodeltest.Options{Histogram: true}), t.TempDir()
			return []string{"--es", s.URL, "--label", "rack=7", dir}
		}, func(string) bool { return everyOperation(stored(), dir) })
		if code != exitOK {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		docs := stored()
		for _, d := range docs {
			// Every field is in the table.
			for _, name := range leafNames(d) {
				if _, ok := esmodel.FieldOf(esmodel.KindProbe, name); !ok {
					t.Errorf("%s is not in the table of fields", name)
				}
			}
		}
		checkProbeDocs(t, docs, dir)
		if !strings.Contains(stderr, " 0 refused, 0 spooled, 0 lost") {
			t.Errorf("%s", stderr)
		}
	})
	t.Run("that is away", func(t *testing.T) {
		t.Parallel()
		var dir, out string
		code, _, stderr := probed(t, func() []string {
			dir, out = t.TempDir(), t.TempDir()
			return []string{"--es", "http://127.0.0.1:9", "--max-wait", "0s", "--quiet", "--label", "rack=7",
				"--output", out, dir}
		}, func(string) bool { return everyOperation(readBulk(t, out, "fio-spool*"), dir) })
		if code != exitIncomplete || !strings.Contains(stderr, "fiolat load") {
			t.Errorf("exit %d\n%s", code, stderr)
		}
		checkProbeDocs(t, readBulk(t, out, "fio-spool*"), dir)
	})
}

// leafNames are the full names of the values in a document; arrays are one.
func leafNames(doc []byte) (out []string) {
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if m, ok := v.(map[string]any); ok && prefix != "latency.histogram" {
			for k, e := range m {
				walk(strings.TrimPrefix(prefix+"."+k, "."), e)
			}
			return
		}
		out = append(out, prefix)
	}
	var m any
	if json.Unmarshal(doc, &m) == nil {
		walk("", m)
	}
	return out
}

func TestProbeUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no directory", nil, exitUsage, "name the directories"},
		{"the same twice", []string{dir, dir + "/."}, exitUsage, "named twice"},
		{"two things at once", []string{"--status", "--cleanup", dir}, exitUsage, "exclude each other"},
		{"a size that is none", []string{"--size", "12q", dir}, exitUsage, `--size "12q"`},
		{"a pace that is none", []string{"--every", "1ms", dir}, exitUsage, "--every 1ms: want at least 10ms"},
		{"several", []string{"--every", "1ms", "--interval", "1ms", "--duration", "-1s", dir}, exitUsage,
			"--every 1ms: want at least 10ms\n--interval 1ms: want at least 1s\n--duration -1s"},
		{"too small", []string{"--size", "4k", dir}, exitUsage, "--size: want at least 1m"},
		{"a duration that is none", []string{"--duration", "-1s", dir}, exitUsage, "--duration -1s: want at least 0s"},
		{"a flag that is gone", []string{"--seed", "1", dir}, exitUsage, "no such flag: --seed; it is gone"},
		{"a name that leads elsewhere", []string{"--host", "../x", dir}, exitUsage,
			"cannot be part of a directory name"},
		{"not there", []string{"--output", dir + "/out", dir + "/none"}, exitInput, "no such file"},
		{"never probed", []string{"--status", dir}, exitUsage, "has not been probed"},
		{"nothing to clean up", []string{"--cleanup", dir}, exitInput, "no such file"},
		{"a password in an argument", []string{"--es", "http://u:p@h:9200", dir}, exitUsage, "password in an argument"},
	} {
		code, _, stderr := fiolat(t, nil, append([]string{"probe"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, want %d with %q\n%s", tt.name, code, tt.code, tt.want, stderr)
		}
	}
}

func TestByteSize(t *testing.T) {
	for v, want := range map[string]int64{"1": 1, "3901": 3901, "4k": 4096, "64KiB": 65536, "1m": 1 << 20,
		"100g": 100 << 30, "2T": 2 << 40, "7b": 7} {
		if got, err := byteSize(v); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", v, got, err, want)
		}
	}
	for _, v := range []string{"", "0", "-1", "1.5g", "k", "1kk", "9999999999t", "1 m"} {
		if got, err := byteSize(v); err == nil {
			t.Errorf("%q: %d, want an error", v, got)
		}
	}
}
