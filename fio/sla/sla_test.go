package sla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
)

var grid = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{ // the canonical spelling, or the error
		{"read p99 < 5ms", "read p99 < 5ms"},
		{"all p95 < 1s over 5m", "all p95 < 1s"},
		{"all p95 < 1s over 10m", "all p95 < 1s over 10m"},
		{"write p99.9 < 20ms for 3 intervals", "write p99.9 < 20ms for 3 intervals"},
		{"iops >= 10000", "all iops >= 10000"},
		{"  READ   P99_9<=1500us for 1 over 90s ", "read p99.9 <= 1.5ms over 1m30s for 1 intervals"},
		{"trim mean < 2ms", "trim mean < 2ms"},
		{"max < 1m", "all max < 1m"},
		{"p99 < 5 ms over 10 m for 3 intervals", "all p99 < 5ms over 10m for 3 intervals"},
		{"iops >= 10 s", `"10s": want a number`},
		{"p50 > 10us", "all p50 > 10us"},
		{"", `want METRIC < VALUE`},
		{"read p99", `want METRIC < VALUE`},
		{"read q99 < 5ms", `"read q99": want [read|write|trim|all|sync] METRIC, where METRIC is p99 or`},
		{"read p100 < 5ms", `"read p100": want [read|`},
		{"read p0 < 5ms", `"read p0": want [read|`},
		{"read p99 = 5ms", `want METRIC < VALUE`},
		{"read p99 < 5", `"5": want a duration with its unit`},
		{"read p99 < -5ms", `"-5ms": want a duration`},
		{"read p99 < 9223372036854775807ns", `want a duration with its unit, like 500us, 5ms or 1s, up to 1000h`},
		{"iops >= many", `"many": want a number`},
		{"iops >= 5 over 1m", `over applies to latencies`},
		{"p99 < 5ms over", `"over": repeated, or its value is missing`},
		{"p99 < 5ms over 1m over 2m", `"over": repeated`},
		{"p99 < 5ms for 0 intervals", `for "0": want a number`},
		{"p99 < 5ms for 30s over 1m", "all p99 < 5ms over 1m for 30s"},
		{"p99 < 5ms for 1.5 m", "all p99 < 5ms for 1m30s"},
		{"p99 < 5ms for 30s intervals", `"intervals": repeated, or its value is missing`},
		{"p99 < 5ms for 25h", `for "25h": want a number of intervals, or a duration up to 24h`},
		{"p99 < 5ms in 3", `"5ms in 3": want a duration`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			r, err := fio.ParseSLARule(tc.text)
			got := r.Text
			if err != nil {
				got = err.Error()
			}
			if got != tc.want && (err == nil || !strings.Contains(got, tc.want)) {
				t.Fatalf("%s, want %s", got, tc.want)
			}
			if err == nil {
				again, err := fio.ParseSLARule(r.Text)
				if err != nil || again != r {
					t.Errorf("spelled %q, which reads as %+v, %v", r.Text, again, err)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("write p99.9 < 20ms for 3 intervals")
	f.Add("iops>=1e4")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := fio.ParseSLARule(text)
		if err != nil {
			return
		}
		if again, err := fio.ParseSLARule(r.Text); err != nil || again != r {
			t.Fatalf("%q is spelled %q, which reads as %+v, %v", text, r.Text, again, err)
		}
		if !(r.Threshold > 0) || r.Over <= 0 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"a list", "- read p99 < 5ms\n- iops >= 10000\n", "read p99 < 5ms; all iops >= 10000"},
		{"with its key", "# promises\nsla:\n  - \"all p95 < 1s over 5m\"\n", "all p95 < 1s"},
		{"a bad rule", "sla:\n  - read p99 < 5ms\n  - read p99 5ms\n", "f.yaml:3: \"read p99 5ms\""},
		{"a rule a line", "read p99 < 5ms\n\n# more\niops >= 10000", "read p99 < 5ms; all iops >= 10000"},
		{"CRLF, and quotes", "- 'read p99 < 5ms'\r\n- iops >= 10000\r\n", "read p99 < 5ms; all iops >= 10000"},
		{"another key", "rules:\n  - read p99 < 5ms\n", "f.yaml:1: \"rules:\""},
		{"a list of lists", "- [a]\n", "f.yaml:1: \"[a]\""},
		{"empty", "\n# none\n", "f.yaml: no rules"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rules, err := ParseFile(strings.NewReader(tc.text), "f.yaml")
			var texts []string
			for _, r := range rules {
				texts = append(texts, r.Text)
			}
			got := strings.Join(texts, "; ")
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func rule(t testing.TB, text string) *fio.SLARule {
	t.Helper()
	r, err := fio.ParseSLARule(text)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// hist has n I/Os of each latency in ns.
func hist(n float64, latencies ...int64) *fiohist.Hist {
	h := new(fiohist.Hist)
	for _, ns := range latencies {
		h.Add(grid.Index(ns), n)
	}
	return h
}

const second = int64(time.Second)

// TestJudge: verdicts on intervals of a second, in which n I/Os took 1 ms and some of
// them 100 ms.
func TestJudge(t *testing.T) {
	t.Parallel()
	type interval struct{ fast, slow, iops float64 }
	for _, tc := range []struct {
		name, rule string
		intervals  []interval
		want       string // status and window in s of each
	}{
		{"many I/Os", "p99 < 10ms", []interval{{10000, 1, 0}, {10000, 500, 0}}, "ok 1, broken 1"},
		{"straddles, and no longer over two", "p99 < 10ms", []interval{{10000, 0, 0}, {1000, 10, 0}}, "ok 1, ok 2"},
		{"too few for ever", "p99 < 10ms", []interval{{10, 0, 0}, {10, 0, 0}}, "unknown 1, unknown 1"},
		{"few, but enough together", "p90 < 10ms", []interval{{30, 0, 0}, {30, 0, 0}, {30, 0, 0}, {30, 0, 0}},
			"unknown 1, ok 2, ok 2, ok 2"},
		{"no wider than the rule lets it", "p90 < 10ms over 1s", []interval{{30, 0, 0}, {30, 0, 0}},
			"unknown 1, unknown 1"},
		{"iops", "iops >= 100", []interval{{50, 0, 99}, {100, 0, 100}, {0, 0, 0}}, "broken 1, ok 1, broken 1"},
		{"a stall", "p99 < 500ms", []interval{{1000, 0, 1000}, {0, 0, 0}, {1000, 0, 1000}}, "ok 1, broken 1, ok 1"},
		{"a stall shorter than the promise", "p99 < 1500ms", []interval{{1000, 0, 0}, {0, 0, 0}, {0, 0, 0}},
			"ok 1, unknown 1, broken 1"},
		{"a stall that begins in a quantum", "p99 < 500ms over 1s",
			[]interval{{1000, 0, 0}, {2, 0, 0}, {0, 0, 0}}, "ok 1, unknown 1, broken 1"},
		{"one I/O a second is no stall", "p99 < 500ms over 1s", []interval{{1, 0, 0}, {0, 0, 0}, {1, 0, 0}},
			"unknown 1, unknown 1, unknown 1"},
		{"mean", "mean < 2ms", []interval{{1000, 1, 0}, {1000, 100, 0}, {3, 1, 0}}, "ok 1, broken 1, unknown 1"},
		{"no window reaches back over an incident", "p90 < 10ms", []interval{{30, 0, 0}, {1000, 1000, 0}, {30, 0, 0},
			{30, 0, 0}, {30, 0, 0}}, "unknown 1, broken 1, unknown 1, ok 2, ok 2"},
		{"a longer window does not hide a quantum", "p99 < 10ms", []interval{{100000, 0, 0}, {1000, 15, 0}},
			"ok 1, unknown 1"},
		{"max", "max < 50ms", []interval{{1000, 0, 0}, {1000, 1, 0}}, "ok 1, broken 1"},
		{"at least", "p50 > 10us", []interval{{1000, 0, 0}}, "ok 1"},
		{"a stall is not too fast", "p50 > 10s", []interval{{1000, 0, 0}, {0, 0, 0}}, "broken 1, unknown 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			j := NewJudge(grid, []*fio.SLARule{rule(t, tc.rule)}, 1)
			var got []string
			for i, q := range tc.intervals {
				h := new(fiohist.Hist)
				h.Add(grid.Index(1e6), q.fast)
				h.Add(grid.Index(100e6), q.slow)
				v := j.Judge(&Interval{Start: int64(i) * second, Length: second, Hist: h, Running: true,
					IOPS: q.iops})[0]
				got = append(got, fmt.Sprintf("%s %d", v.Status, v.Window/second))
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("%s, want %s", s, tc.want)
			}
		})
	}
}

// TestShare: the part of the I/Os within the threshold answers the question that a
// percentile turns around, exactly.
func TestShare(t *testing.T) {
	t.Parallel()
	g := grid
	edge := time.Duration(g.Upper(g.Index(5e6))) // where the answer needs no interpolation
	j := NewJudge(g, []*fio.SLARule{rule(t, "p95 < "+edge.String())}, 1)
	v := j.Judge(&Interval{Length: second, Hist: func() *fiohist.Hist {
		h := hist(95, 1e6)
		h.AddHist(hist(5, 50e6))
		return h
	}(), Running: true})[0]
	if v.Share != 0.95 {
		t.Errorf("share %v, want 0.95", v.Share)
	}
	last := j.Judge(&Interval{Length: second, Hist: hist(1, 60e9), Running: true})[0]
	if last.Share != 0 {
		t.Errorf("share of what lies in the last bucket: %v, want 0", last.Share)
	}
}

// TestVerdictsAreTrue: of steady I/O, whose percentile is known, verdicts that claim to know are wrong in no more than
// 5 of 100 intervals if they say ok, and in none if they say broken, however near the threshold is.
func TestVerdictsAreTrue(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	for _, factor := range []float64{0.9, 0.98, 1.02, 1.1} {
		// Exponential with mean 1 ms: p99 = ln(100) ms.
		truth := math.Log(100) * 1e6
		text := fmt.Sprintf("p99 < %s", time.Duration(truth*factor))
		claims := map[Status]int{}
		j := NewJudge(grid, []*fio.SLARule{rule(t, text)}, 1)
		for q := range 400 {
			h := new(fiohist.Hist)
			for range 2000 {
				h.Add(grid.Index(int64(rng.ExpFloat64()*1e6)), 1)
			}
			v := j.Judge(&Interval{Start: int64(q) * second, Length: second, Hist: h, Running: true})[0]
			claims[v.Status]++
		}
		if factor < 1 && claims[OK] > 20 || factor > 1 && claims[Broken] > 0 || factor == 0.9 && claims[Broken] < 20 ||
			factor == 1.1 && claims[OK] < 100 {
			t.Errorf("threshold at %v of the truth: %v", factor, claims)
		}
	}
}

// TestJudgeForgets: no more is remembered than the longest window holds.
func TestJudgeForgets(t *testing.T) {
	t.Parallel()
	j := NewJudge(grid, []*fio.SLARule{rule(t, "p99 < 1ms over 3s"), rule(t, "p50 < 1ms over 7s")}, 1)
	for i := range 100 {
		j.Judge(&Interval{Start: int64(i) * second, Length: second, Hist: hist(1, 1e6), Running: true})
		if len(j.past) > 7 {
			t.Fatalf("%d quanta remembered", len(j.past))
		}
	}
	if len(j.past) != 7 {
		t.Errorf("%d quanta remembered, want 7", len(j.past))
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, rule string
		patience   int
		interval   int64  // ns
		verdicts   string // o, b, u, and s for a stall
		want       string // index of the interval in which each change was reported, and where it began
		broken     bool
	}{
		{"one noisy interval", "p99 < 1ms", 2, second, "oobooo", "", false},
		{"two in a row", "p99 < 1ms", 2, second, "oobbooo", "breach 3 from 2, recovery 5 from 4", true},
		{"a stall is told at once", "p99 < 1ms", 2, second, "oosssoo", "breach 2 from 2, recovery 6 from 5", true},
		{"unknown ones do not interrupt", "p99 < 1ms", 2, second, "obubuuoobo",
			"breach 3 from 1, recovery 7 from 6", true},
		{"as the rule says", "p99 < 1ms for 3 intervals", 2, second, "bbobbbboobooo",
			"breach 5 from 3, recovery 12 from 10", true},
		{"for a time", "p99 < 1ms for 2100ms", 1, second, "bbobbbb", "breach 5 from 3", true},
		{"intervals of the usual length", "p99 < 1ms for 1 intervals", 1, second / 4, "bbobbbb",
			"breach 6 from 3", true},
		{"a stall does not outvote the rule", "p99 < 1ms for 3 intervals", 1, second, "ossooo", "", false},
		{"at once", "p99 < 1ms", 1, second, "oboob", "breach 1 from 1, recovery 2 from 2, breach 4 from 4", true},
		{"nothing known", "p99 < 1ms", 1, second, "uuu", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := rule(t, tc.rule)
			w := NewWatch(r, tc.patience, tc.interval, second)
			var got []string
			for i, c := range tc.verdicts {
				v := Verdict{Rule: r, Known: true, Status: map[rune]Status{'o': OK, 'b': Broken, 's': Broken,
					'u': Unknown}[c], Stalled: c == 's'}
				if change, ok := w.Observe(v, int64(i), int64(i+1)); ok {
					what := "recovery"
					if change.Breach {
						what = "breach"
					}
					got = append(got, fmt.Sprintf("%s %d from %d", what, i, change.Start))
				}
			}
			if s := strings.Join(got, ", "); s != tc.want || (w.Breaches > 0) != tc.broken {
				t.Errorf("%s, %d breaches; want %s", s, w.Breaches, tc.want)
			}
			if n := w.OK + w.Broken + w.Unknown; n != len(tc.verdicts) {
				t.Errorf("%d quanta counted of %d", n, len(tc.verdicts))
			}
		})
	}
}

// TestCounts: a partial interval is never the worst, one without a value is not counted, and a pause counts once.
func TestCounts(t *testing.T) {
	t.Parallel()
	r := rule(t, "p99 < 1ms")
	w := NewWatch(r, 1, second, second)
	for i, v := range []Verdict{
		{Status: Unknown, Known: true, Value: 2e6},
		{Status: Broken, Known: true, Stalled: true, Value: 1e9},
		{Status: Broken, Known: true, Stalled: true, Value: 2e9},
		{Status: OK, Known: true, Value: 1e5},
		{Status: Broken, Known: true, Stalled: true, Partial: true, Value: 3e8},
		{Status: Unknown, Known: true, Partial: true, Value: 3e9},
		{Status: Unknown},
	} {
		v.Rule = r
		w.Observe(v, int64(i)*second, int64(i+1)*second)
	}
	if w.OK != 1 || w.Broken != 3 || w.Unknown != 2 || w.Missed != 2 || w.Worst.Value != 2e9 || w.Stalls != 2 ||
		w.LongestFrom != second || w.LongestTo != 3*second {
		t.Errorf("%+v", w)
	}
}

// TestFigures: the evaluator judges percentiles, and exactly these figures.
func TestFigures(t *testing.T) {
	if got := strings.Join(fio.FigureNames(fio.OfSLA), " "); got != "mean max iops" {
		t.Errorf("rules may be about %s", got)
	}
}

// TestShareWithin: within the bucket of the threshold I/Os lie evenly; rules on rates have no share.
func TestShareWithin(t *testing.T) {
	t.Parallel()
	i := grid.Index(5e6)
	lo, hi := float64(grid.Lower(i)), float64(grid.Upper(i))
	h := new(fiohist.Hist)
	h.Add(i, 8)
	h.Add(grid.Last(), 8)
	for threshold, want := range map[float64]float64{lo: 0, lo + (hi-lo)/4: 0.125, (lo + hi) / 2: 0.25, hi: 0.5,
		2 * hi: 0.5} {
		r := rule(t, "p95 < 1ms")
		r.Threshold = threshold
		if got := Share(r, grid, h); math.Abs(got-want) > 1e-12 {
			t.Errorf("below %v in a bucket of [%v, %v): %v, want %v", threshold, lo, hi, got, want)
		}
	}
	if got := Share(rule(t, "iops > 5"), grid, h); got != -1 {
		t.Errorf("share of a rate: %v", got)
	}
}
