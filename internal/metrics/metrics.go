// Package metrics shows Prometheus what a run or a probe has measured so far, over HTTP and in a file. The bounds of
// its histograms are edges of fio's buckets, so that their counts are exact. As native histograms, whose bounds are
// powers of two of a second, they hold each of fio's buckets at its middle.
package metrics

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/internal/probe"
	"fiolat/pipeline"
)

// Config says where the metrics go.
type Config struct {
	Address string // serves /metrics
	File    string // for the textfile collector of Prometheus' node_exporter
	Warn    func(text string)
}

// Exporter shows metrics.
type Exporter struct {
	cfg      Config
	registry *prometheus.Registry
	listener net.Listener
	server   http.Server
	open     atomic.Int32 // connections
	failed   error        // of the latest write of the file
	warned   bool

	mu    sync.Mutex
	parts map[any][]prometheus.Metric // by sink, and by target of a probe
	sums  map[[2]string]*sum          // of a probe, by target and operation
}

// New returns an exporter that serves already; nil if cfg names neither an address nor a file.
func New(cfg Config) (*Exporter, error) {
	if cfg.Address == "" && cfg.File == "" {
		return nil, nil
	}
	e := &Exporter{cfg: cfg, registry: prometheus.NewRegistry(), parts: map[any][]prometheus.Metric{},
		sums: map[[2]string]*sum{}}
	e.registry.MustRegister(e)
	if err := e.write(); err != nil { // it also replaces what an earlier run has left
		return nil, fio.Usagef("%v", err)
	}
	if cfg.Address == "" {
		return e, nil
	}
	listener, err := net.Listen("tcp", cfg.Address)
	if err != nil {
		return nil, fio.Usagef("--metrics: %v", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	e.server = http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 30 * time.Second, ConnState: e.connState}
	e.listener = listener
	go func() { _ = e.server.Serve(listener) }() // until Close
	return e, nil
}

// mostConnections leaves descriptors for the logs, whoever connects.
const mostConnections = 16

// connState closes connections beyond mostConnections.
func (e *Exporter) connState(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		if e.open.Add(1) > mostConnections {
			_ = c.Close() // the client tries again
		}
	case http.StateClosed:
		e.open.Add(-1)
	}
}

// Describe makes the exporter a collector of metrics that are not known beforehand.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect passes on the metrics of all parts.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, part := range e.parts {
		for _, m := range part {
			to <- m
		}
	}
}

// Write replaces the file, if there is to be one. The first failure is a warning; the next interval may succeed.
func (e *Exporter) Write() {
	e.failed = e.write()
	if e.failed != nil && !e.warned {
		e.warned = true
		e.cfg.Warn(e.failed.Error())
	}
}

func (e *Exporter) write() error {
	if e.cfg.File == "" {
		return nil
	}
	if err := prometheus.WriteToTextfile(e.cfg.File, e.registry); err != nil {
		return fmt.Errorf("--metrics-file: %w", err)
	}
	return nil
}

// Close ends the server. The file stays; the error is the one of its latest write.
func (e *Exporter) Close() error {
	if e == nil {
		return nil
	}
	if e.listener != nil {
		_ = e.server.Close() // scrapes may be cut
	}
	return e.failed
}

// sum is what a series has had so far.
type sum struct {
	hist fiohist.Hist
	ns   float64 // by the middles of the buckets
}

func (s *sum) add(h *fiohist.Hist, g fiohist.Geometry) {
	s.hist.AddHist(h)
	h.Each(func(i int, n float64) { s.ns += n * g.Middle(i) })
}

// count rounds the shares of I/Os that are on the edge of an interval.
func count(ios float64) uint64 { return uint64(math.Round(ios)) }

