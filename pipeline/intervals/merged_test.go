package intervals_test

import (
	"fmt"
	"slices"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// TestScopes: which rows a run has, in which order, and the I/Os of each by second; a row is there from the round on in
// which its first I/O came, and then for the seconds before.
func TestScopes(t *testing.T) {
	t.Parallel()
	m := merged(t, three, "host direction", nil, 3)
	same(t, m.ios(),
		"run all: 16 18 3", "direction read: 16 12 3", "direction write: 0 6 0",
		"host h2/all: 8 10 0", "host h10/all: 8 8 3",
		"host+direction h2/read: 8 4 0", "host+direction h2/write: 0 6 0", "host+direction h10/read: 8 8 3")
	same(t, merged(t, three, "job", nil, 3).ios(), "run all: 16 18 3", "job a/all: 13 15 0", "job b/all: 3 3 3")
	same(t, merged(t, three, "log", nil, 3).ios(), "run all: 16 18 3", "log a.1/all: 13 15 0", "log b.1/all: 3 3 3")
	nameless := []log{{"", "", "x", "r 0-1000 8"}, {"h1", "", "y", "r 0-1000 2"}}
	same(t, merged(t, nameless, "host job", nil, 1).ios(), "run all: 10", "host h1/all: 2")

	late := merged(t, three[:1], "direction", nil)
	late.members[0].DirInfo[fio.Write].HasIO = false
	late.emit(t, 1)
	late.members[0].DirInfo[fio.Write].HasIO = true
	late.emit(t, 3)
	same(t, late.ios(), "run all: 8 10 0", "direction read: 8 4 0", "direction write: 0 6 0")
	leaves := 0.0
	for _, l := range m.Leaves {
		if leaves += l.Hist.Sum(); l.Logs != len(l.Members) || l.Dims.Host != m.run.Logs[l.Members[0]].Host ||
			l.Dims.Host == "h10" && (l.Members[len(l.Members)-1] != 2) {
			t.Errorf("leaf %+v of logs %v", l.Dims, l.Members)
		}
	}
	if leaves != 37 || m.placed != 37 || m.merger.Placed() != 37 || m.merger.PickedAway() != 0 {
		t.Errorf("37 I/Os: %v in leaves, %v placed, %v in rows", leaves, m.placed, m.merger.Placed())
	}
}

// TestRounds: rows do not depend on the rounds in which they are passed on, nor on whether intervals were packed, or
// come from storage as leaves.
func TestRounds(t *testing.T) {
	t.Parallel()
	told := func(m *merge) (out []string) {
		for i, r := range m.Rows {
			out = append(out, fmt.Sprint(m.Offsets[i], r.Scope, r.Dims, r.Stats, r.Logs, r.IOPS, r.IOPSKnown, r.Covered,
				r.Uneven, r.TailPart != nil))
		}
		slices.Sort(out) // rows that came late are passed on by themselves
		return out
	}
	want := told(merged(t, three, "host job direction", nil, 12))
	for _, rounds := range [][]int64{{1, 2, 3, 12}, {2, 12}, {0, 5, 12}} {
		same(t, told(merged(t, three, "host job direction", nil, rounds...)), want...)
	}
	packed := merged(t, three, "host job direction", nil)
	held := packed.merger.Held()
	if packed.merger.Pack(3); held == 0 || packed.merger.Held() > held {
		t.Errorf("%d bytes held, %d packed", held, packed.merger.Held())
	}
	packed.emit(t, 12)
	same(t, told(packed), want...)

	first, stored := merged(t, three, "host job direction", nil, 3), merged(t, three, "host job direction", nil)
	index, of := stored.merger.Index(), []*intervals.Stored{}
	for range 3 {
		of = append(of, stored.merger.NewStored())
	}
	for _, l := range merged(t, three, "host job direction", nil, 1).Leaves {
		stored.merger.AddStored(of[0], index[l.Dims], l.Hist, l.Members)
	}
	if err := stored.merger.EmitStored(t.Context(), 1, of); err != nil {
		t.Fatal(err)
	}
	for i, r := range stored.Rows {
		for k, f := range first.Rows {
			if first.Offsets[k] == stored.Offsets[i] && f.Dims == r.Dims && f.Scope == r.Scope && (f.Logs != r.Logs ||
				f.Stats.Samples != r.Stats.Samples || f.IOPS != r.IOPS || f.Covered != r.Covered) {
				t.Errorf("stored %+v, want %+v", r, f)
			}
		}
	}
	if len(stored.Rows) < 8 || stored.Sum != nil {
		t.Errorf("%d stored rows", len(stored.Rows))
	}
}

// TestVeryMany: rows and totals of logs are the same beside so many others that totals are packed.
func TestVeryMany(t *testing.T) {
	t.Parallel()
	told := func(logs []log) (out []string) {
		m := merged(t, logs, "log", nil, 1, 3)
		for _, r := range append(m.Rows, m.merger.Summary().Total...) {
			if slices.ContainsFunc(three, func(l log) bool { return l.name == r.Dims.Log }) {
				out = append(out, fmt.Sprint(r.Dims, r.Stats, r.Logs, r.IOPS, r.Covered))
			}
		}
		return out
	}
	want := told(three)
	var logs []log
	for n := range 8500 {
		logs = append(logs, log{"h", "z", fmt.Sprintf("z.%d", n), "r 500-1500 7"})
	}
	if same(t, told(append(logs, three...)), want...); len(want) != 2*4 {
		t.Errorf("%d rows: %s", len(want), want)
	}
}

// TestJoin: logs that join later get rows of their own, and what was there stays.
func TestJoin(t *testing.T) {
	t.Parallel()
	m := merged(t, nil, "host", nil)
	for i, one := range []log{three[0], {"h10", "a", "a.1", "r 1000-2000 10"}} {
		m.add(one)
		m.merger.Join(m.members)
		m.place(t, i, one)
		m.emit(t, int64(1+2*i))
	}
	same(t, m.ios(), "run all: 8 20 0", "host h2/all: 8 10 0", "host h10/all: 0 10 0")
	for _, r := range m.merger.Summary().Total {
		if want := map[string]float64{"": 28, "h2": 18, "h10": 10}[r.Dims.Host]; r.Stats.Samples != want {
			t.Errorf("host %q: %v in all, want %v", r.Dims.Host, r.Stats.Samples, want)
		}
	}
}

// TestCovered: rates are those of the time in which a log ran and has its records; of an interval in which one lost
// some, those of all others.
func TestCovered(t *testing.T) {
	t.Parallel()
	one := []log{{"h", "a", "x", "r 0-2500 25"}}
	two := append(slices.Clone(one), log{"h", "a", "y", "r 0-1000 20; r 2000-2500 10"})
	hole := func(from, to int64) func(m *merge) {
		return func(m *merge) {
			m.members[0].DirInfo[fio.Read].Holes = []pipeline.Span{{From: from * msec, To: to * msec}}
		}
	}
	for _, tt := range []struct {
		name string
		logs []log
		set  func(*merge)
		q    int
		want string // IOPS, ms covered, lost, uneven
	}{
		{"whole", one, nil, 0, "10 1000 0 false"},
		{"its end", one, nil, 2, "10 500 0 true"},
		{"a hole in it", one, hole(1200, 1400), 1, "0 0 200 false"},
		{"a hole at its start", one, hole(900, 1500), 1, "0 0 500 false"},
		{"a hole up to its end", one, hole(1500, 2100), 1, "0 0 500 false"},
		{"nothing but a hole", one, hole(900, 2100), 1, "0 0 1000 false"},
		{"another one goes on", two, nil, 1, "10 1000 0 false"},
		{"of the other one alone", two, hole(0, 500), 0, "20 1000 500 false"},
	} {
		m := merged(t, tt.logs, "", nil)
		if tt.set != nil {
			tt.set(m)
		}
		m.emit(t, 3)
		r := m.Rows[tt.q]
		if tt.q == 1 && len(tt.logs) == 1 { // 25 I/Os in the time that is left of 2.5 s
			whole := m.merger.Summary().Total[0]
			if left := 2500e6 - float64(whole.Lost); whole.IOPS != 25/left*1e9 || whole.Covered != int64(left) {
				t.Errorf("%s: %v IOPS in all, in %v ns", tt.name, whole.IOPS, whole.Covered)
			}
		}
		if got := fmt.Sprint(r.IOPS, r.Covered/msec, r.Lost/msec, r.Uneven); got != tt.want ||
			r.IOPSKnown != (r.Covered > 0) || m.Offsets[tt.q] != int64(tt.q)*1e9 {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestPicked: what --only, --from and --to leave, the edges shared out by time; the rest is counted as picked away.
func TestPicked(t *testing.T) {
	t.Parallel()
	const ever, never = -1 << 40, 1 << 40 // ms
	timed := pipeline.Pick{From: &pipeline.Moment{}}
	for _, tt := range []struct {
		name     string
		pick     pipeline.Pick
		from, to int64 // ms
		want     string
		away     float64
		iops     float64 // of the whole
	}{
		{"a host", pipeline.Pick{Hosts: []string{"h2"}}, ever, never, "run all: 8 10 0", 19, 9},
		{"a direction", pipeline.Pick{Directions: []string{"write"}}, ever, never, "run all: 0 6 0", 31, 2},
		{"from an edge", timed, 1000, never, "run all: 18 3", 16, 10.5},
		{"from the middle", timed, 500, never, "run all: 8 18 3", 8, 11.6},
		{"to an edge", timed, ever, 1000, "run all: 16", 21, 16},
		{"to the middle", timed, ever, 1500, "run all: 16 9", 12, 50. / 3},
		{"within one", timed, 1250, 1750, "run all: 9", 28, 18},
	} {
		m := merged(t, three, "direction", func(r *pipeline.Run) {
			r.Pick, r.Window = tt.pick, pipeline.Window{From: tt.from * msec, To: tt.to * msec}
		}, 2, 3)
		if got := m.ios()[0]; got != tt.want || m.merger.PickedAway() != tt.away || m.merger.Placed()+tt.away != 37 {
			t.Errorf("%s: %s, %v away; want %s, %v", tt.name, got, m.merger.PickedAway(), tt.want, tt.away)
		}
		r := m.merger.Summary().Total[0]
		if r.IOPS < tt.iops-0.01 || r.IOPS > tt.iops+0.01 || r.Stats.Samples != 37-tt.away {
			t.Errorf("%s: %v IOPS of %v I/Os, want %v", tt.name, r.IOPS, r.Stats.Samples, tt.iops)
		}
	}
}

// TestSummed: the rows of the whole run, with what was lost, and how long it went on.
func TestSummed(t *testing.T) {
	t.Parallel()
	m := merged(t, three, "host direction", nil, 3)
	// h2's log lacks 5 writes, which may have come until 4 s; a job of h10 has no log.
	m.merger.AddLosses([]pipeline.Loss{
		{Logs: []string{"a.1"}, Host: "h2", Direction: "write", IOs: 5, Until: 4e9, Index: []uint16{100},
			Count: []float64{5}},
		{Host: "h10", Job: "c", Direction: "read", IOs: 7, Index: []uint16{100}, Count: []float64{7}}})
	s := m.merger.Summary()
	var got []string
	for _, r := range s.Total {
		got = append(got, fmt.Sprint(r.Scope, " ", r.Dims.Host, " ", r.Dims.Direction, " ", r.Stats.Samples, " ",
			r.Logs, " ", r.Covered/1e6, " ", r.Whole))
	}
	same(t, got, "run  all 49 3 4000 true", "direction  read 38 3 3000 true", "direction  write 11 3 3000 true",
		"host h2 all 23 1 4000 true", "host h10 all 26 2 3000 true", "host+direction h2 read 12 1 2000 true",
		"host+direction h2 write 11 1 3000 true", "host+direction h10 read 26 2 3000 true")
	if s.Intervals != 3 || s.End != 3e9 || m.merger.Placed() != 49 {
		t.Errorf("%d intervals up to %d, %v I/Os", s.Intervals, s.End, m.merger.Placed())
	}

	// Of 10 I/Os a second for 2 s, whose last window is not logged, beside 5 a second for 4 s: (10 + 5) a second.
	open := merged(t, []log{{"", "", "x", "r 0-2000 20"}, {"", "", "y", "r 0-4000 20"}}, "", nil)
	open.members[0].DirInfo[fio.Read].Until = 4e9
	open.emit(t, 4)
	if r := open.merger.Summary().Total[0]; r.IOPS != 15 {
		t.Errorf("%v IOPS, want 15", r.IOPS)
	}
	// fio's limits bound the figures of a row, if they are known of all its logs.
	limited := merged(t, three[1:], "host", nil)
	for _, l := range limited.members {
		l.DirInfo[fio.Write].KnownIdle, l.DirInfo[fio.Trim].KnownIdle = true, true
		l.DirInfo[fio.Read].Limits = fiohist.Limits{Min: 1_000_001, Max: 1_000_002, Known: true}
	}
	limited.emit(t, 3)
	if r := limited.merger.Summary().Total[0]; r.Stats.Min != 1_000_001 || r.Stats.Max != 1_000_002 {
		t.Errorf("from %v to %v", r.Stats.Min, r.Stats.Max)
	}
}
