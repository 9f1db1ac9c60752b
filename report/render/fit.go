package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"fiolat/internal/ui"
)

// optional are the columns that a table on a terminal leaves out, in this order, until it fits. What they say follows
// from the others, or matters to few. A latency is named without its unit, and takes its limits with it.
var optional = []string{"stddev", "min", "mean", "groups", "coarse", "fio", "starts at", "interval",
	"lat - slat - clat", "job", "host", "run noise", "quanta", "expected", "pooled", "p90", "p95", "samples", "ios",
	"mib/s", "records", "restored", "missing", "length", "hosts", "labels", "95 % limits"}

// fitted prints a table, in Markdown or for a terminal of width columns if that is not 0. The first row of the first
// call is the header, and decides with the others which columns are shown.
type fitted struct {
	width    int
	markdown bool
	keep     []string // columns that stay
	less     []string // columns that are optional after the others
	hidden   []string
	shown    []bool // by column; nil before the first call
	most     []int  // by column: longer names are shortened; 0: none
}

// named are the columns that hold names.
var named = []string{"run", "name", "job", "host", "log", "target"}

const (
	// least is the width down to which text in the last column may be wrapped.
	least = 20
	// leastName is the width down to which names are shortened.
	leastName = 8
)

// layout prints rows, with numbers aligned to the right.
func (f *fitted) layout(out io.Writer, columns []*Column, table [][]string) {
	if f.markdown {
		f.cells(out, columns, table)
		return
	}
	widths := make([]int, len(columns))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], ui.TextWidth(cell))
		}
	}
	if f.shown == nil {
		f.choose(table[0], columns, widths)
	}
	for i, most := range f.most {
		if f.shown[i] && 0 < most && most < widths[i] {
			widths[i] = shortenColumn(table, i, most)
		}
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

// cells prints rows in Markdown, with all columns.
func (f *fitted) cells(out io.Writer, columns []*Column, table [][]string) {
	for n, row := range table {
		cells, align := make([]string, len(columns)), make([]string, len(columns))
		for i, c := range columns {
			if i < len(row) {
				cells[i] = Markdown(row[i])
			}
			align[i] = "---:"
			if c.Text && !c.Right {
				align[i] = "---"
			}
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
		if n == 0 && f.shown == nil {
			f.shown = slices.Repeat([]bool{true}, len(columns))
			fmt.Fprintf(out, "| %s |\n", strings.Join(align, " | "))
		}
	}
}

// choose decides which columns of these names are shown.
func (f *fitted) choose(names []string, columns []*Column, widths []int) {
	f.shown, f.most = slices.Repeat([]bool{true}, len(widths)), make([]int, len(widths))
	if f.width == 0 {
		return
	}
	widths = slices.Clone(widths)
	if last := len(widths) - 1; columns[last].Text && !columns[last].Right {
		widths[last] = min(widths[last], least)
	}
	total := -2
	for _, w := range widths {
		total += w + 2
	}
	for _, name := range slices.Concat(optional, f.less) {
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
	for ; total > f.width; total-- {
		widest, at := leastName, -1
		for i, w := range widths[:len(widths)-1] {
			w = cmp.Or(f.most[i], w)
			if f.shown[i] && slices.Contains(named, names[i]) && w > widest {
				widest, at = w, i
			}
		}
		if at < 0 {
			return
		}
		f.most[at] = widest - 1
	}
}

// shortenColumn shortens the names of a column to so many columns of the terminal, and returns its new width. If names
// would be the same, none is shortened.
func shortenColumn(table [][]string, column, most int) (width int) {
	long := map[string]bool{}
	for _, row := range table {
		if ui.TextWidth(row[column]) > most {
			long[row[column]] = true
		}
	}
	short := shorten(slices.Sorted(maps.Keys(long)), most)
	for _, row := range table {
		row[column] = cmp.Or(short[row[column]], row[column])
		width = max(width, ui.TextWidth(row[column]))
	}
	return width
}

// shorten returns the names with at most so many columns, an ellipsis for what they have in common: their middles, if
// that leaves them different, else all but where they differ and as much around it as fits. nil: neither does.
func shorten(names []string, most int) map[string]string {
	long := 0
	for _, name := range names {
		long = max(long, utf8.RuneCountInString(name))
	}
	try := func(keep func(i, length int) bool) map[string]string {
		out, seen := map[string]string{}, map[string]bool{}
		for _, name := range names {
			var short []rune
			runes := []rune(name)
			for i, r := range runes {
				if keep(i, len(runes)) {
					short = append(short, r)
				} else if len(short) == 0 || short[len(short)-1] != '…' {
					short = append(short, '…')
				}
			}
			s := string(short)
			if ui.TextWidth(s) > most || seen[s] {
				return nil
			}
			out[name], seen[s] = s, true
		}
		return out
	}
	out := try(func(i, length int) bool { return i < most/2 || i >= length-(most-1)/2 })
	for _, from := range []func(i, length int) int{ // names of hosts often end alike, names of files begin so
		func(i, _ int) int { return i }, func(i, length int) int { return length - 1 - i },
	} {
		differ := make([]bool, long)
		for _, name := range names {
			a, b := []rune(names[0]), []rune(name)
			for i := range differ {
				x, y := from(i, len(a)), from(i, len(b))
				differ[i] = differ[i] || min(x, y) < 0 || x >= len(a) || y >= len(b) || a[x] != b[y]
			}
		}
		for around := most; out == nil && around >= 0; around-- {
			kept := make([]bool, long)
			for i := range kept {
				kept[i] = slices.Contains(differ[max(i-around, 0):min(i+around+1, long)], true)
			}
			out = try(func(i, length int) bool { return kept[from(i, length)] })
		}
	}
	return out
}

// note says below the table what it leaves out.
func (f *fitted) note(out io.Writer) {
	if len(f.hidden) > 0 {
		fmt.Fprintf(out, "not shown in %d columns: %s\n", f.width, strings.Join(f.hidden, ", "))
	}
}
