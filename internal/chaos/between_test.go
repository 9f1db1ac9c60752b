//go:build integration

package chaos

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// gate passes the requests of one command on to the server, and numbers them from 1.
type gate struct {
	px *proxy
	// on is called before each request and returns what becomes of it: "busy" is a 503, "cut" a connection that is
	// reset before the request is passed on, "lost" after that, else nothing.
	on func(n int, body []byte) string

	mu sync.Mutex
	n  int
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reset(w)
		return
	}
	g.mu.Lock()
	g.n++
	n := g.n
	g.mu.Unlock()
	fault := ""
	if g.on != nil {
		fault = g.on(n, body)
	}
	switch fault {
	case "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case "cut":
		reset(w)
		return
	}
	res, err := g.px.up.RoundTrip(g.px.request(r, body))
	if err != nil {
		reset(w)
		return
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err != nil || fault == "lost" {
		reset(w)
		return
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	w.Write(reply)
}

// through starts a command whose requests pass a gate.
func (c *trial) through(t *testing.T, g *gate, args []string) *program {
	g.px = c.px
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	var out []string
	for _, arg := range args {
		if arg == c.px.url() {
			arg = srv.URL
		}
		out = append(out, arg)
	}
	return c.start(t, c.bin, out...)
}

// between has another process ingest the run of a command, with the same or with other settings: it begins before one
// request of the command, and that request or one soon after meets a temporary fault. What says complete in the end has
// exactly the documents that undisturbed commands leave, and what one has completed the other has not undone.
func between(times int, of func(t *testing.T, c *trial) contest, interrupted ...string) func(*testing.T, *trial) {
	return func(t *testing.T, c *trial) {
		c.px.inject(nil)
		c.then = "the run itself"
		requests := 0
		k := of(t, c)
		prepare := func() {
			for _, args := range k.before {
				c.start(t, c.bin, args...).wait(t, 0)
			}
			if interrupted == nil {
				return
			}
			var p *program
			started := make(chan bool)
			p = c.through(t, &gate{on: func(_ int, body []byte) string { // all is counted
				if <-started; bytes.Contains(body, []byte(`{"delete":`)) {
					p.cmd.Process.Kill()
					return "cut"
				}
				return ""
			}}, c.command(interrupted[0], interrupted[1:]...))
			close(started)
			<-p.ended
		}
		same, others := c.settled()[0], c.coarser()
		if k.winner != nil {
			same, others = k.winner, k.winner
		}
		want := map[string][]outcome{}
		for _, order := range [][][]string{{}, {k.loser}, {same}, {others}, {k.loser, same}, {k.loser, others},
			{same, k.loser}, {others, k.loser}} {
			prepare()
			for i, args := range order {
				g := &gate{}
				<-c.through(t, g, args).ended
				if len(order) == 1 && requests == 0 && i == 0 {
					requests = g.n
				}
			}
			for run, o := range c.outcomes(t) {
				want[run] = append(want[run], o)
			}
			c.es.wipe(t, c.prefix)
			c.setup(t)
		}
		for i := range either(c.rig, times, 2) {
			prepare()
			rival := [][]string{same, others}[i%2]
			fault := []string{"busy", "cut", "lost"}[c.rand.IntN(3)]
			faultAt := 1 + c.rand.IntN(requests)
			at := max(faultAt-c.rand.IntN(5), 1)
			var b *program
			a := c.through(t, &gate{on: func(n int, _ []byte) string {
				if n == at {
					b = c.start(t, c.bin, rival...)
					if i/2%2 == 0 {
						<-b.ended
					}
				}
				if n == faultAt {
					return fault
				}
				return ""
			}}, k.loser)
			<-a.ended
			if b == nil {
				b = c.start(t, c.bin, rival...)
			}
			<-b.ended
			bad, complete := "", 0
			for run, o := range c.outcomes(t) {
				if !o.complete {
					continue
				}
				complete++
				c.made += len(o.docs)
				known := false
				for _, w := range want[run] {
					known = known || w.complete && maps.Equal(w.docs, o.docs)
				}
				if !known {
					bad += fmt.Sprintf("%s is complete, and its %d documents are of no undisturbed command\n", run, len(o.docs))
				}
			}
			deleted := a.code == 0 && k.loser[0] == "delete"
			if complete == 0 && !deleted && (a.code == 0 || b.code == 0) || a.code != 0 && b.code != 0 {
				bad += "nothing is complete, or neither ended well\n"
			}
			t.Logf("%s at request %d of %d, the other one before %d: exit %d and %d", fault, faultAt, requests, at, a.code,
				b.code)
			if bad != "" {
				t.Errorf("%scommand:\n%s\nthe other one:\n%s", bad, a.said(), b.said())
			}
			c.times++
			c.es.wipe(t, c.prefix)
			c.setup(t)
		}
		c.found = c.made
	}
}

// Commands that read a run and then write or delete documents of it.
func deletes(_ *testing.T, c *trial) contest {
	return contest{before: c.settled(), loser: c.command("delete", "--yes", "one")}
}

func rollsUp(_ *testing.T, c *trial) contest {
	return contest{before: c.settled(), loser: c.command("rollup", "--interval", "2s", "one")}
}

func commits(_ *testing.T, c *trial) contest {
	return contest{before: [][]string{c.coarser()}, loser: c.settled()[0]}
}

func labels(_ *testing.T, c *trial) contest {
	return contest{before: c.settled(), loser: c.command("label", "one", "tier=fast")}
}

func loads(t *testing.T, c *trial) contest {
	k := loadLoses(t, c, [2]string{})(0)
	return contest{before: c.settled(), loser: k.loser}
}

func merges(t *testing.T, c *trial) contest {
	return mergeLoses(t, c, clusterParts(t))(1)
}
