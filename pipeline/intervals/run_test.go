package intervals_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
	"fiolat/pipeline/pipelinetest"
)

const msec = int64(1e6) // ns

// log is a log of a run: what completed of it, "r FROM-TO IOS" in ms.
type log struct{ host, job, name, ios string }

// three logs of two hosts and two jobs, of which h2 sorts before h10.
var three = []log{
	{"h2", "a", "a.1", "r 0-1000 8; r 1000-2000 4; w 1000-2000 6"},
	{"h10", "a", "a.1", "r 500-1500 10"},
	{"h10", "b", "b.1", "r 0-3000 9"},
}

// A merge is a run of such logs.
type merge struct {
	pipelinetest.Collect
	run     *pipeline.Run
	members []*intervals.Member
	grid    intervals.Grid
	merger  *intervals.Merger
	placed  float64
}

// merged adds up logs, in rounds that end at some intervals; set may change the run before.
func merged(t *testing.T, logs []log, by string, set func(*pipeline.Run), rounds ...int64) *merge {
	t.Helper()
	m := &merge{run: &pipeline.Run{Interval: 1000 * msec, Settings: fio.Defaults(), Percentiles: []float64{50},
		Geometry: fiohist.Fio3}}
	m.run.Settings.By = strings.Fields(by)
	for _, l := range logs {
		m.add(l)
	}
	if set != nil {
		set(m.run)
	}
	m.grid = intervals.NewGrid(m.run)
	m.merger = intervals.New(m.run, &m.grid, m.members, &m.Collect, 2, false)
	for i, l := range logs {
		m.place(t, i, l)
	}
	for _, to := range rounds {
		m.emit(t, to)
	}
	return m
}

func (m *merge) add(l log) {
	one := &pipeline.Log{Log: &ingest.Log{Host: l.host, Job: l.job, LogName: l.name}}
	m.run.Logs = append(m.run.Logs, one)
	m.members = append(m.members, &intervals.Member{Log: one})
}

// place puts the I/Os of log i on the grid.
func (m *merge) place(t *testing.T, i int, l log) {
	t.Helper()
	of := m.members[i]
	a := intervals.NewAligner(&m.grid, false, fiohist.Fio3, m.run.Geometry, &of.Open)
	for part := range strings.SplitSeq(l.ios, ";") {
		var dir string
		var from, to, ios int64
		if _, err := fmt.Sscanf(strings.TrimSpace(part), "%s %d-%d %d", &dir, &from, &to, &ios); err != nil {
			t.Fatal(part, err)
		}
		var c fiohist.Sparse
		c.Add(uint16(fiohist.Fio3.Index(msec)), float64(ios))
		d := strings.Index("rwt", dir)
		if err := a.Add(intervals.Piece{Start: from * msec, End: to * msec}, &c, fio.Direction(d)); err != nil {
			t.Fatal(err)
		}
		info := &of.DirInfo[d]
		if !info.HasIO {
			info.From = from * msec
		}
		info.HasIO, info.To, info.IOs = true, max(info.To, to*msec), info.IOs+float64(ios)
	}
	m.placed += a.Placed
	of.EndSoFar = 0
	of.Publish()
}

func (m *merge) emit(t *testing.T, to int64) {
	t.Helper()
	b := m.merger.Cut(to)
	if err := m.merger.Emit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	m.merger.Reuse(b)
}

