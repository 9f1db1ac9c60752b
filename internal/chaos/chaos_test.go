//go:build integration

package chaos

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// either is a figure of the full run, or of the short one for CI.
func either[T any](r *rig, full, short T) T {
	if r.full {
		return full
	}
	return short
}

// every injects the same fault into every other request that carries documents of
// intervals, some times.
func every(times int, b fault) func(int) fault {
	return func(n int) fault {
		if n >= 2 && n%2 == 0 && n/2 <= times {
			return b
		}
		return fault{}
	}
}

// once does something when the n-th bulk request comes, before it goes on.
func once(at int, do func()) func(int) fault {
	return func(n int) fault {
		if n == at {
			return fault{do: do}
		}
		return fault{}
	}
}

type chaos struct {
	name string // as the page has it
	only bool   // in the full run only
	run  func(t *testing.T, c *trial)
}

var all = []chaos{
	{name: "connection reset in the middle of a request", run: func(t *testing.T, c *trial) {
		c.survives(t, every(5, fault{cut: true}))
	}},
	{name: "reply lost after the server stored the documents", run: func(t *testing.T, c *trial) {
		c.survives(t, every(5, fault{lose: true}))
	}},
	{name: "no answer for 10 s, then connection reset", run: func(t *testing.T, c *trial) {
		c.survives(t, every(2, fault{lose: true, wait: either(c.rig, 10*time.Second, time.Second)}))
	}},
	{name: "no answer within the time that a request may take", only: true, run: func(t *testing.T, c *trial) {
		c.survives(t, every(1, fault{lose: true, wait: time.Hour}))
	}},
	{name: "429: `thread_pool.write.queue_size: 1`, one write thread", only: true, run: tinyQueue},
	{name: "documents refused by the mapping", run: refused},
	{name: "index read-only, writable again within `--max-wait`", run: func(t *testing.T, c *trial) {
		c.px.inject(once(3, func() { c.readOnly(t, true) }))
		p := c.ingest(t)
		p.until(0, "index write (api)")
		time.Sleep(either(c.rig, 10*time.Second, 0))
		c.readOnly(t, false)
		p.wait(t, 0, "trying again")
		c.times = 1
		c.check(t)
	}},
	{name: "index read-only for longer than `--max-wait`", run: func(t *testing.T, c *trial) {
		c.px.inject(once(3, func() { c.readOnly(t, true) }))
		p := c.ingest(t, "--max-wait", "2s")
		p.wait(t, 1, "index write (api)", "spooled")
		if got := c.status(t); got != "partial" {
			t.Errorf("the run says %q", got)
		}
		c.readOnly(t, false)
		c.printed(t, p).wait(t, 0, "complete")
		c.times = 1
		c.check(t)
	}},
	{
		name: "flood stage: all indices blocked, for less than `--max-wait`",
		only: true,
		run: func(t *testing.T, c *trial) {
			// What comes while the blocks are not there yet waits for them.
			blocked, block := make(chan struct{}), sync.OnceFunc(func() { c.flood(t, true) })
			c.px.inject(func(n int) fault {
				if n < 4 {
					return fault{}
				}
				return fault{do: func() {
					block()
					if n == 4 {
						close(blocked)
					}
				}}
			})
			p := c.ingest(t)
			select {
			case <-blocked:
			case <-p.ended:
			}
			p.until(0, "flood-stage")
			c.flood(t, false)
			p.wait(t, 0, "trying again", "flood-stage")
			c.times = 1
			c.check(t)
		},
	},
	{name: "flood stage for longer than `--max-wait`", only: true, run: func(t *testing.T, c *trial) {
		c.px.inject(once(4, func() { c.flood(t, true) }))
		p := c.ingest(t, "--max-wait", "2s")
		p.wait(t, 1, "spooled", "flood-stage")
		if got := c.status(t); got == "complete" {
			t.Errorf("the run says %q", got)
		}
		c.flood(t, false)
		c.printed(t, p).wait(t, 0, "complete")
		c.times = 1
		c.check(t)
	}},
	{name: "disk of the server full, and room again within `--max-wait`", only: true, run: serverDiskFull(false)},
	{name: "disk of the server full for longer than `--max-wait`", only: true, run: serverDiskFull(true)},
	{name: "server killed (`kill -9`) and started again", run: func(t *testing.T, c *trial) {
		c.px.inject(once(3, func() {
			c.es.kill(t)
			go c.es.up(t)
		}))
		c.ingest(t, "--max-wait", "20m").wait(t, 0, "trying again")
		c.es.up(t) // waits for the other one
		c.times = 1
		c.check(t)
	}},
	{
		name: "server killed (`kill -9`), and started again after `--max-wait`",
		only: true,
		run: func(t *testing.T, c *trial) {
			c.px.inject(once(3, func() { c.es.kill(t) }))
			p := c.ingest(t, "--max-wait", "2s")
			p.wait(t, 1, "trying again", "gave up", "spooled")
			c.es.up(t)
			if got := c.status(t); got != "running" {
				t.Errorf("the run says %q", got)
			}
			c.honest(t)
			c.printed(t, p).wait(t, 0, "complete")
			c.times = 1
			c.check(t)
		},
	},
	{name: "server away for 60 s", run: func(t *testing.T, c *trial) {
		stopped := make(chan struct{})
		c.px.inject(once(3, func() {
			c.px.stop()
			close(stopped)
		}))
		p := c.ingest(t)
		<-stopped
		time.Sleep(either(c.rig, 60*time.Second, 0))
		c.px.start(t)
		p.wait(t, 0, "trying again")
		c.times = 1
		c.check(t)
	}},
	{name: "server goes away for longer than `--max-wait`", run: func(t *testing.T, c *trial) {
		c.px.inject(once(3, c.px.stop))
		p := c.ingest(t, "--max-wait", "2s")
		p.wait(t, 1, "gave up", "spooled")
		c.px.start(t)
		c.honest(t)
		c.printed(t, p).wait(t, 0, "complete")
		c.times = 1
		c.check(t)
	}},
	{name: "server never there", run: func(t *testing.T, c *trial) {
		c.px.inject(nil)
		c.px.stop()
		p := c.ingest(t, "--max-wait", "2s")
		p.wait(t, 1, "gave up", " 0 are indexed", " spooled")
		c.px.start(t)
		if got := c.status(t); got != "" {
			t.Errorf("the run says %q", got)
		}
		c.printed(t, p).wait(t, 0, "complete")
		c.times = 1
		c.check(t)
	}},
	{name: "server never there, and the disk of the spool full", run: diskFull},
	{name: "fiolat killed (`kill -9`) at a random moment", run: func(t *testing.T, c *trial) {
		for range either(c.rig, 20, 1) {
			c.px.inject(nil)
			p := c.ingest(t)
			time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))))
			p.cmd.Process.Kill()
			<-p.ended
			c.times++
			c.honest(t)
			c.again(t)
			c.check(t)
		}
	}},
	{name: "fiolat killed (`kill -9`) while it spools, half of the time the last document cut", run: killedSpooling},
	{name: "SIGINT or SIGTERM at a random moment while it sends", run: func(t *testing.T, c *trial) {
		for i := range either(c.rig, 6, 1) {
			sends := make(chan bool)
			c.px.inject(once(2+c.rand.IntN(3), func() { // of five: the run cannot have ended
				close(sends)
				time.Sleep(200 * time.Millisecond)
			}))
			p := c.ingest(t)
			<-sends
			time.Sleep(time.Duration(c.rand.Int64N(int64(150 * time.Millisecond))))
			p.signal(t, []os.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2], 2*time.Minute)
			p.wait(t, 130, "interrupted", "run the same command again")
			if got := c.status(t); got == "running" || got == "complete" {
				t.Errorf("the run says %q", got)
			}
			c.times++
			c.again(t)
			c.check(t)
		}
	}},
	{name: "SIGINT or SIGTERM while the server does not answer", run: func(t *testing.T, c *trial) {
		for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
			hangs := make(chan bool)
			c.px.inject(hang(3, hangs))
			p := c.ingest(t)
			<-hangs
			p.signal(t, s, 2*time.Minute)
			p.wait(t, 130, "interrupted", "run the same command again")
			c.times++
			c.px.heal()
			c.honest(t)
			c.again(t)
			c.check(t)
		}
	}},
	{name: "a second SIGINT while the first one drains", run: secondSignal},
	{name: "`fiolat load` killed (`kill -9`) or interrupted", run: loadInterrupted},
	{name: "two ingests at once: the same logs", run: races(6, sameLogs(2))},
	{name: "two ingests at once: other settings", run: races(6, otherSettings(2))},
	{name: "two ingests at once: other logs under one `--run-id`", run: races(6, otherLogs)},
	{name: "two ingests at once: other logs under one `--part`", run: races(6, onePart)},
	{
		name: "two ingests at once: one killed (`kill -9`), half of the time as if on another host",
		run:  races(10, oneKilled),
	},
	{name: "two ingests at once: server killed (`kill -9`)", only: true, run: races(4, serverKilled)},
	{name: "three ingests at once: the same logs", only: true, run: races(10, sameLogs(3))},
	{name: "three ingests at once: other settings", only: true, run: races(10, otherSettings(3))},
	{name: "four ingests at once: the same logs", only: true, run: races(10, sameLogs(4))},
	{name: "four ingests at once: other settings", run: races(10, otherSettings(4))},
	{name: "`fiolat ingest` loses its run, cut off or stopped", run: lost(10, ingestLoses)},
	{name: "`fiolat merge` loses its run, cut off or stopped", only: true, run: lost(10, mergeLoses)},
	{name: "`fiolat rollup` loses its run, cut off or stopped", only: true, run: lost(10, rollUpLoses)},
	{name: "`fiolat load` loses its run, cut off or stopped", only: true, run: lost(10, loadLoses)},
	{name: "`fiolat delete` loses its run, cut off or stopped", only: true, run: lost(10, deleteLoses)},
	{name: "`fiolat live` loses its run, cut off or stopped", only: true, run: lost(10, liveLoses)},
	{name: "`fiolat label` beside an ingest", run: beside(10, ingestBeside(true, "label", "one", "tier=fast"))},
	{name: "`fiolat setup` beside an ingest", only: true, run: beside(10, ingestBeside(true, "setup"))},
	{name: "`fiolat label` beside a `live`", only: true, run: beside(10, liveBeside(true, "label", "one", "tier=fast"))},
	{name: "`fiolat setup` beside a `live`", only: true, run: beside(10, liveBeside(true, "setup"))},
	{name: "`fiolat delete` beside a `live`", run: beside(10, liveBeside(false, "delete", "--yes", "one"))},
	{
		name: "`fiolat rollup` beside a `live`",
		only: true,
		run:  beside(10, liveBeside(false, "rollup", "--interval", "10s", "one")),
	},
	{name: "`fiolat merge` beside a `live`", only: true, run: beside(10, liveBeside(false, "merge", "one"))},
	{
		name: "`fiolat delete` beside an ingest, a request answered with 503 or cut off",
		run:  between(30, deletes),
	},
	{
		name: "`fiolat delete` of a run whose rollup was interrupted beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, deletes, "rollup", "--interval", "2s", "one"),
	},
	{
		name: "`fiolat rollup` beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, rollsUp),
	},
	{
		name: "`fiolat rollup` that finishes another beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, rollsUp, "rollup", "--interval", "2s", "one"),
	},
	{
		name: "`fiolat merge` beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, merges),
	},
	{
		name: "`fiolat load` beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, loads),
	},
	{
		name: "`fiolat ingest` beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, commits),
	},
	{
		name: "`fiolat label` beside an ingest, a request answered with 503 or cut off",
		only: true,
		run:  between(30, labels),
	},
	{name: "`fiolat load` ended by a signal at a random moment", only: true, run: loadSignals},
	{name: "`fiolat merge` ended by a signal at a random moment", only: true, run: mergeSignals},
	{name: "`fiolat rollup` killed (`kill -9`) at a random moment", run: rollUpKilled},
	{name: "`fiolat live` ended by a signal at a random moment", only: true, run: liveSignals},
	{name: "`fiolat probe` ended by a signal at a random moment", only: true, run: probeSignals},
	{
		name: "three nodes: one that holds primaries killed (`kill -9`)",
		only: true,
		run: onNodes(ingesting, nothing, holderKilled(0), holderKilled(0), holderKilled(30*time.Second),
			holderKilled(30*time.Second), holderKilled(time.Hour)),
	},
	{
		name: "three nodes: the elected master stopped for 30 s or 100 s",
		only: true,
		run: onNodes(ingesting, nothing, masterStopped(30*time.Second), masterStopped(100*time.Second),
			masterStopped(100*time.Second), masterStopped(100*time.Second)),
	},
	{name: "three nodes: each restarted in turn", only: true, run: onNodes(ingesting, nothing, restarted, restarted)},
	{
		name: "three nodes: one killed, the master stopped for 100 s, or each restarted in turn, beside `fiolat live`",
		only: true,
		run: onNodes(following, nothing, holderKilled(30*time.Second), masterStopped(100*time.Second), restarted,
			holderKilled(0)),
	},
	{
		name: "three nodes: the same beside an ingest, an old month being lost",
		only: true,
		run: onNodes(ingesting, ofOthers, holderKilled(30*time.Second), masterStopped(100*time.Second), restarted,
			holderKilled(0)),
	},
	{
		name: "three nodes: the same, the month of the run's other generation being lost",
		only: true,
		run:  onNodes(ingesting, otherGeneration, holderKilled(30*time.Second), masterStopped(100*time.Second)),
	},
}

