package render

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"fiolat/internal/errs"
	"fiolat/internal/units"
)

// Column is a column of a table for people, or of CSV.
type Column struct {
	// Name is its head; a latency's gets the unit behind it.
	Name string
	// Latency says that the cells are in ns; Text that they are words.
	Latency, Text bool
	Cells         []Cell
}

// Cell is a word or a number.
type Cell struct {
	Text   string
	Number float64 // NaN: not known
	// AtLeast says that the number is a lower bound.
	AtLeast bool
}

// Units are the units of latencies, for --unit.
var Units = []string{"ns", "us", "ms", "s", "auto"}

// unit is the unit of a column: with auto that in which its median is 1 or more.
func (c *Column) unit(wanted string) string {
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
	for _, name := range []string{"s", "ms", "us"} {
		if len(known) > 0 && known[len(known)/2] >= units.Divisors[name] {
			return name
		}
	}
	return "ns"
}

// Columns prints a table in the format table, markdown or csv, with latencies in one of Units; in CSV auto is us.
func Columns(out *bufio.Writer, format, unit string, columns []Column) error {
	if format == "csv" && unit == "auto" {
		unit = "us"
	}
	var head, align []string
	rows := 0
	units := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		if c.Latency {
			units[i] = c.unit(unit)
			name += "_" + units[i]
		}
		mark := "---:"
		if c.Text {
			mark = "---"
		}
		head, align = append(head, name), append(align, mark)
		rows = max(rows, len(c.Cells))
	}
	table := [][]string{head}
	if format == "markdown" {
		table = append(table, align)
	}
	for r := range rows {
		var row []string
		for i := range columns {
			row = append(row, columns[i].text(r, units[i], format))
		}
		table = append(table, row)
	}
	switch format {
	case "csv":
		w := csv.NewWriter(out)
		_ = w.WriteAll(table) // it says so once more
		return w.Error()
	case "markdown":
		for _, row := range table {
			for i := range row {
				row[i] = strings.ReplaceAll(row[i], "|", "\\|")
			}
			fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	widths := make([]int, len(columns)) // numbers are set to the right
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range table {
		for i, cell := range row {
			if !columns[i].Text {
				row[i] = strings.Repeat(" ", widths[i]-len(cell)) + cell
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// text is a cell as it is printed.
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
		return errs.Printable(cell.Text)
	case math.IsNaN(cell.Number):
		return dash
	}
	v := cell.Number
	if c.Latency {
		v /= units.Divisors[unit]
	}
	text := ""
	if cell.AtLeast {
		text = ">="
	}
	decimals := Decimals(v)
	if v == math.Trunc(v) && !c.Latency {
		decimals = 0
	}
	return text + strconv.FormatFloat(v, 'f', decimals, 64)
}

// Percentile is a cell of one of percentiles, which may not be among them; atLeast names those that are lower bounds.
func Percentile(percentiles map[string]float64, key string, atLeast []string) Cell {
	v, ok := percentiles[key]
	if !ok {
		v = math.NaN()
	}
	return Cell{Number: v, AtLeast: slices.Contains(atLeast, key)}
}

// Known is a cell of a number that may be unknown.
func Known(v *float64) Cell {
	if v == nil {
		return Cell{Number: math.NaN()}
	}
	return Cell{Number: *v}
}
