package main

import (
	"fmt"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/report/charts"
)

func (b *bundle) fillCurve(d *dashboard) {
	d.description = "How much load does the storage carry at which latency? Choose the runs of a sweep by a label or " +
		"by their names."
	d.controls = []control{label(b.runs), choose(b.runs, "run.name", "Run name"),
		choose(b.runs, "fio.workload", "Workload"), kind(b.runs)}
	d.rows = []row{{24, sideBySide(vega("curve-points", "Latency against load: p50, p99 and p99.9 of each setting",
		"Of whole runs, exact: the 1,000 latest of the chosen runs that are complete. A ring is a setting, the "+
			"geometric mean of its runs (rw, bs, iodepth, numjobs, ioengine, direct, rate_iops, hosts and jobs "+
			"alike), a dot is a run; lines join settings that differ in iodepth, numjobs, rate_iops, hosts or jobs "+
			"only. Click a dot to open the run. "+
			"`fiolat curve` has limits, and how many IOPS meet an SLO.",
		loadCurve(b.runs.pattern))), b.aRun()}}
}

// loadCurve plots latency against load for the selected runs.
func loadCurve(runs string) charts.Spec {
	directions := fio.RowDirections()
	asked := []string{"run.id", titleField, "fio.workload", "host.name", "fio.job"}
	for _, d := range directions {
		for _, f := range []string{"iops", "mean", "p50", "p99", "p99_9"} {
			asked = append(asked, "summary."+d+"."+f)
		}
	}
	of := func(f string) string { return fmt.Sprintf("(datum.f['summary.' + direction + '.%s'] || [null])[0]", f) }
	rows := ""
	for _, p := range historyPercentiles {
		rows += fmt.Sprintf("{p: '%s', v: %s},", p, of(field(p)))
	}
	size := "toNumber(replace(datum.setting, regexp('^.*\\\\bbs=([0-9.]+)[kmg]?i?b?( .*)?$', 'i'), '$1'))"
	unit := func(letter, times string) string {
		return "test(regexp('\\\\bbs=[0-9.]+" + letter + "', 'i'), datum.setting) ? " + times + " : "
	}
	return charts.LoadCurve{
		Names: historyPercentiles, First: directions[0],
		Choice: charts.Data{
			Source: m{"name": "answer"},
			Transform: slices.Concat(listRows("hits.hits", "hit"), []m{calculate("names", "['"+
				strings.Join(directions, "', '")+"']"), flatten("names", "name"),
				{"filter": "datum.hit.fields['summary.' + datum.name + '.iops'] != null"},
				{"aggregate": []m{{"op": "count", "as": "runs"}}, "groupby": []string{"name"}}}),
		},
		Click: addFilter(runs, "{term: {'run.id': datum.id}}", "datum.run"),
		Data: charts.Data{
			Source: latestRuns(runs, false, asked),
			Transform: slices.Concat(listRows("hits.hits", "hit"), []m{
				calculate("f", "datum.hit.fields"),
				calculate("id", "datum.f['run.id'][0]"),
				calculate("run", "(datum.f['run.title'] || [datum.id])[0]"),
				calculate("setting", "join(datum.f['fio.workload'] || ['workload unknown'], '; ') + ' hosts=' + "+
					"max(length(datum.f['host.name'] || []), 1) + ' jobs=' + length(datum.f['fio.job'] || [])"),
				calculate("series", "replace(datum.setting, regexp(' ?(iodepth|numjobs|rate_iops|hosts|jobs)=[^ ;]*', "+
					"'g'), '')"),
				calculate("iops", of("iops")),
				calculate("flight", "datum.iops * "+of("mean")),
				calculate("bs", size+" * ("+unit("k", "1024")+unit("m", "1048576")+unit("g", "1073741824")+"1)"),
			}, qRows(rows), []m{calculate("p", "datum.q.p"), calculate("v", "datum.q.v")}),
			Found: pathExpr("hits.hits[0]") + " != null",
		},
	}.Spec()
}
