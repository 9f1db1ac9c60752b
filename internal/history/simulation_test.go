package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"fiolat/fio"
	"fiolat/internal/student"
	"fiolat/internal/testkit"
)

// nightly is a made-up job: runs with a standard deviation of 5 %, correlated by rho, whose first metric changes by a
// share at run at. The metrics are independent, which is the worst case for false changes.
type nightly struct {
	seed    uint64
	rho     float64
	metrics int
	at      int
	change  float64
}

func (j nightly) series(runs int) (all []*Series) {
	for k := range j.metrics {
		rng := rand.New(rand.NewPCG(j.seed, uint64(k)))
		values := make([]float64, runs)
		x := rng.NormFloat64()
		for i := range values {
			x = j.rho*x + math.Sqrt(1-j.rho*j.rho)*rng.NormFloat64()
			values[i] = 100 * math.Exp(0.05*x)
			if k == 0 && i >= j.at {
				values[i] *= 1 + j.change
			}
		}
		all = append(all, levelled(values))
	}
	return all
}

// watch returns the numbers of runs, from first to last, after which a gate fires.
type watch func(j nightly, first, last int) []int

// remembering is --fail-if-changed with --store or --state.
func remembering(j nightly, first, last int) (red []int) {
	return gated(j, first, last, 0)
}

// forgetting is --fail-if-changed 3 without a state.
func forgetting(j nightly, first, last int) (red []int) {
	return gated(j, first, last, 3)
}

func gated(j nightly, first, last, latest int) (red []int) {
	m := fio.Metric{Direction: "read", Name: "iops"}
	all, reported := j.series(last), []Reported{}
	find := func(s *Series, runs int) Result {
		return gate(s.Without(last-runs), m, 0.05, gateAlpha/10) // the ten metrics of a job of reads and writes
	}
	for n := first; n <= last; n++ {
		fired, known := false, slices.Clone(reported)
		for _, s := range all {
			r := find(s, n)
			if latest > 0 && len(r.Changes) > 0 {
				known = nil
				before := find(s, n-latest)
				for _, c := range before.Changes {
					known = append(known, NewReported(&before, c))
				}
			}
			for _, c := range r.News(known) {
				reported = append(reported, NewReported(&r, c))
				fired = true
			}
		}
		if fired {
			red = append(red, n)
		}
	}
	return red
}

// lastThree compares the last three runs with the 30 before.
func lastThree(differ func(before, after []float64) bool) watch {
	return func(j nightly, first, last int) (red []int) {
		all := j.series(last)
		for n := max(first, 33); n <= last; n++ {
			if slices.ContainsFunc(all, func(s *Series) bool {
				var x []float64
				for _, r := range s.Runs[n-33 : n] {
					x = append(x, math.Log(r.Directions["read"].IOPS))
				}
				return differ(x[:30], x[30:])
			}) {
				red = append(red, n)
			}
		}
		return red
	}
}

func welch(x, y []float64) bool {
	a, as := mean(x)
	b, bs := mean(y)
	va, vb := as/29/30, bs/2/3
	freedom := (va + vb) * (va + vb) / (va*va/29 + vb*vb/2)
	return student.Tail(math.Abs(b-a)/math.Sqrt(va+vb), int(freedom)) < 0.001
}

// mannWhitney is the exact test of 30 and 3 runs: p is 0.0007 for a U of at most 1.
func mannWhitney(x, y []float64) bool {
	u := 0
	for _, v := range x {
		for _, w := range y {
			if w > v {
				u++
			}
		}
	}
	return min(u, len(x)*len(y)-u) <= 1
}

// TestGate simulates gates over years of nights, of which it takes FIOLAT_HISTORY_YEARS a row. With 40 it prints the
// rows of docs/data/gates.csv.
func TestGate(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	years, slice := 4, true
	if text := os.Getenv("FIOLAT_HISTORY_YEARS"); text != "" {
		var err error
		if years, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		slice = false
	}
	for _, who := range []struct {
		name  string
		watch watch
		ours  bool
	}{{"with a state", remembering, true}, {"3, without", forgetting, true},
		{"Welch, last 3", lastThree(welch), false}, {"Mann-Whitney, last 3", lastThree(mannWhitney), false}} {
		for _, rho := range []float64{0, 0.3, 0.5, 0.8} {
			if slice && (!who.ours || rho != 0.5) {
				continue
			}
			line := fmt.Sprintf("| %s | %g |", who.name, rho)
			for _, metrics := range []int{1, 10} {
				if slice && metrics > 1 {
					continue
				}
				n := total(years, func(seed uint64) int {
					job := nightly{seed: seed, rho: rho, metrics: metrics, at: math.MaxInt}
					return episodes(who.watch(job, 5, 370))
				})
				line += fmt.Sprintf(" %.2f |", float64(n)/float64(years))
				if who.ours && rho <= 0.5 && n > years {
					t.Errorf("%s, correlation %g, %d metrics: %d false episodes in %d years", who.name, rho, metrics,
						n, years)
				}
			}
			for _, change := range []float64{0.05, 0.1, 0.2} {
				within := map[int]int{}
				for _, nights := range []int{3, 14, 30} {
					within[nights] = total(years, func(seed uint64) int {
						red := who.watch(nightly{seed, rho, 1, 90, change}, 88, 90+nights)
						if i := slices.IndexFunc(red, func(n int) bool { return n > 90 }); i < 0 {
							return 0
						}
						return 1
					})
				}
				line += fmt.Sprintf(" %d, %d, %d |", within[3], within[14], within[30])
				if who.ours && rho <= 0.5 && change == 0.2 && within[30]*4 < years*3 {
					t.Errorf("%s, correlation %g: +20 %% found in %d of %d within 30 nights", who.name, rho, within[30],
						years)
				}
			}
			t.Log(line)
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
