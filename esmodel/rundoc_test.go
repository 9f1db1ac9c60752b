package esmodel

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// The run's document: what encoding/json reads back, and that nothing that people
// typed into names breaks it.
func TestRunDocument(t *testing.T) {
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 3)
	e := NewEncoder("fio", run)
	doc, err := e.AppendRun(nil, StatusComplete, esmodeltest.Summary(run, intervals), &Documents{Made: 3, Indexed: 3})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := NewEncoder("other", run).AppendRun(
		nil,
		StatusComplete,
		esmodeltest.Summary(run, intervals),
		&Documents{Made: 3, Indexed: 3},
	)
	if !bytes.Equal(doc, again) {
		t.Error("not the same twice")
	}
	m := esmodeltest.Decode(t, doc)
	get := func(path ...string) any {
		var v any = m
		for _, p := range path {
			v, _ = v.(map[string]any)[p]
		}
		return v
	}
	for _, tt := range []struct {
		want string
		path []string
	}{
		{"2026-08-31T23:59:58.000Z", []string{"@timestamp"}},
		{"r/1", []string{"run", "id"}},
		{"ünï\uFFFDcode", []string{"run", "name"}},
		{"complete", []string{"run", "status"}},
		{"job_start", []string{"run", "start_how"}},
		{"2026-09-01T00:00:01.000Z", []string{"run", "end"}},
		{"3", []string{"run", "quanta"}},
		{"[alpha beta]", []string{"host", "name"}},
		{"[job1 job2]", []string{"fio", "job"}},
		{"[fio-3.36]", []string{"fio", "version"}},
		{"[4k]", []string{"fio", "options", "bs"}},
		{`[<b>\x1b[2J]`, []string{"fio", "options", "exec\uFFFDpre"}},
		{"<nil>", []string{"fio", "options", "long"}},
		{"50,99,99.9", []string{"settings", "percentiles"}},
		{"1s", []string{"settings", "offsets", "alpha"}},
		{"12.5", []string{"account", "ios_logged"}},
		{"3", []string{"account", "documents", "made"}},
		{"29", []string{"latency", "buckets", "groups"}},
		{"3", []string{"summary", "sync", "samples"}},
		{"900", []string{"summary", "sync", "max"}},
		{"400", []string{"summary", "sync", "mean"}},
		{"<nil>", []string{"whole", "sync"}},
	} {
		if got := fmt.Sprint(get(tt.path...)); got != tt.want {
			t.Errorf("%v is %q, want %q", tt.path, got, tt.want)
		}
	}
	if get("summary", "all", "p99_9") == nil {
		t.Errorf("no summary in %s", doc)
	}
	if strings.Contains(string(doc), "secret") {
		t.Error("a path is in the document")
	}
	if doc, err = e.AppendRun([]byte("x"), StatusRunning, nil, nil); err != nil || doc[0] != 'x' ||
		bytes.Contains(doc, []byte("account")) {
		t.Errorf("running: %s, %v", doc, err)
	}
}

// The summary of a part has scopes of hosts only.
func TestSummaryOfAPart(t *testing.T) {
	row := func(scope, host, dir string, n float64) pipeline.Row {
		return pipeline.Row{
			Scope: scope,
			Dims:  fio.Dims{Host: host, Direction: dir},
			Stats: fiohist.Stats{Samples: n, Percentiles: make([]float64, 3)},
		}
	}
	one := summaryRows(
		&pipeline.Summary{Total: []pipeline.Row{row("host", "a", "all", 3), row("host+direction", "a", "read", 2)}},
	)
	two := summaryRows(&pipeline.Summary{Total: []pipeline.Row{row("host", "a", "all", 3), row("host", "b", "all", 4)}})
	all := summaryRows(
		&pipeline.Summary{
			Total: []pipeline.Row{
				row("direction", "", "read", 9),
				row("host+direction", "a", "read", 2),
				row("run", "", "all", 9),
			},
		},
	)
	if len(one) != 2 || len(two) != 0 || len(all) != 2 || all["read"].Stats.Samples != 9 {
		t.Errorf("%v\n%v\n%v", one, two, all)
	}
}

