package probe

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/internal/testkit"
)

// plain is Series without any of its art: it keeps everything.
type plain struct {
	known, took []int64
	under       []bool
}

func (p *plain) add(at, took int64, atLeast bool) {
	if !atLeast {
		at += took
	}
	p.known, p.took, p.under = append(p.known, at), append(p.took, took), append(p.under, atLeast)
}

func (p *plain) last(now int64, d time.Duration) Window {
	var in []float64
	var w Window
	for i, at := range p.known {
		if at > now-int64(d) && at <= now {
			in = append(in, float64(p.took[i]))
			w.Mean += float64(p.took[i])
			if p.under[i] {
				w.AtLeast++
			}
		}
	}
	slices.Sort(in)
	if w.Samples = len(in); w.Samples == 0 {
		return w
	}
	w.Mean /= float64(len(in))
	at := func(percent int) float64 { return in[(len(in)*percent+99)/100-1] }
	w.Median, w.P90, w.P95, w.P99, w.Max = at(50), at(90), at(95), at(99), at(100)
	return w
}

// median of what ended.
func (p *plain) median() float64 {
	var in []int64
	for i := range p.known {
		if !p.under[i] {
			in = append(in, p.took[i])
		}
	}
	slices.Sort(in)
	return float64(in[(len(in)+1)/2-1])
}

// A day of ten targets, a sample a second of each operation, with slow hours and
// hangs: statistics as computed from everything, and no more memory at the end than
// after the longest window.
func TestADayOfTenTargets(t *testing.T) {
	testkit.NotRaced(t)
	const targets = 10
	cfg := Config{Every: time.Second}
	var all [targets][operations]*series
	for i := range all {
		for op := range all[i] {
			all[i][op] = newSeries(&cfg)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var kept plain // of one of them
	var scratch []int64
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for s := range int64(24 * 3600) {
		at := start + s*1e9
		for i := range all {
			for op := range all[i] {
				took := int64(100e3 * math.Exp(rng.NormFloat64()/2))
				if s/3600%5 == 3 {
					took *= 4
				}
				atLeast := s%1000 > 990
				if atLeast {
					took = (s%1000 - 990) * 1e9
				}
				all[i][op].add(at, took, atLeast)
				if i == 3 && op == 2 {
					kept.add(at, took, atLeast)
				}
			}
		}
		if s == 5*3600 {
			early = heap()
		}
		if s%1801 == 1800 {
			now, series := at+1e9, all[3][2]
			for _, d := range Windows {
				var got Window
				got, scratch = series.last(now, d, scratch)
				want := kept.last(now, d)
				if math.Abs(got.Mean-want.Mean) > 1e-9*want.Mean {
					t.Fatalf("after %d s, %v: mean %v, want %v", s, d, got.Mean, want.Mean)
				}
				if got.Mean = want.Mean; got != want {
					t.Fatalf("after %d s, %v:\n%+v, want\n%+v", s, d, got, want)
				}
			}
			// Within a bucket's width, 1/64 at most.
			if got, want := series.expected(), kept.median(); math.Abs(got-want) > want/64 {
				t.Fatalf("after %d s: usual %v, want %v", s, got, want)
			}
		}
	}
	end := heap()
	t.Logf("heap after 5 h %.1f MiB, after 24 h %.1f MiB, of which %.1f MiB are the test's own copy",
		float64(early)/(1<<20), float64(end)/(1<<20), float64(cap(kept.known)*17)/(1<<20))
	if end > early+uint64(cap(kept.known)*17)+1<<20 || early > 64<<20 {
		t.Errorf("heap after 5 h %d, after 24 h %d", early, end)
	}
	runtime.KeepAlive(&all)
}

func TestText(t *testing.T) {
	for ns, want := range map[float64]string{0: "0s", 999: "999ns", 1234: "1.23µs", 45678: "45.68µs",
		123456: "123.46µs", 12.345e6: "12.35ms", 61e9: "1m1s"} {
		if got := Text(ns); got != want {
			t.Errorf("Text(%v) = %s, want %s", ns, got, want)
		}
	}
}

// Of a sequence of reports: which give a change, and of what. Capitals are trouble.
func TestChange(t *testing.T) {
	states := map[rune]State{'p': StatePreparing, 'l': StateLearning, 'q': StateQuiet, 's': StateSlow,
		'v': StateVerySlow, 'f': StateFailing, 'h': StateHung}
	for reports, want := range map[string]string{
		"plqqqq":      "      ",
		"qsqsqs":      "      ", // each may be chance
		"qqssvvqqqq":  "   S   q  ",
		"qqsvfsvqsqq": "   V      q", // one however it goes on
		"qssvhhshqq":  "  S H    q",  // but a hang is told, once
		"ssqhqqsshqq": " S H q SH q",
		"qhqq":        " H q", // that it hangs is certain
		"qshqhqq":     "  H   q",
		"ffqqff":      " F q F",
		"qslsqlq":     "   S  q", // what is not known says nothing
		"sspp":        " S  ",
	} {
		target := &Target{Path: "a", cfg: &Config{Every: time.Second}}
		got, end := "", time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		var since []time.Duration
		for _, c := range reports {
			r := &Report{End: end, Length: 10 * time.Second, State: states[c]}
			if c == 'h' {
				r.Hung = &Hang{Create, end.Add(-12 * time.Second)}
			}
			change := target.change(r)
			switch {
			case change == nil:
				got += " "
			case change.Bad != (c != 'q') || !strings.Contains(change.Text, map[bool]string{
				true: "hangs: a create has been running for 12s", false: "is " + string(r.State)}[c == 'h']):
				t.Errorf("%s: %+v", reports, change)
			case change.Bad:
				got += strings.ToUpper(string(c))
				since = append(since, end.Sub(change.Since))
			default:
				got += string(c)
				since = append(since, end.Sub(change.Since))
			}
			end = end.Add(10 * time.Second)
		}
		if got != want {
			t.Errorf("%s gives %q, want %q", reports, got, want)
		}
		if reports == "qqssvvqqqq" && (len(since) != 2 || since[0] != 20*time.Second || since[1] != 20*time.Second) {
			t.Errorf("%s: %v before", reports, since)
		}
	}
}
