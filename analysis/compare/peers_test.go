package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
)

// draws is the number of made-up comparisons of each kind.
func draws(t *testing.T) int {
	t.Helper()
	testkit.Simulation(t)
	return testkit.Size(t, 40)
}

// slice returns the first n cases, or all for `make nightly`.
func slice[T any](cases []T, n int) []T {
	if testkit.All() {
		return cases
	}
	return cases[:n]
}

// machine is how the state of a machine changes from run to run: a steady slope, and a first-order autoregressive
// process, in standard deviations of the spread between runs.
type machine struct{ slope, memory float64 }

// inOrder makes up two groups of runs, started as the letters of order say: "AAABBB". The runs of B are changed.
func inOrder(rng *rand.Rand, order string, spread float64, of machine, change float64) (groups [2]*measured) {
	const shared = 0.8
	for g := range groups {
		groups[g] = &measured{side: Side{Name: string("AB"[g])}, freedom: 20, startsKnown: true}
	}
	state := rng.NormFloat64()
	for i, letter := range order {
		g := int(letter - 'A')
		m := groups[g]
		value, log, noise := make([]float64, len(rowsOf)), make([]float64, len(rowsOf)), make([]float64, len(rowsOf))
		for row := range rowsOf {
			log[row] = math.Log(1e5) + spread*(of.slope*float64(i)+shared*state+
				math.Sqrt(1-shared*shared)*rng.NormFloat64()) + float64(g)*math.Log1p(change)
			value[row] = math.Exp(log[row])
		}
		state = of.memory*state + math.Sqrt(1-of.memory*of.memory)*rng.NormFloat64()
		m.side.Runs++
		m.value, m.log, m.within = append(m.value, value), append(m.log, log), append(m.within, noise)
		m.atLeast = append(m.atLeast, make([]bool, len(rowsOf)))
		m.names, m.starts = append(m.names, fmt.Sprint(string(letter), i)), append(m.starts, int64(i))
	}
	return groups
}

// column returns the logarithms of a row.
func (m *measured) column(row int) (out []float64) {
	for _, run := range m.log {
		out = append(out, run[row])
	}
	return out
}

