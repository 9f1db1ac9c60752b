package render

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// NewHistogram returns a Renderer that prints the buckets of each row to out, as csv, ndjson, parquet, hgrm
// or hlog.
func NewHistogram(o Options, out *bufio.Writer) *Renderer {
	r := newRenderer(o, out)
	switch o.Format {
	case "ndjson":
		r.format = lines(r.bucketsJSON)
	case "parquet":
		r.format = &parquetRows{Renderer: r, buckets: true}
	case "hgrm":
		r.format = lines(func(_ *pipeline.Quantum, row *pipeline.Row) error { return r.hgrm(newHDR(r.run), row) })
	case "hlog":
		r.format = &hlog{Renderer: r, w: hdrhistogram.NewHistogramLogWriter(out), last: math.MinInt64}
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

func (r *csvBuckets) row(q *pipeline.Quantum, row *pipeline.Row) (err error) {
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
func (r *Renderer) bucketsJSON(q *pipeline.Quantum, row *pipeline.Row) error {
	b := r.appendRun(r.appendDims(r.buf[:0], q, row))
	b = number(append(b, `,"samples":`...), row.Stats.Samples)
	b = append(b, `,"buckets":[`...)
	between := ""
	eachBucket(r.run.Geometry, row.Hist, func(lower, upper, count float64) {
		b = number(append(b, between+`{"lower":`...), lower)
		if b = append(b, `,"upper":`...); math.IsNaN(upper) {
			b = append(b, "null"...)
		} else {
			b = number(b, upper)
		}
		b = append(number(append(b, `,"count":`...), count), '}')
		between = ","
	})
	r.buf = append(b, "]}\n"...)
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

// hlog prints HdrHistogram's interval log, format version 1.3: a line for each row, with a tag unless it is that of
// the whole run. Its reader takes no line that is earlier than the one before.
type hlog struct {
	*Renderer
	w    *hdrhistogram.HistogramLogWriter
	h    *hdr
	last int64 // offset of the line before
}

func (r *hlog) begin() error {
	r.h = newHDR(r.run)
	start := "[times are those since the start of the run, which is unknown]"
	if r.run.StartKnown {
		at := time.Unix(0, r.run.Start).UTC()
		start = fmt.Sprintf("[StartTime: %.3f (seconds since epoch), %s]", float64(at.UnixMilli())/1000,
			at.Format(time.UnixDate))
	}
	for _, comment := range []string{
		fmt.Sprintf("[fiolat: run %s, %v latencies in ns, maxima in ms; each I/O is in the middle of fio's bucket]",
			fio.Printable(r.run.ID), r.run.Kind),
		"[Histogram log format version " + hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION + "]", start,
	} {
		if err := r.w.OutputComment(comment); err != nil {
			return err
		}
	}
	return r.w.OutputLegend()
}

func (r *hlog) row(q *pipeline.Quantum, row *pipeline.Row) error {
	if q.Offset < r.last {
		return nil // late and empty
	}
	r.last = q.Offset
	if err := r.h.read(row); err != nil {
		return err
	}
	r.h.SetTag(tag(r.run.Settings.By, &row.Dims))
	start := q.Offset
	if r.run.StartKnown {
		start += r.run.Start
	}
	r.h.SetStartTimeMs(time.Duration(start).Milliseconds())
	r.h.SetEndTimeMs(time.Duration(start + r.run.Interval).Milliseconds())
	return r.w.OutputIntervalHistogram(r.h.Histogram)
}

func (r *hlog) end(*pipeline.Summary) error { return nil }

// tag names the I/Os of a row, such as host=h1;direction=read; "" for all of the run. What the log format does not
// allow in a tag is escaped as in a URL.
func tag(by []string, d *fio.Dims) string {
	var words []string
	for _, dim := range by {
		if v := d.Of(dim); v != "" && v != fio.All {
			words = append(words, dim+"="+url.PathEscape(v))
		}
	}
	return strings.Join(words, ";")
}

// hgrm prints a row as HdrHistogram's outputPercentileDistribution does, with 5 steps for each half of the distance to
// 100 %. PercentilesPrint of the library is not so exact.
func (r *Renderer) hgrm(h *hdr, row *pipeline.Row) error {
	if err := h.read(row); err != nil {
		return err
	}
	scale := fio.Divisors[r.Unit]
	fmt.Fprintf(r.out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	for _, b := range h.CumulativeDistributionWithTicks(5) {
		share := b.Quantile / 100
		fmt.Fprintf(r.out, "%12.3f %2.12f %10d", float64(b.ValueAt)/scale, share, b.Count)
		if share < 1 {
			fmt.Fprintf(r.out, " %14.2f", 1/(1-share))
		}
		r.out.WriteByte('\n') //nolint:errcheck // bufio keeps it
	}
	buckets, subBuckets := h.shape()
	_, err := fmt.Fprintf(r.out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"+
		"#[Max     = %12.3f, Total count    = %12d]\n#[Buckets = %12d, SubBuckets     = %12d]\n",
		h.Mean()/scale, h.StdDev()/scale, float64(h.Max())/scale, h.TotalCount(), buckets, subBuckets)
	return err
}

// hdrDigits is the precision of the histograms in significant digits: the middles of fio's buckets, which are 0.8 to
// 1.6 % wide, stay apart.
const hdrDigits = 3

// hdr turns histograms of a run into HdrHistogram's, one at a time.
type hdr struct {
	*hdrhistogram.Histogram
	geometry fiohist.Geometry
	rounder  fiohist.Rounder
	rests    map[fio.Dims]*fiohist.Remainder
	index    []uint16
	weight   []float64
}

func newHDR(run *pipeline.Run) *hdr {
	g := run.Geometry
	return &hdr{Histogram: hdrhistogram.New(1, g.Upper(g.Last()), hdrDigits), geometry: g,
		rests: map[fio.Dims]*fiohist.Remainder{}}
}

// read sets the histogram to that of a row: whole counts that add up over the rows of a scope (see fiohist.Rounder),
// each at the middle of its bucket, or at the lower edge of the last one, which has no upper.
func (h *hdr) read(row *pipeline.Row) error {
	h.Reset()
	h.index, h.weight = h.index[:0], h.weight[:0]
	if row.Hist != nil {
		h.index, h.weight = row.Hist.Sparse(h.index, h.weight)
	}
	rest := h.rests[row.Dims]
	if rest == nil {
		rest = new(fiohist.Remainder)
		h.rests[row.Dims] = rest
	}
	h.rounder.Round(h.index, h.weight, rest, nil)
	for i, bucket := range h.rounder.Index {
		value := int64(h.geometry.Middle(int(bucket)))
		if int(bucket) == h.geometry.Last() {
			value = h.geometry.Lower(int(bucket))
		}
		if err := h.RecordValues(value, h.rounder.Counts[i]); err != nil {
			return err
		}
	}
	return nil
}

// shape returns the numbers of buckets, as HdrHistogram counts them, and of steps in each.
func (h *hdr) shape() (buckets, subBuckets int64) {
	subBuckets = 2048 // for hdrDigits
	for top := subBuckets; ; top *= 2 {
		if buckets++; top > h.HighestTrackableValue() {
			return buckets, subBuckets
		}
	}
}
