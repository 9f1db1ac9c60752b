package delivery

import (
	"context"
	"os"
	"testing"
	"time"

	"fiolat/esmodel/client"

	"fiolat/esmodel/esmodeltest"
	"fiolat/pipeline"
)

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
	return s.End(ctx, esmodeltest.Summary(run, quanta))
}

// ingestRun runs a whole ingest into a server.
func ingestRun(
	ctx context.Context,
	c *client.Client,
	cfg BulkConfig,
	run *pipeline.Run,
	quanta []*pipeline.Quantum,
) (*Sink, error) {
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		return nil, err
	}
	s := NewSink(w, SinkOptions{Prefix: cfg.Prefix})
	return s, s.Close(ctx, drive(ctx, s, run, quanta))
}

func testClient(tb testing.TB, cfg client.Config) *client.Client {
	tb.Helper()
	cfg.Pause = 10 * time.Millisecond
	c, err := client.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// standIn is a full cluster and a client for it that is patient for two seconds.
func standIn(tb testing.TB) (*esmodeltest.Server, *client.Client) {
	s := esmodeltest.New(tb, esmodeltest.Options{Histogram: true, Lifecycle: true})
	return s, testClient(tb, client.Config{Addresses: []string{s.URL}, MaxWait: 2 * time.Second})
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