// What the document has of the whole run gives its percentiles again.
func TestWholeRun(t *testing.T) {
	run := esmodeltest.Run()
	e := NewEncoder("fio", run)
	h := new(fiohist.Hist)
	for i := range 500 {
		h.Add(100+i%300, 1+float64(i)/3)
	}
	limits := fiohist.Limits{Min: 250, Max: 1 << 20, Known: true}
	row := pipeline.Row{Scope: "direction", Dims: fio.Dims{Direction: "read"}, IOPS: 1000, IOPSKnown: true,
		Stats: h.Stats(run.Geometry, run.Percentiles, limits), Hist: h, Limits: limits}
	e.Noise = Noise{"read": {"p50": 1.25, "p99.9": 2, "iops": 1.5, "mean": math.Inf(1)}}
	doc, err := e.AppendRun(nil, StatusComplete, &pipeline.Summary{Total: []pipeline.Row{row}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, all, err := ReadRunHistograms(doc)
	if err != nil {
		t.Fatal(err)
	}
	read := all["read"]
	back, backLimits, err := read.Hist(g)
	if err != nil || len(all) != 1 || back.String() != h.String() || backLimits != limits {
		t.Fatalf("%v: %v\n%v\nwant\n%v", err, backLimits, back, h)
	}
	p := h.Stats(run.Geometry, []float64{50, 99.9}, limits).Percentiles
	want := map[string]Range{"p50": {p[0] / 1.25, p[0] * 1.25}, "p99_9": {p[1] / 2, p[1] * 2},
		"iops": {1000 / 1.5, 1500}}
	if !maps.Equal(read.Limits, want) {
		t.Errorf("limits %v, want %v", read.Limits, want)
	}
	for name, bad := range map[string]*RunHistogram{
		"beyond the grid": {Index: []uint16{2047}, Count: []number{1}},
		"descending":      {Index: []uint16{5, 4}, Count: []number{1, 1}},
		"unequal":         {Index: []uint16{5}},
		"negative":        {Index: []uint16{5}, Count: []number{-1}},
	} {
		if _, _, err = bad.Hist(g); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	older := []byte(`{"latency":{"buckets":{"groups":29,"coarseness":0,"unit_ns":1}}}`)
	if _, all, err = ReadRunHistograms(older); err != nil || all != nil {
		t.Errorf("of an older fiolat: %v, %v", all, err)
	}
}

// TestSummaryOfUnknown: what is not known is in no field, and each field has a name.
func TestSummaryOfUnknown(t *testing.T) {
	run := esmodeltest.Run()
	h := new(fiohist.Hist)
	h.Add(100, 4)
	io := h.Stats(run.Geometry, run.Percentiles, fiohist.Limits{})
	for _, tt := range []struct {
		name string
		row  pipeline.Row
		want []string
	}{
		{"all known", pipeline.Row{Stats: io, IOPS: 4, IOPSKnown: true, Whole: true, Covered: 1e9},
			[]string{"iops", "max", "mean", "min", "p50", "p99", "p99_9", "samples", "stddev"}},
		{"no rate", pipeline.Row{Stats: io},
			[]string{"max", "mean", "min", "p50", "p99", "p99_9", "samples", "stddev"}},
		{"no I/O", pipeline.Row{Stats: new(fiohist.Hist).Stats(run.Geometry, run.Percentiles, fiohist.Limits{})},
			[]string{"samples"}},
	} {
		if got := slices.Sorted(maps.Keys(NewEncoder("fio", run).summaryOf(&tt.row))); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// stalled is a diagnosis that has found stalls.
type stalled struct {
	Stalls any `json:"stalls"`
}

func (stalled) IsDiagnosis() {}

// TestStallsAreReadBack: a log has the stalls of the diagnosis again, and one that cannot be read is an error.
func TestStallsAreReadBack(t *testing.T) {
	run := esmodeltest.Run()
	run.Logs = run.Logs[:1]
	run.Logs[0].End = 9e9
	long := 2e9
	e := NewEncoder("fio", run)
	for name, want := range map[string][]pipeline.Stall{"one": {{Dimension: "host", Values: []string{"alpha"},
		SinceMS: 1000, UntilMS: 3000, Longest: &long, Ended: true, Factor: 7}}, "none": nil} {
		e.Diagnosis = stalled{want}
		doc, err := e.AppendRun(nil, StatusComplete, &pipeline.Summary{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadRun(doc)
		if err != nil {
			t.Fatal(err)
		}
		stalls := got.Run.Logs[0].Stalls
		if len(stalls) != len(want) || len(want) > 0 && (stalls[0].Span != pipeline.Span{From: 1e9, To: 3e9} ||
			stalls[0].Longest != 2e9 || stalls[0].Factor != 7 || stalls[0].Open) {
			t.Errorf("%s: %+v", name, stalls)
		}
	}
	e.Diagnosis = stalled{"many"}
	doc, err := e.AppendRun(nil, StatusComplete, &pipeline.Summary{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = ReadRun(doc); err == nil {
		t.Error("a diagnosis that cannot be read is no error")
	}
}
