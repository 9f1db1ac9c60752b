package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// TestUnmeasured: logs with I/Os of which fio's JSON issued some and measured none are another run's.
func TestUnmeasured(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		issued, mixed uint64
		warned        int
	}{
		{"issued, not measured", "fio-3.33", 10, 0, 1},
		{"neither", "fio-3.33", 0, 0, 1},
		{"fio 2 counts none", "fio-2.20", 10, 0, 0},
		{"of all directions together", "fio-3.33", 10, 10, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &fiojson.Entry{JobName: "a"}
			e.Dirs[fio.Read].TotalIOs, e.Mixed.TotalIOs = tc.issued, tc.mixed
			log := LogCount{Meta: &fiojson.Document{Version: tc.version}, Entry: e}
			log.IOs[fio.Read] = 5
			var a Account
			var warnings []string
			a.Compare(&Run{Kind: fio.Clat}, []LogCount{log},
				func(*fiojson.Entry, fio.Direction) (restored, lost float64) { return 0, 0 },
				func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) })
			if len(warnings) != tc.warned {
				t.Errorf("warnings %q", warnings)
			}
			if want := 5 * float64(tc.warned); a.Excess != want {
				t.Errorf("%v I/Os too many, want %v", a.Excess, want)
			}
		})
	}
}

// TestByDirection: what jobs miss and what they have more do not make up for each other, and nothing is added.
func TestByDirection(t *testing.T) {
	t.Parallel()
	got := ByDirection([]JobAccount{{Direction: "read", Logged: 10, Counted: 10}, {Direction: "read", Logged: 7,
		Counted: 10, Missing: 3, Restored: 2, NotPlaced: 1}, {Direction: "read", Logged: 12, Counted: 10, Missing: -2},
		{Direction: "write", Logged: 5, Counted: 5}})
	want := []DirectionAccount{{Direction: "read", Logged: 29, Counted: 30, Missing: 3, Excess: 2, Restored: 2,
		NotPlaced: 1}, {Direction: "write", Logged: 5, Counted: 5}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
