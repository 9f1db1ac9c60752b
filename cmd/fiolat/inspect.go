package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/logs"
	"fiolat/pipeline/plan"
	"fiolat/report/render"
)

type inspectOptions struct {
	logs   logOptions // of one kind
	es     runsource.Elasticsearch
	format string

	runs []any // of --format json
}

func inspectCommand(u *ui.UI) *cli.Command {
	o := &inspectOptions{}
	return &cli.Command{
		Name: "inspect",
		Flags: append(append(o.logs.flags(logFlags{without: []string{"percentiles", "by",
			"sla", "fail-on-sla", "run-name", "label", "part", "dry-run"}}), esFlags(&o.es)...),
			verboseFlag(), widthFlag(),
			&cli.GenericFlag{Name: "format", Value: oneFormat(&o.format, "table", "json"),
				Usage: "`FORMAT`: table or json"},
			fileFlag(".json"),
		),
		Action: answerTo(u, o),
	}
}

func (o *inspectOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.oneKind(c, bad)
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	o.logs.checkStored(&o.es, c.IsSet, bad)
}

// run prints what each log is, and what is stored of each run.
func (o *inspectOptions) run(ctx context.Context, u *ui.UI) error {
	r := runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u}
	defer r.Close()
	var logs []string
	for _, path := range o.logs.Paths {
		if o.logs.Locate(path) == runsource.InLogs {
			logs = append(logs, path)
		} else if err := o.storedRuns(ctx, &r, path); err != nil {
			return err
		}
	}
	o.logs.Paths = logs
	if len(logs) == 0 {
		return o.printJSON(u)
	}
	return errors.Join(o.ofLogs(ctx, u), o.printJSON(u))
}

func (o *inspectOptions) ofLogs(ctx context.Context, u *ui.UI) error {
	runs, found, err := o.logs.DiscoverAny(u) // it shows what is there
	cfg := o.logs.Pipeline(u)
	cfg.Settings.Kind = found
	if err != nil {
		return err
	}
	if cfg.Settings.Kind != o.logs.Config.Settings.Kind {
		u.Say("info", "no %v logs; these are of %v (--kind %[2]v)", o.logs.Config.Settings.Kind, cfg.Settings.Kind)
	}
	skip := cfg.Settings.SkipBad
	cfg.Settings.SkipBad, cfg.LogsOnly = true, !skip // show the good logs beside the bad
	skipped := 0
	for _, in := range runs {
		var warnings []string
		cfg.Warn = func(w string) {
			warnings = append(warnings, w)
			u.Warn(w)
		}
		plan, err := plan.Prepare(ctx, in, cfg)
		var none *fio.NoLogsError
		if errors.As(err, &none) {
			o.printNone(u, in, warnings)
		}
		if err != nil {
			return err
		}
		summary, err := plan.Process(ctx, pipeline.Discard{})
		plan.Close()
		if err != nil {
			return err
		}
		skipped += summary.Account.LogsSkipped + int(summary.Account.LinesSkipped)
		if o.format == "json" {
			o.inspectJSON(in, plan, summary)
		} else if err = inspectTable(u, in, plan, summary); err != nil {
			return err
		}
	}
	if skipped > 0 && !skip {
		return &fio.ParseError{File: "input", Msg: "some of it cannot be read",
			Hint: "see above; --skip-bad goes on without it"}
	}
	return nil
}

