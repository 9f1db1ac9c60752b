package esmodel_test

import (
	"context"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/pipeline"
)

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

// ingestRun runs a whole ingest into a server.
func ingestRun(
	ctx context.Context,
	c *client.Client,
	cfg delivery.BulkConfig,
	run *pipeline.Run,
	quanta []*pipeline.Quantum,
) (*delivery.Sink, error) {
	w, err := delivery.NewBulkWriter(c, cfg)
	if err != nil {
		return nil, err
	}
	s := delivery.NewSink(w, delivery.SinkOptions{Prefix: cfg.Prefix})
	err = s.Begin(ctx, run)
	for _, q := range quanta {
		if err == nil {
			err = s.Quantum(ctx, q)
		}
	}
	if err == nil {
		err = s.End(ctx, esmodeltest.Summary(run, quanta))
	}
	return s, s.Close(ctx, err)
}
