package esmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/internal/jsonw"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

// slowHistogram is the document of a leaf by way of maps and encoding/json; left is what _doc_count left over before.
func slowHistogram(run *pipeline.Run, q *pipeline.Interval, leaf *pipeline.Leaf, left *float64) map[string]any {
	m := slowHead(run, q, "leaf", leaf.Dims, leaf.Logs)
	var values, counts []float64
	octave := map[string]float64{}
	sum := 0.0
	for i := range run.Geometry.Columns() {
		before := math.Round(1000 * sum)
		sum += leaf.Hist.Count(i)
		count := math.Round(1000*sum) - before
		if count == 0 {
			continue
		}
		mid, n := run.Geometry.Middle(i), 0
		values, counts = append(values, mid), append(counts, count)
		if mid >= 1 {
			n = int(math.Floor(math.Log2(mid)))
		}
		octave[fmt.Sprintf("e%02d", n)] += count
	}
	for name := range octave {
		octave[name] /= 1000
	}
	sum = thousandths(sum)
	whole := max(math.Round(*left+sum), 1)
	*left += sum - whole
	list := func(f []float64) []float64 { return append([]float64{}, f...) }
	logs := []int{}
	for i, l := range leaf.Members {
		if i == 0 || leaf.Members[i-1] != l-1 {
			logs = append(logs, l)
		}
		if i == len(leaf.Members)-1 || leaf.Members[i+1] != l+1 {
			logs = append(logs, l)
		}
	}
	latency := map[string]any{
		"histogram": map[string]any{"values": list(values), "counts": list(counts)},
		"octave":    octave,
		"buckets": map[string]any{
			"groups":     run.Geometry.Groups,
			"coarseness": run.Geometry.Coarseness,
			"unit_ns":    run.Geometry.Unit,
			"logs":       logs,
		},
	}
	if leaf.Limits.Known {
		latency["limits"] = map[string]any{"min": leaf.Limits.Min, "max": leaf.Limits.Max}
	}
	m["latency"], m["samples"], m["_doc_count"] = latency, sum, whole
	return m
}

// tenths and thousandths are what latencies and other numbers are in documents.
func tenths(v float64) float64      { return math.Round(10*v) / 10 }
func thousandths(v float64) float64 { return math.Round(1000*v) / 1000 }

func slowHead(run *pipeline.Run, q *pipeline.Interval, scope string, d fio.Dims, logs int) map[string]any {
	id := map[string]any{"id": run.ID, "title": run.Title(), "generation": run.Generation}
	var pairs []any
	for _, k := range slices.Sorted(maps.Keys(run.Labels)) {
		pairs = append(pairs, k+"="+run.Labels[k])
	}
	if pairs != nil {
		id["labels"] = pairs
	}
	if run.Name != "" {
		id["name"] = run.Name
	}
	if run.Part != "" {
		id["part"] = run.Part
	}
	fio := map[string]any{"kind": run.Kind.String(), "direction": d.Direction}
	if d.Job != "" {
		fio["job"] = d.Job
	}
	if d.Log != "" {
		fio["log"] = d.Log
	}
	var stamp json.RawMessage = jsonw.AppendTime(nil, run.Start+q.Offset)
	m := map[string]any{
		"@timestamp": stamp,
		"run":        id,
		"labels":     run.Labels,
		"scope":      scope,
		"fio":        fio,
		"interval": map[string]any{
			"ms":        float64(run.Interval) / 1e6,
			"offset_ms": float64(q.Offset) / 1e6,
		},
		"logs": map[string]any{"count": logs},
	}
	if d.Host != "" {
		m["host"] = map[string]any{"name": d.Host}
	}
	return m
}

