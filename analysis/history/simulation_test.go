package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"fiolat/fio"
	"fiolat/internal/testkit"
)

// nights is a kind of made-up nights. Each has a spread of 5 % unless it says otherwise.
type nights struct {
	name string
	// rho is the correlation of a night with the next.
	rho float64
	// more is added to the logarithm of a night.
	more func(night int, rng *rand.Rand) float64
	// moves is set if the level does, for a week at a time: a night of it may be red.
	moves bool
	// spread is that of single nights, 0 for 5 %.
	spread float64
}

func bad(_ int, rng *rand.Rand) float64 {
	if rng.IntN(15) == 0 {
		return math.Log(1.3)
	}
	return 0
}

var kindsOfNights = []nights{
	{name: "independent"},
	{name: "correlated by 0.3", rho: 0.3},
	{name: "correlated by 0.5", rho: 0.5},
	{name: "correlated by 0.8", rho: 0.8},
	{name: "1 of 15 is 30 % slower", more: bad},
	{name: "correlated by 0.5, 1 of 15 is 30 % slower", rho: 0.5, more: bad},
	{name: "a season of +-6 %", rho: 0.3, more: func(n int, _ *rand.Rand) float64 {
		return 0.06 * math.Sin(2*math.Pi*float64(n)/365)
	}},
	{name: "weekends 6 % slower", more: func(n int, _ *rand.Rand) float64 { return 0.06 * float64(n%7/5) }},
	{name: "a drift of 10 % a year", rho: 0.3, more: func(n int, _ *rand.Rand) float64 {
		return 0.1 * float64(n) / 365
	}},
	{name: "heavy tails (t with 3 degrees of freedom)", spread: 0.001, more: func(_ int, rng *rand.Rand) float64 {
		x, y, z := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		return 0.05 * rng.NormFloat64() / math.Sqrt(x*x+y*y+z*z)
	}},
	{name: "a spread of 0.3 %", spread: 0.003},
	{name: "a spread of 2 %", spread: 0.02},
	{name: "a spread of 2 or 8 % by month", spread: 0.001, more: func(n int, rng *rand.Rand) float64 {
		return rng.NormFloat64() * []float64{0.02, 0.02, 0.02, 0.08}[n/30%4]
	}},
	{name: "CI-like: correlated by 0.4, heavy tails, 1 of 20 is up to 30 % slower", rho: 0.4, spread: 0.03,
		more: func(_ int, rng *rand.Rand) float64 {
			x, y, z := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			v := 0.05 * rng.NormFloat64() / math.Sqrt(x*x+y*y+z*z)
			if rng.IntN(20) == 0 {
				v += 0.3 * rng.Float64()
			}
			return v
		}},
	{name: "four bad weeks of 10 to 20 % a year", moves: true, more: func(n int, _ *rand.Rand) float64 {
		week := rand.New(rand.NewPCG(uint64(n/90), 11))
		if from, nights := 20+week.IntN(60), 5+week.IntN(3); n%90 < from || n%90 >= from+nights {
			return 0
		}
		return 0.1 + 0.1*week.Float64()
	}},
}

// job is a number of metrics of such nights, of which the first changes by a share at a night. The metrics are
// independent, which is the worst case for false changes.
type job struct {
	nights
	seed    uint64
	metrics int
	at      int
	change  float64
}

func (j job) series(runs int) (all []*Series) {
	spread := j.spread
	if spread == 0 {
		spread = 0.05
	}
	for k := range j.metrics {
		rng := rand.New(rand.NewPCG(j.seed, uint64(k)))
		values := make([]float64, runs)
		x := rng.NormFloat64()
		for i := range values {
			x = j.rho*x + math.Sqrt(1-j.rho*j.rho)*rng.NormFloat64()
			v := spread * x
			if j.more != nil {
				v += j.more(i, rng)
			}
			if k == 0 && i >= j.at {
				v += math.Log1p(j.change)
			}
			values[i] = 100 * math.Exp(v)
		}
		all = append(all, levelled(values))
	}
	return all
}

// watch returns the numbers of runs, from first to last, after which a gate fires.
type watch func(j job, first, last int) []int

// remembering is --fail-if-changed with --store or --state.
func remembering(j job, first, last int) (red []int) {
	all, reported := j.series(last), make([][]Reported, j.metrics)
	of, earliest := fio.Metric{Direction: "read", Name: "iops"}, make([]int, j.metrics)
	for k, s := range all { // later runs change no alarm
		earliest[k] = last
		if alarms := newAnalysis(s, of).alarms(math.Log1p(0.05)); len(alarms) > 0 {
			earliest[k] = alarms[0].at
		}
	}
	for n := max(first, slices.Min(earliest)+1); n <= last; n++ {
		fired := false
		for k, s := range all {
			if n <= earliest[k] {
				continue
			}
			r := gate(s.Without(last-n), of, 0.05)
			news, moved := r.News(reported[k])
			for _, c := range slices.Concat(news, moved) {
				reported[k] = append(reported[k], NewReported(&r, c))
			}
			fired = fired || len(news) > 0
		}
		if fired {
			red = append(red, n)
		}
	}
	return red
}