// welch is the error probability of Welch's t on two groups of numbers.
func welch(a, b *measured, row int) float64 {
	na, nb := float64(len(a.log)), float64(len(b.log))
	va, vb := a.squares(row)/(na-1)/na, b.squares(row)/(nb-1)/nb
	freedom := (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	return fiohist.StudentTail(math.Abs(b.center(row)-a.center(row))/math.Sqrt(va+vb), max(1, int(freedom)))
}

// mannWhitney is the exact two-sided error probability of the Mann-Whitney U test, as benchstat computes it, for
// numbers without ties.
func mannWhitney(a, b []float64) float64 {
	u := 0
	for _, x := range a {
		for _, y := range b {
			u += map[bool]int{true: 1}[x > y]
		}
	}
	u = min(u, len(a)*len(b)-u)
	// ways[k][v]: k of the numbers so far are of a, with v pairs in which that of a is the larger one.
	ways := make([][]float64, len(a)+1)
	for k := range ways {
		ways[k] = make([]float64, len(a)*len(b)+1)
	}
	ways[0][0] = 1
	for n := range len(a) + len(b) {
		for k := min(n, len(a)-1); k >= 0; k-- {
			if before := n - k; before <= len(b) {
				for v := 0; v+before < len(ways[k]); v++ {
					ways[k+1][v+before] += ways[k][v]
				}
			}
		}
	}
	all, tail := 0.0, 0.0
	for v, w := range ways[len(a)] {
		if all += w; v <= u {
			tail += w
		}
	}
	return min(1, 2*tail/all)
}

func TestMannWhitney(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b []float64
		want float64
	}{ // as R's wilcox.test says
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0.007936508},
		{[]float64{1, 3, 5}, []float64{2, 4, 6}, 0.7},
		{[]float64{1, 2, 4}, []float64{3, 5, 6, 7}, 0.1142857},
	} {
		if got := mannWhitney(tt.a, tt.b); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%v and %v: %.7f, want %.7f", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestPeers compares groups of runs in different orders, on machines whose state changes from run to run, with
// Mann-Whitney (benchstat) and Welch's t on the logarithms of the same numbers.
func TestPeers(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	calm, memory, slope := machine{}, machine{memory: 0.7}, machine{slope: 0.5}
	peers := []string{"fiolat", "Mann-Whitney", "Welch", "Welch with Bonferroni"}
	for _, tt := range slice([]struct {
		name, order string
		of          machine
		change      float64
		found       float64 // least share of the changes in p99 of reads that is found
	}{
		{"alternated", "ABABAB", calm, 0, 0},
		{"in order, steady drift", "AAABBB", slope, 0, 0},
		{"alternated, 20 % more", "ABABAB", calm, 0.20, 0.85},
		{"alternated, memory", "ABABAB", memory, 0, 0},
		{"alternated, steady drift", "ABABAB", slope, 0, 0},
		{"in order", "AAABBB", calm, 0, 0},
		{"in order, memory", "AAABBB", memory, 0, 0},
		{"5 in order, memory", "AAAAABBBBB", memory, 0, 0},
		{"5 in order, steady drift", "AAAAABBBBB", slope, 0, 0},
		{"alternated, 15 % more", "ABABAB", calm, 0.15, 0.6},
		{"5 alternated, 12 % more", "ABABABABAB", calm, 0.12, 0.9},
		{"in order, 20 % more", "AAABBB", calm, 0.20, 0},
		{"5 in order, 20 % more", "AAAAABBBBB", calm, 0.20, 0.6},
	}, 3) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const spread = 0.03
			n := draws(t)
			counted := make([]int, len(peers))
			for k := range n {
				g := inOrder(rand.New(rand.NewPCG(uint64(k), 41)), tt.order, spread, tt.of, tt.change)
				r := judge(g[0], g[1], rowsOf, family, Options{Margin: Margin})
				alarm := make([]bool, len(peers))
				for row := range rowsOf {
					if tt.change > 0 && row != 2 {
						continue
					}
					p := welch(g[0], g[1], row)
					for by, yes := range []bool{r.all[row].Verdict == Higher || r.all[row].Verdict == Lower,
						mannWhitney(g[0].column(row), g[1].column(row)) < 0.05, p < 0.05,
						p < 0.05/float64(len(rowsOf))} {
						alarm[by] = alarm[by] || yes
					}
				}
				for by, yes := range alarm {
					counted[by] += map[bool]int{true: 1}[yes]
				}
			}
			var text []string
			for by, name := range peers {
				text = append(text, fmt.Sprintf("%s %.1f", name, 100*float64(counted[by])/float64(n)))
			}
			t.Logf("%s, of 100: %s", tt.name, strings.Join(text, ", "))
			ours := float64(counted[0]) / float64(n)
			if tt.change == 0 && ours > 0.07 || ours < tt.found {
				t.Errorf("want at most 7 of 100 without a change, and %g with one", 100*tt.found)
			}
		})
	}
}

// TestGivenNoise compares single runs that do not differ with the noise of some runs before them.
func TestGivenNoise(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, runs := range slice([]int{4, 12}, 1) {
		wrong, n := map[bool]int{}, draws(t)
		for k := range n {
			rng := rand.New(rand.NewPCG(uint64(k), 43))
			before := madeGroup(rng, runs, 0.05, 0.3, 0, nil)
			a, b := madeGroup(rng, 1, 0.05, 0.3, 0, nil), madeGroup(rng, 1, 0.05, 0.3, 0, nil)
			for _, told := range []bool{true, false} {
				var noise []RunNoise
				for row, name := range rowsOf {
					one := RunNoise{Metric: fio.Metric{Direction: name[0], Name: name[1]},
						SD: math.Sqrt(before.squares(row) / float64(runs-1)), Runs: mostRuns}
					if told {
						one.Runs = runs
					}
					noise = append(noise, one)
				}
				r := judge(a, b, rowsOf, family, Options{Margin: Margin, RunNoise: noise})
				var f found
				f.add(r)
				wrong[told] += f.any
			}
		}
		t.Logf("noise of %d runs: any row called different in %.1f of 100; taken as exact in %.1f", runs,
			100*float64(wrong[true])/float64(n), 100*float64(wrong[false])/float64(n))
		if float64(wrong[true]) > 0.08*float64(n) {
			t.Errorf("noise of %d runs: %d of %d called different", runs, wrong[true], n)
		}
	}
}

