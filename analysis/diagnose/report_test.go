package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// TestStored: a document holds the first of each list, and says how many more there are.
func TestStored(t *testing.T) {
	d := &Diagnosis{Findings: make([]Finding, 3), More: make([]Finding, maxListed+1),
		Stalls: make([]Stall, maxListed+20)}
	s := d.Stored()
	if len(s.Findings) != 3 || len(s.More) != maxListed || len(s.Stalls) != maxListed || s.Omitted != 21 {
		t.Errorf("%d findings, %d more, %d stalls, %d omitted", len(s.Findings), len(s.More), len(s.Stalls), s.Omitted)
	}
}

// TestNothing: who is beyond the limit, but not surely, is not said to be named from there on.
func TestNothing(t *testing.T) {
	w := Watch{run: &pipeline.Run{}, board: &board{intervals: 8, fold: 1, interval: second,
		pooled: map[string][]*fiohist.Hist{"read": nil}}}
	g := &group{names: []string{"h1"}, parents: make([][3]string, 1),
		blocks: slices.Repeat([][]member{{{n: 50, p50: 10}}}, 8)}
	for factor, named := range map[float64]bool{1.2: true, 1.4: false} {
		off := slices.Repeat([]float64{math.Log(factor)}, 8)
		got := w.nothing(&searched{fields: []*field{{group: g, off: [4][][]float64{{off}}}}}).Text
		if strings.Contains(got, "would have been named") != named ||
			strings.Contains(got, ", 1.20 times the median host") != named {
			t.Errorf("%g times: %s", factor, got)
		}
	}
}

// TestExpected: a member that does twice as much as its peers, but nothing for three blocks.
func TestExpected(t *testing.T) {
	g := &group{blocks: slices.Repeat([][]member{{{n: 100}, {n: 110}, {n: 90}, {n: 200}}}, 9)}
	for at := 3; at < 6; at++ {
		g.blocks[at] = []member{{n: 50}, {n: 60}, {n: 40}}
	}
	h := hit{who: who{group: g, members: []int{3}}, when: when{window: window{3, 6}}}
	if got := h.expected(); math.Abs(got-100) > 1e-9 {
		t.Errorf("%g I/Os in a block, want 100", got)
	}
}

// TestInOrder: what is harmless for p99 of all is not for its own p50, and so stands where its lost time puts it.
func TestInOrder(t *testing.T) {
	all := []Finding{{Text: "slow for 5 s", LostS: 0.038}, {Text: "slow all run", LostS: 0.095, harmless: true},
		{Text: "short stall", LostS: 0.01}, {Text: "stall of all", LostS: 0.02, halt: true}}
	slices.SortStableFunc(all, inOrder)
	for i, want := range []string{"stall of all", "slow all run", "slow for 5 s", "short stall"} {
		if all[i].Text != want {
			t.Errorf("%d: %s, want %s", i+1, all[i].Text, want)
		}
	}
}

// TestShown: how many findings there are besides those that are shown.
func TestShown(t *testing.T) {
	d := &Diagnosis{Findings: []Finding{{About: aboutSlow, Text: "a"}, {About: aboutStall, Text: "b"}},
		More: []Finding{{About: aboutSlow, Text: "c"}, {About: aboutConcurrency, Text: "load"}}}
	for most, want := range map[int]string{1: "a|2 more: see fiolat diagnose.|load",
		2: "a|b|1 more: see fiolat diagnose.|load",
		3: "a|b|c|load"} {
		if got := strings.Join(d.Sentences(most), "|"); got != want {
			t.Errorf("%d: %s, want %s", most, got, want)
		}
	}
}

// TestSayDrift: fewer I/Os per second are a fall, and what lasts to the end of the run has no time.
func TestSayDrift(t *testing.T) {
	one := who{group: &group{}}
	for _, tc := range []struct {
		f    Finding
		h    hit
		t    telling
		want string
	}{
		{Finding{Measure: "p50"}, hit{who: one, shape: drift{end: math.Log(2)}}, telling{when: ", all run"},
			" slows down over the run: p50 from 1.0 to 2.0 times its peers'"},
		{Finding{Measure: "iops"}, hit{who: one, measure: iops, shape: drift{begin: -math.Log(2), end: math.Log(2)}},
			telling{when: " from 0:10 to the end"}, " slows down from 0:10 on: IOPS fall by 75 % relative to its peers'"},
		{Finding{Measure: "p50", Own: pointer(4e6), Others: pointer(2e6)}, hit{shape: drift{end: 1}},
			telling{when: " from 0:10 to 0:30", plural: true}, " slow down from 0:10 to 0:30: p50 rises from 2 ms to 4 ms"},
	} {
		if got := tc.h.say(&tc.f, &tc.h, tc.t); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
}

// TestWiden: what happens to all begins and ends with blocks in which some hosts are a part of it, and not with noise.
func TestWiden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []float64 // how far off blocks before the 40th are
		edge   int
		want   int
	}{
		"one block of some hosts": {[]float64{0.3}, 3, 39},
		"two":                     {[]float64{0.15, 0.4}, 3, 38},
		"of one at most":          {[]float64{0.15, 0.4}, 1, 39},
		"noise":                   {[]float64{0.05}, 3, 40},
		"at another time":         {[]float64{0.4, 0.01}, 3, 40},
	} {
		x := make([]float64, 100)
		for k := range x {
			x[k] = 0.01 * float64(k%2)
			if k >= 40 {
				x[k] += 1
			}
		}
		copy(x[40-len(c.before):], c.before)
		h := hit{when: when{window: window{40, 100}}, measure: p50}
		(&course{x: [3][]float64{p50: x}, edge: c.edge}).widen(&h)
		if h.from != c.want || h.to != 100 {
			t.Errorf("%s: from %d to %d, want from %d", name, h.from, h.to, c.want)
		}
	}
}

