// Package render prints rows of percentiles as a table, Markdown, CSV, JSON, NDJSON or Parquet.
package render

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// Renderer is a pipeline.Sink that prints rows.
type Renderer struct {
	pipeline.Discard
	Options
	run   *pipeline.Run
	out   *bufio.Writer
	nth   int // number of the current kind of latency, from 1
	Kinds int // number of kinds that follow each other
	format
	buf []byte
}

// format prints the rows of a kind of latency, and what is before and after them.
type format interface {
	begin() error
	row(q *pipeline.Interval, r *pipeline.Row) error
	end(s *pipeline.Summary) error
}

// lines is a format of rows alone.
type lines func(q *pipeline.Interval, r *pipeline.Row) error

func (lines) begin() error                                      { return nil }
func (f lines) row(q *pipeline.Interval, r *pipeline.Row) error { return f(q, r) }
func (lines) end(*pipeline.Summary) error                       { return nil }

// Options say how rows are printed.
type Options struct {
	Format string // table, markdown, csv, json, ndjson or parquet
	Unit   string // of latencies in tables, csv and parquet: one of Units; auto is us but in tables
	// Apart is set if reads and writes are split because nobody said otherwise: tables name a direction only if there
	// are two.
	Apart bool
	// NoTotal leaves out rows that add up others. Only those split by all dimensions of --by remain.
	NoTotal bool
	// Wide is a percentile or one of Figures, printed with a row for each time and a column for each host, job and so
	// on. It is for tables and csv; "" is none.
	Wide string
	// Width is the terminal's for a table, in columns; 0 is no limit.
	Width int
	// Clock is the zone of the wall-clock time that tables show instead of the time since the run's start; nil is the
	// latter, except for intervals that are counted from 1970.
	Clock *time.Location
}

// Table reports whether the format is one for people.
func (o *Options) Table() bool { return o.Format == "table" || o.Format == "markdown" }

// New returns a Renderer that prints to out.
func New(o Options, out *bufio.Writer) *Renderer {
	r := newRenderer(o, out)
	if (o.Format == "csv" || o.Format == "parquet") && o.Unit == "auto" {
		r.Unit = "us"
	}
	switch {
	case o.Wide != "":
		r.format = &wide{Renderer: r, cells: map[string]map[int64]Cell{}, partial: map[int64][]string{}}
	case o.Format == "ndjson":
		r.format = lines(func(q *pipeline.Interval, row *pipeline.Row) error {
			r.buf = append(r.appendJSON(r.buf[:0], q, row), '\n')
			_, err := r.out.Write(r.buf)
			return err
		})
	case o.Format == "json":
		r.format = &document{Renderer: r}
	case o.Format == "csv":
		r.format = &csvRows{Renderer: r, w: csv.NewWriter(out)}
	case o.Format == "parquet":
		r.format = &parquetRows{Renderer: r}
	default:
		r.format = &table{Renderer: r}
	}
	return r
}

func newRenderer(o Options, out *bufio.Writer) *Renderer {
	return &Renderer{Options: o, out: out, Kinds: 1}
}

// Begin prints what precedes the rows.
func (r *Renderer) Begin(_ context.Context, run *pipeline.Run) error {
	r.run = run
	r.nth++
	return r.begin()
}

// Interval prints the rows of an interval.
func (r *Renderer) Interval(_ context.Context, q *pipeline.Interval) error {
	if t, ok := r.format.(*table); ok && t.skip(q) {
		return nil
	}
	return r.print(q)
}

