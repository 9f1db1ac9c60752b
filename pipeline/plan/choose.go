package plan

import (
	"context"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// chooseInterval reads the logs once to choose the interval.
func chooseInterval(ctx context.Context, in *ingest.Input, config Config) (*pipeline.Choice, error) {
	c, err := intervals.NewChooser(&config.Settings, config.Accuracy)
	if err != nil {
		return nil, err
	}
	for _, l := range in.Logs {
		if l.Once() {
			return nil, fio.Usagef("--interval auto reads the logs twice, and %s can be read only once: save it to a "+
				"file, or name an interval", fio.Printable(l.Path))
		}
	}
	config.Accuracy, config.Warn = 0, nil
	s := &config.Settings
	s.Interval, s.By, s.Percentiles, s.SLA = time.Second, nil, []float64{c.Percentile}, nil
	plan, err := Prepare(ctx, in, config)
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	for _, l := range plan.logs {
		c.Shortest = max(c.Shortest, l.Interval)
	}
	if _, err = plan.Process(ctx, c); err != nil {
		return nil, err
	}
	return c.Choose(), nil
}
