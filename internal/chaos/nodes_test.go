//go:build integration

package chaos

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cluster is three servers that form one, each behind a proxy of its own, and a trial on it.
type cluster struct {
	*trial
	t     *testing.T
	nodes []*server
	names []string
}

// newCluster starts the servers at once, as none is well alone. fiolat gets all addresses, the default times, and small
// requests, of which many come before a node is back.
func newCluster(t *testing.T, c *trial) *cluster {
	r := *c.rig
	k := &cluster{trial: c, t: t}
	const nodes, first = 3, 1 // the port before is of the single server
	var transports []string
	for i := range nodes {
		k.names = append(k.names, fmt.Sprintf("fiolat-%d", port+first+i))
		transports = append(transports, fmt.Sprintf("127.0.0.1:%d", port+first+nodes+i))
	}
	var starts sync.WaitGroup
	for i := range nodes {
		_, transport, _ := strings.Cut(transports[i], ":")
		n := planned(t, c.which, port+first+i, "--set", "discovery.type=multi-node",
			"--set", "transport.port="+transport,
			"--set", "discovery.seed_hosts="+strings.Join(transports, ","),
			"--set", "cluster.initial_master_nodes="+strings.Join(k.names, ","))
		n.status = "red" // as it is while a month is lost; see green
		k.nodes = append(k.nodes, n)
		starts.Go(func() { n.up(t) })
	}
	starts.Wait()
	if t.Failed() {
		t.FailNow()
	}
	r.more = nil
	for i, n := range k.nodes {
		px := newProxy(t, n)
		if i == 0 {
			r.es, r.px = n, px
			continue
		}
		px.strikes = r.px.strikes
		r.more = append(r.more, px)
	}
	r.pace = "flush=8192"
	c.rig = &r
	k.green()
	return k
}

// green waits until all nodes are there, and all copies of what is not lost.
func (k *cluster) green() {
	k.t.Helper()
	var err error
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		var health struct {
			TimedOut bool `json:"timed_out"`
		}
		err = k.nodes[0].try("GET", "/_cluster/health/"+k.prefix+"-r*,"+k.prefix+
			"-*-2026*?wait_for_nodes=3&wait_for_status=green&timeout=10s", "", &health)
		if err == nil && !health.TimedOut {
			return
		}
	}
	k.t.Errorf("the cluster does not get well: %v", err)
}

func (k *cluster) named(name string) *server {
	if i := slices.Index(k.names, name); i >= 0 {
		return k.nodes[i]
	}
	k.t.Errorf("no node %q", name)
	return k.nodes[0]
}

// holder is the node with most primaries of the trial's.
func (k *cluster) holder() *server {
	var shards []struct{ Prirep, Node string }
	k.nodes[0].ask(k.t, "GET", "/_cat/shards/"+k.prefix+"-*?format=json&h=prirep,node", "", &shards)
	most, primaries := "", map[string]int{}
	for _, s := range shards {
		if s.Prirep == "p" {
			if primaries[s.Node]++; primaries[s.Node] > primaries[most] {
				most = s.Node
			}
		}
	}
	return k.named(most)
}

// mishap happens to a cluster while a program is at work. It calls struck when it has begun.
type mishap func(k *cluster, struck func(), ended <-chan struct{})

// holderKilled kills a node that holds primaries; it is back after a while, or when the program has ended.
func holderKilled(away time.Duration) mishap {
	return func(k *cluster, struck func(), ended <-chan struct{}) {
		n := k.holder()
		n.kill(k.t)
		struck()
		select {
		case <-time.After(away):
		case <-ended:
		}
		n.up(k.t)
	}
}

