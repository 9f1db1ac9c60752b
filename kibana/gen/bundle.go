package main

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"fiolat/fio"
)

// Field names used in several places.
const (
	timeField   = "@timestamp"
	offsetField = "interval.offset_ms"
	titleField  = "run.title"
	histogram   = "latency.histogram"
)

// shownPercentiles are the percentiles that charts draw. All are among the defaults of ingest.
var shownPercentiles = []string{"p50", "p95", "p99", "p99.9"}

// Parts of descriptions and queries that several panels share.
const (
	drag       = " Drag over a part of the time to set the time range."
	zoom       = " Drag over a part of the time to see it alone, double-click to see all."
	ofAllHosts = "Exact, of all hosts together (documents of scope direction; all directions, and syncs: run). " +
		"In a run of more than 200 intervals each point is the worst of several. The band is " +
		"the 95 % sampling limits of independent I/Os; dashed is the SLA's limit, vertical lines are events." + zoom
	notParts = "not run.part: * and not fio.kind: probe and not fio.kind: sync"
)

// bundle holds the data views, and the dashboards made so far.
type bundle struct {
	prefix                                        string
	runs, histograms, percentiles, events, probes *view
	oneRun, host, ofKinds                         *dashboard // targets of drilldowns
	boards                                        []*dashboard
}

func (b *bundle) id(s string) string { return b.prefix + "-" + s }

func (b *bundle) board(id, label, title, from string) *dashboard {
	d := &dashboard{id: b.id(id), label: label, title: "[" + b.prefix + "] " + title, from: from}
	b.boards = append(b.boards, d)
	return d
}

// storedPercentiles are the fields of fiolat's default percentiles.
var storedPercentiles = []string{"p50", "p90", "p95", "p99", "p99_9"}

// storedLatencies are the fields of other figures in ns.
func storedLatencies() (fields []string) {
	for _, f := range fio.Figures(fio.OfAnywhere) {
		if f.Unit == fio.Nanoseconds && f.Field != "" {
			fields = append(fields, f.Field)
		}
	}
	return fields
}

func sideBySide(all ...chart) []chart { return all }

