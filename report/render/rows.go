package render

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// finest is the scope that is split by all dimensions.
func finest(by []string) string {
	if len(by) == 0 {
		return "run"
	}
	return strings.Join(by, "+")
}

// figures returns the latencies of a row, in the order of names.
func (r *Renderer) figures(row *pipeline.Row) (cells []Cell) {
	s := &row.Stats
	cells = make([]Cell, 0, 4+len(s.Percentiles))
	add := func(v float64, atLeast bool) {
		if s.Empty() || v == fiohist.NoLimit {
			v, atLeast = math.NaN(), false
		}
		cells = append(cells, Cell{Number: v, AtLeast: atLeast})
	}
	for _, v := range []float64{s.Min, s.Max, s.Mean, s.StdDev} {
		add(v, false)
	}
	for i, v := range s.Percentiles {
		add(v, slices.Contains(s.AtLeast, i))
	}
	return cells
}

// names returns the names of figures.
func (r *Renderer) names() []string {
	names := []string{"min", "max", "mean", "stddev"}
	for _, p := range r.run.Percentiles {
		names = append(names, "p"+fio.Percentile(p))
	}
	return names
}

// rounded formats v with at most so many decimals. Values below the last decimal get three significant digits instead,
// so that only 0 is printed as 0.
func rounded(v float64, decimals int) string {
	unit := math.Pow(10, float64(decimals))
	if v != 0 && math.Abs(v)*unit < 1 {
		return strconv.FormatFloat(fio.Round(v, 3), 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*unit)/unit, 'f', -1, 64)
}

// nanoseconds formats a latency for CSV in a unit, rounded to the nanosecond; "" if unknown.
func nanoseconds(c Cell, unit string) string {
	if math.IsNaN(c.Number) {
		return ""
	}
	return c.sign() + strconv.FormatFloat(math.Round(c.Number)/fio.Divisors[unit], 'f', -1, 64)
}

// csvRows rounds latencies to the nanosecond, I/Os and IOPS to a thousandth, and concurrency to a millionth. Only the
// JSON formats have the exact values.
type csvRows struct {
	*Renderer
	w    *csv.Writer
	head []string
}

func (r *csvRows) begin() error {
	if r.nth > 1 {
		return nil // the first kind wrote the header
	}
	r.head = []string{"offset_ms", "timestamp", "scope", "direction", "host", "job", "log", "kind", "samples",
		"logs", "iops", "concurrency"}
	for _, name := range r.names() {
		r.head = append(r.head, name+"_"+r.Unit)
	}
	if len(r.run.Settings.SLA) > 0 {
		r.head = append(r.head, "sla")
	}
	r.head = append(r.head, "partial", "run", "run_name", "interval_ms")
	return r.w.Write(r.head)
}

func (r *csvRows) row(q *pipeline.Interval, row *pipeline.Row) error {
	iops, concurrency := "", ""
	if row.IOPSKnown {
		iops = rounded(row.IOPS, 3)
	}
	if n, known := row.Concurrency(); known {
		concurrency = rounded(n, 6)
	}
	rec := append(r.dims(q, row), rounded(row.Stats.Samples, 3), strconv.Itoa(row.Logs), iops, concurrency)
	for _, cell := range r.figures(row) {
		rec = append(rec, nanoseconds(cell, r.Unit))
	}
	if len(r.run.Settings.SLA) > 0 {
		rec = append(rec, verdict(row))
	}
	run := r.runCells()
	rec = append(rec, make([]string, len(r.head)-len(run)-len(rec))...) // only the first kind has SLA rules
	if row.Partial(r.run.Interval) {
		rec[len(rec)-1] = "true"
	}
	return r.w.Write(append(rec, run...))
}

func (r *csvRows) end(*pipeline.Summary) error {
	r.w.Flush()
	return r.w.Error()
}

// dims returns the cells of CSV that say which row it is.
func (r *Renderer) dims(q *pipeline.Interval, row *pipeline.Row) []string {
	return []string{string(number(nil, float64(q.Offset)/1e6)), r.timestamp(q.Offset), row.Scope, row.Dims.Direction,
		CSVName(row.Dims.Host), CSVName(row.Dims.Job), CSVName(row.Dims.Log), r.run.Kind.String()}
}

