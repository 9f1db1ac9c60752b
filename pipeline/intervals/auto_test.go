package intervals

import (
	"context"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// TestChooser: seconds with so many I/Os, spread evenly over the 64 buckets from 1,024 to 2,047 ns. By the binomial
// distribution p50 of n of them is known to 63 / sqrt(n) buckets (1.96 standard deviations of its rank), and 5 % of it
// are 4.8 buckets: 120 I/Os are too few (5.7 buckets), 300 enough (3.6).
func TestChooser(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		ios      int // a second
		seconds  int
		accuracy float64
		shortest time.Duration
		want     time.Duration
		met      bool
	}{
		{"enough in a second", 400, 120, 0.05, time.Second, time.Second, true},
		{"in two", 180, 120, 0.05, time.Second, 2 * time.Second, true},
		{"in five", 60, 120, 0.05, time.Second, 5 * time.Second, true},
		{"in thirty", 10, 300, 0.05, time.Second, 30 * time.Second, true},
		{"not shorter than the logs' own", 400, 300, 0.05, 10 * time.Second, 10 * time.Second, true},
		{"never", 1, 120, 0.01, time.Second, 600 * time.Second, false},
		{"no I/O", 0, 60, 0.05, time.Second, time.Second, false},
	} {
		c, err := NewChooser(&fio.Settings{Percentiles: []float64{50}}, tc.accuracy)
		if err != nil {
			t.Fatal(err)
		}
		c.Shortest = tc.shortest
		geometry := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
		run := &pipeline.Run{Interval: int64(time.Second), Geometry: geometry}
		ctx := context.Background()
		if err := c.Begin(ctx, run); err != nil {
			t.Fatal(err)
		}
		for s := range tc.seconds {
			q := &pipeline.Interval{Offset: int64(s) * int64(time.Second)}
			if tc.ios > 0 {
				h := new(fiohist.Hist)
				for i := range 64 { // the 64 buckets from 1,024 to 2,047 ns
					h.Add(5*64+i, float64(tc.ios)/64)
				}
				q.Leaves = []pipeline.Leaf{{Hist: h}}
			}
			if err := c.Interval(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.End(ctx, nil); err != nil {
			t.Fatal(err)
		}
		got := c.Choose()
		if got.Interval != tc.want || got.Met != tc.met ||
			got.MS != float64(tc.want.Milliseconds()) {
			t.Errorf("%s: %v, met %v, want %v: %s", tc.name, got.Interval, got.Met, tc.want, got.Reason)
		}
		// Why not the next shorter one.
		if shorter := tc.met && tc.want > tc.shortest; strings.Contains(got.Reason, ", and only in ") != shorter {
			t.Errorf("%s: %s", tc.name, got.Reason)
		}
	}
	if _, err := NewChooser(&fio.Settings{Percentiles: []float64{0, 100}}, 0.05); err == nil {
		t.Error("p0 and p100 have limits")
	}
}

// TestChooserCountsIntervals: an interval with one I/O counts, one with less, which overlaps from a neighbour, does
// not.
func TestChooserCountsIntervals(t *testing.T) {
	t.Parallel()
	for ios, want := range map[float64]int{0.4: 0, 0.5: 10, 1: 10} {
		c, err := NewChooser(&fio.Settings{Percentiles: []float64{50}}, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		c.Shortest = time.Second
		run := &pipeline.Run{Interval: int64(time.Second),
			Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
		err = c.Begin(t.Context(), run)
		for i := range int64(10) {
			h := new(fiohist.Hist)
			h.Add(400, ios)
			if err == nil {
				err = c.Interval(t.Context(), &pipeline.Interval{Offset: i * 1e9, Leaves: []pipeline.Leaf{{Hist: h}}})
			}
		}
		if err == nil {
			err = c.End(t.Context(), nil)
		}
		if _, got := c.steps[0].worst(); err != nil || got.all != want {
			t.Errorf("%v I/Os a second: %d intervals of 10 count, want %d, %v", ios, got.all, want, err)
		}
	}
}