// Bundle returns all objects for the indices of a prefix: the tag, data views, dashboards. Ids and titles begin with
// the prefix, so that bundles of several prefixes fit into one space, and ids never change, so that a newer bundle
// replaces an older one.
func Bundle(prefix string) []Object {
	b := &bundle{prefix: prefix}
	index := func(kind string) string { return prefix + "-" + kind + "-*" }

	durations, limits, summaries := map[string]fieldFormat{}, map[string]fieldFormat{}, map[string]fieldFormat{}
	for _, f := range storedLatencies() {
		durations["latency."+f] = milliseconds
	}
	for _, p := range storedPercentiles {
		for _, f := range []string{"latency." + p, "latency.ci." + p + ".lower", "latency.ci." + p + ".upper",
			"sla.limit." + p} {
			durations[f] = milliseconds
		}
	}
	durations["tail.p99.without"] = milliseconds
	for _, f := range []string{"min", "max"} {
		limits["latency.limits."+f] = milliseconds
	}
	for _, d := range fio.MetricDirections() {
		for _, f := range append(storedLatencies(), storedPercentiles...) {
			summaries["summary."+d+"."+f] = milliseconds
		}
	}
	b.runs = &view{id: b.id("runs"), pattern: prefix + "-run", name: prefix + " runs", time: true, formats: summaries,
		labels: map[string]string{"fio.workload": "workload", "fio.version": "fio"}}
	b.histograms = &view{id: b.id("histograms"), pattern: index("histogram"), name: prefix + " histograms",
		time: true, formats: limits, labels: map[string]string{
			histogram: "latency.histogram (T-Digest in Lens: p99 up to 17 % off, p50 between modes 97 %: see latency.p99)"}}
	b.percentiles = &view{id: b.id("percentiles"), pattern: index("percentiles"), name: prefix + " percentiles (exact)",
		time: true, formats: durations, labels: map[string]string{
			"tail.p99.share": "tail.p99.share (of an interval: an average is not the run's)"}}
	b.events = &view{id: b.id("events"), pattern: index("event"), name: prefix + " events", time: true}
	b.probes = &view{id: b.id("probes"), pattern: index("probe"), name: prefix + " probe", time: true,
		formats: map[string]fieldFormat{"latency.value": milliseconds, "latency.expected": milliseconds,
			"latency.limits.min": milliseconds, "latency.limits.max": milliseconds}}

	// All dashboards exist before their panels are made, because panels link to them.
	overview := b.board("overview", "Overview", "Overview", "now-30d")
	live := b.board("live", "Live", "Live latency percentiles", "now-15m")
	live.refresh = 5000
	b.oneRun = b.board("one-run", "One run", "One run", "now-7d")
	hosts := b.board("hosts", "Hosts", "Hosts of a run", "now-7d")
	b.host = b.board("one-host", "One host", "One host of a run", "now-7d")
	b.ofKinds = b.board("kinds", "Kinds of latency", "What latency is made of", "now-7d")
	compare := b.board("compare", "Runs compared", "Runs compared", "now-30d")
	overlaid := b.board("overlaid", "Runs overlaid", "Runs over the time since their start",
		"now-30d")
	histories := b.board("history", "History", "History of runs", "now-1y")
	curve := b.board("load-curve", "Load curve", "Load curve", "now-1y")
	slowdown := b.board("slowdown", "Slowdown", "User-perceived slowdown", "now-1h")
	slowdown.refresh = 30000
	happened := b.board("happened", "Events", "Events and notes", "now-30d")
	b.fillOverview(overview)
	b.fillLive(live)
	b.fillOneRun(b.oneRun)
	b.fillHosts(hosts)
	b.fillHost(b.host)
	b.fillKinds(b.ofKinds)
	b.fillCompare(compare)
	b.fillOverlaid(overlaid)
	b.fillHistory(histories)
	b.fillCurve(curve)
	b.fillSlowdown(slowdown)
	b.fillEvents(happened)

	tag := object(typeTag, b.id("tag"), tagAttributes{prefix, "Objects made by fiolat", "#54B399"})
	for _, d := range b.boards {
		for _, c := range d.controls {
			c.view.use(c.field, "string")
		}
	}
	all := []Object{tag}
	for _, v := range []*view{b.runs, b.histograms, b.percentiles, b.events, b.probes} {
		all = append(all, v.object())
	}
	for _, d := range b.boards {
		all = append(all, d.object(b.boards))
	}
	tagged(tag, all[1:])
	return all
}

func choose(v *view, field, title string) control {
	return control{view: v, field: field, title: title}
}

func label(v *view) control { return choose(v, "run.labels", "Label") }

func kind(v *view, beside ...string) control {
	return control{view: v, field: "fio.kind", title: "Latency", selected: append([]string{"clat"}, beside...)}
}

func (b *bundle) singleRun() control {
	return control{view: b.runs, field: titleField, title: "Run", single: true}
}

func (b *bundle) aHost() []destination {
	return []destination{{"Open this host in " + b.host.label, b.host}}
}

func (b *bundle) aRun() []destination {
	return []destination{{"Open this run in " + b.oneRun.label, b.oneRun},
		{"Open this run in " + b.ofKinds.label, b.ofKinds}}
}

func (b *bundle) fillOverview(d *dashboard) {
	last := layer{"main", b.runs, slices.Concat([]column{
		terms("run", titleField, "run", 10, "started"),
		date("started", "max", "run.start", "began"),
		latest("status", "run.status", "status", false),
		latest("sla", "sla.state", "SLA", false),
		metric("iodepth", "max", "fio.iodepth", "iodepth", wholeFormat),
		metric("bs", "max", "fio.bs", "bs", bytesFormat),
	}, rates("", "all", "per second"), latencies("", "all"), []column{
		metric("longest", "max", "summary.all.max", "longest", latencyFormat),
	})}
	hosts := layer{"main", b.events, []column{
		terms("who", "straggler.who", "host", 10, "times"),
		records("times", "findings"),
		metric("factor", "max", "straggler.factor", "times worse", timesFormat),
		date("last", "max", timeField, "last"),
	}}
	kept := layer{"main", b.runs, []column{
		terms("sla", "sla.state", "SLA", 5, ""),
		overTime("time"),
		records("runs", "runs"),
	}}
	d.description = "The last runs, how they met their SLA, and which hosts were slow in them. Click a run to open it."
	d.controls = []control{choose(b.runs, "run.name", "Run name"), label(b.runs), kind(b.runs)}
	d.rows = []row{
		{8, sideBySide(lens("overview-runs", "The last runs: reads, writes and trims together", "Percentiles are of the "+
			"whole run, exact.", "lnsDatatable", notParts, last, table(last, "started"))), b.aRun()},
		{10, sideBySide(vega("overview-history", "Percentiles of each run", "Of all directions together, at the run's "+
			"start. Click a run to open it."+zoom, history(b.runs.pattern, b.events.pattern, fio.All)).opens(b.aRun()),
			lens("overview-hosts", "Hosts that were slow most often", "From the findings of `fiolat diagnose` "+
				"that ingest and live store as events.", "lnsDatatable",
				`event.action: "straggler" and straggler.dimension: "host"`, hosts, table(hosts, "times")),
			lens("overview-sla", "Runs by SLA (of runs with --sla)", "", "lnsXY", notParts+
				" and sla.state: *", kept, xy("bar_stacked", "main", "time", "sla", "runs"))), nil},
	}
}

