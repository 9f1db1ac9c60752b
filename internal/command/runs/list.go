package runs

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/metric"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/internal/units"
	"fiolat/pipeline"
)

// ListOptions are the options of fiolat runs.
type ListOptions struct {
	Elasticsearch command.Elasticsearch
	Filter        stored.RunFilter
	Last          int            // how many runs, the latest; 0 is all
	Sort          *metric.Metric // nil is by start
	Down          bool           // the largest or the latest first
	Direction     string         // of the figures in the table
	Format        string         // table or json
	Unit          string         // of latencies in the table: ns, us or ms
	Size          bool           // sizes in Elasticsearch instead of figures
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
	var sizes map[string]stored.Size
	if o.Size {
		if sizes, err = stored.Sizes(ctx, client, o.Elasticsearch.Prefix); err != nil {
			return err
		}
		if o.Format == "json" {
			return ui.PrintJSON(u.Stdout, sizesOf(rows, sizes), " ")
		}
	}
	if o.Format == "json" {
		return ui.PrintJSON(u.Stdout, append([]stored.RunSummary{}, slices.Concat(rows...)...), " ") // [] for none
	}
	short, err := stored.ShortIDs(ctx, client, o.Elasticsearch.Prefix, o.Filter, found)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(u.Stdout)
	for _, line := range table(rows, short, sizes, &o) {
		out.WriteString(line + "\n") //nolint:errcheck // Flush says it
	}
	text := fmt.Sprintf("%d runs", len(rows))
	for _, r := range rows {
		if len(r[0].Parts) > 0 && r[0].Run.Status == esmodel.StatusPartial {
			u.Warn("run " + errs.Printable(short[r[0].Run.ID]) + ": " + stored.MergeAgain)
		}
	}
	rolledUp := slices.DeleteFunc(rows, func(r run) bool { return r[0].RollUp.MS == 0 })
	if n := len(rolledUp); n > 0 {
		text += fmt.Sprintf(", %d of them rolled up", n)
	}
	u.Say("info", "%s", text)
	return out.Flush()
}

// run is the documents of one run, or of one part of it: one of each kind of latency, clat first.
type run []stored.RunSummary

// perRun groups the kinds of each run, in the order of the runs.
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

// figure returns a number of the first kind of a run.
func (r run) figure(direction, name string) (float64, bool) {
	v, ok := r[0].Summary[direction][strings.ReplaceAll(name, ".", "_")].(float64)
	return v, ok
}

// order sorts runs, given with the latest first, by a figure. Those without it come last.
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

// lineWidth limits a line of the table, unless the columns that are never cut are longer.
const lineWidth = 120

// nameColumn is cut to fit the line, as is the last column, the labels.
const nameColumn = 2

// table returns the head, a line for each run, and with sizes a line for the total.
func table(rows []run, short map[string]string, sizes map[string]stored.Size, o *ListOptions) (lines []string) {
	head := []string{"start", "run", "name", "status", "kind", "length", "hosts"}
	if o.Size {
		head = append(head, "interval", "documents", "MB")
	} else {
		of := ""
		if o.Direction != pipeline.All {
			of = o.Direction + "_"
		}
		head = append(head, of+"iops", "p50_"+o.Unit, "p99_"+o.Unit, "p99.9_"+o.Unit)
	}
	cells := [][]string{append(head, "labels")}
	left := maps.Clone(sizes)
	for _, r := range rows {
		row := r.cells(short)
		if o.Size {
			size, known := left[r[0].Run.ID]
			delete(left, r[0].Run.ID) // once, not for each part
			row = append(append(row, r.interval()), sizeCells(size, known)...)
		} else {
			for i, name := range []string{"iops", "p50", "p99", "p99.9"} {
				cell, divisor := "-", units.Divisors[o.Unit]
				if i == 0 {
					divisor = 1
				}
				if v, ok := r.figure(o.Direction, name); ok {
					cell = strconv.FormatFloat(v/divisor, 'f', render.Decimals(v/divisor), 64)
				}
				row = append(row, cell)
			}
		}
		cells = append(cells, append(row, dash(strings.Join(r.labels(), ","))))
	}
	if o.Size {
		total := slices.Concat([]string{"total"}, slices.Repeat([]string{""}, len(head)-3),
			sizeCells(sizesOf(rows, sizes).Total, true), []string{""})
		cells = append(cells, total)
	}
	return lay(cells)
}

// cells returns the cells of a run before its figures.
func (r run) cells(short map[string]string) []string {
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
	var kinds []string
	for _, k := range r {
		kinds = append(kinds, k.Fio.Kind)
	}
	return []string{start.UTC().Format("2006-01-02T15:04:05Z"), id, dash(first.Run.Name), string(first.Run.Status),
		strings.Join(kinds, ","), length, strconv.Itoa(len(first.Host.Name))}
}

// interval formats the interval of the quanta, and in brackets the one before a rollup.
func (r run) interval() string {
	if before := r[0].RollUp.MS; before > 0 {
		return ms(r[0].Interval.MS) + " (" + ms(before) + ")"
	}
	return ms(r[0].Interval.MS)
}

// ms formats a time given in ms.
func ms(v float64) string { return time.Duration(math.Round(v * 1e6)).String() }

func (r run) labels() (labels []string) {
	for k, v := range r[0].Labels {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	return labels
}

func lay(cells [][]string) (lines []string) {
	widths := columnWidths(cells)
	for _, row := range cells {
		line := ""
		for i, c := range row {
			c = cut(c, widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i >= 5 && i < len(row)-1 { // numbers
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

// columnWidths returns the width of each column. Names and labels share what the others leave.
func columnWidths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	left, labelColumn := lineWidth, len(widths)-1
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

// dash makes a name printable, "-" if it is empty.
func dash(v string) string { return cmp.Or(errs.Printable(v), "-") }