// runCells returns the cells of CSV about the run.
func (r *Renderer) runCells() []string {
	return []string{CSVName(r.run.ID), CSVName(r.run.Name), string(number(nil, float64(r.run.Interval)/1e6))}
}

// CSVName formats a name for CSV. Names are not trusted: one that a spreadsheet would take for a formula gets a quote
// in front.
func CSVName(name string) string {
	name = fio.Printable(name)
	if name != "" && strings.ContainsRune("=+-@", rune(name[0])) {
		return "'" + name
	}
	return name
}

func value(d *fio.Dims, dim string) string {
	return d.Of(dim)
}

// block is the number of rows that table lays out together, so that a long run prints before its end.
const block = 1000

// table prints for people: few columns, rounded, each in a unit that suits it.
type table struct {
	*Renderer
	rows    []held
	columns []*Column
	heads   []string
	unit    []string // by column
	by      []string // dimensions that have a column
	fit     fitted
	zone    *time.Location
	still   int // intervals without I/O since the last one with some
}

func (r *table) begin() (err error) {
	if r.zone, err = r.clock(); err != nil {
		return err
	}
	if r.Kinds > 1 {
		r.heading(r.run.Kind.String())
	}
	r.columns, r.still = nil, 0
	return nil
}

// head begins a table with columns for some dimensions.
func (r *table) head(by []string) {
	r.by, r.heads, r.fit = by, nil, fitted{width: r.Width, markdown: r.markdown(), keep: by}
	r.columns = []*Column{timeColumn(r.zone)}
	for _, dim := range by {
		r.columns = append(r.columns, &Column{Name: dim, Text: true, Right: true})
	}
	r.columns = append(r.columns, &Column{Name: "samples"}, &Column{Name: "iops"})
	for _, name := range r.names() {
		r.columns = append(r.columns, &Column{Name: name, Latency: true})
	}
	if len(r.run.Settings.SLA) > 0 {
		r.columns = append(r.columns, &Column{Name: "sla", Text: true, Right: true})
	}
	r.columns = append(r.columns, &Column{Text: true}) // a mark
}

func (r *Renderer) markdown() bool { return r.Format == "markdown" }

// heading prints a line above a table.
func (r *Renderer) heading(text string) {
	if r.markdown() {
		text = map[bool]string{true: "\n"}[r.nth > 1] + text + "\n"
	}
	r.out.WriteString(text + "\n") //nolint:errcheck // bufio keeps it
}

// flush prints the rows held.
func (r *table) flush() {
	r.rows = sumsLast(r.rows, r.run.Settings.By)
	by := r.run.Settings.By
	several := func(row held) bool { return row.dims != r.rows[0].dims }
	if r.Apart && !slices.ContainsFunc(r.rows, several) { // one direction
		by = nil
	}
	if r.columns == nil || len(by) > len(r.by) {
		if r.columns != nil {
			r.out.WriteByte('\n') //nolint:errcheck // bufio keeps it
		}
		r.head(by)
	}
	for _, row := range r.rows {
		add := func(i int, cell Cell) { r.columns[i].Cells = append(r.columns[i].Cells, cell) }
		add(0, r.time(row.offset, r.zone))
		for i, dim := range r.by {
			add(1+i, Cell{Text: cmp.Or(row.dims.Of(dim), fio.All)})
		}
		for i, cell := range row.cells {
			add(1+len(r.by)+i, cell)
		}
	}
	r.rows = r.rows[:0]
	var rows [][]string
	if r.heads == nil {
		r.unit = make([]string, len(r.columns))
		for i := range r.columns {
			name := r.columns[i].Name
			if r.columns[i].Latency {
				r.unit[i] = r.columns[i].Unit(r.Unit)
				name += "_" + r.unit[i]
			}
			r.heads = append(r.heads, name)
		}
		rows = append(rows, r.heads)
	}
	for n := range r.columns[0].Cells {
		row := make([]string, 0, len(r.columns))
		for i := range r.columns {
			if text := r.columns[i].text(n, r.unit[i], "table"); i < len(r.columns)-1 || text != "-" {
				row = append(row, text)
			}
		}
		rows = append(rows, row)
	}
	r.fit.layout(r.out, r.columns, rows)
	for i := range r.columns {
		r.columns[i].Cells = r.columns[i].Cells[:0]
	}
}

