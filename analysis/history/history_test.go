package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/internal/testkit"
)

var fio3 = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

// made is a history of made-up runs: reads around 80 us, some around 2.4 ms, all of them off by a
// factor that differs from run to run.
type made struct {
	seed  uint64
	runs  int
	noise float64             // standard deviation between runs
	level func(i int) float64 // factor of the latency
	hump  func(i int) float64 // share of I/Os around 400 us
}

func (m made) series() *Series {
	rng := rand.New(rand.NewPCG(m.seed, 11))
	s := &Series{Name: "made up"}
	for i := range m.runs {
		factor := math.Exp(m.noise * rng.NormFloat64())
		if m.level != nil {
			factor *= m.level(i)
		}
		hump := 0.0
		if m.hump != nil {
			hump = m.hump(i)
		}
		h := new(fiohist.Hist)
		for _, part := range []struct{ ns, spread, share float64 }{
			{80e3, 0.3, (1 - hump) * 0.97}, {400e3, 0.1, hump * 0.97}, {2400e3, 0.3, 0.03},
		} {
			below := func(ns int64) float64 {
				return math.Erfc(-math.Log(float64(ns)/part.ns/factor)/part.spread/math.Sqrt2) / 2
			}
			low := 0.0
			for b := fio3.Index(int64(part.ns / 8)); b < fio3.Index(int64(part.ns*8)); b++ {
				high := below(fio3.Upper(b))
				if n := math.Round(1e5 * part.share * (high - low)); n > 0 {
					h.Add(b, n)
				}
				low = high
			}
		}
		s.Runs = append(s.Runs, Run{ID: fmt.Sprintf("run-%03d", i), Start: time.Unix(int64(i)*86400, 0),
			Directions: map[string]*Direction{"read": {Geometry: fio3, Hist: h, IOPS: 1000 / factor}}})
	}
	return s
}

func metric(t testing.TB, text string) fio.Metric {
	t.Helper()
	m, err := Metrics.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A second hump of which the median and p99 know nothing is found, and nothing where there is none.
func TestSecondHump(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for n := range 20 {
		m := made{seed: uint64(n), runs: 30, noise: 0.02, hump: func(i int) float64 {
			if i < 18 {
				return 0
			}
			return 0.02
		}}
		s := m.series()
		still := m
		still.noise = 0
		quiet := still.series()
		for _, name := range []string{"read p50", "read p99"} {
			values := analyse(quiet, metric(t, name)).Runs
			if change := *values[18].Value / *values[17].Value; math.Abs(change-1) > 0.01 {
				t.Fatalf("%s changes by a factor of %.3f: the hump is not what this test is about", name, change)
			}
			if found := analyse(s, metric(t, name)).Changes; len(found) > 0 {
				t.Errorf("history %d: %s: %+v", n, name, found)
			}
		}
		found := analyse(s, metric(t, "read histogram")).Changes
		if !slices.ContainsFunc(found, func(c Change) bool { return c.Index == 18 }) {
			t.Errorf("history %d: histogram: %+v", n, found)
		}
	}
	false1 := 0
	for n := range 50 {
		m := made{seed: 1000 + uint64(n), runs: 50, noise: 0.05}
		if len(analyse(m.series(), metric(t, "read histogram")).Changes) > 0 {
			false1++
		}
	}
	if false1 > 2 {
		t.Errorf("%d of 50 histories without a change have one of the histogram", false1)
	}
}

// level is a history of one number by run.
func levelled(values []float64) *Series {
	s := &Series{Name: "levels"}
	for i, v := range values {
		h := new(fiohist.Hist)
		h.Add(100, 1)
		s.Runs = append(s.Runs, Run{ID: fmt.Sprint(i), Start: time.Unix(int64(i)*86400, 0),
			Directions: map[string]*Direction{"read": {Geometry: fio3, Hist: h, IOPS: v}}})
	}
	return s
}

func TestAnalyse(t *testing.T) {
	t.Parallel()
	noise := func(i int) float64 { return 1 + 0.01*math.Sin(float64(i)*2.399) }
	for _, tt := range []struct {
		name  string
		level func(i int) float64
		runs  int
		want  []int
	}{
		{"nothing", func(int) float64 { return 100 }, 30, nil},
		{"the last two", func(i int) float64 { return []float64{100, 120}[i/8] }, 10, []int{8}},
		{"the last alone", func(i int) float64 { return []float64{100, 120}[i/9] }, 10, nil},
		{"a bad week", func(i int) float64 {
			if i >= 12 && i < 19 {
				return 80
			}
			return 100
		}, 40, []int{12, 19}},
		{"a staircase", func(i int) float64 { return 100 * math.Pow(1.1, float64(i/10)) }, 50, []int{10, 20, 30, 40}},
		{"no value", func(i int) float64 {
			if i%7 == 3 {
				return 0
			}
			if i < 15 {
				return 100
			}
			return 130
		}, 30, []int{15}},
		{"held at a rate", func(i int) float64 { return 1000 + 1e-4*float64(i/5) }, 20, nil},
		{"three runs", func(i int) float64 { return float64(1 + i) }, 3, nil},
		{"no runs", nil, 0, nil},
	} {
		var values []float64
		for i := range tt.runs {
			v := tt.level(i)
			if tt.name != "held at a rate" {
				v *= noise(i)
			}
			values = append(values, v)
		}
		r := analyse(levelled(values), metric(t, "read iops"))
		var at []int
		for _, c := range r.Changes {
			at = append(at, c.Index)
			if c.Run != r.Runs[c.Index].ID || !(c.Low <= c.Change && c.Change <= c.High) || !(c.P <= valueAlpha) ||
				math.Abs(c.After/c.Before-1-c.Change) > 1e-9 {
				t.Errorf("%s: %+v", tt.name, c)
			}
		}
		if !slices.Equal(at, tt.want) {
			t.Errorf("%s: changes at %v, want %v", tt.name, at, tt.want)
		}
	}
}

// The sums of distances are those of a slow loop over all pairs.
func TestEnergy(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 17)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	s := &series{runs: len(x), distance: func(i, j int) float64 { return math.Abs(x[i] - x[j]) }}
	sums := newSums(s)
	slow := func(a, m, b int) float64 {
		mean := func(a, b, c, d int) (sum float64) {
			pairs := 0.0
			for i := a; i < b; i++ {
				for j := c; j < d; j++ {
					if i != j {
						sum += math.Abs(x[i] - x[j])
						pairs++
					}
				}
			}
			return sum / pairs
		}
		n, k := float64(m-a), float64(b-m)
		return n * k / (n + k) * (2*mean(a, m, m, b) - mean(a, m, a, m) - mean(m, b, m, b))
	}
	for a := range x {
		for m := a + 2; m < len(x); m++ {
			for b := m + 2; b <= len(x); b++ {
				if got, want := sums.energy(a, m, b), slow(a, m, b); math.Abs(got-want) > 1e-9 {
					t.Fatalf("[%d, %d) and [%d, %d): %g, want %g", a, m, m, b, got, want)
				}
			}
		}
	}
}

