package command

import (
	"context"

	"fiolat/pipeline"
)

// Tee passes a run to several sinks.
type Tee []pipeline.Sink

// Begin passes on what a run is.
func (t Tee) Begin(ctx context.Context, run *pipeline.Run) error {
	for _, s := range t {
		if err := s.Begin(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// Quantum passes on a quantum.
func (t Tee) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	for _, s := range t {
		if err := s.Quantum(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// End passes on the summary.
func (t Tee) End(ctx context.Context, sum *pipeline.Summary) error {
	for _, s := range t {
		if err := s.End(ctx, sum); err != nil {
			return err
		}
	}
	return nil
}
