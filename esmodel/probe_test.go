package esmodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"

	"golang.org/x/sys/unix"

	"fiolat/fio/fiohist"
	"fiolat/internal/probe"
	"fiolat/pipeline"
)

// Every field that the table gives to probes occurs, and no other; each document says
// what it was made of.
func TestProbeDocuments(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	run := &pipeline.Run{
		ID:          "r",
		Name:        "n",
		Generation:  "g",
		Labels:      map[string]string{"rack": "7"},
		Start:       at.Add(-time.Hour).UnixNano(),
		Interval:    10e9,
		Percentiles: []float64{50, 99},
	}
	enc := NewProbeEncoder("fio", run, "h")
	target := &probe.Target{Path: "/scratch"}
	seen, ids := map[string]bool{}, map[string]bool{}
	check := func(index, id string, doc []byte) map[string]any {
		t.Helper()
		var m map[string]any
		if err := json.Unmarshal(doc, &m); err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		if ids[id] || index != "fio-probe-2026.03" && index != "fio-probe-2026.02" {
			t.Errorf("%s/%s", index, id)
		}
		ids[id] = true
		for _, name := range esmodeltest.FieldNames(doc) {
			f, ok := FieldOf(KindProbe, name)
			if !ok {
				t.Errorf("%s is not in the table", name)
			}
			seen[f.Name] = true
		}
		return m
	}
	sample := func(s probe.Sample) map[string]any {
		t.Helper()
		index, id, doc, ok := enc.Sample(target, &s)
		if !ok {
			t.Fatalf("no document of %+v", s)
		}
		return check(index, id, doc)
	}
	get := func(m map[string]any, path string) any {
		var v any = m
		for _, p := range strings.Split(path, ".") {
			o, _ := v.(map[string]any)
			v = o[p]
		}
		return v
	}
	expect := func(m map[string]any, want string) {
		t.Helper()
		for _, w := range strings.Split(want, " ") {
			path, value, _ := strings.Cut(w, "=")
			if got := strings.ReplaceAll(fmt.Sprint(get(m, path)), " ", ","); got != value {
				t.Errorf("%s is %s, want %s", path, got, value)
			}
		}
	}
	expect(
		sample(probe.Sample{Op: probe.Write, At: at, Late: 5e6, Took: 300, Expected: 100, Slowdown: 3}),
		"scope=probe probe.operation=write probe.target=/scratch probe.slowdown=3 probe.late_ms=5 latency.value=300 "+
			"latency.expected=100 at_least=<nil> fio.kind=probe host.name=h",
	)
	expect(
		sample(probe.Sample{Op: probe.Read, At: at, Took: 2e9, AtLeast: true}),
		"at_least=[value] latency.value=2e+09 latency.expected=<nil> probe.slowdown=<nil>",
	)
	expect(
		sample(probe.Sample{Op: probe.Create, At: at, Took: 77, Err: fmt.Errorf("create: %w", unix.ENOSPC)}),
		"error.code=ENOSPC latency=<nil>",
	)
	if _, _, _, ok := enc.Sample(target, &probe.Sample{Err: probe.ErrSkipped}); ok {
		t.Error("a document of an operation that was not tried")
	}

	r := &probe.Report{Target: target, End: at, Length: 10 * time.Second, State: probe.StateHung, Slowest: probe.Read,
		Slowdown: 3, Mean: 1.5, Hung: &probe.Hang{Op: probe.Stat, Since: at.Add(-7 * time.Second)},
		Counts: probe.Counts{Rounds: 10, Late: 2, Missed: 1}}
	o := &r.Ops[probe.Create]
	*o = probe.OpReport{
		Expected: 100,
		Hist:     new(fiohist.Hist),
		Limits:   fiohist.Limits{Min: 100, Max: 30e9, Known: true},
		AtLeast:  1,
		Skipped:  3,
		Errors:   map[string]int64{"EROFS": 2, "EIO": 1},
	}
	for _, ns := range []int64{100, 100, 30e9} {
		o.Hist.Add(probe.Grid.Index(ns), 1)
	}
	o.Last[0] = probe.Window{Samples: 60, AtLeast: 1, Mean: 150, Median: 100, P90: 200, P95: 300, P99: 400, Max: 500}
	r.Ops[probe.Delete].Skipped = 4
	r.Ops[probe.Stat].Errors = map[string]int64{"ESTALE": 5}
	docs := map[string]map[string]any{}
	if err := enc.Report(r, func(index, id string, doc []byte) {
		m := check(index, id, doc)
		docs[fmt.Sprint(m["scope"], " ", get(m, "probe.operation"))] = m
	}); err != nil {
		t.Fatal(err)
	}
	if len(docs) != 4 {
		t.Errorf("%d documents: %v", len(docs), docs)
	}
	expect(
		docs["target stat"],
		"probe.state=hung probe.overall=1.5 probe.hung_ms=7000 probe.rounds=10 probe.late=2 probe.missed=1 "+
			"interval.ms=10000 interval.offset_ms=3.59e+06 @timestamp=2026-02-28T23:59:50.000Z",
	)
	expect(
		docs["interval create"],
		"samples=3 _doc_count=3 probe.failed=3 probe.skipped=3 probe.under_way=1 error.code=[EIO,EROFS] "+
			"latency.p50=100.8 latency.expected=100 latency.max=1.7045651456e+10 at_least=[p99] "+
			"latency.histogram.counts=[2000,1000] probe.last.1m.mean=1.5 probe.last.1m.p95=3 probe.last.1m.samples=60 "+
			"probe.last.4h.samples=0 probe.last.4h.max=<nil>",
	)
	expect(docs["interval delete"], "samples=0 probe.skipped=4 latency=<nil>")
	expect(docs["interval stat"], "samples=0 probe.failed=5 error.code=[ESTALE] latency=<nil>")
	if _, _, _, ok := enc.Event(r); ok {
		t.Error("an event of a report without a change")
	}
	r.Hung, r.State, r.Ops = nil, probe.StateSlow, probe.Report{}.Ops
	if err := enc.Report(r, func(_, _ string, doc []byte) {
		var m map[string]any
		if err := json.Unmarshal(doc, &m); err != nil {
			t.Fatal(err)
		}
		expect(m, "scope=target probe.operation=read probe.state=slow")
	}); err != nil {
		t.Fatal(err)
	}
	r.State = probe.StateHung
	events := map[string]bool{}
	for _, c := range []probe.Change{{Bad: true, Since: at.Add(-20 * time.Second), Text: "this file system is slow"},
		{Since: at.Add(-20 * time.Second)}} {
		r.Change = &c
		index, id, doc, ok := enc.Event(r)
		if !ok || index != "fio-event-2026.02" {
			t.Fatal(index, ok)
		}
		events[id] = true
		for _, name := range esmodeltest.FieldNames(doc) {
			if _, ok := FieldOf(KindEvent, name); !ok {
				t.Errorf("%s of an event is not in the table", name)
			}
		}
		var m map[string]any
		if err := json.Unmarshal(doc, &m); err != nil {
			t.Fatal(err)
		}
		expect(
			m,
			"run.id=r run.generation=<nil> labels.rack=7 host.name=[h] fio.kind=probe fio.direction=<nil> "+
				"scope=target probe.target=/scratch probe.state=hung interval.ms=10000 interval.offset_ms=3.58e+06 "+
				"@timestamp=2026-02-28T23:59:40.000Z event.start=2026-02-28T23:59:40.000Z "+
				"event.end=2026-03-01T00:00:00.000Z sla=<nil>",
		)
		if c.Bad {
			expect(m, "event.action=probe-trouble message=/scratch:,this,file,system,is,slow")
		} else {
			expect(m, "event.action=probe-recovery")
		}
	}
	if len(events) != 2 {
		t.Error("both events have the same id")
	}
	for _, f := range Fields {
		if slices.Contains(f.Kinds, KindProbe) && !seen[f.Name] &&
			!slices.Contains([]string{"run.part", "fio.job", "logs.count"}, f.Name) {
			t.Errorf("no document has %s", f.Name)
		}
	}
}
