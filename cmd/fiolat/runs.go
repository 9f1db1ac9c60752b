package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/report/render"
)

type runsOptions struct {
	es     runsource.Elasticsearch
	filter runFilter
	last   int         // how many runs, the latest; 0 is all
	by     string      // --sort
	sort   *fio.Metric // nil is by start
	down   bool        // the largest or the latest first
	size   bool        // sizes in Elasticsearch instead of figures
	format string
	unit   string // of latencies in the table
}

func runsCommand(u *ui.UI) *cli.Command {
	o := &runsOptions{}
	return &cli.Command{
		Name: "runs",
		Flags: slices.Concat(esFlags(&o.es), o.filter.flags(), []cli.Flag{
			widthFlag(),
			&cli.IntFlag{Name: "last", Destination: &o.last,
				Usage: "the last `N` runs"},
			&cli.StringFlag{Name: "sort", Destination: &o.by,
				Usage: "order runs by `METRIC`, such as 'read p99', or -METRIC, the largest first (default: -start)"},
			&cli.BoolFlag{Name: "size", Destination: &o.size,
				Usage: "documents and bytes in Elasticsearch instead of figures"},
			&cli.GenericFlag{Name: "format", Value: oneFormat(&o.format, "table", "markdown", "csv",
				"parquet", "json"), Usage: "`FORMAT`: table, markdown, csv, parquet or json"},
			&cli.GenericFlag{Name: "unit", Value: withDefault("us", oneOf(&o.unit, "unit", render.Units...)),
				Usage: "`UNIT` of latencies in tables: ns, us, ms, s or auto"},
			fileFlag(".csv"),
		}),
		Action: action(u, o),
	}
}

func (o *runsOptions) check(c *cli.Context, bad *fio.Faults) {
	o.filter.Named = c.Args().Slice()
	if c.IsSet("last") && o.last < 1 {
		bad.Add(fio.Usagef("--last %d: want a number of runs", o.last))
	}
	by, down := strings.CutPrefix(o.by, "-")
	o.down = down || by == ""
	if by != "" && by != "start" {
		m, err := fio.ParseMetric(by)
		if err != nil {
			bad.Add(fio.Usagef("--sort %v, or start", err))
		}
		o.sort = &m
	}
	o.filter.check(bad)
	checkES(c, &o.es, bad)
}

// runFilter chooses among the runs in Elasticsearch.
type runFilter struct {
	stored.RunFilter
	labels, options cli.StringSlice
}

func (f *runFilter) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "label", Destination: &f.labels,
			Usage: "only runs with the label `KEY=VALUE`"},
		&cli.StringSliceFlag{Name: "option", Destination: &f.options,
			Usage: "only runs with the job option `KEY=VALUE`"},
		&cli.GenericFlag{Name: "since", Value: parsed(&f.Since, "--since ", moment),
			Usage: "runs that started at `TIME` or later: a day, RFC 3339, or an age such as 12h, 7d, 4w"},
		&cli.GenericFlag{Name: "until", Value: parsed(&f.Until, "--until ", moment),
			Usage: "runs that started before `TIME`"},
	}
}

func (f *runFilter) check(bad *fio.Faults) {
	var err error
	f.Labels, err = pairs("--label", f.labels.Value())
	bad.Add(err)
	f.Options, err = pairs("--option", f.options.Value())
	bad.Add(err)
}

// chosenRuns are the runs that a command changes.
type chosenRuns struct {
	names     []string // by id, name, or the beginning of an id; none: those of olderThan and label
	olderThan string
	label     cli.StringSlice
	filter    stored.RunFilter
}

func (o *chosenRuns) olderThanFlag() cli.Flag {
	return &cli.StringFlag{Name: "older-than", Destination: &o.olderThan,
		Usage: "runs that started before that `AGE`, such as 12h, 30d, 8w, and ended more than an hour ago"}
}

func (o *chosenRuns) labelFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "label", Destination: &o.label, Usage: "only runs with the label `KEY=VALUE`"}
}