// survives is an ingest that gets over all faults by itself.
func (c *trial) survives(t *testing.T, fault func(int) fault) {
	c.px.inject(fault)
	c.ingest(t).wait(t, 0, "trying again")
	c.times, _, _ = c.px.counts()
	c.check(t)
}

// secondSignal ends an ingest that drains. Where the machine is so busy that it has drained before the second signal
// reaches it, that is tried again.
func secondSignal(t *testing.T, c *trial) {
	for code := 130; code == 130 && c.times < 10; {
		hangs := make(chan bool)
		c.px.inject(hang(3, hangs))
		p := c.ingest(t)
		<-hangs
		for ended := false; !ended; {
			p.cmd.Process.Signal(syscall.SIGINT)
			select {
			case <-p.ended:
				ended = true
			case <-time.After(500 * time.Millisecond):
			}
		}
		code = p.code
		if c.times++; code != -1 && (code != 130 || c.times == 10) { // by the signal; a shell calls it 130
			t.Errorf("exit %d:\n%s", code, p.said())
		}
		c.px.heal()
		c.honest(t)
		c.again(t)
		c.check(t)
	}
}

// hang answers no bulk request from the n-th on, and says so.
func hang(from int, hangs chan bool) func(int) fault {
	return func(n int) fault {
		if n < from {
			return fault{}
		}
		return fault{lose: true, wait: time.Hour, do: func() {
			if n == from {
				close(hangs)
			}
		}}
	}
}

