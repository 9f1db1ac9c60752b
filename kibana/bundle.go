package kibana

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Names of fields that are used in several places.
const (
	timeField   = "@timestamp"
	offsetField = "interval.offset_ms"
	histogram   = "latency.histogram"
)

// shownPercentiles are those that charts draw; all are among the defaults of ingest.
var shownPercentiles = []string{"p50", "p95", "p99", "p99.9"}

// Bundle is all objects for the indices of a prefix, data views first. Ids begin
// with the prefix, so that bundles of two prefixes can be in one space, and stay the
// same from version to version, so that a newer bundle replaces an older one.
func Bundle(prefix string) []Object {
	id := func(s string) string { return prefix + "-" + s }
	index := func(kind string) string { return prefix + "-" + kind + "-*" }

	durations := map[string]fieldFormat{}
	for _, f := range []string{"min", "max", "mean", "stddev", "p50", "p90", "p95", "p99", "p99_9"} {
		durations["latency."+f] = milliseconds
	}
	summaries := map[string]fieldFormat{}
	for _, d := range []string{"read", "write", "trim", "all"} {
		for _, f := range []string{"mean", "p50", "p90", "p95", "p99", "p99_9"} {
			summaries["summary."+d+"."+f] = milliseconds
		}
	}
	// Runs have no time field: the history is there whatever the time picker says.
	runs := &view{id: id("runs"), pattern: prefix + "-run", name: prefix + " runs", formats: summaries,
		labels: map[string]string{"fio.workload": "workload", "fio.version": "fio"}}
	histograms := &view{id: id("histograms"), pattern: index("histogram"), name: prefix + " latency histograms", time: true}
	percentiles := &view{id: id("percentiles"), pattern: index("percentiles"), name: prefix + " latency percentiles", time: true, formats: durations}
	events := &view{id: id("events"), pattern: index("event"), name: prefix + " events", time: true}
	probes := &view{id: id("probes"), pattern: index("probe"), name: prefix + " probe", time: true,
		formats: map[string]fieldFormat{"latency.value": milliseconds, "latency.expected": milliseconds}}

	kind := control{view: histograms, field: "fio.kind", title: "Latency", selected: []string{"clat"}}
	on := func(v *view, run control) []control {
		return []control{run, {view: v, field: "host.name", title: "Host"}, {view: v, field: "fio.job", title: "Job"}, {view: v, field: "fio.direction", title: "Direction"}}
	}
	singleRun := control{view: runs, field: "run.id", title: "Run", single: true}
	everyRun := func(v *view) control { return control{view: v, field: "run.id", title: "Run"} }

	var charts []Object
	add := func(os ...Object) []Object {
		charts = append(charts, os...)
		return os
	}

	const selected = " of all I/Os of the hosts, jobs and runs chosen above, merged from their histograms (HDR, 2 digits: within 1 %). " +
		"\"Edit in Lens\" would lose HDR."
	live := func(direction, title string) Object {
		chart := tsvb(direction+"-panel", "timeseries", histograms,
			line("latency", direction, colors[0], hdr("percentiles", histogram, liveDigits, 50, 95, 99, 99.9)).of("fio.direction: "+direction),
			line("sla", "SLA p99", slaColor, tsvbMetric{ID: "limit", Type: "max", Field: "sla.limit.p99"}).
				of(`scope: "direction" and fio.direction: `+direction).over(percentiles))
		chart.AxisScale, chart.events = "log", events
		return chart.object(id("live-"+direction), title, "Latency percentiles"+selected+" Flags are events of any run; the SLA is that of all hosts together.")
	}
	ranked := tsvb("ranked-panel", "top_n", histograms,
		line("hosts", "p99", colors[1], hdr("percentiles", histogram, liveDigits, 99)).by("host.name", 10))
	ranked.BarColorRules = []set{{"id": "rule"}}
	iops := layer{"main", histograms, []column{
		terms("direction", "fio.direction", "direction", 3, ""),
		overTime("time"),
		metric("iops", "sum", "samples", "I/Os per second", wholeFormat).perSecond(),
	}}
	liveDash := &dashboard{
		id: id("live"), label: "Live", title: prefix + ": live latency percentiles", from: "now-15m", refresh: 5000,
		description: "What latency do how many of the requests see now, on which host? Percentiles of any choice of hosts, jobs and runs.",
		controls:    append(on(histograms, everyRun(histograms)), kind),
		rows: []row{
			{15, add(live("read", "Read latency percentiles"), live("write", "Write latency percentiles")), nil},
			{12, add(
				lens(id("live-iops"), "I/Os per second", "", "lnsXY", "", iops, xy("line", "main", "time", "direction", "iops")),
				ranked.object(id("live-hosts"), "Hosts by p99", "p99 of the whole time range by host, the worst first,"+selected)), nil},
			{15, add(vega(id("live-heatmap"), "Latency heat map", "I/Os by time and latency, from the octave counts of the histograms.", liveHeatMap(histograms.pattern, events.pattern))), nil},
		},
	}

	const whole = "Exact, of all hosts' I/Os together (documents of scope direction; choose no host). In a run of more than 200 intervals " +
		"each point is the worst of several. The band is the 95 % confidence interval; dashed is the SLA's limit, vertical lines are events."
	worstByHost := layer{"main", percentiles, []column{
		terms("host", "host.name", "host", 20, "p99"),
		terms("direction", "fio.direction", "direction", 3, ""),
		metric("p99", "max", "latency.p99", "worst p99 of an interval", latencyFormat),
	}}
	byJob := layer{"main", percentiles, []column{
		terms("host", "host.name", "host", 50, "p99"),
		terms("job", "fio.job", "job", 20, "p99"),
		terms("direction", "fio.direction", "direction", 3, ""),
		metric("ios", "sum", "samples", "I/Os", wholeFormat),
		metric("p50", "max", "latency.p50", "worst p50", latencyFormat),
		metric("p99", "max", "latency.p99", "worst p99", latencyFormat),
		metric("p999", "max", "latency.p99_9", "worst p99.9", latencyFormat),
		metric("longest", "max", "latency.max", "longest", latencyFormat),
	}}
	account := layer{"main", runs, []column{
		terms("run", "run.id", "run", 20, "logged"),
		metric("logs", "max", "account.logs", "logs", wholeFormat),
		metric("logged", "max", "account.ios_logged", "I/Os logged", wholeFormat),
		metric("totals", "max", "account.ios_in_fio_totals", "in fio's totals", wholeFormat),
		metric("missing", "max", "account.ios_missing", "missing in the logs", wholeFormat),
		metric("restored", "max", "account.ios_restored", "restored", wholeFormat),
		metric("repaired", "max", "account.records_repaired", "records repaired", wholeFormat),
		metric("skipped", "max", "account.lines_skipped", "lines skipped", wholeFormat),
		metric("beyond", "max", "account.ios_in_last_bucket", "beyond fio's last bucket", wholeFormat),
		latest("status", "run.status", "string", "status"),
	}}
	merged := "Over the whole time range," + strings.Replace(selected, "2 digits: within 1 %", "3 digits: within 0.5 %", 1)
	figures := tsvb("figures-panel", "table", histograms)
	for _, d := range []string{"read", "write"} {
		for _, p := range []float64{50, 99, 99.9} {
			name := strings.ReplaceAll(fmt.Sprint(p), ".", "-")
			figures.Series = append(figures.Series,
				line(d+"-of-"+name+"-end", d+" p"+fmt.Sprint(p), colors[0], hdr("percentiles", histogram, figureDigits, p)).of("fio.direction: "+d))
		}
	}
	runDash := &dashboard{
		id: id("one-run"), label: "One run", title: prefix + ": one run", from: "now-10y",
		description: "The exact percentiles of one run, with how sure they are, where they come from and what was lost. Choose a run above; charts over time show the latest otherwise.",
		controls:    append(on(histograms, singleRun), kind),
		rows: []row{
			{16, add(
				vega(id("run-read"), "Read latency percentiles with 95 % confidence", whole, runPercentiles(percentiles.pattern, events.pattern, "read")),
				vega(id("run-write"), "Write latency percentiles with 95 % confidence", whole, runPercentiles(percentiles.pattern, events.pattern, "write"))), nil},
			{15, add(vega(id("run-heatmap"), "Latency heat map", "I/Os by time since the start and latency, of what is chosen above.", runHeatMap(histograms.pattern, events.pattern))), nil},
			{14, add(
				lens(id("run-hosts"), "Worst p99 by host", "The worst p99 of an interval on each host (documents of scope host+direction).", "lnsXY", `scope: "host+direction"`,
					worstByHost, xy("bar", "main", "host", "direction", "p99")),
				lens(id("run-jobs"), "By host and job: the worst interval", "Documents of scope host+job+direction, which `fiolat ingest --by direction,host,job` makes.", "lnsDatatable",
					`scope: "host+job+direction"`, byJob, table(byJob, "p99"))), nil},
			{12, add(figures.byHost().object(id("run-figures"), "Percentiles of the whole run by host", merged)), nil},
			{8, add(lens(id("run-account"), "Account: what was read, repaired, restored and lost", "", "lnsDatatable", "not run.part: *", account, table(account, "logged"))), nil},
		},
	}

	figuresByKind := func(d, title string) Object {
		l := layer{"main", runs, []column{
			terms("run", "run.id", "run", 20, "ios"),
			terms("kind", "fio.kind", "kind", len(kinds), "mean"),
			metric("ios", "max", "summary."+d+".samples", "I/Os", wholeFormat),
			metric("mean", "max", "summary."+d+".mean", "mean", latencyFormat),
			metric("p50", "max", "summary."+d+".p50", "p50", latencyFormat),
			metric("p99", "max", "summary."+d+".p99", "p99", latencyFormat),
			metric("longest", "max", "summary."+d+".max", "longest", latencyFormat),
		}}
		return lens(id("kinds-"+d+"-figures"), title, "Of the whole run and all hosts, exact.", "lnsDatatable", "summary."+d+".mean: * and not run.part: *", l, table(l, "mean"))
	}
	hostsByKind := func(d, title string) Object {
		t := tsvb(d+"-hosts-panel", "table", histograms)
		for _, k := range kinds {
			for _, p := range []float64{50, 99} {
				t.Series = append(t.Series, line(fmt.Sprintf("%s-of-%v-end", k, p), fmt.Sprintf("%s p%v", k, p), colors[0], hdr("percentiles", histogram, figureDigits, p)).
					of("fio.kind: "+k+" and fio.direction: "+d))
			}
		}
		return t.byHost().object(id("kinds-"+d+"-hosts"), title, merged)
	}
	kindsDash := &dashboard{
		id: id("kinds"), label: "Kinds of latency", title: prefix + ": what latency is made of", from: "now-10y", allKinds: true,
		description: "Is the time spent in submission (slat) or in completion (clat), and do both add up to the total (lat)? Choose a run above; charts show the latest otherwise.",
		controls:    on(histograms, singleRun)[:3], // no direction: the documents of runs know none
		rows: []row{
			{16, add(
				vega(id("kinds-read"), "Read latency by kind: p50 and p99 with 95 % confidence", whole, kindPercentiles(percentiles.pattern, events.pattern, "read")),
				vega(id("kinds-write"), "Write latency by kind: p50 and p99 with 95 % confidence", whole, kindPercentiles(percentiles.pattern, events.pattern, "write"))), nil},
			{9, add(vega(id("kinds-parts"), "Mean slat and clat end to end, lat as a tick: do they add up?", "Of the whole run, from documents of scope direction (choose no host). "+
				"The gap is lat - (slat + clat); means are of fio's buckets, each within 0.8 %. Engines that count no slat: docs/engines.md.", kindParts(percentiles.pattern))), nil},
			{10, add(figuresByKind("read", "Reads of the whole run by kind"), figuresByKind("write", "Writes of the whole run by kind")), nil},
			{12, add(hostsByKind("read", "Reads by host and kind"), hostsByKind("write", "Writes by host and kind")), nil},
		},
	}

	history := layer{"main", runs, []column{
		terms("run", "run.id", "run", 500, "ios"),
		latest("started", "run.start", "date", "started"),
		latest("name", "run.name", "string", "name"),
		latest("workload", "fio.workload", "string", "workload"),
		latest("fio", "fio.version", "string", "fio"),
		metric("ios", "max", "summary.all.samples", "I/Os", wholeFormat),
		metric("readp50", "max", "summary.read.p50", "read p50", latencyFormat),
		metric("readp99", "max", "summary.read.p99", "read p99", latencyFormat),
		metric("readp999", "max", "summary.read.p99_9", "read p99.9", latencyFormat),
		metric("readiops", "max", "summary.read.iops", "read IOPS", wholeFormat),
		metric("writep50", "max", "summary.write.p50", "write p50", latencyFormat),
		metric("writep99", "max", "summary.write.p99", "write p99", latencyFormat),
		metric("writep999", "max", "summary.write.p99_9", "write p99.9", latencyFormat),
		metric("writeiops", "max", "summary.write.iops", "write IOPS", wholeFormat),
		latest("sla", "sla.state", "string", "SLA"),
	}}
	runsDash := &dashboard{
		id: id("compare"), label: "Runs compared", title: prefix + ": runs compared", from: "now-10y",
		description: "All runs, whenever they were; what changed between them. Click a run in the table to open it.",
		controls:    append(on(percentiles, everyRun(runs)), kind),
		rows: []row{
			{15, add(lens(id("compare-runs"), "Runs", "Percentiles are of the whole run, exact.", "lnsDatatable", "not run.part: *", history, table(history, "started"))), []*dashboard{runDash, kindsDash}},
			{16, add(
				vega(id("compare-read"), "Reads of several runs over the time since their start", "The 8 latest of the chosen runs; in runs of more than 200 intervals each point is the worst of several.", overlay(percentiles.pattern, "read")),
				vega(id("compare-write"), "Writes of several runs over the time since their start", "The 8 latest of the chosen runs; in runs of more than 200 intervals each point is the worst of several.", overlay(percentiles.pattern, "write"))), nil},
			{16, add(vega(id("compare-change"), "Change against the earliest of the chosen runs", "The 8 latest of the chosen runs against the earliest of these. Whether a change is more than chance says `fiolat compare`.", change(runs.pattern))), nil},
		},
	}

	slowest := func(s tsvbSeries) tsvbSeries {
		s.Formatter, s.Template = "0,0.[00]", "{{value}} ×"
		return s
	}
	slowdown := tsvb("slowdown-panel", "timeseries", probes,
		slowest(line("slowdown", "slowdown", colors[0], hdr("percentiles", "probe.slowdown", liveDigits, 50, 95, 99))),
		slowest(line("worst", "worst", slaColor, tsvbMetric{ID: "most", Type: "max", Field: "probe.slowdown"})))
	slowdown.AxisScale, slowdown.events = "log", events
	worstByOperation := layer{"main", probes, []column{
		terms("operation", "probe.operation", "operation", 8, "slowdown"),
		overTime("time"),
		metric("slowdown", "max", "probe.slowdown", "worst slowdown", timesFormat),
	}}
	observed := layer{"main", probes, []column{
		overTime("time"),
		metric("value", "max", "latency.value", "longest observed", latencyFormat),
		metric("expected", "max", "latency.expected", "expected", latencyFormat),
	}}
	targets := layer{"main", probes, []column{
		terms("target", "probe.target", "target", 50, "slowdown"),
		terms("operation", "probe.operation", "operation", 8, "slowdown"),
		records("operations", "operations"),
		percentile("usual", "probe.slowdown", "median slowdown", 50, timesFormat),
		percentile("p95", "probe.slowdown", "p95 slowdown", 95, timesFormat),
		metric("slowdown", "max", "probe.slowdown", "worst slowdown", timesFormat),
		metric("longest", "max", "latency.value", "longest", latencyFormat),
	}}
	hours := layer{"main", probes, []column{
		timeBuckets("hour", "hour", "1h", false),
		terms("target", "probe.target", "target", 10, "slowdown"),
		records("operations", "operations"),
		percentile("usual", "probe.slowdown", "median slowdown", 50, timesFormat),
		percentile("p95", "probe.slowdown", "p95 slowdown", 95, timesFormat),
		metric("slowdown", "max", "probe.slowdown", "worst slowdown", timesFormat),
	}}
	timed := "probe.slowdown: *"
	probeDash := &dashboard{
		id: id("slowdown"), label: "Slowdown", title: prefix + ": user-perceived slowdown", from: "now-1h", refresh: 30000,
		description: "How many times longer than expected do small operations take, as a user of the file system sees them?",
		controls: []control{everyRun(probes), {view: probes, field: "host.name", title: "Host"}, {view: probes, field: "fio.job", title: "Job"},
			{view: probes, field: "probe.operation", title: "Operation"}, {view: probes, field: "probe.target", title: "Target"}},
		rows: []row{
			{15, add(slowdown.object(id("slowdown-percentiles"), "Slowdown: observed by expected time", "1 is as usual. Percentiles by HDR with 2 digits. Flags are events.")), nil},
			{14, add(
				lens(id("slowdown-operations"), "Worst slowdown by operation", "", "lnsXY", timed, worstByOperation, xy("line", "main", "time", "operation", "slowdown")),
				lens(id("slowdown-observed"), "Observed and expected time", "", "lnsXY", timed, observed, xy("line", "main", "time", "", "value", "expected"))), nil},
			{14, add(
				lens(id("slowdown-targets"), "By target and operation", "Median and p95 are Elasticsearch's estimates (T-Digest).", "lnsDatatable", timed, targets, table(targets, "slowdown")),
				lens(id("slowdown-hours"), "Worst hours", "Median and p95 are Elasticsearch's estimates (T-Digest).", "lnsDatatable", timed, hours, table(hours, "p95"))), nil},
		},
	}

	var all []Object
	for _, v := range []*view{runs, histograms, percentiles, events, probes} {
		all = append(all, v.object())
	}
	all = append(all, charts...)
	boards := []*dashboard{liveDash, runDash, kindsDash, runsDash, probeDash}
	for _, d := range boards {
		all = append(all, d.object(boards))
	}
	return all
}

// Write writes the bundle for a prefix as NDJSON, the form of Kibana's own exports:
// an object a line, and at last how many there are.
func Write(w io.Writer, prefix string) error {
	var b bytes.Buffer
	objects := Bundle(prefix)
	for _, o := range objects {
		line, err := marshal(o)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	line, err := marshal(struct {
		Excluded     []any `json:"excludedObjects"`
		ExcludedN    int   `json:"excludedObjectsCount"`
		Exported     int   `json:"exportedCount"`
		MissingN     int   `json:"missingRefCount"`
		MissingNames []any `json:"missingReferences"`
	}{[]any{}, 0, len(objects), 0, []any{}})
	if err != nil {
		return err
	}
	b.Write(append(line, '\n'))
	_, err = w.Write(b.Bytes())
	return err
}
