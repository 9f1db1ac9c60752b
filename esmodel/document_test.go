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
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

// slowHistogram is the document of a leaf by way of maps and encoding/json; left is what
// rounding the documents of the leaf before it left over.
func slowHistogram(run *pipeline.Run, q *pipeline.Quantum, leaf *pipeline.Leaf,
	left *fiohist.Remainder, misses fiohist.Misses) map[string]any {
	m := slowHead(run, q, "leaf", leaf.Dims, leaf.Logs)
	var index []int
	var exact, values, counts []float64
	top, most := 0, 0.0
	octave := map[string]float64{}
	sum, total := 0.0, int64(0)
	var rounded fiohist.Rounder
	weighted, weights := leaf.Hist.Sparse(nil, nil)
	rounded.Round(weighted, weights, left, misses)
	for k, bucket := range rounded.Index {
		i, whole := int(bucket), rounded.Counts[k]
		mid := run.Geometry.Middle(i)
		if whole > 0 {
			values, counts = append(values, mid), append(counts, float64(whole))
			total += whole
		}
		w := leaf.Hist.Count(i)
		if w == 0 {
			continue
		}
		before := math.Round(1000 * sum)
		sum += w
		if n := math.Round(1000*sum) - before; n > 0 {
			index, exact = append(index, i), append(exact, n/1000)
		}
		if w > most {
			most, top = w, i
		}
		n := 0
		if mid >= 1 {
			n = int(math.Floor(math.Log2(mid)))
		}
		octave[fmt.Sprintf("e%02d", n)] += w
	}
	if index == nil && sum > 0 {
		index, exact = []int{top}, []float64{sum}
	}
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
			"index":      append([]int{}, index...),
			"count":      list(exact),
		},
	}
	if leaf.Limits.Known {
		latency["limits"] = map[string]any{"min": leaf.Limits.Min, "max": leaf.Limits.Max}
	}
	m["latency"], m["samples"] = latency, sum
	if total > 0 {
		m["_doc_count"] = min(total, math.MaxInt32)
	}
	return m
}

