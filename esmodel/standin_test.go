package esmodel_test

import (
	"testing"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
)

func TestStandInTakesAllDocuments(t *testing.T) {
	run := esmodeltest.Run()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	if _, err := ingestRun(
		t.Context(),
		c,
		delivery.BulkConfig{Prefix: "fio"},
		run,
		esmodeltest.Intervals(run, 20),
	); err != nil {
		t.Fatal(err)
	}
}
