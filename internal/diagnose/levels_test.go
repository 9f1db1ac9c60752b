package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio/fiohist"
)

// made are runs of hosts whose medians differ by a spread of their own, and from second to second by another.
type made struct {
	hosts, slow  int
	factor       float64
	own, seconds float64 // standard deviations, of logarithms
	bursty       bool
	prefix       string // of the slow hosts
	quanta       int
	ios          int
}

func (m *made) peers(rng *rand.Rand) *peers {
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	p := newPeers(g, 0, second)
	level := make([]float64, m.hosts)
	for h := range level {
		level[h] = math.Exp(m.own * rng.NormFloat64())
		if h < m.slow {
			level[h] *= m.factor
		}
	}
	for q := range m.quanta {
		var leaves []leaf
		for h := range m.hosts {
			now := 1e6 * level[h] * math.Exp(m.seconds*rng.NormFloat64())
			if m.bursty && rng.Float64() < 0.1 {
				now *= 3
			}
			hist := new(fiohist.Hist)
			for range m.ios {
				hist.Add(g.Index(int64(now*math.Exp(0.5*rng.NormFloat64()))), 1)
			}
			name := fmt.Sprintf("h%02d", h)
			if h < m.slow {
				name = m.prefix + name
			}
			leaves = append(leaves, leaf{Direction: "read", By: [3]string{name, "job", name + ".log"}, Hist: hist})
		}
		p.Add(int64(q)*second, leaves)
	}
	return p
}

// TestLevels: shares of slow hosts, for the whole run.
func TestLevels(t *testing.T) {
	t.Parallel()
	for _, m := range []made{
		{hosts: 5, slow: 2}, {hosts: 8, slow: 3}, {hosts: 10, slow: 4}, {hosts: 16, slow: 5}, {hosts: 16, slow: 8},
		{hosts: 20, slow: 12}, {hosts: 10, slow: 2},
	} {
		for _, m.factor = range []float64{1.5, 2, 5} {
			m.own, m.seconds, m.quanta, m.ios, m.prefix = 0.05, 0.1, 60, 50, "rack2-"
			n, named := draws(t, 2), 0
			for seed := range n {
				found := map[string]bool{}
				p := m.peers(rand.New(rand.NewPCG(uint64(seed), 21)))
				for _, l := range p.Levels() {
					for _, name := range l.Slow {
						found[name] = true
					}
					if l.Common != "rack2-h" && l.Common != "rack2-h0" {
						t.Errorf("they have %q in common", l.Common)
					}
				}
				for _, s := range p.Stragglers() {
					found[s.Value] = true
				}
				right := len(found) == m.slow
				for h := range m.slow {
					right = right && found[fmt.Sprintf("rack2-h%02d", h)]
				}
				named += btoi(right)
			}
			t.Logf("%d of %d hosts by %v: exactly these named in %d of %d", m.slow, m.hosts, m.factor, named, n)
			least := 85 // of 100; few hosts differ as much by chance
			switch {
			case m.hosts == 5 && m.factor < 5:
				least = 10
			case m.hosts == 8 && m.factor < 2:
				least = 40
			}
			if n >= 20 && named*100 < least*n {
				t.Errorf("%d of %d hosts by %v: named in %d of %d", m.slow, m.hosts, m.factor, named, n)
			}
		}
	}
}

// TestNoLevels: hosts that differ by chance have no levels.
func TestNoLevels(t *testing.T) {
	t.Parallel()
	for _, m := range []made{
		{own: 0.05, seconds: 0.1}, {own: 0.3, seconds: 0.1}, {own: 0.05, seconds: 0.5}, {own: 0.2, bursty: true},
	} {
		n, wrong := draws(t, 3), 0
		for _, m.hosts = range []int{4, 5, 8, 16, 40} {
			m.quanta, m.ios = 60, 30
			for seed := range n {
				if l := m.peers(rand.New(rand.NewPCG(uint64(seed), uint64(m.hosts)))).Levels(); len(l) > 0 {
					wrong++
					t.Logf("%d hosts: %+v", m.hosts, l)
				}
			}
		}
		t.Logf("hosts that differ by %v, and by %v over time, bursty %v: levels in %d of %d", m.own, m.seconds,
			m.bursty, wrong, 5*n)
		if wrong*100 > 5*n {
			t.Errorf("levels in %d of %d", wrong, 5*n)
		}
	}
}

// TestSameHosts: hosts with the same I/Os, as from copies of one log, have no levels.
func TestSameHosts(t *testing.T) {
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	p, hist := newPeers(g, 0, second), new(fiohist.Hist)
	hist.Add(1000, 30)
	for q := range int64(60) {
		var leaves []leaf
		for h := range 5 {
			leaves = append(leaves, leaf{Direction: "read", By: [3]string{fmt.Sprint(h), "job", "log"}, Hist: hist})
		}
		p.Add(q*second, leaves)
	}
	if l := p.Levels(); len(l) > 0 {
		t.Errorf("%+v", l)
	}
}
