package render

import (
	"math"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/pipeline"
)

// parquetRows prints the columns of CSV: of buckets, or of percentiles with at_least, the percentiles that are lower
// bounds. Numbers of I/Os are exact, latencies rounded to the nanosecond.
type parquetRows struct {
	*Renderer
	f       parquetFile
	buckets bool
	rules   bool // the first kind has SLA rules
}

func (r *parquetRows) latency(c Cell) any { return math.Round(c.Number) / fio.Divisors[r.Unit] }

func (r *parquetRows) begin() error {
	if r.nth > 1 {
		return nil
	}
	r.f.Column("offset_ms", parquetDouble)
	r.f.Column("timestamp", parquetTime)
	for _, name := range []string{"scope", "direction", "host", "job", "log", "kind"} {
		r.f.Column(name, parquetString)
	}
	if r.buckets {
		r.f.Column("lower_"+r.Unit, parquetDouble)
		r.f.Column("upper_"+r.Unit, parquetDouble)
		r.f.Column("count", parquetDouble)
	} else {
		r.f.Column("samples", parquetDouble)
		r.f.Column("logs", parquetLong)
		for _, name := range append([]string{"iops", "concurrency"}, r.names()...) {
			if !slices.Contains([]string{"iops", "concurrency"}, name) {
				name += "_" + r.Unit
			}
			r.f.Column(name, parquetDouble)
		}
		r.f.Column("at_least", parquetString)
		r.rules = len(r.run.Settings.SLA) > 0
		if r.rules {
			r.f.Column("sla", parquetString)
		}
		r.f.Column("partial", parquetBool)
	}
	r.f.Column("run", parquetString)
	r.f.Column("run_name", parquetString)
	r.f.Column("interval_ms", parquetDouble)
	r.f.Begin(r.out)
	return nil
}

func (r *parquetRows) write(q *pipeline.Interval, row *pipeline.Row, cells ...any) error {
	var at any
	if r.run.StartKnown {
		at = (r.run.Start + q.Offset) / 1e6
	}
	d := &row.Dims
	r.f.Add(float64(q.Offset)/1e6, at, row.Scope, d.Direction, d.Host, d.Job, d.Log, r.run.Kind.String())
	r.f.Add(cells...)
	r.f.Add(r.run.ID, r.run.Name, float64(r.run.Interval)/1e6)
	return r.f.End()
}

func (r *parquetRows) row(q *pipeline.Interval, of *pipeline.Row) (err error) {
	if r.buckets {
		eachBucket(r.run.Geometry, of.Hist, func(lower, upper, count float64) {
			if err == nil {
				err = r.write(q, of, r.latency(Cell{Number: lower}), r.latency(Cell{Number: upper}), count)
			}
		})
		return err
	}
	cells := []any{of.Stats.Samples, int64(of.Logs), nil, nil}
	if of.IOPSKnown {
		cells[2] = of.IOPS
	}
	if n, known := of.Concurrency(); known {
		cells[3] = n
	}
	for _, c := range r.figures(of) {
		cells = append(cells, r.latency(c))
	}
	var atLeast []string
	for _, i := range of.Stats.AtLeast {
		atLeast = append(atLeast, "p"+fio.Percentile(r.run.Percentiles[i]))
	}
	cells = append(cells, strings.Join(atLeast, ","))
	if r.rules {
		cells = append(cells, verdict(of))
	}
	return r.write(q, of, append(cells, of.Partial(r.run.Interval))...)
}

func (r *parquetRows) end(*pipeline.Summary) error {
	if r.nth < r.Kinds {
		return nil
	}
	return r.f.Close()
}
