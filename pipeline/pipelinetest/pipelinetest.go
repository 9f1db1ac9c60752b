// Package pipelinetest holds what the tests of the packages below pipeline share.
package pipelinetest

import (
	"context"
	"io"

	"fiolat/ingest/source"
	"fiolat/pipeline"
)

// Unpacked returns the content of a file, decompressed if need be.
func Unpacked(path string) ([]byte, error) {
	f, err := source.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Collect is a Sink that keeps everything.
type Collect struct {
	Run     *pipeline.Run
	Rows    []pipeline.Row
	Offsets []int64
	Leaves  []pipeline.Leaf
	Changes []pipeline.Change
	Sum     *pipeline.Summary
}

// Begin keeps the run.
func (c *Collect) Begin(_ context.Context, run *pipeline.Run) error { c.Run = run; return nil }

// Interval keeps its rows without histograms, its leaves and changes.
func (c *Collect) Interval(_ context.Context, q *pipeline.Interval) error {
	for _, r := range q.Rows {
		r.Hist = nil // the next interval reuses it
		c.Rows = append(c.Rows, r)
		c.Offsets = append(c.Offsets, q.Offset)
	}
	c.Leaves = append(c.Leaves, q.Leaves...)
	c.Changes = append(c.Changes, q.Changes...)
	return nil
}

// Late keeps the rows.
func (c *Collect) Late(ctx context.Context, q *pipeline.Interval) error { return c.Interval(ctx, q) }

// Early keeps the changes.
func (c *Collect) Early(ctx context.Context, q *pipeline.Interval) error { return c.Interval(ctx, q) }

// End keeps the summary.
func (c *Collect) End(_ context.Context, s *pipeline.Summary) error { c.Sum = s; return nil }
