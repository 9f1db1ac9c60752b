package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"fiolat/fio/fiohist"
)

// unseen are devices, unseenFaults faults and unseenLoads numbers of hosts and seconds for which nothing in the search
// was chosen: they were written before it was run on them, and their results are in docs/evidence.md.
var unseen = []device{
	{"NVMe", 800, mixed(0.08e6, 0.25, 0.015, 10), bursting(0.02, 0.2, 1.15)},
	{"shingled disk", 120, plain(6e6, 0.5), bursting(0.02, 0.8, 2.5)},
	{"sum of stages", 350, func(rng *rand.Rand, s *state) float64 {
		return 0.25e6 * s.own * s.slow * (rng.ExpFloat64() + rng.ExpFloat64() + rng.ExpFloat64())
	}, bursting(0, 0, 1)},
	{"Weibull tail", 250, func(rng *rand.Rand, s *state) float64 {
		return 2e6 * s.own * s.slow * math.Pow(rng.ExpFloat64(), 1/0.7)
	}, bursting(0.01, 0.5, 1.3)},
	{"tiers", 300, func(rng *rand.Rand, s *state) float64 { // slow is how often the slow tier answers, about 0.3
		if rng.Float64() < 0.3*s.slow {
			return logNormal(rng, 4e6*s.own, 0.4)
		}
		return logNormal(rng, 0.5e6*s.own, 0.3)
	}, wandering(0.05, 0.1)},
	{"compaction", 300, plain(1.5e6, 0.4), func(rng *rand.Rand, s *state) { // rises, and falls at some time
		if s.slow *= 1.01; s.slow < 1 || rng.Float64() < 0.04 {
			s.slow = 1
		}
	}},
	{"object store", 40, plain(20e6, 0.8), bursting(0.02, 0.3, 1.5)},
	{"calm SSD", 500, mixed(0.3e6, 0.3, 0.005, 8), bursting(0, 0, 1)},
}

var unseenFaults = []simFault{
	{name: "host x1.5 all run", to: 1, factor: 1.5},
	{name: "host x2.5 to the end", from: 0.2, to: 1, factor: 2.5},
	{name: "host x1.8 for a while", from: 0.25, to: 0.6, factor: 1.8},
	{name: "quarter x2 for a while", hosts: 0.25, from: 0.4, to: 0.8, factor: 2},
	{name: "host's tail to the end", from: 0.45, to: 1, factor: 1, share: 0.02, slow: 30},
	{name: "host's tail for a while", from: 0.3, to: 0.6, factor: 1, share: 0.06, slow: 12},
	{name: "host throttled to the end", from: 0.5, to: 1, factor: 3, rest: 0.3},
	{name: "host x8 for 4 s", from: 0.5, intervals: 4, factor: 8},
	{name: "host x3 at first", to: 0.3, factor: 3},
	{name: "host x4 every 11 s", to: 1, factor: 4, every: 11},
	{name: "host drifts to x3", to: 1, factor: 3, ramp: true},
	{name: "all x1.4 to the end", hosts: 1, from: 0.6, to: 1, factor: 1.4},
	{name: "all x2.5 for a while", hosts: 1, from: 0.3, to: 0.5, factor: 2.5},
	{name: "all x3 at first", hosts: 1, to: 0.15, factor: 3},
	{name: "all's tail for a while", hosts: 1, from: 0.5, to: 0.8, factor: 1, share: 0.05, slow: 10},
	{name: "all x6 for 3 s", hosts: 1, from: 0.4, intervals: 3, factor: 6},
	{name: "all x2.5 every 13 s", hosts: 1, to: 1, factor: 2.5, every: 13},
	{name: "all drift to x2.5", hosts: 1, to: 1, factor: 2.5, ramp: true},
}

// unseenLoads are pairs of hosts and seconds.
var unseenLoads = [][2]int{{3, 90}, {5, 70}, {3, 150}, {12, 90}, {7, 150}, {3, 60}, {20, 80}}

