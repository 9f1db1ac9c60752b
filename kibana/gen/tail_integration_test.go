//go:build integration

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
)

// lifted are I/Os of a host, with their lift.
type lifted struct{ n, lift, without float64 }

// add adds an interval's.
func (l *lifted) add(r interval) {
	l.lift = (l.lift*l.n + *r.Tail.Lift*r.Samples) / (l.n + r.Samples)
	l.n += r.Samples
	if r.Tail.P99.Without != nil {
		l.without = max(l.without, *r.Tail.P99.Without)
	}
}

// lifts are those of a run's hosts by time, of the twenty with the highest lift over all of the time, in this order.
func (s *stored) lifts(run, direction string, at func(r interval) float64) (cells map[string]map[float64]*lifted,
	hosts []string) {
	cells, whole := map[string]map[float64]*lifted{}, map[string]*lifted{}
	for _, r := range s.rows(run, func(r interval) bool {
		return r.Scope == "host+direction" && r.Direction == direction && r.Tail != nil && r.Tail.Lift != nil &&
			!r.Timestamp.Before(s.from) && r.Timestamp.Before(s.to)
	}) {
		if cells[r.host()] == nil {
			cells[r.host()], whole[r.host()] = map[float64]*lifted{}, &lifted{}
		}
		t := at(r)
		if cells[r.host()][t] == nil {
			cells[r.host()][t] = &lifted{}
		}
		cells[r.host()][t].add(r)
		whole[r.host()].add(r)
	}
	hosts = slices.SortedFunc(maps.Keys(whole), func(a, b string) int {
		return cmp.Or(cmp.Compare(whole[b].lift, whole[a].lift), cmp.Compare(a, b))
	})
	return cells, hosts[:min(tailHosts, len(hosts))]
}

// sameTail finds a cell of each host and time, with its lift, and no other.
func (p *page) sameTail(t *testing.T, direction string, width float64, at func(r interval) float64) {
	t.Helper()
	want, hosts := p.s.lifts(p.s.subject, direction, at)
	if got := evaluate[[]string](t, p, "view.scale('y').domain()"); !slices.Equal(got, hosts) {
		t.Errorf("hosts %q, want %q", got, hosts)
	}
	cells, n := p.marks(t, "layer_0_marks"), 0
	var hovered *mark
	for _, host := range hosts {
		y := evaluate[float64](t, p, fmt.Sprintf("place('y', %q)", host))
		for at, cell := range want[host] {
			n++
			x := p.places(t, "x", []float64{at, at + width})
			i := slices.IndexFunc(cells, func(k mark) bool {
				return k.Tooltip["host"] == host && math.Abs(min(k.X, k.X2)-x[at]) < pixel &&
					math.Abs(max(k.X, k.X2)-x[at+width]) < pixel && math.Abs(min(k.Y, k.Y2)-y) < pixel
			})
			if i < 0 || math.Abs(cells[i].number("times its share")-cell.lift) > 6e-3*cell.lift ||
				math.Abs(cells[i].number("I/Os")-cell.n) > 1e-6*cell.n+1e-3 {
				t.Fatalf("no cell of %s at %v with %+v: %v", host, at, cell, cells)
			}
			if (cells[i].Tooltip["p99 without it"] == "not known") != (cell.without == 0) {
				t.Errorf("%v, want %v ns without it", cells[i].Tooltip, cell.without)
			}
			if hovered == nil || cells[i].X > hovered.X {
				hovered = &cells[i]
			}
		}
	}
	if len(cells) != n || n == 0 {
		t.Fatalf("%d cells, want %d", len(cells), n)
	}
	for lift, color := range map[float64]string{0.5: "#5B9BD5", 1: "#8B95A5", 1.5: "#E5C44D", 9: "#A0185A"} {
		if got := evaluate[string](t, p, fmt.Sprintf("view.scale('color')(%v)", lift)); got != color {
			t.Errorf("a lift of %v is %s, want %s", lift, got, color)
		}
	}
	shown := p.hover(t, hovered.Left+(hovered.X+hovered.X2)/2, hovered.Top+(hovered.Y+hovered.Y2)/2)
	if shown["host"] != hovered.Tooltip["host"] || shown["from"] != hovered.Tooltip["from"] {
		t.Errorf("hovering shows %v, want %v", shown, hovered.Tooltip)
	}
}

var (
	microseconds = regexp.MustCompile(`([0-9]) ?us\b`)
	hostHost     = regexp.MustCompile(`(?i)\bhosts? (host[0-9])`)
	periodOf     = regexp.MustCompile(`^(\d\d:\d\d:\d\d to \d\d:\d\d:\d\d: )?$`)
)