func (o *chosenRuns) check(c *cli.Context, bad *fio.Faults) {
	o.names = c.Args().Slice()
	switch chosen := c.IsSet("older-than") || c.IsSet("label"); {
	case chosen && len(o.names) > 0:
		bad.Add(fio.Usagef("name runs, or choose them by --older-than and --label, not both"))
	case !chosen && len(o.names) == 0:
		bad.Add(fio.Usagef("fiolat %s: name runs, or choose them by --older-than or --label", c.Command.Name))
	}
	if c.IsSet("older-than") {
		if !age.MatchString(o.olderThan) {
			bad.Add(fio.Usagef("--older-than %q: want an age such as 12h, 30d or 8w", o.olderThan))
		}
		o.filter.Until = "now-" + o.olderThan
	}
	var err error
	o.filter.Labels, err = pairs("--label", o.label.Value())
	bad.Add(err)
}

// find returns the runs, each once.
func (o *chosenRuns) find(ctx context.Context, c *client.Client, prefix string) (runs []stored.RunSummary, err error) {
	var found []stored.RunSummary
	for _, name := range o.names {
		run, err := stored.FindRun(ctx, c, prefix, name)
		if err != nil {
			return nil, err
		}
		found = append(found, *run)
	}
	if len(o.names) == 0 {
		if found, err = stored.ListRuns(ctx, c, prefix, o.filter); err != nil {
			return nil, err
		}
	}
	seen, fresh := map[string]bool{}, map[string]bool{}
	for _, r := range found { // of some part or kind of latency
		ended, err := time.Parse(time.RFC3339Nano, *cmp.Or(r.Run.End, &r.Run.Start))
		fresh[r.Run.ID] = fresh[r.Run.ID] || o.olderThan != "" && (err != nil || time.Since(ended) < time.Hour)
	}
	for _, r := range found {
		if !seen[r.Run.ID] && !fresh[r.Run.ID] {
			runs = append(runs, r)
		}
		seen[r.Run.ID] = true
	}
	return runs, nil
}

// runLine describes a run in a list before a question.
func runLine(r *stored.RunSummary) string {
	t := runsTable([]runKinds{{*r}}, map[string]string{r.Run.ID: r.Run.ID}, nil, &runsOptions{})
	var cells []string
	for _, c := range t.Columns[:4] {
		cells = append(cells, orDash(fio.Printable(c.Cells[0].Text)))
	}
	return strings.Join(cells, "  ")
}

var age = regexp.MustCompile(`^[0-9]{1,6}[smhdw]$`)

// moment parses a time for a filter: an age, returned as Elasticsearch date math, or what parseTime takes.
func moment(text string) (string, error) {
	if age.MatchString(text) {
		return "now-" + text, nil
	}
	t, ok := parseTime(text)
	if !ok {
		return "", fio.Usagef("%q: want a time such as 2026-01-31T12:00:00Z, or an age such as 12h or 7d", text)
	}
	return t.Format(time.RFC3339Nano), nil
}

