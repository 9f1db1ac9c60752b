package fio

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Metric{
		"read p99":    {"read", "p99", 99},
		"P99.90":      {"all", "p99.9", 99.9},
		" write  max": {"write", "max", 0},
		"iops":        {"all", "iops", 0},
		"sync p99_9":  {"sync", "p99.9", 99.9},
	} {
		if got, err := ParseMetric(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "read", "p0", "p100", "pNaN", "p99 p99", "reads p99", "99"} {
		if got, err := ParseMetric(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, c := range []struct {
		text, want string
		met, not   float64
	}{
		{"read p99 < 1ms", "read p99 < 1ms", 999999, 1e6},
		{"read p99<=1 ms", "read p99 <= 1ms", 1e6, 1e6 + 1},
		{"p99.9 < 1500us", "all p99.9 < 1.5ms", 1.4e6, 1.6e6},
		{"iops >= 10000", "all iops >= 10000", 10000, 9999},
		{"sync max > 10 ms", "sync max > 10ms", 1.1e7, 1e7},
	} {
		r, err := ParseRule(c.text)
		if err != nil || r.Text != c.want || !r.Met(c.met) || r.Met(c.not) {
			t.Errorf("%q: %+v, %v, want %q, which %g meets and %g does not", c.text, r, err, c.want, c.met, c.not)
		}
	}
	for text, want := range map[string]string{
		"read p99":         "METRIC < VALUE",
		"read p99 < 1":     "with its unit",
		"read p99 < -1ms":  "with its unit",
		"iops > 10k":       "want a number",
		"latency < 1ms":    "want [read|",
		"read p99 == 1ms":  "METRIC < VALUE",
		"read p99 < 1ms s": "with its unit",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestParseSLARule: over is of latencies alone, for of all.
func TestParseSLARule(t *testing.T) {
	for text, want := range map[string]SLARule{
		"read p99 < 5ms":                  {Over: defaultOver},
		"read mean < 5ms over 1m":         {Over: time.Minute},
		"iops >= 10 for 3":                {Over: defaultOver, For: 3},
		"p50<=1 ms over 30s for 1 m":      {Over: 30 * time.Second, Lasting: time.Minute},
		"max < 1s for 1 interval over 2m": {Over: 2 * time.Minute, For: 1},
	} {
		r, err := ParseSLARule(text)
		if err != nil || r.Over != want.Over || r.For != want.For || r.Lasting != want.Lasting {
			t.Errorf("%q: %+v, %v, want %+v", text, r, err, want)
		}
	}
	for text, want := range map[string]string{
		"iops >= 10 over 1m":        "over applies to latencies only",
		"p99 < 5ms over 1m over 1m": "repeated",
		"p99 < 5ms over 25h":        "up to 24h",
		"iops >= 0":                 "above 0",
		"p99 < 5ms for 0":           "want a number of intervals",
		"p99 < 5ms until 3":         "want a duration",
	} {
		if r, err := ParseSLARule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, r, err, want)
		}
	}
}
