package esmodel

import (
	"context"
	"fmt"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// spacePoint is a measurement: index bytes of each document of a run, without replicas, after segments were merged.
type spacePoint struct {
	Coarseness, Columns int
	Interval            string
	Buckets             int // not empty, in a histogram document
	Histogram           float64
	Percentiles         float64
}

// spacePoints are the results of BenchmarkScale, on a server without the histogram field type.
var spacePoints = []spacePoint{
	{0, 1856, "1 s", 240, 1272, 216},
	{0, 1856, "10 s", 329, 1627, 216},
	{3, 232, "1 s", 46, 435, 180},
	{6, 29, "1 s", 8, 263, 167},
}

// Bytes that documents take.
const (
	documentBytes    = 230 // a histogram without its buckets
	bucketBytes      = 4.4
	fieldBucketBytes = 15 // a bucket in the doc values of latency.histogram
	percentilesBytes = 200
)

// The rollup that the estimate compares with.
const (
	rollUpInterval   = time.Minute
	rollUpCoarseness = 3
)

// Space is a pipeline.Sink that estimates, before anything is sent, the space that a run's histograms and percentiles
// take in Elasticsearch, and what remains of it after a rollup. The constants come from the measurements in
// docs/scale.md.
type Space struct {
	pipeline.Discard
	run *pipeline.Run
	// Bytes is the space of the run, RolledUp that after a rollup.
	Bytes, RolledUp float64

	interval int64 // after a rollup
	shift    int
	at       int64 // number of the rolled-up interval of leaves and rows
	leaves   map[fio.Dims]*fiohist.Hist
	rows     map[spaceRow]bool
}

type spaceRow struct {
	scope string
	dims  fio.Dims
}

// Begin prepares for a run.
func (s *Space) Begin(_ context.Context, run *pipeline.Run) error {
	s.run = run
	s.interval = max(run.Interval, int64(rollUpInterval))
	s.shift = max(0, rollUpCoarseness-run.Geometry.Coarseness)
	s.leaves, s.rows = map[fio.Dims]*fiohist.Hist{}, map[spaceRow]bool{}
	return nil
}

// Interval adds the documents of an interval.
func (s *Space) Interval(_ context.Context, q *pipeline.Interval) error {
	if at := q.Offset / s.interval; at != s.at {
		s.flush()
		s.at = at
	}
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if !HasDocument(leaf.Hist) {
			continue
		}
		s.Bytes += histBytes(leaf.Hist)
		long := s.leaves[leaf.Dims]
		if long == nil {
			long = new(fiohist.Hist)
			s.leaves[leaf.Dims] = long
		}
		leaf.Hist.Each(func(i int, w float64) { long.Add(i>>s.shift, w) })
	}
	for i := range q.Rows {
		r := &q.Rows[i]
		if s.run.Part != "" && r.Dims.Host == "" {
			continue // stored by the merge
		}
		s.Bytes += percentilesBytes
		s.rows[spaceRow{r.Scope, r.Dims}] = true
	}
	return nil
}

// End adds the last rolled-up interval.
func (s *Space) End(context.Context, *pipeline.Summary) error {
	s.flush()
	return nil
}

// flush adds the documents of the rolled-up interval that is complete to RolledUp.
func (s *Space) flush() {
	for _, h := range s.leaves {
		s.RolledUp += histBytes(h)
	}
	s.RolledUp += percentilesBytes * float64(len(s.rows))
	clear(s.leaves)
	clear(s.rows)
}

func histBytes(h *fiohist.Hist) float64 {
	bytes := float64(documentBytes)
	h.Each(func(int, float64) { bytes += bucketBytes + fieldBucketBytes })
	return bytes
}

// String returns a one-line summary for users.
func (s *Space) String() string {
	text := "histograms and percentiles would take about " + megabytes(s.Bytes) + " in Elasticsearch"
	if s.interval%s.run.Interval == 0 && (s.interval > s.run.Interval || s.shift > 0) {
		text += fmt.Sprintf(", %s rolled up to %v at coarseness %d", megabytes(s.RolledUp), time.Duration(s.interval),
			s.run.Geometry.Coarseness+s.shift)
	}
	return text
}

// megabytes rounds to two digits, which is as precise as the estimate.
func megabytes(bytes float64) string {
	return fio.Digits(bytes/1e6, 2) + " MB"
}