func slowPercentiles(run *pipeline.Run, q *pipeline.Interval, row *pipeline.Row) map[string]any {
	m := slowHead(run, q, row.Scope, row.Dims, row.Logs)
	s := row.Stats
	if row.IOPSKnown {
		m["iops"] = thousandths(row.IOPS)
	}
	if ran := row.Covered + row.Lost; ran > 0 && float64(ran) < 0.99*float64(run.Interval) &&
		run.Interval-ran > 1e6 {
		m["partial"] = true
	}
	if row.IOPSKnown && !s.Empty() && (row.Whole || (s.Mean*s.Mean+s.StdDev*s.StdDev)/2 <=
		0.1*s.Mean*float64(row.Covered)) {
		m["concurrency"] = thousandths(row.IOPS * s.Mean / 1e9)
	}
	if t := row.TailPart; t != nil {
		p99, tail := map[string]any{}, map[string]any{"expected": t.Expected}
		if t.Share >= 0 {
			tail["lift"], p99["share"] = t.Share/t.Expected, t.Share
		}
		if t.Without >= 0 {
			p99["without"] = t.Without
		}
		tail["p99"] = p99
		m["tail"] = tail
	}
	m["samples"] = thousandths(s.Samples)
	if s.Empty() {
		m["samples"] = 0
		return m
	}
	latency := map[string]any{"min": tenths(s.Min), "max": tenths(s.Max), "mean": tenths(s.Mean),
		"stddev": tenths(s.StdDev)}
	limit := func(v float64) any {
		if v < 0 {
			return nil
		}
		return tenths(v)
	}
	ci := map[string]any{}
	for i, p := range run.Percentiles {
		name := "p" + strings.ReplaceAll(fmt.Sprint(p), ".", "_")
		latency[name] = tenths(s.Percentiles[i])
		ci[name] = map[string]any{"lower": limit(s.Lower[i]), "upper": limit(s.Upper[i])}
	}
	latency["ci"] = ci
	m["latency"] = latency
	var least []string
	for _, i := range s.AtLeast {
		least = append(least, "p"+strings.ReplaceAll(fmt.Sprint(run.Percentiles[i]), ".", "_"))
	}
	if least != nil {
		m["at_least"] = least
	}
	return m
}

// numbers makes 1.0, 1 and 1e0 the same for comparing.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return v
}

func sameDoc(t *testing.T, got []byte, want map[string]any) {
	t.Helper()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	g, w := numbers(esmodeltest.Decode(t, got)), numbers(esmodeltest.Decode(t, text))
	if !reflect.DeepEqual(g, w) {
		t.Errorf("document\n%s\nwant\n%s", got, text)
	}
}

func TestEncodersEqualTheirSlowTwins(t *testing.T) {
	testkit.NotRaced(t)
	run := esmodeltest.Run()
	run.Part = "p"
	e := NewEncoder("fio", run)
	left := map[fio.Dims]*float64{}
	for _, q := range esmodeltest.Intervals(run, 40) {
		for i := range q.Leaves {
			d := q.Leaves[i].Dims
			if left[d] == nil {
				left[d] = new(float64)
			}
			doc, err := e.Histogram(nil, q, &q.Leaves[i])
			if err != nil {
				t.Fatal(err)
			}
			sameDoc(t, doc, slowHistogram(run, q, &q.Leaves[i], left[d]))
			alone, _ := NewEncoder(DefaultPrefix, run).Histogram(nil, q, &q.Leaves[i])
			sameDoc(t, alone, slowHistogram(run, q, &q.Leaves[i], new(float64)))
		}
		for i := range q.Rows {
			doc, err := NewEncoder(DefaultPrefix, run).Percentiles(nil, q, &q.Rows[i])
			if err != nil {
				t.Fatal(err)
			}
			sameDoc(t, doc, slowPercentiles(run, q, &q.Rows[i]))
		}
	}
}

