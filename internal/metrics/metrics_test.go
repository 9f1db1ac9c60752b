package metrics

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/internal/probe"
	"fiolat/pipeline"
)

// TestExporter shows a run of fio 2 and a probe, over HTTP in OpenMetrics and in a file.
func TestExporter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fiolat.prom")
	e, err := New(Config{Address: "127.0.0.1:0", File: file, Warn: func(text string) { t.Error(text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()

	s, run := e.Sink(), &pipeline.Run{ID: "a\xff", Start: 1e18, Interval: 1e9, Geometry: fiohist.Fio2.Coarsen(6),
		Percentiles: []float64{99}}
	if err = s.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	var h fiohist.Hist
	h.Add(run.Geometry.Index(70_000), 1.5)
	h.Add(run.Geometry.Index(1<<60), 1) // the last one
	rule := func(text string, s sla.Status) sla.Verdict {
		return sla.Verdict{Rule: &fio.SLARule{Rule: fio.Rule{Text: text}}, Status: s}
	}
	for i := range int64(2) { // a share of an I/O in each is whole in both
		if err = s.Interval(t.Context(), &pipeline.Interval{Offset: i * run.Interval,
			Leaves: []pipeline.Leaf{{Dims: fio.Dims{Direction: "read"}, Hist: &h}},
			Rows: []pipeline.Row{
				{Scope: fio.DirectionScope, Dims: fio.Dims{Direction: "read"}, Stats: h.Stats(run.Geometry,
					run.Percentiles, fiohist.Limits{}), SLA: []sla.Verdict{rule("good", sla.OK),
					rule("mixed", sla.Broken), rule("open", sla.Unknown)}},
				{Scope: fio.RunScope, Dims: fio.Dims{Direction: "read"}, SLA: []sla.Verdict{rule("mixed", sla.OK),
					rule("open", sla.OK)}},
			}}); err != nil {
			t.Fatal(err)
		}
	}
	h.Reset()
	h.Add(probe.Grid.Index(5_000_000), 10)
	r := &probe.Report{Target: &probe.Target{Path: "/scratch"}, State: probe.StateSlow, Slowdown: 5, Mean: 1.5}
	r.Ops[probe.Stat] = probe.OpReport{Expected: 1e6, Slowdown: 5, Hist: &h}
	e.Report(r)
	e.Write()

	request, _ := http.NewRequest(http.MethodGet, "http://"+e.listener.Addr().String()+"/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/openmetrics-text") ||
		!strings.HasSuffix(string(body), "\n# EOF\n") {
		t.Fatalf("%v, %v:\n%s", err, answer.Header, body)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`fiolat_latency_seconds_bucket{direction="read",kind="clat",run="a\\xff",le="6.4e-05"} 0`,
		`fiolat_latency_seconds_bucket{direction="read",kind="clat",run="a\\xff",le="0.000128"} 3`,
		`fiolat_latency_seconds_bucket{direction="read",kind="clat",run="a\\xff",le="8.388608"} 3`,
		`fiolat_latency_seconds_bucket{direction="read",kind="clat",run="a\\xff",le="+Inf"} 5`,
		`fiolat_interval_end_timestamp_seconds{kind="clat",run="a\\xff"} 1.000000002e+09`,
		`fiolat_sla_ok{rule="good",run="a\\xff"} 1`,
		`fiolat_sla_ok{rule="mixed",run="a\\xff"} 0`,
		`fiolat_probe_state{state="slow",target="/scratch"} 1`,
		`fiolat_probe_state{state="hung",target="/scratch"} 0`,
		`fiolat_probe_slowdown_ratio{operation="stat",target="/scratch"} 5`,
		`fiolat_probe_latency_seconds_bucket{operation="stat",target="/scratch",le="0.004194304"} 0`,
		`fiolat_probe_latency_seconds_bucket{operation="stat",target="/scratch",le="0.008388608"} 10`,
	} {
		// OpenMetrics writes whole numbers as 1.0.
		if !strings.Contains(string(body), want) || !strings.Contains(string(written), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(string(body), `rule="open"`) || strings.Contains(string(body), `le="1.6e-05"`) {
		t.Error("a rule of unknown state, or a bound inside a bucket")
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	if answer, err = client.Do(request); err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	both := 0
	for in := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header)); err == nil; {
		var family dto.MetricFamily
		err = in.Decode(&family)
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h.GetSampleCount() > 0 {
				both++
				if len(h.GetBucket()) == 0 || len(h.GetPositiveCount()) == 0 ||
					h.GetSampleCountFloat() != float64(h.GetSampleCount()) {
					t.Errorf("not both, or not the same: %v", h)
				}
			}
		}
	}
	if !errors.Is(err, io.EOF) || both != 2 {
		t.Errorf("%d histograms, %v", both, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	if _, err = parser.TextToMetricFamilies(strings.NewReader(string(written))); err != nil || t.Failed() {
		t.Errorf("%v:\n%s", err, written)
	}
}

// TestConnections: connections that are opened and left alone take no more than their share of descriptors.
func TestConnections(t *testing.T) {
	e, err := New(Config{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var last net.Conn
	for range mostConnections + 1 {
		if last, err = net.Dial("tcp", e.listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer last.Close()
	}
	if _, err = last.Read(make([]byte, 1)); err == nil {
		t.Error("one too many is answered")
	}
	if e.server.ReadTimeout == 0 || e.server.WriteTimeout == 0 || e.server.IdleTimeout == 0 {
		t.Error("a connection can stay for ever")
	}
}

// Native histograms count the same I/Os, and each percentile is where fio's buckets have it, to one of their buckets
// and half of fio's. No count shrinks while I/Os are added, shares of I/Os included.
func TestNative(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, g := range []fiohist.Geometry{fiohist.Fio3, fiohist.Fio2, fiohist.Fio3.Coarsen(6)} {
		s, before := &sum{}, map[int]float64{}
		for range 50 {
			var h fiohist.Hist
			for range 20 {
				h.Add(rng.IntN(g.Columns()), 3*rng.Float64())
			}
			s.add(&h, g)
			n := s.native(g)
			at, k, total, now := int32(0), 0, n.GetZeroCountFloat(), map[int]float64{}
			running := []float64{total}
			uppers := []float64{0}
			for _, span := range n.GetPositiveSpan() {
				at += span.GetOffset()
				for range span.GetLength() {
					ios := n.GetPositiveCount()[k]
					now[int(at)] = ios
					total += ios
					running, uppers = append(running, total), append(uppers, math.Exp2(float64(at)/(1<<schema))*1e9)
					at++
					k++
				}
			}
			if k != len(n.GetPositiveCount()) || math.Abs(n.GetSampleCountFloat()/s.hist.Sum()-1) > 1e-9 ||
				math.Abs(n.GetSampleCountFloat()/total-1) > 1e-12 {
				t.Fatalf("%d of %d counts, %v and %v of %v I/Os", k, len(n.GetPositiveCount()), total,
					n.GetSampleCountFloat(), s.hist.Sum())
			}
			for i, ios := range before {
				if now[i] < ios {
					t.Errorf("bucket %d fell from %v to %v", i, ios, now[i])
				}
			}
			before = now
			var ranks fiohist.Ranks
			ranks.Read(&s.hist, g)
			for _, p := range []float64{1, 50, 99, 99.9} {
				bucket, _ := ranks.Percentile(p)
				i := slices.IndexFunc(running, func(sum float64) bool { return sum >= total*p/100*(1-1e-9) })
				lower := uppers[i] / math.Exp2(1./(1<<schema))
				if m := g.Middle(bucket); m > uppers[i]*(1+1e-9) || m < lower*(1-1e-9) {
					t.Errorf("%v: p%v in (%v, %v], want %v", g, p, lower, uppers[i], m)
				}
			}
		}
	}
}

// TestSum: a series has the sum of its I/Os and of their latencies, each the middle of its bucket.
func TestSum(t *testing.T) {
	var s sum
	for _, n := range []float64{1, 3} {
		h := new(fiohist.Hist)
		h.Add(10, n) // from 10 to 11 ns
		h.Add(64, 2) // from 64 to 65 ns
		s.add(h, fiohist.Fio3)
	}
	if ios := s.hist.Sum(); ios != 8 || s.ns != 4*10.5+4*64.5 {
		t.Errorf("%g I/Os of %g ns", ios, s.ns)
	}
}
