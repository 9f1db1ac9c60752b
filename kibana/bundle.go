package kibana

import (
	"bytes"
	"io"
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
	histograms := &view{id: id("histograms"), pattern: index("histogram"), name: prefix + " latency histograms",
		time: true}
	percentiles := &view{id: id("percentiles"), pattern: index("percentiles"), name: prefix + " latency percentiles",
		time: true, formats: durations}
	events := &view{id: id("events"), pattern: index("event"), name: prefix + " events", time: true}
	probes := &view{id: id("probes"), pattern: index("probe"), name: prefix + " probe", time: true,
		formats: map[string]fieldFormat{"latency.value": milliseconds, "latency.expected": milliseconds}}

	// The panels of a run show all of it, whatever the time picker says.
	ofRun := &view{id: id("percentiles-of-run"), pattern: index("percentiles"), name: prefix +
		" latency percentiles of a run", formats: durations}

	choose := func(v *view, field, title string) control { return control{view: v, field: field, title: title} }
	kind := func(v *view) control {
		return control{view: v, field: "fio.kind", title: "Latency", selected: []string{"clat"}}
	}
	label := func(v *view) control { return choose(v, "run.labels", "Label") }
	singleRun := control{view: runs, field: "run.id", title: "Run", single: true}

	var charts []Object
	add := func(os ...Object) []Object {
		charts = append(charts, os...)
		return os
	}

	// The dashboards, so that each can lead to the others.
	live := &dashboard{id: id("live"), label: "Live", title: prefix + ": live latency percentiles", from: "now-15m",
		refresh: 5000}
	oneRun := &dashboard{id: id("one-run"), label: "One run", title: prefix + ": one run", from: "now-10y"}
	host := &dashboard{id: id("one-host"), label: "One host", title: prefix + ": one host of a run", from: "now-10y"}
	ofKinds := &dashboard{id: id("kinds"), label: "Kinds of latency", title: prefix + ": what latency is made of",
		from: "now-10y"}
	compare := &dashboard{id: id("compare"), label: "Runs compared", title: prefix + ": runs compared", from: "now-10y"}
	overlaid := &dashboard{id: id("overlaid"), label: "Runs overlaid", title: prefix +
		": runs over the time since their start", from: "now-10y"}
	histories := &dashboard{id: id("history"), label: "History", title: prefix + ": history of runs", from: "now-10y"}
	slowdown := &dashboard{id: id("slowdown"), label: "Slowdown", title: prefix + ": user-perceived slowdown",
		from: "now-1h", refresh: 30000}
	happened := &dashboard{id: id("happened"), label: "Events", title: prefix + ": events and notes", from: "now-30d"}
	boards := []*dashboard{live, oneRun, host, ofKinds, compare, overlaid, histories, slowdown, happened}

	aHost := []destination{{"Open this host in " + host.label, host}}
	aRun := []destination{{"Open this run in " + oneRun.label, oneRun}, {"Open this run in " + ofKinds.label, ofKinds}}

	const drag = " Drag over a part of the time to set the time range."
	const zoom = " Drag over a part of the time to see it alone, double-click to see all."
	const merged = "Of all I/Os of the hosts, jobs and runs chosen above, merged from their histograms with HDR, 2 " +
		"digits. Dashed is the SLA's limit for all hosts together, " +
		"there while no host or job is chosen; vertical lines are the latest 1,000 events of all runs." + drag
	livePanel := func(direction, title string) Object {
		return vega(id("live-"+direction), title, merged, livePercentiles(histograms.pattern, percentiles.pattern,
			events.pattern, direction))
	}
	iops := layer{"main", histograms, []column{
		terms("direction", "fio.direction", "direction", 3, ""),
		overTime("time"),
		metric("iops", "sum", "samples", "I/Os per second", wholeFormat).perSecond(),
	}}
	live.description = "What latency do how many of the requests see now, on which host? Percentiles of any choice " +
		"of hosts, jobs and runs."
	live.controls = []control{choose(histograms, "run.id", "Run"), choose(histograms, "host.name", "Host"),
		choose(histograms, "fio.job", "Job"),
		label(histograms), kind(histograms)}
	live.rows = []row{
		{15, add(livePanel("read", "Read latency percentiles"), livePanel("write", "Write latency percentiles")), nil},
		{12, add(lens(id("live-iops"), "I/Os per second", "", "lnsXY", "", iops, xy("line", "main", "time", "direction",
			"iops"))), nil},
		{15, add(vega(id("live-heatmap"), "Latency heat map", "I/Os by time and latency, from the octave counts of "+
			"the histograms."+drag, liveHeatMap(histograms.pattern, events.pattern))), nil},
		{15, add(vega(id("live-hosts"), "Hosts by the worst p99 of an interval (clat of all runs in the time range, "+
			"whatever is chosen above)",
			"The 20 worst, by exact percentile documents. Click a host to open it.", liveHosts(percentiles.pattern))),
			aHost},
	}

	const ofAllHosts = "Exact, of all hosts' I/Os together (documents of scope direction). " +
		"In a run of more than 200 intervals each point is the worst of several. The band is " +
		"the 95 % confidence interval; dashed is the SLA's limit, vertical lines are events." + zoom
	byJob := layer{"main", ofRun, []column{
		theRun(),
		only(`scope: "host+job+direction"`, "by host and job"),
		terms("host", "host.name", "host", 50, "p99"),
		terms("job", "fio.job", "job", 20, "p99"),
		terms("direction", "fio.direction", "direction", 3, ""),
		metric("ios", "sum", "samples", "I/Os", wholeFormat),
		metric("p50", "max", "latency.p50", "worst p50", latencyFormat),
		metric("p99", "max", "latency.p99", "worst p99", latencyFormat),
		metric("p999", "max", "latency.p99_9", "worst p99.9", latencyFormat),
		metric("longest", "max", "latency.max", "longest", latencyFormat),
		start(),
	}}
	jobs := func(name, title string) Object {
		return lens(id(name), title, "Documents of scope host+job+direction, which `fiolat ingest --by "+
			"direction,host,job` makes.", "lnsDatatable", "", byJob, table(byJob, "p99"))
	}
	summary := layer{"main", runs, []column{
		terms("run", "run.id", "run", 1, "started"),
		date("started", "max", "run.start", "began"),
		latest("status", "run.status", "status", false),
		metric("readios", "max", "summary.read.samples", "reads", wholeFormat),
		metric("readp50", "max", "summary.read.p50", "read p50", latencyFormat),
		metric("readp99", "max", "summary.read.p99", "read p99", latencyFormat),
		metric("readp999", "max", "summary.read.p99_9", "read p99.9", latencyFormat),
		metric("writeios", "max", "summary.write.samples", "writes", wholeFormat),
		metric("writep50", "max", "summary.write.p50", "write p50", latencyFormat),
		metric("writep99", "max", "summary.write.p99", "write p99", latencyFormat),
		metric("writep999", "max", "summary.write.p99_9", "write p99.9", latencyFormat),
	}}
	account := layer{"main", runs, []column{
		terms("run", "run.id", "run", 1, "started"),
		date("started", "max", "run.start", "began"),
		metric("logs", "max", "account.logs", "logs", wholeFormat),
		metric("logged", "max", "account.ios_logged", "I/Os logged", wholeFormat),
		metric("totals", "max", "account.ios_in_fio_totals", "in fio's totals", wholeFormat),
		metric("missing", "max", "account.ios_missing", "missing in the logs", wholeFormat),
		metric("restored", "max", "account.ios_restored", "restored", wholeFormat),
		metric("repaired", "max", "account.records_repaired", "records repaired", wholeFormat),
		metric("skipped", "max", "account.lines_skipped", "lines skipped", wholeFormat),
		metric("beyond", "max", "account.ios_in_last_bucket", "beyond fio's last bucket", wholeFormat),
		latest("status", "run.status", "status", false),
	}}
	const notParts = "not run.part: * and not fio.kind: probe"
	oneRun.description = "The exact percentiles of one run, with how sure they are, where they come from and what " +
		"was lost. Choose a run above; otherwise all panels show the one that began last."
	oneRun.controls = []control{singleRun, kind(runs)}
	oneRun.rows = []row{
		{6, add(lens(id("run-summary"), "The whole run: exact percentiles", "", "lnsDatatable", notParts, summary,
			table(summary, "started"))), nil},
		{16, add(
			vega(id("run-read"), "Read latency percentiles with 95 % confidence", ofAllHosts,
				runPercentiles(percentiles.pattern, events.pattern, "read")),
			vega(id("run-write"), "Write latency percentiles with 95 % confidence", ofAllHosts,
				runPercentiles(percentiles.pattern, events.pattern, "write"))), nil},
		{15, add(vega(id("run-heatmap"), "Latency heat map", "I/Os by time since the start and latency, of all "+
			"hosts."+zoom, runHeatMap(histograms.pattern, events.pattern))), nil},
		{14, add(vega(id("run-hosts"), "Hosts by the worst p99 of an interval",
			"The 20 worst, exact (documents of scope host+direction). Click a host to open it.",
			runHosts(percentiles.pattern))), aHost},
		{12, add(jobs("run-jobs", "By host and job: the worst interval")), nil},
		{8, add(lens(id("run-account"), "Account: what was read, repaired, restored and lost", "", "lnsDatatable",
			notParts, account, table(account, "started"))), nil},
	}

	const ofHost = "Exact, of one host's I/Os (documents of scope host+direction). In a run of more than 200 " +
		"intervals each point is the worst of several; " +
		"the band is the 95 % confidence interval, vertical lines are events." + zoom
	host.description = "What latency had one host of a run? Come by a click on a host, or choose a run and a host " +
		"above; otherwise it is the first host, by name, of the run that began last."
	host.controls = []control{singleRun, {view: percentiles, field: "host.name", title: "Host", single: true},
		kind(percentiles)}
	host.rows = []row{
		{8, add(vega(id("host-figures"), "Percentiles of all of the host's I/Os",
			"Merged from histograms with HDR, 3 digits.", hostFigures(histograms.pattern))), nil},
		{16, add(
			vega(id("host-read"), "Read latency percentiles with 95 % confidence", ofHost,
				hostPercentiles(percentiles.pattern, events.pattern, "read")),
			vega(id("host-write"), "Write latency percentiles with 95 % confidence", ofHost,
				hostPercentiles(percentiles.pattern, events.pattern, "write"))), nil},
		{15, add(vega(id("host-heatmap"), "Latency heat map", "I/Os by time since the start and latency."+zoom,
			hostHeatMap(histograms.pattern, events.pattern))), nil},
		{12, add(jobs("host-jobs", "By job: the worst interval")), nil},
	}

	figuresByKind := func(d, title string) Object {
		l := layer{"main", runs, []column{
			terms("run", "run.id", "run", 1, "started"),
			terms("kind", "fio.kind", "kind", len(kinds), "mean"),
			metric("ios", "max", "summary."+d+".samples", "I/Os", wholeFormat),
			metric("mean", "max", "summary."+d+".mean", "mean", latencyFormat),
			metric("p50", "max", "summary."+d+".p50", "p50", latencyFormat),
			metric("p99", "max", "summary."+d+".p99", "p99", latencyFormat),
			metric("longest", "max", "summary."+d+".max", "longest", latencyFormat),
			date("started", "max", "run.start", "began"),
		}}
		return lens(id("kinds-"+d+"-figures"), title, "Of the whole run and all hosts, exact.", "lnsDatatable",
			notParts, l, table(l, "mean"))
	}
	hostsByKind := func(d, title string) Object {
		l := layer{"main", ofRun, []column{
			theRun(),
			only(`scope: "host+direction" and fio.direction: `+d, "by host"),
			terms("host", "host.name", "host", 20, "p99"),
			terms("kind", "fio.kind", "kind", len(kinds), "p99"),
			metric("ios", "sum", "samples", "I/Os", wholeFormat),
			metric("p50", "max", "latency.p50", "worst p50", latencyFormat),
			metric("p99", "max", "latency.p99", "worst p99", latencyFormat),
			metric("longest", "max", "latency.max", "longest", latencyFormat),
			start(),
		}}
		return lens(id("kinds-"+d+"-hosts"), title, "The worst interval of each host, exact (documents of scope "+
			"host+direction).", "lnsDatatable", "", l, table(l, "p99"))
	}
	ofKinds.description = "Is the time spent in submission (slat) or in completion (clat), and do both add up to the " +
		"total (lat)? Choose a run above; otherwise all panels show the one that began last."
	ofKinds.controls = []control{singleRun}
	ofKinds.rows = []row{
		{16, add(
			vega(id("kinds-read"), "Read latency by kind: p50 and p99 with 95 % confidence", ofAllHosts,
				kindPercentiles(percentiles.pattern, events.pattern, "read")),
			vega(id("kinds-write"), "Write latency by kind: p50 and p99 with 95 % confidence", ofAllHosts,
				kindPercentiles(percentiles.pattern, events.pattern, "write"))), nil},
		{9, add(vega(id("kinds-parts"), "Mean slat and clat end to end, lat as a tick: do they add up?",
			"Of the whole run, from documents of scope direction. "+
				"The gap is lat - (slat + clat); means are of fio's buckets, each within 0.8 %. Engines that count no "+
				"slat: docs/engines.md.", kindParts(percentiles.pattern))), nil},
		{10, add(figuresByKind("read", "Reads of the whole run by kind"), figuresByKind("write",
			"Writes of the whole run by kind")), nil},
		{12, add(hostsByKind("read", "Reads by host and kind: the worst interval"), hostsByKind("write",
			"Writes by host and kind: the worst interval")), nil},
	}

	comparedRows := layer{"main", runs, []column{
		terms("name", "run.name", "name", 500, "started").orNone(),
		terms("run", "run.id", "run", 500, "started"),
		date("started", "max", "run.start", "started"),
		latest("workload", "fio.workload", "workload", true),
		latest("fio", "fio.version", "fio", true),
		metric("ios", "max", "summary.all.samples", "I/Os", wholeFormat),
		metric("readp50", "max", "summary.read.p50", "read p50", latencyFormat),
		metric("readp99", "max", "summary.read.p99", "read p99", latencyFormat),
		metric("readp999", "max", "summary.read.p99_9", "read p99.9", latencyFormat),
		metric("readiops", "max", "summary.read.iops", "read IOPS", wholeFormat),
		metric("writep50", "max", "summary.write.p50", "write p50", latencyFormat),
		metric("writep99", "max", "summary.write.p99", "write p99", latencyFormat),
		metric("writep999", "max", "summary.write.p99_9", "write p99.9", latencyFormat),
		metric("writeiops", "max", "summary.write.iops", "write IOPS", wholeFormat),
		latest("sla", "sla.state", "SLA", false),
	}}
	compare.description = "All runs, whenever they were; what changed between them. Click a run in the table to open " +
		"it."
	compare.controls = []control{choose(runs, "run.name", "Run name"), choose(runs, "fio.workload", "Workload"),
		choose(runs, "fio.version", "fio version"),
		label(runs), choose(runs, "run.id", "Run"), kind(runs)}
	compare.rows = []row{
		{15, add(lens(id("compare-runs"), "Runs, the latest first", "Percentiles are of the whole run, exact.",
			"lnsDatatable", notParts, comparedRows, table(comparedRows, "started"))), aRun},
		{16, add(vega(id("compare-change"), "Change against the earliest of the chosen runs",
			"The 8 latest of the chosen runs against the earliest of these. Whether a change is more than chance "+
				"says `fiolat compare`. "+
				"Click a run to open it.", change(runs.pattern))), aRun},
	}

	const over = "The 8 of the chosen runs that began last; in runs of more than 200 intervals each point is the " +
		"worst of several. Click a run to open it." + zoom
	overlaid.description = "Several runs over each other, on the time since the start of each."
	overlaid.controls = []control{choose(percentiles, "run.name", "Run name"), label(percentiles), choose(percentiles,
		"run.id", "Run"),
		kind(percentiles)}
	overlaid.rows = []row{
		{20, add(vega(id("compare-read"), "Reads of several runs over the time since their start", over,
			overlay(percentiles.pattern, "read"))), aRun},
		{20, add(vega(id("compare-write"), "Writes of several runs over the time since their start", over,
			overlay(percentiles.pattern, "write"))), aRun},
	}

	const ofRuns = "Of the whole run, exact, at its start: the 1,000 latest of the chosen runs that are complete. A " +
		"line joins runs of the same workload. A triangle is the new level from that run on, a dashed line a change " +
		"of another metric, both as `fiolat history --store` found them. Click a run to open it." + zoom
	histories.description = "From which run on is a series of runs slower or faster? Choose a workload and a label; " +
		"change points are there after `fiolat history --store`."
	histories.controls = []control{choose(runs, "fio.workload", "Workload"), label(runs), choose(runs, "run.name",
		"Run name"), choose(runs, "fio.version", "fio version"), kind(runs)}
	ofHistory := func(direction, title string) Object {
		return vega(id("history-"+direction), title, ofRuns, history(runs.pattern, events.pattern, direction))
	}
	histories.rows = []row{
		{18, add(ofHistory("read", "Reads: percentiles of each run"), ofHistory("write",
			"Writes: percentiles of each run")), aRun},
		{16, add(vega(id("history-iops"), "I/Os per second of each run", ofRuns, historyRates(runs.pattern,
			events.pattern))), aRun},
	}

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
	const timed, estimates = "probe.slowdown: *", "Median and p95 are Elasticsearch's estimates (T-Digest)."
	slowdown.description = "How many times longer than expected do small operations take, as a user of the file " +
		"system sees them?"
	slowdown.controls = []control{choose(probes, "run.id", "Run"), choose(probes, "host.name", "Host"), choose(probes,
		"probe.operation", "Operation"), choose(probes, "probe.target", "Target")}
	slowdown.rows = []row{
		{15, add(vega(id("slowdown-percentiles"), "Slowdown: observed by expected time",
			"1 is as usual. Percentiles by HDR with 2 digits. Vertical lines are events."+drag,
			slowdownPercentiles(probes.pattern, events.pattern))), nil},
		{14, add(
			lens(id("slowdown-operations"), "Worst slowdown by operation", "", "lnsXY", timed, worstByOperation,
				xy("line", "main", "time", "operation", "slowdown")),
			lens(id("slowdown-observed"), "Observed and expected time", "", "lnsXY", timed, observed, xy("line", "main",
				"time", "", "value", "expected"))), nil},
		{14, add(
			lens(id("slowdown-targets"), "By target and operation", estimates, "lnsDatatable", timed, targets,
				table(targets, "slowdown")),
			lens(id("slowdown-hours"), "Worst hours", estimates, "lnsDatatable", timed, hours, table(hours, "p95"))),
			nil},
	}

	overDays := layer{"main", events, []column{
		terms("action", "event.action", "kind", 8, ""),
		overTime("time"),
		records("events", "events"),
	}}
	list := layer{"main", events, []column{
		terms("message", "message.keyword", "event", 200, "at"),
		terms("run", "run.id", "run", 20, "at"),
		date("at", "max", timeField, "at"),
		latest("action", "event.action", "kind", false),
		latest("host", "host.name", "host", false),
		records("events", "times"),
	}}
	happened.description = "What happened: SLA breaches and recoveries, trouble that a probe saw, and what people " +
		"noted on runs."
	happened.controls = []control{choose(events, "event.action", "Kind"), choose(events, "run.id", "Run"),
		choose(events, "run.name", "Run name"), label(events)}
	happened.rows = []row{
		{10, add(lens(id("events-over-time"), "Events over time", "", "lnsXY", "", overDays, xy("bar_stacked", "main",
			"time", "action", "events"))), nil},
		{20, add(lens(id("events-table"), "Events and notes, the latest first",
			"Events of the same words and run are one row.", "lnsDatatable", "", list, table(list, "at"))), nil},
	}

	tag := object(typeTag, id("tag"), tagAttributes{prefix, "Objects made by fiolat", "#54B399"})
	for _, d := range boards {
		for _, c := range d.controls {
			c.view.use(c.field, "string")
		}
	}
	all := []Object{tag}
	for _, v := range []*view{runs, histograms, percentiles, ofRun, events, probes} {
		all = append(all, v.object())
	}
	all = append(all, charts...)
	for _, d := range boards {
		all = append(all, d.object(boards))
	}
	tagged(tag, all[1:])
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
