package esmodeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/pipeline"
)

// Decode decodes a document, which must be a single line, with json.Number.
func Decode(t testing.TB, doc []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	if bytes.ContainsAny(doc, "\n") {
		t.Fatalf("a newline in %s", doc)
	}
	return m
}

// ReadFile returns the contents of a file.
func ReadFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// List returns the names in a directory.
func List(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// LeafTypes returns the types of all fields of a mapping by full name.
func LeafTypes(m map[string]any) map[string]string {
	out := map[string]string{}
	var walk func(prefix string, m map[string]any)
	walk = func(prefix string, m map[string]any) {
		props, _ := m["properties"].(map[string]any)
		for name, v := range props {
			f := v.(map[string]any)
			full := prefix + name
			typ, _ := f["type"].(string)
			if p, ok := f["properties"]; ok && len(p.(map[string]any)) > 0 || typ == "" ||
				typ == "object" && f["enabled"] == nil {
				walk(full+".", f)
				continue
			}
			switch {
			case typ == "flattened", f["enabled"] != nil && name != "histogram":
				full += ".*"
			}
			out[full] = typ
		}
	}
	walk("", m)
	return out
}

// FieldNames returns the full names of all values in a document; latency.histogram is one.
func FieldNames(doc []byte) (out []string) {
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if prefix == "latency.histogram" {
				out = append(out, prefix)
				return
			}
			for k, e := range v {
				walk(strings.TrimPrefix(prefix+"."+k, "."), e)
			}
		case []any:
			if len(v) == 0 || prefix == "" {
				out = append(out, prefix)
			}
			for _, e := range v {
				walk(prefix, e)
			}
		default:
			out = append(out, prefix)
		}
	}
	var m any
	if json.Unmarshal(doc, &m) == nil {
		walk("", m)
	}
	return out
}

// Geometry is the grid of fio 3.
var Geometry = fiohist.Geometry{Groups: 29, Unit: 1}

// At is 2026-08-31T23:59:58Z, so that a run of some seconds crosses into another month.
var At = time.Date(2026, 8, 31, 23, 59, 58, 0, time.UTC).UnixNano()

// Run returns a run of two hosts whose names need care.
func Run() *pipeline.Run {
	meta := &fiojson.Document{Version: "fio-3.36", Global: jobfile.Options{"bs": "4k", "a.b": "1", "a": "2"},
		Entries: []fiojson.Entry{{JobName: "job \"1\"", Host: "alpha", StartMS: 1788220798123, RuntimeMS: 4000,
			Options: jobfile.Options{"rw": "randread", "exec\x00pre": "<b>\x1b[2J", "long": strings.Repeat("x",
				9000)}}}}
	syncs := fiojson.Totals{N: 3, Min: 100, Max: 900, Mean: 400,
		Bins: fiojson.NewBins([]fiojson.Bin{{NS: 101, Count: 2}, {NS: 899, Count: 1}})}
	meta.Entries[0].Sync = syncs
	meta.Entries[0].Dirs[0].TotalIOs, meta.Entries[0].Dirs[0].Bytes = 100, 409600
	meta.Entries[0].Sections = []fiojson.Section{{Name: "s", Options: jobfile.Options{"bs": "4k"}}}
	meta.Entries[0].Unlike, meta.Entries[0].NoLog = 2, true
	meta.Entries[0].Dirs[0].Prios = []fiojson.Prio{{Class: 2, Level: 3, Totals: syncs}, {Totals: syncs}}
	log := func(host, job string) *pipeline.Log {
		return &pipeline.Log{
			Log: &ingest.Log{
				Source: &ingest.Source{Path: "/secret/place/" + job, Base: job, Size: 1234},
				Host:   host,
				Job:    job,
			},
			Hash:     "00ff",
			Geometry: Geometry,
			Interval: time.Second,
		}
	}
	return &pipeline.Run{
		ID:   "r/1",
		Name: "ünï\xffcode", Named: true,
		Labels:      map[string]string{"b.c": "2", "b": "1", "env": "te\"st"},
		Generation:  "g1",
		Start:       At,
		StartKnown:  true,
		StartHow:    "job_start",
		Interval:    1e9,
		Geometry:    Geometry,
		Percentiles: []float64{50, 99, 99.9},
		Settings: fio.Settings{
			Interval: time.Second,
			Grid:     "run",
			By:       []string{"direction", "host"},
			Offsets:  map[string]time.Duration{"alpha": time.Second},
		},
		Logs:  []*pipeline.Log{log("alpha", "job1"), log("beta", "job2")},
		Metas: []*fiojson.Document{meta},
	}
}

