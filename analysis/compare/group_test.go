package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/testkit"
	"fiolat/pipeline/plan"
)

// rowsOf are the rows of reads and writes that are in the family, without their sum.
var rowsOf = rowNames([]int{1, 2}, family)

// madeGroup is a group of runs whose rows differ by so much from run to run, as made up.
func madeGroup(rng *rand.Rand, runs int, spread, shared, within float64, change []float64) *measured {
	m := &measured{side: Side{Runs: runs}, freedom: 20}
	for range runs {
		value, log, noise := make([]float64, len(rowsOf)), make([]float64, len(rowsOf)), make([]float64, len(rowsOf))
		common := rng.NormFloat64()
		for i := range rowsOf {
			log[i] = math.Log(1e5) + spread*(shared*common+math.Sqrt(1-shared*shared)*rng.NormFloat64()) +
				within*rng.NormFloat64()
			if change != nil {
				log[i] += math.Log1p(change[i])
			}
			value[i], noise[i] = math.Exp(log[i]), within*within
		}
		m.value, m.log, m.within = append(m.value, value), append(m.log, log), append(m.within, noise)
		m.atLeast = append(m.atLeast, make([]bool, len(rowsOf)))
		m.names = append(m.names, fmt.Sprint(len(m.names)))
	}
	return m
}

// Groups of runs that differ by chance: verdicts that are wrong are as rare as they are said to be,
// whether the rows are correlated or not, and changes are found.
func TestGroups(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	trials := draws(t)
	one := make([]float64, len(rowsOf))
	for _, tt := range slice([]struct {
		name                            string
		runs                            int
		spread, shared, within, changed float64
		// found are the least of 100 in which the changed row is called higher, same in which all
		// others are called same, wrong the most in which another is called different.
		found, same, wrong int
	}{
		{"5 runs of 5 %, 20 % more", 5, 0.05, 0.8, 0, 0.20, 90, 0, 10},
		{"5 runs of 1 %", 5, 0.01, 0.8, 0, 0, 0, 90, 10},
		{"3 runs with noise within", 3, 0.01, 0.5, 0.05, 0, 0, 0, 10},
		{"5 runs of 5 %, 20 % more, rows apart", 5, 0.05, 0, 0, 0.20, 90, 0, 10},
		{"5 runs of 3 %, 12 % more", 5, 0.03, 0.8, 0, 0.12, 90, 0, 10},
		{"5 runs of 3 %, 12 % more, rows apart", 5, 0.03, 0, 0, 0.12, 90, 0, 10},
		{"5 runs of 1 %, rows apart", 5, 0.01, 0, 0, 0, 0, 90, 10},
		{"3 runs of 5 %, rows apart", 3, 0.05, 0, 0, 0, 0, 0, 10},
		{"3 runs of 30 %", 3, 0.3, 0.5, 0, 0, 0, 0, 10},
		{"10 runs of 5 %", 10, 0.05, 0.5, 0, 0.12, 90, 0, 10},
	}, 3) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, same, wrong := 0, 0, 0
			change := slices.Clone(one)
			change[2] = tt.changed // read p99
			for n := range trials {
				rng := rand.New(rand.NewPCG(uint64(n), 31))
				a := madeGroup(rng, tt.runs, tt.spread, tt.shared, tt.within, nil)
				b := madeGroup(rng, tt.runs, tt.spread, tt.shared, tt.within, change)
				r := judge(a, b, rowsOf, family, Options{Margin: Margin})
				others, bad := true, false
				for i, row := range r.all {
					switch {
					case row.RunNoise == nil || row.Low == nil || row.Verdict == "" ||
						(row.Verdict == Inconclusive) != (row.Advice != ""):
						t.Fatalf("%+v", row)
					case i == 2 && tt.changed > 0:
						found += map[bool]int{true: 1}[row.Verdict == Higher]
					default:
						others = others && row.Verdict == Same
						bad = bad || row.Verdict == Higher || row.Verdict == Lower
					}
				}
				same += map[bool]int{true: 1}[others]
				wrong += map[bool]int{true: 1}[bad]
			}
			t.Logf("of %d: found in %d, all others the same in %d, another called different in %d", trials, found,
				same, wrong)
			if 100*found < tt.found*trials || 100*same < tt.same*trials || 100*wrong > tt.wrong*trials {
				t.Errorf("want found in %d of 100, the same in %d, different in at most %d", tt.found, tt.same,
					tt.wrong)
			}
		})
	}
}