// TestLoadInOrder: the same directions give the same sum to the last bit, in whatever order a map has them.
func TestLoadInOrder(t *testing.T) {
	geometry := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	pooled := map[string][]*fiohist.Hist{}
	for i, direction := range []string{"read", "write", "trim"} {
		for t := range 20 {
			h := new(fiohist.Hist)
			h.Add(500+100*i, 1/float64(3+4*i+t))
			pooled[direction] = append(pooled[direction], h)
		}
	}
	w := Watch{run: &pipeline.Run{Logs: []*pipeline.Log{{Empty: true, End: 20 * second}}},
		board: &board{geometry: geometry, intervals: 20, fold: 1, interval: second, pooled: pooled}}
	first := w.load()
	for range 100 {
		if again := w.load(); *again.Own != *first.Own {
			t.Fatalf("%v, then %v I/Os in flight", *first.Own, *again.Own)
		}
	}
}

// TestNamed: three or more are named by the start that only they have, of two letters at least; else by their names.
func TestNamed(t *testing.T) {
	for _, tc := range []struct {
		who, all, want string
	}{
		{"h1", "h1 h2 h3", "Host h1"},
		{"h1 h2", "h1 h2 h3", "Hosts h1 and h2"},
		{"db1 db2 db3", "db1 db2 db3 web1", "Hosts named db*, 3 of 4,"},
		{"db1 db2 db3", "db1 db2 db3 db4", "Hosts db1, db2 and db3"},
		{"d1 d2 d3", "d1 d2 d3 web1", "Hosts d1, d2 and d3"},
		{"a b c", "a b c d", "Hosts a, b and c"},
		{"a b c d e", "a b c d e f", "Hosts a, b, c, d and e"},
		{"a b c d e f", "a b c d e f g", "Hosts a, b, c, d and 2 others"},
	} {
		subject, plural := named("host", strings.Fields(tc.who), strings.Fields(tc.all))
		if subject != tc.want || plural == (strings.Count(tc.who, " ") == 0) {
			t.Errorf("%s of %s: %q, plural %v; want %q", tc.who, tc.all, subject, plural, tc.want)
		}
	}
}

// TestAllRun: a run that was rolled up keeps which findings are of all of it.
func TestAllRun(t *testing.T) {
	t.Parallel()
	run := &pipeline.Run{Interval: 10 * second, Fine: pipeline.Grain{Interval: second}}
	for _, tt := range []struct {
		name string
		f    Finding
		want bool
	}{
		{"all run", Finding{About: aboutSlow, FromMS: 0, ToEnd: true}, true},
		{"from the second interval on", Finding{About: aboutSlow, FromMS: 1000, ToEnd: true}, false},
		{"not to the end", Finding{About: aboutSlow, FromMS: 0}, false},
		{"a period", Finding{About: aboutPeriod, FromMS: 0, ToEnd: true}, false},
	} {
		d := (&Stored{Findings: []Finding{tt.f}, More: []Finding{tt.f}}).diagnosis(run, nil)
		if d.Findings[0].AllRun != tt.want || d.More[0].AllRun != tt.want {
			t.Errorf("%s: %v, %v", tt.name, d.Findings[0].AllRun, d.More[0].AllRun)
		}
	}
}

// TestSumOfNothing: a block without I/O has no percentiles.
func TestSumOfNothing(t *testing.T) {
	t.Parallel()
	b := newBoard(fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}, 0, second)
	h := new(fiohist.Hist)
	h.Add(100, 4)
	b.pooled["read"] = []*fiohist.Hist{new(fiohist.Hist), h}
	if b.sum("read", 0) != (member{}) || b.sum("read", 2) != (member{}) || b.sum("write", 1) != (member{}) {
		t.Errorf("%+v, %+v, %+v", b.sum("read", 0), b.sum("read", 2), b.sum("write", 1))
	}
	if got := b.sum("read", 1); got.n != 4 || got.p50 <= 0 || got.p99 < got.p50 {
		t.Errorf("%+v", got)
	}
}