// readOnly blocks an index for writing, as soon as it is there.
func (c *trial) readOnly(t *testing.T, on bool) {
	const index = "-percentiles-2026.08"
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var there map[string]any
		if c.es.ask(t, "GET", "/"+c.prefix+index+"*/_alias", "", &there); len(there) > 0 {
			break
		}
	}
	c.es.ask(t, "PUT", "/"+c.prefix+index+"/_settings", fmt.Sprintf(`{"index.blocks.write":%v}`, on), nil)
}

// flood makes the server believe that its disk is full, and waits until it has blocked the
// indices, or taken the blocks away.
func (c *trial) flood(t *testing.T, on bool) {
	settings := `null`
	if on {
		settings = `"8000pb"`
	}
	c.es.ask(t, "PUT", "/_cluster/settings", fmt.Sprintf(`{"persistent":{"cluster.info.update.interval":"10s",
		"cluster.routing.allocation.disk.threshold_enabled":%v,
		"cluster.routing.allocation.disk.watermark.low":%[2]s,"cluster.routing.allocation.disk.watermark.high":%[2]s,
		"cluster.routing.allocation.disk.watermark.flood_stage":%[2]s}}`, on, settings), nil)
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var all map[string]struct{ Settings map[string]any }
		c.es.ask(t, "GET", "/"+c.prefix+"-*/_settings/index.blocks.read_only_allow_delete?flat_settings=true", "", &all)
		blocked := 0
		for _, s := range all {
			if len(s.Settings) > 0 {
				blocked++
			}
		}
		if on && blocked > 0 && blocked == len(all) || !on && blocked == 0 {
			return
		}
	}
	t.Errorf("flood stage %v: the indices did not follow", on)
}