// Every bucket of every grid: octaves and middles.
func TestOctavesOfAllBuckets(t *testing.T) {
	testkit.NotRaced(t)
	for _, g := range []fiohist.Geometry{esmodeltest.Geometry, {Groups: 19, Unit: 1000}, {Groups: 32, Coarseness: 6,
		Unit: 1}, {Groups: 32, Unit: 1}} {
		run := esmodeltest.Run()
		run.Geometry = g
		h := new(fiohist.Hist)
		for i := range g.Columns() {
			h.Add(i, float64(i)+0.25)
		}
		leaf := &pipeline.Leaf{Dims: fio.Dims{Direction: "trim"}, Hist: h}
		q := new(pipeline.Interval)
		doc, err := NewEncoder(DefaultPrefix, run).Histogram(nil, q, leaf)
		if err != nil {
			t.Fatal(err)
		}
		sameDoc(t, doc, slowHistogram(run, q, leaf, new(float64)))
	}
}

// For any weights: ascending values, every running sum within half a thousandth, and the counts in sum the samples.
func TestCountsKeepWithinHalfAThousandth(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	run := esmodeltest.Run()
	for range 300 {
		h := esmodeltest.Hist(r, 1+r.IntN(300))
		leaf := &pipeline.Leaf{Dims: fio.Dims{Direction: "read"}, Hist: h}
		doc, err := NewEncoder(DefaultPrefix, run).Histogram(nil, new(pipeline.Interval), leaf)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Samples float64
			Latency struct {
				Histogram struct {
					Values []float64
					Counts []int64
				}
			}
		}
		if err := json.Unmarshal(doc, &d); err != nil {
			t.Fatal(err)
		}
		exact, sum, next := 0.0, int64(0), 0
		for i := range run.Geometry.Columns() {
			exact += h.Count(i)
			if v := d.Latency.Histogram.Values; next < len(v) && v[next] == run.Geometry.Middle(i) {
				sum += d.Latency.Histogram.Counts[next]
				next++
			}
			if math.Abs(1000*exact-float64(sum)) > 0.5+1e-6 {
				t.Fatalf("up to bucket %d there are %v I/Os, stored %d thousandths", i, exact, sum)
			}
		}
		if next != len(d.Latency.Histogram.Values) || d.Samples != float64(sum)/1000 {
			t.Fatalf("%d of %d values used, %d thousandths of %v", next, len(d.Latency.Histogram.Values), sum, d.Samples)
		}
	}
}

// The sum of _doc_count over the documents of a leaf is within 1 of its I/Os, once the least, 1, allows it.
func TestDocCounts(t *testing.T) {
	many := slices.Repeat([]float64{2.4}, 1000)
	for _, tt := range []struct {
		name    string
		samples []float64
		want    []int64
		off     float64 // in sum
	}{
		{"fractions", []float64{2.4, 2.4, 2.4, 2.4, 2.4}, []int64{2, 3, 2, 3, 2}, 0},
		{"few", []float64{0.3, 0.3, 0.3, 0.3}, []int64{1, 1, 1, 1}, 2.8},
		{"few, then many", []float64{0.3, 0.3, 0.3, 0.3, 10}, []int64{1, 1, 1, 1, 7}, -0.2},
		{"a thousand", many, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, all := NewEncoder(DefaultPrefix, esmodeltest.Run()), 0.0
			for i, n := range tt.samples {
				h := new(fiohist.Hist)
				h.Add(7, n)
				doc, err := e.Histogram(nil, &pipeline.Interval{Offset: int64(i) * 1e9}, &pipeline.Leaf{Hist: h})
				if err != nil {
					t.Fatal(err)
				}
				var d struct {
					Count int64 `json:"_doc_count"`
				}
				if err = json.Unmarshal(doc, &d); err != nil || tt.want != nil && d.Count != tt.want[i] {
					t.Errorf("document %d of %v I/Os counts %d, want %v, %v", i, n, d.Count, tt.want, err)
				}
				all += float64(d.Count) - n
			}
			if math.Abs(all-tt.off) > 1e-6 {
				t.Errorf("all documents count %v I/Os too many, want %v", all, tt.off)
			}
		})
	}
}

