package render

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
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
	// Printable says that text may go to a terminal as it is, such as with colors.
	Printable bool
	// Optional leaves the column out if no cell says anything.
	Optional bool
	Cells    []Cell
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

// Table is a table of rows of any type. What a row's cells are is said once, for all formats.
type Table[T any] struct {
	Rows    []T
	Columns []*Column
}

// Add adds a column of cells, and returns it.
func (t *Table[T]) Add(c Column, of func(*T) Cell) *Column {
	for i := range t.Rows {
		c.Cells = append(c.Cells, of(&t.Rows[i]))
	}
	t.Columns = append(t.Columns, &c)
	return &c
}

// Text adds a column of text.
func (t *Table[T]) Text(name string, of func(*T) string) *Column {
	return t.Add(Column{Name: name, Text: true}, func(row *T) Cell { return Cell{Text: of(row)} })
}

// Number adds a column of numbers.
func (t *Table[T]) Number(name string, of func(*T) Cell) *Column {
	return t.Add(Column{Name: name}, of)
}

// Latency adds a column of latencies in ns.
func (t *Table[T]) Latency(name string, of func(*T) Cell) *Column {
	return t.Add(Column{Name: name, Latency: true}, of)
}

// Texts returns a table of rows of text, with these columns aligned to the right.
func Texts(head []string, rows [][]string, right ...string) *Table[[]string] {
	t := &Table[[]string]{Rows: rows}
	for i, name := range head {
		t.Text(name, func(row *[]string) string { return (*row)[i] }).Right = slices.Contains(right, name)
	}
	return t
}

// Print prints the table.
func (t *Table[T]) Print(out io.Writer, s Style) error { return write(out, s, t.Columns) }

// Style says how a table is printed.
type Style struct {
	// Format is table, markdown, csv or parquet.
	Format string
	// Unit is one of Units. In CSV and Parquet auto is us. CSV rounds latencies to the nanosecond and other numbers to
	// a millionth.
	Unit string
	// Width is that of the terminal in columns; 0 is no limit.
	Width int
	// Keep names columns that a narrow terminal keeps although it leaves them out of other tables, Less those that it
	// leaves out of this one after the others.
	Keep, Less []string
}

// empty reports whether no cell says anything.
func (c *Column) empty() bool {
	return !slices.ContainsFunc(c.Cells, func(cell Cell) bool {
		return cell.Text != "" || !c.Text && !math.IsNaN(cell.Number)
	})
}

func write(to io.Writer, s Style, columns []*Column) error {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c *Column) bool { return c.Optional && c.empty() })
	out := bufio.NewWriter(to)
	if (s.Format == "csv" || s.Format == "parquet") && s.Unit == "auto" {
		s.Unit = "us"
	}
	if s.Format == "parquet" {
		return errors.Join(parquetColumns(out, s.Unit, columns), out.Flush())
	}
	var head []string
	rows := 0
	units := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		if c.Latency {
			units[i] = c.Unit(s.Unit)
			name += "_" + units[i]
		}
		name = fio.Printable(name)
		if s.Format == "csv" {
			name = CSVName(name)
		}
		head = append(head, name)
		rows = max(rows, len(c.Cells))
	}
	table := [][]string{head}
	for r := range rows {
		var row []string
		for i := range columns {
			row = append(row, columns[i].text(r, units[i], s.Format))
		}
		table = append(table, row)
	}
	if s.Format == "csv" {
		return csv.NewWriter(out).WriteAll(table)
	}
	f := fitted{width: s.Width, markdown: s.Format == "markdown", keep: s.Keep, less: s.Less}
	f.layout(out, columns, table)
	f.note(out)
	return out.Flush()
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
	case c.Printable:
		return cell.Text
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