// run prints the runs that are stored.
func (o *runsOptions) run(ctx context.Context, u *ui.UI) error {
	c, err := o.es.Connect(u)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := stored.ListRuns(ctx, c, o.es.Prefix, o.filter.RunFilter)
	if err != nil {
		return err
	}
	if err = stored.MarkGone(ctx, c, o.es.Prefix, found); err != nil {
		return err
	}
	rows := perRun(found)
	if o.last > 0 && len(rows) > o.last {
		rows = rows[:o.last]
	}
	orderRuns(rows, o)
	if m := o.sort; m != nil && len(rows) > 0 {
		if _, known := rows[0].figure(m.Direction, m.Name); !known {
			u.Warn("none of these runs has " + m.String() + " stored")
		}
	}
	var sizes map[string]stored.Size
	if o.size {
		sizes, err = stored.Sizes(ctx, c, o.es.Prefix)
		if no := (*client.RefusedError)(nil); errors.As(err, &no) && no.Status == http.StatusGone { // Serverless
			u.Warn("this cluster does not tell the sizes of its indices")
			err, o.size = nil, false
		}
		if err != nil {
			return err
		}
		if o.size && o.format == "json" {
			return ui.PrintJSON(u.Stdout, sizesOf(rows, sizes), " ")
		}
	}
	if o.format == "json" {
		return ui.PrintJSON(u.Stdout, append([]stored.RunSummary{}, slices.Concat(rows...)...), " ") // [] for none
	}
	short, err := stored.ShortIDs(ctx, c, o.es.Prefix, o.filter.RunFilter, found)
	if err != nil {
		return err
	}
	table := runsTable(rows, short, sizes, o)
	text := fio.Several(len(rows), "run")
	for _, r := range rows {
		if len(r[0].Parts) > 0 && r[0].Run.Status == esmodel.StatusPartial {
			u.Warn("run " + fio.Printable(short[r[0].Run.ID]) + ": " + stored.MergeAgain)
		}
	}
	if text := stored.WarnFormats(slices.Concat(rows...)); text != "" {
		u.Warn(text)
	}
	rolledUp := slices.DeleteFunc(rows, func(r runKinds) bool { return r[0].RollUp.MS == 0 })
	if n := len(rolledUp); n > 0 {
		text += fmt.Sprintf(", %d of them rolled up", n)
	}
	u.Say("info", "%s", text)
	how := style(u, o.format, o.unit)
	how.Less = []string{"kind", "p50"}
	err = table.Print(u.Stdout, how)
	if err == nil && o.size && o.format == "table" {
		total := sizesOf(rows, sizes).Total
		_, err = fmt.Fprintf(u.Stdout, "total: %s, %s MB\n", fio.Several(int(total.Documents), "document"),
			fio.Number(float64(total.Bytes)/1e6))
	}
	return err
}

// runKinds is the documents of one run, or of one part of it: one of each kind of latency, clat first.
type runKinds []stored.RunSummary

