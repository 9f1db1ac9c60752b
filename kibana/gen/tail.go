package main

import (
	"fmt"
	"slices"

	"fiolat/fio"
	"fiolat/report/charts"
)

const ofTail = "The 20 hosts with the highest lift, of runs of two hosts or more (documents of scope " +
	"host+direction). 1 is a host's share; from 1.3 on it has more of the I/Os above p99 of all hosts than " +
	"that. Cells of several intervals hold their I/Os together."

// liveTails returns the tail maps of the live dashboard. A click filters the dashboard, because a drilldown would also
// open when a drag sets the time range.
func (b *bundle) liveTails() row {
	return b.tails("live-tail", " Click a host to filter by it. There while no job is chosen."+drag, liveTail, nil)
}

func (b *bundle) runTails() row {
	return b.tails("run-tail", " Click a host to open it."+zoom, runTail, b.aHost())
}

func (b *bundle) tails(name, how string, spec func(percentiles, direction string) charts.Spec,
	open []destination) row {
	r := row{height: 14, open: open}
	for _, d := range []string{"read", "write"} {
		r.charts = append(r.charts, vega(name+"-"+d, "Who makes the tail of "+d+
			"s: times its share", "A host's share of the I/Os above p99, over its share of "+
			"all. "+ofTail+how, spec(b.percentiles.pattern, d)))
	}
	return r
}

// tailHosts is the number of hosts in a tail map: those with the highest lift.
const tailHosts = 20

// liftByHost returns the aggregation of the hosts with the highest lift, with aggs for each. The average of lifts
// weighted by I/Os is the lift of all these I/Os, as a host's share of the I/Os times its lift is its share of those
// above p99.
func liftByHost(aggs m) m {
	return m{"host": m{
		"terms": m{"field": "host.name", "size": tailHosts, "collect_mode": "breadth_first",
			"order": m{"lift": "desc"}},
		"aggs": with(aggs, "lift", liftOf),
	}}
}

// liftOf is the lift over several documents.
var liftOf = m{"weighted_avg": m{"value": m{"field": "tail.lift"}, "weight": m{"field": "samples"}}}

func tailAggs() m {
	return m{"lift": liftOf, "n": m{"sum": m{"field": "samples"}},
		"expected": m{"avg": m{"field": "tail.expected"}}, "without": m{"max": m{"field": "tail.p99.without"}}}
}

// tailRows computes the fields of a cell from the host h and the bucket b.
var tailRows = []m{
	calculate("host", "datum.h.key"),
	calculate("whole", "datum.h.lift.value"),
	calculate("v", "datum.b.lift && datum.b.lift.value"),
	calculate("expected", "datum.b.expected && datum.b.expected.value"),
	calculate("without", "datum.b.without && datum.b.without.value"),
	calculate("n", "datum.b.n && datum.b.n.value"),
}

// ofHosts matches the documents of a direction by host that have a lift.
func ofHosts(direction string) m {
	return m{"bool": m{"filter": []m{term("scope", fio.HostDirectionScope), term("fio.direction", direction),
		exists("tail.lift")}}}
}

// liveTail draws the tail map over the dashboard's time range.
func liveTail(percentiles, direction string) charts.Spec {
	path := "aggregations.host.buckets"
	return overSpan(charts.TailMap{
		Axis: charts.WallClock, Drag: charts.SetTime,
		Click: addFilter(percentiles, "{term: {'host.name': datum.host}}", "datum.host"),
		Data: charts.Data{
			Source: selected("answer", percentiles, m{"size": 0,
				"aggs": spanned(liftByHost(m{"t": overTimeRange(tailAggs())}))}, inTime, ofHosts(direction)),
			Transform: slices.Concat(listRows(path, "h"), []m{calculate("buckets", "datum.h.t.buckets"),
				flatten("buckets", "b"), calculate("t", "datum.b.key")}, tailRows, []m{
				{"window": []m{{"op": "lag", "field": "t", "as": "before"}}, "sort": []m{{"field": "t"}}},
				calculate("between", "isValid(datum.before) ? datum.t - datum.before : 0"),
				calculate("quantum", "datum.b.ms && datum.b.ms.value || 0"),
				{"joinaggregate": []m{{"op": "max", "field": "between", "as": "step"}}},
				calculate("t2", "datum.t + max(datum.step, datum.quantum)"),
			}),
			Found: pathExpr(path+"[0]") + " != null",
		},
	}.Spec())
}

