// Package parquetfile writes Parquet, a row at a time.
package parquetfile

import (
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// groupValues is the number of values that are kept in memory, and compressed together.
const groupValues = 1 << 20

// Type is the type of a column.
type Type int

// The types of columns. In Go their values are string, float64, int64, int64 (ms since 1970) and bool.
const (
	String Type = iota
	Double
	Long
	Time
	Bool
)

var nodes = [...]parquet.Node{
	String: parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	Double: parquet.Leaf(parquet.DoubleType),
	Long:   parquet.Int(64),
	Time:   parquet.Timestamp(parquet.Millisecond),
	Bool:   parquet.Leaf(parquet.BooleanType),
}

// File writes rows of Parquet. Every column may be null. Name the columns, call Begin, then for each row Add and End,
// and Close.
type File struct {
	columns schema
	w       *parquet.GenericWriter[any]
	row     parquet.Row
	column  int // the next one of the row
	values  int // since the last flush
}

// schema is a group whose fields keep their order.
type schema struct {
	parquet.Group
	names []string
}

func (s schema) Fields() []parquet.Field {
	fields := s.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(s.names, a.Name()) - slices.Index(s.names, b.Name())
	})
	return fields
}

// Column appends a column.
func (f *File) Column(name string, t Type) {
	if f.columns.Group == nil {
		f.columns.Group = parquet.Group{}
	}
	f.columns.Group[name] = parquet.Optional(nodes[t])
	f.columns.names = append(f.columns.names, name)
}

// Begin ends the list of columns.
func (f *File) Begin(out io.Writer) {
	f.w = parquet.NewGenericWriter[any](out, parquet.NewSchema("fiolat", f.columns),
		parquet.Compression(&parquet.Zstd))
}

// Add appends values to the row: nil, NaN and "" are null.
func (f *File) Add(values ...any) {
	for _, v := range values {
		number, isNumber := v.(float64)
		if v == nil || v == "" || isNumber && math.IsNaN(number) {
			f.row = append(f.row, parquet.NullValue().Level(0, 0, f.column))
		} else {
			f.row = append(f.row, parquet.ValueOf(v).Level(0, 1, f.column))
		}
		f.column++
	}
}

// End writes the row.
func (f *File) End() error {
	_, err := f.w.WriteRows([]parquet.Row{f.row})
	f.values += len(f.row)
	f.row, f.column = f.row[:0], 0
	if err == nil && f.values >= groupValues {
		f.values = 0
		err = f.w.Flush()
	}
	return err
}

// Close ends the file.
func (f *File) Close() error { return f.w.Close() }
