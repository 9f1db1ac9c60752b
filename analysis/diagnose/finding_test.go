package diagnose

import (
	"math"
	"slices"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/pipeline"
)

// TestFactors: members that are slow by different factors have one each, in the order of their names.
func TestFactors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slow   [2]float64 // factors of h10 and h2
		noise  float64    // by how much each second is off, in turn
		blocks int
		want   []float64 // of h2 and h10; their product is that of 1.7 and 1.7
	}{
		"2.0 and 1.5":    {[2]float64{2, 1.5}, 0.05, 40, []float64{1.472, 1.963}},
		"the same":       {[2]float64{1.7, 1.7}, 0.05, 40, nil},
		"nearly":         {[2]float64{1.7, 1.55}, 0.01, 40, nil},
		"much noise":     {[2]float64{2, 1.5}, 0.6, 40, nil},
		"a short window": {[2]float64{2, 1.5}, 0.01, 7, nil},
	} {
		g := &group{names: []string{"h10", "h2", "h3"}}
		for k := range c.blocks {
			off := c.noise * float64(k%2*2-1)
			g.blocks = append(g.blocks, []member{{n: 100, p50: float32(math.Log(c.slow[0]) + off)},
				{n: 100, p50: float32(math.Log(c.slow[1]) - off)}, {n: 100}})
		}
		h := hit{who: who{group: g, members: []int{0, 1}}, when: when{window: window{0, c.blocks}}}
		got := h.factors(1.7)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 0.001 }) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if len(got) > 0 {
			if text := (&Finding{Factors: got}).times(); text != "1.5 to 2.0 times" {
				t.Error(text)
			}
		}
	}
}

// TestFew: of 154 I/Os, one or two make the p99, unless more are as slow.
func TestFew(t *testing.T) {
	t.Parallel()
	grid := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	for name, c := range map[string]struct {
		n    float32 // a second, for 14 of them
		slow float64
		want bool
	}{
		"154, of which 2 are slow": {11, 2, true},
		"154, of which 6 are slow": {11, 6, false},
		"420, of which 2 are slow": {30, 2, false},
	} {
		g := &group{names: []string{"a", "b"}, blocks: slices.Repeat([][]member{{{n: c.n}, {n: 1000}}}, 14)}
		h := hit{who: who{group: g, members: []int{0}}, when: when{window: window{0, 14}}, measure: p99,
			sums: new(sums)}
		h.sums.own.Add(grid.Index(1e6), 14*float64(c.n)-c.slow)
		h.sums.own.Add(grid.Index(20e6), c.slow)
		f := Finding{Own: pointer(20e6), Others: pointer(2e6)}
		if h.few(&f, grid) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
		if h.measure = p50; h.few(&f, grid) {
			t.Errorf("%s: they have a p50", name)
		}
	}
}

// TestDrained: a run of 90 s has no end at 92 s, when the last I/Os of a slow device completed.
func TestDrained(t *testing.T) {
	t.Parallel()
	of := func(options ...jobfile.Options) *Watch {
		grid := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
		w := &Watch{run: &pipeline.Run{}, board: newBoard(grid, 0, second)}
		for range 92 {
			h := new(fiohist.Hist)
			h.Add(9, 1)
			w.board.pooled["read"] = append(w.board.pooled["read"], h)
		}
		for _, o := range options {
			w.run.Logs = append(w.run.Logs, &pipeline.Log{Log: &ingest.Log{Meta: new(fiojson.Document),
				Entry: &fiojson.Entry{Options: o}}})
		}
		return w
	}
	whole := jobfile.Options{"runtime": "90"}
	for name, c := range map[string]struct {
		w    *Watch
		from int
		want int
	}{
		"one job":                 {of(whole), 2, 90},
		"another of 91 s":         {of(whole, jobfile.Options{"runtime": "91"}), 2, 91},
		"one that ends by size":   {of(whole, jobfile.Options{"size": "1g"}), 2, 92},
		"longer than it ran":      {of(jobfile.Options{"runtime": "3m"}), 2, 92},
		"what is slow afterwards": {of(whole), 90, 92},
	} {
		h := &hit{when: when{window: window{c.from, 92}}, direction: fio.Read.String()}
		if first, end := c.w.lasts(h); first != 0 || end != c.want {
			t.Errorf("%s: from %d to %d, want to %d", name, first, end, c.want)
		}
	}
}

// TestUsual: what most peers do at some time is not a member's own, unless they were found to stand out themselves.
func TestUsual(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		peers []float64 // scores of their best windows
		found int       // how many of the last ones stand out
		want  float64
	}{
		"calm":                {[]float64{0, 0, 4}, 0, 0},
		"most burst":          {[]float64{0, 5, 6}, 0, 5},
		"those that burst do": {[]float64{0, 0, 5, 6}, 2, 0},
		"a single peer":       {[]float64{9}, 0, 0},
	} {
		f := &field{group: &group{names: make([]string, 1+len(c.peers))}, taken: make([][]window, 1+len(c.peers)),
			parts: []part{{class: make([]int, 1+len(c.peers))}}}
		all := []candidate{{measure: p99, score: 20}}
		for i, score := range c.peers {
			if all = append(all, candidate{member: i + 1, measure: p99, score: score}); i >= len(c.peers)-c.found {
				f.taken[i+1] = []window{{0, 9}}
			}
		}
		if got := f.usual(all)(all[0]); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// TestSnap: what begins or ends within a fifth of itself, or two seconds, of the run's first or last I/O begins or ends
// with the run.
func TestSnap(t *testing.T) {
	t.Parallel()
	w := &Watch{run: &pipeline.Run{}, board: newBoard(fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}, 0, second)}
	for range 92 {
		h := new(fiohist.Hist)
		h.Add(9, 1)
		w.board.pooled["read"] = append(w.board.pooled["read"], h)
	}
	for _, tt := range []struct{ was, want window }{
		{window{10, 80}, window{10, 80}},
		{window{10, 90}, window{10, 92}},
		{window{10, 89}, window{10, 89}},
		{window{2, 80}, window{0, 80}},
		{window{3, 80}, window{3, 80}},
		{window{88, 91}, window{88, 92}},
		{window{87, 90}, window{87, 90}},
		{window{1, 4}, window{1, 4}},
		{window{2, 90}, window{2, 90}}, // nothing would be outside
	} {
		h := &hit{when: when{window: tt.was, outside: window{0, 92}}, direction: "read", shape: level{}}
		if w.snap(h); h.window != tt.want {
			t.Errorf("%v: %v, want %v", tt.was, h.window, tt.want)
		}
	}
}