// trueNumbers reports whether what a finding says of its members, and of the others, is within 8 % of what they had in
// the time of the fault.
func (r *simRun) trueNumbers(f *Finding) bool {
	if f.Measure == "iops" || f.Own == nil || f.Others == nil {
		return true
	}
	var own, others fiohist.Hist
	for t, q := range r.intervals {
		in := t >= r.from && t < r.to
		for i := range q.Leaves {
			bad := r.bad == nil || slices.Contains(r.bad, q.Leaves[i].Dims.Host)
			switch {
			case bad && in:
				own.AddHist(q.Leaves[i].Hist)
			case !bad && in, r.bad == nil:
				others.AddHist(q.Leaves[i].Hist)
			}
		}
	}
	p := map[string]float64{"p50": 50, "p99": 99}[f.Measure]
	for said, hist := range map[*float64]*fiohist.Hist{f.Own: &own, f.Others: &others} {
		s := hist.Stats(r.run.Geometry, []float64{p}, fiohist.Limits{})
		if math.Abs(math.Log(*said/s.Percentiles[0])) > math.Log(1.08) {
			return false
		}
	}
	return true
}

// TestUnseen prints how many faults of each kind are found on unseen devices, and how many quiet runs have findings.
func TestUnseen(t *testing.T) {
	n := draws(t, 1)
	var all, three tally
	verbose := os.Getenv("FIOLAT_DIAGNOSE_VERBOSE") != ""
	sayAll := func(run *simRun, what string, v verdict) {
		if verbose && (!v.first || v.findings > 1) {
			t.Logf("%s, %d hosts, right %v: %v %d-%d: %s", what, len(run.hosts), v.right, run.bad, run.from, run.to,
				strings.Join(v.said, " | "))
		}
	}
	for k := range unseenFaults {
		f := &unseenFaults[k]
		var kind tally
		for d := range unseen {
			for seed := range n {
				load := unseenLoads[(seed*3+d+k)%len(unseenLoads)]
				run := draw(uint64(5_000_000+seed*10000+k*100+d), &unseen[d], f, load[0], load[1])
				found, findings := findingsOf(t, run)
				v := run.judge(f, found)
				v.untrue = f.every == 0 && !f.ramp && v.right && !run.trueNumbers(&findings[v.at])
				kind.add(v)
				if load[0] == 3 && run.bad != nil {
					three.add(v)
				}
				sayAll(run, f.name+", "+unseen[d].name, v)
			}
		}
		t.Logf("%-26s %v", f.name, &kind)
		all.join(&kind)
	}
	quiet, anything := 0, 0
	for d := range unseen {
		for seed := range 4 * n {
			load := unseenLoads[(seed+d)%len(unseenLoads)]
			run := draw(uint64(6_000_000+seed*100+d), &unseen[d], nil, load[0], load[1])
			found, _ := findingsOf(t, run)
			v := run.judge(nil, found)
			quiet, anything = quiet+1, anything+btoi(v.findings > 0)
			if v.findings > 0 {
				sayAll(run, "quiet, "+unseen[d].name, v)
			}
		}
	}
	t.Logf("all: %v", &all)
	t.Logf("one of three hosts: %v", &three)
	t.Logf("quiet: %d of %d have a finding (%.1f %%)", anything, quiet, 100*float64(anything)/float64(quiet))
}

// tally counts verdicts.
type tally struct {
	runs, right, first, others, untrue int
	words                              []int
}

func (y *tally) add(v verdict) {
	y.runs++
	y.right, y.first = y.right+btoi(v.right), y.first+btoi(v.first)
	y.others, y.untrue = y.others+btoi(v.others), y.untrue+btoi(v.untrue)
	y.words = append(y.words, v.words...)
}

func (y *tally) join(o *tally) {
	y.runs, y.right, y.first = y.runs+o.runs, y.right+o.right, y.first+o.first
	y.others, y.untrue, y.words = y.others+o.others, y.untrue+o.untrue, append(y.words, o.words...)
}

func (y *tally) String() string {
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(y.runs, 1)) }
	slices.Sort(y.words)
	words := 0
	if len(y.words) > 0 {
		words = y.words[len(y.words)/2]
	}
	return fmt.Sprintf("%d runs: right %.0f %%, first %.0f %%, others named %.1f %%, numbers not true in %d of %d, "+
		"%d words", y.runs, percent(y.right), percent(y.first), percent(y.others), y.untrue, y.right, words)
}