func (o *inspectOptions) inspectJSON(in *ingest.Input, plan *plan.Plan, s *pipeline.Summary) {
	type dir struct {
		Direction   string  `json:"direction"`
		Records     int64   `json:"records"`
		EqualStamps int64   `json:"records_equal_stamp"`
		IOs         float64 `json:"ios"`
		FirstMS     int64   `json:"first_ms"`
		LastMS      int64   `json:"last_ms"`
		Repaired    bool    `json:"repaired"`
		Counted     *uint64 `json:"fio_total"`
		Members     int     `json:"fio_total_of_logs,omitempty"`
		Restored    float64 `json:"restored"`
	}
	type log struct {
		Path       string  `json:"path"`
		Log        string  `json:"log"`
		Host       string  `json:"host,omitempty"`
		Job        string  `json:"job,omitempty"`
		Version    string  `json:"fio_version,omitempty"`
		Geometry   string  `json:"geometry,omitempty"`
		Groups     int     `json:"groups,omitempty"`
		Coarseness int     `json:"coarseness"`
		Columns    int     `json:"columns,omitempty"`
		IntervalMS float64 `json:"interval_ms"`
		How        string  `json:"interval_how,omitempty"`
		Absolute   bool    `json:"absolute"`
		StartMS    float64 `json:"start_ms"`
		StartHow   string  `json:"start_how"`
		Empty      bool    `json:"empty,omitempty"`
		Directions []dir   `json:"directions"`
	}
	var logs []log
	for _, r := range plan.Report() {
		l := log{Path: r.Source.Path, Log: r.LogName, Host: r.Host, Job: r.Job, Version: r.Version,
			IntervalMS: float64(r.Interval) / 1e6, How: r.IntervalHow,
			Absolute: r.Absolute, StartMS: float64(r.Start) / 1e6, StartHow: r.StartHow, Empty: r.Empty}
		if !r.Empty {
			l.Geometry, l.Groups, l.Coarseness, l.Columns = r.Geometry.String(), r.Geometry.Groups,
				r.Geometry.Coarseness, r.Geometry.Columns()
		}
		for _, d := range r.Dirs {
			x := dir{Direction: d.Direction, Records: d.Records, EqualStamps: d.EqualStamps, IOs: d.IOs,
				FirstMS: d.First.Milliseconds(), LastMS: d.Last.Milliseconds(), Repaired: d.Repaired,
				Restored: d.Restored}
			if d.CountedKnown {
				x.Counted, x.Members = &d.Counted, d.Members
			}
			l.Directions = append(l.Directions, x)
		}
		logs = append(logs, l)
	}
	var measured []string
	var totals []kindTotals
	for _, m := range plan.Run.Metas {
		measured = append(measured, m.Explain()...)
		totals = append(totals, kindsOf(m)...)
	}
	o.runs = append(o.runs, map[string]any{"measured": measured, "totals": totals, "root": in.Root,
		"run": plan.Run.ID, "start": startText(plan.Run), "start_how": plan.Run.StartHow, "logs": logs,
		"use": logUses(in, plan.Run.Logs, plan.Warnings), "not_used": in.Ignored, "account": s.Account})
}

// printJSON prints the JSON of what was inspected, of several runs a list. Tables were printed run by run.
func (o *inspectOptions) printJSON(u *ui.UI) error {
	switch len(o.runs) {
	case 0:
		return nil
	case 1:
		return ui.PrintJSON(u.Stdout, o.runs[0], "  ")
	}
	return ui.PrintJSON(u.Stdout, o.runs, "  ")
}

// printNone prints why no log of a run can be used.
func (o *inspectOptions) printNone(u *ui.UI, in *ingest.Input, warnings []string) {
	uses := logUses(in, nil, warnings)
	if o.format != "json" {
		printUses(u.Stdout, uses)
		return
	}
	o.runs = append(o.runs, map[string]any{"root": in.Root, "use": uses, "not_used": in.Ignored})
}

func startText(run *pipeline.Run) any {
	if !run.StartKnown {
		return nil
	}
	return time.Unix(0, run.Start).UTC().Format(time.RFC3339Nano)
}

