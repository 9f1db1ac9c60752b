package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fiolat/fio"
)

// TestAllow: a run that is spread over more than ten times its own length is asked for, before
// anything of it is passed on.
func TestAllow(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for _, tt := range []struct {
		name      string
		second    string // name of the second log; the first is of host a
		offset    time.Duration
		answer    error
		asked     bool
		intervals int64
	}{
		{"together", "x_clat_hist.1.log.b", 0, no, false, 0},
		{"nine times as late", "x_clat_hist.1.log.b", 180 * time.Second, no, false, 0},
		{"twelve times as late, allowed", "x_clat_hist.1.log.b", 240 * time.Second, nil, true, 241},
		{"twelve times as late", "x_clat_hist.1.log.b", 240 * time.Second, no, true, 241},
		{"months late", "x_clat_hist.1.log.b", 2500 * time.Hour, no, true, 2500*3600 + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, name := range []string{"x_clat_hist.1.log.a", tt.second} {
				if err := os.WriteFile(filepath.Join(dir, name), made(t, uint64(i), 20), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			asked := int64(0)
			cfg := Config{Settings: fio.Defaults(), Allow: func(intervals, usual int64) error {
				if asked = intervals; usual < 15 || usual > 22 {
					t.Errorf("%d quanta are usual, want about 20", usual)
				}
				return tt.answer
			}}
			cfg.Settings.Interval, cfg.Settings.Repair = time.Second, "no"
			cfg.Settings.Offsets = map[string]time.Duration{"b": tt.offset}
			got, err := process(t, cfg, dir)
			switch {
			case (asked > 0) != tt.asked:
				t.Errorf("asked for %d quanta", asked)
			case tt.asked && (asked < tt.intervals || asked > tt.intervals+22):
				t.Errorf("asked for %d quanta, want about %d", asked, tt.intervals)
			case tt.asked && tt.answer != nil && (!errors.Is(err, no) || got != nil && got.Run != nil):
				t.Errorf("error %v after a no, and the sink was given %v", err, got)
			case (!tt.asked || tt.answer == nil) && err != nil:
				t.Error(err)
			}
		})
	}
}

// TestAllowDayApart: hosts a day apart by their JSON are asked for, too.
func TestAllowDayApart(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, tt := range map[string]struct {
		apart time.Duration
		asked bool
	}{"together": {0, false}, "a day apart": {24 * time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, host := range []string{"a", "b"} {
				folder := filepath.Join(dir, "clients", host)
				start := 1795311771763 + int64(i)*(1+tt.apart.Milliseconds())
				json := fmt.Sprintf(`{"fio version":"fio-3.42","jobs":[{"jobname":"x","job_start":%d,`+
					`"job options":{"write_hist_log":"x","log_hist_msec":"1000"}}]}`, start)
				if err := errors.Join(os.MkdirAll(folder, 0o700),
					os.WriteFile(filepath.Join(folder, "x_clat_hist.1.log"), made(t, uint64(i), 20), 0o600),
					os.WriteFile(filepath.Join(folder, "fio.json"), []byte(json), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			asked := int64(0)
			cfg := Config{Settings: fio.Defaults(), Allow: func(intervals, _ int64) error {
				asked = intervals
				return no
			}}
			cfg.Settings.Interval, cfg.Settings.Repair = time.Second, "no"
			if _, err := process(t, cfg, dir); errors.Is(err, no) != tt.asked || err != nil && !tt.asked {
				t.Errorf("error %v", err)
			}
			if tt.asked && asked < 24*3600 {
				t.Errorf("asked for %d quanta", asked)
			}
		})
	}
}
