package fiohist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/internal/testkit"
)

// bursty is a device with fast and slow I/Os, a share of them slow. Slow ones come in bursts; or, if memory is not 0,
// alone, but their share changes from second to second, as a first-order autoregressive process in logarithms.
type bursty struct {
	seconds, burst int
	share, memory  float64
}

const (
	rate               = 1700 // I/Os a second
	fast, slow, spread = 500e3, 10e6, 0.3
	phases             = 0.7 // standard deviation of the logarithm of the share, with memory
)

// truth is the quantile q of all I/Os of the device, in ns.
func (d bursty) truth(q float64) float64 {
	below := func(x, median float64) float64 { return math.Erfc(-math.Log(x/median)/spread/math.Sqrt2) / 2 }
	low, high := 1.0, 1e12
	for range 100 {
		middle := math.Sqrt(low * high)
		if (1-d.share)*below(middle, fast)+d.share*below(middle, slow) < q {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// run makes up a run: its I/Os, and how they are spread over the seconds.
func (d bursty) run(rng *rand.Rand, g Geometry) (*Hist, *Blocks) {
	all, b, left := new(Hist), new(Blocks), 0
	state := rng.NormFloat64()
	for range d.seconds {
		var h Hist
		begin := d.share / (float64(d.burst)*(1-d.share) + d.share) // of a burst, for an I/O outside
		if d.memory > 0 {
			begin = d.share * math.Exp(phases*state-phases*phases/2)
			state = d.memory*state + math.Sqrt(1-d.memory*d.memory)*rng.NormFloat64()
		}
		for range rate {
			if left == 0 && rng.Float64() < begin {
				left = d.burst
			}
			median := fast
			if left > 0 {
				left--
				median = slow
			}
			h.Add(g.Index(int64(median*math.Exp(spread*rng.NormFloat64()))), 1)
		}
		all.AddHist(&h)
		b.Add(&h, g)
	}
	return all, b
}

// TestBlocksCover counts how often the limits of whole runs enclose the true percentile of bursty devices.
func TestBlocksCover(t *testing.T) {
	t.Parallel()
	runs, least := testkit.Size(t, 40), 0.8
	if testkit.All() {
		least = 0.9
	}
	wanted := []float64{50, 99, 99.9}
	for _, tt := range []struct {
		name string
		bursty
		short bool // limits are at least so wide, and may cover less
	}{
		{"alone", bursty{30, 1, 0.02, 0}, false},
		{"bursts of 10", bursty{30, 10, 0.02, 0}, false},
		{"bursts of 100", bursty{30, 100, 0.02, 0}, false},
		{"bursts of 1000", bursty{30, 1000, 0.02, 0}, true},
		{"bursts of 10, 1 % slow", bursty{30, 10, 0.01, 0}, false},
		{"bursts of 100, 1 % slow", bursty{30, 100, 0.01, 0}, false},
		{"bursts of 1000, 300 s", bursty{300, 1000, 0.02, 0}, false},
		{"phases, 30 s", bursty{30, 1, 0.02, 0.8}, true},
		{"phases, 300 s", bursty{300, 1, 0.02, 0.8}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runs := runs
			if testing.Short() && tt.seconds >= 300 {
				runs /= 2
			}
			g := Geometry{GroupsV3, 0, 1}
			const independent, blocks = 0, 1
			var covered [2][3]int
			short := 0
			for n := range runs {
				h, b := tt.run(rand.New(rand.NewPCG(uint64(n), 61)), g)
				var r Ranks
				r.Read(h, g)
				s := r.Stats(wanted, Limits{})
				for way := range covered {
					if way == blocks {
						r.Widen(&s, wanted, b)
						short += map[bool]int{true: 1}[s.LimitsAtLeast]
					}
					for k, p := range wanted {
						truth := tt.truth(p / 100)
						if s.Lower[k] <= truth && (truth <= s.Upper[k] || s.Upper[k] == NoLimit) {
							covered[way][k]++
						}
					}
				}
			}
			text := ""
			for k, p := range wanted {
				share := float64(covered[blocks][k]) / float64(runs)
				text += fmt.Sprintf(" p%g %.3f (independent I/Os %.3f)", p, share,
					float64(covered[independent][k])/float64(runs))
				if share < least && !tt.short {
					t.Errorf("p%g: the limits of %.3f of %d runs cover the true one", p, share, runs)
				}
			}
			t.Logf("%s:%s, at least so wide in %.3f", tt.name, text, float64(short)/float64(runs))
		})
	}
}

// TestWiden wants the limits of independent I/Os where they are even, wider ones with a slow second in ten, and a run
// of few intervals called short.
func TestWiden(t *testing.T) {
	t.Parallel()
	g := Geometry{GroupsV3, 0, 1}
	for _, tt := range []struct {
		name                   string
		intervals, slow, every int
		wide, short            bool
	}{
		{"even", 100, 5, 1, false, false},
		{"every tenth second", 100, 50, 10, true, false},
		{"few seconds", 6, 5, 1, false, true},
		{"one second", 1, 5, 1, false, true},
		{"nothing", 0, 0, 1, false, false},
	} {
		var h Hist
		var b Blocks
		for q := range tt.intervals {
			var one Hist
			for i := range 200 {
				ns := int64(100_000 + 1000*i)
				if q%tt.every == 0 && i < tt.slow {
					ns = int64(10_000_000 + 100_000*i)
				}
				one.Add(g.Index(ns), 1)
			}
			h.AddHist(&one)
			b.Add(&one, g)
			b.Add(nil, g)
		}
		var r Ranks
		r.Read(&h, g)
		wanted := []float64{0, 50, 99, 100}
		before, s := r.Stats(wanted, Limits{}), r.Stats(wanted, Limits{})
		r.Widen(&s, wanted, &b)
		wide := s.Lower[2] < before.Lower[2] && (s.Upper[2] > before.Upper[2] || s.Upper[2] == NoLimit)
		if wide != tt.wide || s.LimitsAtLeast != tt.short || !tt.wide && fmt.Sprint(s.Lower, s.Upper) !=
			fmt.Sprint(before.Lower, before.Upper) {
			t.Errorf("%s: %v to %v, at least: %v; before: %v to %v", tt.name, s.Lower, s.Upper, s.LimitsAtLeast,
				before.Lower, before.Upper)
		}
	}
}
