//go:build integration

package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var fourSignals = []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT}

// unignore lets SIGHUP reach the programs of a test that runs under nohup.
func unignore(t *testing.T) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(ignored) })
}

// signals ends a command at random moments of the time that it takes, five times by each
// signal. Whoever can remove its mark has; the run says complete only if it has all
// documents, those of want or those of before; and the same command again leaves exactly
// those of want. Nil is for what was before, or for nothing.
func (c *trial) signals(t *testing.T, start func(i int) *program, before, want func(i int) map[string]string) {
	t.Helper()
	unignore(t)
	c.px.inject(nil)
	c.then = "the same command again"
	began := time.Now()
	start(0).wait(t, 0)
	took := min(time.Since(began), 3*time.Second)
	c.checkOf(t, want(0))
	for i := range either(c.rig, 20, 2) {
		i++
		s := fourSignals[i%4]
		p := start(i)
		time.Sleep(time.Duration(c.rand.Int64N(int64(took))))
		p.signal(t, s, 2*time.Minute)
		c.times++
		switch {
		case s == syscall.SIGKILL && p.code == -1, p.code == 0:
		case p.code != 130 && p.code != -1: // -1: before it had begun to listen for signals
			t.Errorf("%v: exit %d\n%s", s, p.code, p.said())
			fallthrough
		default:
			c.unmarked(t)
		}
		c.honestly(t, before(i), want(i))
		start(i).wait(t, 0)
		c.checkOf(t, want(i))
	}
	c.es.wipe(t, c.prefix)
}

// loadSignals loads the documents of two settings in turn.
func loadSignals(t *testing.T, c *trial) {
	var dirs [2]string
	var wants [2]map[string]string
	for i := range dirs {
		settings := []string{"--percentiles", []string{"50,99", "50,90"}[i]}
		wants[i] = c.undisturbed(t, func(c *trial) [][]string { return [][]string{c.ingestArgs(settings...)} })
		dirs[i] = filepath.Join(t.TempDir(), "documents")
		args := append([]string{"ingest", "--index-prefix", c.prefix, "--output", dirs[i]}, c.args...)
		c.start(t, c.bin, append(append(args, settings...), c.logs)...).wait(t, 0)
	}
	c.signals(t, func(i int) *program { return c.start(t, c.bin, c.command("load", dirs[i%2])...) },
		func(i int) map[string]string { return wants[(i+1)%2] }, func(i int) map[string]string { return wants[i%2] })
}

