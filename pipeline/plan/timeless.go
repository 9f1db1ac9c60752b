package plan

import (
	"slices"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
)

// timeless returns an error for settings that need the times of I/Os. Of a run of which there is only fio's JSON, the
// whole run is one interval.
func timeless(in *ingest.Input, cfg *Config) error {
	if flag := cfg.timed(); flag != "" {
		return pipeline.NoTimes(flag+": "+in.Root, "leave out what needs times: the whole run is one interval")
	}
	return nil
}

// timed returns the first flag that was given and needs the times of I/Os; "" without any.
func (cfg *Config) timed() string {
	s := &cfg.Settings
	for _, of := range []struct {
		given bool
		flag  string
	}{
		{s.Interval != 0 || cfg.Accuracy != 0, "--interval"},
		{cfg.Pick.Timed(), "--from and --to"},
		{len(cfg.Pick.Logs) > 0, "--only log="},
		{cfg.Part != "", "--part"},
		{s.Grid == fio.GridEpoch, "--grid epoch"},
		{slices.Contains(s.By, fio.ByLog) && !cfg.LeavesOnly, "--by log"},
		{!s.Restore, "--no-restore"},
	} {
		if of.given {
			return of.flag
		}
	}
	return ""
}