// histogram returns the sum as a histogram. Its bounds are the powers of two of fio's unit from 1 µs on that are edges
// of buckets: up to the last bucket, which is not bounded.
func (s *sum) histogram(d *prometheus.Desc, g fiohist.Geometry, labels ...string) prometheus.Metric {
	buckets := map[float64]uint64{}
	below, next := 0.0, 0
	for edge := g.Unit; edge <= g.Lower(g.Last()); edge *= 2 {
		i := g.Index(edge)
		if edge < time.Microsecond.Nanoseconds() || g.Lower(i) != edge {
			continue
		}
		for ; next < i; next++ {
			below += s.hist.Count(next)
		}
		buckets[seconds(float64(edge))] = count(below)
	}
	return &histogram{Metric: prometheus.MustNewConstHistogram(d, count(s.hist.Sum()), s.ns/1e9, buckets, labels...),
		native: s.native(g)}
}

// histogram is a histogram with fixed bounds, and the same as a native one.
type histogram struct {
	prometheus.Metric
	native *dto.Histogram
}

func (h *histogram) Write(to *dto.Metric) error {
	err := h.Metric.Write(to)
	n := to.Histogram
	n.Schema, n.ZeroThreshold, n.PositiveSpan = h.native.Schema, h.native.ZeroThreshold, h.native.PositiveSpan
	n.SampleCountFloat, n.ZeroCountFloat, n.PositiveCount = h.native.SampleCountFloat, h.native.ZeroCountFloat,
		h.native.PositiveCount
	return err
}

// schema makes the bounds of native histograms powers of 2^(1/8).
const schema = 3

