package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

var fio3 = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

// steady makes up a steady run as real ones are: seconds whose latency and rate drift
// slowly around their means (a first-order autoregressive process), with two humps
// (a cache) and a tail.
type steady struct {
	seed      uint64
	intervals int
	rate      float64 // reads a second; a third as many writes
	memory    float64 // correlation of neighbouring seconds, 0 to 1
	drift     float64 // standard deviation of the logarithm of a second's latency
	latency   float64 // factor
	interval  time.Duration
}

func (c steady) series(t testing.TB, name string) *Series {
	t.Helper()
	rng := rand.New(rand.NewPCG(c.seed, 77))
	s := &Series{Name: name}
	if c.interval == 0 {
		c.interval = time.Second
	}
	if err := s.Begin(t.Context(), &pipeline.Run{Geometry: fio3, Interval: int64(c.interval)}); err != nil {
		t.Fatal(err)
	}
	step := func(x float64) float64 {
		return c.memory*x + math.Sqrt(1-c.memory*c.memory)*rng.NormFloat64()
	}
	slow, busy := rng.NormFloat64(), rng.NormFloat64()
	for i := range c.intervals {
		slow, busy = step(slow), step(busy)
		q := &pipeline.Interval{Offset: int64(i) * int64(c.interval)}
		all := 0.0
		for _, dir := range []string{"read", "write"} {
			n := c.rate * math.Exp(0.05*busy)
			median := 80e3
			if dir == "write" {
				n, median = n/3, 30e3
			}
			h := new(fiohist.Hist)
			for range int(n) {
				ns := median * c.latency * math.Exp(c.drift*slow+0.3*rng.NormFloat64())
				if rng.IntN(20) == 0 {
					ns *= 12
				}
				h.Add(fio3.Index(int64(ns)), 1)
			}
			all += h.Sum()
			q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Direction: dir}, Hist: h})
		}
		q.Rows = []pipeline.Row{{Scope: "run", Stats: fiohist.Stats{Samples: all}, IOPS: all / c.interval.Seconds(),
			IOPSKnown: true, Covered: int64(c.interval)}}
		if err := s.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// pick is the part of a series for which keep is true.
func pick(s *Series, name string, keep func(i int) bool) *Series {
	out := *s
	out.Name, out.steps = name, nil
	for i, q := range s.steps {
		if keep(i) {
			out.steps = append(out.steps, q)
		}
	}
	return &out
}

// found counts, over many comparisons, those that call a number different.
type found struct {
	n, any int
	by     map[string]int
}

func (f *found) add(r *Result) {
	if f.by == nil {
		f.by = map[string]int{}
	}
	f.n++
	any := false
	for _, row := range r.Rows {
		if row.Verdict == Higher || row.Verdict == Lower {
			f.by[row.Direction+" "+row.Metric]++
			any = true
		}
	}
	if any {
		f.any++
	}
}

var wanted = []float64{50, 90, 95, 99, 99.9}

