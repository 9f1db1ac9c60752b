package main

import (
	"strings"
	"testing"

	"fiolat/internal/ui"
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

// TestProgramHelp: the help of the program says what the arguments of its commands are.
func TestProgramHelp(t *testing.T) {
	t.Parallel()
	help := programHelp(newApp(&ui.UI{}), 1000)
	for _, want := range []string{"PATH is a log", "DIR a directory of documents", "RUN a run in Elasticsearch"} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in\n%s", want, help)
		}
	}
}
