//go:build integration

package delivery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// BenchmarkScale makes the points that docs/scale.md plans with:
//
//	go test -tags integration -run '^$' -bench Scale -benchtime 1x ./esmodel
//
// Each is a run of hosts with a read and a write leaf in each interval, in ten parts
// that are ingested at the same time and then merged. The histograms are those of
// real logs, and between two of them as --align overlap leaves them: with fractions,
// no two alike.
func BenchmarkScale(b *testing.B) {
	points := []struct {
		hosts, intervals, coarseness, seconds int
	}{
		{100, 60, 0, 1}, {100, 60, 3, 1}, {100, 60, 6, 1}, {100, 60, 0, 10}, // what a document takes
		{1000, 6, 0, 1}, {2000, 3, 0, 1}, // what an interval takes
	}
	for _, p := range points {
		b.Run(
			fmt.Sprintf("hosts=%d/quanta=%d/coarseness=%d/interval=%ds", p.hosts, p.intervals, p.coarseness, p.seconds),
			func(b *testing.B) {
				base := scaleHists(b, p.coarseness, p.seconds)
				for b.Loop() {
					scalePoint(b, base, p.hosts, p.intervals, p.seconds)
				}
			},
		)
	}
}

// leafHists keeps the histograms that it is given.
type leafHists struct {
	pipeline.Discard
	all []*fiohist.Hist
}

func (l *leafHists) Interval(_ context.Context, q *pipeline.Interval) error {
	for _, leaf := range q.Leaves {
		h := new(fiohist.Hist)
		h.AddHist(leaf.Hist)
		l.all = append(l.all, h)
	}
	return nil
}

type scaleBase struct {
	run   *pipeline.Run
	hists []*fiohist.Hist
}

