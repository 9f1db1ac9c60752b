package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
)

// TestFine: the default interval of commands that print is the logs' own where whole seconds are fewer than 60.
func TestFine(t *testing.T) {
	for _, tc := range []struct {
		name   string
		h, end int // ms
		change func(*Config)
		want   time.Duration
	}{
		{"short", 500, 59_000, nil, 500 * time.Millisecond},
		{"60 s", 500, 60_000, nil, time.Second},
		{"long", 250, 90_000, nil, time.Second},
		{"at least 100 ms", 20, 5_000, nil, 100 * time.Millisecond},
		{"whole seconds", 2000, 20_000, nil, 2 * time.Second},
		{"59 of 2 s", 2400, 117_600, nil, 2400 * time.Millisecond},
		{"60 of 2 s", 2400, 120_000, nil, 2 * time.Second},
		{"documents", 500, 20_000, func(c *Config) { c.Fine = false }, time.Second},
		{"a part", 500, 20_000, func(c *Config) { c.Part, c.RunID = "a", "r" }, time.Second},
		{"rules", 500, 20_000, func(c *Config) {
			c.Settings.SLA, _ = fio.ParseSLARules([]string{"read p99 < 1s"})
		}, time.Second},
		{"given", 500, 20_000, func(c *Config) { c.Settings.Interval = 3 * time.Second }, 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log strings.Builder
			for at := tc.h; at <= tc.end; at += tc.h {
				fmt.Fprintf(&log, "%d, 0, 4096%s\n", at, strings.Repeat(", 3", 29))
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a_clat_hist.1.log"), []byte(log.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{Kind: fio.Clat})
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Settings: fio.Defaults(), Fine: true}
			cfg.Settings.LogHistMsec = int64(tc.h)
			if tc.change != nil {
				tc.change(&cfg)
			}
			p, err := Prepare(t.Context(), ins[0], cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if got := time.Duration(p.Run.Interval); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
