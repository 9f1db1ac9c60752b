package plan_test

import (
	"context"
	"fmt"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// printer is a Sink that prints the percentiles of the whole run.
type printer struct{ pipeline.Discard }

func (printer) Interval(_ context.Context, q *pipeline.Interval) error {
	for _, row := range q.Rows {
		if row.Scope == "run" {
			fmt.Printf("%v: %.0f I/Os, p99 %v\n", time.Duration(q.Offset), row.Stats.Samples,
				time.Duration(row.Stats.Percentiles[0]).Round(time.Millisecond))
		}
	}
	return nil
}

// Percentiles over time of the runs below a folder.
func ExamplePlan_Process() {
	ctx := context.Background()
	inputs, err := ingest.Discover([]string{"../../testdata/fio/slow"}, ingest.DiscoverOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	settings := fio.Defaults()
	settings.Interval, settings.Percentiles = 10*time.Second, []float64{99}
	for _, in := range inputs {
		plan, err := plan.Prepare(ctx, in, plan.Config{Settings: settings})
		if err == nil {
			_, err = plan.Process(ctx, printer{})
			plan.Close()
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 0s: 138 I/Os, p99 1.51s
	// 10s: 140 I/Os, p99 1.51s
	// 20s: 19 I/Os, p99 2.9s
}