// clusterParts are folders with the logs of two hosts.
func clusterParts(t *testing.T) (parts [2]string) {
	const logs = root + "/testdata/fio/cluster"
	for n := range parts {
		parts[n] = t.TempDir()
		files, _ := filepath.Glob(fmt.Sprintf("%s/*.127.0.0.%d", logs, n+1))
		for _, f := range append(files, logs+"/fio.json") {
			b, err := os.ReadFile(f)
			if err == nil {
				err = os.WriteFile(filepath.Join(parts[n], filepath.Base(f)), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return parts
}

// mergeSignals merges two hosts' parts, with other percentiles each time.
func mergeSignals(t *testing.T, c *trial) {
	parts := clusterParts(t)
	commands := func(c *trial, i int) (all [][]string) {
		for n, dir := range parts {
			all = append(all, c.ingestOf("--run-id", "merged", "--part", strconv.Itoa(n), dir))
		}
		return append(
			all,
			c.command("merge", "--output", c.out, "--percentiles", []string{"50,99", "50,90"}[i%2], "merged"),
		)
	}
	var wants [2]map[string]string
	for i := range wants {
		wants[i] = c.undisturbed(t, func(c *trial) [][]string { return commands(c, i) })
	}
	c.px.inject(nil)
	for _, args := range commands(c, 0)[:2] {
		c.start(t, c.bin, args...).wait(t, 0)
	}
	c.signals(t, func(i int) *program { return c.start(t, c.bin, commands(c, i)[2]...) },
		func(i int) map[string]string { return wants[(i+1)%2] }, func(i int) map[string]string { return wants[i%2] })
}

// liveSignals follows a stream that comes a document at a time.
func liveSignals(t *testing.T, c *trial) {
	stream, err := os.ReadFile(root + "/testdata/fio/live/fio-status.json")
	if err != nil {
		t.Fatal(err)
	}
	args := func(c *trial, i int, from string) []string {
		return c.command(
			"live",
			"--output",
			c.out,
			"--run-id",
			"live",
			"--host",
			"h",
			"--percentiles",
			[]string{"50,99", "50,90"}[i%2],
			from,
		)
	}
	file := filepath.Join(t.TempDir(), "fio.json")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	var wants [2]map[string]string
	for i := range wants {
		calm := &trial{rig: c.rig, prefix: "calm", out: filepath.Join(t.TempDir(), "out")}
		calm.setup(t)
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		calm.startWith(t, in, c.bin, args(calm, i, "-")...).wait(t, 0)
		wants[i] = c.es.documents(t, calm.prefix)
		c.es.wipe(t, calm.prefix)
	}
	start := func(i int) *program { return c.startWith(t, slowly(t, file, tenth), c.bin, args(c, i, "-")...) }
	c.signals(
		t,
		start,
		func(i int) map[string]string { return wants[(i+1)%2] },
		func(i int) map[string]string { return wants[i%2] },
	)
}

var probed = regexp.MustCompile(`documents\s+(\d+) made, (\d+) indexed`)

// probeSignals probes a directory. Its documents are of the moment, so they are compared
// with themselves: each operation that a document of an interval counts has a document of its
// own. --cleanup removes all that a probe left.
func probeSignals(t *testing.T, c *trial) {
	unignore(t)
	c.px.inject(nil)
	c.then = "`--cleanup`"
	dir := t.TempDir()
	probe := func(more ...string) []string {
		args := c.command(
			"probe",
			"--output",
			c.out,
			"--host",
			"h",
			"--size",
			"4m",
			"--every",
			"20ms",
			"--interval",
			"1s",
		)
		return append(append(args, more...), dir)
	}
	for i := range either(c.rig, 20, 2) {
		s := fourSignals[i%4]
		p := c.start(t, c.bin, probe()...)
		time.Sleep(time.Duration(c.rand.Int64N(int64(4 * time.Second))))
		p.signal(t, s, 2*time.Minute)
		c.times++
		killed := p.code == -1
		if !killed && p.code != 0 && p.code != 130 {
			t.Errorf("%v: exit %d\n%s", s, p.code, p.said())
		}
		docs := c.es.documents(t, c.prefix)
		if !killed {
			m := probed.FindStringSubmatch(p.said())
			if m == nil && len(docs) > 0 || m != nil && (m[1] != m[2] || m[2] != strconv.Itoa(len(docs))) {
				t.Errorf("%d documents are there, and it says\n%s", len(docs), p.said())
			}
			c.counted(t, docs)
		}
		c.made += len(docs)
		c.found += len(docs)
		c.start(t, c.bin, "probe", "--cleanup", "--host", "h", dir).wait(t, 0)
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		for _, left := range glob(c.out) {
			if !killed {
				t.Errorf("left behind: %s", left)
			}
			os.Remove(left)
		}
		_, sent, _ := c.px.counts()
		c.sent += sent
		c.px.inject(nil)
		c.es.wipe(t, c.prefix)
		c.setup(t)
	}
}

func glob(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "*"))
	return all
}

// counted compares the documents of intervals with those of operations.
func (c *trial) counted(t *testing.T, docs map[string]string) {
	t.Helper()
	single, counts := map[string]int{}, map[string]int{}
	for _, source := range docs {
		var d struct {
			Scope   string
			Samples int
			Probe   struct {
				Operation string
				Failed    int
			}
		}
		if err := json.Unmarshal([]byte(source), &d); err != nil {
			t.Error(err)
		}
		switch d.Scope {
		case "probe":
			single[d.Probe.Operation]++
		case "interval":
			counts[d.Probe.Operation] += d.Samples + d.Probe.Failed
		}
	}
	for op, n := range counts {
		if single[op] != n {
			t.Errorf("%s: %d documents of operations, %d counted in intervals", op, single[op], n)
		}
	}
}