// ios returns the I/Os of each row by interval, to 0.01, in the order of the first interval that has it.
func (m *merge) ios() (out []string) {
	at, order := map[string]map[int64]float64{}, []string{}
	last := int64(0)
	for i, r := range m.Rows {
		name := r.Scope + " " + strings.Join(slices.DeleteFunc([]string{r.Dims.Host, r.Dims.Job, r.Dims.Log,
			r.Dims.Direction}, func(s string) bool { return s == "" }), "/")
		if at[name] == nil {
			at[name], order = map[int64]float64{}, append(order, name)
		}
		at[name][m.Offsets[i]] = math.Round(100*r.Stats.Samples) / 100
		last = max(last, m.Offsets[i])
	}
	for _, name := range order {
		text := name + ":"
		for q := m.run.FirstInterval; q <= last; q += m.run.Interval {
			if n, ok := at[name][q]; ok {
				text += fmt.Sprint(" ", n)
			} else {
				text += " -"
			}
		}
		out = append(out, text)
	}
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGrid: intervals are [start, end), and I/Os that completed in (from, to] reach into the last one before to.
func TestGrid(t *testing.T) {
	t.Parallel()
	run := &pipeline.Run{Interval: 10, Start: 1003}
	run.Settings.Grid = fio.GridEpoch // intervals begin at 1000, 1010, ... since 1970: at -3, 7, ... of the run
	own, epoch := intervals.Grid{Interval: 10}, intervals.NewGrid(run)
	for _, tt := range []struct {
		g                  *intervals.Grid
		at                 int64
		index, last, start int64
	}{{&own, 0, 0, -1, 0}, {&own, 1, 0, 0, 0}, {&own, 10, 1, 0, 10}, {&own, -1, -1, -1, -10}, {&epoch, 0, 0, 0, -3},
		{&epoch, 7, 1, 0, 7}, {&epoch, 8, 1, 1, 7}} {
		if i, l := tt.g.Index(tt.at), tt.g.Last(tt.at); i != tt.index || l != tt.last || tt.g.Start(i) != tt.start {
			t.Errorf("%d: in interval %d from %d on, reached to %d; want %+v", tt.at, i, tt.g.Start(i), l, tt)
		}
	}
}

// TestAligned: in which interval I/Os are that completed evenly in a time, or when it closed. No part of one is lost.
func TestAligned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		p        intervals.Piece // in ms
		took     time.Duration
		inflight bool
		want     []float64 // of 12 I/Os
	}{
		{"one interval", intervals.Piece{Start: 0, End: 1000}, 0, false, []float64{12}},
		{"the end of one is not in the next", intervals.Piece{Start: 1000, End: 2000}, 0, false, []float64{0, 12}},
		{"halves", intervals.Piece{Start: 500, End: 1500}, 0, false, []float64{6, 6}},
		{"thirds", intervals.Piece{Start: 0, End: 3000}, 0, false, []float64{4, 4, 4}},
		{"the first holds what is before", intervals.Piece{Start: -1000, End: 1000}, 0, false, []float64{12}},
		{"one of twelve closed it", intervals.Piece{Start: 0, End: 1000, Closing: 3000, Share: 1. / 12}, 0, false,
			[]float64{11, 0, 1}},
		// An I/O of 2 s that completed at 3 s was in flight from 1 s on; if it completed in (2, 3], from (0, 1] on.
		{"in flight", intervals.Piece{Start: 2999, End: 3000}, 2 * time.Second, true, []float64{0, 6, 6}},
		{"in flight evenly", intervals.Piece{Start: 2000, End: 3000}, 2 * time.Second, true, []float64{3, 6, 3}},
		{"none is in flight below 1 us", intervals.Piece{Start: 2000, End: 3000}, 900, true, []float64{0, 0, 12}},
	} {
		m := merged(t, nil, "", func(r *pipeline.Run) { r.Geometry = fiohist.Fio3.Coarsen(2) })
		m.add(log{name: "x"})
		m.merger.Join(m.members)
		var c fiohist.Sparse
		c.Add(uint16(fiohist.Fio3.Index(int64(tt.took))), 12)
		a := intervals.NewAligner(&m.grid, tt.inflight, fiohist.Fio3, m.run.Geometry, &m.members[0].Open)
		p := tt.p
		p.Start, p.End, p.Closing = p.Start*msec, p.End*msec, p.Closing*msec
		if err := a.Add(p, &c, fio.Read); err != nil {
			t.Fatal(err)
		}
		m.members[0].DirInfo[fio.Read].HasIO = true
		m.emit(t, 5)
		sum := 0.0
		for q := range 5 {
			want, got := 0.0, 0.0
			if q < len(tt.want) {
				want = tt.want[q]
			}
			for i, r := range m.Rows {
				if m.Offsets[i] == int64(q)*1000*msec && r.Scope == fio.RunScope {
					got = r.Stats.Samples
					// Of four buckets each, which are up to 1/16 of their latency wide.
					if got > 0 && math.Abs(r.Stats.Percentiles[0]-float64(tt.took)) > float64(tt.took)/16+4 {
						t.Errorf("%s: %v became %v ns", tt.name, tt.took, r.Stats.Percentiles[0])
					}
				}
			}
			if sum += got; math.Abs(got-want) > 0.2 {
				t.Errorf("%s: %v I/Os in interval %d, want %v", tt.name, got, q, want)
			}
		}
		if sum != 12 || a.Placed != 12 {
			t.Errorf("%s: %v of 12 I/Os, %v placed", tt.name, sum, a.Placed)
		}
	}
}

// TestRefused: what is before the open intervals, or covers far too many.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := merged(t, three, "", nil, 2)
	var one fiohist.Sparse
	one.Add(100, 1)
	a := intervals.NewAligner(&m.grid, false, fiohist.Fio3, fiohist.Fio3, &m.members[0].Open)
	for _, tt := range []struct {
		from, to int64 // s
		says     string
	}{{2, 3, ""}, {1, 2, "already finished"}, {2, 1_000_003, "it covers more than 1000000 intervals"},
		{intervals.MaxSpan + 2, intervals.MaxSpan + 3, "do the hosts' clocks differ?"}} {
		err := a.Add(intervals.Piece{Start: tt.from * 1e9, End: tt.to * 1e9}, &one, fio.Read)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%d to %d s: %v, want %q", tt.from, tt.to, err, tt.says)
		}
	}
}
