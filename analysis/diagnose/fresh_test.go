package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// fresh are 22 kinds of devices for which nothing in the search was chosen: they were written before it was run on
// them. Hosts of most are at times slow by nature, each at its own.
var fresh = []freshDevice{
	{device: device{"collecting SSD", 500, mixed(0.2e6, 0.3, 0.01, 12), pausing(1.0/45, 1, 3, 2.5)}},
	{device: device{"collecting SSD, its tail", 500, func(rng *rand.Rand, s *state) float64 {
		ns := logNormal(rng, 0.15e6*s.own, 0.3)
		if rng.Float64() < 0.004+0.05*float64(btoi(s.bad)) {
			ns *= 25
		}
		return ns
	}, pausing(1.0/25, 1, 2, 1.4)}},
	{device: device{"shingled disk, bands", 140, plain(7e6, 0.5), pausing(1.0/60, 6, 20, 2.2)}},
	{device: device{"shingled disk, zones", 160, mixed(5e6, 0.4, 0.05, 5), pausing(1.0/30, 3, 8, 1.8)}},
	{device: device{"credits", 400, plain(0.8e6, 0.3), func(_ *rand.Rand, s *state) {
		// gone at half a minute, a few seconds apart
		if s.slow, s.paced = 1, 0; float64(s.t) > 28+5*s.phase {
			s.slow, s.paced = 2.5, 0.4
		}
	}}, from: 28},
	{device: device{"credits that are refilled", 400, plain(0.9e6, 0.3), pausing(1.0/35, 4, 5, 2)}},
	{device: device{"cap of I/Os", 600, func(rng *rand.Rand, s *state) float64 { // tokens come every 0.1 s
		ns := logNormal(rng, 0.4e6*s.own, 0.3)
		if rng.Float64() < 0.06 {
			ns += 100e6 * rng.Float64()
		}
		return ns
	}, pacing(0.7)}},
	{device: device{"cap of bandwidth, shared", 300, plain(2e6, 0.4), wandering(0.06, 0.2)}},
	{device: device{"retransmits, rare", 350, mixed(0.9e6, 0.25, 0.0025, 220), bursting(0, 0, 1)}},
	{device: device{"retransmits, in runs", 350, func(rng *rand.Rand, s *state) float64 {
		ns := logNormal(rng, 0.9e6*s.own, 0.25)
		if rng.Float64() < 0.001+0.03*float64(btoi(s.bad)) {
			ns += 200e6
		}
		return ns
	}, bursting(0.03, 0.3, 1.1)}},
	{device: device{"flushes, each host at its own time", 400, plain(0.5e6, 0.35), every(15, 2, 3)}, every: 15},
	{device: device{"checkpoints, each host at its own time", 300, plain(1.2e6, 0.4), every(22, 3, 2)}, every: 22},
	{device: device{"compaction in levels", 300, plain(1.1e6, 0.4), func(rng *rand.Rand, s *state) {
		if s.aux += 0.02; rng.Float64() < s.aux/8 { // the longer ago, the likelier
			s.aux = 0
		}
		s.slow = 1 + s.aux
	}}},
	{device: device{"tiers that move", 320, func(rng *rand.Rand, s *state) float64 {
		if rng.Float64() < 0.2*s.slow {
			return logNormal(rng, 5e6*s.own, 0.35)
		}
		return logNormal(rng, 0.6e6*s.own, 0.3)
	}, wandering(0.08, 0.15)}},
	{device: device{"NVMe, tight", 900, mixed(0.07e6, 0.12, 0.02, 4), bursting(0.01, 0.1, 1.1)}},
	{device: device{"object store, few I/Os", 36, plain(30e6, 0.7), bursting(0.03, 0.4, 1.4)}},
	{device: device{"RAID that scrubs", 200, plain(6e6, 0.6), func(_ *rand.Rand, s *state) {
		s.slow = 1 + 0.25*float64(btoi((s.t+int(30*s.phase))%30 < 15))
	}}},
	{device: device{"noisy neighbours, of all", 300, plain(1e6, 0.5), func(rng *rand.Rand, s *state) {
		all := 1 + 0.15*math.Sin(float64(s.t)/4) + 0.1*math.Sin(float64(s.t)*1.7) // all hosts share what others do
		s.slow = all * math.Exp(0.12*rng.NormFloat64())
	}}},
	{device: device{"quorum of replicas", 300, func(rng *rand.Rand, s *state) float64 { // the second of three
		v := []float64{logNormal(rng, 1e6, 0.7), logNormal(rng, 1e6, 0.7), logNormal(rng, 1.3e6, 0.7)}
		slices.Sort(v)
		return v[1] * s.own * s.slow
	}, bursting(0.02, 0.2, 1.5)}},
	{device: device{"erasure code", 200, func(rng *rand.Rand, s *state) float64 { // the last of six
		most := 0.0
		for range 6 {
			most = max(most, rng.ExpFloat64())
		}
		return 2e6 * s.own * s.slow * most
	}, bursting(0.02, 0.3, 1.4)}},
	{device: device{"hits, misses and a queue", 350, func(rng *rand.Rand, s *state) float64 {
		ns := logNormal(rng, 0.1e6*s.own, 0.3)
		if rng.Float64() < 0.35 {
			ns = logNormal(rng, 6e6*s.own*s.slow, 0.4)
		}
		return ns
	}, pausing(1.0/40, 2, 6, 1.6)}},
	{device: device{"throttles when hot", 500, plain(0.3e6, 0.3), func(rng *rand.Rand, s *state) { // in steps
		if rng.Float64() < 0.1 {
			s.aux = min(max(s.aux+float64(rng.IntN(3)-1), 0), 3)
		}
		s.slow = 1 + 0.08*s.aux
	}}},
}

