//go:build integration

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testlog"
	"fiolat/kibana/kibanatest"
	"fiolat/pipeline"
)

// manyHosts stores the percentile documents of a run of 10,000 hosts, two intervals of 1 s:
// host n's p99 is n+1 ms in the first and half of that in the second.
func manyHosts(t *testing.T, hosts int) *stored {
	t.Helper()
	s := connect(t)
	client, err := client.New(client.Config{Addresses: []string{s.es}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err = indices.Setup(t.Context(), client, indices.SetupOptions{Prefix: s.prefix}); err != nil {
		t.Fatal(err)
	}
	w, err := delivery.NewBulkWriter(client, delivery.BulkConfig{Prefix: s.prefix, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.from = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	s.to = s.from.Add(2 * time.Second)
	run := &pipeline.Run{ID: "many", Name: "many", Generation: "g", Start: s.from.UnixNano(), StartKnown: true,
		StartHow: "--start", Interval: 1e9,
		Geometry: fiohist.Geometry{Groups: 29, Unit: 1}, Percentiles: []float64{50, 90, 95, 99, 99.9},
		Settings: fio.Settings{Interval: time.Second, Grid: "run", By: []string{"direction", "host"}}}
	sink := delivery.NewSink(w, delivery.SinkOptions{Prefix: s.prefix})
	err = sink.Begin(t.Context(), run)
	for q := int64(0); q < 2 && err == nil; q++ {
		interval := &pipeline.Interval{Offset: q * 1e9}
		for n := range hosts {
			p99 := float64(n+1) * 1e6 / float64(q+1)
			stats := fiohist.Stats{Samples: 1000, Min: 1e5, Max: 2 * p99, Mean: p99 / 2, StdDev: 1e5,
				Percentiles: []float64{p99 / 10, p99 / 3, p99 / 2, p99, 1.5 * p99},
				Lower:       make([]float64, 5), Upper: []float64{1, 2, 3, 4, fiohist.NoLimit}}
			for _, d := range []string{"read", "write", fio.All} {
				scope := "host+direction"
				if d == fio.All {
					scope = fio.HostScope
				}
				interval.Rows = append(interval.Rows, pipeline.Row{Scope: scope,
					Dims: fio.Dims{Host: fmt.Sprintf("node%05d", n), Direction: d}, Stats: stats, Logs: 1,
					TailPart: &fiohist.Part{Share: float64(n) / float64(hosts), Expected: 1 / float64(hosts), All: 1e6,
						Without: 1e6}, IOPS: 1000, IOPSKnown: true})
			}
		}
		err = sink.Interval(t.Context(), interval)
	}
	if err == nil {
		err = sink.End(t.Context(), &pipeline.Summary{Intervals: 2, End: 2e9})
	}
	if err = sink.Close(t.Context(), err); err != nil {
		t.Fatal(err)
	}
	return s
}

// sameMap finds in each cell the worst p99, the I/Os and the idle intervals of its host and time, and in all cells all
// of them; hosts are in natural order.
func (p *page) sameMap(t *testing.T) {
	t.Helper()
	rows := p.s.rows(p.s.subject, func(r interval) bool { return r.Scope == fio.HostScope })
	var hosts []string
	for _, r := range rows {
		if !slices.Contains(hosts, r.host()) {
			hosts = append(hosts, r.host())
		}
	}
	number := func(host string) int {
		n, _ := strconv.Atoi(host[strings.LastIndexFunc(host, func(c rune) bool { return c < '0' || c > '9' })+1:])
		return n
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	if got := evaluate[[]string](t, p, "view.scale('y').domain()"); !slices.Equal(got, hosts) {
		t.Errorf("hosts %q, want %q", got, hosts)
	}
	samples, idle := 0.0, map[string]int{}
	for layer, height := range []float64{1, 1, 0.5} {
		for _, k := range p.marks(t, fmt.Sprintf("layer_%d_marks", layer)) {
			ends := evaluate[[]float64](t, p, fmt.Sprintf("[%v, %v].map(x => view.scale('x').invert(x))",
				min(k.X, k.X2), max(k.X, k.X2)))
			n, none, p99 := 0.0, 0, 0.0
			for _, r := range rows {
				if r.host() != k.Tooltip["host"] || r.OffsetMS < ends[0]-50 || r.OffsetMS >= ends[1]-50 {
					continue
				}
				if n += r.Samples; r.Samples == 0 && r.IOPS != nil && !r.Partial {
					none++
				}
				if v := r.Percentiles["99"]; v != nil {
					p99 = max(p99, *v)
				}
			}
			if math.Abs(k.number("I/Os")-n) > 1e-6*n+1e-3 ||
				k.number("intervals without a completion") != float64(none) ||
				p99 > 0 && !near(k.number("ns"), p99) ||
				(k.Tooltip["p99"] == "nothing completed") != (n == 0) {
				t.Fatalf("layer %d: %v, want %v I/Os, p99 %v, %d idle", layer, k.Tooltip, n, p99, none)
			}
			if band := evaluate[float64](t, p, "view.scale('y').bandwidth()"); math.Abs(k.Y2-k.Y-height*band) > pixel {
				t.Errorf("layer %d: a cell is %v high of %v", layer, k.Y2-k.Y, band)
			}
			if layer != 2 {
				samples += n
			}
			if layer != 0 {
				idle[fmt.Sprint(k.Tooltip["host"])] += none
			}
		}
	}
	for _, r := range rows {
		if samples -= r.Samples; r.Samples == 0 && r.IOPS != nil && !r.Partial {
			idle[r.host()]--
		}
	}
	for host, n := range idle {
		if n != 0 {
			t.Errorf("%s: %d more idle intervals than there are", host, n)
		}
	}
	if math.Abs(samples) > 1 || len(rows) == 0 {
		t.Errorf("%v more I/Os than there are", samples)
	}
}

// TestServerHungHosts sees three of sixteen hosts hang, in the size that the first screen of "One run" has for it:
// cells of their own colour where, and when, nothing completed.
func TestServerHungHosts(t *testing.T) {
	s := connect(t)
	s.subject = "hung"
	hung, dir := []string{"osd3", "osd7", "osd12"}, t.TempDir()
	const hangs, length = 8 * time.Second, 4 * time.Second
	for n := range 16 {
		host := fmt.Sprintf("osd%d", n+1)
		log := testlog.Config{Seed: uint64(n + 1), Dirs: []fio.Direction{fio.Read, fio.Write}, Rate: 200,
			Duration: 20 * time.Second, Latency: testlog.LogNormal(time.Duration(300+10*n)*time.Microsecond, 0.6)}
		if slices.Contains(hung, host) {
			log.Stalls = []testlog.Stall{{At: hangs, For: length}}
		}
		if err := os.WriteFile(filepath.Join(dir, "job_clat_hist.1.log."+host), log.Log(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logs := []string{"--repair", "no", "--start", "2026-11-21T02:00:00Z", "--by", "direction,host", "--interval", "1s",
		dir}
	s.command(t, append([]string{"ingest", "--index-prefix", s.prefix, "--run-id", "run-hung", "--run-name", "hung"},
		logs...)...)
	out, _ := s.command(t, append([]string{"percentiles", "--format", "ndjson"}, logs...)...)
	for line := range strings.Lines(string(out)) {
		s.runs["hung"] = append(s.runs["hung"], parseInterval(t, line))
	}
	s.from, s.to = s.runs["hung"][0].Timestamp, s.runs["hung"][0].Timestamp.Add(time.Hour)
	p := browse(t, s)
	p.width, p.height = 620, 290 // half of 1280, and 12 rows less the panel's title
	for _, version := range vegaVersions {
		for _, id := range []string{"run-findings", "run-percentiles", "run-map"} {
			st, o := s.open(t, id)
			p.draw(t, version, st, o)
			if to := os.Getenv("FIOLAT_SCREENSHOTS"); to != "" && version == inPages {
				p.screenshots(t, filepath.Join(to, "kibana-"+id+"-16-hosts"))
			}
		}
		p.sameMap(t)
		seen := map[any]bool{}
		x := p.places(t, "x", []float64{float64(hangs.Milliseconds()), float64((hangs + length).Milliseconds())})
		for _, k := range p.marks(t, "layer_1_marks") {
			seen[k.Tooltip["host"]] = true
			if min(k.X, k.X2) < x[8000]-pixel || max(k.X, k.X2) > x[12000]+pixel {
				t.Errorf("Vega %s: nothing completed in %v", version, k)
			}
		}
		if len(seen) != len(hung) || !seen["osd3"] || !seen["osd7"] || !seen["osd12"] {
			t.Errorf("Vega %s: %v are seen to hang", version, seen)
		}
		// Three rows of a sixteenth of the height, for two of the twenty seconds at least.
		if n := evaluate[int](t, p, "pixels([0xd5, 0x5e, 0x00])"); n < 3*10*40 {
			t.Errorf("Vega %s: %d pixels of the colour", version, n)
		}
	}
}

// The searches by host of all panels, on 10,000 hosts, while Elasticsearch refuses any that
// holds more than mostOfRequest. What HDR takes it does not count: see the table of memory.
func TestServerTenThousandHosts(t *testing.T) {
	const hosts = 10000
	s := manyHosts(t, hosts)
	limit := func(v any) {
		s.ask(t, "PUT", "/_cluster/settings", m{"persistent": m{"indices.breaker.request.limit": v}})
	}
	t.Cleanup(func() { limit(nil) })
	old := func() (used, peak float64) {
		for _, node := range obj(s.ask(t, "GET", "/_nodes/stats/jvm", nil), "nodes") {
			pool := obj(node, "jvm", "mem", "pools", "old")
			used, peak = at(pool, "used_in_bytes").(float64), at(pool, "peak_used_in_bytes").(float64)
		}
		return used, peak
	}
	limit("10kb") // or else the limit below would say nothing
	all := m{"size": 0, "aggs": m{"host": m{"terms": m{"field": "host.name", "size": hosts}}}}
	// The whole search is refused, or that of the shard with the documents.
	status, answer := s.try(t, "POST", "/"+s.prefix+"-percentiles-*/_search", all)
	if !strings.Contains(fmt.Sprint(answer), "circuit_breaking_exception") {
		t.Fatalf("%d: Elasticsearch does not hold searches to the limit: %.300v", status, answer)
	}
	limit(fmt.Sprintf("%db", mostOfRequest))
	asked := 0
	try := func(what string, r kibanatest.Request) {
		body, _ := json.Marshal(r.Body)
		if !strings.Contains(string(body), `"field":"host.name"`) || !strings.Contains(string(body), `"terms"`) {
			return
		}
		if n, _ := large.HDR(r.Body); n > 0 && strings.Contains(string(body), "latency.histogram") {
			t.Logf("%s: %d HDR structures, for which the server at hand lacks the type", what, n)
		}
		asked++
		began := time.Now()
		answer := s.search(t, r)
		used, peak := old()
		t.Logf("%s: %v; old generation %.0f MB, at most %.0f MB", what, time.Since(began).Round(time.Millisecond),
			used/(1<<20), peak/(1<<20))
		if failed := at(answer, "_shards", "failed"); failed != 0.0 {
			t.Errorf("%s: %v shards failed", what, failed)
		}
		found, _ := json.Marshal(answer)
		byHost := strings.Contains(what, "by the worst p99") || strings.Contains(what, "makes the tail")
		if byHost && !bytes.Contains(found, fmt.Appendf(nil, "node%05d", hosts-1)) {
			t.Errorf("%s: the worst host is not in the answer: %.500s", what, found)
		}
	}
	for _, d := range s.bundle.space.Of(typeDashboard) {
		for _, p := range s.bundle.space.Panels(d) {
			if p.Object == nil {
				continue
			}
			st := s.bundle.space.Open(d, s.from, s.to)
			if kibanatest.Spec(p.Object) != nil {
				panel, err := kibanatest.Vega(p.Object, st)
				if err != nil {
					t.Fatalf("%s: %v", p.Object.ID, err)
				}
				for _, r := range panel.Requests {
					try(d.Title()+", "+p.Object.Title(), r)
				}
			}
			if p.Object.Type == typeLens {
				panel, err := s.bundle.space.Lens(p.Object, st, s.fields(t), bucketOf)
				if err != nil {
					t.Fatalf("%s: %v", p.Object.ID, err)
				}
				try(d.Title()+", "+p.Object.Title(), panel.Request)
			}
		}
	}
	if asked < 3 {
		t.Errorf("only %d searches by host were found", asked)
	}
}
