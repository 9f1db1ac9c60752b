package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fiolat/internal/fiohist"
	"fiolat/pipeline"
)

var fio3 = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

// steady makes up a steady run as real ones are: seconds whose latency and rate drift
// slowly around their means (a first-order autoregressive process), with two humps
// (a cache) and a tail.
type steady struct {
	seed     uint64
	quanta   int
	rate     float64 // reads a second; a third as many writes
	memory   float64 // correlation of neighbouring seconds, 0 to 1
	drift    float64 // standard deviation of the logarithm of a second's latency
	latency  float64 // factor
	interval time.Duration
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
	for i := range c.quanta {
		slow, busy = step(slow), step(busy)
		q := &pipeline.Quantum{Offset: int64(i) * int64(c.interval)}
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
			q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: pipeline.Dims{Direction: dir}, Hist: h, Samples: h.Sum()})
		}
		q.Rows = []pipeline.Row{{Scope: "run", Stats: fiohist.Stats{Samples: all}, IOPS: all / c.interval.Seconds(), IOPSKnown: true}}
		if err := s.Quantum(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// pick is the part of a series for which keep is true.
func pick(s *Series, name string, keep func(i int) bool) *Series {
	out := *s
	out.Name, out.at = name, nil
	for i, q := range s.at {
		if keep(i) {
			out.at = append(out.at, q)
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

// Two halves of a steady run do not differ, however it is cut in halves, and what is
// slower by a tenth is found.
func TestSteadyRuns(t *testing.T) {
	t.Parallel()
	halves := []struct {
		name string
		in   func(rng *rand.Rand, n int) func(i int) bool
	}{
		{"before and after", func(_ *rand.Rand, n int) func(int) bool { return func(i int) bool { return i < n/2 } }},
		{"blocks of 20 seconds", func(rng *rand.Rand, n int) func(int) bool {
			p := rng.Perm(n / 20)
			return func(i int) bool { return p[i/20] < len(p)/2 }
		}},
	}
	for _, memory := range []float64{0, 0.7} {
		t.Run(fmt.Sprintf("memory %g", memory), func(t *testing.T) {
			t.Parallel()
			const splits, quanta, times = 100, 240, 300 // fewer resamples than Compare makes, to be done sooner
			same := make([]found, len(halves))
			var slower found
			for n := range splits {
				rng := rand.New(rand.NewPCG(uint64(n), 1))
				run := steady{seed: uint64(n), quanta: quanta, rate: 120, memory: memory, drift: 0.05, latency: 1}
				s := run.series(t, "a")
				for k, h := range halves {
					in := h.in(rng, quanta)
					r, err := compare(pick(s, "a", in), pick(s, "b", func(i int) bool { return !in(i) }), wanted, times)
					if err != nil {
						t.Fatal(err)
					}
					same[k].add(r)
				}
				run.seed, run.latency = run.seed+1000, 1.1
				other := run.series(t, "b")
				r, err := compare(pick(s, "a", halves[0].in(rng, quanta)), pick(other, "b", halves[0].in(rng, quanta)), wanted, times)
				if err != nil {
					t.Fatal(err)
				}
				slower.add(r)
			}
			for k, h := range halves {
				t.Logf("%s: %d of %d called different %v", h.name, same[k].any, splits, same[k].by)
				if same[k].any > splits/10 {
					t.Errorf("%s: %d of %d halves of a steady run are called different: %v", h.name, same[k].any, splits, same[k].by)
				}
			}
			t.Logf("a tenth slower: found in %d of %d, %v", slower.any, splits, slower.by)
			if n := min(slower.any, slower.by["read p50"], slower.by["write p50"]); n < 90 {
				t.Errorf("a tenth slower: found in only %d of %d: %v", n, splits, slower.by)
			}
		})
	}
}

// The values are those of fiohist, to rounding.
func TestValues(t *testing.T) {
	t.Parallel()
	s := steady{seed: 1, quanta: 30, rate: 500, latency: 1, drift: 0.3}.series(t, "a")
	r, err := Compare(s, s, wanted)
	if err != nil {
		t.Fatal(err)
	}
	for d, name := range Directions {
		var h fiohist.Hist
		for _, q := range s.at {
			q.hists[d].addTo(&h, 0)
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
			want[MetricName(p)] = st.Percentiles[k]
		}
		for metric, v := range want {
			row := r.Find(name, metric)
			if row == nil || math.Abs(*row.Baseline-v) > 1e-9*v || *row.Other != *row.Baseline || *row.Change != 0 || row.Verdict != None {
				t.Errorf("%s %s is %+v, want %v and no difference", name, metric, row, v)
			}
		}
	}
	if again, _ := Compare(s, s, wanted); fmt.Sprint(flat(again)) != fmt.Sprint(flat(r)) {
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
		for seed := range uint64(200) {
			rng := rand.New(rand.NewPCG(seed, 5))
			z, x := make([]float64, n), rng.NormFloat64()
			for i := range z {
				x = r*x + math.Sqrt(1-r*r)*rng.NormFloat64()
				z[i] = x
			}
			got = append(got, blockLength(z))
		}
		slices.Sort(got)
		t.Logf("r = %g: median %.1f (%.1f to %.1f in 9 of 10), optimal %.1f", r, got[100], got[10], got[190], want)
		if m := got[100]; m < 0.6*want || m > 1.4*want && m > 3 {
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
