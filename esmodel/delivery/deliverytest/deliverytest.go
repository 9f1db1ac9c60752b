// Package deliverytest ingests runs for the tests of the packages that use delivery.
package deliverytest

import (
	"context"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/pipeline"
)

// Ingest runs a whole ingest into a server.
func Ingest(ctx context.Context, c *client.Client, cfg delivery.BulkConfig, run *pipeline.Run,
	intervals []*pipeline.Interval) (*delivery.Sink, error) {
	w, err := delivery.NewBulkWriter(c, cfg)
	if err != nil {
		return nil, err
	}
	return Into(ctx, w, delivery.SinkOptions{Prefix: cfg.Prefix}, run, intervals)
}

// Into runs a whole ingest into a writer.
func Into(ctx context.Context, w delivery.Writer, o delivery.SinkOptions, run *pipeline.Run,
	intervals []*pipeline.Interval) (*delivery.Sink, error) {
	s := delivery.NewSink(w, o)
	err := s.Begin(ctx, run)
	for _, q := range intervals {
		if err == nil {
			err = s.Interval(ctx, q)
		}
	}
	if err == nil {
		err = s.End(ctx, esmodeltest.Summary(run, intervals))
	}
	return s, s.Close(ctx, err)
}
