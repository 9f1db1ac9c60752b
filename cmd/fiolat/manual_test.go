package main

import (
	"strings"
	"testing"
)

// TestExamples: what is broken over lines is one command for the shell, with its quotes whole.
func TestExamples(t *testing.T) {
	t.Parallel()
	p := printer{width: 40}
	p.examples("fiolat a b\nfiolat ingest --run-name 'osd 12 down' --label ceph=19.2 runs/today      one run")
	const want = `
  fiolat a b
  fiolat ingest --run-name \
      'osd 12 down' --label ceph=19.2 \
      runs/today
      one run
`
	if got := p.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for line := range strings.Lines(want) {
		if len(line) > 41 {
			t.Errorf("%q is longer than 40", line)
		}
	}
}
