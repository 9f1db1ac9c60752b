package report

import (
	_ "embed" // the page's own part
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/analysis/compare"
	"fiolat/fio"
	"fiolat/report/charts"
	"fiolat/report/page"
)

//go:embed differences.html
var differencesHTML string

// Differences is the page of several comparisons, such as of each host of two runs.
type Differences struct {
	Lead      []string
	Each      string // what a point is, "a host"
	Results   []*compare.Result
	Metrics   []string // that have charts
	Rows      func(*compare.Result) [][]string
	Generator string

	others []string // the names of the runs that are compared with the baseline
}

// differenceChart is a metric of a direction.
type differenceChart struct{ ID, Title string }

// differencePart is a table of the page.
type differencePart struct {
	Name string
	Said []string
	Head []string
	Rows [][]string
}

// verdicts are the words of the legend. Those with a question mark lack the noise between runs.
var verdicts = []string{"same or inconclusive", "better", "worse", "better?", "worse?"}

// verdictOf is the word for a row.
func verdictOf(r *compare.Result, row *compare.Row) string {
	at := 0
	if row.Verdict == compare.Higher || row.Verdict == compare.Lower {
		at = 1
		if (row.Verdict == compare.Higher) != (fio.FigureOf(row.Metric).Better == fio.Higher) {
			at = 2
		}
		if !r.Certain(row) {
			at += 2
		}
	}
	return verdicts[at]
}

// partOf names what a result is about.
func (p *Differences) partOf(r *compare.Result) string {
	switch part := r.Host + r.Job; { // only one is known
	case part == "":
		return r.Other.Name
	case len(p.others) > 1:
		return r.Other.Name + ": " + part
	default:
		return part
	}
}

// Write writes the page.
func (p *Differences) Write(w io.Writer) error {
	specs := map[string]charts.Spec{}
	var lead []string
	for _, text := range p.Lead {
		lead = append(lead, page.Micro(text))
	}
	said := map[string]bool{}
	for _, r := range p.Results {
		if !slices.Contains(p.others, r.Other.Name) {
			p.others = append(p.others, r.Other.Name)
		}
		for i := range r.Rows {
			said[verdictOf(r, &r.Rows[i])] = true
		}
	}
	used := slices.DeleteFunc(slices.Clone(verdicts), func(v string) bool { return !said[v] })
	first := p.Results[0]
	once := !slices.ContainsFunc(p.Results, func(r *compare.Result) bool { return r.Caveat != first.Caveat })
	if once && first.Caveat != "" {
		lead = append(lead, first.Caveat)
	}
	var drawn []differenceChart
	for _, direction := range append(fio.DirectionNames(), fio.All) {
		for _, metric := range p.Metrics {
			rows := p.rows(direction, metric)
			if len(rows) == 0 || direction == fio.All && len(drawn) > 0 {
				continue
			}
			id := "chart-" + strconv.Itoa(len(drawn))
			drawn = append(drawn, differenceChart{id, direction + " " + metric})
			specs[id] = charts.Differences{Data: charts.Rows("parts", rows), Verdicts: used,
				Margin: compare.Margin}.Spec()
		}
	}
	var parts []differencePart
	for _, r := range p.Results {
		rows := p.Rows(r)
		one := differencePart{Name: p.partOf(r), Said: []string{page.Micro(r.Lead())}, Head: rows[0], Rows: rows[1:]}
		for i, text := range append([]string{r.Caveat}, strings.Split(r.Note, "\n")...) {
			if text != "" && (i > 0 || !once) {
				one.Said = append(one.Said, text)
			}
		}
		for i := range r.Outliers {
			one.Said = append(one.Said, page.Micro(r.Outliers[i].String()))
		}
		parts = append(parts, one)
	}
	differ := " differs"
	if len(p.others) > 1 {
		differ = " differ"
	}
	frame := page.Page{Title: "How " + fio.List(p.others, "and") + differ + " from " + first.Baseline.Name,
		Eyebrow: "fio latency", Generator: p.Generator, Lead: lead, Specs: specs, Script: page.Charts,
		Main: map[string]any{"Charts": drawn, "Parts": parts, "Each": p.Each}}
	return frame.Write(w, differencesHTML)
}

// rows are the points of a chart. A change to nothing or from nothing is in the table alone.
func (p *Differences) rows(direction, metric string) (out []charts.M) {
	for _, r := range p.Results {
		i := slices.IndexFunc(r.Rows, func(row compare.Row) bool {
			return row.Direction == direction && row.Metric == metric && row.Change != nil && *row.Change > -1 &&
				!math.IsInf(*row.Change, 1)
		})
		if i < 0 {
			continue
		}
		row := &r.Rows[i]
		point := charts.M{"part": p.partOf(r), "v": 1 + *row.Change, "verdict": verdictOf(r, row),
			"text": fmt.Sprintf("%s: %s", p.partOf(r), page.Micro(r.Sentence(row, compare.Value)))}
		if row.Low != nil {
			point["low"], point["high"] = 1+*row.Low, 1+*row.High
		}
		out = append(out, point)
	}
	return out
}
