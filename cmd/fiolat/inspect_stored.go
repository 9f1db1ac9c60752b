package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/report/render"
)

// storedRuns prints what the documents in a directory or in Elasticsearch say of the runs that an argument names.
func (o *inspectOptions) storedRuns(ctx context.Context, r *runsource.Reader, argument string) error {
	var runs []*esmodel.StoredRun
	for run, err := range r.Find(ctx, argument) {
		var docs []*esmodel.StoredRun
		if err == nil {
			docs, err = run.Documents(ctx)
		}
		if err != nil {
			return err
		}
		runs = append(runs, docs...)
	}
	slices.SortStableFunc(runs, func(a, b *esmodel.StoredRun) int {
		return cmp.Or(cmp.Compare(a.Run.ID, b.Run.ID), cmp.Compare(a.Run.Kind, b.Run.Kind),
			cmp.Compare(a.Run.Part, b.Run.Part))
	})
	merged := map[string]bool{} // by id; a merged run has the logs and jobs of its parts
	for _, d := range runs {
		merged[d.Run.ID] = merged[d.Run.ID] || d.Run.Part == ""
	}
	for _, d := range runs {
		if d.Run.Part != "" && merged[d.Run.ID] {
			continue
		}
		if o.format == "json" {
			o.runs = append(o.runs, storedJSON(d))
		} else if err := storedTable(r.UI, d); err != nil {
			return err
		}
	}
	return nil
}

// jobDoc is what the document of a run says of a job.
type jobDoc struct {
	Name      string            `json:"name"`
	Host      string            `json:"host,omitempty"`
	Start     string            `json:"start,omitempty"`
	RuntimeMS int64             `json:"runtime_ms"`
	Error     int               `json:"error"`
	Options   map[string]string `json:"options,omitempty"`
}

func jobsOf(run *pipeline.Run) (out []jobDoc) {
	for _, m := range run.Metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			j := jobDoc{Name: e.JobName, Host: e.Host, RuntimeMS: e.RuntimeMS, Error: e.Error, Options: e.Options}
			if e.StartMS > 0 {
				j.Start = time.UnixMilli(e.StartMS).UTC().Format(time.RFC3339Nano)
			}
			out = append(out, j)
		}
	}
	return out
}

func storedJSON(r *esmodel.StoredRun) map[string]any {
	type log struct {
		Path       string  `json:"path"`
		Size       int64   `json:"size"`
		Host       string  `json:"host,omitempty"`
		Job        string  `json:"job,omitempty"`
		IntervalMS float64 `json:"interval_ms"`
		StartMS    float64 `json:"start_ms"`
		Empty      bool    `json:"empty,omitempty"`
		Repaired   bool    `json:"repaired,omitempty"`
	}
	run := r.Run
	doc := map[string]any{"run": run.ID, "name": run.Name, "kind": run.Kind.String(), "status": r.Status,
		"part": run.Part, "parts": run.Parts, "generation": run.Generation, "start": startText(run),
		"start_how": run.StartHow, "labels": run.Labels, "interval_ms": float64(run.Interval) / 1e6,
		"by": run.Settings.By, "percentiles": run.Percentiles, "measured": run.Measures(), "jobs": jobsOf(run),
		"account": r.Account}
	if run.MetaSummary != nil {
		doc["options"], doc["fio_version"] = run.MetaSummary.Options, run.MetaSummary.Versions
	}
	var logs []log
	for _, l := range run.Logs {
		logs = append(logs, log{l.Source.Path, l.Source.Size, l.Host, l.Job, float64(l.Interval) / 1e6,
			float64(l.Start) / 1e6, l.Empty, slices.Contains(l.Repaired[:], true)})
	}
	var totals []kindTotals
	for _, m := range run.Metas {
		totals = append(totals, kindsOf(m)...)
	}
	doc["logs"], doc["totals"] = logs, totals
	return doc
}

func storedTable(u *ui.UI, r *esmodel.StoredRun) error {
	run := r.Run
	say := func(name, text string) {
		if text != "" {
			fmt.Fprintf(u.Stdout, "%s: %s\n", name, fio.Printable(text))
		}
	}
	logs := len(run.Logs)
	if run.Timeless() {
		logs = 0
	}
	fmt.Fprintf(u.Stdout, "run %s: %s, %v, %s, start %v (%s), %v\n", fio.Printable(run.ID), r.Status, run.Kind,
		severalLogs(logs), startText(run), fio.Printable(run.StartHow), run.Geometry)
	say("name", run.Name)
	say("part", run.Part)
	var parts []string
	for _, p := range run.Parts {
		parts = append(parts, p.Name)
	}
	say("parts", strings.Join(parts, ", "))
	say("labels", equations(run.Labels, ", "))
	say("stored", fmt.Sprintf("intervals of %v, by %s, percentiles %s", time.Duration(run.Interval),
		cmp.Or(strings.Join(run.Settings.By, ","), "nothing"), percentilesText(run.Percentiles)))
	if run.MetaSummary != nil {
		say("fio", strings.Join(run.MetaSummary.Versions, ", "))
		options := map[string]string{}
		for name, values := range run.MetaSummary.Options {
			options[name] = strings.Join(values, "|")
		}
		say("options", equations(options, " "))
	}
	var files, jobs, counts [][]string
	for _, l := range run.Logs[:logs] {
		notes := ""
		if l.Empty {
			notes = "empty"
		} else if slices.Contains(l.Repaired[:], true) {
			notes = "repaired"
		}
		files = append(files, []string{l.Source.Path, l.Host, l.Job, strconv.FormatInt(l.Source.Size, 10),
			l.Interval.String(), time.Duration(l.Start).String(), notes})
	}
	for _, j := range jobsOf(run) {
		jobs = append(jobs, []string{j.Name, j.Host, j.Start, (time.Duration(j.RuntimeMS) * time.Millisecond).String(),
			strconv.Itoa(j.Error), equations(j.Options, " ")})
	}
	for _, j := range r.Account.Jobs {
		counts = append(counts, []string{j.Job, j.Host, j.Direction, fio.Count(j.Logged),
			strconv.FormatUint(j.Counted, 10), fio.Count(j.Missing), fio.Count(j.Restored)})
	}
	sizes, times, ios := []string{"bytes", "interval", "starts at"}, []string{"runtime", "error"},
		[]string{"I/Os", "fio's total", "missing", "restored"}
	printed := false
	for _, t := range []*render.Table[[]string]{
		render.Texts(slices.Concat([]string{"log", "host", "job"}, sizes, []string{"notes"}), files, sizes...),
		render.Texts(slices.Concat([]string{"job", "host", "start"}, times, []string{"options"}), jobs, times...),
		render.Texts(append([]string{"job", "host", "direction"}, ios...), counts, ios...),
	} {
		if len(t.Rows) == 0 {
			continue
		}
		if printed {
			fmt.Fprintln(u.Stdout)
		}
		printed = true
		if err := t.Print(u.Stdout, render.Style{Width: u.TableWidth()}); err != nil {
			return err
		}
	}
	for _, sentence := range run.Measures() {
		say("measured", sentence)
	}
	if err := totalsTable(u, run.Metas); err != nil {
		return err
	}
	printAccount(u, &pipeline.Summary{Account: r.Account}, nil, "")
	return nil
}

// equations joins names and values, sorted by name. A name without a value stands alone.
func equations(of map[string]string, between string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, strings.TrimSuffix(name+"="+of[name], "="))
	}
	return strings.Join(out, between)
}

func percentilesText(all []float64) string {
	var out []string
	for _, p := range all {
		out = append(out, fio.Percentile(p))
	}
	return strings.Join(out, ",")
}
