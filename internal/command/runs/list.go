package runs

import (
	"bufio"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fiolat/esmodel/stored"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/metric"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/internal/units"
	"fiolat/pipeline"
)

// ListOptions are what fiolat runs is asked for.
type ListOptions struct {
	Elasticsearch command.Elasticsearch
	Filter        stored.RunFilter
	Last          int            // how many runs, the latest; 0 is all
	Sort          *metric.Metric // nil is by start
	Down          bool           // the largest or the latest first
	Direction     string         // of the figures in the table
	Format        string         // table or json
	Unit          string         // of latencies in the table: ns, us or ms
}

// List prints the runs that are stored.
func List(ctx context.Context, o ListOptions, u *ui.UI) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	found, err := stored.ListRuns(ctx, client, o.Elasticsearch.Prefix, o.Filter)
	if err != nil {
		return err
	}
	rows := perRun(found)
	if o.Last > 0 && len(rows) > o.Last {
		rows = rows[:o.Last]
	}
	order(rows, &o)
	if m := o.Sort; m != nil && len(rows) > 0 {
		if _, known := rows[0].figure(m.Direction, m.Name); !known {
			u.Warn("none of these runs has " + m.String() + " stored")
		}
	}
	if o.Format == "json" {
		out := []stored.RunSummary{}
		for _, r := range rows {
			out = append(out, r...)
		}
		return ui.PrintJSON(u.Stdout, out, " ")
	}
	short, err := stored.ShortIDs(ctx, client, o.Elasticsearch.Prefix, o.Filter, found)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(u.Stdout)
	for _, line := range table(rows, short, &o) {
		out.WriteString(line + "\n") //nolint:errcheck // Flush says it
	}
	u.Say("info", "%d runs", len(rows))
	return out.Flush()
}

// run is the documents of one run, or of one part of it: one of each kind of latency, clat first.
type run []stored.RunSummary

// perRun puts the kinds of each run together, in the order of the runs.
func perRun(found []stored.RunSummary) (rows []run) {
	at := map[[2]string]int{}
	for _, r := range found {
		key := [2]string{r.Run.ID, r.Run.Part}
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key], rows = i, append(rows, nil)
		}
		rows[i] = append(rows[i], r)
	}
	kinds := []string{"clat", "lat", "slat", "sync"}
	for _, r := range rows {
		slices.SortStableFunc(r, func(a, b stored.RunSummary) int {
			return cmp.Compare(uint(slices.Index(kinds, a.Fio.Kind)), uint(slices.Index(kinds, b.Fio.Kind)))
		})
	}
	return rows
}

// figure is a number of the first kind of a run.
func (r run) figure(direction, name string) (float64, bool) {
	v, ok := r[0].Summary[direction][strings.ReplaceAll(name, ".", "_")].(float64)
	return v, ok
}

// order sorts runs, of which the latest come first, by a figure; those without it are the last.
func order(rows []run, o *ListOptions) {
	if o.Sort == nil {
		if !o.Down {
			slices.Reverse(rows)
		}
		return
	}
	slices.SortStableFunc(rows, func(a, b run) int {
		x, known := a.figure(o.Sort.Direction, o.Sort.Name)
		y, known2 := b.figure(o.Sort.Direction, o.Sort.Name)
		if known != known2 {
			if known {
				return -1
			}
			return 1
		}
		if o.Down {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
}

// lineWidth is how long a line of the table is at most, unless names that must be whole make it longer.
const lineWidth = 120

// Columns of the table that are cut to what is left of a line.
const (
	nameColumn  = 2
	labelColumn = 11
)

// table is a line for each run, the head first.
func table(rows []run, short map[string]string, o *ListOptions) (lines []string) {
	divisor := units.Divisors[o.Unit]
	of := ""
	if o.Direction != pipeline.All {
		of = o.Direction + "_"
	}
	head := []string{"start", "run", "name", "status", "kind", "length", "hosts", of + "iops", "p50_" + o.Unit,
		"p99_" + o.Unit, "p99.9_" + o.Unit, "labels"}
	cells := [][]string{head}
	for _, r := range rows {
		first, length := r[0], "-"
		start, err := time.Parse(time.RFC3339Nano, first.Run.Start)
		if first.Run.End != nil && err == nil {
			if end, bad := time.Parse(time.RFC3339Nano, *first.Run.End); bad == nil {
				length = end.Sub(start).Round(time.Second).String()
			}
		}
		id := errs.Printable(short[first.Run.ID])
		if first.Run.Part != "" {
			id += " (" + errs.Printable(first.Run.Part) + ")"
		}
		var kinds, labels []string
		for _, k := range r {
			kinds = append(kinds, k.Fio.Kind)
		}
		for k, v := range first.Labels {
			labels = append(labels, k+"="+v)
		}
		slices.Sort(labels)
		value := func(name string, divisor float64) string {
			v, ok := r.figure(o.Direction, name)
			if !ok {
				return "-"
			}
			return strconv.FormatFloat(v/divisor, 'f', render.Decimals(v/divisor), 64)
		}
		cells = append(cells, []string{start.UTC().Format("2006-01-02T15:04:05Z"), id, dash(first.Run.Name),
			string(first.Run.Status), strings.Join(kinds, ","), length, strconv.Itoa(len(first.Host.Name)),
			value("iops", 1), value("p50", divisor), value("p99", divisor), value("p99.9", divisor),
			dash(strings.Join(labels, ","))})
	}
	widths := columnWidths(cells)
	for _, row := range cells {
		line := ""
		for i, c := range row {
			c = cut(c, widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i >= 5 && i < labelColumn { // numbers
				c = pad + c
			} else {
				c += pad
			}
			line += c + "  "
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// columnWidths are those of the longest cells, names and labels in what the others leave them.
func columnWidths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	left := lineWidth
	for i := range widths {
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		if left -= 2; i != nameColumn && i != labelColumn {
			left -= widths[i]
		}
	}
	left = max(left+2, 2*len("labels"))
	half := left / 2
	name := min(widths[nameColumn], max(half, left-widths[labelColumn]))
	widths[nameColumn], widths[labelColumn] = name, min(widths[labelColumn], left-name)
	return widths
}

// cut shortens a text that is wider than its column.
func cut(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return text
}

// dash is a name from elsewhere, "-" where there is none.
func dash(v string) string { return cmp.Or(errs.Printable(v), "-") }