// TestUnlikeGroups: of two groups that vary unlike each other and have different numbers of runs, the standard error is
// the larger one of the pooled variance and of each group's own, by hand.
func TestUnlikeGroups(t *testing.T) {
	t.Parallel()
	quiet, loud := []float64{0, 0, 0, 0}, []float64{0.1, -0.1}
	for _, tt := range []struct {
		name string
		a, b []float64
		se   float64
	}{
		{"the small group varies", loud, quiet, math.Sqrt(0.02 / 1 / 2)},
		{"the large group varies", []float64{0, 0}, []float64{0.1, -0.1, 0.1, -0.1},
			math.Sqrt(0.04 / 4 * (1./2 + 1./4))},
	} {
		var sides [2]*measured
		for i, logs := range [][]float64{tt.a, tt.b} {
			sides[i] = &measured{side: Side{Runs: len(logs)}}
			for _, v := range logs {
				m := sides[i]
				m.log, m.value = append(m.log, []float64{v}), append(m.value, []float64{math.Exp(v)})
				m.within, m.atLeast = append(m.within, []float64{0}), append(m.atLeast, []bool{false})
				m.names = append(m.names, fmt.Sprint(len(m.names)))
			}
		}
		r := judge(sides[0], sides[1], rowsOf[:1], family, Options{Margin: Margin})
		if se := r.estimate[0].se; math.Abs(se-tt.se) > 1e-12 {
			t.Errorf("%s: standard error %v, want %v", tt.name, se, tt.se)
		}
	}
}

// repeats are real runs of one job, see testdata/repeats/README.md.
func repeats(t *testing.T) (out []*Series) {
	t.Helper()
	names, err := filepath.Glob("testdata/repeats/*.log.zst")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d logs: %v", len(names), err)
	}
	for _, name := range names {
		in, err := ingest.Discover([]string{name}, ingest.DiscoverOptions{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := plan.Prepare(t.Context(), in[0], plan.Config{Settings: fio.Settings{Grid: "run",
			Align: "overlap", RecordTime: "end", Percentiles: family, Coarseness: -1, Repair: "auto"}})
		if err != nil {
			t.Fatal(err)
		}
		s := &Series{Name: name}
		if _, err := plan.Process(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// Real runs of one job on a busy machine are the same: groups of them, and single ones with what
// they are known to differ by.
func TestRepeats(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	pairs := 2 * draws(t)
	runs := repeats(t)
	gate, err := ParseRule("read p99 +10%")
	if err != nil {
		t.Fatal(err)
	}
	_, spread, _, err := Spread(&Group{Name: "all", Runs: runs}, wanted)
	if err != nil {
		t.Fatal(err)
	}
	var noise []RunNoise
	for _, n := range spread {
		noise = append(noise, RunNoise{fio.Metric{Direction: n.Direction, Name: n.Metric},
			math.Log1p(*n.RunNoise), len(runs)})
	}
	dirs := []int{0, 1, 2}
	all := measure(&Group{Name: "all", Runs: runs}, runs[0].geometry, dirs, wanted, 0, 100)
	pick := func(which []int) *measured {
		m := &measured{side: Side{Runs: len(which)}, freedom: all.freedom, startsKnown: true}
		for _, i := range which {
			m.value, m.log = append(m.value, all.value[i]), append(m.log, all.log[i])
			m.within, m.starts = append(m.within, all.within[i]), append(m.starts, int64(i))
			m.atLeast, m.names = append(m.atLeast, all.atLeast[i]), append(m.names, all.names[i])
		}
		return m
	}
	for _, tt := range slice([]struct {
		name  string
		size  int
		noise []RunNoise
		draw  func(*rand.Rand) []int
	}{
		{"random groups of 3", 3, nil, func(rng *rand.Rand) []int { return rng.Perm(len(runs)) }},
		{"random single runs", 1, noise, func(rng *rand.Rand) []int { return rng.Perm(len(runs)) }},
		{"neighbouring groups of 3", 3, nil, func(rng *rand.Rand) (out []int) {
			for i := range 6 {
				out = append(out, i)
			}
			for i, first := 0, rng.IntN(len(runs)-5); i < 6; i++ {
				out[i] += first
			}
			return out
		}},
	}, 2) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			different, fired, by := 0, 0, map[string]int{}
			for k := range pairs {
				order := tt.draw(rand.New(rand.NewPCG(uint64(k), 23)))
				r := judge(pick(order[:tt.size]), pick(order[tt.size:2*tt.size]), rowNames(dirs, wanted), wanted,
					Options{Margin: Margin, RunNoise: tt.noise})
				var f found
				f.add(r)
				different += f.any
				for name := range f.by {
					by[name]++
				}
				rulings, err := r.Judge([]Rule{gate}, Options{Margin: Margin, RunNoise: tt.noise})
				if err != nil {
					t.Fatal(err)
				}
				fired += len(rulings[0].Broken)
			}
			t.Logf("%s, of %d pairs: %d called different %v, the gate fired in %d", tt.name, pairs, different, by,
				fired)
			if different*100 > 7*pairs || fired*50 > pairs {
				t.Errorf("called different in %d, want at most 7 in 100; the gate fired in %d, want at most 2", different,
					fired)
			}
		})
	}
}

// The order in which the runs of a group are named changes nothing.
func TestOrderOfRuns(t *testing.T) {
	t.Parallel()
	var groups [2]Group
	for i := range 6 {
		s := steady{seed: uint64(i), intervals: 30, rate: 50, latency: 1}.series(t, "run")
		s.ID = fmt.Sprint(i)
		groups[i%2].Runs = append(groups[i%2].Runs, s)
	}
	var rows [2][]Row
	for i := range rows {
		r, err := Compare(&groups[0], &groups[1], Options{Percentiles: wanted, times: 100})
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = r.Rows
		slices.Reverse(groups[0].Runs)
		slices.Reverse(groups[1].Runs)
	}
	if !reflect.DeepEqual(rows[0], rows[1]) {
		t.Errorf("%+v\nother order: %+v", rows[0], rows[1])
	}
}

// TestOrder: the trend of two groups by the order in which their runs began.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		a, b  []int64
		apart float64 // 0: alternated, or not known
	}{
		{"one after the other", []int64{10, 20, 30}, []int64{40, 50, 60}, 3},
		{"the other way round", []int64{40, 50, 60}, []int64{10, 20, 30}, -3},
		{"any order of arguments", []int64{30, 10, 20}, []int64{60, 40, 50}, 3},
		{"alternated", []int64{10, 40, 50}, []int64{20, 30, 60}, 0},
		{"one run each", []int64{10}, []int64{20}, 0},
		{"none", nil, nil, 0},
	} {
		a, b := &measured{starts: tt.a, startsKnown: true}, &measured{starts: tt.b, startsKnown: true}
		got := order(a, b)
		if (got != nil) != (tt.apart != 0) || got != nil && got.apart != tt.apart {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if b.startsKnown = false; order(a, b) != nil || order(b, a) != nil {
			t.Errorf("%s: an order of unknown starts", tt.name)
		}
	}
}