// TestMeanOfWindow: what is not known counts neither way.
func TestMeanOfWindow(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	p := newPrefixes([]float64{1, 2, nan, 4, nan, nan}, 1)
	for w, want := range map[window]float64{{0, 2}: 1.5, {1, 4}: 3, {3, 6}: 4, {0, 6}: 7. / 3} {
		if got := p.mean(w); math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v: %v, want %v", w, got, want)
		}
	}
	if got := p.mean(window{4, 6}); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

// TestOffsetsOfPeers: who has fewer than two peers stands beside none, and the others' distances do not change.
func TestOffsetsOfPeers(t *testing.T) {
	t.Parallel()
	block := func(p50 ...float32) (b []member) {
		for _, v := range p50 {
			b = append(b, member{n: 50, p50: v})
		}
		return b
	}
	p := &part{blocks: [][]member{block(1, 9, 2, 2, 5)}, peers: [][]int{{0, 1}, {2, 3, 4}}}
	off, n := make([]float64, 5), make([]float64, 5)
	p.offsets(0, 0, func(int) bool { return false }, off, n)
	if want := []float64{0, 0, 1, 1, 1}; !slices.Equal(n, want) {
		t.Errorf("known of %v, want %v", n, want)
	}
	if off[0] != 0 || off[1] != 0 || off[2] > 0 || off[3] > 0 || off[4] != 3 {
		t.Errorf("%v", off)
	}
}

// TestNarrow: a pause of a log is no longer than what all its directions have of it.
func TestNarrow(t *testing.T) {
	t.Parallel()
	pause := func(from, to int64) pipeline.Pause {
		return pipeline.Pause{Span: pipeline.Span{From: from, To: to}, Certain: to - from}
	}
	for _, tt := range []struct {
		name  string
		other pipeline.Pause
		ios   float64
		want  pipeline.Span
		ok    bool
	}{
		{"the same", pause(100, 200), 1000, pipeline.Span{From: 100, To: 200}, true},
		{"began earlier", pause(50, 200), 1000, pipeline.Span{From: 100, To: 200}, true},
		{"began later", pause(120, 200), 1000, pipeline.Span{From: 120, To: 200}, true},
		{"ended earlier", pause(100, 180), 1000, pipeline.Span{From: 100, To: 180}, true},
		{"ended later", pause(100, 300), 1000, pipeline.Span{From: 100, To: 200}, true},
		{"less than half of it", pause(160, 200), 1000, pipeline.Span{From: 100, To: 200}, false},
		{"few I/Os at all", pause(160, 200), 10, pipeline.Span{From: 100, To: 200}, true},
	} {
		s := pause(100, 200)
		ok := narrow(&s, &pipeline.Pauses{Longest: []pipeline.Pause{tt.other}, IOs: tt.ios, Last: 1000})
		if ok != tt.ok || ok && s.Span != tt.want {
			t.Errorf("%s: %v, %v", tt.name, s.Span, ok)
		}
	}
}

// TestSteps: adjoining hits are steps of one where their levels differ, and otherwise one without steps.
func TestSteps(t *testing.T) {
	t.Parallel()
	hits := []window{{20, 30}, {30, 40}, {40, 60}}
	for name, tc := range map[string]struct {
		levels []float64 // of hits, times as slow
		want   []window
	}{
		"alike":            {[]float64{2, 2.05, 1.98}, nil},
		"apart":            {[]float64{2, 3, 6}, hits},
		"the last is off":  {[]float64{2, 2.05, 6}, []window{{20, 40}, {40, 60}}},
		"the first is off": {[]float64{6, 2, 2.05}, []window{{20, 30}, {30, 60}}},
	} {
		c := &course{window: window{0, 100}, means: make([]float64, 100)}
		var of []hit
		for q := range c.x {
			c.x[q] = make([]float64, 100)
		}
		for i, w := range hits {
			of = append(of, hit{when: when{window: w}})
			for k := w.from; k < w.to; k++ {
				c.x[p50][k], c.means[k] = math.Log(tc.levels[i]), math.Log(tc.levels[i])
			}
			c.size(&of[i], of[i].inside)
		}
		got := c.join(of)
		if len(got) != 1 || got[0].window != (window{20, 60}) || !slices.Equal(got[0].steps, tc.want) {
			t.Errorf("%s: %+v, want steps %v", name, got, tc.want)
		}
	}
}
