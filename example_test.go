package fiolat_test

import (
	"context"
	"fmt"
	"time"

	"fiolat"
	"fiolat/fio"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// printer is a sink that prints p99 of all I/Os in each interval.
type printer struct{ pipeline.Discard }

func (printer) Interval(_ context.Context, q *pipeline.Interval) error {
	for _, row := range q.Rows {
		if row.Scope == fio.RunScope {
			fmt.Println(time.Duration(q.Offset), time.Duration(row.Stats.Percentiles[0]))
		}
	}
	return nil
}

// p99 over time of the run in a folder.
func ExamplePipeline() {
	config := plan.Config{Settings: fio.Defaults()}
	config.Settings.Percentiles = []float64{99}
	if err := fiolat.Pipeline(context.Background(), config, printer{}, "testdata/fio/cluster"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0s 123.781µs
	// 1s 189.373µs
	// 2s 186.114µs
	// 3s 162.868µs
	// 4s 112.002µs
	// 5s 122.726µs
	// 6s 137.579µs
	// 7s 172.143µs
	// 8s 147.512µs
	// 9s 163.951µs
	// 10s 167.125µs
}