func slowHead(run *pipeline.Run, q *pipeline.Quantum, scope string, d fio.Dims, logs int) map[string]any {
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
	var stamp json.RawMessage = appendTime(nil, run.Start+q.Offset)
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

func slowPercentiles(run *pipeline.Run, q *pipeline.Quantum, row *pipeline.Row) map[string]any {
	m := slowHead(run, q, row.Scope, row.Dims, row.Logs)
	s := row.Stats
	if row.IOPSKnown {
		m["iops"] = row.IOPS
	}
	if ran := row.Covered + row.Lost; ran > 0 && float64(ran) < 0.99*float64(run.Interval) &&
		run.Interval-ran > 1e6 {
		m["partial"] = true
	}
	if row.IOPSKnown && !s.Empty() && (row.Whole || (s.Mean*s.Mean+s.StdDev*s.StdDev)/2 <=
		0.1*s.Mean*float64(row.Covered)) {
		m["concurrency"] = row.IOPS * s.Mean / 1e9
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
	m["samples"] = s.Samples
	if s.Empty() {
		m["samples"] = 0
		return m
	}
	latency := map[string]any{"min": s.Min, "max": s.Max, "mean": s.Mean, "stddev": s.StdDev}
	limit := func(v float64) any {
		if v < 0 {
			return nil
		}
		return v
	}
	ci := map[string]any{}
	for i, p := range run.Percentiles {
		name := "p" + strings.ReplaceAll(fmt.Sprint(p), ".", "_")
		latency[name] = s.Percentiles[i]
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
	left := map[fio.Dims]*fiohist.Remainder{}
	for _, q := range esmodeltest.Quanta(run, 40) {
		misses := map[string]fiohist.Misses{}
		for i := range q.Leaves {
			d := q.Leaves[i].Dims
			if left[d] == nil {
				left[d] = new(fiohist.Remainder)
			}
			if misses[d.Direction] == nil {
				misses[d.Direction] = make(fiohist.Misses, run.Geometry.Columns())
			}
			doc, err := e.Histogram(nil, q, &q.Leaves[i])
			if err != nil {
				t.Fatal(err)
			}
			sameDoc(t, doc, slowHistogram(run, q, &q.Leaves[i], left[d], misses[d.Direction]))
			alone, _ := NewEncoder(DefaultPrefix, run).Histogram(nil, q, &q.Leaves[i])
			sameDoc(t, alone, slowHistogram(run, q, &q.Leaves[i], new(fiohist.Remainder), nil))
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
		q := new(pipeline.Quantum)
		doc, err := NewEncoder(DefaultPrefix, run).Histogram(nil, q, leaf)
		if err != nil {
			t.Fatal(err)
		}
		sameDoc(t, doc, slowHistogram(run, q, leaf, new(fiohist.Remainder), nil))
	}
}

// For any weights, of a leaf's first document: whole counts, ascending values, every
// running sum within half an I/O, and that of the buckets within half a thousandth.
func TestWholeCountsKeepWithinHalfAnIO(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	run := esmodeltest.Run()
	for range 300 {
		h := esmodeltest.Hist(r, 1+r.IntN(300))
		leaf := &pipeline.Leaf{Dims: fio.Dims{Direction: "read"}, Hist: h}
		doc, err := NewEncoder(DefaultPrefix, run).Histogram(nil, new(pipeline.Quantum), leaf)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Samples float64 `json:"samples"`
			Latency struct {
				Histogram struct {
					Values []float64 `json:"values"`
					Counts []int64   `json:"counts"`
				} `json:"histogram"`
				Buckets struct {
					Index []int     `json:"index"`
					Count []float64 `json:"count"`
				} `json:"buckets"`
			} `json:"latency"`
		}
		if err := json.Unmarshal(doc, &d); err != nil {
			t.Fatal(err)
		}
		back := new(fiohist.Hist)
		for n, i := range d.Latency.Buckets.Index {
			back.Add(i, d.Latency.Buckets.Count[n])
		}
		sum, kept, whole, next := 0.0, 0.0, int64(0), 0
		for i := range run.Geometry.Columns() {
			sum += h.Count(i)
			if kept += back.Count(i); math.Abs(kept-sum) > 0.0005+1e-9 {
				t.Fatalf("up to bucket %d read back %v, were %v", i, kept, sum)
			}
			if v := d.Latency.Histogram.Values; next < len(v) && v[next] == run.Geometry.Middle(i) {
				whole += d.Latency.Histogram.Counts[next]
				next++
			}
			if diff := math.Abs(sum - float64(whole)); diff > 0.5+1e-6 {
				t.Fatalf("after bucket %d the running sum is %v, whole %d", i, sum, whole)
			}
		}
		if next != len(d.Latency.Histogram.Values) || d.Samples != h.Sum() {
			t.Fatalf(
				"%d of %d values used, total %d of %v (%v)",
				next,
				len(d.Latency.Histogram.Values),
				whole,
				d.Samples,
				h.Sum(),
			)
		}
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
		absent  string
		clamped int64
		err     error
	}{
		{
			"shares of an I/O",
			hist(0.4, 0.4, 0.4),
			`"samples":1.2000000000000002,"_doc_count":1,"latency":{"histogram":{"values":[1.5],"counts":[1]}`,
			"",
			0,
			nil,
		},
		{"half an I/O", hist(0.5), `"latency":{"histogram":{"values":[],"counts":[]}`, "_doc_count", 0, nil},
		{
			"more than half",
			hist(0.51),
			`"_doc_count":1,"latency":{"histogram":{"values":[0.5],"counts":[1]}`,
			"",
			0,
			nil,
		},
		{
			"less than half",
			hist(0.25, 0.125),
			`"latency":{"histogram":{"values":[],"counts":[]},"octave":{"e00":0.375},"limits"`,
			"_doc_count",
			0,
			nil,
		},
		{"exact buckets", hist(0.25, 0.125), `"index":[0,1],"count":[0.25,0.125]`, "", 0, nil},
		{"as many as go", hist(math.MaxInt32), `"_doc_count":2147483647,`, "", 0, nil},
		{
			"too many for _doc_count",
			hist(1 << 40),
			`"_doc_count":2147483647,"latency":{"histogram":{"values":[0.5],"counts":[1099511627776]}`,
			"",
			1,
			nil,
		},
		{"very small", hist(1e-9), `"index":[0],"count":[1`, "_doc_count", 0, nil},
		{"infinite", hist(math.Inf(1)), "", "", 0, errNotFinite},
		{"no number", hist(math.NaN()), "", "", 0, errNotFinite},
		{"negative", hist(-1), "", "", 0, errNotFinite},
		{"too many for a long", hist(math.MaxInt64), "", "", 0, errNotFinite},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := NewEncoder("fio", esmodeltest.Run())
			doc, err := e.Histogram(
				nil,
				new(pipeline.Quantum),
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
			if !bytes.Contains(doc, []byte(tt.want)) || tt.absent != "" && bytes.Contains(doc, []byte(tt.absent)) ||
				e.Clamped != tt.clamped {
				t.Errorf("%s\nwant %s in it, and no %q; clamped %d", doc, tt.want, tt.absent, e.Clamped)
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
			"job and log",
			pipeline.Row{Scope: "job+log", Dims: fio.Dims{Job: "j", Log: "l", Direction: "all"}},
			`"fio":{"kind":"clat","job":"j","log":"l","direction":"all"}`,
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := NewEncoder(DefaultPrefix, run).Percentiles(nil, new(pipeline.Quantum), &tt.row)
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
	_, err := NewEncoder(DefaultPrefix, run).Percentiles(nil, new(pipeline.Quantum), &row)
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
	q := &pipeline.Quantum{Offset: 1e9}
	base := fio.Dims{Host: "a", Job: "b", Log: "c", Direction: "read"}
	seen := map[string]string{}
	note := func(what string, run *pipeline.Run, scope string, d fio.Dims, q *pipeline.Quantum) string {
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
	note("start", run, "leaf", base, &pipeline.Quantum{Offset: 1e9 + 1})
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
	if id := NewEncoder("y", &later).ID("leaf", base, new(pipeline.Quantum)); seen[string(id)] != "base" {
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
		if got := e.Index(KindHistogram, &pipeline.Quantum{Offset: tt.offset}); got != tt.want {
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
	q := new(pipeline.Quantum)
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