func (b *bundle) fillLive(d *dashboard) {
	const merged = "Pale points are of a part of an interval, or of few I/Os. " +
		"Of all I/Os of the hosts, jobs and runs chosen above, merged from their histograms with HDR, 2 " +
		"digits. Dashed is the SLA's limit for all hosts together, " +
		"there while no host or job is chosen; vertical lines are the latest 1,000 events of all runs." + drag
	livePanel := func(direction, title string) chart {
		return vega("live-"+direction, title, merged, livePercentiles(b.histograms.pattern,
			b.percentiles.pattern, b.events.pattern, direction))
	}
	iops := layer{"main", b.histograms, []column{
		terms("direction", "fio.direction", "direction", 3, ""),
		overTime("time"),
		metric("iops", "sum", "samples", "I/Os per second", wholeFormat).perSecond(),
	}}
	d.description = "What latency do how many of the requests see now, on which host? Percentiles of any choice " +
		"of hosts, jobs and runs."
	d.controls = []control{choose(b.histograms, titleField, "Run"), choose(b.histograms, "host.name", "Host"),
		choose(b.histograms, "fio.job", "Job"),
		label(b.histograms), kind(b.histograms)}
	d.rows = []row{
		{15, sideBySide(livePanel("read", "Read latency percentiles"),
			livePanel("write", "Write latency percentiles")), nil},
		{12, sideBySide(lens("live-iops", "I/Os per second", "", "lnsXY", "", iops,
			xy("line", "main", "time", "direction", "iops"))), nil},
		{15, sideBySide(vega("live-heatmap", "Latency heat map", "I/Os by time and latency, from the octave counts "+
			"of the histograms."+drag, liveHeatMap(b.histograms.pattern, b.events.pattern))), nil},
		b.liveTails(),
		{15, sideBySide(vega("live-hosts", "Hosts by the worst p99 of an interval",
			"The 20 worst, by exact percentile documents of hosts. There while no job is chosen. Click a host "+
				"to open it.",
			liveHosts(b.percentiles.pattern))),
			b.aHost()},
	}
}