func tinyQueue(t *testing.T, c *trial) {
	c.elsewhere(t, "--set", "thread_pool.write.queue_size=1", "--set", "thread_pool.write.size=1")
	c.ingest(t).wait(t, 0, "trying again", "429")
	_, _, c.times = c.px.counts()
	c.check(t)
}

// elsewhere goes on with a server of its own.
func (c *trial) elsewhere(t *testing.T, more ...string) {
	t.Helper()
	es := newServer(t, c.which, port+1, more...)
	r := *c.rig
	r.es, r.px = es, newProxy(t, es)
	r.trust(t)
	c.rig = &r
	c.setup(t)
}

// serverDiskFull is a server whose data lie on a file system of their own, which is filled to its last byte when the
// third bulk request comes.
func serverDiskFull(beyondMaxWait bool) func(*testing.T, *trial) {
	return func(t *testing.T, c *trial) {
		if os.Getuid() != 0 {
			t.Skip("only root may mount a file system")
		}
		disk, err := os.MkdirTemp("", "fiolat-chaos-disk-")
		if err == nil {
			err = os.Chmod(disk, 0o755)
		}
		if err == nil {
			err = syscall.Mount("none", disk, "tmpfs", 0, "size=64m,mode=755")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(syscall.Unmount(disk, syscall.MNT_DETACH), os.Remove(disk)); err != nil {
				t.Error(err)
			}
		})
		c.elsewhere(t, "--data", disk)
		filler, full := filepath.Join(disk, "filler"), make(chan struct{})
		c.px.inject(once(3, func() {
			defer close(full)
			f, err := os.Create(filler)
			for block := make([]byte, 4096); err == nil; {
				_, err = f.Write(block)
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Error(err)
			}
			f.Close()
		}))
		if beyondMaxWait {
			p := c.ingest(t, "--max-wait", "2s")
			p.wait(t, 1, "spooled")
			c.room(t, filler)
			if got := c.status(t); got == "complete" {
				t.Errorf("the run says %q", got)
			}
			c.printed(t, p).wait(t, 0, "complete")
		} else {
			p := c.ingest(t)
			select {
			case <-full:
			case <-p.ended:
			}
			p.until(len(p.said()), "trying again") // the server need not say why
			c.room(t, filler)
			p.wait(t, 0, "trying again")
		}
		c.times = 1
		c.check(t)
	}
}