// runTail draws the tail map of the run over the time since its start.
func runTail(percentiles, direction string) charts.Spec {
	of, all := liftByHost(sinceStart(tailAggs())), sinceStart(nil)
	of["end"], of["ms"] = all["end"], all["ms"]
	return ofRun(charts.TailMap{
		Axis: charts.OfRun, Drag: charts.Zoom,
		Click: addFilter(percentiles, "{bool: {filter: [{term: {'run.id': datum.r.key}}, {term: {'host.name': "+
			"datum.host}}]}}", "datum.host + ' in ' + datum.r.key"),
		Data: charts.Data{
			Source: oneRun("answer", percentiles, of, ofHosts(direction)),
			Transform: slices.Concat(listRows("aggregations.run.buckets", "r"), stepOf("datum.r"), []m{
				calculate("hosts", "datum.r.host.buckets"), flatten("hosts", "h")}, stepRows("datum.h"), tailRows),
			Found: pathExpr(runPath+".host.buckets[0]") + " != null",
		},
	}.Spec())
}

// findingsOf says what the run that began last was like, and lists its diagnosis. The findings are unmapped, so they
// come from the source of the run's document.
func findingsOf(runs string) charts.Spec {
	fields := []string{"diagnosis.findings", "diagnosis.more", "diagnosis.omitted", "settings", "run.id", titleField,
		"run.status",
		"run.start", "run.end", "summary.all.samples", "summary.all.iops", "summary.all.p50", "summary.all.p99",
		"summary.all.p99_9", "summary.all.max"}
	source := pathExpr("hits.hits[0]._source")
	ns := func(name, field string) string {
		return " + ', " + name + " ' + " + charts.Latency("datum.all."+field)
	}
	return charts.Findings{Data: charts.Data{
		Source: selected("answer", runs, m{"size": 1, "sort": []m{{"run.start": "desc"}}, "_source": fields},
			inPart, noParts, without(oneOf("fio.kind", "probe", "sync"))),
		Transform: []m{
			{"filter": source + " != null"},
			calculate("run", "datum.hits.hits[0]._source.run"),
			calculate("all", pathExpr("hits.hits[0]._source.summary.all")),
			calculate("omitted", pathExpr("hits.hits[0]._source.diagnosis.omitted")+" || 0"),
			calculate("align", pathExpr("hits.hits[0]._source.settings.align")),
			calculate("counted",
				"datum.align == 'inflight' ? 'I/Os count while they were in flight (--align inflight)' : "+
					"datum.align == 'overlap' ? 'I/Os count when they complete (--align overlap)' : ''"),
			calculate("began", "toNumber(toDate(datum.run.start))"),
			calculate("seconds", "(toNumber(toDate(datum.run.end)) - toNumber(toDate(datum.run.start))) / 1e3"),
			calculate("figures", "!(datum.all && datum.all.samples > 0) ? '' : ': ' + "+
				"format(datum.all.samples, ',.0f') + ' I/Os' + (datum.run.end ? ' in ' + "+
				"format(datum.seconds, ',.3~f') + ' s' : '') + (datum.all.iops > 0 ? ', ' + "+
				"format(datum.all.iops, ',.4~r') + ' per second' : '')"+
				ns("p50", "p50")+ns("p99", "p99")+ns("p99.9", "p99_9")+ns("the longest", "max")),
			calculate("lead", "[{about: 'run', text: (datum.run.title || datum.run.id) + ', ' + (datum.run.status || "+
				"'status unknown') + ', began ' + timeFormat(toDate(datum.run.start), '%Y-%m-%d %H:%M:%S') + "+
				"datum.figures + '.'}]"),
			calculate("found", pathExpr("hits.hits[0]._source.diagnosis.findings")+" || []"),
			calculate("others", pathExpr("hits.hits[0]._source.diagnosis.more")+" || []"),
			{"fold": []string{"lead", "found", "others"}, "as": []string{"part", "list"}},
			flatten("list", "f"),
			{"window": []m{{"op": "row_number", "as": "place"}}},
			calculate("rank", "datum.place - 1"),
			calculate("about", "datum.f.about"),
			calculate("when",
				"datum.f.about == 'run' || !(datum.f.to_ms > 0) || "+
					"datum.f.from_ms <= 0 && datum.f.to_end ? '' : "+
					"timeFormat(datum.began + datum.f.from_ms + 500, '%H:%M:%S') + ' to ' + "+
					"timeFormat(datum.began + datum.f.to_ms + 500, '%H:%M:%S') + ': '"),
			calculate("text", "datum.when + "+spelled("datum.f.text")),
		},
		Found: source + " != null",
	}}.Spec()
}

