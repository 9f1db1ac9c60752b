package runs

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"fiolat/esmodel/stored"
	"fiolat/ingest/fiolog"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// ListOptions are what fiolat runs is asked for.
type ListOptions struct {
	Elasticsearch command.Elasticsearch
	Filter        stored.RunFilter
	Format        string // table or json
	Unit          string // of latencies in the table: ns, us or ms
}

// List prints the runs that are stored.
func List(ctx context.Context, o ListOptions, u *ui.UI) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	runs, err := stored.ListRuns(ctx, client, o.Elasticsearch.Prefix, o.Filter)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		if runs == nil {
			runs = []stored.RunSummary{}
		}
		enc := json.NewEncoder(u.Stdout)
		enc.SetIndent("", " ")
		return enc.Encode(runs)
	}
	out := bufio.NewWriter(u.Stdout)
	runTable(out, runs, o.Unit)
	u.Say("info", "%d runs", len(runs))
	return out.Flush()
}

// runTable prints a line per run and direction that has I/O.
func runTable(out *bufio.Writer, runs []stored.RunSummary, unit string) {
	divisor := render.Divisors[unit]
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "start\trun\tname\tstatus\tlength\thosts\tfio\tdirection\tiops\t"+
		"p50_%[1]s\tp99_%[1]s\tp99.9_%[1]s\tlabels\n", unit)
	for _, r := range runs {
		id := r.Run.ID
		if r.Run.Part != "" {
			id += " part " + r.Run.Part
		}
		length := "-"
		if r.Run.End != nil {
			start, err1 := time.Parse(time.RFC3339Nano, r.Run.Start)
			end, err2 := time.Parse(time.RFC3339Nano, *r.Run.End)
			if err1 == nil && err2 == nil {
				length = end.Sub(start).Round(time.Second).String()
			}
		}
		var labels []string
		for k, v := range r.Labels {
			labels = append(labels, k+"="+v)
		}
		slices.Sort(labels)
		directions := []string{pipeline.All}
		for _, d := range []fiolog.Direction{fiolog.Read, fiolog.Write, fiolog.Trim} {
			if n, _ := r.Summary[d.String()]["samples"].(float64); n > 0 {
				directions = append(directions, d.String())
			}
		}
		if len(directions) == 2 { // the sum of one is that one
			directions = directions[1:]
		}
		for _, d := range directions {
			s := r.Summary[d]
			value := func(name string, divisor float64) string {
				v, ok := s[name].(float64)
				if !ok {
					return "-"
				}
				return strconv.FormatFloat(v/divisor, 'f', render.Decimals(v/divisor), 64)
			}
			fmt.Fprintln(w, strings.Join([]string{r.Run.Start, errs.Printable(id), dash(r.Run.Name),
				string(r.Run.Status), length,
				strconv.Itoa(len(r.Host.Name)), dash(strings.Join(r.Fio.Version, ",")), d, value("iops", 1),
				value("p50", divisor), value("p99", divisor), value("p99_9", divisor),
				dash(strings.Join(labels, ","))}, "\t"))
		}
	}
	w.Flush() //nolint:errcheck // to a bufio.Writer
}

// dash is a name from elsewhere, "-" where there is none.
func dash(v string) string { return cmp.Or(errs.Printable(v), "-") }