// room makes room on a server's disk, and has it try again what it gave up.
func (c *trial) room(t *testing.T, filler string) {
	t.Helper()
	if err := os.Remove(filler); err != nil {
		t.Error(err)
	}
	var err error
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		var health struct{ Status string }
		if err = c.es.try("POST", "/_cluster/reroute?retry_failed=true&metric=none", "", nil); err == nil {
			err = c.es.try("GET", "/_cluster/health?wait_for_status=yellow&timeout=5s", "", &health)
		}
		if err == nil && health.Status != "red" {
			return
		}
	}
	t.Errorf("the server does not recover: %v", err)
}

// refused: a field that is too small for some documents, and is mended.
func refused(t *testing.T, c *trial) {
	c.px.inject(nil)
	c.start(t, c.bin, c.command("setup")...).wait(t, 0)
	c.es.ask(
		t,
		"PUT",
		"/"+c.prefix+"-percentiles-2026.09",
		`{"mappings":{"properties":{"samples":{"type":"byte"}}}}`,
		nil,
	)
	p := c.ingest(t)
	p.wait(t, 1, "refused", "document_parsing_exception", "out of range")
	if got := c.status(t); got != "partial" {
		t.Errorf("the run says %q", got)
	}
	c.times = len(c.want) - len(c.es.documents(t, c.prefix))
	c.printed(t, p).wait(t, 1, "refused") // not yet mended: nothing changes
	c.honest(t)
	c.es.ask(
		t,
		"PUT",
		"/"+c.prefix+"-percentiles-2026.09/_mapping",
		`{"properties":{"samples":{"type":"byte","ignore_malformed":true}}}`,
		nil,
	)
	c.printed(t, p).wait(t, 0, "complete")
	c.check(t)
}

