package render

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"fiolat/internal/ui"
)

// optional are the columns that a table on a terminal leaves out, in this order, until it fits. What they say follows
// from the others, or matters to few. A latency is named without its unit, and takes its limits with it.
var optional = []string{"stddev", "min", "mean", "groups", "coarse", "fio", "starts at", "interval",
	"lat - slat - clat", "job", "host", "run noise", "quanta", "expected", "pooled", "p90", "p95", "samples", "ios",
	"mib/s", "records", "restored", "missing", "length", "hosts", "labels", "95 % limits"}

// fitted lays out a table, for a terminal of width columns if that is not 0. The first row of the first call is the
// header, and decides with the others which columns are shown.
type fitted struct {
	width  int
	keep   []string // columns that stay
	hidden []string
	shown  []bool // by column; nil before the first call
}

// least is the width down to which text in the last column may be wrapped.
const least = 20

// layout prints rows, with numbers aligned to the right.
func (f *fitted) layout(out io.Writer, columns []Column, table [][]string) {
	widths := make([]int, len(columns))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], ui.TextWidth(cell))
		}
	}
	if f.shown == nil {
		f.choose(table[0], columns, widths)
	}
	var line strings.Builder
	for _, row := range table {
		line.Reset()
		for i, cell := range row {
			if !f.shown[i] {
				continue
			}
			pad := strings.Repeat(" ", widths[i]-ui.TextWidth(cell))
			if line.Len() > 0 {
				line.WriteString("  ")
			}
			left := columns[i].Text && !columns[i].Right
			if indent := ui.TextWidth(line.String()); left && i == len(columns)-1 && f.width-indent >= least {
				cell = strings.ReplaceAll(ui.Wrap(cell, f.width-indent), "\n", "\n"+strings.Repeat(" ", indent))
			}
			if left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		io.WriteString(out, strings.TrimRight(line.String(), " ")+"\n") //nolint:errcheck // out keeps it
	}
}

// choose decides which columns of these names are shown.
func (f *fitted) choose(names []string, columns []Column, widths []int) {
	f.shown = slices.Repeat([]bool{true}, len(widths))
	if f.width == 0 {
		return
	}
	total := -2
	for i, w := range widths {
		if i == len(widths)-1 && columns[i].Text && !columns[i].Right {
			w = min(w, least)
		}
		total += w + 2
	}
	for _, name := range optional {
		for i, head := range names {
			if total <= f.width {
				return
			}
			if base, _, _ := strings.Cut(head, "_"); base == name && !slices.Contains(f.keep, name) {
				f.shown[i] = false
				f.hidden = append(f.hidden, head)
				total -= widths[i] + 2
			}
		}
	}
}

// note says below the table what it leaves out.
func (f *fitted) note(out io.Writer) {
	if len(f.hidden) > 0 {
		fmt.Fprintf(out, "not shown in %d columns: %s\n", f.width, strings.Join(f.hidden, ", "))
	}
}

// Tabs is a text/tabwriter whose tables fit a terminal. An empty line begins another table.
type Tabs struct {
	Out   io.Writer
	Width int // of the terminal in columns; 0: no limit
	// Right, if not 0, is the first of the columns that are aligned to the right; the last column never is.
	Right int
	Keep  []string // columns that stay, although they are optional elsewhere
	text  bytes.Buffer
}

// Write keeps lines of cells, separated by tabs, until Flush.
func (t *Tabs) Write(p []byte) (int, error) { return t.text.Write(p) }

// Flush prints the tables.
func (t *Tabs) Flush() error {
	out := bufio.NewWriter(t.Out)
	for n, text := range strings.Split(t.text.String(), "\n\n") {
		if n > 0 {
			out.WriteByte('\n') //nolint:errcheck // Flush says it
		}
		var table [][]string
		for line := range strings.Lines(text) {
			table = append(table, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		if len(table) == 0 {
			continue
		}
		columns := make([]Column, len(table[0]))
		for i := range columns {
			columns[i].Text = t.Right == 0 || i < t.Right || i == len(columns)-1
		}
		f := fitted{width: t.Width, keep: t.Keep}
		f.layout(out, columns, table)
		f.note(out)
	}
	t.text.Reset()
	return out.Flush()
}
