package render

import (
	"bufio"
	"encoding/csv"
	"math"

	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// NewHistogram returns a Renderer that prints the buckets of each row to out, as csv, ndjson or parquet.
func NewHistogram(o Options, out *bufio.Writer) *Renderer {
	r := newRenderer(o, out)
	switch o.Format {
	case "ndjson":
		r.format = lines(r.bucketsJSON)
	case "parquet":
		r.format = &parquetRows{Renderer: r, buckets: true}
	default:
		r.format = &csvBuckets{Renderer: r, w: csv.NewWriter(out)}
	}
	return r
}

// csvBuckets prints a line for each bucket that is not empty.
type csvBuckets struct {
	*Renderer
	w *csv.Writer
}

func (r *csvBuckets) begin() error {
	if r.nth > 1 {
		return nil
	}
	return r.w.Write([]string{"offset_ms", "timestamp", "scope", "direction", "host", "job", "log", "kind",
		"lower_" + r.Unit, "upper_" + r.Unit, "count", "run", "run_name", "interval_ms"})
}

func (r *csvBuckets) row(q *pipeline.Interval, row *pipeline.Row) (err error) {
	head := r.dims(q, row)
	eachBucket(r.run.Geometry, row.Hist, func(lower, upper, count float64) {
		if err == nil {
			err = r.w.Write(append(append(head[:len(head):len(head)], nanoseconds(Cell{Number: lower}, r.Unit),
				nanoseconds(Cell{Number: upper}, r.Unit), string(number(nil, count))), r.runCells()...))
		}
	})
	return err
}

func (r *csvBuckets) end(*pipeline.Summary) error {
	r.w.Flush()
	return r.w.Error()
}

// bucketsJSON prints a row as a line with all its buckets.
func (r *Renderer) bucketsJSON(q *pipeline.Interval, row *pipeline.Row) error {
	b := figure(r.withRun(r.withDims(r.buf[:0], q, row)), "samples", row.Stats.Samples, true).Array("buckets")
	eachBucket(r.run.Geometry, row.Hist, func(lower, upper, count float64) {
		b = figure(figure(b.Begin(), "lower", lower, true), "upper", upper, !math.IsNaN(upper))
		b = figure(b, "count", count, true).End()
	})
	r.buf = append(b.EndArray().End(), '\n')
	_, err := r.out.Write(r.buf)
	return err
}

// eachBucket calls f with the edges in ns and the count of each bucket that is not empty. The last one of the geometry
// has no upper edge: NaN.
func eachBucket(g fiohist.Geometry, h *fiohist.Hist, f func(lower, upper, count float64)) {
	if h == nil {
		return
	}
	h.Each(func(i int, count float64) {
		upper := float64(g.Upper(i))
		if i == g.Last() {
			upper = math.NaN()
		}
		f(float64(g.Lower(i)), upper, count)
	})
}