// TestSpreadTellsNothing: only runs that differ by a factor and more are warned of.
func TestSpreadTellsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		last float64 // its latency, the others' being 1
		loud bool
	}{{"alike", 1, false}, {"a tenth", 1.1, false}, {"40 times", 40, true}} {
		g := &Group{Name: "all"}
		for i, latency := range []float64{1, 1, tt.last} {
			g.Runs = append(g.Runs, steady{seed: uint64(i), intervals: 20, rate: 200, latency: latency}.series(t,
				fmt.Sprint(i)))
		}
		_, _, notes, err := Spread(g, []float64{50})
		if err != nil || slices.Contains(notes, nothingTold) != tt.loud {
			t.Errorf("%s: %q, %v", tt.name, notes, err)
		}
	}
}

// TestLacks: a run of fio's JSON is compared only where it has each part and direction, with IOPS and percentiles.
func TestLacks(t *testing.T) {
	iops := 10.0
	row := func() *figures.Row { return &figures.Row{IOPS: &iops, Percentiles: map[string]float64{"50": 1}} }
	of := func(job string, rows map[string]*figures.Row) *Series {
		return &Series{Of: fio.Dims{Job: job}, rows: rows}
	}
	whole := &Parts{Series: []*Series{of("a", map[string]*figures.Row{"read": row()}),
		of("b", map[string]*figures.Row{"read": row(), "write": row()})}}
	for name, c := range map[string]struct {
		b    *Series
		want bool
	}{
		"nothing":     {of("b", map[string]*figures.Row{"read": row(), "write": row()}), false},
		"a job":       {of("c", map[string]*figures.Row{"read": row(), "write": row()}), true},
		"a direction": {of("b", map[string]*figures.Row{"read": row()}), true},
		"IOPS": {of("b", map[string]*figures.Row{"read": {Percentiles: row().Percentiles}, "write": row()}),
			true},
		"percentiles":   {of("b", map[string]*figures.Row{"read": row(), "write": {IOPS: &iops}}), true},
		"more is there": {of("b", map[string]*figures.Row{"read": row(), "write": row(), "trim": row()}), false},
	} {
		if got := (&Parts{Series: []*Series{whole.Series[0], c.b}}).Lacks(whole); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestOneAgainstSeveral: the noise between runs is that of the group that has several.
func TestOneAgainstSeveral(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a, b []float64 // logarithms of a row in each run
		se   float64
	}{
		// The sum of squares is 0.02, of 2 degrees of freedom: a variance of 0.01, of a mean of three and of one.
		{"one and three", []float64{0}, []float64{0.4, 0.5, 0.6}, math.Sqrt(0.01 * (1 + 1./3))},
		{"three and one", []float64{0.4, 0.5, 0.6}, []float64{0}, math.Sqrt(0.01 * (1 + 1./3))},
	} {
		side := func(logs []float64) *measured {
			m := &measured{}
			for _, l := range logs {
				m.log, m.within = append(m.log, []float64{l}), append(m.within, []float64{math.NaN()})
			}
			return m
		}
		for _, steady := range []bool{false, true} {
			r := &Result{all: []Row{{Change: new(0.1)}}, enoughRuns: true, Steady: steady}
			r.estimates(side(tt.a), side(tt.b), nil)
			if e := r.estimate[0]; !(math.Abs(e.se-tt.se) < 1e-12) || e.freedom != 2 {
				t.Errorf("%s, steady %v: standard error %g of %d degrees, want %g of 2", tt.name, steady, e.se,
					e.freedom, tt.se)
			}
		}
	}
}
