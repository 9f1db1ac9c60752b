//go:build integration

package chaos

import (
	"regexp"
	"testing"
	"time"
)

// pair is two ingests of one run, or of one part of it, at once.
type pair struct {
	first, second []string        // of ingestOf
	mishap        func(p *rivals) // while they are at work; nil is none
	apart         bool            // the first as if on another host
	serverless    bool            // the server is away for a while: both may give up, and spool
}

// yielded is what a program says that has left the run to the other.
var yielded = regexp.MustCompile("has it now|by something else meanwhile")

type rivals struct {
	t    *testing.T
	c    *trial
	both [2]*program
}

const (
	other      = root + "/testdata/fio/exact"
	hosts      = root + "/testdata/fio/cluster" // logs that name their hosts
	otherHosts = root + "/testdata/fio/kinds"
)

// All are of one run, or of one part of it, so that each pair finds the documents of the one
// before, to be replaced. The name is given, for else an ingest keeps that of the one before.
func one(args ...string) []string {
	return append([]string{"--run-id", "one", "--run-name", "one"}, args...)
}

func sameLogs(c *trial, _ int) pair { return pair{first: one(c.logs), second: one(c.logs)} }

func otherSettings(c *trial, _ int) pair {
	return pair{first: one(c.logs), second: one("--interval", "1s", c.logs)}
}

func otherLogs(c *trial, _ int) pair { return pair{first: one(c.logs), second: one(other)} }

func onePart(*trial, int) pair {
	return pair{first: one("--part", "a", hosts), second: one("--part", "a", otherHosts)}
}

func oneKilled(c *trial, i int) pair {
	p := []func(*trial, int) pair{otherSettings, otherLogs}[i/2%2](c, i)
	p.apart = i%2 == 1
	p.mishap = func(r *rivals) {
		time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))))
		victim := 0
		if !p.apart {
			victim = c.rand.IntN(2)
		}
		r.both[victim].cmd.Process.Kill()
	}
	return p
}

func serverKilled(c *trial, i int) pair {
	p := []func(*trial, int) pair{otherSettings, otherLogs}[i%2](c, i)
	const patient = "--max-wait=20m"
	p.first, p.second = append([]string{patient}, p.first...), append([]string{patient}, p.second...)
	p.serverless = true
	p.mishap = func(r *rivals) {
		time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))))
		c.es.kill(r.t)
		c.es.up(r.t)
	}
	return p
}

// pairs are two ingests at random distances. A run that says complete has exactly the
// documents of an undisturbed ingest of the last that ended well. Then the loser, or who was
// killed, is run again, and it is that one's documents.
func pairs(times int, kind func(c *trial, i int) pair) func(*testing.T, *trial) {
	return func(t *testing.T, c *trial) {
		var before map[string]string
		for i := range either(c.rig, times, 1) {
			k := kind(c, i)
			settings := [2][]string{k.first, k.second}
			var wants [2]map[string]string
			for n := range settings {
				wants[n] = c.undisturbed(t, func(c *trial) [][]string { return [][]string{c.ingestOf(settings[n]...)} })
			}
			c.px.inject(nil)
			r := &rivals{t: t, c: c}
			for n := range settings {
				if k.apart && n == 0 {
					args := append(
						[]string{"--map-root-user", "--pid", "--fork", "--kill-child", c.bin},
						c.ingestOf(settings[n]...)...)
					r.both[n] = c.start(t, "unshare", args...)
				} else {
					r.both[n] = c.start(t, c.bin, c.ingestOf(settings[n]...)...)
				}
				if n == 0 {
					time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))))
				}
			}
			if k.mishap != nil {
				k.mishap(r)
			}
			well, winner := 0, -1
			for n, p := range r.both {
				<-p.ended
				switch {
				case p.code == 0:
					well++
					if winner < 0 || p.at.After(r.both[winner].at) {
						winner = n
					}
				case p.code == 1 && (yielded.MatchString(p.said()) || k.serverless && finishing.MatchString(p.said())):
				case p.code != -1 && p.code != 137 || k.mishap == nil:
					t.Errorf("exit %d:\n%s", p.code, p.said())
				}
			}
			status := c.status(t)
			switch {
			case status == "complete" && winner >= 0:
				c.honestly(t, wants[winner])
			case status == "complete": // of whoever was killed after that, or of the pair before
				c.honestly(t, wants[0], wants[1], before)
			case k.mishap == nil:
				t.Errorf("%d of two ended well, and the run says %q", well, status)
			}
			if well == 0 && k.mishap == nil {
				t.Errorf("none of two ended well:\n%s\n%s", r.both[0].said(), r.both[1].said())
			}
			c.times++
			c.good += well
			loser := 0
			if winner == 0 {
				loser = 1
			}
			c.then = "the same command again"
			p := c.start(t, c.bin, c.ingestOf(settings[loser]...)...)
			p.wait(t, 0)
			c.checkOf(t, wants[loser])
			if before = wants[loser]; t.Failed() {
				break
			}
		}
		c.es.wipe(t, c.prefix)
	}
}
