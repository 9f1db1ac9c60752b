package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fiolat/analysis/compare"
	"fiolat/analysis/history"
	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

type groupReader struct {
	*compareOptions
	runs runsource.Reader
}

// groupMembers returns the name and the members of NAME=RUN,RUN,...; any other argument is its own name and member.
func groupMembers(argument string) (name string, members []string, err error) {
	name, list, ok := strings.Cut(argument, "=")
	if !ok || runsource.IsHere(argument) || strings.HasPrefix(argument, runsource.LabelPrefix) {
		return argument, []string{argument}, nil
	}
	members = strings.Split(list, ",")
	if name == "" || slices.Contains(members, "") {
		return "", nil, fio.Usagef("%q: want NAME=RUN,RUN,...", argument)
	}
	return name, members, nil
}

// group reads the runs of an argument: those of a path or a stored run, of label:KEY=VALUE, or of
// NAME= and a list of these. With --by there is a group for each host or job.
func (r *groupReader) group(ctx context.Context, argument string) ([]*compare.Group, error) {
	name, members, err := groupMembers(argument)
	if err != nil {
		return nil, err
	}
	var runs []*compare.Parts
	for _, member := range members {
		more, err := r.read(ctx, member)
		if err != nil {
			return nil, err
		}
		runs = append(runs, more...)
	}
	var groups []*compare.Group
	whole := &compare.Group{Name: name}
	for _, run := range runs {
		whole.Runs = append(whole.Runs, run.Series[:min(1, len(run.Series))]...)
		for _, s := range run.Series {
			i := slices.IndexFunc(groups, func(g *compare.Group) bool { return g.Of == s.Of })
			if i < 0 {
				i, groups = len(groups), append(groups, &compare.Group{Name: name, Of: s.Of})
			}
			groups[i].Runs = append(groups[i].Runs, s)
		}
	}
	if len(groups) == 0 {
		return nil, fio.Usagef("--by %s: the %ss of %s are not known", r.by, r.by, fio.Printable(name))
	}
	for _, g := range groups {
		if len(g.Runs) < len(runs) {
			r.runs.UI.Warn(fmt.Sprintf("%s %q is in only %d of the %s of %s", r.by, g.Of.Of(r.by), len(g.Runs),
				fio.Several(len(runs), "run"), fio.Printable(name)))
		}
	}
	return groups, checkGroup(whole)
}

// checkGroup refuses a run that is in a group twice.
func checkGroup(g *compare.Group) error {
	for i, run := range g.Runs {
		if slices.ContainsFunc(g.Runs[:i], func(s *compare.Series) bool { return s.ID == run.ID }) {
			return fio.Usagef("%s is in %s twice, perhaps as a copy: leave one out",
				fio.Printable(run.Name), fio.Printable(g.Name))
		}
	}
	return nil
}

// checkWorkloads warns about groups with runs of different workloads.
func checkWorkloads(u *ui.UI, sides ...[]*compare.Group) {
	for _, groups := range sides {
		var loads []string
		for _, run := range groups[0].Runs {
			if run.Workload != "" && !slices.Contains(loads, run.Workload) {
				loads = append(loads, run.Workload)
			}
		}
		if len(loads) > 1 {
			u.Warn(fio.Printable(groups[0].Name) + " holds runs of different workloads, which are no repeats: " +
				fio.Printable(strings.Join(loads, "; ")))
		}
	}
}