func inspectTable(u *ui.UI, in *ingest.Input, plan *plan.Plan, s *pipeline.Summary) error {
	run := plan.Run
	start := "unknown"
	if run.StartKnown {
		start = fmt.Sprintf("%v (%s)", startText(run), run.StartHow)
	}
	fmt.Fprintf(u.Stdout, "run %s in %s: %s, start %s, %v\n", fio.RunName(run.ID, run.Name),
		fio.Printable(in.Root), severalLogs(s.Account.Logs), start, run.Geometry)
	report, rows := plan.Report(), [][]string(nil)
	slices.SortStableFunc(report, func(a, b logs.Report) int {
		return cmp.Or(fio.Natural(a.Host, b.Host), fio.Natural(a.LogName, b.LogName))
	})
	for _, r := range report {
		groups, coarse := strconv.Itoa(r.Geometry.Groups), strconv.Itoa(r.Geometry.Coarseness)
		if r.Empty {
			groups, coarse = "", ""
		}
		lead := []string{r.LogName, r.Host, r.Job, r.Version, groups, coarse,
			fmt.Sprintf("%v (%s)", r.Interval, orDash(r.IntervalHow)), fmt.Sprintf("%v (%s)", time.Duration(r.Start),
				r.StartHow)}
		if len(r.Dirs) == 0 {
			rows = append(rows, append(lead, "", "0", "0", "", "", "", "empty"))
		}
		for _, d := range r.Dirs {
			counted, missing, restored := "", "", ""
			var notes []string
			if d.CountedKnown {
				counted = strconv.FormatUint(d.Counted, 10)
				if d.Members > 1 {
					counted += fmt.Sprintf(" of %d logs", d.Members)
				} else {
					missing = fio.Count(float64(d.Counted) - d.IOs)
				}
				restored = fio.Count(d.Restored)
			}
			if d.Repaired {
				notes = append(notes, "repaired")
			}
			if d.EqualStamps > 0 {
				notes = append(notes, fmt.Sprintf("%d equal stamps", d.EqualStamps))
			}
			if r.Absolute {
				notes = append(notes, "absolute stamps")
			}
			switch {
			case r.Source.JSON != nil:
				notes = append(notes, "fio's JSON only")
			case r.Empty:
				notes = append(notes, "empty")
			}
			rows = append(rows, append(lead[:8:8], d.Direction, strconv.FormatInt(d.Records, 10), fio.Count(d.IOs),
				counted, missing, restored, strings.Join(notes, ", ")))
		}
	}
	t := render.Texts([]string{"log", "host", "job", "fio", "groups", "coarse", "interval", "starts at", "direction",
		"records", "I/Os", "fio's total", "missing", "restored", "notes"}, rows, "groups", "coarse", "records", "I/Os",
		"fio's total", "missing", "restored")
	if err := t.Print(u.Stdout, render.Style{Width: u.TableWidth()}); err != nil {
		return err
	}
	said := map[string]bool{} // by one host of many
	for _, m := range run.Metas {
		for _, e := range m.Engines() {
			sentence := e.Sentence()
			if said[sentence] {
				continue
			}
			said[sentence] = true
			fmt.Fprintln(u.Stdout, strings.Join(append([]string{"measured: " + fio.Printable(sentence)}, e.Notes...), "\n- "))
		}
	}
	if err := totalsTable(u, run.Metas); err != nil {
		return err
	}
	printUses(u.Stdout, logUses(in, plan.Run.Logs, plan.Warnings))
	for _, name := range in.Ignored {
		fmt.Fprintf(u.Stdout, "not used: %s\n", fio.Printable(name))
	}
	printAccount(u, s, nil, "")
	return nil
}

func orDash(s string) string { return cmp.Or(s, "-") }

// kindTotals holds what fio's JSON says of a job in one direction and kind of latency.
// Latencies are in ns.
type kindTotals struct {
	Job         string             `json:"job"`
	Host        string             `json:"host,omitempty"`
	Direction   string             `json:"direction"`
	Kind        string             `json:"kind"`
	Priority    string             `json:"priority,omitempty"` // prioclass/prio[/priohint] of these I/Os
	IOs         uint64             `json:"ios"`
	Min         *int64             `json:"min"` // null: not known
	Mean        float64            `json:"mean"`
	Max         *int64             `json:"max"`
	Percentiles map[string]float64 `json:"percentiles,omitempty"` // where there are bins (json+)
	// Gap is fiojson.Gap, for lat only.
	Gap *float64 `json:"gap,omitempty"`
}