func (r *Renderer) print(q *pipeline.Interval) error {
	finest := finest(r.run.Settings.By)
	for i := range q.Rows {
		if r.NoTotal && q.Rows[i].Scope != finest {
			continue
		}
		if err := r.row(q, &q.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Late prints the rows.
func (r *Renderer) Late(_ context.Context, q *pipeline.Interval) error { return r.print(q) }

// Flush flushes the output buffer.
func (r *Renderer) Flush() error { return r.out.Flush() }

// End prints what follows the rows.
func (r *Renderer) End(_ context.Context, s *pipeline.Summary) error { return r.end(s) }

// timestamp formats the wall-clock start of an interval, "" if unknown.
func (r *Renderer) timestamp(offset int64) string {
	if !r.run.StartKnown {
		return ""
	}
	return time.Unix(0, r.run.Start+offset).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// clock returns the zone of the times in a table, nil if they count from the run's start.
func (r *Renderer) clock() (*time.Location, error) {
	if r.Clock != nil && !r.run.StartKnown {
		return nil, fio.Usagef("--clock: when the run started is not known; say it with --start")
	}
	if r.Clock == nil && r.run.Settings.Grid == fio.GridEpoch && r.run.StartKnown {
		return time.UTC, nil // the first interval begins before the run
	}
	return r.Clock, nil
}

// timeColumn returns the column of the time.
func timeColumn(zone *time.Location) Column {
	name := "time"
	if zone != nil {
		name = strings.ToLower(zone.String())
	}
	return Column{Name: name, Text: true, Right: true}
}

// time formats the start of an interval for a table.
func (r *Renderer) time(offset int64, zone *time.Location) Cell {
	if zone == nil {
		return Cell{Text: time.Duration(offset).String()}
	}
	at, format := time.Unix(0, r.run.Start+offset).In(zone), "2006-01-02 15:04:05"
	if at.Nanosecond() != 0 || r.run.Interval%int64(time.Second) != 0 {
		format += ".000"
	}
	return Cell{Text: at.Format(format)}
}

// number appends the shortest decimal form of f that reads back exactly, without an exponent.
func number(dst []byte, f float64) []byte { return strconv.AppendFloat(dst, f, 'f', -1, 64) }

// appendText appends a member with a text, null if that is "".
func appendText(b []byte, name, v string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	if v == "" {
		return append(b, "null"...)
	}
	quoted, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	return append(b, ui.PrintableJSON(quoted)...)
}

// appendDims appends an object, without its end, that says which row it is.
func (r *Renderer) appendDims(b []byte, q *pipeline.Interval, row *pipeline.Row) []byte {
	b = append(b, `{"offset_ms":`...)
	b = number(b, float64(q.Offset)/1e6)
	b = appendText(b, "timestamp", r.timestamp(q.Offset))
	b = appendText(b, "scope", row.Scope)
	b = appendText(b, "direction", row.Dims.Direction)
	b = appendText(b, "host", row.Dims.Host)
	b = appendText(b, "job", row.Dims.Job)
	b = appendText(b, "log", row.Dims.Log)
	return appendText(b, "kind", r.run.Kind.String())
}

// appendRun appends what a line of NDJSON says about its run, as documents name it.
func (r *Renderer) appendRun(b []byte) []byte {
	b = appendText(appendText(b, "run", r.run.ID), "run_name", r.run.Name)
	return number(append(b, `,"interval_ms":`...), float64(r.run.Interval)/1e6)
}

// appendJSON appends the row as documented NDJSON: latencies in ns, null where a value is unknown.
func (r *Renderer) appendJSON(b []byte, q *pipeline.Interval, row *pipeline.Row) []byte {
	s := &row.Stats
	value := func(name string, v float64) {
		b = append(b, name...)
		if s.Empty() {
			b = append(b, "null"...)
			return
		}
		b = number(b, v)
	}
	b = r.appendDims(b, q, row)
	if r.Format == "ndjson" {
		b = r.appendRun(b)
	}
	b = append(b, `,"samples":`...)
	b = number(b, s.Samples)
	b = append(b, `,"logs":`...)
	b = strconv.AppendInt(b, int64(row.Logs), 10)
	b = append(b, `,"iops":`...)
	if row.IOPSKnown {
		b = number(b, row.IOPS)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"concurrency":`...)
	if n, known := row.Concurrency(); known {
		b = number(b, n)
	} else {
		b = append(b, "null"...)
	}
	if t := row.TailPart; t != nil {
		orNull := func(name string, v float64, known bool) {
			if b = append(b, name...); known {
				b = number(b, v)
			} else {
				b = append(b, "null"...)
			}
		}
		orNull(`,"tail":{"expected":`, t.Expected, true)
		orNull(`,"lift":`, t.Share/t.Expected, t.Share >= 0)
		orNull(`,"p99":{"share":`, t.Share, t.Share >= 0)
		orNull(`,"without":`, t.Without, t.Without >= 0)
		b = append(b, '}', '}')
	}
	value(`,"min":`, s.Min)
	value(`,"max":`, s.Max)
	value(`,"mean":`, s.Mean)
	value(`,"stddev":`, s.StdDev)
	b = append(b, `,"percentiles":{`...)
	for i, p := range r.run.Percentiles {
		if i > 0 {
			b = append(b, ',')
		}
		value(`"`+fio.Percentile(p)+`":`, s.Percentiles[i])
	}
	b = append(b, `},"ci":{`...)
	limit := func(v float64) {
		if v == fiohist.NoLimit {
			b = append(b, "null"...)
			return
		}
		b = number(b, v)
	}
	for i, p := range r.run.Percentiles {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `"`+fio.Percentile(p)+`":{"lower":`...)
		limit(s.Lower[i])
		b = append(b, `,"upper":`...)
		limit(s.Upper[i])
		b = append(b, '}')
	}
	b = append(b, '}')
	if s.LimitsAtLeast {
		b = append(b, `,"ci_at_least":true`...)
	}
	if len(s.AtLeast) > 0 {
		b = append(b, `,"at_least":[`...)
		for i, k := range s.AtLeast {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, fio.Percentile(r.run.Percentiles[k])...)
			b = append(b, '"')
		}
		b = append(b, ']')
	}
	if row.Partial(r.run.Interval) {
		b = append(b, `,"partial":true`...)
	}
	if len(row.SLA) > 0 {
		b = append(b, `,"sla":[`...)
		for i := range row.SLA {
			v := &row.SLA[i]
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '{')
			b = append(b, `"rule":`...)
			b = strconv.AppendQuote(b, v.Rule.Text)
			b = append(b, `,"status":"`+string(v.Status)+`","value":`...)
			if v.Known {
				b = number(b, v.Value)
			} else {
				b = append(b, "null"...)
			}
			b = append(b, `,"threshold":`...)
			b = number(b, v.Rule.Threshold)
			b = append(b, `,"share":`...)
			if v.Share >= 0 {
				b = number(b, v.Share)
			} else {
				b = append(b, "null"...)
			}
			b = append(b, `,"window_ms":`...)
			b = append(number(b, float64(v.Window)/1e6), '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// verdict is the worst status of a row's SLA rules, "" without rules.
func verdict(row *pipeline.Row) string {
	worst := ""
	for _, v := range row.SLA {
		if worst == "" || v.Status == sla.Broken || v.Status == sla.Unknown && worst == string(sla.OK) {
			worst = string(v.Status)
		}
	}
	return worst
}

// document prints one object with the run, its rows and its account, or an array of such objects for several kinds.
type document struct {
	*Renderer
	rows int
}

func (r *document) begin() error {
	head := map[string]any{"id": r.run.ID, "interval_ms": float64(r.run.Interval) / 1e6, "start": nil,
		"start_how": nil, "percentiles": r.run.Percentiles}
	if r.run.StartKnown {
		head["start"], head["start_how"] = r.timestamp(0), r.run.StartHow
	}
	b, err := json.Marshal(head)
	if err != nil {
		return err
	}
	open := "{"
	if r.Kinds > 1 { // an object for each kind
		open = map[bool]string{true: "[{", false: ",{"}[r.nth == 1]
	}
	r.rows = 0
	_, err = fmt.Fprintf(r.out, "%s\"run\":%s,\n\"rows\":[", open, ui.PrintableJSON(b))
	return err
}

func (r *document) row(q *pipeline.Interval, row *pipeline.Row) error {
	if r.rows++; r.rows > 1 {
		r.out.WriteByte(',') //nolint:errcheck // bufio keeps the error for the next write
	}
	r.out.WriteByte('\n') //nolint:errcheck // as above
	r.buf = r.appendJSON(r.buf[:0], q, row)
	_, err := r.out.Write(r.buf)
	return err
}

func (r *document) end(s *pipeline.Summary) error {
	b, err := json.Marshal(s.Account)
	if err != nil {
		return err
	}
	closing := "}"
	if r.Kinds > 1 && r.nth == r.Kinds {
		closing = "}]"
	}
	_, err = fmt.Fprintf(r.out, "\n],\n\"account\":%s%s\n", ui.PrintableJSON(b), closing)
	return err
}
