package render

import (
	"bufio"
	"encoding/csv"
	"math"
	"regexp"
	"slices"
	"strconv"

	"fiolat/fio"
)

// Column is a column of a table, for people or of CSV.
type Column struct {
	// Name is its header. That of a latency gets the unit appended.
	Name string
	// Latency says that the cells are in ns, Text that they are text.
	Latency, Text bool
	// Right aligns text to the right, like numbers.
	Right bool
	Cells []Cell
}

// Cell is text or a number. Text in a column of numbers replaces the number.
type Cell struct {
	Text   string
	Number float64 // NaN if unknown
	// AtLeast says that the number is a lower bound.
	AtLeast bool
}

// sign is the prefix of the number.
func (c *Cell) sign() string {
	if c.AtLeast {
		return ">="
	}
	return ""
}

// Units are the values of --unit.
var Units = []string{"ns", "us", "ms", "s", "auto"}

// Unit returns the unit of a column: wanted, or for auto the largest in which the median is 1 or more, at least ns.
func (c *Column) Unit(wanted string) string {
	if wanted != "auto" {
		return wanted
	}
	var known []float64
	for _, cell := range c.Cells {
		if cell.Number > 0 {
			known = append(known, cell.Number)
		}
	}
	slices.Sort(known)
	if len(known) == 0 {
		return "ns"
	}
	return fio.Unit(known[len(known)/2])
}

// Columns prints a table in the format table, markdown, csv or parquet, with latencies in one of Units; in CSV and
// Parquet auto is us. CSV rounds latencies to the nanosecond and other numbers to a millionth. The format table is for
// a terminal of width columns; 0 is no limit.
func Columns(out *bufio.Writer, format, unit string, width int, columns []Column) error {
	if (format == "csv" || format == "parquet") && unit == "auto" {
		unit = "us"
	}
	if format == "parquet" {
		return parquetColumns(out, unit, columns)
	}
	var head []string
	rows := 0
	units := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		if c.Latency {
			units[i] = c.Unit(unit)
			name += "_" + units[i]
		}
		head = append(head, name)
		rows = max(rows, len(c.Cells))
	}
	table := [][]string{head}
	for r := range rows {
		var row []string
		for i := range columns {
			row = append(row, columns[i].text(r, units[i], format))
		}
		table = append(table, row)
	}
	if format == "csv" {
		w := csv.NewWriter(out)
		_ = w.WriteAll(table) // Error returns the same error
		return w.Error()
	}
	f := fitted{width: width, markdown: format == "markdown", keep: fio.Dimensions()}
	f.layout(out, columns, table)
	f.note(out)
	return nil
}

// markup is what would begin a link, a tag or another cell, or undo an escape.
var markup = regexp.MustCompile(`\\|\||<[a-zA-Z/!?]|\]\(`)

// Markdown escapes a text for a cell of a table in Markdown: names in it may be anybody's.
func Markdown(text string) string {
	return markup.ReplaceAllStringFunc(text, func(s string) string {
		if s == "](" {
			return `]\(`
		}
		return `\` + s
	})
}

func (c *Column) text(row int, unit, format string) string {
	cell := c.Cells[row]
	dash := "-"
	if format == "csv" {
		dash = ""
	}
	switch {
	case c.Text && format == "csv":
		return CSVName(cell.Text)
	case c.Text && cell.Text == "":
		return dash
	case c.Text:
		return fio.Printable(cell.Text)
	case cell.Text != "":
		return cell.Text
	case math.IsNaN(cell.Number):
		return dash
	}
	switch {
	case format == "csv" && c.Latency:
		return nanoseconds(cell, unit)
	case format == "csv":
		return cell.sign() + rounded(cell.Number, 6)
	case c.Latency:
		return cell.sign() + fio.LatencyIn(cell.Number, unit)
	}
	decimals := fio.Decimals(cell.Number)
	if cell.Number == math.Trunc(cell.Number) {
		decimals = 0
	}
	return cell.sign() + strconv.FormatFloat(cell.Number, 'f', decimals, 64)
}

// Percentile returns the cell of a percentile, unknown if it is not among percentiles. atLeast names those that are
// lower bounds.
func Percentile(percentiles map[string]float64, key string, atLeast []string) Cell {
	v, ok := percentiles[key]
	if !ok {
		v = math.NaN()
	}
	return Cell{Number: v, AtLeast: slices.Contains(atLeast, key)}
}

// Known returns the cell of a number that is unknown if nil.
func Known(v *float64) Cell {
	if v == nil {
		return Cell{Number: math.NaN()}
	}
	return Cell{Number: *v}
}