// skip reports whether the rows of an interval are left out, because more than a block of intervals before it had no
// I/O either. A line says how many they are.
func (r *table) skip(q *pipeline.Interval) bool {
	if r.markdown() {
		return false
	}
	r.still++
	if len(q.Leaves) > 0 {
		r.sayStill(r.still - 1)
		r.still = 0
	}
	return r.still > block
}

// sayStill says how many of n intervals without I/O were left out.
func (r *table) sayStill(n int) {
	if n > block {
		r.flush()
		fmt.Fprintf(r.out, "... %s without I/O\n", fio.Several(n-block, "more interval"))
	}
}

func (r *table) row(q *pipeline.Interval, row *pipeline.Row) error {
	if n := len(r.rows); n >= block && r.rows[n-1].offset != q.Offset {
		r.flush()
	}
	iops := math.NaN()
	if row.IOPSKnown {
		iops = row.IOPS
	}
	cells := append(make([]Cell, 0, len(r.run.Percentiles)+8), ios(row.Stats.Samples), Cell{Number: iops})
	cells = append(cells, r.figures(row)...)
	if len(r.run.Settings.SLA) > 0 {
		cells = append(cells, Cell{Text: verdict(row)})
	}
	mark := ""
	if row.Partial(r.run.Interval) {
		mark = "partial"
	}
	dims := row.Dims
	if dims.Direction == fio.All {
		dims.Direction = ""
	}
	r.rows = append(r.rows, held{row.Scope, dims, q.Offset, row.Stats.Samples, append(cells, Cell{Text: mark})})
	return nil
}

func (r *table) end(*pipeline.Summary) error {
	r.sayStill(r.still)
	if len(r.rows) > 0 || r.columns == nil {
		r.flush()
	}
	r.fit.note(r.out)
	return nil
}

// ios is a cell with a number of I/Os, rounded to a whole one.
func ios(n float64) Cell {
	if n > 0 && n < 0.5 {
		return Cell{Text: "<1"}
	}
	return Cell{Number: math.Round(n)}
}

// figure returns a figure of a row by name, NaN if unknown.
func (r *Renderer) figure(row *pipeline.Row, name string) Cell {
	v, _ := fio.FigureOf(name).Of(row.Values(r.run.Percentiles))
	cell := Cell{Number: v}
	for _, i := range row.Stats.AtLeast {
		cell.AtLeast = cell.AtLeast || "p"+fio.Percentile(r.run.Percentiles[i]) == name
	}
	return cell
}

// wide prints a row for each time, with one figure in a column for each host, job and so on. It holds all rows until
// the end, because new columns may appear late.
type wide struct {
	*Renderer
	times   []int64
	names   []string
	cells   map[string]map[int64]Cell
	partial map[int64][]string // by time: the names whose interval is partial
}

func (r *wide) begin() error { return nil }

func (r *wide) row(q *pipeline.Interval, row *pipeline.Row) error {
	by := r.run.Settings.By
	name := fio.All
	if row.Scope == finest(by) {
		var words []string
		for _, dim := range by {
			words = append(words, value(&row.Dims, dim))
		}
		name = strings.Join(words, " ")
	} else if row.Scope != fio.RunScope {
		return nil
	}
	if r.cells[name] == nil {
		r.cells[name], r.names = map[int64]Cell{}, append(r.names, name)
	}
	r.cells[name][q.Offset] = r.figure(row, r.Wide)
	if row.Partial(r.run.Interval) {
		r.partial[q.Offset] = append(r.partial[q.Offset], fio.Printable(name))
	}
	if n := len(r.times); n == 0 || r.times[n-1] < q.Offset { // else late
		r.times = append(r.times, q.Offset)
	}
	return nil
}

