//go:build integration

package chaos

import (
	"syscall"
	"testing"
	"time"
)

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
