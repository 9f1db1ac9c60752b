package fiolat

import (
	"context"

	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// Pipeline passes the runs whose logs are in paths (files, folders or globs) to sink, one after the other.
// config.Settings begin as fio.Defaults. Input that cannot be read is a *fio.ParseError, no logs are a
// *fio.NoLogsError; a run of which there is only fio's JSON (json+) is one interval.
func Pipeline(ctx context.Context, config plan.Config, sink pipeline.Sink, paths ...string) error {
	inputs, err := ingest.Discover(paths, ingest.DiscoverOptions{Kind: config.Settings.Kind, Stdin: config.Stdin,
		SkipBad: config.Settings.SkipBad})
	if err != nil {
		return err
	}
	for _, in := range inputs {
		p, err := plan.Prepare(ctx, in, config)
		if err != nil {
			return err
		}
		_, err = p.Process(ctx, sink)
		p.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
