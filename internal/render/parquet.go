package render

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"fiolat/fio"
	"fiolat/pipeline"
)

// groupRows is the number of rows of a Parquet file that are kept in memory, and compressed together.
const groupRows = 64 << 10

// parquetFile writes rows of Parquet. Every column may be null.
type parquetFile struct {
	w       *parquet.GenericWriter[any]
	columns []reflect.StructField
	row     parquet.Row
	rows    int
}

// column appends a column with the type of a value, and perhaps a logical type.
func (f *parquetFile) column(name string, of any, logical ...string) {
	tag := strings.Join(append([]string{name, "optional"}, logical...), ",")
	f.columns = append(f.columns, reflect.StructField{Name: fmt.Sprintf("C%d", len(f.columns)),
		Type: reflect.TypeOf(of), Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))})
}

// add appends values to the row: nil, NaN and "" are null.
func (f *parquetFile) add(values ...any) {
	for _, v := range values {
		number, isNumber := v.(float64)
		null := v == nil || v == "" || isNumber && math.IsNaN(number)
		if null {
			f.row = append(f.row, parquet.NullValue().Level(0, 0, len(f.row)))
		} else {
			f.row = append(f.row, parquet.ValueOf(v).Level(0, 1, len(f.row)))
		}
	}
}

// end writes the row.
func (f *parquetFile) end() error {
	_, err := f.w.WriteRows([]parquet.Row{f.row})
	f.row = f.row[:0]
	if f.rows++; err == nil && f.rows%groupRows == 0 {
		err = f.w.Flush()
	}
	return err
}

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
	r.f.column("offset_ms", 0.)
	r.f.column("timestamp", int64(0), "timestamp(millisecond)")
	for _, name := range []string{"scope", "direction", "host", "job", "log", "kind"} {
		r.f.column(name, "", "dict")
	}
	if r.buckets {
		r.f.column("lower_"+r.Unit, 0.)
		r.f.column("upper_"+r.Unit, 0.)
		r.f.column("count", 0.)
	} else {
		r.f.column("samples", 0.)
		r.f.column("logs", int64(0))
		for _, name := range append([]string{"iops", "concurrency"}, r.names()...) {
			if !slices.Contains([]string{"iops", "concurrency"}, name) {
				name += "_" + r.Unit
			}
			r.f.column(name, 0.)
		}
		r.f.column("at_least", "", "dict")
		if r.rules = len(r.run.Settings.SLA) > 0; r.rules {
			r.f.column("sla", "", "dict")
		}
		r.f.column("partial", false)
	}
	r.f.column("run", "", "dict")
	r.f.column("run_name", "", "dict")
	r.f.column("interval_ms", 0.)
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(r.f.columns)).Interface())
	r.f.w = parquet.NewGenericWriter[any](r.out, parquet.NewSchema("fiolat", schema),
		parquet.Compression(&parquet.Zstd))
	return nil
}

func (r *parquetRows) write(q *pipeline.Quantum, row *pipeline.Row, cells ...any) error {
	var at any
	if r.run.StartKnown {
		at = (r.run.Start + q.Offset) / 1e6
	}
	d := &row.Dims
	r.f.add(float64(q.Offset)/1e6, at, row.Scope, d.Direction, d.Host, d.Job, d.Log, r.run.Kind.String())
	r.f.add(cells...)
	r.f.add(r.run.ID, r.run.Name, float64(r.run.Interval)/1e6)
	return r.f.end()
}

func (r *parquetRows) row(q *pipeline.Quantum, of *pipeline.Row) (err error) {
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
	return r.f.w.Close()
}
