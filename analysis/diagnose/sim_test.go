package diagnose

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

const second = int64(1e9)

// draws is how many runs are drawn of each kind.
func draws(t *testing.T, few int) int {
	t.Helper()
	testkit.Simulation(t)
	return testkit.Size(t, few)
}

// device is a made-up device: ns returns the latency of an I/O of a host, and second is called at the start of each.
type device struct {
	name   string
	ios    float64 // per second and host
	ns     func(rng *rand.Rand, s *state) float64
	second func(rng *rand.Rand, s *state)
}

// state is what changes in a host from second to second.
type state struct {
	own  float64 // of the host, about 1
	slow float64 // of this second
	bad  bool

	host, t int     // t counts seconds from 1 on
	phase   float64 // of the host, from 0 to 1
	aux     float64 // a device's own
	paced   float64 // I/Os per second as a share of what the device does at slow 1; 0: as the latency leaves
}

func logNormal(rng *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*rng.NormFloat64())
}

// bursts are seconds in which a host is slow: each begins with a probability and goes on with another.
func bursting(begins, goesOn, factor float64) func(*rand.Rand, *state) {
	return func(rng *rand.Rand, s *state) {
		s.bad = rng.Float64() < begins || s.bad && rng.Float64() < goesOn
		if s.slow = 1; s.bad {
			s.slow = factor
		}
	}
}

// wandering is a walk of steps that is pulled back to 1.
func wandering(step, back float64) func(*rand.Rand, *state) {
	return func(rng *rand.Rand, s *state) {
		if s.slow == 0 {
			s.slow = 1
		}
		s.slow *= math.Exp(step*rng.NormFloat64() - back*math.Log(s.slow))
	}
}

func plain(median, sigma float64) func(*rand.Rand, *state) float64 {
	return func(rng *rand.Rand, s *state) float64 { return logNormal(rng, median*s.own*s.slow, sigma) }
}

// mixed has a share of I/Os that are slower by a factor.
func mixed(median, sigma, share, factor float64) func(*rand.Rand, *state) float64 {
	return func(rng *rand.Rand, s *state) float64 {
		ns := logNormal(rng, median*s.own*s.slow, sigma)
		if rng.Float64() < share {
			ns *= factor
		}
		return ns
	}
}

var simDevices = []device{
	{"calm", 300, plain(2e6, 0.4), bursting(0, 0, 1)},
	{"SSD with pauses", 400, mixed(0.5e6, 0.3, 0.01, 20), bursting(0.1, 0.2, 1.3)},
	{"disk", 150, plain(8e6, 0.7), bursting(0.05, 0.3, 1.5)},
	{"cache", 400, mixed(0.1e6, 0.3, 0.4, 60), bursting(0, 0, 1)},
	{"noisy neighbours", 300, plain(1e6, 0.5), bursting(0.05, 0.6, 3)},
	{"network", 300, mixed(0.8e6, 0.2, 0.003, 250), bursting(0, 0, 1)},
	{"drift", 300, plain(3e6, 0.5), wandering(0.03, 0.03)},
}

// heldOut are devices for which nothing in the search was chosen.
var heldOut = []device{
	{"write-back cache", 500, plain(0.3e6, 0.35), bursting(0.07, 0.7, 4)},
	{"retransmits", 300, mixed(1.2e6, 0.25, 0.002, 170), bursting(0.03, 0.3, 1.2)},
	{"hit or miss", 400, mixed(0.12e6, 0.4, 0.55, 45), bursting(0.04, 0.5, 1.3)},
	{"heavy tail", 250, func(rng *rand.Rand, s *state) float64 { // Pareto
		return 1.5e6 * s.own * s.slow * math.Pow(1-rng.Float64(), -1/2.2)
	}, bursting(0, 0, 1)},
	{"garbage collection", 400, mixed(0.2e6, 0.3, 0.02, 25), func(rng *rand.Rand, s *state) {
		if s.slow = 1; rng.Float64() < 0.15 {
			s.slow += rng.ExpFloat64()
		}
	}},
	{"few I/Os", 60, plain(6e6, 0.6), bursting(0.03, 0.3, 1.4)},
	{"slow breathing", 300, plain(2e6, 0.4), wandering(0.02, 0.05)},
}

// simFault is something that happens to some hosts, or to all, from and to shares of the run.
type simFault struct {
	name        string
	hosts       float64 // share of them; 0: one, 1: all
	from, to    float64 // of the run, each drawn in a tenth before
	factor      float64 // of all I/Os
	share, slow float64 // of some I/Os, and their factor
	intervals   int     // instead of to
	every       int     // seconds
	rest        float64 // I/Os per second that are left; 0: as the latency leaves
	ramp        bool    // factor is reached at the end, evenly
}