func (b *bundle) fillOneRun(d *dashboard) {
	summary := layer{"main", b.runs, []column{
		terms("run", titleField, "run", 1, "started"),
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
	account := layer{"main", b.runs, []column{
		terms("run", titleField, "run", 1, "started"),
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
	d.description = "The exact percentiles of one run, with how sure they are, where they come from and what " +
		"was lost. Choose a run above; otherwise all panels show the one that began last."
	d.controls = []control{b.singleRun(), choose(b.runs, "run.name", "Run name"), kind(b.runs, "sync")}
	d.rows = []row{
		{6, sideBySide(vega("run-findings", "The run, and its findings, the worst first",
			"What `fiolat diagnose` says of the whole run.", findingsOf(b.runs.pattern))), nil},
		{12, sideBySide(
			vega("run-percentiles", "Latency percentiles with sampling limits, and events", ofAllHosts+
				" Syncs are those of runs that `fiolat live` follows.",
				runPercentiles(b.percentiles.pattern, b.events.pattern)),
			b.hostMap("run-map").opens(b.aHost())), nil},
		{6, sideBySide(lens("run-summary", "The whole run: exact percentiles", "", "lnsDatatable", notParts, summary,
			table(summary, "started"))), nil},
		{15, sideBySide(vega("run-heatmap", "Latency heat map", "I/Os by time since the start and latency, of all "+
			"hosts."+zoom, runHeatMap(b.histograms.pattern))), nil},
		{8, sideBySide(lens("run-account", "Account: what was read, repaired, restored and lost", "", "lnsDatatable",
			notParts, account, table(account, "started"))), nil},
	}
}

func (b *bundle) fillHosts(d *dashboard) {
	d.description = "Which hosts of a run make its tail? Choose a run above; otherwise all panels show the one that " +
		"began last."
	d.controls = []control{b.singleRun(), choose(b.runs, "run.name", "Run name"), kind(b.runs)}
	d.rows = []row{
		b.runTails(),
		{26, sideBySide(b.hostMap("hosts-map")), b.aHost()},
	}
}

func (b *bundle) hostMap(name string) chart {
	return vega(name, "p99 of each host; orange: nothing completed", "The worst interval of a cell, exact "+
		"(documents of scope host). A cell with an orange stripe has intervals of both kinds. Of more than 64 "+
		"hosts those that completed nothing for longest, then those with the highest p99. Click a host to open "+
		"it."+zoom, hostMap(b.percentiles.pattern))
}

func (b *bundle) jobs(name, title string) chart {
	byJob := layer{"main", b.percentiles, []column{
		theRun(),
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
	return lens(name, title, "Documents of scope host+job+direction, which `fiolat ingest --by "+
		"direction,host,job` makes.", "lnsDatatable", `scope: "host+job+direction"`, byJob, table(byJob, "p99"))
}

func (b *bundle) fillHost(d *dashboard) {
	const ofHost = "Exact, of one host's I/Os (documents of scope host+direction). In a run of more than 200 " +
		"intervals each point is the worst of several; " +
		"the band is the 95 % sampling limits of independent I/Os, vertical lines are events." + zoom
	d.description = "What latency had one host of a run? Come by a click on a host, or choose a run and a host " +
		"above; otherwise it is the first host, by name, of the run that began last."
	d.controls = []control{b.singleRun(), choose(b.runs, "run.name", "Run name"),
		{view: b.percentiles, field: "host.name", title: "Host", single: true},
		kind(b.runs)}
	d.rows = []row{
		{8, sideBySide(vega("host-figures", "Percentiles of all of the host's I/Os",
			"Merged from histograms with HDR, 3 digits.", hostFigures(b.histograms.pattern))), nil},
		{16, sideBySide(
			vega("host-read", "Read latency percentiles with sampling limits", ofHost,
				hostPercentiles(b.percentiles.pattern, b.events.pattern, "read")),
			vega("host-write", "Write latency percentiles with sampling limits", ofHost,
				hostPercentiles(b.percentiles.pattern, b.events.pattern, "write"))), nil},
		{15, sideBySide(vega("host-heatmap", "Latency heat map", "I/Os by time since the start and latency."+zoom,
			hostHeatMap(b.histograms.pattern, b.events.pattern))), nil},
		{12, sideBySide(b.jobs("host-jobs", "By job: the worst interval (of runs ingested with job in --by)")), nil},
	}
}

func (b *bundle) fillKinds(d *dashboard) {
	figuresByKind := func(direction, title string) chart {
		l := layer{"main", b.runs, []column{
			terms("run", titleField, "run", 1, "started"),
			terms("kind", "fio.kind", "kind", len(kinds), "mean"),
			metric("ios", "max", "summary."+direction+".samples", "I/Os", wholeFormat),
			metric("mean", "max", "summary."+direction+".mean", "mean", latencyFormat),
			metric("p50", "max", "summary."+direction+".p50", "p50", latencyFormat),
			metric("p99", "max", "summary."+direction+".p99", "p99", latencyFormat),
			metric("longest", "max", "summary."+direction+".max", "longest", latencyFormat),
			date("started", "max", "run.start", "began"),
		}}
		return lens("kinds-"+direction+"-figures", title, "Of the whole run and all hosts, exact.",
			"lnsDatatable", notParts, l, table(l, "mean"))
	}
	hostsByKind := func(direction, title string) chart {
		l := layer{"main", b.percentiles, []column{
			theRun(),
			terms("host", "host.name", "host", 20, "p99"),
			terms("kind", "fio.kind", "kind", len(kinds), "p99"),
			metric("ios", "sum", "samples", "I/Os", wholeFormat),
			metric("p50", "max", "latency.p50", "worst p50", latencyFormat),
			metric("p99", "max", "latency.p99", "worst p99", latencyFormat),
			metric("longest", "max", "latency.max", "longest", latencyFormat),
			start(),
		}}
		return lens("kinds-"+direction+"-hosts", title, "The worst interval of each host, exact (documents of "+
			"scope host+direction).", "lnsDatatable",
			`scope: "`+fio.HostDirectionScope+`" and fio.direction: `+direction, l, table(l, "p99"))
	}
	d.description = "Is the time spent in submission (slat) or in completion (clat), and do both add up to the " +
		"total (lat)? Choose a run above; otherwise all panels show the one that began last."
	d.controls = []control{b.singleRun(), choose(b.runs, "run.name", "Run name")}
	d.rows = []row{
		{16, sideBySide(
			vega("kinds-read", "Read latency by kind: p50 and p99 with sampling limits", ofAllHosts,
				kindPercentiles(b.percentiles.pattern, b.events.pattern, "read")),
			vega("kinds-write", "Write latency by kind: p50 and p99 with sampling limits", ofAllHosts,
				kindPercentiles(b.percentiles.pattern, b.events.pattern, "write"))), nil},
		{9, sideBySide(vega("kinds-parts", "Mean slat and clat end to end, lat as a tick: do they add up?",
			"Of the whole run, from documents of scope direction. "+
				"The gap is lat - (slat + clat); means are of fio's buckets, each within 0.8 %. Engines that count no "+
				"slat: docs/engines.md.", kindParts(b.percentiles.pattern))), nil},
		{10, sideBySide(figuresByKind("read", "Reads of the whole run by kind"), figuresByKind("write",
			"Writes of the whole run by kind")), nil},
		{12, sideBySide(hostsByKind("read", "Reads by host and kind: the worst interval"), hostsByKind("write",
			"Writes by host and kind: the worst interval")), nil},
	}
}

// latencies returns the columns of percentiles of whole runs in a direction, which name puts before them.
func latencies(name, direction string) []column {
	of, label := "summary."+direction, strings.TrimPrefix(name+" ", " ")
	return []column{
		metric(name+"p50", "max", of+".p50", label+"p50", latencyFormat),
		metric(name+"p99", "max", of+".p99", label+"p99", latencyFormat),
		metric(name+"p999", "max", of+".p99_9", label+"p99.9", latencyFormat),
	}
}

// rates returns those of IOPS, and of bytes per second with the label bytes.
func rates(name, direction, bytes string) []column {
	of, label := "summary."+direction, strings.TrimPrefix(name+" ", " ")
	return []column{
		metric(name+"iops", "max", of+".iops", label+"IOPS", wholeFormat),
		metric(name+"bytes", "max", of+".bytes_per_second", bytes, bytesFormat),
	}
}

// options returns the columns of options that all jobs of a run share.
func options() []column {
	return []column{
		metric("iodepth", "max", "fio.iodepth", "iodepth", wholeFormat),
		metric("numjobs", "max", "fio.numjobs", "numjobs", wholeFormat),
		metric("bs", "max", "fio.bs", "bs", bytesFormat),
		metric("rwmixread", "max", "fio.rwmixread", "rwmixread", wholeFormat),
	}
}

func (b *bundle) fillCompare(d *dashboard) {
	comparedRows := layer{"main", b.runs, slices.Concat([]column{
		terms("run", titleField, "run", 500, "started"),
		date("started", "max", "run.start", "started"),
		latest("workload", "fio.workload", "workload", true),
		latest("fio", "fio.version", "fio", true),
	}, options(), []column{
		metric("ios", "max", "summary.all.samples", "I/Os", wholeFormat),
	}, latencies("read", "read"), rates("read", "read", "read per second"),
		latencies("write", "write"), rates("write", "write", "written per second"), []column{
			metric("syncp99", "max", "summary.sync.p99", "fsync p99", latencyFormat),
			latest("sla", "sla.state", "SLA", false),
		})}
	d.description = "The runs of the time range; what changed between them. Click a run in the table to open " +
		"it."
	d.controls = []control{choose(b.runs, "run.name", "Run name"), choose(b.runs, "fio.workload", "Workload"),
		choose(b.runs, "fio.version", "fio version"),
		label(b.runs), choose(b.runs, titleField, "Run"), kind(b.runs)}
	d.rows = []row{
		{14, sideBySide(vega("compare-change",
			"Change against the baseline: the label baseline=true, else the earliest run",
			"The 8 latest of the chosen runs. The baseline is the latest with the label, or the earliest of the time "+
				"range. Blue is better, orange worse. Whether a change is more than chance says `fiolat compare`. "+
				"Click a run to open it.", change(b.runs.pattern))), b.aRun()},
		{15, sideBySide(lens("compare-runs", "Runs, the latest first", "Percentiles are of the whole run, exact.",
			"lnsDatatable", notParts, comparedRows, table(comparedRows, "started"))), b.aRun()},
	}
}

func (b *bundle) fillOverlaid(d *dashboard) {
	const over = "The 8 of the chosen runs that began last; in runs of more than 200 intervals each point is the " +
		"worst of several. Click a run to open it." + zoom
	d.description = "Several runs over each other, on the time since the start of each."
	d.controls = []control{choose(b.runs, "run.name", "Run name"), label(b.runs), choose(b.runs, titleField, "Run"),
		kind(b.runs)}
	d.rows = []row{
		{20, sideBySide(vega("compare-read", "Reads of several runs over the time since their start", over,
			overlay(b.percentiles.pattern, "read"))), b.aRun()},
		{20, sideBySide(vega("compare-write", "Writes of several runs over the time since their start", over,
			overlay(b.percentiles.pattern, "write"))), b.aRun()},
	}
}

func (b *bundle) fillHistory(d *dashboard) {
	const ofRuns = "Of the whole run, exact, at its start: the 1,000 latest of the chosen runs that are complete. A " +
		"line joins runs of the same workload. A triangle is the new level from that run on, a dashed line a change " +
		"of another metric, both as `fiolat history --store` found them. Click a run to open it." + zoom
	d.description = "From which run on is a series of runs slower or faster? Choose a workload and a label; " +
		"change points are there after `fiolat history --store`."
	d.controls = []control{choose(b.runs, "fio.workload", "Workload"), label(b.runs),
		choose(b.runs, "run.name", "Run name"), choose(b.runs, "fio.version", "fio version"), kind(b.runs)}
	ofHistory := func(direction, title string) chart {
		return vega("history-"+direction, title, ofRuns, history(b.runs.pattern, b.events.pattern, direction))
	}
	figures := layer{"main", b.runs, slices.Concat([]column{
		terms("run", titleField, "run", 500, "started"),
		date("started", "max", "run.start", "started"),
		latest("workload", "fio.workload", "workload", true),
	}, options(), rates("", "all", "per second"), latencies("", "all"))}
	d.rows = []row{
		{18, sideBySide(ofHistory("read", "Reads: percentiles of each run"), ofHistory("write",
			"Writes: percentiles of each run")), b.aRun()},
		{16, sideBySide(vega("history-iops", "I/Os per second of each run", ofRuns, historyRates(b.runs.pattern,
			b.events.pattern))), b.aRun()},
		{14, sideBySide(lens("history-runs", "The runs, with what their jobs have in common",
			"Percentiles are of the whole run and all directions together, exact.", "lnsDatatable",
			notParts+` and run.status: "complete"`, figures, table(figures, "started"))), b.aRun()},
	}
}

func (b *bundle) fillSlowdown(d *dashboard) {
	const timed, estimates = "probe.slowdown: *", "Median and p95 are Elasticsearch's estimates (T-Digest)."
	worstByOperation := layer{"main", b.probes, []column{
		terms("operation", "probe.operation", "operation", 8, "slowdown"),
		overTime("time"),
		metric("slowdown", "max", "probe.slowdown", "worst slowdown", timesFormat),
	}}
	observed := layer{"main", b.probes, []column{
		overTime("time"),
		metric("value", "max", "latency.value", "longest observed", latencyFormat),
		metric("expected", "max", "latency.expected", "expected", latencyFormat),
	}}
	targets := layer{"main", b.probes, []column{
		terms("target", "probe.target", "target", 50, "slowdown"),
		terms("operation", "probe.operation", "operation", 8, "slowdown"),
		records("operations", "operations"),
		percentile("usual", "probe.slowdown", "median slowdown", 50, timesFormat),
		percentile("p95", "probe.slowdown", "p95 slowdown", 95, timesFormat),
		metric("slowdown", "max", "probe.slowdown", "worst slowdown", timesFormat),
		metric("longest", "max", "latency.value", "longest", latencyFormat),
	}}
	hours := layer{"main", b.probes, []column{
		timeBuckets("hour", "hour", "1h", false),
		terms("target", "probe.target", "target", 10, "slowdown"),
		records("operations", "operations"),
		percentile("usual", "probe.slowdown", "median slowdown", 50, timesFormat),
		percentile("p95", "probe.slowdown", "p95 slowdown", 95, timesFormat),
		metric("slowdown", "max", "probe.slowdown", "worst slowdown", timesFormat),
	}}
	d.description = "How many times longer than expected do small operations take, as a user of the file " +
		"system sees them?"
	d.controls = []control{choose(b.probes, titleField, "Run"), choose(b.probes, "host.name", "Host"),
		choose(b.probes, "probe.operation", "Operation"), choose(b.probes, "probe.target", "Target")}
	d.rows = []row{
		{15, sideBySide(vega("slowdown-percentiles", "Slowdown: observed by expected time",
			"1 is as usual. Percentiles by HDR with 2 digits. Vertical lines are events."+drag,
			slowdownPercentiles(b.probes.pattern, b.events.pattern))), nil},
		{14, sideBySide(
			lens("slowdown-operations", "Worst slowdown by operation", "", "lnsXY", timed, worstByOperation,
				xy("line", "main", "time", "operation", "slowdown").log()),
			lens("slowdown-observed", "Observed and expected time", "", "lnsXY", timed, observed,
				xy("line", "main", "time", "", "value", "expected").log())), nil},
		{14, sideBySide(
			lens("slowdown-targets", "By target and operation", estimates, "lnsDatatable", timed, targets,
				table(targets, "slowdown")),
			lens("slowdown-hours", "Worst hours", estimates, "lnsDatatable", timed, hours, table(hours, "p95"))),
			nil},
	}
}

func (b *bundle) fillEvents(d *dashboard) {
	overDays := layer{"main", b.events, []column{
		terms("action", "event.action", "kind", 8, ""),
		overTime("time"),
		records("events", "events"),
	}}
	list := layer{"main", b.events, []column{
		terms("message", "message.keyword", "event", 200, "at"),
		terms("run", titleField, "run", 20, "at"),
		date("at", "max", timeField, "at"),
		latest("action", "event.action", "kind", false),
		latest("host", "host.name", "host", false),
		records("events", "times"),
	}}
	single := layer{"main", b.events, []column{
		timeBuckets("at", "at", "1s", false),
		terms("run", titleField, "run", 20, "longest"),
		terms("direction", "fio.direction", "direction", 3, ""),
		latest("host", "host.name", "host", true),
		metric("ios", "sum", "outlier.ios", "I/Os", wholeFormat),
		metric("longest", "max", "outlier.latency", "longest", latencyFormat),
	}}
	const others = `not event.action: "outlier"`
	d.description = "What happened: SLA breaches and recoveries, trouble that a probe saw, and what people " +
		"noted on runs."
	d.controls = []control{choose(b.events, "event.action", "Kind"), choose(b.events, titleField, "Run"),
		choose(b.events, "run.name", "Run name"), label(b.events)}
	d.rows = []row{
		{10, sideBySide(lens("events-over-time", "Events over time", "", "lnsXY", others, overDays,
			xy("bar_stacked", "main", "time", "action", "events"))), nil},
		{20, sideBySide(lens("events-table", "Events and notes, the latest first",
			"Events of the same words and run are one row.", "lnsDatatable", others, list, table(list, "at"))), nil},
		{12, sideBySide(lens("events-outliers", "Single I/Os far above the rest of their run, the longest first",
			"The longest 100 of each run (`fiolat diagnose --outliers`). Click a time to open the run then.",
			"lnsDatatable", `event.action: "outlier"`, single, table(single, "longest"))), b.aRun()},
	}
}

// Write writes the bundle for a prefix as NDJSON in the format of Kibana's exports: an object per line, then a line
// with their number.
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
