package main

import (
	"encoding/xml"
	"testing"
)

// TestJUnit: each rule is a test case of its own, and the exit codes are the same.
func TestJUnit(t *testing.T) {
	t.Parallel()
	dirs, err := writeNights(t.TempDir(), 16, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name                     string
		args                     []string
		code                     int
		tests, failures, skipped int
		first                    string // name of the first test case
	}{
		{"rules of a run", []string{"percentiles", "--sla", "read p99 < 5ms", "--sla", "write p99 < 10us",
			real + "/randrw"},
			exitOK, 2, 1, 0, "read p99 < 5ms"},
		{"the whole run", []string{"percentiles", "--interval", "run", "--sla", "read p99 < 1us", "--fail-on-sla",
			real + "/randrw"}, exitSLA, 1, 1, 0, "read p99 < 1us"},
		{"no such I/O", []string{"percentiles", "--sla", "trim p99 < 1ms", real + "/randrw"}, exitOK, 1, 0, 1,
			"trim p99 < 1ms"},
		{"compared", []string{"compare", "--run-noise", "0%", "--fail-if", "read p50 +10%", "--fail-if",
			"read p50 +1000%",
			dirs[0], dirs[18]}, exitCompare, 2, 1, 0, "fail if read p50 +10%"},
		{"alike", []string{"compare", "--run-noise", "0%", "--fail-if", "read p50 +10%", dirs[0], dirs[1]}, exitOK, 1,
			0, 0,
			"fail if read p50 +10%"},
		{"a series", append([]string{"history", "--metric", "read p50", "--metric", "read iops", "--fail-if-changed",
			"3"},
			dirs...), exitCompare, 2, 1, 0, "read p50"},
		{"too short a series", append([]string{"history", "--metric", "read p50", "--fail-if-changed", "3"},
			dirs[:4]...),
			exitOK, 1, 0, 1, "read p50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := fiolat(t, nil, append(tt.args, "--format", "junit")...)
			var suite junitSuite
			if err := xml.Unmarshal([]byte(stdout), &suite); err != nil {
				t.Fatalf("%v\n%s%s", err, stdout, stderr)
			}
			if code != tt.code || suite.Tests != tt.tests || suite.Failures != tt.failures ||
				suite.Skipped != tt.skipped ||
				len(suite.Cases) != tt.tests || suite.Cases[0].Name != tt.first {
				t.Errorf("exit %d, want %+v\n%s%s", code, tt, stdout, stderr)
			}
		})
	}
	for _, args := range [][]string{{"compare", dirs[0], dirs[1]}, {"history", dirs[0]}, {"percentiles", dirs[0]}} {
		if code, stdout, _ := fiolat(t, nil, append(args, "--format", "junit")...); code != exitUsage || stdout != "" {
			t.Errorf("%v, no rules: exit %d\n%s", args, code, stdout)
		}
	}
}
