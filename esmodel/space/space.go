// Package space estimates, before anything is sent, what a run's histograms and percentiles take in Elasticsearch, and
// what is left of that after a rollup. The constants come from the measured points of docs/scale.md.
package space

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"fiolat/internal/fiohist"
	"fiolat/internal/units"
	"fiolat/pipeline"
)

// Point is a measured one: bytes in the index of the documents of a run, without replicas, after segments were merged.
type Point struct {
	Coarseness, Columns int
	Interval            string
	Buckets             int // filled, of a histogram document
	Histogram           float64
	Percentiles         float64
}

// Points are those of BenchmarkScale, on a server without the field type histogram.
var Points = []Point{
	{0, 1856, "1 s", 240, 3590, 328},
	{0, 1856, "10 s", 329, 4750, 326},
	{3, 232, "1 s", 46, 1000, 287},
	{6, 29, "1 s", 8, 360, 268},
}

// What documents take, in bytes.
const (
	document    = 250 // a histogram without its buckets
	share       = 14  // a bucket whose weight is no whole number, as between two quanta that share a record
	whole       = 6   // one whose weight is
	field       = 9   // in the field histogram, a bucket of half an I/O or more
	percentiles = 300
)

// The rollup that is compared with.
const (
	rollUpInterval   = time.Minute
	rollUpCoarseness = 3
)

// Sink is a pipeline.Sink that adds up what a run takes.
type Sink struct {
	pipeline.Discard
	run *pipeline.Run
	// Bytes are those of the run, RolledUp those after a rollup.
	Bytes, RolledUp float64

	interval int64 // after a rollup
	shift    int
	at       int64 // the long quantum that leaves and rows are of
	leaves   map[pipeline.Dims]*fiohist.Hist
	rows     map[row]bool
}

type row struct {
	scope string
	dims  pipeline.Dims
}

// Begin takes the run.
func (s *Sink) Begin(_ context.Context, run *pipeline.Run) error {
	s.run = run
	s.interval = max(run.Interval, int64(rollUpInterval))
	s.shift = max(0, rollUpCoarseness-run.Geometry.Coarseness)
	s.leaves, s.rows = map[pipeline.Dims]*fiohist.Hist{}, map[row]bool{}
	return nil
}

// Quantum adds its documents.
func (s *Sink) Quantum(_ context.Context, q *pipeline.Quantum) error {
	if at := q.Offset / s.interval; at != s.at {
		s.flush()
		s.at = at
	}
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if leaf.Samples == 0 {
			continue
		}
		s.Bytes += ofHist(leaf.Hist)
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
			continue // for whoever merges
		}
		s.Bytes += percentiles
		s.rows[row{r.Scope, r.Dims}] = true
	}
	return nil
}

// End adds the last long quantum.
func (s *Sink) End(context.Context, *pipeline.Summary) error {
	s.flush()
	return nil
}

func (s *Sink) flush() {
	for _, h := range s.leaves {
		s.RolledUp += ofHist(h)
	}
	s.RolledUp += percentiles * float64(len(s.rows))
	clear(s.leaves)
	clear(s.rows)
}

// ofHist are the bytes of a document.
func ofHist(h *fiohist.Hist) float64 {
	bytes := float64(document)
	h.Each(func(_ int, w float64) {
		if w == math.Trunc(w) {
			bytes += whole
		} else {
			bytes += share
		}
		if w >= 0.5 {
			bytes += field
		}
	})
	return bytes
}

// String is one line for users.
func (s *Sink) String() string {
	text := "histograms and percentiles would take about " + megabytes(s.Bytes) + " in Elasticsearch"
	if s.interval%s.run.Interval == 0 && (s.interval > s.run.Interval || s.shift > 0) {
		text += fmt.Sprintf(", %s rolled up to %v at coarseness %d", megabytes(s.RolledUp), time.Duration(s.interval),
			s.run.Geometry.Coarseness+s.shift)
	}
	return text
}

// megabytes has two digits: more are not known.
func megabytes(bytes float64) string {
	return strconv.FormatFloat(units.Round(bytes/1e6, 2), 'f', -1, 64) + " MB"
}
