//go:build integration

package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wire passes bytes on to a server, as a network that can fail.
type wire struct {
	l  net.Listener
	to string

	mu     sync.Mutex // guards what follows
	outage *outage    // nil: all is well
	blocks int        // that have come for the server
	at     int        // block before which then is called
	then   func()
	conns  map[net.Conn]bool
}

// outage is a failure of a network.
type outage struct {
	loses  bool // what is sent meanwhile, and with it the connections; else it is held
	hears  bool // what is sent to the server arrives at once; only its replies do not
	healed chan struct{}
}

func newWire(t *testing.T, server string) *wire {
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{l: l, to: u.Host, conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		for c := range w.conns {
			c.Close()
		}
	})
	return w
}

// url is the address of the server through the wire.
func (w *wire) url(server string) string {
	u, _ := url.Parse(server)
	u.Host = w.l.Addr().String()
	return u.String()
}

// now returns the outage, if there is one, when a block has come.
func (w *wire) now(toServer bool) *outage {
	w.mu.Lock()
	if toServer {
		w.blocks++
	}
	then := w.then
	if w.blocks == w.at {
		w.then = nil
	} else {
		then = nil
	}
	w.mu.Unlock()
	if then != nil {
		then()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outage
}

// when has a function called before the n-th block for the server.
func (w *wire) when(n int, then func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.then = n, then
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blocks
}

// fail begins an outage: "lost", "held", or "replies held".
func (w *wire) fail(way string) (heal func()) {
	o := &outage{loses: way == "lost", hears: way == "replies held", healed: make(chan struct{})}
	w.mu.Lock()
	w.outage = o
	w.mu.Unlock()
	return sync.OnceFunc(func() {
		w.mu.Lock()
		w.outage = nil
		w.mu.Unlock()
		close(o.healed)
	})
}

// pass passes on what comes over a connection. What was held arrives even if its sender is gone by then.
func (w *wire) pass(client net.Conn) {
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		client.Close()
		return
	}
	w.mu.Lock()
	w.conns[client], w.conns[server] = true, true
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.oneWay(server, client, true) })
	both.Go(func() { w.oneWay(client, server, false) })
	both.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, client)
	delete(w.conns, server)
}