func TestHistogramDocumentEdges(t *testing.T) {
	hist := func(w ...float64) *fiohist.Hist {
		h := new(fiohist.Hist)
		for i, x := range w {
			h.Add(i, x)
		}
		return h
	}
	tests := []struct {
		name    string
		h       *fiohist.Hist
		want    string // a part of the document
		clamped int64
		err     error
	}{
		{"shares of an I/O", hist(0.4, 0.4, 0.4), `"samples":1.2,"_doc_count":1,"latency":{"histogram":` +
			`{"values":[0.5,1.5,2.5],"counts":[400,400,400]},"octave":{"e00":0.8,"e01":0.4},`, 0, nil},
		{"little", hist(0.25, 0.125), `"_doc_count":1,"latency":{"histogram":{"values":[0.5,1.5],"counts":[250,125]}`,
			0, nil},
		{"thirds", hist(1./3, 1./3, 1./3), `"values":[0.5,1.5,2.5],"counts":[333,334,333]}`, 0, nil},
		{"a bucket of too little", hist(0.0004, 2, 0.0004), `"values":[1.5,2.5],"counts":[2000,1]}`, 0, nil},
		{"the least", hist(0.0005), `"samples":0.001,"_doc_count":1,"latency":{"histogram":{"values":[0.5],` +
			`"counts":[1]}`, 0, nil},
		{"as many as go", hist(math.MaxInt32), `"_doc_count":2147483647,`, 0, nil},
		{"too many for _doc_count", hist(1 << 40), `"_doc_count":2147483647,"latency":{"histogram":{"values":[0.5],` +
			`"counts":[1099511627776000]}`, 1, nil},
		{"as many as a long takes", hist(9e15), `"counts":[9000000000000000000]`, 1, nil},
		{"too many for a long", hist(9.3e15), "", 0, errNotFinite},
		{"infinite", hist(math.Inf(1)), "", 0, errNotFinite},
		{"no number", hist(math.NaN()), "", 0, errNotFinite},
		{"negative", hist(-1), "", 0, errNotFinite},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := NewEncoder("fio", esmodeltest.Run())
			doc, err := e.Histogram(
				nil,
				new(pipeline.Interval),
				&pipeline.Leaf{Hist: tt.h, Limits: fiohist.Limits{Known: true}},
			)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				if len(doc) > 0 {
					t.Errorf("half a document %s", doc)
				}
				return
			}
			esmodeltest.Decode(t, doc)
			if !bytes.Contains(doc, []byte(tt.want)) || e.Clamped != tt.clamped {
				t.Errorf("%s\nwant %s in it; clamped %d", doc, tt.want, e.Clamped)
			}
		})
	}
}