// masterStopped stops the elected master, which goes on afterwards as if nothing had been.
func masterStopped(still time.Duration) mishap {
	return func(k *cluster, struck func(), _ <-chan struct{}) {
		var master []struct{ Node string }
		k.nodes[0].ask(k.t, "GET", "/_cat/master?format=json", "", &master)
		pid, err := k.named(master[0].Node).signal(k.t, syscall.SIGSTOP)
		struck()
		time.Sleep(still)
		if err == nil {
			syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// restarted restarts each node, when the one before is well.
func restarted(k *cluster, struck func(), _ <-chan struct{}) {
	struck()
	for _, n := range k.nodes {
		if out, err := n.script("down", "--keep"); err != nil {
			k.t.Errorf("%v\n%s", err, out)
		}
		n.up(k.t)
		k.green()
	}
}

// work is a command under trial, and the file that it reads from its standard input.
type work struct {
	command func(c *trial) []string
	input   string
	pause   time.Duration // between the documents of input
}

var (
	ingesting = work{command: func(c *trial) []string { return c.ingestOf(one(c.logs)...) }}
	following = work{
		command: func(c *trial) []string { return c.live("2s", "-") },
		input:   stream,
		pause:   12 * time.Second,
	}
)

func (w work) start(t *testing.T, c *trial, pause time.Duration) *program {
	return c.startWith(t, slowly(t, w.input, pause), c.bin, w.command(c)...)
}

// lostMonth is what is lost before a trial, with the only node that had it.
type lostMonth int

const (
	nothing         lostMonth = iota
	ofOthers                  // an old month with nothing of the run
	otherGeneration           // the month of the run's documents with other settings
)

// oldKinds are the kinds of which the old month has an index.
var oldKinds = []string{"histogram", "percentiles"}

func (k *cluster) old(kind string) string { return "/" + k.prefix + "-" + kind + "-2024.01" }

// lose makes indices of an old month, and has their only node lose its data.
func (k *cluster) lose(what lostMonth) {
	args := k.ingestOf(one(k.logs)...)
	switch what {
	case nothing:
		return
	case ofOthers:
		args = k.command("setup")
	case otherGeneration:
		args[slices.Index(args, "--start")+1] = "2024-01-15T12:00:00Z"
	}
	k.start(k.t, k.bin, args...).wait(k.t, 0)
	last := k.nodes[len(k.nodes)-1]
	only := fmt.Sprintf(`{"index.number_of_replicas":0,"index.auto_expand_replicas":false,
		"index.routing.allocation.require._name":%q}`, k.names[len(k.names)-1])
	for _, kind := range oldKinds {
		if what == ofOthers {
			k.es.ask(k.t, "PUT", k.old(kind), `{"settings":`+only+`}`, nil)
		} else {
			k.es.ask(k.t, "PUT", k.old(kind)+"/_settings", only, nil)
		}
	}
	health := "/_cluster/health/" + k.prefix + "-*-2024.01"
	k.es.ask(k.t, "GET", health+"?wait_for_status=green&wait_for_no_relocating_shards=true&timeout=5m", "", nil)
	k.green() // or what else it holds goes with it
	if out, err := last.script("down"); err != nil {
		k.t.Errorf("%v\n%s", err, out)
	}
	last.up(k.t)
	k.green()
	var is struct{ Status string }
	if k.es.ask(k.t, "GET", health, "", &is); is.Status != "red" {
		k.t.Errorf("the lost month is %s", is.Status)
	}
}

// onNodes has mishaps strike three nodes while a program is at work. Whenever it ended, the run says complete only if
// it is; and if it did not end well, the same command ends well then.
func onNodes(w work, lost lostMonth, mishaps ...mishap) func(*testing.T, *trial) {
	return func(t *testing.T, c *trial) {
		k := newCluster(t, c)
		calm := &trial{rig: c.rig, prefix: "calm", out: filepath.Join(t.TempDir(), "out")}
		w.start(t, calm, tenth).wait(t, 0)
		want := c.es.documents(t, calm.prefix)
		c.es.wipe(t, calm.prefix)
		c.px.mu.Lock()
		requests := c.px.requests
		c.px.mu.Unlock()
		for _, m := range mishaps {
			k.lose(lost)
			at := 2 + c.rand.IntN(requests/2)
			p := k.strike(w, m, at)
			t.Logf("struck at request %d of %d: exit %d", at, requests, p.code)
			c.times++
			if p.code != 0 && (p.code != 1 || !finishing.MatchString(p.said()) && lost != otherGeneration) {
				t.Errorf("exit %d:\n%s", p.code, p.said())
			}
			if lost == otherGeneration {
				if p.code == 0 || c.status(t) == "complete" || !strings.Contains(p.said(), "-2024.01") {
					t.Errorf("exit %d, and the run is %s:\n%s", p.code, c.status(t), p.said())
				}
				for _, kind := range oldKinds {
					c.es.ask(t, "DELETE", k.old(kind), "", nil)
				}
			}
			c.honestly(t, want)
			if p.code != 0 {
				c.then = "the same command again"
				w.start(t, c, tenth).wait(t, 0)
			}
			c.checkOf(t, want)
			c.es.wipe(t, c.prefix)
			if t.Failed() {
				t.Fatalf("it said\n%s", p.said())
			}
		}
	}
}

// strike runs a program and has a mishap begin with one of its bulk requests. Replies are slow meanwhile, so that it is
// still at work. It returns the program when both have ended and the cluster is well.
func (k *cluster) strike(w work, m mishap, at int) *program {
	var underWay atomic.Bool
	var mishap sync.WaitGroup
	struck, ended := make(chan struct{}), make(chan struct{})
	k.px.inject(func(n int) (f fault) {
		if n == at {
			f.do = func() {
				underWay.Store(true)
				mishap.Go(func() {
					m(k, func() { close(struck) }, ended)
					underWay.Store(false)
				})
				<-struck
			}
		} else if underWay.Load() {
			f.wait = 2 * time.Second
		}
		return f
	})
	p := w.start(k.t, k.trial, w.pause)
	<-p.ended
	select {
	case <-struck:
	default:
		k.t.Errorf("it ended before request %d: nothing happened to the cluster", at)
	}
	close(ended)
	mishap.Wait()
	k.green()
	return p
}