// since reads the complete runs with a label that have the same workload as run and began before it, from
// the last change point of any metric on. If the start of run is unknown, all of them began before it.
func (r *groupReader) since(ctx context.Context, name string, run *compare.Series) (*compare.Group, error) {
	label, ok := strings.CutPrefix(name, runsource.LabelPrefix)
	k, v, pair := strings.Cut(fio.Printable(label), "=")
	if !ok || !pair || k == "" {
		return nil, fio.Usagef("--baseline %q: want label:KEY=VALUE", name)
	}
	var runs []history.Run
	source := map[string]*runsource.Run{} // by id
	for one, err := range r.runs.Filter(ctx, stored.RunFilter{Labels: map[string]string{k: v}}) {
		if err != nil {
			return nil, err
		}
		f, err := one.Figures(ctx)
		if err != nil {
			return nil, err
		}
		same := strings.Join(f.Fio.Workload, ", ") == run.Workload &&
			(f.Sameness == run.Sameness || f.Sameness == "" || run.Sameness == "")
		if f.Run.Status != esmodel.StatusComplete || one.ID == run.ID || !run.Began(f.Start) || !same {
			continue
		}
		h, err := one.History(ctx)
		if err != nil {
			return nil, err
		}
		if h == nil {
			continue
		}
		source[one.ID], runs = one, append(runs, *h)
	}
	g := &compare.Group{Name: name}
	from := 0
	for _, s := range history.One(runs) {
		runs = s.Runs
		for _, metric := range history.Analyse(&s, history.Defaults) {
			for _, c := range metric.Changes {
				from = max(from, c.Index)
			}
		}
	}
	if from > 0 {
		g.Name += ", since its change at " + runs[from].Start.Format(time.RFC3339)
	}
	if n := len(runs) - from; n < compare.BaselineRuns {
		return nil, fio.Usagef("--baseline %s: %d runs of this workload before %s, and it takes %d to know what one "+
			"more would differ by", fio.Printable(g.Name), n, fio.Printable(run.Name), compare.BaselineRuns)
	}
	for _, one := range runs[from:] {
		s := &compare.Series{Name: one.ID}
		var err error
		if s.FiguresOnly, err = source[one.ID].ProcessSums(ctx, s); err != nil {
			return nil, err
		}
		g.Runs = append(g.Runs, s)
	}
	return g, nil
}

// read reads the runs that a member of a group names.
func (r *groupReader) read(ctx context.Context, name string) (runs []*compare.Parts, err error) {
	for run, err := range r.runs.Find(ctx, name) {
		if !r.runs.Totals && ingest.IsNoLogs(err) { // fio's JSON may have figures without histograms
			r.runs.Totals = true
			defer func() { r.runs.Totals = false }()
			return r.read(ctx, name)
		}
		if err != nil {
			return nil, err
		}
		if run.Totals != nil {
			parts, err := r.ofJSON(run.Totals)
			if err != nil {
				return nil, err
			}
			runs = append(runs, parts)
			continue
		}
		parts := &compare.Parts{Name: run.Title, By: r.by}
		only, err := run.ProcessSums(ctx, parts)
		if err != nil {
			return nil, err
		}
		for _, s := range parts.Series {
			s.FiguresOnly = only
		}
		before, err := r.overwritten(name, run, parts)
		if err != nil {
			return nil, err
		}
		runs = append(append(runs, before...), parts)
	}
	if len(runs) == 1 {
		for _, s := range runs[0].Series {
			s.Name = name
		}
	}
	return runs, nil
}

func (r *groupReader) ofJSON(t *ingest.JSONRun) (*compare.Parts, error) {
	s := &r.runs.Logs.Config.Settings
	return compare.OfJSON(t, s.Kind, s.By, s.Percentiles, &r.runs.Logs.Config.Pick)
}

// overwritten reads the runs of its workload whose logs a run of a folder wrote over, from fio's JSON. Others, such as
// a layout, are no runs to compare.
func (r *groupReader) overwritten(name string, run *runsource.Run, parts *compare.Parts) ([]*compare.Parts, error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, nil
	}
	var before []*compare.Parts
	for _, t := range run.Unlogged() {
		if !slices.ContainsFunc(parts.Series, func(s *compare.Series) bool {
			return s.Sameness == fiojson.SamenessOf(t.Metas) && s.Began(time.UnixMilli(t.Metas[0].TimestampMS))
		}) {
			continue
		}
		why := ""
		if t.Failure() != nil {
			why = "it failed"
		} else if r.runs.Logs.Config.Pick.NeedsLogs() {
			why = "it has no logs: leave out --from, --to and --only log="
		} else if of, err := r.ofJSON(t); err != nil {
			return nil, err
		} else if len(of.Series) > 0 && of.Lacks(parts) {
			why = "fio's JSON lacks figures that the run has which wrote over its logs"
		} else if len(of.Series) > 0 {
			before = append(before, of)
		}
		if why != "" {
			r.runs.UI.Warn(fmt.Sprintf("%s: left out: %s", fio.Printable(t.Root), why))
		}
	}
	return before, nil
}
