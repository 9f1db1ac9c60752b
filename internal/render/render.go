// Package render prints rows of percentiles as a table, CSV, JSON or NDJSON.
package render

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"fiolat/internal/errs"
	"fiolat/internal/fiohist"
	"fiolat/internal/sla"
	"fiolat/internal/ui"
	"fiolat/internal/units"
	"fiolat/pipeline"
)

// Renderer is a pipeline.Sink that prints rows.
type Renderer struct {
	pipeline.Discard
	run    *pipeline.Run
	out    *bufio.Writer
	limits bool // confidence limits as columns of table and csv
	nth    int  // from 1: the kind of latency, of so many that follow each other
	Of     int  // as many kinds follow each other
	// begin, row and end are the format.
	begin func() error
	row   func(q *pipeline.Quantum, r *pipeline.Row) error
	end   func(*pipeline.Summary) error
	buf   []byte
}

// New makes a Renderer for one of the formats table, csv, json and ndjson, with latencies in ns, us or ms.
func New(format, unit string, limits bool, out *bufio.Writer) *Renderer {
	r := &Renderer{out: out, limits: limits, Of: 1, begin: func() error { return nil },
		end: func(*pipeline.Summary) error { return nil }}
	divisor := units.Divisors[unit]
	switch format {
	case "ndjson":
		r.row = func(q *pipeline.Quantum, row *pipeline.Row) error {
			r.buf = append(r.appendJSON(r.buf[:0], q, row), '\n')
			_, err := r.out.Write(r.buf)
			return err
		}
	case "json":
		r.json()
	case "csv":
		r.csv(unit, divisor)
	default:
		r.table(unit, divisor)
	}
	return r
}

// Begin prints what comes before the rows.
func (r *Renderer) Begin(_ context.Context, run *pipeline.Run) error {
	r.run = run
	r.nth++
	return r.begin()
}

