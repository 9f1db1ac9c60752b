package pipeline

import (
	"fmt"
	"slices"
)

// Defaults returns the settings that hold where the command line says nothing. There is no default interval.
func Defaults() Settings {
	return Settings{Grid: "run", Align: "overlap", RecordTime: "end", By: []string{"direction"},
		Percentiles: []float64{50, 90, 95, 99, 99.9}, Coarseness: -1, Repair: "auto", Restore: true}
}

// Check returns an error about the first setting whose value does not exist, as in Settings that were not made by
// Defaults.
func (s *Settings) Check() error {
	for _, f := range []struct {
		name, value string
		known       []string
	}{
		{"Grid", s.Grid, []string{"run", "epoch"}},
		{"Align", s.Align, []string{"overlap", "inflight"}},
		{"RecordTime", s.RecordTime, []string{"end", "start"}},
		{"Repair", s.Repair, []string{"auto", "yes", "no"}},
	} {
		if !slices.Contains(f.known, f.value) {
			return fmt.Errorf("settings: %s is %q: want one of %q; begin with Defaults()", f.name, f.value, f.known)
		}
	}
	return nil
}