var simFaults = []simFault{
	{name: "host x1.3 all run", to: 1, factor: 1.3},
	{name: "host x2 all run", to: 1, factor: 2},
	{name: "third x1.6 all run", hosts: 0.3, to: 1, factor: 1.6},
	{name: "host's tail all run", to: 1, factor: 1, share: 0.03, slow: 15},
	{name: "host x2 to the end", from: 0.5, to: 1, factor: 2},
	{name: "host x3 for a while", from: 0.3, to: 0.7, factor: 3},
	{name: "host x1.6 for a while", from: 0.3, to: 0.8, factor: 1.6},
	{name: "host's tail for a while", from: 0.4, to: 0.8, factor: 1, share: 0.05, slow: 20},
	{name: "host x5 for 5 s", from: 0.6, intervals: 5, factor: 5},
	{name: "host slow at first", to: 0.4, factor: 2},
	{name: "host throttled", from: 0.3, to: 0.7, factor: 4, rest: 0.25},
	{name: "third x2 for a while", hosts: 0.3, from: 0.3, to: 0.7, factor: 2},
	{name: "all x1.5 to the end", hosts: 1, from: 0.5, to: 1, factor: 1.5},
	{name: "all x2 for a while", hosts: 1, from: 0.4, to: 0.7, factor: 2},
	{name: "all x2 in the last tenth", hosts: 1, from: 0.95, to: 1, factor: 2},
	{name: "all slow at first", hosts: 1, to: 0.25, factor: 2},
	{name: "all's tail to the end", hosts: 1, from: 0.5, to: 1, factor: 1, share: 0.03, slow: 15},
	{name: "all x4 for 2 s", hosts: 1, from: 0.7, intervals: 2, factor: 4},
	{name: "all x3 every 10 s", hosts: 1, to: 1, factor: 3, every: 10},
	{name: "all x3 every 7 s", hosts: 1, from: 0.2, to: 1, factor: 3, every: 7},
}

// simRun is a run of some hosts with a fault, as a pipeline.Sink sees it.
type simRun struct {
	hosts     []string
	bad       []string // nil: all
	from, to  int
	run       *pipeline.Run
	intervals []*pipeline.Interval
}

func draw(seed uint64, dev *device, f *simFault, hosts, seconds int) *simRun {
	rng := rand.New(rand.NewPCG(seed, 2026))
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	r := &simRun{run: &pipeline.Run{ID: "sim", Geometry: g, Interval: second, Kind: fio.Clat}}
	states := make([]state, hosts)
	for i := range hosts {
		r.hosts = append(r.hosts, fmt.Sprintf("h%02d", i))
		states[i].own = math.Exp(0.03 * rng.NormFloat64())
	}
	faulty := make([]bool, hosts)
	if f != nil {
		n := max(int(math.Round(f.hosts*float64(hosts))), 1)
		for _, i := range rng.Perm(hosts)[:n] {
			faulty[i] = true
			r.bad = append(r.bad, r.hosts[i])
		}
		if slices.Sort(r.bad); n == hosts {
			r.bad = nil
		}
		jitter := func(at float64) int {
			if at > 0 && at < 1 {
				at -= 0.1 * rng.Float64() * min(at, 1-at)
			}
			return int(math.Round(at * float64(seconds)))
		}
		r.from, r.to = jitter(f.from), jitter(f.to)
		if f.intervals > 0 {
			r.to = r.from + f.intervals
		}
	}
	for t := range seconds {
		q := &pipeline.Interval{Offset: int64(t) * second}
		for i := range states {
			s := &states[i]
			s.host, s.t, s.phase = i, t+1, math.Mod(float64(seed)*0.3819660113+float64(i)*0.6180339887, 1)
			dev.second(rng, s)
			on := faulty[i] && t >= r.from && t < r.to && (f.every == 0 || (t-r.from)%f.every == 0)
			mean, factor := 1.0, 1.0
			if on {
				if factor = f.factor; f.ramp {
					factor = 1 + (factor-1)*float64(t-r.from)/float64(r.to-r.from)
				}
				mean = factor * (1 + f.share*(f.slow-1))
			}
			ios := dev.ios * 0.5 / s.own / s.slow / mean // closed loop
			if s.paced > 0 {
				ios = min(ios, dev.ios*0.5*s.paced)
			}
			if on && f.rest > 0 {
				ios = dev.ios * 0.5 * f.rest
			}
			ios *= math.Exp(0.03 * rng.NormFloat64())
			h := new(fiohist.Hist)
			for range max(int(ios), 1) {
				ns := dev.ns(rng, s) * factor
				if on && rng.Float64() < f.share {
					ns *= f.slow
				}
				h.Add(g.Index(int64(ns)), 1)
			}
			q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Host: r.hosts[i], Job: "job",
				Log: r.hosts[i] + ".log", Direction: "read"}, Hist: h})
		}
		r.intervals = append(r.intervals, q)
	}
	return r
}

// pass gives the run to a sink.
func (r *simRun) pass(ctx context.Context, sink pipeline.Sink) error {
	if err := sink.Begin(ctx, r.run); err != nil {
		return err
	}
	for _, q := range r.intervals {
		if err := sink.Interval(ctx, q); err != nil {
			return err
		}
	}
	return sink.End(ctx, &pipeline.Summary{Intervals: len(r.intervals), End: int64(len(r.intervals)) * second})
}

