package outliers

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
)

var grid = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

// slowAt is an I/O of 6.3 ms, or shares of it, by interval.
type slowAt map[int]float64

// collect passes intervals of a second to a Collector: 1,000 reads of about 80 us in each, and what is slow of a host.
func collect(t *testing.T, seconds int, hosts map[string]slowAt) *Collector {
	t.Helper()
	run := &pipeline.Run{Geometry: grid, Interval: 1e9}
	for host := range hosts {
		run.Logs = append(run.Logs, &pipeline.Log{
			Log:      &ingest.Log{Host: host, LogName: "x.log", Source: &ingest.Source{}},
			Interval: time.Second, End: int64(seconds) * 1e9})
	}
	c := &Collector{}
	if err := c.Begin(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	for s := range seconds {
		q := &pipeline.Interval{Offset: int64(s) * 1e9}
		for host, slow := range hosts {
			h := new(fiohist.Hist)
			h.Add(grid.Index(80e3), 1000)
			if n := slow[s]; n > 0 {
				h.Add(grid.Index(6.3e6), n)
			}
			q.Leaves = append(q.Leaves, pipeline.Leaf{Hist: h,
				Dims: fio.Dims{Direction: "read", Host: host, Job: "j", Log: "x.log"}})
		}
		if err := c.Interval(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestOutliers: which I/Os are outliers, when, and what is said of them.
func TestOutliers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts    map[string]slowAt
		want     string
		from, to float64 // of the first
	}{
		"none": {map[string]slowAt{"a": {}}, "None of the reads took 809 us or longer; the longest took 80 us.", 0, 0},
		"one":  {map[string]slowAt{"a": {7: 1}}, "1 read took 6.3 ms, at 0:07.5 (the next longest 80 us).", 7000, 8000},
		"a record in two intervals": {map[string]slowAt{"a": {7: 0.4, 8: 0.6}},
			"1 read took 6.3 ms, at 0:08.1 (the next longest 80 us).", 7600, 8600},
		"two in neighbouring records": {map[string]slowAt{"a": {7: 1, 8: 1}},
			"2 reads took 6.3 ms, at 0:08 (the next longest 80 us).", 7000, 9000},
		"hosts at once": {map[string]slowAt{"a": {7: 1}, "b": {7: 1}},
			"2 reads took 6.3 ms, at 0:07.5 (the next longest 80 us).", 7000, 8000},
		"a hundredth of one": {map[string]slowAt{"a": {7: 0.01}},
			"None of the reads took 809 us or longer; the longest took 80 us.", 0, 0},
		"even": {map[string]slowAt{"a": {2: 1, 7: 1, 12: 1, 17: 1, 22: 1, 27: 1, 32: 1, 37: 1, 42: 1, 47: 1}},
			"10 reads took 6.3 ms, every 5.0 s from 0:02.5 on (the next longest 80 us).", 2000, 3000},
		"one of ten is not there": {
			map[string]slowAt{"a": {2: 1, 7: 1, 12: 1, 22: 1, 27: 1, 32: 1, 37: 1, 42: 1, 47: 1, 52: 1}},
			"10 reads took 6.3 ms, every 5.0 s from 0:02.5 on (the next longest 80 us).", 2000, 3000},
		"not even": {map[string]slowAt{"a": {2: 1, 9: 1, 12: 1, 22: 1, 23: 1, 36: 1}},
			"6 reads took 6.3 ms, the first at 0:02.5, the last at 0:36.5 (the next longest 80 us).", 2000, 3000},
	} {
		found := collect(t, 60, c.hosts).Found()
		if len(found) != 1 {
			t.Fatalf("%s: %d groups", name, len(found))
		}
		g := &found[0]
		if got := g.Sentence(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.to > 0 && (math.Abs(g.Outliers[0].FromMS-c.from) > 1 || math.Abs(g.Outliers[0].ToMS-c.to) > 1) {
			t.Errorf("%s: %v to %v, want %v to %v", name, g.Outliers[0].FromMS, g.Outliers[0].ToMS, c.from, c.to)
		}
	}
}

// TestMany: of more slow entries than are kept the longest stay, all are counted, and the rest is named as omitted.
func TestMany(t *testing.T) {
	t.Parallel()
	all := slowAt{}
	for s := range 3 * kept {
		all[s] = 1
	}
	c := collect(t, 4*kept, map[string]slowAt{"a": all})
	c.Above = 1e6
	g := c.Found()[0]
	if g.IOs != 3*kept || !g.Omitted || g.Period != nil || len(g.Outliers) == 0 {
		t.Errorf("%g I/Os, %d outliers, omitted %v, period %v", g.IOs, len(g.Outliers), g.Omitted, g.Period)
	}
	if s := g.Sentence(); !strings.HasPrefix(s, "1,536 reads took ") {
		t.Error(s)
	}
}

// TestWorst: of more than 20 outliers the longest ten are listed, in order of time.
func TestWorst(t *testing.T) {
	t.Parallel()
	g := Group{}
	for i := range 30 {
		g.Outliers = append(g.Outliers, Outlier{FromMS: float64(i), LongestNS: float64((i * 7) % 30)})
	}
	worst := g.Worst(0)
	if len(worst) != 10 || len(g.Worst(3)) != 3 || len(g.Worst(100)) != 30 {
		t.Fatalf("%d, %d and %d are listed", len(worst), len(g.Worst(3)), len(g.Worst(100)))
	}
	for i, o := range worst {
		if o.LongestNS < 20 || i > 0 && o.FromMS < worst[i-1].FromMS {
			t.Errorf("%+v", worst)
		}
	}
}

// TestStray: an I/O of another length among even ones hides no period; one of the same length does, and so
// do many.
func TestStray(t *testing.T) {
	t.Parallel()
	made := func(ms float64, at ...float64) (out []Outlier) {
		for _, s := range at {
			out = append(out, Outlier{FromMS: 1e3 * s, ToMS: 1e3 * (s + 1), IOs: 1, LongestNS: 1e6 * ms})
		}
		return out
	}
	even := []float64{3, 8, 13, 18, 23, 28, 33, 38, 43, 48, 53, 58}
	for name, c := range map[string]struct {
		stray []Outlier
		ios   float64 // that recur
	}{
		"none":            {nil, 12},
		"shorter":         {made(2.5, 31), 12},
		"longer":          {made(9, 31), 12},
		"first of all":    {made(2.5, 1), 12},
		"alike":           {made(6.2, 31), 0},
		"a third of them": {made(2.5, 1, 6, 12, 31), 0},
	} {
		all := append(made(6.3, even...), c.stray...)
		slices.SortFunc(all, func(a, b Outlier) int { return cmp.Compare(a.FromMS, b.FromMS) })
		switch p := periodOf(all); {
		case p == nil:
			if c.ios != 0 {
				t.Errorf("%s: no period", name)
			}
		case p.IOs != c.ios || math.Abs(p.MS-5000) > 1 || p.FirstMS != 3500 || p.Chance >= chance:
			t.Errorf("%s: %+v, want %g I/Os every 5 s from 3.5 s on", name, *p, c.ios)
		}
	}
}

// TestPeriodChance: outliers at random times have a period as seldom as is said, and those that are even, with times
// known to a second, have the one they were made with.
func TestPeriodChance(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	at := func(second float64) Outlier {
		return Outlier{FromMS: 1e3 * math.Floor(second), ToMS: 1e3 * math.Floor(second+1),
			LongestNS: 1e6 * rng.ExpFloat64()}
	}
	false4 := 0
	const trials = 2000
	for range trials {
		seen := [600]bool{}
		for range 4 + rng.IntN(8) {
			seen[rng.IntN(600)] = true
		}
		var all []Outlier
		for s, is := range seen {
			if is {
				all = append(all, at(float64(s)))
			}
		}
		if periodOf(all) != nil {
			false4++
		}
	}
	if false4 > trials/100 {
		t.Errorf("%d of %d series at random times have a period", false4, trials)
	}
	missed := 0
	for range 200 {
		every, start, n := 10+50*rng.Float64(), 20*rng.Float64(), 8+rng.IntN(5)
		var all []Outlier
		for k := range n {
			all = append(all, at(start+every*float64(k)))
		}
		if p := periodOf(all); p == nil || p.LowMS > 1e3*every || p.HighMS < 1e3*every {
			missed++
		}
	}
	if missed > 20 {
		t.Errorf("%d of 200 even series have no period, or another", missed)
	}
}

// TestWith: names stay in natural order and come once, as if all were sorted again.
func TestWith(t *testing.T) {
	names := []string{"h10", "h9", "h1", "h01", "h9", "a", "h10", "h100", ""}
	var got, want []string
	for i, name := range names {
		got = with(got, names[i:i+1])
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
		slices.SortFunc(want, fio.Natural)
		if !slices.Equal(got, want) {
			t.Fatalf("after %q: %q, want %q", name, got, want)
		}
	}
}
