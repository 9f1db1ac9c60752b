package render

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"fiolat/fio"
)

// groupValues is the number of values that are kept in memory, and compressed together.
const groupValues = 1 << 20

// parquetType is the type of a column.
type parquetType int

// The types of columns. In Go their values are string, float64, int64, int64 (ms since 1970) and bool.
const (
	parquetString parquetType = iota
	parquetDouble
	parquetLong
	parquetTime
	parquetBool
)

var nodes = [...]parquet.Node{
	parquetString: parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
	parquetDouble: parquet.Leaf(parquet.DoubleType),
	parquetLong:   parquet.Int(64),
	parquetTime:   parquet.Timestamp(parquet.Millisecond),
	parquetBool:   parquet.Leaf(parquet.BooleanType),
}

// parquetFile writes rows of Parquet, whose columns may all be null. Name the columns, call Begin, then for each row
// Add and End, and Close.
type parquetFile struct {
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

// Column appends a column. It gets a number if another one has its name.
func (f *parquetFile) Column(name string, t parquetType) {
	if f.columns.Group == nil {
		f.columns.Group = parquet.Group{}
	}
	base := name
	for n := 2; f.columns.Group[name] != nil; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	f.columns.Group[name] = parquet.Optional(nodes[t])
	f.columns.names = append(f.columns.names, name)
}

// Begin ends the list of columns.
func (f *parquetFile) Begin(out io.Writer) {
	f.w = parquet.NewGenericWriter[any](out, parquet.NewSchema("fiolat", f.columns),
		parquet.Compression(&parquet.Zstd))
}

// Add appends values to the row: nil, NaN and "" are null.
func (f *parquetFile) Add(values ...any) {
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
func (f *parquetFile) End() error {
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
func (f *parquetFile) Close() error { return f.w.Close() }

// parquetColumns writes a table whose columns are text or numbers, latencies in a unit. Another one, at_least, names
// those that are lower bounds, if there are any.
func parquetColumns(out io.Writer, unit string, columns []*Column) error {
	f, rows, bounds := parquetFile{}, 0, false
	for _, c := range columns {
		name, t := c.Name, parquetDouble
		if c.Latency {
			name += "_" + unit
		}
		if c.Text {
			t = parquetString
		}
		f.Column(name, t)
		rows = max(rows, len(c.Cells))
		bounds = bounds || slices.ContainsFunc(c.Cells, func(cell Cell) bool { return cell.AtLeast })
	}
	if bounds {
		f.Column("at_least", parquetString)
	}
	f.Begin(out)
	for r := range rows {
		var atLeast []string
		for _, c := range columns {
			if c.Cells[r].AtLeast {
				atLeast = append(atLeast, c.Name)
			}
			switch cell := c.Cells[r]; {
			case c.Text:
				f.Add(cell.Text)
			case c.Latency:
				f.Add(math.Round(cell.Number) / fio.Divisors[unit])
			default:
				f.Add(cell.Number)
			}
		}
		if bounds {
			f.Add(strings.Join(atLeast, ","))
		}
		if err := f.End(); err != nil {
			return err
		}
	}
	return f.Close()
}
