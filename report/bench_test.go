package report_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/report"
)

// made is a run of made-up intervals, by host and direction: what the pipeline would
// pass on, without the pipeline.
type made struct {
	run       *pipeline.Run
	intervals int
	hosts     []string
	dirs      []string
	ios       int // of a leaf in an interval
}

func newMade(intervals, hosts, ios int) *made {
	m := &made{intervals: intervals, dirs: []string{"read", "write"}, ios: ios, run: &pipeline.Run{
		ID: "made", Start: 1_700_000_000e9, StartKnown: true, Interval: 1e9, Kind: fio.Clat,
		Percentiles: []float64{50, 90, 95, 99, 99.9},
		Geometry:    fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1},
		Settings:    fio.Settings{By: []string{"host", "direction"}},
	}}
	for h := range hosts {
		m.hosts = append(m.hosts, fmt.Sprintf("node%03d", h))
		m.run.Logs = append(m.run.Logs, &pipeline.Log{Log: &ingest.Log{Source: &ingest.Source{Base: "clat_hist.1.log",
			Host: m.hosts[h]}, Host: m.hosts[h], Job: "job"}})
	}
	return m
}

// leaves are those of interval n, the same in each call.
func (m *made) leaves(n int) (out []pipeline.Leaf) {
	g := m.run.Geometry
	for h, host := range m.hosts {
		for d, dir := range m.dirs {
			r := rand.New(rand.NewPCG(uint64(n), uint64(h*8+d)))
			hist := new(fiohist.Hist)
			median := 80e3 * (1 + float64(d)) * (1 + 0.3*math.Sin(float64(n)/300+float64(h)))
			for range m.ios {
				hist.Add(g.Index(int64(median*math.Exp(0.7*r.NormFloat64()))), 1)
			}
			out = append(out, pipeline.Leaf{Dims: fio.Dims{Host: host, Direction: dir}, Hist: hist, Logs: 1})
		}
	}
	return out
}

// rows are the scope values of an interval: only what the page reads of them.
func (m *made) rows() (out []pipeline.Row) {
	row := func(scope, host, dir string, leaves int) {
		n := float64(leaves * m.ios)
		out = append(out, pipeline.Row{Scope: scope, Dims: fio.Dims{Host: host, Direction: dir},
			Stats: fiohist.Stats{Samples: n}, Logs: max(1, leaves/2), IOPS: n, IOPSKnown: true})
	}
	row("run", "", fio.All, len(m.hosts)*len(m.dirs))
	for _, d := range m.dirs {
		row("direction", "", d, len(m.hosts))
	}
	for _, h := range m.hosts {
		row("host", h, fio.All, len(m.dirs))
	}
	for _, h := range m.hosts {
		for _, d := range m.dirs {
			row("host+direction", h, d, 1)
		}
	}
	return out
}

func (m *made) page(tb testing.TB, o report.Options, each func(n int)) []byte {
	tb.Helper()
	var b bytes.Buffer
	m.into(tb, report.NewKinds(&b, 1, o)[0], pipeline.Account{}, each)
	return b.Bytes()
}

// into passes the run to a sink.
func (m *made) into(tb testing.TB, s pipeline.Sink, a pipeline.Account, each func(n int)) {
	tb.Helper()
	ctx, rows := context.Background(), m.rows()
	sum := &pipeline.Summary{Intervals: m.intervals, End: int64(m.intervals) * m.run.Interval, Total: rows, Account: a}
	err := s.Begin(ctx, m.run)
	for n := 0; n < m.intervals && err == nil; n++ {
		err = s.Interval(ctx, &pipeline.Interval{Offset: int64(n) * m.run.Interval, Leaves: m.leaves(n), Rows: rows})
		if each != nil {
			each(n)
		}
	}
	if err == nil {
		err = s.End(ctx, sum)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// TestPackedTwice: a page that its tables alone make too large is packed once, once coarser, and once with as few
// columns as there can be. Each host's sums are its own, and those of all are those of every host.
func TestPackedTwice(t *testing.T) {
	t.Parallel()
	const hosts, intervals, ios = 40, 16, 3
	m := newMade(intervals, hosts, ios)
	var b bytes.Buffer
	s := report.NewKinds(&b, 1, report.Options{MaxBytes: 50_000})[0]
	m.into(t, s, pipeline.Account{}, nil)
	c := read(t, b.Bytes())
	if s.Packs() != 3 || c.Head.Columns != 1 {
		t.Errorf("packed %d times, into %d columns", s.Packs(), c.Head.Columns)
	}
	for i, sc := range c.Head.Scopes {
		leaves := 1
		if sc.Host == "" {
			leaves *= hosts
		}
		if sc.Direction == fio.All {
			leaves *= len(m.dirs)
		}
		if n := c.Scopes[i].TotalN[0]; n != float64(leaves*intervals*ios) {
			t.Errorf("%+v has %v I/Os, want %d", sc, n, leaves*intervals*ios)
		}
	}
}

// BenchmarkPage makes the page of an hour of 100 hosts, and of a small run, and says
// how large it is and what the heap holds at most.
func BenchmarkPage(b *testing.B) {
	for _, size := range []struct{ intervals, hosts int }{{600, 3}, {3600, 100}} {
		b.Run(fmt.Sprintf("quanta=%d/hosts=%d", size.intervals, size.hosts), func(b *testing.B) {
			m := newMade(size.intervals, size.hosts, 500)
			var heap uint64
			bytes := 0
			for b.Loop() {
				page := m.page(b, report.Options{}, func(n int) {
					if n%100 == 99 {
						var s runtime.MemStats
						runtime.GC()
						runtime.ReadMemStats(&s)
						heap = max(heap, s.HeapAlloc)
					}
				})
				bytes = len(page)
			}
			b.ReportMetric(float64(bytes)/1e6, "MB-page")
			b.ReportMetric(float64(heap)/1e6, "MB-heap")
		})
	}
}
