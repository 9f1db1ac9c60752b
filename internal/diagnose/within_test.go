package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio/fiohist"
)

// madeUp is a made-up device with a load.
type madeUp struct {
	name           string
	burst, goesOn  float64 // probabilities per second
	slow           float64 // of all I/Os in a burst
	tail, tailSlow float64 // share of I/Os, on average, and factor
	closed         bool    // slow I/Os delay the others
	ios            int     // per second
	most           int     // runs of 100 that seem to have something
	least          int     // changes of 100 that are found, by 1.5 or more
}

var madeUps = []madeUp{
	{name: "calm", ios: 300, most: 2, least: 95},
	{name: "calm, closed loop", ios: 300, closed: true, most: 2, least: 95},
	{name: "bursts of a second", burst: 0.1, slow: 3, ios: 300, most: 4, least: 80},
	{name: "bursts of some seconds", burst: 0.05, goesOn: 0.6, slow: 3, ios: 300, most: 10, least: 55},
	{name: "bursts of some seconds, closed loop", burst: 0.05, goesOn: 0.6, slow: 3, closed: true, ios: 300, most: 10,
		least: 40},
	{name: "rare bursts", burst: 0.02, goesOn: 0.5, slow: 2, ios: 300, most: 25, least: 80},
	{name: "p99 on the knee of a tail of 1 %", tail: 0.01, tailSlow: 20, ios: 300, most: 2, least: 90},
	{name: "p99 just below a tail", tail: 0.006, tailSlow: 20, ios: 1000, most: 2, least: 90},
	{name: "tail of 1 % that varies", tail: 0.01, tailSlow: 10, burst: 0.2, goesOn: 0.5, slow: 1.2, ios: 500, most: 2,
		least: 85},
}

// trouble is what happens from second at on: latency is a multiple, and only a share of the I/Os is done.
type trouble func(at float64) (slow, rest float64)

// run draws a run of n seconds.
func (m *madeUp) run(rng *rand.Rand, n int, f trouble) *timeline {
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	tl := newTimeline(g, 0, second)
	bad := false
	for q := range n {
		bad = rng.Float64() < m.burst || bad && rng.Float64() < m.goesOn
		slow := 1.0
		if bad {
			slow = m.slow
		}
		h := new(fiohist.Hist)
		tail := m.tail * math.Exp(0.5*rng.NormFloat64())
		const parts = 10 // of a second
		for i := range parts {
			more, rest := 1.0, 1.0
			if f != nil {
				more, rest = f(float64(q) + float64(i)/parts)
			}
			ios := float64(m.ios) / parts * rest
			if m.closed {
				ios /= slow * more
			}
			for range repeats(rng, ios) {
				ns := 1e6 * slow * more * math.Exp(0.5*rng.NormFloat64())
				if rng.Float64() < tail {
					ns *= m.tailSlow
				}
				h.Add(g.Index(int64(ns)), 1)
			}
		}
		tl.Add(int64(q)*second, []leaf{{Direction: "read", Hist: h}})
	}
	return tl
}

// change is something that happens to a run of so many seconds.
type change struct {
	name string
	kind string // of the segment; a shift is an incident, too
	draw func(rng *rand.Rand, length, factor float64) (from, to float64, f trouble)
}

// slower is factor times the latency from from to to.
func slower(from, to, factor float64) trouble {
	return func(at float64) (float64, float64) {
		if from <= at && at < to {
			return factor, 1
		}
		return 1, 1
	}
}

var changes = []change{
	{"to the end", Incident, func(rng *rand.Rand, length, factor float64) (float64, float64, trouble) {
		from := length * (0.1 + 0.5*rng.Float64())
		return from, length, slower(from, length, factor)
	}},
	{"for a while", Incident, func(rng *rand.Rand, length, factor float64) (float64, float64, trouble) {
		from := length * (0.1 + 0.5*rng.Float64())
		to := from + length*(0.1+0.5*rng.Float64())
		if to > 0.95*length {
			to = length
		}
		return from, to, slower(from, to, factor)
	}},
	{"ramp", Ramp, func(rng *rand.Rand, length, factor float64) (float64, float64, trouble) {
		from := length * (0.1 + 0.3*rng.Float64())
		to := from + length*(0.2+0.4*rng.Float64())
		return from, to, rising(from, to, factor)
	}},
	{"ramp over the run", Ramp, func(_ *rand.Rand, length, factor float64) (float64, float64, trouble) {
		return 0, length, rising(0, length, factor)
	}},
	{"period of 10 s", Period, func(rng *rand.Rand, length, factor float64) (float64, float64, trouble) {
		from := 10 * rng.Float64()
		return from, from + 10*math.Floor((length-from-1)/10) + 1, again(from, 10, factor, 1)
	}},
	{"period of 7.3 s, half of the run", Period, func(rng *rand.Rand, length, factor float64) (float64, float64,
		trouble) {
		from := length * (0.1 + 0.3*rng.Float64())
		to := from + 7.3*8 + 1
		f := again(from, 7.3, factor, 1)
		return from, to, func(at float64) (float64, float64) {
			if at > to {
				return 1, 1
			}
			return f(at)
		}
	}},
	{"stalls every 10 s", Period, func(rng *rand.Rand, length, _ float64) (float64, float64, trouble) {
		from := 10 * rng.Float64()
		return from, from + 10*math.Floor((length-from-1)/10) + 1, again(from, 10, 1, 0)
	}},
}