func TestPercentileDocumentEdges(t *testing.T) {
	run := esmodeltest.Run()
	h := new(fiohist.Hist)
	h.Add(esmodeltest.Geometry.Last(), 3)
	stats := h.Stats(esmodeltest.Geometry, run.Percentiles, fiohist.Limits{})
	tests := []struct {
		name   string
		row    pipeline.Row
		want   string
		absent []string
	}{
		{
			"last bucket",
			pipeline.Row{Scope: "run", Stats: stats},
			`"at_least":["p50","p99","p99_9"]`,
			[]string{`"iops"`, `"host"`},
		},
		{"empty", pipeline.Row{Scope: "run", IOPSKnown: true}, `"samples":0,"iops":0}`,
			[]string{"latency", "concurrency"}},
		{
			"dust",
			pipeline.Row{Scope: "run", Stats: fiohist.Stats{Samples: 1e-12}},
			`"samples":0}`,
			[]string{"latency"},
		},
		{
			"tail of a few I/Os alone",
			pipeline.Row{Scope: "host", Dims: fio.Dims{Host: "h"}, TailPart: &fiohist.Part{Share: -1, Expected: 1,
				Without: -1}},
			`"tail":{"expected":1,"p99":{}}}`,
			[]string{"lift", "without"},
		},
		{
			"digits",
			pipeline.Row{Scope: "host", Dims: fio.Dims{Host: "h"}, TailPart: &fiohist.Part{Share: 1. / 3,
				Expected: 1. / 7, Without: 27484.050146217414}},
			`"tail":{"expected":0.142857,"lift":2.333333,"p99":{"share":0.333333,"without":27484.1}}}`,
			nil,
		},
		{
			"digits of a verdict",
			pipeline.Row{Scope: "run", SLA: []sla.Verdict{{Rule: &testkit.Rules(t, "p99 < 1ms")[0], Status: sla.Broken,
				Share: 2. / 3}}},
			`"share":0.666666667`,
			[]string{"0.6666666666"},
		},
		{
			"job and log",
			pipeline.Row{Scope: "job+log", Dims: fio.Dims{Job: "j", Log: "l", Direction: "all"}},
			`"fio":{"kind":"clat","job":"j","log":"l","direction":"all"}`,
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := NewEncoder(DefaultPrefix, run).Percentiles(nil, new(pipeline.Interval), &tt.row)
			if err != nil {
				t.Fatal(err)
			}
			esmodeltest.Decode(t, doc)
			if !bytes.Contains(doc, []byte(tt.want)) {
				t.Errorf("%s\nwant %s", doc, tt.want)
			}
			for _, a := range tt.absent {
				if bytes.Contains(doc, []byte(a)) {
					t.Errorf("%s\nhas %s", doc, a)
				}
			}
		})
	}
	row := pipeline.Row{Stats: fiohist.Stats{Samples: math.NaN()}}
	_, err := NewEncoder(DefaultPrefix, run).Percentiles(nil, new(pipeline.Interval), &row)
	if !errors.Is(err, errNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	if got := PercentileName(99.99); got != "p99_99" {
		t.Error(got)
	}
}

// Different tuples, different ids, which never change without a new formatVersion, or a repeated ingest would double
// what is stored.
func TestIDs(t *testing.T) {
	run := esmodeltest.Run()
	q := &pipeline.Interval{Offset: 1e9}
	base := fio.Dims{Host: "a", Job: "b", Log: "c", Direction: "read"}
	seen := map[string]string{}
	note := func(what string, run *pipeline.Run, scope string, d fio.Dims, q *pipeline.Interval) string {
		key := NewEncoder("x", run).ID(scope, d, q)
		if before, twice := seen[string(key)]; twice {
			t.Errorf("%s and %s have the same id", before, what)
		}
		seen[string(key)] = what
		return string(key)
	}
	if id := note("base", run, "leaf", base, q); id != "x7dUB3toZRfDT8Yt6hTliA" {
		t.Errorf("the id has changed to %s", id)
	}
	note("host", run, "leaf", fio.Dims{Host: "ab", Job: "", Log: "c", Direction: "read"}, q)
	note("job", run, "leaf", fio.Dims{Host: "", Job: "ab", Log: "c", Direction: "read"}, q)
	note("log", run, "leaf", fio.Dims{Host: "a", Job: "", Log: "bc", Direction: "read"}, q)
	note("direction", run, "leaf", fio.Dims{Host: "a", Job: "b", Log: "c", Direction: "write"}, q)
	note("scope", run, "run", base, q)
	note("start", run, "leaf", base, &pipeline.Interval{Offset: 1e9 + 1})
	generation := *run
	generation.Generation = "another"
	note("generation", &generation, "leaf", base, q)
	part := *run
	part.Part = "p"
	note("part", &part, "leaf", base, q)
	kind := *run
	kind.Kind = 1
	note("kind", &kind, "leaf", base, q)
	other := *run
	other.ID, other.Part = "r/", "1"
	note("run", &other, "leaf", base, q)
	later := *run
	later.Start = run.Start + 1e9
	if id := NewEncoder("y", &later).ID("leaf", base, new(pipeline.Interval)); seen[string(id)] != "base" {
		t.Error("prefix, or how the start is split are part of the identity")
	}
	if a, b := RunDocID("a", "b", "clat"), RunDocID(
		"ab",
		"",
		"clat",
	); a == b || a == RunDocID("a", "", "clat") || a == RunDocID("a", "b", "slat") ||
		a == RunDocID("a", "b", "lat") {
		t.Error("ids of runs clash")
	}
}