func scaleHists(b testing.TB, coarseness, seconds int) scaleBase {
	cfg := plan.Config{RunID: "R", Hold: 1 << 30, Settings: fio.Settings{
		Grid:        "epoch",
		Align:       "overlap",
		RecordTime:  "end",
		By:          []string{"log", "direction"},
		Percentiles: []float64{50, 99, 99.9},
		Coarseness:  coarseness,
		Interval:    time.Duration(seconds) * time.Second,
		Repair:      "auto",
		Restore:     true,
		Start:       "2026-08-31T23:59:57.5Z",
	}}
	ins, err := ingest.Discover([]string{"../../testdata/fio/randrw"}, ingest.DiscoverOptions{})
	if err != nil {
		b.Fatal(err)
	}
	plan, err := plan.Prepare(b.Context(), ins[0], cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer plan.Close()
	var l leafHists
	if _, err := plan.Process(b.Context(), &l); err != nil {
		b.Fatal(err)
	}
	return scaleBase{plan.Run, l.all}
}

func scalePoint(b *testing.B, base scaleBase, hosts, intervals, seconds int) {
	c := testClient(b, client.Config{Addresses: []string{os.Getenv("FIOLAT_TEST_ES")}})
	prefix := fmt.Sprintf("scale%x", rand.Uint64())
	defer wipe(c, prefix)
	if _, err := indices.Setup(b.Context(), c, indices.SetupOptions{Prefix: prefix}); err != nil {
		b.Fatal(err)
	}
	const parts = 10
	cpu := countCPU(b, c)
	start := time.Now()
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() {
			if err := scalePart(b.Context(), c, prefix, base, part, hosts/parts, intervals, seconds); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	took := time.Since(start).Seconds()
	cpu("ingest")
	leaves := float64(hosts * intervals * 2)
	b.ReportMetric((leaves+float64(hosts*intervals*3))/took, "docs_indexed/s")
	b.ReportMetric(indexBytes(b, c, esmodel.Indices(prefix, esmodel.KindHistogram))/leaves, "B/histogram_doc")
	b.ReportMetric(
		indexBytes(b, c, esmodel.Indices(prefix, esmodel.KindPercentiles))/float64(hosts*intervals*3),
		"B/percentiles_doc",
	)
	b.ReportMetric(indexBytes(b, c, esmodel.Index(prefix, esmodel.KindRun, 0))/float64(hosts), "B/run_doc/host")
	buckets := 0
	for _, h := range base.hists {
		h.Each(func(int, float64) { buckets++ })
	}
	b.ReportMetric(float64(buckets)/float64(len(base.hists)), "buckets/leaf")

	runtime.GC()
	peak, stop := peakHeap()
	cpu = countCPU(b, c)
	start = time.Now()
	runs, err := stored.Runs(b.Context(), c, prefix, "S", fio.Clat)
	if err != nil {
		b.Fatal(err)
	}
	r, err := stored.Replay(c, prefix, runs)
	if err != nil {
		b.Fatal(err)
	}
	w, err := NewBulkWriter(c, BulkConfig{Prefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{Prefix: prefix, RowsOnly: true})
	_, err = r.Process(b.Context(), replay.Options{AcrossHosts: true}, sink)
	if err = sink.Close(b.Context(), err); err != nil {
		b.Fatal(err)
	}
	took = time.Since(start).Seconds()
	stop()
	cpu("merge")
	b.ReportMetric(leaves/took, "leaves_merged/s")
	b.ReportMetric(float64(intervals)/took, "quanta_merged/s")
	b.ReportMetric(float64(*peak)/1e6, "MB_merge")
}

// scalePart ingests some hosts.
func scalePart(
	ctx context.Context,
	c *client.Client,
	prefix string,
	base scaleBase,
	part, hosts, intervals, seconds int,
) error {
	run := *base.run
	run.ID, run.Part, run.Generation = "S", fmt.Sprintf("part%d", part), "g"
	run.Settings.By = []string{"host", "direction"}
	run.Start = time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	run.FirstInterval, run.Metas, run.Logs = 0, nil, nil
	end := int64(intervals) * run.Interval
	for i := range hosts {
		l := &pipeline.Log{
			Log: &ingest.Log{
				Source:  &ingest.Source{Base: "job_clat_hist.1.log", Size: 1e6},
				Host:    fmt.Sprintf("host%05d", part*hosts+i),
				Job:     "job",
				LogName: "job_clat_hist.1.log",
			},
			End: end,
		}
		l.Dirs[fio.Read].HasIO, l.Dirs[fio.Write].HasIO = true, true
		run.Logs = append(run.Logs, l)
	}
	w, err := NewBulkWriter(c, BulkConfig{Prefix: prefix})
	if err != nil {
		return err
	}
	sink := NewSink(w, SinkOptions{Prefix: prefix})
	r := rand.New(rand.NewPCG(1, uint64(part)))
	sum := &pipeline.Summary{Intervals: intervals, End: end}
	err = sink.Begin(ctx, &run)
	for n := 0; n < intervals && err == nil; n++ {
		q := &pipeline.Interval{Offset: int64(n) * run.Interval}
		for i, l := range run.Logs {
			both := new(fiohist.Hist)
			for dir := range fio.Write + 1 {
				h, share := new(fiohist.Hist), r.Float64()
				x, y := base.hists[r.IntN(len(base.hists))], base.hists[r.IntN(len(base.hists))]
				x.Each(func(i int, w float64) { h.Add(i, w*share) })
				y.Each(func(i int, w float64) { h.Add(i, w*(1-share)) })
				both.AddHist(h)
				dims := fio.Dims{Host: l.Host, Direction: dir.String()}
				q.Leaves = append(
					q.Leaves,
					pipeline.Leaf{Dims: dims, Hist: h, Logs: 1, Members: []int{i}},
				)
				q.Rows = append(
					q.Rows,
					pipeline.Row{
						Scope:     "host+direction",
						Dims:      dims,
						Stats:     h.Stats(run.Geometry, run.Percentiles, fiohist.Limits{}),
						Logs:      1,
						IOPS:      h.Sum() / float64(seconds),
						IOPSKnown: true,
					},
				)
			}
			q.Rows = append(
				q.Rows,
				pipeline.Row{
					Scope:     "host",
					Dims:      fio.Dims{Host: l.Host, Direction: fio.All},
					Stats:     both.Stats(run.Geometry, run.Percentiles, fiohist.Limits{}),
					Logs:      1,
					IOPS:      both.Sum() / float64(seconds),
					IOPSKnown: true,
				},
			)
			sum.Account.Placed += both.Sum()
		}
		err = sink.Interval(ctx, q)
	}
	if err == nil {
		err = sink.End(ctx, sum)
	}
	return sink.Close(ctx, err)
}

// indexBytes is what indices take in bytes, each merged into one segment.
func indexBytes(b *testing.B, c *client.Client, pattern string) float64 {
	for _, p := range []string{"_forcemerge?max_num_segments=1", "_refresh", "_flush"} {
		if err := c.Call(
			b.Context(),
			client.Request{Op: "merge segments", Method: http.MethodPost, Path: "/" + pattern + "/" + p},
			nil,
		); err != nil {
			b.Fatal(err)
		}
	}
	var stats struct {
		All struct {
			Primaries struct {
				Store struct {
					Size float64 `json:"size_in_bytes"`
				} `json:"store"`
			} `json:"primaries"`
		} `json:"_all"`
	}
	if err := c.Call(
		b.Context(),
		client.Request{Op: "size", Method: http.MethodGet, Path: "/" + pattern + "/_stats/store"},
		&stats,
	); err != nil {
		b.Fatal(err)
	}
	return stats.All.Primaries.Store.Size
}

// countCPU counts the processor time of this process, and of the servers', until what it returns is called.
func countCPU(b *testing.B, c *client.Client) (report func(what string)) {
	read := func() (own, servers float64) {
		var self syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
			b.Fatal(err)
		}
		var stats struct {
			Nodes map[string]struct {
				Process struct {
					CPU struct {
						Total float64 `json:"total_in_millis"`
					}
				}
			}
		}
		request := client.Request{Op: "processor time", Method: http.MethodGet, Path: "/_nodes/stats/process"}
		if err := c.Call(b.Context(), request, &stats); err != nil {
			b.Fatal(err)
		}
		for _, n := range stats.Nodes {
			servers += n.Process.CPU.Total / 1e3
		}
		return float64(self.Utime.Nano()+self.Stime.Nano()) / 1e9, servers
	}
	own, servers := read()
	return func(what string) {
		ownNow, serversNow := read()
		b.ReportMetric(ownNow-own, "CPU_s_fiolat_"+what)
		b.ReportMetric(serversNow-servers, "CPU_s_server_"+what)
	}
}

// peakHeap watches the heap until stop is called.
func peakHeap() (peak *uint64, stop func()) {
	peak = new(uint64)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*peak = max(*peak, m.HeapInuse)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return peak, func() { close(done); <-gone }
}