func (w *wire) oneWay(to, from net.Conn, toServer bool) {
	type block struct {
		bytes  []byte
		outage *outage // during which it came
	}
	blocks := make(chan block, 1<<12)
	go func() {
		defer close(blocks)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 {
				blocks <- block{b[:n], w.now(toServer)}
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		to.Close()
		if !toServer {
			from.Close()
		}
		for range blocks { // until its reader has ended
		}
	}()
	for b := range blocks {
		if o := b.outage; o != nil && !(toServer && o.hears) {
			<-o.healed
			if o.loses {
				from.Close()
				return
			}
		}
		if _, err := to.Write(b.bytes); err != nil {
			from.Close()
			return
		}
	}
}

// contest is a command that loses its run to another one, which has other settings.
type contest struct {
	before        [][]string // commands that come first
	loser, winner []string
	input         string // file that the loser reads from its standard input, slowly
	both          bool   // neither takes the run from the other: both do their work, as if in turn
}

// ways are those in which a process is kept from its run.
var ways = []string{"lost", "held", "stopped", "replies held", "stopped, and held"}

const undisturbed = "undisturbed" // a way, too

// lost has a command lose its run at random moments: the network between it and the server fails, or it is stopped,
// and another command begins. Whatever becomes of what it has sent, each run and part that says complete in the
// end has exactly the documents that undisturbed commands leave, and the loser does not say that it did its work.
func lost(times int, of losers) func(*testing.T, *trial) { return contests(times, of, ways...) }

// beside has another command begin at random moments of a command.
func beside(times int, of losers) func(*testing.T, *trial) { return contests(times, of, undisturbed) }

func contests(times int, of losers, ways ...string) func(*testing.T, *trial) {
	return func(t *testing.T, c *trial) {
		c.px.inject(nil)
		c.then = "the run itself"
		var mu sync.Mutex
		lost := 0
		var workers sync.WaitGroup
		const atOnce = 4 // they mostly wait
		parts := clusterParts(t)
		for n := range atOnce {
			one := &trial{rig: c.rig, prefix: fmt.Sprintf("%sx%d", c.prefix, n), out: filepath.Join(t.TempDir(), "out")}
			random := rand.New(rand.NewPCG(c.rand.Uint64(), 0))
			workers.Go(func() {
				one.setup(t)
				contest := of(t, one, parts)
				for i := n; i < either(c.rig, times, 2); i += atOnce {
					took := one.loses(t, contest(i), ways[i/2%len(ways)], random)
					mu.Lock()
					c.times++
					if took {
						lost++
					}
					mu.Unlock()
				}
				mu.Lock()
				defer mu.Unlock()
				c.made += one.made
				c.found += one.made
			})
		}
		workers.Wait()
		t.Logf("%d of %d lost", lost, c.times)
	}
}

// loses is one trial. It reports whether the loser did not end well, and the winner did.
func (c *trial) loses(t *testing.T, k contest, way string, random *rand.Rand) bool {
	_, blocks := c.leaves(t, k, append(clip(k.before), k.loser)...)
	for _, args := range k.before {
		c.start(t, c.bin, args...).wait(t, 0)
	}
	w := newWire(t, c.es.url)
	began := time.Now()
	// Many blocks come before the mark; most faults strike later.
	at := 1 + max(random.IntN(blocks), random.IntN(blocks))
	var a *program
	started, struck := make(chan bool), make(chan []func())
	w.when(at, func() {
		<-started
		var heal []func()
		if strings.HasPrefix(way, "stopped") {
			a.cmd.Process.Signal(syscall.SIGSTOP)
			heal = append(heal, func() { a.cmd.Process.Signal(syscall.SIGCONT) })
		}
		if way != "stopped" && way != undisturbed {
			heal = append(heal, w.fail(strings.TrimPrefix(way, "stopped, and ")))
		}
		struck <- heal
	})
	a = c.startWith(t, slowly(t, k.input, tenth), c.bin, c.over(w, k.loser)...)
	close(started)
	var heal []func()
	select {
	case heal = <-struck:
	case <-a.ended:
	}
	b := c.start(t, c.bin, k.winner...)
	if random.IntN(2) == 0 { // while the winner is at work, perhaps
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(3*time.Second))))
	} else {
		<-b.ended
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
	}
	random.Shuffle(len(heal), func(i, j int) { heal[i], heal[j] = heal[j], heal[i] })
	for _, f := range heal {
		f()
		time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
	}
	<-a.ended
	<-b.ended
	bad := ""
	is := func(run string, o outcome, after ...[]string) bool {
		m, _ := c.leaves(t, k, append(clip(k.before), after...)...)
		return m[run].complete && maps.Equal(m[run].docs, o.docs)
	}
	found := c.outcomes(t)
	c.es.wipe(t, c.prefix)
	c.setup(t)
	if a.code == 0 && b.code == 0 && a.at.After(b.at) && at < blocks {
		m, _ := c.leaves(t, k, append(clip(k.before), k.loser)...)
		for run, o := range m {
			if o.complete && !found[run].complete {
				bad += fmt.Sprintf("the last says exit 0, and %s is not complete\n", run)
			}
		}
	}
	if k.both && a.code+b.code != 0 {
		bad += fmt.Sprintf("exit %d and %d\n", a.code, b.code)
	}
	for run, o := range found {
		if way == undisturbed && !o.own {
			bad += fmt.Sprintf("%s has %d documents without its own\n", run, len(o.docs))
		}
		if !o.complete {
			continue
		}
		c.made += len(o.docs)
		winners := is(run, o, k.winner) || is(run, o, k.loser, k.winner)
		switch {
		case k.both:
			if !is(run, o, k.loser, k.winner) && !is(run, o, k.winner, k.loser) {
				m, _ := c.leaves(t, k, append(clip(k.before), k.loser, k.winner)...)
				bad += fmt.Sprintf("%s is not as if they had worked in turn (%s)\n", run, o.unlike(m[run]))
			}
		case !winners && !is(run, o) && !is(run, o, k.loser) && !is(run, o, k.winner, k.loser):
			m, _ := c.leaves(t, k, append(clip(k.before), k.winner)...)
			bad += fmt.Sprintf("%s is complete, and its %d documents are of no undisturbed command (%s)\n", run,
				len(o.docs), o.unlike(m[run]))
		case at == blocks: // stopped after its last request, it may have been done before the winner began
		case a.code == 0 && b.code == 0 && a.at.After(b.at) && winners && !is(run, o, k.winner, k.loser):
			bad += fmt.Sprintf("the loser says exit 0, and %s is the winner's\n", run)
		}
	}
	t.Logf("%s at block %d of %d: the loser's exit %d after %v, the winner's %d after %v",
		way, at, blocks, a.code, a.at.Sub(began), b.code, b.at.Sub(began))
	if bad != "" {
		t.Errorf("%s\nloser:\n%s\nwinner:\n%s", bad, a.said(), b.said())
	}
	for _, f := range glob(c.out) {
		os.Remove(f)
	}
	return a.code != 0 && b.code == 0
}

