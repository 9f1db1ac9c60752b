package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
	"fiolat/pipeline"
)

const catFilter = "WHICH RUNS"

func runsCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "the runs that are in Elasticsearch, the latest first",
		Description: "fiolat runs --es http://localhost:9200 --since 7d --label cluster=b7\n" +
			"fiolat runs --option bs=4k --option rw=randread --format json",
		Flags: append(esFlags(),
			&cli.StringSliceFlag{Name: "label", Category: catFilter, Usage: "runs with the label `KEY=VALUE`; may be repeated"},
			&cli.StringSliceFlag{Name: "option", Category: catFilter, Usage: "runs in which fio's job option `KEY=VALUE` occurs; may be repeated"},
			&cli.StringFlag{Name: "since", Category: catFilter, Usage: "runs that started at `TIME` or later: RFC 3339, a day, or an age such as 90m, 12h, 7d, 4w"},
			&cli.StringFlag{Name: "until", Category: catFilter, Usage: "runs that started before `TIME`"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table or json"},
			&cli.StringFlag{Name: "unit", Value: "us", Usage: "`UNIT` of latencies in the table: ns, us or ms"},
		),
		Action: action(u, readRunsOptions, listRuns),
	}
}

// runsOptions are what fiolat runs is asked for.
type runsOptions struct {
	Elasticsearch Elasticsearch
	Filter        esmodel.RunFilter
	Format        string // table or json
	Unit          string // of latencies in the table: ns, us or ms
}

func readRunsOptions(c *cli.Context) (o runsOptions, err error) {
	var bad faults
	if c.NArg() > 0 {
		bad.add(usagef("fiolat runs takes no arguments: %q", c.Args().First()))
	}
	o.Format, err = oneOf(c, "format", "table", "json")
	bad.add(err)
	o.Unit, err = oneOf(c, "unit", "ns", "us", "ms")
	bad.add(err)
	o.Filter.Labels, err = pairs("--label", c.StringSlice("label"))
	bad.add(err)
	o.Filter.Options, err = pairs("--option", c.StringSlice("option"))
	bad.add(err)
	o.Filter.Since, err = moment("--since", c.String("since"))
	bad.add(err)
	o.Filter.Until, err = moment("--until", c.String("until"))
	bad.add(err)
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	return o, bad.err()
}

func listRuns(ctx context.Context, o runsOptions, u *ui) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	runs, err := esmodel.ListRuns(ctx, client, o.Elasticsearch.Prefix, o.Filter)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		if runs == nil {
			runs = []esmodel.RunSummary{}
		}
		enc := json.NewEncoder(u.stdout)
		enc.SetIndent("", " ")
		return enc.Encode(runs)
	}
	out := bufio.NewWriter(u.stdout)
	runTable(out, runs, o.Unit)
	u.say("info", "%d runs", len(runs))
	return out.Flush()
}

var age = regexp.MustCompile(`^[0-9]{1,6}[smhdw]$`)

// moment is a time for a filter: an age as Elasticsearch's date math, or what
// --start takes.
func moment(flag, v string) (string, error) {
	if age.MatchString(v) {
		return "now-" + v, nil
	}
	t, err := startTime(v)
	if err != nil || t == "mtime" {
		return "", usagef("%s %q: want a time such as 2026-01-31T12:00:00Z, or an age such as 12h or 7d", flag, v)
	}
	return t, nil
}

// runTable prints a line per run and direction that has I/O.
func runTable(out *bufio.Writer, runs []esmodel.RunSummary, unit string) {
	divisor := divisors[unit]
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "start\trun\tname\tstatus\tlength\thosts\tfio\tdirection\tiops\tp50_%[1]s\tp99_%[1]s\tp99.9_%[1]s\tlabels\n", unit)
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
		for _, d := range []ingest.Direction{ingest.Read, ingest.Write, ingest.Trim} {
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
				return strconv.FormatFloat(v/divisor, 'f', decimals(v/divisor), 64)
			}
			fmt.Fprintln(w, strings.Join([]string{r.Run.Start, ingest.Printable(id), dash(r.Run.Name), string(r.Run.Status), length,
				strconv.Itoa(len(r.Host.Name)), dash(strings.Join(r.Fio.Version, ",")), d, value("iops", 1), value("p50", divisor), value("p99", divisor), value("p99_9", divisor),
				dash(strings.Join(labels, ","))}, "\t"))
		}
	}
	w.Flush() //nolint:errcheck // to a bufio.Writer
}

// dash is a name from elsewhere, "-" where there is none.
func dash(v string) string { return cmp.Or(ingest.Printable(v), "-") }
