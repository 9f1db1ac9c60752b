package stored

import (
	"errors"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
)

// A rollup that would finish an interrupted one leaves the run alone if an ingest has begun to write it since.
func TestFinishRollUpBesideIngest(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 40)); err != nil {
		t.Fatal(err)
	}
	before := len(esmodeltest.DocumentsOf(s, run.ID))
	read := &esmodel.StoredRun{Status: esmodel.StatusRunning, Rolling: esmodel.RollUpCounted}
	read.Run = run
	again := esmodeltest.Run()
	again.Generation = "another"
	w, err := delivery.NewBulkWriter(c, delivery.BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	sink := delivery.NewSink(w, delivery.SinkOptions{})
	if err = sink.Begin(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	err = FinishRollUp(t.Context(), c, "fio", read)
	if left := len(esmodeltest.DocumentsOf(s, run.ID)); !errors.As(err, new(*fio.ParseError)) || left != before {
		t.Errorf("%v; %d of %d documents are left", err, left, before)
	}
	intervals := esmodeltest.Intervals(again, 40)
	for _, q := range intervals {
		if err = sink.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err = sink.Close(t.Context(), sink.End(t.Context(), esmodeltest.Summary(again, intervals))); err != nil {
		t.Errorf("the ingest does not end well: %v", err)
	}
}
