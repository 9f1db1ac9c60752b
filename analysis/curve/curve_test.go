package curve

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/analysis/figures"
	"fiolat/fio"
)

func known(v float64) *float64 { return &v }

// run is a row of a run of a sweep.
func run(name string, depth int, iops, p99 float64) figures.Row {
	return figures.Row{Run: name, Name: name, Direction: "read", Samples: 10 * iops, IOPS: &iops,
		Mean: known(float64(depth) / iops * 1e9), Percentiles: map[string]float64{"99": p99},
		Limits:  map[string]fio.Limits{"99": {Low: known(p99 * 0.995), High: known(p99 * 1.005)}},
		Options: map[string]string{"iodepth": strconv.Itoa(depth), "bs": "4k"}}
}

func rule(t *testing.T, text string) *fio.Rule {
	t.Helper()
	r, err := fio.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// TestStaged: jobs of which each had its own time are the settings of a sweep.
func TestStaged(t *testing.T) {
	row := func(job, depth string, seconds float64) figures.Row {
		return figures.Row{Run: "r", Direction: "read", Job: job, Seconds: &seconds,
			Options: map[string]string{"iodepth": depth}}
	}
	jobs := []figures.Row{row("a", "1", 10), row("b", "2", 10), row("c", "4", 10)}
	for _, tt := range []struct {
		name          string
		whole         figures.Row
		mixed, staged bool
	}{
		{"one after the other", row("", "1,2,4", 30), true, true},
		{"with short pauses between them", row("", "1,2,4", 33), true, true},
		{"all at once", row("", "1,2,4", 10), true, false},
		{"two at once", row("", "1,2,4", 20), true, false},
		{"of the same depth", row("", "1", 30), false, true},
		{"no times", figures.Row{Run: "r", Direction: "read", Options: map[string]string{"iodepth": "1,2"}}, true,
			false},
	} {
		whole := []figures.Row{tt.whole}
		if mixed, staged := Mixed(whole), Staged(whole, jobs); mixed != tt.mixed || staged != tt.staged {
			t.Errorf("%s: mixed %v, staged %v", tt.name, mixed, staged)
		}
	}
}

// TestLimitsCoverTheTruth makes up sweeps of devices of which the latency at every load is known, with noise between
// runs, and counts how often the limits hold it. The device serves most requests a second with so many in flight, and
// its p99 grows faster than its mean.
func TestLimitsCoverTheTruth(t *testing.T) {
	for _, repeats := range []int{2, 3, 5} {
		t.Run(fmt.Sprintf("%d repeats", repeats), func(t *testing.T) {
			const sweeps = 100
			covered, right, width := 0, 0, 0.0
			for n := range sweeps {
				rng := rand.New(rand.NewPCG(7, uint64(1000*repeats+n)))
				most, half := 1e4*math.Exp(3*rng.Float64()), 1+20*rng.Float64()
				factor, bend := 2+3*rng.Float64(), 20+200*rng.Float64()
				noiseIOPS, noiseNS := 0.01+0.05*rng.Float64(), 0.02+0.1*rng.Float64()
				iops := func(depth float64) float64 { return most * depth / (depth + half) }
				p99 := func(depth float64) float64 {
					return factor * depth / iops(depth) * 1e9 * (1 + depth*depth/bend/bend)
				}
				wanted := 1.2 + 50*rng.Float64() // the depth, between those tried
				bound := p99(wanted)
				var rows []figures.Row
				for depth := 1; depth <= 64; depth *= 2 {
					for r := range repeats {
						rows = append(rows, run(fmt.Sprint(depth, "/", r), depth,
							iops(float64(depth))*math.Exp(noiseIOPS*rng.NormFloat64()),
							p99(float64(depth))*math.Exp(noiseNS*rng.NormFloat64())))
					}
				}
				c, err := Make(rows, "read", []float64{99}, rule(t, fmt.Sprintf("read p99 < %dns", int64(bound))))
				if err != nil {
					t.Fatal(err)
				}
				truth := iops(wanted)
				if c.At.Low != nil && *c.At.Low <= truth && (c.At.High == nil || truth <= *c.At.High) {
					covered++
				}
				if below := int(math.Log2(wanted)); slices.Equal(c.At.Between, []int{below, below + 1}) {
					right++
				}
				if c.At.High != nil && c.At.Low != nil {
					width += (*c.At.High - *c.At.Low) / truth / sweeps
				}
			}
			t.Logf("of %d sweeps the limits of %d hold the truth, and lie %.0f %% apart; %d name the two points",
				sweeps, covered, 100*width, right)
			if covered < sweeps*90/100 {
				t.Errorf("the limits of %d of %d sweeps hold the truth, want 90 %%", covered, sweeps)
			}
			if width > 0.6 {
				t.Errorf("the limits lie %.0f %% apart: they say nothing", 100*width)
			}
			if right < sweeps*70/100 {
				t.Errorf("%d of %d sweeps name the two points around the bound", right, sweeps)
			}
		})
	}
}

// TestPointLimitsCoverTheTruth does the same for IOPS and p99 of each point.
func TestPointLimitsCoverTheTruth(t *testing.T) {
	const sweeps = 200
	covered, all := map[string]int{}, 0
	for n := range sweeps {
		rng := rand.New(rand.NewPCG(11, uint64(n)))
		var rows []figures.Row
		for depth := 1; depth <= 64; depth *= 2 {
			for r := range 3 {
				rows = append(rows, run(fmt.Sprint(depth, "/", r), depth,
					1e3*float64(depth)*math.Exp(0.05*rng.NormFloat64()),
					1e5*float64(depth)*math.Exp(0.1*rng.NormFloat64())))
			}
		}
		c, err := Make(rows, "read", []float64{99}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range c.Points {
			depth := math.Exp2(float64(i))
			for key, truth := range map[string]float64{"iops": 1e3 * depth, "99": 1e5 * depth} {
				if l := p.Limits[key]; *l.Low <= truth && truth <= *l.High {
					covered[key]++
				}
			}
			all++
		}
	}
	for key, n := range covered {
		t.Logf("%s: %d of %d", key, n, all)
		if n < all*94/100 {
			t.Errorf("%s: limits of %d of %d points hold the truth, want 95 %%", key, n, all)
		}
	}
}

func TestAt(t *testing.T) {
	sweep := func(points ...place) (rows []figures.Row) {
		for i, p := range points {
			for r := range 2 {
				rows = append(rows, run(fmt.Sprint(i, r), 1<<i, p.iops*(1+0.001*float64(r)), p.ns*(1+0.001*float64(r))))
			}
		}
		return rows
	}
	usual := []place{{1000, 1e5}, {1900, 1.2e5}, {3000, 2e5}, {3500, 9e5}, {3600, 4e6}}
	for _, c := range []struct {
		name, rule string
		points     []place
		between    []int
		low, high  float64 // IOPS lie between
		note       string
	}{
		{"between two", "read p99 < 150us", usual, []int{1, 2}, 1900, 3000, ""},
		{"at the knee", "read p99 < 1ms", usual, []int{3, 4}, 3500, 3600, ""},
		{"all keep it", "read p99 < 1s", usual, nil, 3595, 3605, "may be higher"},
		{"none keeps it", "read p99 < 1us", usual, nil, 0, 0, "no point"},
		{"beyond the peak", "read p99 < 1ms", []place{{1000, 1e5}, {2000, 5e5}, {1500, 2e6}}, []int{1, 2}, 1990,
			2010, ""},
		{"a slow start", "read p99 < 1ms", []place{{100, 2e6}, {1000, 5e5}, {2000, 2e6}}, []int{1, 2}, 1000, 2000,
			"a lighter load breaks the rule: iodepth=1"},
		{"a dip", "read p99 < 1ms", []place{{250, 5e5}, {450, 9e5}, {800, 2e6}, {1355, 7e5}, {1808, 9e5}, {2000, 3e6}},
			[]int{4, 5}, 1808, 2000, "a lighter load breaks the rule: iodepth=4"},
		{"two dips", "read p99 < 1ms", []place{{250, 2e6}, {450, 9e5}, {800, 2e6}, {1355, 7e5}}, nil, 1355, 1357,
			"may be higher; lighter loads break the rule: iodepth=1, iodepth=4"},
		{"meets it again beyond the peak", "read p99 < 1ms", []place{{1000, 5e5}, {2000, 2e6}, {900, 5e5}},
			[]int{0, 1}, 1000, 2000, ""},
		{"not asked for", "read p99.9 < 1ms", usual, nil, 0, 0, "no p99.9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Make(sweep(c.points...), "read", []float64{99}, rule(t, c.rule))
			if err != nil {
				t.Fatal(err)
			}
			at := got.At
			if !slices.Equal(at.Between, c.between) || !strings.Contains(at.Note, c.note) || at.Rule != c.rule {
				t.Errorf("%+v, want between %v, note %q", at, c.between, c.note)
			}
			if said := got.Sentence(at); !strings.Contains(said, c.note) {
				t.Errorf("%s, want %q", said, c.note)
			}
			switch {
			case c.high == 0:
				if at.IOPS != nil || at.Low != nil || (at.High == nil) != strings.Contains(c.note, "p99.9") {
					t.Errorf("%+v, want no IOPS, and an upper limit", at)
				}
			case at.IOPS == nil || *at.IOPS < c.low || *at.IOPS > c.high:
				t.Errorf("%v IOPS, want %v to %v", at.IOPS, c.low, c.high)
			case at.Low == nil || *at.Low > *at.IOPS || at.High != nil && *at.High < *at.IOPS ||
				at.High == nil != (c.between == nil):
				t.Errorf("limits %v and %v of %v", at.Low, at.High, *at.IOPS)
			}
		})
	}
}

// TestUnequalNoise makes up sweeps in which rates are limited up to the last point, so that IOPS there differ by far
// more than elsewhere. The limits of each point cover the truth, and those of the steady points stay narrow.
func TestUnequalNoise(t *testing.T) {
	const sweeps = 300
	noise := []float64{0.001, 0.001, 0.001, 0.001, 0.001, 0.1}
	covered, width := make([]int, len(noise)), make([]float64, len(noise))
	for n := range sweeps {
		rng := rand.New(rand.NewPCG(13, uint64(n)))
		var rows []figures.Row
		for i, sd := range noise {
			for r := range 3 {
				rows = append(rows, run(fmt.Sprint(i, "/", r), 1<<i, 200*math.Exp(sd*rng.NormFloat64()), 1e6))
			}
		}
		c, err := Make(rows, "read", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Points {
			l := c.Points[i].Limits["iops"]
			covered[i] += map[bool]int{true: 1}[*l.Low <= 200 && 200 <= *l.High]
			width[i] += (*l.High - *l.Low) / 200 / sweeps
		}
	}
	for i, sd := range noise {
		t.Logf("noise of %.1f %%: %d of %d cover, %.1f %% wide", 100*sd, covered[i], sweeps, 100*width[i])
		if covered[i] < sweeps*90/100 || width[i] > 10*sd {
			t.Errorf("noise of %.1f %%: want 90 of 100 to cover, and less than 10 times the noise", 100*sd)
		}
	}
}

// TestWithoutRepeats wants the points around the result, and no estimate.
func TestWithoutRepeats(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"read p99 < 350us", "read p99 < 350us: at least 3000 IOPS (iodepth=3); broken at 4000 (iodepth=4); no " +
			"estimate without repeats: run each setting 3 times"},
		{"read p99 < 1s", "read p99 < 1s: at least 4000 IOPS (iodepth=4); even the heaviest load meets the rule; the " +
			"actual limit may be higher; no estimate without repeats: run each setting 3 times"},
		{"read p99 < 1us", "read p99 < 1us: no point meets the rule"},
	} {
		var rows []figures.Row
		for depth := 1; depth <= 4; depth++ {
			rows = append(rows, run(fmt.Sprint(depth), depth, 1000*float64(depth), 1e5*float64(depth)))
		}
		c, err := Make(rows, "read", []float64{99}, rule(t, tt.rule))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Sentence(c.At); got != tt.want || c.At.IOPS != nil || c.At.Low != nil || c.At.High != nil {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

func TestSeries(t *testing.T) {
	var rows []figures.Row
	for _, bs := range []string{"4k", "64k"} {
		for _, depth := range []int{16, 2, 1} {
			r := run(fmt.Sprint(bs, depth), depth, 1000*float64(depth), 1e5*float64(depth))
			r.Options["bs"] = bs
			rows = append(rows, r)
		}
	}
	c, err := Make(rows, "all", []float64{99}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Series) != 2 || !slices.Equal(c.Load, []string{"iodepth"}) || c.Series[1].Options["bs"] != "64k" ||
		!slices.Equal(c.Series[1].Points, []int{3, 4, 5}) || c.Points[5].Options["iodepth"] != "16" {
		t.Errorf("%+v", c)
	}
	if len(c.Notes) != 1 || len(c.Points[0].Limits) != 0 {
		t.Errorf("single runs have limits %v and notes %q", c.Points[0].Limits, c.Notes)
	}
	var loads []string
	for i := range 4 { // 1 and 4 jobs of iodepth 1 and 2
		r := run(fmt.Sprint("of several jobs", i), 1+i%2, 1000, 1e5)
		r.Options["jobs"] = strconv.Itoa(1 + i/2*3)
		rows = append(rows, r)
	}
	if c, err = Make(rows[len(rows)-4:], "all", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Points {
		loads = append(loads, p.Options["jobs"]+"*"+p.Options["iodepth"])
	}
	if want := []string{"1*1", "1*2", "4*1", "4*2"}; !slices.Equal(loads, want) {
		t.Errorf("ascending loads are %v, want %v", loads, want)
	}
	if _, err := Make(rows[:1], "all", nil, nil); !errors.Is(err, ErrOneSetting) {
		t.Errorf("one setting: %v", err)
	}
	if _, err := Make(rows, "write", nil, nil); err == nil || errors.Is(err, ErrOneSetting) {
		t.Errorf("no writes: %v", err)
	}
}

// TestKnee: a point is the knee only if it has certainly more IOPS per mean latency than the lightest and the heaviest.
func TestKnee(t *testing.T) {
	two, ms := 2, func(v float64) *float64 { v *= 1e6; return &v }
	for _, tt := range []struct {
		name  string
		iops  []float64
		means []float64 // ms
		want  *int
	}{
		{"between", []float64{100, 190, 350, 400}, []float64{1, 1.05, 1.2, 4}, &two},
		{"the lightest", []float64{1000, 1100, 1200}, []float64{1, 2, 4}, nil},
		{"by 5 %", []float64{100, 105, 110}, []float64{1, 1, 4}, nil},
		{"one point", []float64{100}, []float64{1}, nil},
	} {
		c, s := &Curve{}, &Series{}
		for i, iops := range tt.iops {
			c.Points, s.Points = append(c.Points, Point{IOPS: iops, Mean: ms(tt.means[i])}), append(s.Points, i)
		}
		c.knee(s, newSpread(nil))
		if (s.Knee == nil) != (tt.want == nil) || s.Knee != nil && *s.Knee != *tt.want {
			t.Errorf("%s: %v, want %v", tt.name, s.Knee, tt.want)
		}
	}
}

// TestMatrix: a line joins settings that differ in one swept option; others are rows and columns.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string // options of a run each
		want     string // the points of each series, or of each row of the matrix
	}{
		"depths":      {"iodepth=1 iodepth=4 iodepth=16", "[[0 1 2]]"},
		"block sizes": {"bs=4k bs=8k bs=64k", "[[0 1 2]]"},
		"depths of two block sizes": {"bs=4k,iodepth=1 bs=4k,iodepth=4 bs=8k,iodepth=1 bs=8k,iodepth=4",
			"[[0 1] [2 3]]"},
		"loads that grow together":       {"iodepth=1,numjobs=1 iodepth=4,numjobs=2", "[[0 1]]"},
		"directions":                     {"rw=randread rw=randwrite", "rw by : [[0] [1]]"},
		"a tree of CBT":                  {"rw=r,bs=4k rw=r,bs=64k rw=w,bs=4k rw=w,bs=64k", "rw by bs: [[0 1] [2 3]]"},
		"a setting is not there":         {"rw=r,bs=4k rw=r,bs=64k rw=w,bs=64k", "rw by bs: [[0 1] [-1 2]]"},
		"a depth of its own for each bs": {"bs=4k,iodepth=4 bs=64k,iodepth=1", "bs by iodepth: [[-1 0] [1 -1]]"},
		"depths by jobs": {"iodepth=1,numjobs=1 iodepth=1,numjobs=4 iodepth=4,numjobs=1",
			"iodepth by numjobs: [[0 1] [2 -1]]"},
	} {
		var rows []figures.Row
		for i, setting := range strings.Fields(c.settings) {
			r := run(strconv.Itoa(i), 1, 1000, 1e6)
			r.Options = map[string]string{}
			for _, option := range strings.Split(setting, ",") {
				k, v, _ := strings.Cut(option, "=")
				r.Options[k] = v
			}
			rows = append(rows, r)
		}
		got, err := Make(rows, "read", []float64{99}, rule(t, "read p99 < 2ms"))
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if m := got.Matrix; m != nil {
			text = fmt.Sprintf("%s by %s: %v", strings.Join(m.Rows, " "), m.Columns, m.Points)
			if met := got.Meets(0); met != "yes" {
				t.Errorf("%s: met is %q", name, met)
			}
		} else {
			var series [][]int
			for _, s := range got.Series {
				series = append(series, s.Points)
			}
			text = fmt.Sprint(series)
		}
		if text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestMembers: the hosts of a setting's runs, and the slowest of them. Repeats of a host are named by their runs, and
// are none of its others.
func TestMembers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		runs    []string
		p99     []float64 // of the hosts, in each run
		slowest string
		times   float64
		members string
	}{
		"one run": {[]string{"a"}, []float64{1e6, 1.1e6, 2.2e6, 1.1e6}, "h2", 2, "h0 h1 h2 h3 "},
		"natural": {[]string{"a"}, append(slices.Repeat([]float64{1}, 10), 3), "h10", 3,
			"h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 "},
		"repeats": {[]string{"a10", "a9"}, []float64{1e6, 2e6, 1e6}, "h1", 2,
			"h0 a9 h0 a10 h1 a9 h1 a10 h2 a9 h2 a10 "},
		"two others":   {[]string{"a"}, []float64{1e6, 8e6, 4e6}, "h1", 4, "h0 h1 h2 "},
		"of two hosts": {[]string{"a1", "a2"}, []float64{1e6, 2e6}, "", 0, "h0 a1 h0 a2 h1 a1 h1 a2 "},
		"one unknown":  {[]string{"a"}, []float64{1e6, 2e6, 0}, "", 0, "h0 h1 h2 "},
	} {
		other := run("b", 1, 1000, 1e6)
		other.Options = map[string]string{"rw": "w"}
		rows, hosts := []figures.Row{other}, []figures.Row(nil)
		for _, id := range tc.runs {
			r := run(id, 1, 1000, 1e6)
			r.Name, r.Options = id, map[string]string{"rw": "r"}
			rows = append(rows, r)
			for i, p99 := range tc.p99 {
				of := run(id, 1, 250, p99)
				of.Name, of.Host = id, fmt.Sprintf("h%d", i)
				hosts = append(hosts, of)
			}
		}
		c, err := Make(rows, "read", []float64{99}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.AddMembers(hosts)
		members := ""
		for _, m := range c.Points[0].Members {
			members += m.Name + " "
			if m.Run != "" {
				members += m.Run + " "
			}
		}
		slowest, times := c.Points[0].Slowest(99)
		if slowest != tc.slowest || math.Abs(times-tc.times) > 1e-9 || members != tc.members ||
			len(c.Points[1].Members) != 0 {
			t.Errorf("%s: %s, %g times; members %s; %v", name, slowest, times, members, c.Points[1].Members)
		}
	}
}