// sameFindings finds the sentences of `fiolat diagnose` in their order, as many as there is room for, and how many
// more there are.
func (p *page) sameFindings(t *testing.T) {
	t.Helper()
	out, _ := p.s.command(t, "diagnose", "--format", "json", "--index-prefix", p.s.prefix, "--es", p.s.es,
		"run-"+p.s.subject)
	var want struct {
		Findings, More []struct{ About, Text string }
	}
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	want.Findings = append(want.Findings, want.More...)
	marks, below := p.marks(t, "layer_1_marks"), 0.0
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Compare(a.Y, b.Y) })
	lead := fmt.Sprint(marks[0].Tooltip["finding"])
	var p99 float64
	var unit string
	if _, after, _ := strings.Cut(lead, " p99 "); marks[0].Tooltip["about"] != "run" ||
		!strings.HasPrefix(lead, p.s.title(p.s.subject)+", complete, began 20") {
		t.Errorf("the sentence on the run is %q", lead)
	} else if _, err := fmt.Sscanf(strings.ReplaceAll(after, ",", ""), "%f %s", &p99, &unit); err != nil {
		t.Errorf("%q: %v", lead, err)
	}
	if rows := p.s.whole(t, p.s.subject, "clat", "run"); rows != nil { // else it was followed live
		ns := p99 * map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
		if !strings.Contains(lead, ": "+fio.Grouped(rows[0].Samples)+" I/Os in ") ||
			math.Abs(ns / *rows[0].Percentiles["99"] - 1) > 6e-3 {
			t.Errorf("the sentence on the run is %q, want %+v", lead, rows[0])
		}
	}
	marks = marks[1:]
	for i, k := range marks {
		w := want.Findings[i]
		text, timed := strings.CutSuffix(fmt.Sprint(k.Tooltip["finding"]), hostHost.ReplaceAllString(
			microseconds.ReplaceAllString(w.Text, "$1 µs"), "$1"))
		if k.Tooltip["about"] != w.About || w.About != "concurrency" && (!timed || !periodOf.MatchString(text)) {
			t.Errorf("finding %d is %v, want %v", i, k.Tooltip, w) // what is stored knows no iodepth
		}
		if k.Y < below {
			t.Errorf("finding %d at %v lies on another", i, k.Y)
		}
		below = k.Y + 16
	}
	words := evaluate[[]string](t, p, "words().map(String)")
	lines := slices.IndexFunc(words, func(w string) bool {
		return strings.Join(strings.Fields(w), " ") == fmt.Sprint(marks[0].Tooltip["finding"])
	})
	more := ""
	for _, w := range words {
		if strings.HasSuffix(w, " more: see fiolat diagnose") {
			more = w
		}
	}
	if !slices.Contains(words, "I/Os count when they complete (--align overlap)") {
		t.Errorf("not said when I/Os count: %q", words)
	}
	hidden := len(want.Findings) - len(marks)
	if lines < 0 || (hidden > 0) != (more != "") || hidden > 0 && !strings.HasPrefix(more, fmt.Sprint(hidden, " ")) {
		t.Errorf("%d of %d findings, then %q: %q", len(marks), len(want.Findings), more, words)
	}
}

// wraps draws more sentences than there is room for, each longer than a line.
func (p *page) wraps(t *testing.T) {
	t.Helper()
	const sentences = 20
	var findings []any
	for n := range sentences {
		findings = append(findings, m{"about": "slow", "factor": 4, "text": fmt.Sprintf(
			"host host%02d has 38 %% of the reads above p99 and 5 %% of all: 7.6 times its share (7.1 to 8.2); p99 is "+
				"12.4 ms, without it 3.1 ms; its median is 1.9 times its peers' (1.7 to 2.1); from 0:30 to 1:00, in "+
				"30 intervals, but not afterwards; confidence 99.99 %%.", n)})
	}
	obj(p.panel, "spec", "data", "values", "hits")["hits"] = []any{m{"_source": m{"run": m{"id": "r"},
		"diagnosis": m{"findings": findings, "omitted": 3}}}}
	evaluate[bool](t, p, "fetch('/panel').then(r => r.json()).then(draw)")
	marks := p.marks(t, "layer_1_marks")[1:] // the first is about the run
	words := evaluate[[]string](t, p, "words().map(String)")
	if n := len(marks); n < 4 || n >= sentences || !slices.Contains(words, fmt.Sprintf("%d more: see fiolat diagnose",
		sentences+3-n)) {
		t.Errorf("%d sentences: %q", n, words)
	}
	for i, k := range marks {
		text := words[slices.IndexFunc(words, func(w string) bool {
			return strings.HasPrefix(w, fmt.Sprintf("host%02d ", i))
		})]
		if lines := strings.Split(text, "\n"); len(lines) != 2 || len(lines[0]) < 100 || len(lines[0]) > 140 ||
			strings.Join(lines, " ") != k.Tooltip["finding"] {
			t.Errorf("%q of %v", lines, k.Tooltip)
		}
		if i > 0 && k.Y < marks[i-1].Y+2*16 || k.Y > 360-2*16 {
			t.Errorf("sentence %d lies at %v, the one before at %v", i, k.Y, marks[max(i-1, 0)].Y)
		}
	}
}

// tailPanels are the checks of the panels of stragglers.
func (p *page) tailPanels() map[string]func(t *testing.T, draw func(run string)) {
	out := map[string]func(t *testing.T, draw func(run string)){
		"run-findings": func(t *testing.T, draw func(string)) { draw(p.s.subject); p.sameFindings(t); p.wraps(t) },
	}
	for _, d := range []string{"read", "write"} {
		out["run-tail-"+d] = func(t *testing.T, draw func(string)) {
			draw(p.s.subject)
			from, to := p.s.from, p.s.to
			p.s.from, p.s.to = p.s.runs[p.s.subject][0].Timestamp, to.AddDate(1, 0, 0) // all of it
			p.sameTail(t, d, p.s.step(), func(r interval) float64 { return r.OffsetMS })
			p.s.from, p.s.to = from, to
		}
		out["live-tail-"+d] = func(t *testing.T, draw func(string)) {
			draw(p.s.subject)
			step := p.s.interval()
			p.sameTail(t, d, max(float64(step.Milliseconds()), p.s.step()), func(r interval) float64 {
				return float64(r.Timestamp.Truncate(step).UnixMilli())
			})
		}
	}
	return out
}

// alone says that a panel compares hosts, which the run has fewer than two of.
func (s *stored) alone(panel, run string) bool {
	if !strings.Contains(panel, "-tail-") {
		return false
	}
	_, hosts := s.lifts(run, "read", func(interval) float64 { return 0 })
	return len(hosts) == 0
}
