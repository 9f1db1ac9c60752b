package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
)

// watched collects what a Watch passes on.
type watchedRun struct {
	Discard
	verdicts []string // scope direction: status
	changes  []string
	sum      *Summary
}

func (w *watchedRun) Interval(_ context.Context, q *Interval) error {
	for _, r := range q.Rows {
		for _, v := range r.SLA {
			w.verdicts = append(w.verdicts, fmt.Sprintf("%d %s %s%s: %s", q.Offset/1e9, r.Scope, r.Dims.Host,
				r.Dims.Direction, v.Status))
		}
	}
	for _, c := range q.Changes {
		w.changes = append(w.changes, fmt.Sprintf("%d %s: %s", q.Offset/1e9, c.Scope, c.String()))
	}
	return nil
}
func (w *watchedRun) End(_ context.Context, s *Summary) error { w.sum = s; return nil }

// seconds gives a Watch made-up seconds: the latency in ms of 1,000 reads of host a
// and 1,000 of host b, 0 for none.
func seconds(t *testing.T, part string, rules []string, latencies ...[2]int64) *watchedRun {
	t.Helper()
	parsed, err := fio.ParseSLARules(rules)
	if err != nil {
		t.Fatal(err)
	}
	out := new(watchedRun)
	w := NewWatch(parsed, 1, out)
	run := &Run{Part: part, Interval: 1e9, Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
	if err := w.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for i, ms := range latencies {
		q := &Interval{Offset: int64(i) * 1e9}
		for k, host := range []string{"a", "b"} {
			row := Row{Scope: "host+direction", Dims: fio.Dims{Host: host, Direction: "read"}}
			row.Covered, row.IOPSKnown = 1e9, true
			if ms[k] > 0 {
				h := new(fiohist.Hist)
				h.Add(run.Geometry.Index(ms[k]*1e6), 1000)
				q.Leaves = append(q.Leaves, Leaf{Dims: row.Dims, Hist: h})
			}
			q.Rows = append(q.Rows, row)
		}
		all := Row{Scope: "direction", Dims: fio.Dims{Direction: "read"}}
		all.Covered, all.IOPSKnown = 1e9, true
		q.Rows = append(q.Rows, all)
		if err := w.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(t.Context(), new(Summary)); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOutcome: the verdict on the whole run counts, and its figures are never rounded to the limit that they miss.
func TestOutcome(t *testing.T) {
	t.Parallel()
	known := func(s sla.Status, value, share float64) sla.Verdict {
		return sla.Verdict{Status: s, Value: value, Known: true, Share: share}
	}
	worst := sla.Watch{OK: 3, Unknown: 2, Missed: 1, Worst: known(sla.Unknown, 8e6, 0), WorstAt: 61e9}
	for _, tt := range []struct {
		rule  string
		whole sla.Verdict
		watch sla.Watch
		want  string
	}{
		{"read p99 < 5ms", known(sla.Broken, 5_000_400, 0.989996), sla.Watch{OK: 1}, "read p99 < 5 ms: BROKEN. Whole run: " +
			"p99 5.0004 ms; 98.9996 % of reads within 5 ms, 99 % needed."},
		{"read p99 < 5ms", known(sla.Unknown, 5.1e6, 0.9884), worst, "read p99 < 5 ms: over its limit as " +
			"measured, not certain. Whole run: p99 5.1 ms; 98.8 % of reads within 5 ms, 99 % needed. " +
			"By minute: 0 broken, 3 ok, 2 not certain (1 of them above 5 ms). Worst: p99 8 ms at 1:01."},
		{"read p99 < 5ms", known(sla.Unknown, 4.9e6, 0.9902), sla.Watch{OK: 1}, "read p99 < 5 ms: ok. Whole run: p99 4.9 " +
			"ms; 99.02 % of reads within 5 ms, 99 % needed."},
		{"p1 > 5us", known(sla.OK, 6e3, 1), sla.Watch{Stalls: 2, LongestFrom: 5e8, LongestTo: 3e9}, "all p1 > 5 us: ok. " +
			"Whole run: p1 6 us; 100 % of I/Os above 5 us, 99 % needed. Nothing completed 2 times, the longest from " +
			"0:00.5 to 0:03."},
		{"iops >= 1500", known(sla.OK, 1501.2, -1), sla.Watch{}, "all iops >= 1500: ok. Whole run: 1,501 IOPS."},
		{"write p99 < 1ms", sla.Verdict{}, sla.Watch{}, "write p99 < 1 ms: not certain. The run has no writes that can " +
			"be judged."},
	} {
		rule, err := fio.ParseSLARule(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		o := Outcome{Dims: fio.Dims{Direction: rule.Direction}, Rule: &rule, Watch: &tt.watch, Whole: tt.whole,
			Interval: 60e9}
		if got := o.String(); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

// TestWatch: of a whole run the hosts together are judged, of a part each host.
func TestWatch(t *testing.T) {
	t.Parallel()
	rules := []string{"read p99 < 5ms", "all iops >= 1500"}
	load := [][2]int64{{1, 1}, {1, 20}, {1, 0}, {0, 0}, {1, 1}}
	whole := seconds(t, "", rules, load...)
	if got := strings.Join(whole.changes, " | "); got != "1 direction: SLA broken: read p99 < 5ms; it is 20.18ms"+
		" | 2 run: SLA broken: all iops >= 1500; it is 1000 I/Os per second"+
		" | 2 direction: SLA kept again: read p99 < 5ms; it is 1.008ms"+
		" | 3 direction: SLA broken: read p99 < 5ms; it is at least 1s (no I/O completes)"+
		" | 4 run: SLA kept again: all iops >= 1500; it is 2000 I/Os per second"+
		" | 4 direction: SLA kept again: read p99 < 5ms; it is 1.008ms" {
		t.Errorf("whole: %s", got)
	}
	if got := strings.Join(whole.verdicts, " | "); got != "0 direction read: ok | 1 direction read: broken | 2 "+
		"direction read: ok | 3 direction read: broken | 4 direction read: ok" {
		t.Errorf("whole: %s", got)
	}
	var outcomes []string
	for _, o := range whole.sum.SLA {
		outcomes = append(outcomes, fmt.Sprintf("%d %v", o.Breaches, &o))
	}
	if got := strings.Join(outcomes, " | "); got != "1 all iops >= 1500: BROKEN. By second: 2 broken, "+
		"3 ok, 0 not certain. Worst: 0 IOPS at 0:03. | 2 read p99 < 5 ms: BROKEN. Whole run: p99 20.2 ms; 86 % of reads "+
		"within 5 ms, 99 % needed. By second: 2 broken, 3 ok, 0 not certain. Nothing completed from 0:03 to 0:04." {
		t.Errorf("outcomes: %s", got)
	}

	part := seconds(t, "p", rules[:1], load...)
	if len(part.changes) == 0 || slices.ContainsFunc(part.changes, func(c string) bool {
		return !strings.Contains(c, " on b: ") && !strings.Contains(c, " on a: ")
	}) {
		t.Errorf("part: %q", part.changes)
	}
	if got := strings.Join(part.verdicts[:4], " | "); got != "0 host+direction aread: ok | 0 host+direction bread: "+
		"ok | 1 host+direction aread: ok | 1 host+direction bread: broken" {
		t.Errorf("part: %s", got)
	}
}

// TestWhoMakesTheTail: the breach of all hosts together names the one without which p99 would be a good deal lower.
func TestWhoMakesTheTail(t *testing.T) {
	t.Parallel()
	read := fio.Dims{Direction: "read"}
	row := func(scope string, dims fio.Dims, share, all, without float64) Row {
		dims.Direction = "read"
		return Row{Scope: scope, Dims: dims,
			TailPart: &fiohist.Part{Share: share, Expected: 0.05, All: all, Without: without}}
	}
	for name, tc := range map[string]struct {
		rows []Row
		want string
	}{
		"the worst": {[]Row{{Scope: "direction", Dims: read},
			row("host+direction", fio.Dims{Host: "a"}, 0.3, 12e6, 9e6),
			row("host+direction", fio.Dims{Host: "b"}, 0.606, 12e6, 3.1e6),
			row("job+direction", fio.Dims{Job: "j"}, 0.5, 12e6, 8e6)},
			"; host b has 61 % of the I/Os above p99 and 5 % of all, and without it p99 is 3.1ms"},
		"nobody":   {[]Row{row("host+direction", fio.Dims{Host: "a"}, 0.1, 12e6, 10e6)}, ""},
		"no other": {[]Row{row("host+direction", fio.Dims{Host: "a"}, 1, 12e6, -1)}, ""},
		"a job": {[]Row{row("job+direction", fio.Dims{Job: "j"}, 0.9, 12e6, 8e6)},
			"; job j has 90 % of the I/Os above p99 and 5 % of all, and without it p99 is 8ms"},
	} {
		if got := tailCause(&Interval{Rows: tc.rows}, read); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestVerdictsInRows: rules for reads are in the rows of all I/Os, too, as long as these are reads.
func TestVerdictsInRows(t *testing.T) {
	t.Parallel()
	rules, err := fio.ParseSLARules([]string{"read p99 < 5ms", "iops >= 1000"})
	if err != nil {
		t.Fatal(err)
	}
	out := new(watchedRun)
	w := NewWatch(rules, 1, out)
	run := &Run{Interval: 1e9, Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
	if err := w.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for i, q := range []struct {
		direction string
		uneven    bool
		want      string
	}{
		{"read", false, "run all: iops ok, p99 ok; direction read: p99 ok"},
		{"read", true, "run all: iops unknown, p99 ok; direction read: p99 ok"},
		{"write", false, "run all: iops broken; direction read: p99 broken"},
	} {
		h := new(fiohist.Hist)
		h.Add(run.Geometry.Index(1e6), 999)
		if q.direction == "read" {
			h.Add(run.Geometry.Index(1e6), 1)
		}
		rows := []Row{{Scope: "run", Dims: fio.Dims{Direction: fio.All}}, {Scope: "direction", Dims: fio.Dims{Direction: "read"}}}
		for k := range rows {
			rows[k].Covered, rows[k].IOPSKnown, rows[k].Uneven = 1e9, true, q.uneven
		}
		interval := &Interval{Offset: int64(i) * 1e9, Rows: rows,
			Leaves: []Leaf{{Dims: fio.Dims{Direction: q.direction}, Hist: h}}}
		if err := w.Interval(t.Context(), interval); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			var of []string
			for _, v := range r.SLA {
				of = append(of, v.Rule.Name+" "+string(v.Status))
			}
			got = append(got, r.Scope+" "+r.Dims.Direction+": "+strings.Join(of, ", "))
		}
		if s := strings.Join(got, "; "); s != q.want {
			t.Errorf("quantum %d: %s, want %s", i, s, q.want)
		}
	}
}