// over returns the arguments of a command whose connections go over a wire.
func (c *trial) over(w *wire, args []string) (out []string) {
	for _, arg := range args {
		if arg == c.px.url() {
			arg = w.url(c.es.url)
		}
		out = append(out, arg)
	}
	return out
}

func clip(commands [][]string) [][]string { return commands[:len(commands):len(commands)] }

// outcome is a run or a part of one, with its own document.
type outcome struct {
	own, complete bool // its own document is there, and says complete
	docs          map[string]string
}

func (o *outcome) unlike(want outcome) string {
	more, less := 0, 0
	for k, v := range o.docs {
		if want.docs[k] != v {
			more++
		}
	}
	for k := range want.docs {
		if _, ok := o.docs[k]; !ok {
			less++
		}
	}
	return fmt.Sprintf("beside the winner's %d of others, without %d", more, less)
}

// outcomes are the documents of a prefix by run, part and kind.
func (c *trial) outcomes(t *testing.T) map[string]outcome {
	all := map[string]outcome{}
	for id, source := range c.es.documents(t, c.prefix) {
		var doc struct {
			Run struct{ ID, Part, Status string }
			Fio struct{ Kind string }
		}
		if err := json.Unmarshal([]byte(source), &doc); err != nil {
			t.Error(err)
		}
		key := fmt.Sprintf("run %q part %q %s", doc.Run.ID, doc.Run.Part, doc.Fio.Kind)
		o := all[key]
		if o.docs == nil {
			o.docs = map[string]string{}
		}
		o.docs[id] = source
		if strings.HasPrefix(id, "-run") {
			o.own, o.complete = true, doc.Run.Status == "complete"
		}
		all[key] = o
	}
	return all
}

// calmly guards outcomesOf, which trials at the same time use.
var calmly sync.Mutex

// leaves returns what undisturbed commands leave, the last of which may fail, and in how many blocks that one sends its
// requests. Nothing of the prefix is there before and after that.
func (c *trial) leaves(t *testing.T, k contest, commands ...[]string) (map[string]outcome, int) {
	key := c.which + strings.NewReplacer(c.prefix, "", c.out, "").Replace(fmt.Sprint(commands))
	calmly.Lock()
	defer calmly.Unlock()
	known, ok := outcomesOf[key]
	if !ok {
		for _, args := range commands {
			w := newWire(t, c.es.url)
			<-c.startWith(t, slowly(t, k.input, tenth), c.bin, c.over(w, args)...).ended
			known.blocks = w.count()
		}
		known.is = c.outcomes(t)
		outcomesOf[key] = known
		c.es.wipe(t, c.prefix)
		c.setup(t)
	}
	return known.is, known.blocks
}

var outcomesOf = map[string]struct {
	is     map[string]outcome
	blocks int
}{}

const tenth = 100 * time.Millisecond