// Quantum prints the rows of a quantum.
func (r *Renderer) Quantum(_ context.Context, q *pipeline.Quantum) error {
	for i := range q.Rows {
		if err := r.row(q, &q.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Late prints the rows.
func (r *Renderer) Late(ctx context.Context, q *pipeline.Quantum) error { return r.Quantum(ctx, q) }

// Flush writes what is held back.
func (r *Renderer) Flush() error { return r.out.Flush() }

// End prints what comes after the rows.
func (r *Renderer) End(_ context.Context, s *pipeline.Summary) error { return r.end(s) }

// timestamp is the wall-clock start of a quantum, "" if it is not known.
func (r *Renderer) timestamp(offset int64) string {
	if !r.run.StartKnown {
		return ""
	}
	return time.Unix(0, r.run.Start+offset).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// number is f as briefly as it can be read back exactly.
func number(dst []byte, f float64) []byte { return strconv.AppendFloat(dst, f, 'f', -1, 64) }

// appendJSON appends the row as the NDJSON of the contract: ns, and null where
// there is nothing to say.
func (r *Renderer) appendJSON(b []byte, q *pipeline.Quantum, row *pipeline.Row) []byte {
	text := func(name, v string) {
		b = append(b, ',', '"')
		b = append(b, name...)
		b = append(b, '"', ':')
		if v == "" {
			b = append(b, "null"...)
			return
		}
		quoted, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings always marshal
		}
		b = append(b, ui.PrintableJSON(quoted)...)
	}
	s := &row.Stats
	value := func(name string, v float64) {
		b = append(b, name...)
		if s.Empty() {
			b = append(b, "null"...)
			return
		}
		b = number(b, v)
	}
	b = append(b, `{"offset_ms":`...)
	b = number(b, float64(q.Offset)/1e6)
	text("timestamp", r.timestamp(q.Offset))
	text("scope", row.Scope)
	text("direction", row.Dims.Direction)
	text("host", row.Dims.Host)
	text("job", row.Dims.Job)
	text("log", row.Dims.Log)
	text("kind", r.run.Kind.String())
	b = append(b, `,"samples":`...)
	b = number(b, s.Samples)
	b = append(b, `,"logs":`...)
	b = strconv.AppendInt(b, int64(row.Logs), 10)
	b = append(b, `,"concurrency":`...)
	if row.IOPSKnown {
		b = number(b, row.Concurrency())
	} else {
		b = append(b, "null"...)
	}
	if t := row.Tail; t != nil {
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
		value(`"`+units.Percentile(p)+`":`, s.Percentiles[i])
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
		b = append(b, `"`+units.Percentile(p)+`":{"lower":`...)
		limit(s.Lower[i])
		b = append(b, `,"upper":`...)
		limit(s.Upper[i])
		b = append(b, '}')
	}
	b = append(b, '}')
	if len(s.AtLeast) > 0 {
		b = append(b, `,"at_least":[`...)
		for i, k := range s.AtLeast {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, units.Percentile(r.run.Percentiles[k])...)
			b = append(b, '"')
		}
		b = append(b, ']')
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

// verdict is what the rules say of a row together, "" without any.
func verdict(row *pipeline.Row) string {
	worst := ""
	for _, v := range row.SLA {
		if worst == "" || v.Status == sla.Broken || v.Status == sla.Unknown && worst == string(sla.OK) {
			worst = string(v.Status)
		}
	}
	return worst
}

// json is one object: what the run is, and its rows; of several kinds an array of
// such objects.
func (r *Renderer) json() {
	rows := 0
	r.begin = func() error {
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
		if r.Of > 1 { // an object for each kind
			open = map[bool]string{true: "[{", false: ",{"}[r.nth == 1]
		}
		rows = 0
		_, err = fmt.Fprintf(r.out, "%s\"run\":%s,\n\"rows\":[", open, ui.PrintableJSON(b))
		return err
	}
	r.row = func(q *pipeline.Quantum, row *pipeline.Row) error {
		if rows++; rows > 1 {
			r.out.WriteByte(',') //nolint:errcheck // bufio keeps the error for the next write
		}
		r.out.WriteByte('\n') //nolint:errcheck // as above
		r.buf = r.appendJSON(r.buf[:0], q, row)
		_, err := r.out.Write(r.buf)
		return err
	}
	r.end = func(s *pipeline.Summary) error {
		b, err := json.Marshal(s.Account)
		if err != nil {
			return err
		}
		closing := "}"
		if r.Of > 1 && r.nth == r.Of {
			closing = "}]"
		}
		_, err = fmt.Fprintf(r.out, "\n],\n\"account\":%s%s\n", ui.PrintableJSON(b), closing)
		return err
	}
}

// names are those of the columns that fields fills, in a unit.
func (r *Renderer) names(unit string) []string {
	names := []string{"min_" + unit, "max_" + unit, "mean_" + unit, "stddev_" + unit}
	for _, p := range r.run.Percentiles {
		p := "p" + units.Percentile(p)
		names = append(names, p+"_"+unit)
		if r.limits {
			names = append(names, p+"_lower_"+unit, p+"_upper_"+unit)
		}
	}
	if len(r.run.Settings.SLA) > 0 {
		names = append(names, "sla")
	}
	return names
}

// fields are the statistics of a row in a unit, "" where there are none.
func (r *Renderer) fields(row *pipeline.Row, format func(float64) string) []string {
	s := &row.Stats
	text := func(v float64, prefix string) string {
		if s.Empty() || v == fiohist.NoLimit {
			return ""
		}
		return prefix + format(v)
	}
	out := []string{text(s.Min, ""), text(s.Max, ""), text(s.Mean, ""), text(s.StdDev, "")}
	for i, v := range s.Percentiles {
		prefix := ""
		if slices.Contains(s.AtLeast, i) {
			prefix = ">="
		}
		out = append(out, text(v, prefix))
		if r.limits {
			out = append(out, text(s.Lower[i], ""), text(s.Upper[i], ""))
		}
	}
	if len(r.run.Settings.SLA) > 0 {
		out = append(out, verdict(row))
	}
	return out
}

func (r *Renderer) csv(unit string, divisor float64) {
	w := csv.NewWriter(r.out)
	head := []string{"offset_ms", "timestamp", "scope", "direction", "host", "job", "log", "kind", "samples", "logs",
		"iops", "concurrency"}
	r.begin = func() error {
		if r.nth > 1 {
			return nil // under the head of the first
		}
		head = append(head, r.names(unit)...)
		return w.Write(head)
	}
	plain := func(f float64) string { return string(number(nil, f)) }
	r.row = func(q *pipeline.Quantum, row *pipeline.Row) error {
		iops, concurrency := "", ""
		if row.IOPSKnown {
			iops, concurrency = plain(row.IOPS), plain(row.Concurrency())
		}
		rec := []string{plain(float64(q.Offset) / 1e6), r.timestamp(q.Offset), row.Scope, row.Dims.Direction,
			CSVName(row.Dims.Host), CSVName(row.Dims.Job), CSVName(row.Dims.Log), r.run.Kind.String(),
			plain(row.Stats.Samples), strconv.Itoa(row.Logs), iops, concurrency}
		rec = append(rec, r.fields(row, func(v float64) string { return plain(v / divisor) })...)
		return w.Write(append(rec, make([]string, len(head)-len(rec))...)) // rules are about the first kind
	}
	r.end = func(*pipeline.Summary) error {
		w.Flush()
		return w.Error()
	}
}

// CSVName is a name as a cell of CSV. Whoever named a host or a job must not make a
// spreadsheet compute: what would be a formula gets a quote in front.
func CSVName(name string) string {
	name = errs.Printable(name)
	if name != "" && strings.ContainsRune("=+-@", rune(name[0])) {
		return "'" + name
	}
	return name
}

// table is for people: only the columns that say something, and rounded.
func (r *Renderer) table(unit string, divisor float64) {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := 0
	var by []string
	r.begin = func() error {
		by = r.run.Settings.By
		if r.Of > 1 {
			fmt.Fprintf(r.out, "%v\n", r.run.Kind)
		}
		fmt.Fprint(w, "time\t")
		for _, dim := range by {
			fmt.Fprintf(w, "%s\t", dim)
		}
		_, err := fmt.Fprintf(w, "samples\tiops\t%s\t\n", strings.Join(r.names(unit), "\t"))
		return err
	}
	round := func(v float64) string { return strconv.FormatFloat(v/divisor, 'f', Decimals(v/divisor), 64) }
	r.row = func(q *pipeline.Quantum, row *pipeline.Row) error {
		fmt.Fprintf(w, "%s\t", time.Duration(q.Offset))
		for _, dim := range by {
			v := map[string]string{"host": row.Dims.Host, "job": row.Dims.Job, "log": row.Dims.Log,
				"direction": row.Dims.Direction}[dim]
			if v == "" {
				v = pipeline.All
			}
			fmt.Fprintf(w, "%s\t", errs.Printable(v))
		}
		iops := ""
		if row.IOPSKnown {
			iops = strconv.FormatFloat(row.IOPS, 'f', Decimals(row.IOPS), 64)
		}
		fmt.Fprintf(w, "%s\t%s\t", strconv.FormatFloat(row.Stats.Samples, 'f', Decimals(row.Stats.Samples), 64), iops)
		for _, f := range r.fields(row, round) {
			fmt.Fprintf(w, "%s\t", f)
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if rows++; rows%1000 == 0 { // a day of seconds must not wait for its end
			return w.Flush()
		}
		return nil
	}
	r.end = func(*pipeline.Summary) error { return w.Flush() }
}

// Decimals leaves four significant digits or so.
func Decimals(v float64) int {
	switch {
	case v >= 1000 || v == 0:
		return 0
	case v >= 100:
		return 1
	case v >= 10:
		return 2
	}
	return 3
}