// spelled returns an expression for a stored text, with µs as charts have it, and host07 in place of "host host07".
func spelled(text string) string {
	return "replace(replace(" + text + ", regexp('([0-9]) ?us\\\\b', 'g'), '$1 µs'), " +
		"regexp('\\\\bhosts? (?=host[0-9])', 'gi'), '')"
}

// inPart matches runs that began in the dashboard's time range, or before it and ended in it or later.
var inPart = m{"bool": m{"should": []m{inTime, {"bool": m{"filter": []m{
	{"range": m{"run.start": m{"lte": m{"%timefilter%": "max"}}}},
	{"range": m{"run.end": m{"gte": m{"%timefilter%": "min"}}}}}}}}}}

// mapHosts is the number of hosts in a map of p99: more would have rows of less than 5 pixels. Of more hosts these are
// the ones with the most intervals without a completion, then with the highest p99.
const mapHosts = 64

// mapSteps are few enough for the 65,536 buckets that Elasticsearch allows a search.
var mapSteps = steps{[]int{1, 2, 10, 30, 120, 600, 3600, 21600}, 100}

// hostMap draws p99 of each host of the run over the time since its start.
func hostMap(percentiles string) charts.Spec {
	p99, idle := m{"max": m{"field": "latency.p99"}}, m{"filter": m{"bool": m{
		"filter":   []m{{"range": m{"samples": m{"lte": 0}}}, {"exists": m{"field": "iops"}}},
		"must_not": m{"term": m{"partial": true}}}}}
	all := mapSteps.sinceStart(nil)
	s := ofRun(charts.HostMap{
		Title: m{"signal": fmt.Sprintf("hosts > %[1]d ? '%[1]d of ' + hosts + ' hosts' : ''", mapHosts)},
		Axis:  charts.OfRun, Drag: charts.Zoom,
		Click: addFilter(percentiles, "{bool: {filter: [{term: {'run.id': datum.r.key}}, {term: {'host.name': "+
			"datum.host}}]}}", "datum.host + ' in ' + datum.r.key"),
		Data: charts.Data{
			Source: oneRun("answer", percentiles, m{"end": all["end"], "ms": all["ms"],
				"hosts": m{"cardinality": m{"field": "host.name"}}, "host": m{
					"terms": m{"field": "host.name", "size": mapHosts, "collect_mode": "breadth_first",
						"order": []m{{"idle": "desc"}, {"p99": "desc"}}},
					"aggs": with(with(mapSteps.sinceStart(m{"p99": p99, "idle": idle,
						"n": m{"sum": m{"field": "samples"}}}), "p99", p99), "idle", idle)},
			}, term("scope", fio.HostScope), term("fio.direction", fio.All)), // not syncs
			Transform: slices.Concat(listRows("aggregations.run.buckets", "r"), mapSteps.choose("datum.r"), []m{
				calculate("hosts", "datum.r.host.buckets"), flatten("hosts", "h"),
				calculate("host", "datum.h.key")}, stepRows("datum.h"), []m{
				calculate("v", "datum.b.p99 && datum.b.p99.value"),
				calculate("n", "datum.b.n && datum.b.n.value"),
				calculate("idle", "datum.b.idle && datum.b.idle.doc_count"),
			}),
			Found: pathExpr(runPath+".host.buckets[0]") + " != null",
			Why:   "only runs that were ingested with host in --by have hosts",
		},
	}.Spec())
	s.Params = append(s.Params, m{"name": "hosts", "expr": reply(runPath + ".hosts.value")})
	return s
}
