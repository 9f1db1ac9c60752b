package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// watched collects what a Watch passes on.
type watchedRun struct {
	Discard
	verdicts []string // scope direction: status
	changes  []string
	sum      *Summary
}

func (w *watchedRun) Quantum(_ context.Context, q *Quantum) error {
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
		q := &Quantum{Offset: int64(i) * 1e9}
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
		if err := w.Quantum(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(t.Context(), new(Summary)); err != nil {
		t.Fatal(err)
	}
	return out
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
		outcomes = append(outcomes, fmt.Sprintf("%s %s %d+%d+%d %d %.3f", o.Rule.Text, o.Status(), o.OK, o.Broken,
			o.Unknown, o.Breaches, o.Share))
	}
	if got := strings.Join(outcomes, " | "); got != "all iops >= 1500 broken 3+2+0 1 -1.000 | read p99 < 5ms broken "+
		"3+2+0 2 0.857" {
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
		if got := tailCause(&Quantum{Rows: tc.rows}, read); got != tc.want {
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
		quantum := &Quantum{Offset: int64(i) * 1e9, Rows: rows,
			Leaves: []Leaf{{Dims: fio.Dims{Direction: q.direction}, Hist: h}}}
		if err := w.Quantum(t.Context(), quantum); err != nil {
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