// slowly returns the documents of a file, one at a time; nil without one.
func slowly(t *testing.T, file string, pause time.Duration) io.ReadCloser {
	if file == "" {
		return nil
	}
	stream, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	in, out := io.Pipe()
	t.Cleanup(func() { in.Close() })
	go func() {
		for _, doc := range bytes.SplitAfter(stream, []byte("\n}\n")) {
			if _, err := out.Write(doc); err != nil {
				return
			}
			time.Sleep(pause)
		}
		out.Close()
	}()
	return in
}

// losers make the contests of a command, given the folders of two hosts.
type losers func(t *testing.T, c *trial, parts [2]string) func(i int) contest

// settled is a complete run.
func (c *trial) settled() [][]string { return [][]string{c.ingestOf(one(c.logs)...)} }

// coarser is an ingest of that run with other settings. It makes fewer documents.
func (c *trial) coarser() []string { return c.ingestOf(one("--interval", "1s", c.logs)...) }

func ingestLoses(_ *testing.T, c *trial, _ [2]string) func(int) contest {
	return func(i int) contest {
		k := contest{loser: c.settled()[0], winner: c.coarser()}
		if i%4 == 3 {
			k.loser, k.winner = k.winner, k.loser
		}
		return k
	}
}

func mergeLoses(_ *testing.T, c *trial, parts [2]string) func(int) contest {
	part := func(n int, more ...string) []string {
		return c.ingestOf(one(append(more, "--part", strconv.Itoa(n), parts[n])...)...)
	}
	merge := func(percentiles string) []string {
		return c.command("merge", "--output", c.out, "--percentiles", percentiles, "one")
	}
	return func(i int) contest {
		k := contest{before: [][]string{part(0), part(1)}, loser: merge("50,99"), winner: merge("50,90")}
		if i%2 == 1 {
			k.winner = part(1, "--percentiles", "50,90")
		}
		return k
	}
}

func rollUpLoses(_ *testing.T, c *trial, _ [2]string) func(int) contest {
	return func(int) contest {
		return contest{before: c.settled(), loser: c.command("rollup", "--interval", "2s", "one"), winner: c.coarser()}
	}
}

func loadLoses(t *testing.T, c *trial, _ [2]string) func(int) contest {
	dir := c.out + ".load"
	args := append([]string{"ingest", "--index-prefix", c.prefix, "--output", dir}, c.args...)
	c.start(t, c.bin, append(args, one(c.logs)...)...).wait(t, 0)
	return func(int) contest { return contest{loser: c.command("load", dir), winner: c.coarser()} }
}

func deleteLoses(_ *testing.T, c *trial, _ [2]string) func(int) contest {
	return func(int) contest {
		return contest{before: c.settled(), loser: c.command("delete", "--yes", "one"), winner: c.coarser()}
	}
}

func liveLoses(_ *testing.T, c *trial, _ [2]string) func(int) contest {
	return func(int) contest {
		return contest{loser: c.live("2s", "-"), winner: c.live("4s", stream), input: stream}
	}
}

const stream = root + "/testdata/fio/live/fio-status.json"

// live follows a stream of status documents.
func (c *trial) live(interval, from string, more ...string) []string {
	args := []string{"--output", c.out, "--run-id", "one", "--run-name", "one", "--host", "h", "--interval", interval}
	return c.command("live", append(append(args, more...), from)...)
}

// ingestBeside is an ingest over a complete run, with another command beside it.
func ingestBeside(both bool, name string, args ...string) losers {
	return func(_ *testing.T, c *trial, _ [2]string) func(int) contest {
		return func(int) contest {
			return contest{before: c.settled(), loser: c.coarser(), winner: c.command(name, args...), both: both}
		}
	}
}

// liveBeside is a session over a complete run, or the one part of it, with another command beside it.
func liveBeside(both bool, name string, args ...string) losers {
	return func(_ *testing.T, c *trial, _ [2]string) func(int) contest {
		var part []string
		if name == "merge" {
			part = []string{"--part", "a"}
		}
		return func(int) contest {
			return contest{before: [][]string{c.live("4s", stream, part...)}, loser: c.live("2s", "-", part...),
				winner: c.command(name, args...), input: stream, both: both}
		}
	}
}