func (r *wide) end(*pipeline.Summary) error {
	latencies := fio.FigureOf(r.Wide).Unit == fio.Nanoseconds
	if i := slices.Index(r.names, fio.All); i >= 0 {
		r.names = slices.Delete(r.names, i, i+1)
	}
	slices.SortFunc(r.names, fio.Natural)
	switch {
	case r.cells[fio.All] == nil:
	case r.Format == "csv":
		r.names = append([]string{fio.All}, r.names...)
	case len(r.names) != 1: // else it is the same
		r.names = append(r.names, fio.All)
	}
	of := func(name string, at int64) Cell {
		if c, ok := r.cells[name][at]; ok {
			return c
		}
		return Cell{Number: math.NaN()}
	}
	if r.Format == "csv" {
		return r.wideCSV(r.times, r.names, latencies, of, r.partial)
	}
	zone, err := r.clock()
	if err != nil {
		return err
	}
	columns := []*Column{timeColumn(zone)}
	unit := Column{}
	for _, at := range r.times {
		columns[0].Cells = append(columns[0].Cells, r.time(at, zone))
	}
	for _, name := range r.names {
		c := &Column{Name: name}
		for _, at := range r.times {
			cell := of(name, at)
			if r.Wide == "samples" && !math.IsNaN(cell.Number) {
				cell = ios(cell.Number)
			}
			c.Cells = append(c.Cells, cell)
		}
		unit.Cells = append(unit.Cells, c.Cells...)
		columns = append(columns, c)
	}
	if latencies { // one unit, so that columns can be compared
		unit := unit.Unit(r.Unit)
		for i := range columns[1:] {
			for n, cell := range columns[i+1].Cells {
				if !math.IsNaN(cell.Number) {
					columns[i+1].Cells[n].Text = cell.sign() + fio.LatencyIn(cell.Number, unit)
				}
			}
		}
		r.heading(r.Wide + " in " + unit)
	} else {
		r.heading(r.Wide)
	}
	if len(r.partial) > 0 {
		columns = append(columns, partialMarks(r.times, columns[1:], r.partial))
	}
	return write(r.out, Style{Format: r.Format, Unit: "ns"}, columns)
}

// partialMarks returns a column that marks the times with partial intervals, with names unless all columns have one.
func partialMarks(times []int64, columns []*Column, partial map[int64][]string) *Column {
	marks := &Column{Text: true}
	for n, at := range times {
		known := 0
		for _, c := range columns {
			if !math.IsNaN(c.Cells[n].Number) {
				known++
			}
		}
		mark := " " // an empty cell would print as a dash
		if names := partial[at]; len(names) > 0 {
			mark = "partial"
			if len(names) < known {
				mark += ": " + strings.Join(names, ", ")
			}
		}
		marks.Cells = append(marks.Cells, Cell{Text: mark})
	}
	return marks
}

// wideCSV prints a figure as CSV. Each column's name ends with the figure and its unit.
func (r *Renderer) wideCSV(times []int64, names []string, latencies bool, of func(string, int64) Cell,
	partial map[int64][]string) error {
	w := csv.NewWriter(r.out)
	suffix := " " + r.Wide
	if latencies {
		suffix += "_" + r.Unit
	}
	head := []string{"offset_ms", "timestamp"}
	for _, name := range names {
		head = append(head, CSVName(name)+suffix)
	}
	head = append(head, "partial")
	table := [][]string{head}
	for _, at := range times {
		rec := []string{string(number(nil, float64(at)/1e6)), r.timestamp(at)}
		for _, name := range names {
			cell := of(name, at)
			switch {
			case math.IsNaN(cell.Number):
				rec = append(rec, "")
			case latencies:
				rec = append(rec, nanoseconds(cell, r.Unit))
			default:
				rec = append(rec, rounded(cell.Number, 3))
			}
		}
		rec = append(rec, "")
		if len(partial[at]) > 0 {
			rec[len(rec)-1] = "true"
		}
		table = append(table, rec)
	}
	return w.WriteAll(table)
}