// diskFull spools onto a file system of 1 MB, in a mount namespace, which needs no
// root, and looks at what is there then.
func diskFull(t *testing.T, c *trial) {
	c.px.inject(nil)
	c.px.stop()
	if err := os.Mkdir(c.out, 0o700); err != nil {
		t.Fatal(err)
	}
	left := t.TempDir()
	const script = `mount -t tmpfs -o size=1m none "$0" && to=$1 && shift && ` +
		`{ "$@"; code=$?; cp -R "$0"/. "$to" && exit $code; }`
	full := func(more ...string) {
		args := append([]string{"--map-root-user", "--mount", "sh", "-c", script, c.out, left, c.bin}, more...)
		c.start(t, "unshare", args...).wait(t, 1, "no space left on device", c.out)
		c.times++
	}
	// Documents for a directory are all there or none is.
	full(append(append([]string{"ingest", "--output", c.out}, c.args...), c.logs)...)
	if files, _ := os.ReadDir(left); len(files) > 0 {
		t.Errorf("left on a full disk: %v", files)
	}
	full(c.ingestArgs("--max-wait", "0")...)
	c.px.start(t)
	if got := c.status(t); got != "" {
		t.Errorf("the run says %q", got)
	}
	// What the spool took is whole.
	c.start(t, c.bin, c.command("load", left)...).wait(t, 0)
	if n := len(c.es.documents(t, c.prefix)); n < 100 {
		t.Errorf("%d documents came out of the full spool", n)
	}
	c.honest(t)
	c.again(t)
	c.check(t)
}

func killedSpooling(t *testing.T, c *trial) {
	for i := range either(c.rig, 4, 2) {
		c.px.inject(nil)
		c.px.stop()
		p := c.ingest(t, "--max-wait", "0")
		var spool string
		for { // until a document is in it: load calls an empty file lost, not cut off
			time.Sleep(time.Millisecond)
			found, _ := filepath.Glob(filepath.Join(c.out, "*-spool.*.ndjson"))
			if len(found) == 0 {
				continue
			}
			spool = found[0]
			if st, err := os.Stat(spool); err == nil && st.Size() > 10 {
				break
			}
		}
		time.Sleep(time.Duration(c.rand.Int64N(int64(50 * time.Millisecond))))
		p.cmd.Process.Kill()
		<-p.ended
		c.times++
		c.px.start(t)
		load := c.command("load", c.out)
		if i%2 == 1 {
			st, err := os.Stat(spool)
			if err == nil {
				err = os.Truncate(spool, st.Size()-10)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.start(t, c.bin, load...).wait(t, 1, "cut off", spool)
		} else {
			p := c.start(t, c.bin, load...)
			if <-p.ended; p.code != 0 && !strings.Contains(p.said(), "cut off") {
				t.Errorf("exit %d\n%s", p.code, p.said())
			}
		}
		c.honest(t)
		c.again(t)
		c.check(t)
	}
}

// loadInterrupted sends the documents of a directory, with difficulty.
func loadInterrupted(t *testing.T, c *trial) {
	dir := filepath.Join(t.TempDir(), "documents")
	c.start(
		t,
		c.bin,
		append(append([]string{"ingest", "--index-prefix", c.prefix, "--output", dir}, c.args...), c.logs)...).wait(
		t,
		0,
	)
	load := c.command("load", dir)
	for _, s := range []os.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		hangs := make(chan bool)
		c.px.inject(hang(2, hangs))
		p := c.start(t, c.bin, load...)
		<-hangs
		p.signal(t, s, 2*time.Minute)
		if s != syscall.SIGKILL {
			p.wait(t, 130)
		}
		c.times++
		c.honest(t)
	}
	c.px.inject(nil)
	c.then = "the same command again"
	c.start(t, c.bin, load...).wait(t, 0, "complete")
	c.check(t)
}

