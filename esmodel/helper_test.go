package esmodel

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
)

var fio3 = fiohist.Geometry{Groups: 29, Unit: 1}

// at is 2026-08-31T23:59:58Z: a run of some seconds crosses into another month.
var at = time.Date(2026, 8, 31, 23, 59, 58, 0, time.UTC).UnixNano()

// testRun is a run of two hosts whose names need care.
func testRun() *pipeline.Run {
	meta := &fiojson.Document{Version: "fio-3.36", Global: jobfile.Options{"bs": "4k", "a.b": "1", "a": "2"},
		Entries: []fiojson.Entry{{JobName: "job \"1\"", Host: "alpha", StartMS: 1788220798123, RuntimeMS: 4000,
			Options: jobfile.Options{"rw": "randread", "exec\x00pre": "<b>\x1b[2J", "long": strings.Repeat("x",
				9000)}}}}
	log := func(host, job string) *pipeline.Log {
		return &pipeline.Log{Log: &ingest.Log{Source: &ingest.Source{Path: "/secret/place/" + job, Base: job, Size: 1234}, Host: host, Job: job},
			Hash: "00ff", Geometry: fio3, Interval: time.Second}
	}
	return &pipeline.Run{
		ID: "r/1", Name: "ünï\xffcode", Labels: map[string]string{"b.c": "2", "b": "1", "env": "te\"st"}, Generation: "g1",
		Start: at, StartKnown: true, StartHow: "job_start", Interval: 1e9, Geometry: fio3,
		Percentiles: []float64{50, 99, 99.9},
		Settings:    pipeline.Settings{Interval: time.Second, Grid: "run", By: []string{"direction", "host"}, Offsets: map[string]time.Duration{"alpha": time.Second}},
		Logs:        []*pipeline.Log{log("alpha", "job1"), log("beta", "job2")},
		Metas:       []*fiojson.Document{meta},
	}
}

// testHist is a histogram of n buckets with fractions, now and then dust.
func testHist(r *rand.Rand, n int) *fiohist.Hist {
	h := new(fiohist.Hist)
	for range n {
		w := r.Float64() * 3
		switch r.IntN(6) {
		case 0:
			w = float64(r.IntN(1000))
		case 1:
			w *= 1e-12
		}
		h.Add(r.IntN(fio3.Columns()), w)
	}
	return h
}

// testQuanta are the quanta of testRun: leaves by host and direction, rows of all
// scopes; the last quantum is empty.
func testQuanta(run *pipeline.Run, n int) []*pipeline.Quantum {
	r := rand.New(rand.NewPCG(1, 2))
	var out []*pipeline.Quantum
	for i := range n {
		q := &pipeline.Quantum{Offset: int64(i) * run.Interval}
		total := new(fiohist.Hist)
		for _, host := range []string{"alpha", "beta"} {
			for _, dir := range []string{"read", "write"} {
				h := new(fiohist.Hist)
				if i < n-1 {
					h = testHist(r, 40)
					q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: pipeline.Dims{Host: host, Direction: dir}, Hist: h, Samples: h.Sum(), Logs: 1, Members: [][]int{{0}, {1}, {0, 1}, {0, 2, 3, 4, 9}}[r.IntN(4)],
						Limits: fiohist.Limits{Min: 100, Max: 1 << 40, Known: host == "alpha"}})
				}
				total.AddHist(h)
				q.Rows = append(q.Rows, pipeline.Row{Scope: "host+direction", Dims: pipeline.Dims{Host: host, Direction: dir},
					Stats: h.Stats(run.Geometry, run.Percentiles, fiohist.Limits{}), Logs: 1, IOPS: h.Sum(), IOPSKnown: true})
			}
		}
		q.Rows = append(q.Rows, pipeline.Row{Scope: "run", Dims: pipeline.Dims{Direction: "all"},
			Stats: total.Stats(run.Geometry, run.Percentiles, fiohist.Limits{}), Logs: 2, IOPS: total.Sum(), IOPSKnown: i%2 == 0})
		out = append(out, q)
	}
	return out
}

func testSummary(run *pipeline.Run, quanta []*pipeline.Quantum) *pipeline.Summary {
	s := &pipeline.Summary{Quanta: len(quanta), End: int64(len(quanta)) * run.Interval, Account: pipeline.Account{Logs: 2, Logged: 12.5}}
	if len(quanta) > 0 {
		s.Total = quanta[0].Rows
	}
	return s
}

// drive does what the pipeline does with a sink.
func drive(ctx context.Context, s *Sink, run *pipeline.Run, quanta []*pipeline.Quantum) error {
	if err := s.Begin(ctx, run); err != nil {
		return err
	}
	for _, q := range quanta {
		if err := s.Quantum(ctx, q); err != nil {
			return err
		}
	}
	return s.End(ctx, testSummary(run, quanta))
}

// ingestRun runs a whole ingest into a server.
func ingestRun(ctx context.Context, c *Client, cfg BulkConfig, run *pipeline.Run, quanta []*pipeline.Quantum) (*Sink, error) {
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		return nil, err
	}
	s := NewSink(w, SinkOptions{Prefix: cfg.Prefix})
	return s, s.Close(ctx, drive(ctx, s, run, quanta))
}

func testClient(tb testing.TB, cfg Config) *Client {
	tb.Helper()
	cfg.Pause = 10 * time.Millisecond
	c, err := NewClient(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// standIn is a full cluster and a client for it that is patient for two seconds.
func standIn(tb testing.TB) (*esmodeltest.Server, *Client) {
	s := esmodeltest.New(tb, esmodeltest.Options{Histogram: true, Lifecycle: true})
	return s, testClient(tb, Config{Addresses: []string{s.URL}, MaxWait: 2 * time.Second})
}

// noLeak fails the test if it leaves goroutines behind.
func noLeak(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
		for runtime.NumGoroutine() > before {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<20)
				t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// contents are all documents of a server by index and id.
func contents(s *esmodeltest.Server) map[string]string {
	out := map[string]string{}
	for _, d := range s.Docs("*") {
		out[d.Index+"/"+d.ID] = string(d.Source)
	}
	return out
}

func equalContents(t *testing.T, got, want map[string]string) {
	t.Helper()
	bad := 0
	for k, v := range want {
		if got[k] != v {
			if bad++; bad < 4 {
				t.Errorf("%s is %.300s\nwant %.300s", k, got[k], v)
			}
		}
	}
	if len(got) != len(want) || bad > 0 {
		t.Errorf("%d documents, want %d; %d differ", len(got), len(want), bad)
	}
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantCounts(t *testing.T, r Report, want Counts) {
	t.Helper()
	got := r.Total()
	got.Bytes = 0
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if got.Made != got.Indexed+got.Written+got.Refused+got.Spooled+got.Lost {
		t.Errorf("counts do not add up: %+v", got)
	}
}

// free is the holder of who needs no claim.
func free(context.Context) error { return nil }
