package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio/fiohist"
)

// tailed are runs on devices with bursts of slow I/Os, of one second each or of many I/Os in turn. One host has a tail
// of its own.
type tailed struct {
	name        string
	hosts       int
	ios, quanta int     // of a host and second; seconds
	own         float64 // standard deviation between hosts, of logarithms
	start, stop float64 // probabilities per second
	times       float64 // as slow
	shared      bool    // all hosts have the same bursts
	turn        float64 // mean number of slow I/Os in turn: 1 % of all, by 20 ms on average
	share, more float64 // share of host 0's I/Os that take longer, by so many ns
}

var devices = []tailed{
	{name: "calm"},
	{name: "three times as slow for a second", start: 0.1, stop: 0.9, times: 3},
	{name: "three times as slow for seconds", start: 0.1, stop: 0.4, times: 3},
	{name: "ten times as slow for seconds", start: 0.02, stop: 0.3, times: 10},
	{name: "all hosts five times as slow", start: 0.1, stop: 0.5, times: 5, shared: true},
	{name: "10 slow I/Os in turn", turn: 10},
	{name: "100 slow I/Os in turn", turn: 100},
}

// wrong returns how many wrong findings are allowed, of 100: few, or more where bursts are rare and as long as what is
// looked for.
func (b *tailed) wrong(few int) int {
	switch {
	case b.turn == 100 && b.ios == 100:
		return 65
	case b.start == 0.02 && b.hosts == 5:
		return 90
	case b.start == 0.02:
		return 25
	}
	return few
}

// draw draws a run. naive is the host with the highest p99 of the whole run.
func (b *tailed) draw(rng *rand.Rand) (p *peers, naive string) {
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	p = newPeers(g, 0, second)
	whole := make([]fiohist.Hist, b.hosts)
	level, in, slow := make([]float64, b.hosts), make([]bool, b.hosts), make([]int, b.hosts)
	for h := range level {
		level[h] = math.Exp(b.own * rng.NormFloat64())
	}
	for q := range b.quanta {
		var leaves []leaf
		for h := range b.hosts {
			switch {
			case b.shared && h > 0:
				in[h] = in[0]
			case in[h]:
				in[h] = rng.Float64() >= b.stop
			default:
				in[h] = rng.Float64() < b.start
			}
			now := 1e6 * level[h] * math.Exp(0.1*rng.NormFloat64())
			if in[h] {
				now *= b.times
			}
			hist := new(fiohist.Hist)
			for range b.ios {
				ns := now * math.Exp(0.5*rng.NormFloat64())
				if b.turn > 0 && slow[h] == 0 && rng.Float64() < 0.01/b.turn {
					slow[h] = 1 + int(rng.ExpFloat64()*b.turn)
				}
				if slow[h] > 0 {
					slow[h]--
					ns += 20e6 * rng.ExpFloat64()
				}
				if h == 0 && rng.Float64() < b.share {
					ns += b.more
				}
				hist.Add(g.Index(int64(ns)), 1)
			}
			whole[h].AddHist(hist)
			name := fmt.Sprintf("h%02d", h)
			leaves = append(leaves, leaf{Direction: "read", By: [3]string{name, "job", name + ".log"}, Hist: hist})
		}
		p.Add(int64(q)*second, leaves)
	}
	most := 0.0
	for h := range whole {
		var r fiohist.Ranks
		r.Read(&whole[h], g)
		if _, v := r.Percentile(99); v > most {
			most, naive = v, fmt.Sprintf("h%02d", h)
		}
	}
	return p, naive
}

// TestTails: a host of which few I/Os are slow is named, at least where its p99 of the whole run is the highest.
func TestTails(t *testing.T) {
	t.Parallel()
	n := draws(t, 1)
	for _, f := range []struct{ share, more float64 }{{0.02, 20e6}, {0.005, 100e6}} {
		for _, load := range []struct{ hosts, ios int }{{5, 100}, {5, 500}, {16, 100}, {16, 500}} {
			for _, d := range devices {
				d.share, d.more, d.hosts, d.ios, d.own, d.quanta = f.share, f.more, load.hosts, load.ios, 0.05, 60
				var named, suspected, naive, others int
				for seed := range n {
					p, first := d.draw(rand.New(rand.NewPCG(uint64(seed), 7)))
					naive += btoi(first == "h00")
					right, wrong := false, false
					for _, s := range p.Stragglers() {
						right, wrong = right || s.Value == "h00", wrong || s.Value != "h00"
					}
					named, others = named+btoi(right), others+btoi(wrong)
					suspected += btoi(p.suspect != nil && p.suspect.Value == "h00")
				}
				name := fmt.Sprintf("%v %% by %v ms, %d hosts, %d I/Os a second, %s", f.share*100, f.more/1e6,
					load.hosts, load.ios, d.name)
				t.Logf("%s: named %d, suspected %d, the highest p99 %d, others named %d of %d", name, named, suspected,
					naive, others, n)
				if n >= 20 && (100*(named+suspected) < 100*naive-10*n || others*100 > d.wrong(8)*n) {
					t.Errorf("%s: named %d, suspected %d, the highest p99 %d, others named %d of %d", name, named,
						suspected, naive, others, n)
				}
			}
		}
	}
}