// rising is a latency that rises from 1 to factor times from from to to.
func rising(from, to, factor float64) trouble {
	return func(at float64) (float64, float64) {
		return math.Pow(factor, min(max((at-from)/(to-from), 0), 1)), 1
	}
}

// again is factor times the latency and a share of the I/Os for a second every so many seconds.
func again(from, every, factor, rest float64) trouble {
	return func(at float64) (float64, float64) {
		if at >= from && math.Mod(at-from, every) < 1 {
			return factor, rest
		}
		return 1, 1
	}
}

// TestWithin prints the rows of docs/data/changes.csv: changes that are found, with their times within two quanta, and
// what is found besides.
func TestWithin(t *testing.T) {
	t.Parallel()
	n := draws(t, 1)
	for _, c := range changes {
		for _, m := range madeUps {
			row, sum := "", 0
			factors := []float64{1.5, 2, 3, 5}
			if n == 1 {
				factors = []float64{3}
			}
			for _, factor := range factors {
				found, timely, others := 0, 0, 0
				for seed := range n {
					rng := rand.New(rand.NewPCG(uint64(seed), 41))
					from, to, f := c.draw(rng, 120, factor)
					text, hit, near := "", false, false
					for _, s := range m.run(rng, 120, f).troubles() {
						text += fmt.Sprintf(" %s %d-%d", s.kind, s.from, s.to)
						kind := s.kind == c.kind || c.kind == Incident && s.kind == Shift
						switch a, b := float64(s.from), float64(s.to); {
						case min(b, to)-max(a, from) > 0.5*(to-from) && kind:
							hit = true
							near = near || math.Abs(a-from) <= 2 && math.Abs(b-to) <= 2
						case a > to+2 || b < from-2:
							others++
						}
					}
					found, timely = found+btoi(hit), timely+btoi(near)
					if !near {
						t.Logf("%s, %s, %g, run %d: %.1f to %.1f:%s", c.name, m.name, factor, seed, from, to, text)
					}
				}
				row, sum = row+fmt.Sprintf(" %d, %d, %d |", found, timely, others), sum+found
			}
			t.Logf("| %s | %s |%s", c.name, m.name, row)
			least := m.least
			if c.kind != Incident {
				least = 70 * btoi(m.burst+m.tail == 0)
			}
			if n >= 20 && sum*100 < least*4*n {
				t.Errorf("%s, %s: found %d of %d", c.name, m.name, sum, 4*n)
			}
		}
	}
}

// TestStationary: runs of two minutes of devices that do what they do all the time. A burst much longer or higher than
// the others is an incident.
func TestStationary(t *testing.T) {
	t.Parallel()
	n := draws(t, 4)
	for _, m := range madeUps {
		wrong := 0
		for seed := range n {
			tl := m.run(rand.New(rand.NewPCG(uint64(seed), 43)), 120, nil)
			if found := tl.troubles(); len(found) > 0 {
				wrong++
				t.Logf("%s, run %d: %v", m.name, seed, found)
			}
		}
		t.Logf("| %s | %d of %d", m.name, wrong, n)
		if n >= 20 && wrong*100 > m.most*n || wrong == n {
			t.Errorf("%s: something in %d of %d", m.name, wrong, n)
		}
	}
}

// troubles are the incidents, shifts and so on of a timeline.
func (tl *timeline) troubles() (out []part) {
	segments := tl.Segments(nil)
	for i, s := range segments {
		switch {
		case s.Kind == Incident:
			out = append(out, part{kind: s.Kind, window: window{int(s.FromMS / 1000), int(s.ToMS / 1000)}})
		case s.from != nil && found(shifts(segments[i:i+1])):
			to := segments[len(segments)-1].ToMS
			for _, o := range segments[i:] {
				if o.level > s.level {
					to = min(to, o.FromMS)
				}
			}
			switch s.Kind {
			case Ramp:
				to = s.rampTo
			case Period:
				to = s.ToMS
			}
			out = append(out, part{kind: s.Kind, window: window{int(s.FromMS / 1000), int(to / 1000)}})
		}
	}
	return out
}

func found(levels []changed, periods []Finding) bool { return len(levels)+len(periods) > 0 }
