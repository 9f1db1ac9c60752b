package delivery

import (
	"context"
	"testing"

	"fiolat/esmodel/client"
	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

// drive does what the pipeline does with a sink.
func drive(ctx context.Context, s *Sink, run *pipeline.Run, intervals []*pipeline.Interval) error {
	if err := s.Begin(ctx, run); err != nil {
		return err
	}
	for _, q := range intervals {
		if err := s.Interval(ctx, q); err != nil {
			return err
		}
	}
	return s.End(ctx, esmodeltest.Summary(run, intervals))
}

// ingestRun runs a whole ingest into a server.
func ingestRun(
	ctx context.Context,
	c *client.Client,
	cfg BulkConfig,
	run *pipeline.Run,
	intervals []*pipeline.Interval,
) (*Sink, error) {
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		return nil, err
	}
	s := NewSink(w, SinkOptions{Prefix: cfg.Prefix})
	return s, s.Close(ctx, drive(ctx, s, run, intervals))
}

var (
	testClient = clienttest.New
	standIn    = clienttest.StandIn
	list       = esmodeltest.List
	mustRead   = esmodeltest.ReadFile
)

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

// ingested has the run of esmodeltest.Run and nine intervals of it ingested.
func ingested(t *testing.T, c *client.Client) {
	t.Helper()
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 9)); err != nil {
		t.Fatal(err)
	}
}

// whole are all indices of the prefix of tests.
var whole = indices.Scope{Prefix: "fio"}