// verdict is what a diagnosis says of a simulated run.
type verdict struct {
	right, first, others bool
	at                   int  // the right finding
	untrue               bool // its numbers are wrong
	findings             int
	words                []int
	said                 []string
}

// judge compares findings with the fault: its hosts, or all, at a time of which half is right.
func (r *simRun) judge(f *simFault, found []judged) (v verdict) {
	for i, one := range found {
		v.findings++
		v.words = append(v.words, len(strings.Fields(one.text)))
		v.said = append(v.said, one.text)
		from, to := max(one.from, r.from), min(one.to, r.to)
		timely := 2*(to-from) >= max(min(r.to-r.from, one.to-one.from), 1) && 3*(r.to-r.from) >= one.to-one.from-6
		right := f != nil && timely && (f.every > 0) == one.period
		if f != nil && r.bad != nil {
			right = right && len(one.who) > 0 && !slices.ContainsFunc(one.who, func(h string) bool {
				return !slices.Contains(r.bad, h)
			}) && 3*len(one.who) >= 2*len(r.bad)
		} else {
			right = right && len(one.who) == 0
		}
		if right && !v.right {
			v.right, v.at = true, i
		}
		v.first = v.first || right && i == 0
		for _, h := range one.who {
			v.others = v.others || f == nil || !slices.Contains(r.bad, h)
		}
	}
	return v
}

// TestSimulated prints how many faults of each kind are found, and how many quiet runs have findings.
func TestSimulated(t *testing.T) {
	t.Run("devices", func(t *testing.T) { simulated(t, simDevices) })
	t.Run("held out", func(t *testing.T) { simulated(t, heldOut) })
}

func simulated(t *testing.T, devices []device) {
	n := draws(t, 1)
	if only := os.Getenv("FIOLAT_DIAGNOSE_DEVICE"); only != "" {
		devices = slices.DeleteFunc(slices.Clone(devices), func(d device) bool { return d.name != only })
	}
	verbose := os.Getenv("FIOLAT_DIAGNOSE_VERBOSE") != ""
	var words []int
	runs, right, first, others, findings := 0, 0, 0, 0, 0
	hosts, seconds := []int{4, 8, 16}, 100
	periods, periodic := 0, 0
	for k := range simFaults {
		f := &simFaults[k]
		r, fi, o := 0, 0, 0
		for d := range devices {
			for seed := range n {
				number := uint64(seed*10000 + k*100 + d)
				run := draw(number, &devices[d], f, hosts[(seed+d+k)%3], seconds)
				found, _ := findingsOf(t, run)
				v := run.judge(f, found)
				runs++
				r, fi, o, findings = r+btoi(v.right), fi+btoi(v.first), o+btoi(v.others), findings+v.findings
				words = append(words, v.words...)
				if f.every > 0 {
					periods, periodic = periods+1, periodic+btoi(v.right)
				}
				if verbose && (!v.first || v.findings > 1) {
					t.Logf("%s, %s, %d hosts, seed %d, right %v: %v %d-%d: %s", f.name,
						devices[d].name, len(run.hosts), seed, v.right,
						run.bad, run.from, run.to, strings.Join(v.said, " | "))
				}
			}
		}
		right, first, others = right+r, first+fi, others+o
		t.Logf("%-25s right %d, first %d of %d, others named %d", f.name, r, fi, n*len(devices), o)
	}
	quiet, anything, named := 0, 0, 0
	for d := range devices {
		said := 0
		for seed := range 3 * n {
			run := draw(uint64(900000+seed*100+d), &devices[d], nil, hosts[(seed+d)%3], seconds)
			found, _ := findingsOf(t, run)
			v := run.judge(nil, found)
			quiet++
			anything, named = anything+btoi(v.findings > 0), named+btoi(v.others)
			said += btoi(v.findings > 0)
			if verbose && v.findings > 0 {
				t.Logf("quiet, %s, %d hosts, seed %d: %s", devices[d].name, len(run.hosts), seed,
					strings.Join(v.said, " | "))
			}
		}
		t.Logf("quiet %-20s findings in %d of %d", devices[d].name, said, 3*n)
	}
	slices.Sort(words)
	percent := func(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
	if n > 1 && (percent(right, runs) < 92 || percent(first, runs) < 90 || percent(anything, quiet) > 18) {
		t.Error("want at least 92 % right, 90 % first, and at most 18 % of quiet runs with a finding")
	}
	t.Logf("%d runs: right %.1f %%, first %.1f %%, others named %.1f %%, %.2f findings a run, %d words (median), "+
		"periods %d of %d; %d quiet runs: anything %.1f %%, a host named %.1f %%", runs, percent(right, runs),
		percent(first, runs), percent(others, runs), float64(findings)/float64(runs), words[len(words)/2], periodic,
		periods,
		quiet, percent(anything, quiet), percent(named, quiet))
}
