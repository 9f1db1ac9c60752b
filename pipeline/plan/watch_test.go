package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/testkit"
)

// TestWatchReal: through the whole pipeline the verdicts are those on the rows, with
// one worker and with many, and where intervals leave early.
func TestWatchReal(t *testing.T) {
	t.Parallel()
	var first []string
	for _, v := range []struct{ workers, hold int }{{1, 0}, {16, -1}} {
		s := fio.Defaults()
		s.SLA = testkit.Rules(t, "read p50 < 1s", "write p50 < 5s")
		var got []string
		c, err := process(t, Config{Settings: s, Workers: v.workers, Hold: v.hold}, filepath.Join(real, "slow"))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range c.Rows {
			for _, x := range r.SLA {
				got = append(got, fmt.Sprint(c.Offsets[i], r.Dims.Direction, x.Status, x.Value, x.Share, x.Window))
				if want := map[string]sla.Status{"read": sla.Broken,
					"write": sla.OK}[r.Dims.Direction]; r.Stats.Samples > 6 && x.Status != want &&
					x.Status != sla.Unknown {
					t.Errorf("%s at %d: %s", r.Dims.Direction, c.Offsets[i], x.Status)
				}
			}
		}
		if len(c.Sum.SLA) != 2 || c.Sum.SLA[0].Status() != sla.Broken || c.Sum.SLA[1].Status() != sla.OK {
			t.Errorf("outcomes: %+v", c.Sum.SLA)
		}
		if first == nil {
			first = got
		} else if !slices.Equal(first, got) {
			t.Errorf("verdicts differ between 1 worker and %d", v.workers)
		}
	}
	if len(first) < 20 {
		t.Errorf("%d verdicts", len(first))
	}
}
