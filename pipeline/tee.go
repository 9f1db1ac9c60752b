package pipeline

import "context"

// Tee passes a run to several sinks.
type Tee []Sink

// Begin passes on what a run is.
func (t Tee) Begin(ctx context.Context, run *Run) error {
	return t.each(func(s Sink) error { return s.Begin(ctx, run) })
}

// Interval passes on an interval.
func (t Tee) Interval(ctx context.Context, q *Interval) error {
	return t.each(func(s Sink) error { return s.Interval(ctx, q) })
}

// Late passes on late rows.
func (t Tee) Late(ctx context.Context, q *Interval) error {
	return t.each(func(s Sink) error { return s.Late(ctx, q) })
}

// Early passes on early changes.
func (t Tee) Early(ctx context.Context, q *Interval) error {
	return t.each(func(s Sink) error { return s.Early(ctx, q) })
}

// End passes on the summary.
func (t Tee) End(ctx context.Context, sum *Summary) error {
	return t.each(func(s Sink) error { return s.End(ctx, sum) })
}

func (t Tee) each(f func(Sink) error) error {
	for _, s := range t {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}