func TestIndexNames(t *testing.T) {
	run := esmodeltest.Run()
	e := NewEncoder("my.fio", run)
	for _, tt := range []struct {
		offset int64
		want   string
	}{{0, "my.fio-histogram-2026.08"}, {2e9 - 1, "my.fio-histogram-2026.08"}, {2e9, "my.fio-histogram-2026.09"}, {0,
		"my.fio-histogram-2026.08"}, {-esmodeltest.At, "my.fio-histogram-1970.01"}} {
		if got := e.Index(KindHistogram, &pipeline.Interval{Offset: tt.offset}); got != tt.want {
			t.Errorf("%d: %s, want %s", tt.offset, got, tt.want)
		}
	}
	for index, want := range map[string]Kind{"fio-run": KindRun, "fio-event-2026.08": KindEvent,
		"fio-histogram-2026.13": "", "fio-run-2026.08": "", "fiox-run": "", "other": ""} {
		if got, ok := KindOf("fio", index); got != want || ok != (want != "") {
			t.Errorf("%s is %q", index, got)
		}
	}
	for _, p := range []string{"", "-a", "_a", ".a", "A", "a*", "a b", "a,b", strings.Repeat("a", 101), "a/b"} {
		var usage *fio.UsageError
		if err := CheckPrefix(p); !errors.As(err, &usage) {
			t.Errorf("prefix %q: %v", p, err)
		}
	}
	if err := CheckPrefix("fio-2.b_c"); err != nil {
		t.Error(err)
	}
}

func BenchmarkEncode(b *testing.B) {
	run := esmodeltest.Run()
	r := rand.New(rand.NewPCG(3, 3))
	h := esmodeltest.Hist(r, 150)
	leaf := &pipeline.Leaf{Dims: fio.Dims{Host: "host-17", Direction: "read"}, Hist: h}
	row := &pipeline.Row{
		Scope:     "host+direction",
		Dims:      leaf.Dims,
		Stats:     h.Stats(esmodeltest.Geometry, run.Percentiles, fiohist.Limits{}),
		IOPSKnown: true,
		IOPS:      123.5,
	}
	q := new(pipeline.Interval)
	e := NewEncoder("fio", run)
	b.Run("kind=histogram", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _ = e.Histogram(buf[:0], q, leaf)
			e.ID(LeafScope, leaf.Dims, q)
		}
		b.SetBytes(int64(len(buf)))
	})
	b.Run("kind=percentiles", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _ = e.Percentiles(buf[:0], q, row)
			e.ID(row.Scope, row.Dims, q)
		}
		b.SetBytes(int64(len(buf)))
	})
}

// TestHiddenNames: documents have names as they are printed, ids are of those that were given.
func TestHiddenNames(t *testing.T) {
	t.Parallel()
	run := esmodeltest.Run()
	run.Name, run.Labels = "evil\u202egol.b", map[string]string{"k\u200b": "v\u2066"}
	q := esmodeltest.Intervals(run, 2)[0]
	e := NewEncoder("fio", run)
	seen := map[string]bool{}
	for _, host := range []string{"a\u202eb", `a\u202eb`} {
		leaf := q.Leaves[0]
		leaf.Dims = fio.Dims{Host: host, Job: "j\u200f", Direction: "read"}
		seen[string(e.ID(LeafScope, leaf.Dims, q))] = true
		doc, err := e.Histogram(nil, q, &leaf)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`"host":{"name":"a\\u202eb"}`, `"job":"j\\u200f"`, `"name":"evil\\u202egol.b"`,
			`"labels":{"k\\u200b":"v\\u2066"}`,
		} {
			if !bytes.Contains(doc, []byte(want)) {
				t.Errorf("%+q: no %s in %s", host, want, doc)
			}
		}
	}
	if len(seen) != 2 {
		t.Error("two hosts have one id")
	}
}