// one compares two single runs, the noise within them alone.
func one(t testing.TB, a, b *Series, times int) *Result {
	t.Helper()
	r, err := Compare(&Group{Name: a.Name, Runs: []*Series{a}}, &Group{Name: b.Name, Runs: []*Series{b}},
		Options{Percentiles: wanted, times: times})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Two halves of a steady run do not differ, however it is cut in halves, and what is
// slower by a tenth is found.
func TestSteadyRuns(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	pairs := draws(t)
	for _, tt := range slice([]struct {
		intervals int
		memory    float64
	}{{40, 0.5}, {240, 0}, {240, 0.7}}, 1) {
		t.Run(fmt.Sprintf("%d of memory %g", tt.intervals, tt.memory), func(t *testing.T) {
			t.Parallel()
			const times = 200 // fewer resamples than Compare makes, to be done sooner
			intervals, memory := tt.intervals, tt.memory
			var same, slower found
			for n := range pairs {
				p := rand.New(rand.NewPCG(uint64(n), 1)).Perm(intervals / 20)
				first := func(i int) bool { return p[i/20] < len(p)/2 } // blocks of 20 seconds
				if n%2 == 0 {
					first = func(i int) bool { return i < intervals/2 } // before and after
				}
				second := func(i int) bool { return !first(i) }
				run := steady{seed: uint64(n), intervals: intervals, rate: 120, memory: memory, drift: 0.05, latency: 1}
				s := run.series(t, "a")
				same.add(one(t, pick(s, "a", first), pick(s, "b", second), times))
				run.seed, run.latency = run.seed+1000, 1.1
				slower.add(one(t, pick(s, "a", first), pick(run.series(t, "b"), "b", second), times))
			}
			t.Logf("%d of %d called different %v; a tenth slower: found in %d, %v", same.any, pairs, same.by,
				slower.any, slower.by)
			if same.any > pairs/10 {
				t.Errorf("%d of %d halves of a steady run are called different: %v", same.any, pairs, same.by)
			}
			if n := min(slower.any, slower.by["read p50"], slower.by["write p50"]); n < pairs*9/10 && intervals > 100 {
				t.Errorf("a tenth slower: found in only %d of %d: %v", n, pairs, slower.by)
			}
		})
	}
}

// The values are those of fiohist, to rounding.
func TestValues(t *testing.T) {
	t.Parallel()
	s := steady{seed: 1, intervals: 30, rate: 500, latency: 1, drift: 0.3}.series(t, "a")
	r := one(t, s, s, 0)
	for d, name := range directions {
		var h fiohist.Hist
		for _, q := range s.steps {
			for of, part := range q.hists {
				if d == 0 || d == of {
					h.AddAll(part.Index, part.Count, 0)
				}
			}
		}
		if h.Empty() {
			if r.Find(name, "p50") != nil {
				t.Errorf("a row of %s, which has no I/O", name)
			}
			continue
		}
		st := h.Stats(fio3, wanted, fiohist.Limits{})
		want := map[string]float64{"mean": st.Mean, "iops": st.Samples / 30}
		for k, p := range wanted {
			want[metricName(p)] = st.Percentiles[k]
		}
		for metric, v := range want {
			row := r.Find(name, metric)
			if row == nil || math.Abs(*row.Baseline-v) > 1e-9*v || *row.Other != *row.Baseline || *row.Change != 0 ||
				row.Verdict == Higher || row.Verdict == Lower {
				t.Errorf("%s %s is %+v, want %v and no change", name, metric, row, v)
			}
		}
	}
	if again := one(t, s, s, 0); fmt.Sprint(flat(again)) != fmt.Sprint(flat(r)) {
		t.Error("not the same twice")
	}
}

func flat(r *Result) (out []float64) {
	for _, row := range r.Rows {
		if row.Low != nil {
			out = append(out, *row.Low, *row.High)
		}
	}
	return out
}

// blockLength finds the memory of series whose optimal block is known: n^(1/3) times
// (2 G^2 / D)^(1/3), for a first-order process with correlation r: G = 2 r / (1-r)^2,
// spectrum (1+r)/(1-r), both in variances.
func TestBlockLength(t *testing.T) {
	t.Parallel()
	for _, r := range []float64{0, 0.3, 0.6, 0.8} {
		const n = 1000
		g, s := 2*r/((1-r)*(1-r)), (1+r)/(1-r)
		want := max(1, math.Cbrt(2*g*g/(4.0/3*s*s)*n))
		var got []float64
		for seed := range uint64(50) {
			rng := rand.New(rand.NewPCG(seed, 5))
			z, x := make([]float64, n), rng.NormFloat64()
			for i := range z {
				x = r*x + math.Sqrt(1-r*r)*rng.NormFloat64()
				z[i] = x
			}
			got = append(got, blockLength(z))
		}
		slices.Sort(got)
		t.Logf("r = %g: median %.1f (%.1f to %.1f in 9 of 10), optimal %.1f", r, got[25], got[2], got[47], want)
		if m := got[25]; m < 0.6*want || m > 1.4*want && m > 3 {
			t.Errorf("r = %g: blocks of %.1f, want about %.1f", r, m, want)
		}
	}
	for name, z := range map[string][]float64{"none": nil, "one": {1}, "constant": make([]float64, 100)} {
		if b := blockLength(z); b != 1 {
			t.Errorf("%s: blocks of %v, want 1", name, b)
		}
	}
	slope := make([]float64, 100)
	for i := range slope {
		slope[i] = float64(i)
	}
	if b := blockLength(slope); b < 10 {
		t.Errorf("a slope: blocks of %v, want long ones", b)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	result := &Result{enoughRuns: true}
	add := func(direction, metric string, change, se float64) {
		result.all = append(result.all, Row{Direction: direction, Metric: metric, Change: &change})
		result.estimate = append(result.estimate,
			estimate{center: math.Log1p(change), se: se, freedom: fiohist.ManyDegrees})
	}
	add(fio.All, "p99", 0.2, 0.01)
	add("read", "p99", 0.3, 0.01)
	add("read", "p99.9", 0.5, 0.4)
	add("read", "mean", 0.4, math.NaN())
	add("read", "iops", -0.2, 0.01)
	add("write", "p99", 0.04, 0.005)
	add("write", "iops", 0.3, 0.01)
	for _, row := range []Row{{Direction: "write", Metric: "p99.9", AtLeast: true},
		{Direction: "write", Metric: "mean"}} {
		result.all, result.estimate = append(result.all, row), append(result.estimate, estimate{})
	}
	result.sampler = func(rows []int) [][]float64 { return independentDeviates(len(rows)) }
	for text, want := range map[string]string{
		"read p99 +10%":    "read",
		"read p99 +30%":    "", // not beyond it
		"p99 +3.5%":        "read,write",
		"p99 +0%":          "read,write",
		"p99 -0%":          "",
		"all  p99 +10%":    "all",
		"write p99 +10%":   "",
		"read p99.9 +10%":  "",     // chance
		"read mean +10%":   "read", // the change alone decides
		"iops -5%":         "read",
		"iops +5%":         "write",
		"write p99.9 +1%":  "", // nothing is known
		"read p99.90 +10%": "",
		"write mean +1%":   "nothing to check",
		"trim p99 +1%":     "nothing to check",
		"read p50 +1%":     "nothing to check",
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rulings, err := result.Judge([]Rule{r}, Options{Margin: Margin})
		var got []string
		if err != nil {
			t.Fatal(err)
		}
		if len(rulings) == 0 {
			got = []string{"nothing to check"}
		} else {
			for _, b := range rulings[0].Broken {
				got = append(got, b.Direction)
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s is broken by %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "read p99", "read p99 10%", "read p99 +10", "reads p99 +10%", "read p0 +1%",
		"p100 +1%", "p99 +1e3%", "median +3%", "read read p99 +1%", "p99 +99999999999%"} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q is %+v, want an error", text, r)
		}
	}
	if got := percentilesOf([]float64{50, 99}, []Rule{{Metric: fio.PercentileMetric("", 99.9)}, {}, {Metric: fio.PercentileMetric("", 50)}}); !slices.Equal(got,
		[]float64{50, 99, 99.9}) {
		t.Errorf("percentiles %v", got)
	}
}

// Rows of scopes that show up late, pauses, and runs longer than a Series keeps: all
// I/Os and all the time covered are there.
func TestSeries(t *testing.T) {
	t.Parallel()
	s := new(Series)
	run := &pipeline.Run{ID: "r", Geometry: fio3, Interval: 1e9, FirstInterval: -250e6}
	if err := s.Begin(t.Context(), run); err != nil || s.Name != "r" {
		t.Fatal(s.Name, err)
	}
	ios, covered := 0.0, 0.0
	feed := func(n int64, leaves int) {
		q := &pipeline.Interval{Offset: run.FirstInterval + n*run.Interval}
		row := pipeline.Row{Scope: "run", IOPSKnown: true}
		for i := range leaves {
			var h fiohist.Hist
			h.Add(100+i, float64(n+1))
			q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Direction: directions[1+i%3]}, Hist: &h})
			row.Stats.Samples += h.Sum()
		}
		row.Covered = 5e8 // logs cover half of it
		ios += row.Stats.Samples
		covered += 0.5
		q.Rows = []pipeline.Row{row, {Scope: "host", Dims: fio.Dims{Host: "h"}, IOPSKnown: true, Covered: 1e9}}
		if err := s.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for n := range int64(3000) {
		switch {
		case n%7 == 3:
			feed(n, 0)
		case n%100 != 50:
			feed(n, 1+int(n%5))
		default: // nothing ran
			empty := &pipeline.Interval{Offset: run.FirstInterval + n*run.Interval}
			if err := s.Interval(t.Context(), empty); err != nil {
				t.Fatal(err)
			}
		}
		if n%100 == 0 && n > 0 { // a row of a host for an interval that has been
			if err := s.Late(t.Context(), &pipeline.Interval{Offset: run.FirstInterval,
				Rows: []pipeline.Row{{Scope: "run", IOPSKnown: true}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, gotCovered := 0.0, 0.0
	for _, q := range s.steps {
		for _, h := range q.hists {
			got += h.Sum()
		}
		gotCovered += q.covered[0]
	}
	if got != ios || math.Abs(gotCovered-covered) > 1e-6 || s.fold != 8 || len(s.steps) != 375 {
		t.Errorf("%v I/Os in %v s, want %v in %v; %d quanta of %d", got, gotCovered, ios, covered, len(s.steps), s.fold)
	}
}

func BenchmarkCompare(b *testing.B) {
	x := steady{seed: 1, intervals: 600, rate: 2000, memory: 0.5, drift: 0.05, latency: 1}.series(b, "a")
	y := steady{seed: 2, intervals: 600, rate: 2000, memory: 0.5, drift: 0.05, latency: 1}.series(b, "b")
	b.ReportAllocs()
	for b.Loop() {
		one(b, x, y, 0)
	}
}

func BenchmarkNoise(b *testing.B) {
	x := steady{seed: 1, intervals: 600, rate: 2000, memory: 0.5, drift: 0.05, latency: 1}.series(b, "a")
	b.ReportAllocs()
	for b.Loop() {
		x.Noise(wanted)
	}
}

// Find is the row of a direction and metric. In a run of a single direction that
// is also the sum of all.
func (r *Result) Find(direction, metric string) *Row {
	if i := r.find(direction, metric); i >= 0 {
		return &r.all[i]
	}
	return nil
}