// textbook is a CUSUM of Page with the usual slack of half a standard deviation and limit of 5, after the first 15
// nights, of which it takes mean and spread anew after each alarm.
func textbook(j job, first, last int) (red []int) {
	for _, s := range j.series(last) {
		var x []float64
		from, up, down := 0, 0.0, 0.0
		for n, r := range s.Runs {
			x = append(x, math.Log(r.Directions["read"].IOPS))
			if n-from < Settled {
				continue
			}
			level, squares := mean(x[from : from+Settled])
			z := (x[n] - level) / math.Sqrt(squares/(Settled-1))
			up, down = max(0, up+z-0.5), max(0, down-z-0.5)
			if up > 5 || down > 5 {
				from, up, down = n+1, 0, 0
				if n >= first {
					red = append(red, n+1)
				}
			}
		}
	}
	slices.Sort(red)
	return red
}

// ruleAlone fires if the last three nights are all far from the median of the ones before.
func ruleAlone(j job, first, last int) (red []int) {
	for _, s := range j.series(last) {
		var x []float64
		for n, r := range s.Runs {
			x = append(x, math.Log(r.Directions["read"].IOPS))
			if n < max(first, Settled) {
				continue
			}
			up, down := true, true
			for i := n - 2; i <= n; i++ {
				before := x[max(0, i-window):max(i-gap+1, Settled)]
				level := median(before)
				var distances []float64
				for _, v := range before {
					distances = append(distances, math.Abs(v-level))
				}
				least := max(3.5*median(distances)/0.6745, math.Log(1.08))
				up, down = up && x[i]-level > least, down && level-x[i] > least
			}
			if up || down {
				red = append(red, n+1)
			}
		}
	}
	slices.Sort(red)
	return red
}

// TestGate simulates gates over years of nights, of which it takes FIOLAT_TEST_SIZE a row. With 20 it prints the
// rows of docs/data/gates.csv. It judges fiolat's gate where nights are correlated and single ones are bad.
func TestGate(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	years, kinds := testkit.Size(t, 5), kindsOfNights[5:6]
	if testkit.All() {
		kinds = kindsOfNights
	}
	for _, who := range []struct {
		name  string
		watch watch
	}{{"fiolat", remembering}, {"a CUSUM", textbook}, {"the rule alone", ruleAlone}} {
		for _, kind := range kinds {
			quiet := func(metrics int) float64 {
				return float64(total(years, func(seed uint64) int {
					return episodes(who.watch(job{kind, seed, metrics, math.MaxInt, 0}, 5, 370))
				})) / float64(years)
			}
			falses := quiet(1)
			line := fmt.Sprintf("%q,%s,%.2f,", who.name, kind.name, falses)
			if len(kinds) > 2 && kind.rho == 0.3 && kind.more == nil {
				line += fmt.Sprintf("%.2f", quiet(10))
			}
			within := map[int]int{}
			for _, change := range []float64{0.1, 0.2} {
				for _, nights := range []int{3, 7, 21} {
					within[nights] = total(years, func(seed uint64) int {
						red := who.watch(job{kind, seed, 1, 90, change}, 88, 90+nights)
						if slices.ContainsFunc(red, func(n int) bool { return n > 90 }) {
							return 1
						}
						return 0
					})
					line += fmt.Sprintf(",%d", within[nights])
				}
			}
			t.Log(line)
			if who.name == "fiolat" && kind.rho <= 0.5 && !kind.moves && (falses > 1 || within[21]*20 < years*19) {
				t.Errorf("%s: %.2f false episodes a year, +20 %% found within 21 nights in %d of %d", kind.name, falses,
					within[21], years)
			}
		}
	}
}

// episodes counts the nights that are red, without those that follow within ten nights.
func episodes(red []int) (n int) {
	for i, at := range red {
		if i == 0 || at-red[i-1] > nearby {
			n++
		}
	}
	return n
}

// total adds up what a function returns for the seeds below n.
func total(n int, of func(seed uint64) int) (sum int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for w := range 2 {
		all.Go(func() {
			for seed := w; seed < n; seed += 2 {
				v := of(uint64(seed))
				mu.Lock()
				sum += v
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return sum
}
