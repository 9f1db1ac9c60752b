package pipeline

import "context"

// collect is a Sink that keeps everything.
type collect struct {
	run     *Run
	rows    []Row
	offsets []int64
	leaves  []Leaf
	changes []Change
	sum     *Summary
}

func (c *collect) Begin(_ context.Context, run *Run) error { c.run = run; return nil }
func (c *collect) Quantum(_ context.Context, q *Quantum) error {
	for _, r := range q.Rows {
		c.rows = append(c.rows, r)
		c.offsets = append(c.offsets, q.Offset)
	}
	c.leaves = append(c.leaves, q.Leaves...)
	c.changes = append(c.changes, q.Changes...)
	return nil
}
func (c *collect) End(_ context.Context, s *Summary) error { c.sum = s; return nil }

// settings are the defaults, by direction.
func settings() Settings {
	return Settings{Grid: "run", Align: "overlap", RecordTime: "end", By: []string{"direction"},
		Percentiles: []float64{50, 90, 95, 99, 99.9}, Coarseness: -1, Repair: "auto", Restore: true}
}