// TestNoTails: hosts that differ by chance are named or suspected as rarely as the odds say.
func TestNoTails(t *testing.T) {
	t.Parallel()
	n := draws(t, 1)
	for _, own := range []float64{0, 0.05, 0.1, 0.2, 0.3} {
		runs, named, suspected, likely := 0, 0, 0, 0
		for _, hosts := range []int{4, 8, 16, 40} {
			for _, d := range devices {
				d.hosts, d.ios, d.own, d.quanta = hosts, 100, own, 60
				for seed := range n {
					p, _ := d.draw(rand.New(rand.NewPCG(uint64(seed), uint64(hosts))))
					runs++
					if leads := p.leads(); len(leads) > 0 {
						named += btoi(leads[0].p <= falseDiscoveries)
						likely += btoi(leads[0].p <= 0.05)
						suspected += btoi(leads[0].p <= suspicion)
						if leads[0].p <= suspicion {
							t.Logf("%d hosts, %s: %v %+v", hosts, d.name, leads[0].p, *leads[0].details(1, 60))
						}
					}
				}
			}
		}
		t.Logf("medians differ by %v: named in %d, suspected in %d, of them at 19 : 1 or more %d of %d", own, named,
			suspected, likely, runs)
		most := int(suspicion * float64(runs))
		if runs >= 500 && (200*named > 3*runs || 20*likely > runs && own < 0.3 || suspected > most) {
			t.Errorf("medians differ by %v: named in %d, suspected in %d of %d", own, named, suspected, runs)
		}
	}
}

// TestNobodyInBursts: devices that have bursts all the time have no stragglers.
func TestNobodyInBursts(t *testing.T) {
	t.Parallel()
	n := draws(t, 1)
	for _, load := range []struct{ hosts, ios int }{{5, 100}, {16, 100}, {16, 500}} {
		for _, d := range devices {
			d.hosts, d.ios, d.own, d.quanta = load.hosts, load.ios, 0.05, 60
			wrong := 0
			for seed := range n {
				p, _ := d.draw(rand.New(rand.NewPCG(uint64(seed), 9)))
				wrong += btoi(len(p.Stragglers()) > 0)
			}
			t.Logf("%d hosts, %d I/Os a second, %s: somebody named in %d of %d", d.hosts, d.ios, d.name, wrong, n)
			if n >= 20 && wrong*100 > d.wrong(8)*n {
				t.Errorf("%d hosts, %d I/Os a second, %s: somebody named in %d of %d", d.hosts, d.ios, d.name, wrong, n)
			}
		}
	}
}

// TestSuspect: who leads too little to be named is suspected, unless somebody is named.
func TestSuspect(t *testing.T) {
	d := devices[0]
	d.hosts, d.ios, d.quanta, d.own, d.more = 5, 100, 60, 0.05, 100e6
	for _, c := range []struct {
		share          float64
		named, suspect bool
	}{{0, false, false}, {0.002, false, true}, {0.02, true, false}} {
		d.share = c.share
		p, _ := d.draw(rand.New(rand.NewPCG(0, 7)))
		named := p.Stragglers()
		if len(named) > 0 != c.named || p.suspect != nil != c.suspect {
			t.Errorf("%v: %+v, suspect %+v", c.share, named, p.suspect)
		}
		for _, s := range named {
			if s.Value != "h00" || s.Ranked == nil || s.Recovered || s.P > falseDiscoveries {
				t.Errorf("%v: %+v", c.share, s)
			}
		}
		if p.suspect != nil && (p.suspect.Value != "h00" || p.suspect.P <= falseDiscoveries) {
			t.Errorf("%v: %+v", c.share, p.suspect)
		}
	}
	s := Straggler{Dimension: "host", Value: "h7", Direction: "read", Percentile: 99, Share: 0.295, Expected: 0.2,
		P: 0.0447, Ranked: &Ranked{By: "p99.9", Highest: 24, Quanta: 60, Peers: 5, Factor: 2.1}}
	want := "Likeliest suspect: host h7, which has the highest p99.9 of 5 in 24 of 60 quanta, and 29.5 % of the reads " +
		"above p99 where 20 % were expected; chance alone lets anybody lead like this in 1 of 22 runs (odds 21 : 1)."
	if got := s.suspicion(); got.Text != want || got.About != "suspect" {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// TestRankedLogs: of a host and its logs, the log is named if it alone has the tail.
func TestRankedLogs(t *testing.T) {
	for _, c := range []struct {
		name string
		slow int // logs of host 0
		want string
	}{{"one log of three", 1, "log h0.0"}, {"the whole host", 3, "host h0"}} {
		rng := rand.New(rand.NewPCG(1, 8))
		g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
		p := newPeers(g, 0, second)
		for q := range 40 {
			var leaves []leaf
			for h := range 6 {
				for l := range 3 {
					hist := new(fiohist.Hist)
					for range 200 {
						ns := 1e6 * math.Exp(0.5*rng.NormFloat64())
						if h == 0 && l < c.slow && rng.Float64() < 0.02 {
							ns += 20e6
						}
						hist.Add(g.Index(int64(ns)), 1)
					}
					by := [3]string{fmt.Sprintf("h%d", h), "job", fmt.Sprintf("h%d.%d", h, l)}
					leaves = append(leaves, leaf{Direction: "read", By: by, Hist: hist})
				}
			}
			p.Add(int64(q)*second, leaves)
		}
		ranked, _ := p.inRanks(nil)
		var got []string
		for _, l := range ranked {
			got = append(got, dimensions[l.group.dimension]+" "+l.group.values[l.value])
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: named %q, want %s", c.name, got, c.want)
		}
	}
}
