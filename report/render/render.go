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
	"fiolat/internal/jsonw"
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
	if (o.Format == "csv" || o.Format == "parquet") && o.Unit == "auto" {
		o.Unit = "us"
	}
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
func timeColumn(zone *time.Location) *Column {
	name := "time"
	if zone != nil {
		name = strings.ToLower(zone.String())
	}
	return &Column{Name: name, Text: true, Right: true}
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

// member appends a member with a text, null if that is "".
func member(b jsonw.Object, name, v string) jsonw.Object {
	if v == "" {
		return b.Null(name)
	}
	quoted, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	return b.Bytes(name, ui.EscapedJSON(quoted))
}

// figure appends a member with a number, null if it is not known.
func figure(b jsonw.Object, name string, v float64, known bool) jsonw.Object {
	if !known {
		return b.Null(name)
	}
	return number(b.Key(name), v)
}

// withDims appends an object, without its end, that says which row it is.
func (r *Renderer) withDims(b jsonw.Object, q *pipeline.Interval, row *pipeline.Row) jsonw.Object {
	b = figure(b.Begin(), "offset_ms", float64(q.Offset)/1e6, true)
	for _, of := range [...][2]string{{"timestamp", r.timestamp(q.Offset)}, {"scope", row.Scope},
		{"direction", row.Dims.Direction}, {"host", row.Dims.Host}, {"job", row.Dims.Job}, {"log", row.Dims.Log},
		{"kind", r.run.Kind.String()}} {
		b = member(b, of[0], of[1])
	}
	return b
}

// withRun appends what a line of NDJSON says about its run, as documents name it.
func (r *Renderer) withRun(b jsonw.Object) jsonw.Object {
	b = member(member(b, "run", r.run.ID), "run_name", r.run.Name)
	return figure(b, "interval_ms", float64(r.run.Interval)/1e6, true)
}

// appendJSON appends the row as documented NDJSON: latencies in ns, null where a value is unknown.
func (r *Renderer) appendJSON(dst []byte, q *pipeline.Interval, row *pipeline.Row) []byte {
	s, known := &row.Stats, !row.Stats.Empty()
	b := r.withDims(dst, q, row)
	if r.Format == "ndjson" {
		b = r.withRun(b)
	}
	b = figure(b, "samples", s.Samples, true).Int("logs", int64(row.Logs))
	b = figure(b, "iops", row.IOPS, row.IOPSKnown)
	concurrency, ok := row.Concurrency()
	b = figure(b, "concurrency", concurrency, ok)
	if t := row.TailPart; t != nil {
		b = figure(b.Open("tail"), "expected", t.Expected, true)
		b = figure(b, "lift", t.Share/t.Expected, t.Share >= 0).Open("p99")
		b = figure(figure(b, "share", t.Share, t.Share >= 0), "without", t.Without, t.Without >= 0).End().End()
	}
	b = figure(figure(b, "min", s.Min, known), "max", s.Max, known)
	b = figure(figure(b, "mean", s.Mean, known), "stddev", s.StdDev, known).Open("percentiles")
	for i, p := range r.run.Percentiles {
		b = figure(b, fio.Percentile(p), s.Percentiles[i], known)
	}
	b = b.End().Open("ci")
	for i, p := range r.run.Percentiles {
		b = figure(b.Open(fio.Percentile(p)), "lower", s.Lower[i], s.Lower[i] != fiohist.NoLimit)
		b = figure(b, "upper", s.Upper[i], s.Upper[i] != fiohist.NoLimit).End()
	}
	b = b.End().True("ci_at_least", s.LimitsAtLeast)
	var bounds []string
	for _, k := range s.AtLeast {
		bounds = append(bounds, fio.Percentile(r.run.Percentiles[k]))
	}
	b = b.Texts("at_least", bounds).True("partial", row.Partial(r.run.Interval))
	if len(row.SLA) == 0 {
		return b.End()
	}
	b = b.Array("sla")
	for i := range row.SLA {
		v := &row.SLA[i]
		b = b.Begin().Text("rule", v.Rule.Text).Text("status", string(v.Status))
		b = figure(figure(b, "value", v.Value, v.Known), "threshold", v.Rule.Threshold, true)
		b = figure(figure(b, "share", v.Share, v.Share >= 0), "window_ms", float64(v.Window)/1e6, true).End()
	}
	return b.EndArray().End()
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
	_, err = fmt.Fprintf(r.out, "%s\"run\":%s,\n\"rows\":[", open, ui.EscapedJSON(b))
	return err
}

func (r *document) row(q *pipeline.Interval, row *pipeline.Row) error {
	r.rows++
	if r.rows > 1 {
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
	_, err = fmt.Fprintf(r.out, "\n],\n\"account\":%s%s\n", ui.EscapedJSON(b), closing)
	return err
}