// native returns the fields of a native histogram. Its counts have fractions: rounded ones could shrink, which looks
// like a restart.
func (s *sum) native(g fiohist.Geometry) *dto.Histogram {
	count, zero := 0.0, 0.0
	n := &dto.Histogram{Schema: new(int32(schema)), SampleCountFloat: &count, ZeroCountFloat: &zero,
		ZeroThreshold: new(float64(prometheus.DefNativeHistogramZeroThreshold))}
	end := int32(0) // of the last span
	s.hist.Each(func(i int, ios float64) {
		if g.Middle(i) == 0 {
			zero += ios
			return
		}
		at := int32(math.Ceil(math.Log2(g.Middle(i)/1e9) * (1 << schema)))
		last := len(n.PositiveSpan) - 1
		switch {
		case last >= 0 && at < end: // in the bucket of the one before
			n.PositiveCount[len(n.PositiveCount)-1] += ios
			return
		case last >= 0 && at == end:
			*n.PositiveSpan[last].Length++
		default:
			n.PositiveSpan = append(n.PositiveSpan, &dto.BucketSpan{Offset: new(at - end), Length: new(uint32(1))})
		}
		n.PositiveCount, end = append(n.PositiveCount, ios), at+1
	})
	for _, ios := range n.PositiveCount { // Prometheus adds them up like this, and refuses a count below
		count += ios
	}
	count += zero
	if n.PositiveSpan == nil { // this says that it is a native histogram
		n.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
	return n
}

func seconds(ns float64) float64 { return ns / 1e9 }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("fiolat_"+name, help, labels, nil)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

var (
	latency = desc("latency_seconds", "Latency of the I/Os since the start of the run. A bucket holds latencies below "+
		"its bound; the sum is that of the middles of fio's buckets.", "run", "kind", "direction")
	ios        = desc("ios_total", "I/Os completed since the start of the run.", "run", "kind", "direction")
	end        = desc("interval_end_timestamp_seconds", "End of the last complete interval.", "run", "kind")
	iops       = desc("interval_iops", "I/Os per second of the last complete interval.", "run", "kind", "direction")
	percentile = desc("interval_latency_seconds", "Percentiles of the last complete interval; none without I/O. "+
		"Beyond fio's last bucket it is its lower edge, 17.1 s.",
		"run", "kind", "direction", "percentile")
	slaOK = desc("sla_ok", "1 if the last complete interval meets the rule, 0 if it breaks it; none if unknown.",
		"run", "rule")
)

// exported is a sink that shows one kind of latency of a run.
type exported struct {
	pipeline.Discard
	*Exporter
	run  *pipeline.Run
	sums map[string]*sum // by direction
}

// Sink returns a sink for one kind of latency of a run.
func (e *Exporter) Sink() pipeline.Sink { return &exported{Exporter: e, sums: map[string]*sum{}} }

func (s *exported) Begin(_ context.Context, run *pipeline.Run) error {
	s.run = run
	return nil
}

func (s *exported) Interval(_ context.Context, q *pipeline.Interval) error {
	run, kind := fio.Printable(s.run.ID), s.run.Kind.String()
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if s.sums[leaf.Dims.Direction] == nil {
			s.sums[leaf.Dims.Direction] = &sum{}
		}
		s.sums[leaf.Dims.Direction].add(leaf.Hist, s.run.Geometry)
	}
	all := []prometheus.Metric{gauge(end, seconds(float64(s.run.Start+q.Offset+s.run.Interval)), run, kind)}
	for _, d := range slices.Sorted(maps.Keys(s.sums)) {
		sum := s.sums[d]
		all = append(all, sum.histogram(latency, s.run.Geometry, run, kind, d),
			prometheus.MustNewConstMetric(ios, prometheus.CounterValue, float64(count(sum.hist.Sum())), run, kind, d))
	}
	status, shown := map[string]sla.Status{}, map[string]bool{}
	for i := range q.Rows {
		row := &q.Rows[i]
		for _, v := range row.SLA {
			rule := v.Rule.Text
			if status[rule] != sla.Broken && status[rule] != sla.Unknown || v.Status == sla.Broken {
				status[rule] = v.Status
			}
		}
		d := row.Dims.Direction
		if row.Scope != fio.RunScope && row.Scope != fio.DirectionScope || shown[d] {
			continue
		}
		shown[d] = true
		if row.IOPSKnown {
			all = append(all, gauge(iops, row.IOPS, run, kind, d))
		}
		if row.Stats.Empty() {
			continue
		}
		for i, p := range row.Stats.Percentiles {
			all = append(all, gauge(percentile, seconds(p), run, kind, d, fio.Percentile(s.run.Percentiles[i])))
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(status)) {
		if is := status[rule]; is != sla.Unknown {
			all = append(all, gauge(slaOK, one(is == sla.OK), run, rule))
		}
	}
	s.mu.Lock()
	s.parts[s] = all
	s.mu.Unlock()
	s.Write()
	return nil
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

var (
	probeLatency = desc("probe_latency_seconds", "Times of operations since the start of the probe. A bucket holds "+
		"times below its bound; an operation under way counts at each due time, with its time until then.", "target",
		"operation")
	probeSlowdown = desc("probe_slowdown_ratio", "Median of the last two intervals by the usual time; none if unknown.",
		"target", "operation")
	probeOverall = desc("probe_overall_slowdown_ratio", "Geometric mean of the slowdowns of the operations.", "target")
	probeState   = desc("probe_state", "1 for the state that the target is in.", "target", "state")
	states       = []probe.State{probe.StatePreparing, probe.StateLearning, probe.StateQuiet, probe.StateSlow,
		probe.StateVerySlow, probe.StateFailing, probe.StateHung}
)

// Report shows a target of a probe, but does not write the file, since that may block.
func (e *Exporter) Report(r *probe.Report) {
	target := fio.Printable(r.Target.Path)
	var all []prometheus.Metric
	for _, s := range states {
		all = append(all, gauge(probeState, one(s == r.State), target, string(s)))
	}
	if r.Mean > 0 {
		all = append(all, gauge(probeOverall, r.Mean, target))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range r.Ops {
		o, op := &r.Ops[i], probe.Operation(i).String()
		if o.Slowdown > 0 {
			all = append(all, gauge(probeSlowdown, o.Slowdown, target, op))
		}
		key := [2]string{target, op}
		if e.sums[key] == nil {
			e.sums[key] = &sum{}
		}
		if o.Hist != nil {
			e.sums[key].add(o.Hist, probe.Grid)
		}
		all = append(all, e.sums[key].histogram(probeLatency, probe.Grid, target, op))
	}
	e.parts[target] = all
}