// port is for the servers, and the next one; else they are chosen as in
// scripts/integration.
var port = func() int {
	if p, err := strconv.Atoi(os.Getenv("FIOLAT_CHAOS_PORT")); err == nil {
		return p
	}
	return 10000 + os.Getpid()%20000
}()

// TestChaos breaks everything in turn, on each server of FIOLAT_CHAOS_SERVERS. With
// FIOLAT_CHAOS_TABLE, the file to write its rows into, it takes its time; else, for CI, each
// class comes once, with few documents. FIOLAT_CHAOS_TIMES=real is for the default times.
func TestChaos(t *testing.T) {
	table := os.Getenv("FIOLAT_CHAOS_TABLE")
	seed, err := strconv.ParseUint(os.Getenv("FIOLAT_CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("FIOLAT_CHAOS_SEED=%d", seed)
	r := &rig{
		full: table != "",
		rand: rand.New(rand.NewPCG(seed, 0)),
		bin:  filepath.Join(t.TempDir(), "fiolat"),
		pace: "timeout=20s flush=131072",
		logs: root + "/testdata/fio/randrw",
		calm: map[string]map[string]string{},
	}
	if os.Getenv("FIOLAT_CHAOS_TIMES") == "real" {
		r.pace = ""
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", r.bin, root+"/cmd/fiolat")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.args = []string{"--start", "2026-08-31T23:59:50Z", "--by", "direction,host,job,log", "--interval", "500ms"}
	servers := strings.Fields(os.Getenv("FIOLAT_CHAOS_SERVERS"))
	if len(servers) == 0 {
		servers = []string{"8.19.0"}
	}
	for _, which := range servers {
		t.Run(which, func(t *testing.T) { r.on(t, which, table) })
	}
}

// on breaks everything on one server.
func (r *rig) on(t *testing.T, which, table string) {
	r.which, r.es = which, newServer(t, which, port)
	r.px = newProxy(t, r.es)
	r.trust(t)
	clear(r.calm)
	r.before = nil
	undisturbed := func(c *trial) [][]string { return [][]string{c.ingestArgs()} }
	if r.want = r.undisturbed(t, undisturbed); len(r.want) < 1000 {
		t.Fatalf("%d documents are too few to be disturbed", len(r.want))
	}
	clear(r.calm)
	again := r.undisturbed(t, undisturbed) // the server is warm now
	if !maps.Equal(again, r.want) {
		t.Fatal("two undisturbed ingests differ")
	}
	t.Logf("undisturbed: %d documents in %v", len(r.want), r.took)
	run := func(i int, name string, f func(*testing.T, *trial), only func(c *trial) (exit0, sent string)) {
		t.Run(name, func(t *testing.T) {
			c := &trial{
				rig:    r,
				prefix: fmt.Sprintf("chaos%d", i),
				out:    filepath.Join(t.TempDir(), "out"),
				then:   "the run itself",
			}
			c.setup(t)
			f(t, c)
			if c.times == 0 && (r.full || c.tries == 0) { // a way of broken replies need not apply in each mode
				t.Error("no fault struck")
			}
			exit0, sent := only(c)
			cells := []string{which, name, fmt.Sprint(c.times), exit0, fmt.Sprint(c.made), sent, fmt.Sprint(c.found),
				fmt.Sprint(c.foreign), fmt.Sprint(c.lost), c.then}
			t.Log(cells)
			if r.full && !t.Failed() {
				record(t, table, cells)
			}
		})
	}
	for i, k := range all {
		if k.only && !r.full {
			continue
		}
		run(i, k.name, k.run, func(c *trial) (string, string) { return "", fmt.Sprint(c.sent) })
	}
	for i, k := range wrecks {
		if !r.full && i%13 > 0 {
			continue
		}
		run(1000, "reply: "+k.name, brokenReplies(i, k), func(c *trial) (string, string) {
			return fmt.Sprintf("%d of %d", c.good, c.tries), ""
		})
	}
}

// trust makes a file of the authorities that fiolat is to trust.
func (r *rig) trust(t *testing.T) {
	if r.es.ca == "" {
		return
	}
	own, err := os.ReadFile(r.es.ca)
	if err == nil {
		r.ca = filepath.Join(t.TempDir(), "ca.crt")
		err = os.WriteFile(r.ca, append(own, r.px.ca...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