// TestAdvice makes up as many runs as the advice for a row says, and counts how often that settles it.
func TestAdvice(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, tt := range slice([]struct {
		name           string
		change, spread float64
	}{
		{"a change", 0.1, 0.06}, {"no change", 0, 0.05},
	}, 1) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := estimate{center: math.Log1p(tt.change), se: 1, sd: tt.spread, freedom: 4}
			r := &Result{Baseline: Side{Runs: 3}, Other: Side{Runs: 3}}
			g := inOrder(rand.New(rand.NewPCG(1, 47)), "ABABABABABABABAB", 1, machine{}, 0)
			typical := judge(g[0], g[1], rowsOf, family, Options{Margin: Margin})
			var all []int
			for i := range rowsOf {
				all = append(all, i)
			}
			said := r.advice(e, typical.sampler.alpha(all, Confidence), Margin)
			var runs int
			if _, err := fmt.Sscanf(said, "%d runs per side (80", &runs); err != nil {
				t.Fatalf("%q: %v", said, err)
			}
			settled, n := 0, draws(t)
			for k := range n {
				g := inOrder(rand.New(rand.NewPCG(uint64(k), 53)), strings.Repeat("AB", runs), tt.spread, machine{},
					tt.change)
				v := judge(g[0], g[1], rowsOf, family, Options{Margin: Margin}).all[2].Verdict
				settled += map[bool]int{true: 1}[v != Inconclusive]
			}
			t.Logf("%s: settled in %.1f of 100", said, 100*float64(settled)/float64(n))
			if float64(settled) < 0.72*float64(n) {
				t.Errorf("settled in %d of %d, want 80 of 100", settled, n)
			}
		})
	}
}

// TestUnlike makes one run of a group slower than the others: it is named, and nothing is where runs differ by chance.
func TestUnlike(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	n, named, right, wrong := draws(t), 0, 0, 0
	for k := range n {
		for _, stall := range []float64{0, 2} {
			g := inOrder(rand.New(rand.NewPCG(uint64(k), 59)), "ABABAB", 0.03, machine{}, 0)
			for row := range rowsOf {
				g[1].log[1][row] += math.Log1p(stall)
				g[1].value[1][row] *= 1 + stall
			}
			r := judge(g[0], g[1], rowsOf, family, Options{Margin: Margin})
			switch {
			case stall == 0 && r.Unlike != nil:
				wrong++
			case stall > 0 && r.Unlike != nil:
				named++
				if r.Unlike.Run == "B3" && r.Unlike.Group == "B" && r.Unlike.Without < 0.1 &&
					strings.HasPrefix(r.Note, "B3 is unlike the other runs of B: ") {
					right++
				}
			}
		}
	}
	t.Logf("of %d: a run three times as slow is named in %d, rightly in %d; one is named by chance in %d", n, named,
		right, wrong)
	if right < n*95/100 || wrong > n*12/100 {
		t.Errorf("want 95 of 100 named rightly, and at most 12 by chance")
	}
}

// Noise that is printed can be given, whatever its size.
func TestParseRunNoise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]RunNoise{
		"5%":               {SD: math.Log1p(0.05)},
		"read p99=3.5%/12": {Metric: fio.PercentileMetric("read", 99), SD: math.Log1p(0.035), Runs: 12},
		"iops=0%":          {Metric: fio.Metric{Name: "iops"}},
		"5%/1":             {Runs: -1}, "5%/": {Runs: -1}, "5/3%": {Runs: -1}, "-1%": {Runs: -1}, "5%/2.5": {Runs: -1},
	} {
		got, err := ParseRunNoise(text)
		if want.Runs < 0 != (err != nil) || err == nil && got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, share := range []float64{0, 0.01, 10.67, 1e6, 1e13} {
		printed := strings.ReplaceAll(NoiseText(&share), " ", "")
		if n, err := ParseRunNoise(printed); err != nil || math.Abs(math.Expm1(n.SD)-share) > 1e-4+1e-9*share {
			t.Errorf("%s is printed and read as %+v, %v", printed, n, err)
		}
		g := inOrder(rand.New(rand.NewPCG(1, 67)), "AB", 0.01, machine{}, 0)
		noise := []RunNoise{{SD: math.Log1p(share)}}
		r := judge(g[0], g[1], rowsOf, family, Options{Margin: Margin, RunNoise: noise})
		if said := strings.Contains(r.Note, "no change of that metric can be told"); said != (share >= 1) {
			t.Errorf("noise of %s: %q", printed, r.Note)
		}
	}
}
