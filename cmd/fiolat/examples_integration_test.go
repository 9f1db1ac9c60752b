//go:build integration

package main

import (
	"testing"

	"fiolat/internal/testkit"
)

// TestExampleParallel runs examples/merge-parallel.sh with GNU parallel on this machine.
func TestExampleParallel(t *testing.T) {
	testkit.NotRaced(t)
	w := newWorkers(t, "merge-parallel.sh")
	w.run(t, "", "bash", "-c", w.text)
	w.check(t)
}