// perRun groups the kinds of each run, in the order of the runs.
func perRun(found []stored.RunSummary) (rows []runKinds) {
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
func (r runKinds) figure(direction, name string) (float64, bool) {
	v, ok := r[0].Summary[direction][strings.ReplaceAll(name, ".", "_")].(float64)
	return v, ok
}

// orderRuns sorts runs, given with the latest first, by a figure. Those without it come last.
func orderRuns(rows []runKinds, o *runsOptions) {
	if o.sort == nil {
		if !o.down {
			slices.Reverse(rows)
		}
		return
	}
	slices.SortStableFunc(rows, func(a, b runKinds) int {
		x, known := a.figure(o.sort.Direction, o.sort.Name)
		y, known2 := b.figure(o.sort.Direction, o.sort.Name)
		if known != known2 {
			if known {
				return -1
			}
			return 1
		}
		if o.down {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
}

// runRow is a run in the table.
type runRow struct {
	runKinds
	size *stored.Size // nil if it is not known, or that of another part
}

// runsTable returns the table of runs, with figures or sizes.
func runsTable(rows []runKinds, short map[string]string, sizes map[string]stored.Size, o *runsOptions,
) *render.Table[runRow] {
	t, left := &render.Table[runRow]{}, maps.Clone(sizes)
	for _, r := range rows {
		row := runRow{runKinds: r}
		if size, known := left[r[0].Run.ID]; known {
			row.size = &size
			delete(left, r[0].Run.ID) // once, not for each part
		}
		t.Rows = append(t.Rows, row)
	}
	t.Text("start", func(r *runRow) string { return r.start().UTC().Format("2006-01-02T15:04:05Z") })
	t.Text("run", func(r *runRow) string {
		id := short[r.runKinds[0].Run.ID]
		if part := r.runKinds[0].Run.Part; part != "" {
			id += " (" + part + ")"
		}
		return id
	})
	t.Text("name", func(r *runRow) string { return r.runKinds[0].Run.Name })
	t.Text("status", func(r *runRow) string { return r.status() })
	t.Text("kind", func(r *runRow) string { return r.kinds() })
	t.Text("length", func(r *runRow) string { return r.length() }).Right = true
	t.Number("hosts", func(r *runRow) render.Cell { return render.Cell{Number: float64(len(r.runKinds[0].Host.Name))} })
	if o.size {
		t.Text("interval", func(r *runRow) string { return r.interval() }).Right = true
		size := func(of func(*stored.Size) float64) func(*runRow) render.Cell {
			return func(r *runRow) render.Cell {
				if r.size == nil {
					return render.Known(nil)
				}
				return render.Cell{Number: of(r.size)}
			}
		}
		t.Number("documents", size(func(s *stored.Size) float64 { return float64(s.Documents) }))
		t.Number("MB", size(func(s *stored.Size) float64 { return float64(s.Bytes) / 1e6 }))
	} else {
		figure := func(name string) func(*runRow) render.Cell {
			return func(r *runRow) render.Cell {
				v, ok := r.figure(fio.All, name)
				if !ok {
					v = math.NaN()
				}
				return render.Cell{Number: v}
			}
		}
		t.Number("iops", figure("iops"))
		for _, name := range []string{"p50", "p99", "p99.9"} {
			t.Latency(name, figure(name))
		}
	}
	t.Text("labels", func(r *runRow) string { return strings.Join(r.labels(), ",") })
	return t
}

func (r runKinds) start() time.Time {
	start, err := time.Parse(time.RFC3339Nano, r[0].Run.Start)
	if err != nil {
		return time.Time{}
	}
	return start
}

// length is how long the run took, "" if that is not known.
func (r runKinds) length() string {
	if r[0].Run.End == nil || r.start().IsZero() {
		return ""
	}
	end, err := time.Parse(time.RFC3339Nano, *r[0].Run.End)
	if err != nil {
		return ""
	}
	return end.Sub(r.start()).Round(time.Second).String()
}

func (r runKinds) status() string {
	switch first := r[0]; {
	case first.OtherFormat():
		return "other format"
	case first.FiguresOnly:
		return "figures only"
	default:
		return string(first.Run.Status)
	}
}

func (r runKinds) kinds() string {
	var all []string
	for _, k := range r {
		all = append(all, k.Fio.Kind)
	}
	return strings.Join(all, ",")
}

// interval formats the length of the intervals, and in brackets the one before a rollup.
func (r runKinds) interval() string {
	if before := r[0].RollUp.MS; before > 0 {
		return ms(r[0].Interval.MS) + " (" + ms(before) + ")"
	}
	return ms(r[0].Interval.MS)
}

// ms formats a time given in ms.
func ms(v float64) string { return time.Duration(math.Round(v * 1e6)).String() }

func (r runKinds) labels() (labels []string) {
	for k, v := range r[0].Labels {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	return labels
}

// sizeOf is the size of a run in Elasticsearch.
type sizeOf struct {
	ID     string         `json:"id"`
	Name   string         `json:"name,omitempty"`
	Status esmodel.Status `json:"status"`
	Start  string         `json:"start"`
	stored.Size
}

type allSizes struct {
	Runs  []sizeOf    `json:"runs"`
	Total stored.Size `json:"total"`
}

// sizesOf returns the size of each run once, and their total.
func sizesOf(rows []runKinds, sizes map[string]stored.Size) allSizes {
	out := allSizes{Runs: []sizeOf{}}
	seen := map[string]bool{}
	for _, r := range rows {
		of, size := r[0].Run, sizes[r[0].Run.ID]
		if seen[of.ID] {
			continue // another part
		}
		seen[of.ID] = true
		out.Runs = append(out.Runs, sizeOf{of.ID, of.Name, of.Status, of.Start, size})
		out.Total.Documents += size.Documents
		out.Total.Bytes += size.Bytes
	}
	return out
}
