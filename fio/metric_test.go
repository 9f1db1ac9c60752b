package fio

import (
	"strings"
	"testing"
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
