//go:build integration

package chaos

import (
	"maps"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mergeSlices merges two hosts' parts in 3, 8 and 1 slices at the same time, with other percentiles each time. One of
// them is killed at a random moment, and started again.
func mergeSlices(t *testing.T, c *trial) {
	parts := clusterParts(t)
	percentiles := func(i int) string { return []string{"50,99", "50,90"}[i%2] }
	ingests := func(c *trial) (all [][]string) {
		for n, dir := range parts {
			all = append(all, c.ingestOf("--run-id", "merged", "--part", strconv.Itoa(n), dir))
		}
		return all
	}
	merge := func(c *trial, i int, more ...string) []string {
		args := []string{"--output", c.out, "--percentiles", percentiles(i), "merged"}
		return c.command("merge", append(args, more...)...)
	}
	var wants [2]map[string]string
	for i := range wants {
		wants[i] = c.undisturbed(t, func(c *trial) [][]string { return append(ingests(c), merge(c, i)) })
	}
	took := c.took
	c.px.inject(nil)
	c.then = "the killed slice again"
	for _, args := range ingests(c) {
		c.start(t, c.bin, args...).wait(t, 0)
	}
	for i := range either(c.rig, 20, 1) {
		of := []int{3, 8, 1}[i%3]
		slices := make([]*program, of)
		slice := func(n int) *program {
			return c.start(t, c.bin, merge(c, i, "--slice", strconv.Itoa(n+1)+"/"+strconv.Itoa(of))...)
		}
		for n := range slices {
			slices[n] = slice(n)
		}
		victim := c.rand.IntN(of)
		time.Sleep(time.Duration(c.rand.Int64N(int64(took))))
		slices[victim].signal(t, syscall.SIGKILL, time.Minute)
		c.times++
		for n, p := range slices {
			if n != victim {
				p.wait(t, 0)
			}
		}
		if c.status(t) == "complete" { // it may have been killed while it deleted what slices tell each other
			docs := c.es.documents(t, c.prefix)
			maps.DeleteFunc(docs, func(_, doc string) bool {
				return strings.Contains(doc, `"scope":"extract `) || strings.Contains(doc, `"scope":"slice `)
			})
			if !maps.Equal(docs, wants[0]) && !maps.Equal(docs, wants[1]) {
				t.Error("the run says complete, and its documents are of no undisturbed one")
			}
		}
		slice(victim).wait(t, 0)
		c.checkOf(t, wants[i%2])
	}
	c.es.wipe(t, c.prefix)
}

// rollUpKilled rolls a run up; it is killed at a random moment, and started again.
func rollUpKilled(t *testing.T, c *trial) {
	commands := func(c *trial) [][]string {
		return [][]string{c.ingestArgs("--run-id", "rolled"),
			c.command("rollup", "--interval", "2s", "--coarseness", "2", "rolled")}
	}
	want := c.undisturbed(t, commands)
	took := c.took
	before := c.undisturbed(t, func(c *trial) [][]string { return commands(c)[:1] })
	c.then = "the same command again"
	for range either(c.rig, 20, 1) {
		c.px.inject(nil)
		all := commands(c)
		c.start(t, c.bin, all[0]...).wait(t, 0)
		p := c.start(t, c.bin, all[1]...)
		time.Sleep(time.Duration(c.rand.Int64N(int64(took))))
		p.signal(t, syscall.SIGKILL, time.Minute)
		c.times++
		c.honestly(t, before, want)
		c.start(t, c.bin, all[1]...).wait(t, 0)
		c.checkOf(t, want)
		c.es.wipe(t, c.prefix)
		c.setup(t)
	}
}