// freshDevice is a device of which all hosts become slower at a time, in seconds, or every so many seconds, each at its
// own time; 0: never.
type freshDevice struct {
	device
	from, every int
}

// pausing is slow for from least to most seconds, at a rate per second, by a factor; aux is what is left.
func pausing(rate, least, most, factor float64) func(*rand.Rand, *state) {
	return func(rng *rand.Rand, s *state) {
		if s.aux--; s.aux <= 0 && rng.Float64() < rate {
			s.aux = least + (most-least)*rng.Float64()
		}
		s.bad = s.aux > 0
		if s.slow = 1; s.bad {
			s.slow = factor
		}
	}
}

// pacing caps I/Os per second.
func pacing(share float64) func(*rand.Rand, *state) {
	return func(_ *rand.Rand, s *state) { s.slow, s.paced = 1, share }
}

// every is slow by a factor for so many seconds of each period, at the host's own phase.
func every(period, long int, factor float64) func(*rand.Rand, *state) {
	return func(_ *rand.Rand, s *state) {
		if s.slow = 1; (s.t+int(s.phase*float64(period)))%period < long {
			s.slow = factor
		}
	}
}

var freshFaults = []simFault{
	{name: "host x1.4 all run", to: 1, factor: 1.4},
	{name: "host x3 all run", to: 1, factor: 3},
	{name: "host x2 from a third on", from: 0.35, to: 1, factor: 2},
	{name: "host x4 for a while", from: 0.4, to: 0.6, factor: 4},
	{name: "third x2.5 to the end", hosts: 0.3, from: 0.5, to: 1, factor: 2.5},
	{name: "host's tail all run", to: 1, factor: 1, share: 0.04, slow: 20},
	{name: "host's tail for a while", from: 0.5, to: 0.8, factor: 1, share: 0.08, slow: 15},
	{name: "host throttled for a while", from: 0.2, to: 0.6, factor: 5, rest: 0.2},
	{name: "host x6 for 6 s", from: 0.7, intervals: 6, factor: 6},
	{name: "host x5 every 12 s", to: 1, factor: 5, every: 12},
	{name: "host drifts to x4", to: 1, factor: 4, ramp: true},
	{name: "all x1.8 to the end", hosts: 1, from: 0.7, to: 1, factor: 1.8},
	{name: "all x3 for a while", hosts: 1, from: 0.3, to: 0.45, factor: 3},
	{name: "all x2 at first", hosts: 1, to: 0.2, factor: 2},
	{name: "all's tail to the end", hosts: 1, from: 0.6, to: 1, factor: 1, share: 0.04, slow: 20},
	{name: "all x5 for 3 s", hosts: 1, from: 0.6, intervals: 3, factor: 5},
	{name: "all x3 every 9 s", hosts: 1, to: 1, factor: 3, every: 9},
}

// freshLoads are pairs of hosts and seconds.
var freshLoads = [][2]int{{4, 100}, {6, 80}, {3, 120}, {10, 90}, {8, 140}, {16, 70}}

// without leaves out the findings that tell what the device does to all.
func (d *freshDevice) without(found []judged) []judged {
	return slices.DeleteFunc(found, func(j judged) bool {
		if len(j.who) == 0 && j.period {
			return strings.Contains(j.text, fmt.Sprintf(" every %d s, ", d.every))
		}
		return d.from > 0 && len(j.who) == 0 && !j.period && max(j.from, d.from)-min(j.from, d.from) <= 6
	})
}

// TestFresh prints for each fresh device how many faults of all kinds are found, and how many quiet runs say something
// false.
func TestFresh(t *testing.T) {
	n := draws(t, 1)
	verbose := os.Getenv("FIOLAT_DIAGNOSE_VERBOSE") != ""
	var all tally
	by := make([]tally, len(fresh))
	speak := make([][2]int, len(fresh)) // quiet runs that say something, of all
	for i := range 204 * n {
		d, f := i%len(fresh), &freshFaults[i%len(freshFaults)]
		load := freshLoads[(i/5)%len(freshLoads)]
		run := draw(uint64(7_000_000+i), &fresh[d].device, f, load[0], load[1])
		found, _ := findingsOf(t, run)
		v := run.judge(f, fresh[d].without(found))
		by[d].add(v)
		if verbose && (!v.first || v.others) {
			t.Logf("%s, %s, %d hosts, right %v: %v %d-%d: %s", f.name, fresh[d].name, load[0], v.right, run.bad, run.from,
				run.to, strings.Join(v.said, " | "))
		}
	}
	for i := range 234 * n {
		d := i % len(fresh)
		load := freshLoads[(i/3)%len(freshLoads)]
		run := draw(uint64(8_000_000+i), &fresh[d].device, nil, load[0], load[1])
		found, _ := findingsOf(t, run)
		v := run.judge(nil, fresh[d].without(found))
		speak[d][0] += btoi(v.findings > 0)
		speak[d][1]++
		if verbose && v.findings > 0 {
			t.Logf("quiet, %s, %d hosts, %d s: %s", fresh[d].name, load[0], load[1], strings.Join(v.said, " | "))
		}
	}
	quiet, said := 0, 0
	for d := range fresh {
		t.Logf("%-40s right %d, first %d, others named %d of %d; quiet: %d of %d speak", fresh[d].name, by[d].right,
			by[d].first, by[d].others, by[d].runs, speak[d][0], speak[d][1])
		all.join(&by[d])
		said, quiet = said+speak[d][0], quiet+speak[d][1]
	}
	t.Logf("all: %v", &all)
	t.Logf("quiet: %d of %d have a finding (%.1f %%)", said, quiet, 100*float64(said)/float64(quiet))
}
