//go:build integration

package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"
)

// race is ingests of one run, or of one part of it, at once.
type race struct {
	ingests    [][]string      // of ingestOf
	mishap     func(r *rivals) // while they are at work; nil is none
	apart      bool            // the first as if on another host
	serverless bool            // the server is away for a while: all may give up, and spool
}

// racing makes the i-th race of a trial.
type racing func(c *trial, i int) race

// yielded is what a program says that has left the run to the other.
var yielded = regexp.MustCompile("has it now|by something else meanwhile")

type rivals struct {
	t   *testing.T
	c   *trial
	all []*program
}

const (
	other      = root + "/testdata/fio/exact"
	hosts      = root + "/testdata/fio/cluster" // logs that name their hosts
	otherHosts = root + "/testdata/fio/kinds"
)

// All are of one run, or of one part of it, so that each race finds the documents of the one
// before, to be replaced. The name is given, for else an ingest keeps that of the one before.
func one(args ...string) []string {
	return append([]string{"--run-id", "one", "--run-name", "one"}, args...)
}

func sameLogs(n int) racing {
	return func(c *trial, _ int) race { return race{ingests: slices.Repeat([][]string{one(c.logs)}, n)} }
}

func otherSettings(n int) racing {
	return func(c *trial, _ int) race {
		r := race{ingests: [][]string{one(c.logs)}}
		for seconds := range n - 1 {
			r.ingests = append(r.ingests, one("--interval", fmt.Sprintf("%ds", seconds+1), c.logs))
		}
		return r
	}
}

func otherLogs(c *trial, _ int) race { return race{ingests: [][]string{one(c.logs), one(other)}} }

func onePart(*trial, int) race {
	return race{ingests: [][]string{one("--part", "a", hosts), one("--part", "a", otherHosts)}}
}

func oneKilled(c *trial, i int) race {
	p := []racing{otherSettings(2), otherLogs}[i/2%2](c, i)
	p.apart = i%2 == 1
	p.mishap = func(r *rivals) {
		time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))))
		victim := 0
		if !p.apart {
			victim = c.rand.IntN(2)
		}
		r.all[victim].cmd.Process.Kill()
	}
	return p
}

func serverKilled(c *trial, i int) race {
	p := []racing{otherSettings(2), otherLogs}[i%2](c, i)
	const patient = "--max-wait=20m"
	for n, args := range p.ingests {
		p.ingests[n] = append([]string{patient}, args...)
	}
	p.serverless = true
	p.mishap = func(r *rivals) {
		time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))))
		c.es.kill(r.t)
		c.es.up(r.t)
	}
	return p
}

// races are ingests that begin at random distances. A run that says complete has exactly the documents of an
// undisturbed ingest of the last that ended well. Then one that lost, or was killed, is run again, and it is that one's
// documents.
func races(times int, kind racing) func(*testing.T, *trial) {
	return func(t *testing.T, c *trial) {
		var before map[string]string
		for i := range either(c.rig, times, 1) {
			k := kind(c, i)
			var wants []map[string]string
			for _, args := range k.ingests {
				alone := func(c *trial) [][]string { return [][]string{c.ingestOf(args...)} }
				wants = append(wants, c.undisturbed(t, alone))
			}
			c.px.inject(nil)
			r := &rivals{t: t, c: c}
			for n, args := range k.ingests {
				if n > 0 {
					time.Sleep(time.Duration(c.rand.Int64N(int64(c.took))) / time.Duration(len(k.ingests)-1))
				}
				program, args := c.bin, c.ingestOf(args...)
				if k.apart && n == 0 {
					program = "unshare"
					args = append([]string{"--map-root-user", "--pid", "--fork", "--kill-child", c.bin}, args...)
				}
				r.all = append(r.all, c.start(t, program, args...))
			}
			if k.mishap != nil {
				k.mishap(r)
			}
			well, winner, said := 0, -1, ""
			for n, p := range r.all {
				<-p.ended
				said += p.said() + "\n"
				switch {
				case p.code == 0:
					well++
					if winner < 0 || p.at.After(r.all[winner].at) {
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
			case status == "complete": // of whoever was killed after that, or of the race before
				c.honestly(t, append(wants, before)...)
			case k.mishap == nil:
				t.Errorf("%d of %d ended well, and the run says %q", well, len(r.all), status)
			}
			if well == 0 && k.mishap == nil {
				t.Errorf("none of %d ended well:\n%s", len(r.all), said)
			}
			c.times++
			c.good += well
			loser := (winner + 1) % len(r.all)
			c.then = "the same command again"
			c.start(t, c.bin, c.ingestOf(k.ingests[loser]...)...).wait(t, 0)
			c.checkOf(t, wants[loser])
			if before = wants[loser]; t.Failed() {
				break
			}
		}
		c.es.wipe(t, c.prefix)
	}
}
