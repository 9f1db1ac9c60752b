package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
)

func TestFioCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line     string
		interval time.Duration
		want     string
		step     time.Duration
		err      string
	}{
		{"fio job.fio", 0, "fio --output-format=normal,json+ --status-interval=1000ms job.fio", time.Second, ""},
		{"fio job.fio", 200 * time.Millisecond, "fio --output-format=normal,json+ --status-interval=200ms job.fio",
			200 * time.Millisecond, ""},
		{"fio job.fio", 10 * time.Second, "fio --output-format=normal,json+ --status-interval=1000ms job.fio",
			time.Second, ""},
		{"/opt/fio --status-interval=5 job.fio", 0, "/opt/fio --output-format=normal,json+ --status-interval=5 job.fio",
			5 * time.Second, ""},
		{"fio --status-interval 2s job.fio", 0, "fio --output-format=normal,json+ --status-interval 2s job.fio",
			2 * time.Second, ""},
		{"fio --output-format=json+ job.fio", 0, "fio --status-interval=1000ms --output-format=json+ job.fio",
			time.Second, ""},
		{"fio --output-format json,terse job.fio", 0, "", 0, "needs json+"},
		{"fio --output=f job.fio", 0, "", 0, "--follow FILE"},
		{"fio -o f job.fio", 0, "", 0, "--follow FILE"},
		{"fio --minimal job.fio", 0, "", 0, "minimal"},
		{"fio --client=h job.fio", 0, "", 0, "nothing before its end"},
		{"fio --status-interval=often job.fio", 0, "", 0, "want a time"},
	} {
		got, step, err := fioCommand(strings.Fields(tc.line), tc.interval)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) || !errors.As(err, new(*fio.UsageError)) {
				t.Errorf("%s: %v, want %q", tc.line, err, tc.err)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != tc.want || step != tc.step {
			t.Errorf("%s: %q, %v, %v", tc.line, got, step, err)
		}
	}
}

// TestSplit: of what fio prints the documents go one way, and the other way all else,
// of its reports the last one.
func TestSplit(t *testing.T) {
	t.Parallel()
	report := func(n int) string {
		return fmt.Sprintf("\nx: (groupid=0, jobs=1): err= 0: pid=%d\n  read: IOPS=1\n\nRun status group 0 (all "+
			"jobs):\n   READ: %d\n", n, n)
	}
	text := "x: (g=0): rw=read\nfio-3.33\nStarting 1 process\n\n{\n  \"a\" : {\n  }\n}\n" + report(1) +
		"{\n1\n}\nfio: warned\n" + report(2) + "fio: terminating on signal 2\n{\n2\n}\n" + report(3)
	var documents, said strings.Builder
	say := func(l string) { said.WriteString(l + "\n") }
	if err := splitOutput(strings.NewReader(text), &documents, say); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\" : {\n  }\n}\n{\n1\n}\n{\n2\n}\n"; documents.String() != want {
		t.Errorf("documents %q", documents.String())
	}
	if want := "x: (g=0): rw=read\nfio-3.33\nStarting 1 process\n\nfio: warned\nfio: terminating on signal 2\n" +
		strings.TrimPrefix(report(3), "\n"); said.String() != want {
		t.Errorf("said %q", said.String())
	}
}

// endless is a line of so many bytes without an end.
type endless int

func (e *endless) Read(p []byte) (int, error) {
	if *e <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), int(*e))
	for i := range p[:n] {
		p[i] = 'x'
	}
	*e -= endless(n)
	return n, nil
}

// TestLongLines: lines without an end are read to it, and only their starts are kept.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const size = 200 << 20
	var said []string
	say := func(line string) { said = append(said, line) }
	in := endless(size)
	relay(io.MultiReader(strings.NewReader("one\n\n"), &in), say)
	if len(said) != 3 || said[0] != "one" || said[1] != "" || len(said[2]) != maxPrinted+3 || in != 0 {
		t.Errorf("%d lines, %d bytes left", len(said), in)
	}
	said, in = nil, size
	var documents strings.Builder
	err := splitOutput(io.MultiReader(strings.NewReader("{\n"), &in), &documents, say)
	if err == nil || !strings.Contains(err.Error(), "a line of more than 1048576 bytes") || documents.Len() != 2 ||
		in != 0 {
		t.Errorf("%v, %d bytes of documents, %d left", err, documents.Len(), in)
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"":         nil,
		"▁▁▁":      {1000, 1000, 1000},
		"▁·█":      {1000, math.NaN(), 1e6},
		"▁▂▃▄▅▆▇█": {1, 2, 4, 8, 16, 32, 64, 128},
		"▁▅":       {1000, 1415}, // half of the factor of two that is the least
	} {
		if got := sparkline(values); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}