var totalPercentiles = []float64{50, 99, 99.9}

// kindsOf returns the totals of each job by kind and by priority, and those of its syncs.
func kindsOf(m *fiojson.Document) (out []kindTotals) {
	for i := range m.Entries {
		e := &m.Entries[i]
		for d := range e.Dirs {
			direction, kinds := fio.Direction(d).String(), &e.Dirs[d].Kind
			if m.Mixed {
				direction = fio.All
			}
			for _, k := range []fio.Kind{fio.Slat, fio.Clat, fio.Lat} {
				t := &kinds[k]
				if t.N == 0 {
					continue
				}
				x := totalsOf(e, direction, k.String(), t)
				if k == fio.Lat && kinds[fio.Slat].N == t.N && kinds[fio.Clat].N == t.N {
					x.Gap = new(fiojson.Gap(kinds[fio.Slat].Mean, kinds[fio.Clat].Mean, t.Mean))
				}
				out = append(out, x)
			}
			for _, p := range e.Dirs[d].Prios {
				if p.Totals.N > 0 {
					x := totalsOf(e, direction, p.Kind.String(), &p.Totals)
					x.Priority = fmt.Sprintf("%d/%d", p.Class, p.Level)
					if p.Hint != 0 {
						x.Priority += fmt.Sprintf("/%d", p.Hint)
					}
					out = append(out, x)
				}
			}
		}
		if e.Sync.N > 0 {
			out = append(out, totalsOf(e, "sync", "sync", &e.Sync))
		}
	}
	return out
}

func totalsOf(e *fiojson.Entry, direction, kind string, t *fiojson.Totals) kindTotals {
	x := kindTotals{Job: e.JobName, Host: e.Host, Direction: direction, Kind: kind, IOs: t.N, Mean: t.Mean}
	if t.Max != math.MaxInt64 {
		x.Min, x.Max = &t.Min, &t.Max
	}
	if t.Bins.Len() == 0 {
		return x
	}
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	counts, err := t.Counts(g)
	if err != nil {
		return x
	}
	var h fiohist.Hist
	for b, n := range counts {
		h.Add(b, float64(n))
	}
	s := h.Stats(g, totalPercentiles, fiohist.Limits{Min: t.Min, Max: t.Max, Known: true})
	x.Percentiles = map[string]float64{}
	for i, p := range totalPercentiles {
		x.Percentiles[strconv.FormatFloat(p, 'g', -1, 64)] = s.Percentiles[i]
	}
	return x
}

// totalsTable prints fio's totals, if there are any.
func totalsTable(u *ui.UI, metas []*fiojson.Document) error {
	var rows [][]string
	for _, m := range metas {
		for _, t := range kindsOf(m) {
			kind := t.Kind
			if t.Priority != "" {
				kind += " prio " + t.Priority
			}
			row := []string{t.Job, t.Host, t.Direction, kind, strconv.FormatUint(t.IOs, 10),
				limit(t.Min), micros(t.Mean)}
			for _, p := range totalPercentiles {
				v, ok := t.Percentiles[strconv.FormatFloat(p, 'g', -1, 64)]
				if !ok {
					row = append(row, "")
					continue
				}
				row = append(row, micros(v))
			}
			gap := ""
			if t.Gap != nil {
				gap = micros(*t.Gap)
			}
			rows = append(rows, append(row, limit(t.Max), gap))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(u.Stdout, "fio's totals:")
	figures := []string{"I/Os", "min", "mean", "p50", "p99", "p99.9", "max", "lat - slat - clat"}
	t := render.Texts(append([]string{"job", "host", "direction", "kind"}, figures...), rows, figures...)
	t.Columns[len(t.Columns)-1].Optional = true
	return t.Print(u.Stdout, style(u, "table", ""))
}

func limit(ns *int64) string {
	if ns == nil {
		return ""
	}
	return micros(float64(*ns))
}

func micros(ns float64) string { return strconv.FormatFloat(ns/1000, 'f', 1, 64) + "us" }