// Hist returns a histogram of n random weights, with fractions and a few tiny ones.
func Hist(r *rand.Rand, n int) *fiohist.Hist {
	h := new(fiohist.Hist)
	for range n {
		w := r.Float64() * 3
		switch r.IntN(6) {
		case 0:
			w = float64(r.IntN(1000))
		case 1:
			w *= 1e-12
		}
		h.Add(r.IntN(Geometry.Columns()), w)
	}
	return h
}

// Intervals returns n intervals for a run of Run: leaves by host and direction, rows of some scopes. The last one is
// empty.
func Intervals(run *pipeline.Run, n int) []*pipeline.Interval {
	r := rand.New(rand.NewPCG(1, 2))
	var out []*pipeline.Interval
	for i := range n {
		q := &pipeline.Interval{Offset: int64(i) * run.Interval}
		total := new(fiohist.Hist)
		for _, host := range []string{"alpha", "beta"} {
			for _, dir := range []string{"read", "write"} {
				h := new(fiohist.Hist)
				if i < n-1 {
					h = Hist(r, 40)
					q.Leaves = append(
						q.Leaves,
						pipeline.Leaf{
							Dims:    fio.Dims{Host: host, Direction: dir},
							Hist:    h,
							Logs:    1,
							Members: [][]int{{0}, {1}, {0, 1}, {0, 2, 3, 4, 9}}[r.IntN(4)],
							Limits:  fiohist.Limits{Min: 100, Max: 1 << 40, Known: host == "alpha"},
						},
					)
				}
				total.AddHist(h)
				q.Rows = append(
					q.Rows,
					pipeline.Row{
						Scope:     "host+direction",
						Dims:      fio.Dims{Host: host, Direction: dir},
						Stats:     h.Stats(run.Geometry, run.Percentiles, fiohist.Limits{}),
						Logs:      1,
						IOPS:      h.Sum(),
						IOPSKnown: true,
						Whole:     true,
						Covered:   5e8,
						TailPart:  tails[i%len(tails)],
					},
				)
			}
		}
		q.Rows = append(q.Rows, pipeline.Row{
			Scope:     "run",
			Dims:      fio.Dims{Direction: "all"},
			Stats:     total.Stats(run.Geometry, run.Percentiles, fiohist.Limits{}),
			Logs:      2,
			IOPS:      total.Sum(),
			IOPSKnown: i%2 == 0,
			Whole:     true,
		})
		out = append(out, q)
	}
	return out
}

var tails = []*fiohist.Part{
	{Share: 0.75, Expected: 0.5, Without: 1234.5},
	{Share: -1, Expected: 0.5, Without: 1234.5},
	{Share: 0.75, Expected: 1, Without: -1},
	nil,
}

// Summary returns what a pipeline would report for these intervals.
func Summary(run *pipeline.Run, intervals []*pipeline.Interval) *pipeline.Summary {
	s := &pipeline.Summary{
		Intervals: len(intervals),
		End:       int64(len(intervals)) * run.Interval,
		Account:   pipeline.Account{Logs: 2, Logged: 12.5},
	}
	if len(intervals) > 0 {
		s.Total = intervals[0].Rows
	}
	return s
}

// NoLeak fails the test if it leaves goroutines behind.
func NoLeak(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
		for runtime.NumGoroutine() > before {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<20)
				t.Fatalf(
					"%d goroutines before, %d after:\n%s",
					before,
					runtime.NumGoroutine(),
					buf[:runtime.Stack(buf, true)],
				)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// Contents returns all documents of a server by INDEX/ID.
func Contents(s *Server) map[string]string {
	out := map[string]string{}
	for _, d := range s.Docs("*") {
		out[d.Index+"/"+d.ID] = string(d.Source)
	}
	return out
}

// EqualContents fails the test if two results of Contents differ.
func EqualContents(t *testing.T, got, want map[string]string) {
	t.Helper()
	bad := 0
	for k, v := range want {
		if got[k] != v {
			bad++
			if bad < 4 {
				t.Errorf("%s is %.300s\nwant %.300s", k, got[k], v)
			}
		}
	}
	if len(got) != len(want) || bad > 0 {
		t.Errorf("%d documents, want %d; %d differ", len(got), len(want), bad)
	}
}

// DocumentsOf returns a server's documents of a run.
func DocumentsOf(s *Server, run string) (out []Doc) {
	for _, d := range s.Docs("*") {
		if strings.Contains(string(d.Source), fmt.Sprintf(`"id":%q`, run)) {
			out = append(out, d)
		}
	}
	return out
}