// The distance of two histograms is how far I/Os move: all of them by a tenth, or a twentieth of them
// fourfold.
func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after func(h *fiohist.Hist, ns int64)
		want  float64
	}{
		{"all of them", func(h *fiohist.Hist, ns int64) { h.Add(fio3.Index(ns*11/10), 20) }, math.Log(1.1)},
		{"one of twenty", func(h *fiohist.Hist, ns int64) {
			h.Add(fio3.Index(ns), 19)
			h.Add(fio3.Index(4*ns), 1)
		}, math.Log(4) / 20},
	} {
		var before, after fiohist.Hist
		for ns := int64(50e3); ns < 200e3; ns += 100 {
			before.Add(fio3.Index(ns), 20)
			tt.after(&after, ns)
		}
		got := area(distribution(fio3, &before), distribution(fio3, &after))
		if math.Abs(got/tt.want-1) > 0.01 {
			t.Errorf("%s: %.5f, want %.5f", tt.name, got, tt.want)
		}
	}
}

func TestParseMetric(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"read p99": "read p99", "p99.90": "p99.9", " iops ": "iops",
		"trim histogram": "trim histogram", "all mean": "all mean", "p0": "", "p100": "", "max": "", "read": "",
		"": "", "p99 read": "", "pnan": ""} {
		m, err := Metrics.Parse(text)
		if (err == nil) != (want != "") || err == nil && m.String() != want {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
}

// Runs are split by workload, and sorted by start, or not at all if one has none.
func TestSplit(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	runs := []Run{
		{ID: "c", Start: at(3), Workload: "rw=read"},
		{ID: "a", Start: at(1), Workload: "rw=read"},
		{ID: "b", Start: at(2), Workload: "rw=read"},
		{ID: "e", Workload: "rw=write"}, {ID: "d", Start: at(1), Workload: "rw=write"},
	}
	got := ""
	for _, s := range Split(runs) {
		got += s.Name + ":"
		for _, r := range s.Runs {
			got += " " + r.ID
		}
		got += fmt.Sprintf(" %t\n", s.Unordered)
	}
	want := "rw=read: a b c false\nrw=write: e d true\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestLead: what is worse comes first, the newest on top, and a level that was left again is no news.
func TestLead(t *testing.T) {
	t.Parallel()
	result := func(metric string, changes ...Change) Result {
		m, err := Metrics.Parse(metric)
		if err != nil {
			t.Fatal(err)
		}
		r := Result{Series: "s", Metric: m.String(), of: m, Changes: changes}
		for day := range 30 {
			r.Runs = append(r.Runs, Point{Start: new(time.Date(2026, 11, 1+day, 0, 0, 0, 0, time.UTC))})
		}
		return r
	}
	at := func(run int, change float64) Change { return Change{Index: run, Number: run + 1, Change: change} }
	options := at(9, 0.1)
	options.Options = "rwmixread 90 -> 50"
	for name, c := range map[string]struct {
		results []Result
		want    string
	}{
		"none":        {nil, "Nothing has changed."},
		"worse":       {[]Result{result("write p50", at(9, 0.164))}, "write p50 is 16.4 % higher since 2026-11-10."},
		"fewer IOPS":  {[]Result{result("read iops", at(4, -0.2))}, "read iops is 20.0 % lower since 2026-11-05."},
		"only better": {[]Result{result("read p99", at(4, -0.2))}, "read p99 is 20.0 % lower since 2026-11-05."},
		"worse and back": {[]Result{result("read p99", at(4, 0.2), at(9, -0.2))},
			"read p99 is 20.0 % lower since 2026-11-10. There is 1 more change."},
		"the newest": {[]Result{result("read p50", at(4, 0.5)), result("read p99", at(8, 0.1), at(12, 0.2))},
			"read p99 is 20.0 % higher since 2026-11-13. There are 2 more changes."},
		"worse, not best": {[]Result{result("read p50", at(4, 0.1)), result("write p50", at(20, -0.5))},
			"read p50 is 10.0 % higher since 2026-11-05. There is 1 more change."},
		"a histogram is the same change": {[]Result{result("read histogram", at(9, 0.3)), result("read p50",
			at(8, -0.2))}, "read p50 is 20.0 % lower since 2026-11-09."},
		"a histogram alone": {[]Result{result("read histogram", at(9, 0.3)), result("write p50", at(9, -0.2))},
			"write p50 is 20.0 % lower since 2026-11-10. There is 1 more change."},
		"an option": {[]Result{result("read p50", options)},
			"read p50 is 10.0 % higher since 2026-11-10, when rwmixread 90 -> 50."},
	} {
		worse, better := Turns(c.results, "s")
		if got := Lead(30, worse, better); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Lead(3, nil, nil); got != "Whether anything has changed takes at least 4 runs." {
		t.Error(got)
	}

}

// TestOneSeries: an option that changes ends a series, or is named beside the change point of one.
func TestOneSeries(t *testing.T) {
	t.Parallel()
	s := made{seed: 3, runs: 24, noise: 0.01, level: func(i int) float64 {
		return map[bool]float64{false: 1, true: 1.5}[i >= 12]
	}}.series()
	for i := range s.Runs {
		if s.Runs[i].Sameness = "rw=randrw"; i < 12 {
			s.Runs[i].Sameness += "\nrwmixread=90"
		}
	}
	split := Split(s.Runs)
	if len(split) != 2 || fiojson.DifferenceText(split[1].Since) != "rwmixread 90 -> 50" {
		t.Errorf("%d series, since %v", len(split), split[len(split)-1].Since)
	}
	one := One(s.Runs)
	if len(one) != 1 {
		t.Fatalf("%d series, want one", len(one))
	}
	for _, r := range Analyse(&one[0], Defaults[:1]) {
		if len(r.Changes) != 1 || r.Changes[0].Index != 12 || r.Changes[0].Options != "rwmixread 90 -> 50" {
			t.Errorf("%s: %+v", r.Metric, r.Changes)
		}
	}
}

// TestTurnsBySize: of changes at one run the largest comes first, a fall to a half before a rise by a half.
func TestTurnsBySize(t *testing.T) {
	t.Parallel()
	result := func(metric string, change float64, index int) Result {
		m, err := Metrics.Parse(metric)
		if err != nil {
			t.Fatal(err)
		}
		return Result{Series: "s", Metric: m.String(), of: m, Runs: make([]Point, 20),
			Changes: []Change{{Index: index, Number: index + 1, Change: change}}}
	}
	worse, better := Turns([]Result{result("read p50", 0.1, 9), result("read p99", 0.5, 9),
		result("read iops", -0.5, 9), result("write p50", 0.2, 12), result("write p99", -0.1, 9),
		result("write iops", 0.3, 9)}, "s")
	var got []string
	for _, turn := range slices.Concat(worse, better) {
		got = append(got, turn.Metric)
	}
	if want := "[write p50 read iops read p99 read p50 write iops write p99]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
