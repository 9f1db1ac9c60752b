package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/report/charts"
)

type m = charts.M

// Significant digits of HDR: few over time, where each bucket has a structure of its own, more for single figures.
const (
	liveDigits   = 2
	figureDigits = 3
)

// search returns Vega data whose only row is Elasticsearch's reply. Kibana assigns replies by name, so names must be
// unique within a panel.
func search(name, index string, body m, filters ...m) m {
	body["query"] = m{"bool": m{"filter": filters}}
	return m{"name": name, "url": m{"index": index, "body": body}}
}

// selected searches the documents that match filters, and the dashboard's query, filters and controls, which Kibana
// puts in place of the strings.
func selected(name, index string, body m, filters ...m) m {
	data := search(name, index, body)
	all := []any{"%dashboard_context-filter_clause%"}
	for _, f := range filters {
		all = append(all, f)
	}
	body["query"] = m{"bool": m{"must": []any{"%dashboard_context-must_clause%"}, "filter": all,
		"must_not": []any{"%dashboard_context-must_not_clause%"}}}
	return data
}

// inTime matches documents in the dashboard's time range.
var inTime = m{"range": m{timeField: m{"%timefilter%": true}}}

func term(field string, value any) m { return m{"term": m{field: value}} }

func oneOf(field string, values ...string) m { return m{"terms": m{field: values}} }

func without(query m) m { return m{"bool": m{"must_not": []m{query}}} }

func exists(field string) m { return m{"exists": m{"field": field}} }

// pathExpr returns a Vega expression for the value at a path of the reply, null where part of the path is missing: a
// reply has no aggregations as long as no index matches.
func pathExpr(path string) string {
	var out []string
	so := "datum"
	for step := range strings.SplitSeq(path, ".") {
		name, index, in := strings.Cut(step, "[")
		so += "." + name
		out = append(out, so)
		if in {
			so += "[" + index
			out = append(out, so)
		}
	}
	return "(" + strings.Join(out, " && ") + " || null)"
}

// listRows makes a row for each element of the list at a path of the reply.
func listRows(path, as string) []m {
	return []m{calculate("list", pathExpr(path)+" || []"), flatten("list", as)}
}

func calculate(as, expr string) m { return m{"calculate": expr, "as": as} }

func flatten(field, as string) m { return m{"flatten": []string{field}, "as": []string{as}} }

// vega returns a panel for a Vega specification. Kibana's warnings are off because they would cover charts that have,
// say, no events to mark.
func vega(id, title, description string, spec charts.Spec) chart {
	spec.Config = m{"kibana": m{"hideWarnings": true, "controlsLocation": "top"}}
	v := &savedVis{Title: title, Description: description, Type: "vega", Params: vegaParams{text{spec}}}
	v.Data.Aggs, v.Data.Search = []any{}, emptySearch
	return chart{id: id, typ: typeVisualization, title: title,
		config: panelConfig{Description: description, SavedVis: v}}
}

type savedVis struct {
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Type        string     `json:"type"`
	Params      vegaParams `json:"params"`
	UIState     struct{}   `json:"uiState"`
	Data        struct {
		Aggs   []any        `json:"aggs"`
		Search searchSource `json:"searchSource"`
	} `json:"data"`
}

type vegaParams struct {
	Spec text `json:"spec"`
}

// octaves returns aggregations that sum the octave counts of histogram documents; foldOctaves makes a row for each sum
// in the object at path.
func octaves() m {
	aggs := m{}
	for n := range charts.Octaves {
		aggs[fmt.Sprintf("e%02d", n)] = m{"sum": m{"field": fmt.Sprintf("latency.octave.e%02d", n)}}
	}
	return aggs
}

func foldOctaves(path string) []m {
	var fields []string
	for n := range charts.Octaves {
		fields = append(fields, fmt.Sprintf("%se%02d.value", path, n))
	}
	return []m{
		{"fold": fields, "as": []string{"name", "n"}},
		calculate("octave", fmt.Sprintf("toNumber(substring(datum.name, %d, %d))", len(path)+1, len(path)+3)),
	}
}

// maxBars is the number of time buckets that a chart over the time picker asks for. Kibana rounds their length to as
// little as a fifth (EsQueryParser._roundInterval), so there can be five times as many.
const maxBars = 50

// overTimeRange returns aggs by time over the dashboard's time range. ms of each bucket is its longest interval.
func overTimeRange(aggs m) m {
	return m{
		"date_histogram": m{"field": timeField, "interval": m{"%autointerval%": maxBars}, "min_doc_count": 0,
			"extended_bounds": m{"min": m{"%timefilter%": "min"}, "max": m{"%timefilter%": "max"}}},
		"aggs": with(aggs, "ms", m{"max": m{"field": "interval.ms"}}),
	}
}

// spanned returns the aggregations of a chart over the dashboard's time range, with that range itself: only searches
// know it, and a reply to a date_range repeats its limits.
func spanned(aggs m) m {
	return with(aggs, "span", m{"date_range": m{"field": timeField, "ranges": []m{{"from": m{"%timefilter%": "min"},
		"to": m{"%timefilter%": "max"}}}}})
}

// overSpan gives a chart of spanned aggregations the time range as its axis, so that charts below each other agree.
func overSpan(s charts.Spec) charts.Spec {
	span := reply("aggregations.span.buckets[0]")
	s.Params = append(s.Params, m{"name": "span", "expr": span + " ? [" + span + ".from, " + span + ".to] : null"})
	return s
}

// timeRows makes a row for each time bucket at a path: t is its start, step its length. An empty bucket stays as a
// gap, unless it lies within the interval of an earlier one.
func timeRows(path string) []m {
	return append(listRows(path, "b"),
		calculate("t", "datum.b.key"),
		calculate("seen", "datum.b.doc_count > 0 ? datum.t : null"),
		m{"window": []m{{"op": "lag", "field": "t", "as": "before"}, {"op": "max", "field": "seen", "as": "last"}},
			"frame": []any{nil, 0},
			"sort":  []m{{"field": "t"}}},
		calculate("between", "isValid(datum.before) ? datum.t - datum.before : 0"),
		calculate("quantum", "datum.b.ms && datum.b.ms.value || 0"),
		m{"joinaggregate": []m{{"op": "max", "field": "between", "as": "step"}, {"op": "max", "field": "quantum",
			"as": "quantum"}}},
		m{"filter": "datum.b.doc_count > 0 || !isValid(datum.last) || datum.t >= datum.last + datum.quantum"},
	)
}

// livePercentiles draws percentiles of the selected histograms of a direction, merged with HDR.
func livePercentiles(histograms, percentiles, events, direction string) charts.Spec {
	var percents []json.Number
	rows, limitRows := "", ""
	limits := m{}
	for _, p := range shownPercentiles {
		percents = append(percents, json.Number(p[1:]))
		key := percentKey(p)
		rows += fmt.Sprintf("{p: '%s', v: datum.b.p && datum.b.p.values['%s']},", p, key)
		limits[field(p)] = m{"max": m{"field": "sla.limit." + field(p)}}
		limitRows += fmt.Sprintf("{p: '%s', limit: datum.b.%s && datum.b.%s.value},", p, field(p), field(p))
	}
	n := m{"sum": m{"field": "samples"}}
	return overSpan(charts.Percentiles{
		Axis: charts.WallClock, Drag: charts.SetTime, Merged: true, Names: shownPercentiles,
		Data: charts.Data{
			Source: selected("answer", histograms, m{"size": 0, "aggs": spanned(m{"n": n, "t": overTimeRange(m{"n": n,
				"hosts": m{"cardinality": m{"field": "host.name", "precision_threshold": 1000}},
				"p": m{"percentiles": m{"field": histogram, "percents": percents,
					"hdr": m{"number_of_significant_value_digits": liveDigits}}}})})}, inTime,
				term("fio.direction", direction)),
			Transform: slices.Concat(timeRows("aggregations.t.buckets"), qRows(rows),
				[]m{calculate("p", "datum.q.p"), calculate("v", "datum.q.v > 0 ? datum.q.v : null"), calculate("n",
					"datum.b.n ? datum.b.n.value : 0"), calculate("hosts", "datum.b.hosts ? datum.b.hosts.value : 0")},
				fewest),
			Found: pathExpr("aggregations.n.value") + " > 0",
		},
		Limits: &charts.Data{
			Source: selected("limits", percentiles, m{"size": 0, "aggs": m{"t": overTimeRange(limits)}}, inTime,
				allHosts(direction)),
			Transform: slices.Concat(timeRows("aggregations.t.buckets"), qRows(limitRows),
				[]m{calculate("p", "datum.q.p"), calculate("limit", "datum.q.limit")}),
		},
		Events: eventsInRange(events),
	}.Spec())
}

// fewest marks percentiles of fewer I/Os than their rank needs, or than a tenth of what time buckets usually have, as
// at the end of a run.
var fewest = []m{
	calculate("some", "datum.n > 0 ? datum.n : null"),
	{"joinaggregate": []m{{"op": "median", "field": "some", "as": "usual"}}},
	calculate("few", "datum.n < datum.usual / 10 || datum.n * (1 - toNumber(substring(datum.p, 1)) / 100) < 1"),
}

// percentKey is the key of a percentile in Elasticsearch's reply: "50.0", "99.9".
func percentKey(p string) string {
	p = p[1:]
	if strings.Contains(p, ".") {
		return p
	}
	return p + ".0"
}

// qRows makes a row with the field q for each of the comma-separated object literals of a Vega expression.
func qRows(rows string) []m {
	return []m{calculate("rows", "["+strings.TrimSuffix(rows, ",")+"]"), flatten("rows", "q")}
}

// slowdownPercentiles draws percentiles and the maximum of the slowdown that probes measured.
func slowdownPercentiles(probes, events string) charts.Spec {
	names := []string{"p50", "p95", "p99", "worst"}
	rows := "{p: 'worst', v: datum.b.worst && datum.b.worst.value},"
	for _, p := range names[:3] {
		rows += fmt.Sprintf("{p: '%s', v: datum.b.p && datum.b.p.values['%s']},", p, percentKey(p))
	}
	n := m{"value_count": m{"field": "probe.slowdown"}}
	return overSpan(charts.Percentiles{
		Axis: charts.WallClock, Drag: charts.SetTime, Merged: true, Ratio: true, Names: names,
		Data: charts.Data{
			Source: selected("answer", probes, m{"size": 0, "aggs": spanned(m{"n": n, "t": overTimeRange(m{"n": n,
				"worst": m{"max": m{"field": "probe.slowdown"}},
				"p": m{"percentiles": m{"field": "probe.slowdown", "percents": []int{50, 95, 99},
					"hdr": m{"number_of_significant_value_digits": liveDigits}}}})})}, inTime,
				exists("probe.slowdown")),
			Transform: slices.Concat(timeRows("aggregations.t.buckets"), qRows(rows),
				[]m{calculate("p", "datum.q.p"), calculate("v", "datum.q.v > 0 ? datum.q.v : null"), calculate("n",
					"datum.b.n ? datum.b.n.value : 0")}),
			Found: pathExpr("aggregations.n.value") + " > 0",
		},
		Events: eventsInRange(events),
	}.Spec())
}

// liveHosts ranks hosts by the worst p99 of an interval.
func liveHosts(percentiles string) charts.Spec {
	return charts.Hosts{
		What: "worst p99 of an interval",
		Data: charts.Data{
			Source: selected("answer", percentiles, m{"size": 0, "aggs": worstHosts()}, inTime,
				term("scope", fio.HostDirectionScope)),
			Transform: append(listRows("aggregations.host.buckets", "h"), calculate("directions",
				"datum.h.direction.buckets"), flatten("directions", "d"), calculate("host", "datum.h.key"),
				calculate("direction", "datum.d.key"), calculate("v", "datum.d.p99.value")),
			Found: pathExpr("aggregations.host.buckets[0]") + " != null",
			Why:   "runs that were ingested with host in --by have hosts, jobs have none",
		},
		Click: addFilter(percentiles, "{term: {'host.name': datum.host}}", "datum.host"),
	}.Spec()
}

// worstHosts returns the aggregation of the hosts with the largest exact p99, by direction.
func worstHosts() m {
	p99 := m{"p99": m{"max": m{"field": "latency.p99"}}}
	return m{"host": m{
		"terms": m{"field": "host.name", "size": 20, "order": m{"p99": "desc"}},
		"aggs":  with(p99, "direction", m{"terms": m{"field": "fio.direction"}, "aggs": p99}),
	}}
}

// addFilter returns a Vega expression that adds a filter on an index to the dashboard; words is the expression of its
// label.
func addFilter(index, filter, words string) string {
	return fmt.Sprintf("kibanaAddFilter(%s, '%s', %s)", filter, index, words)
}

func liveHeatMap(histograms, events string) charts.Spec {
	return overSpan(charts.HeatMap{
		Axis: charts.WallClock, Drag: charts.SetTime,
		Data: charts.Data{
			Source: selected("answer", histograms, m{"size": 0, "aggs": spanned(m{"n": m{"sum": m{"field": "samples"}},
				"t": overTimeRange(octaves())})}, inTime, noSyncs),
			Transform: slices.Concat(timeRows("aggregations.t.buckets"),
				[]m{calculate("t2", "datum.t + max(datum.step, datum.b.ms.value)")}, foldOctaves("b.")),
			Found: pathExpr("aggregations.n.value") + " > 0",
		},
		Events: eventsInRange(events),
	}.Spec())
}

// noSyncs excludes syncs where the dashboard's control selects them as well.
var noSyncs = without(term("fio.direction", fio.Sync.String()))

// eventsInRange returns all events in the dashboard's time range. It ignores the selection of hosts, jobs and kinds of
// latency, because an event of the cluster concerns all of them.
func eventsInRange(events string) *charts.Data {
	return &charts.Data{
		Source:    search("events", events, latestEvents(), inTime, noOutliers),
		Transform: eventRows("toNumber(toDate(datum.hit._source['@timestamp']))"),
	}
}

// noOutliers excludes single slow I/Os: up to a hundred of each run would hide all else.
var noOutliers = without(term("event.action", "outlier"))

// latestEvents asks for no more events than a chart can hold.
func latestEvents() m {
	return m{"size": 1000, "sort": []m{{timeField: "desc"}}, "_source": []string{timeField, "run.id", "event.action",
		"message", offsetField}}
}

// eventRows makes a row for each hit; t is the expression of its time.
func eventRows(t string) []m {
	return append(listRows("hits.hits", "hit"),
		calculate("t", t),
		calculate("what", "datum.hit._source.event && datum.hit._source.event.action || 'event'"),
		calculate("text", spelled("(datum.hit._source.message || '')")),
	)
}

// steps are the possible lengths, in seconds, of intervals of the time since a run's start. The length of the run is
// unknown when a panel makes its request, so it asks for all lengths, each but the last over at most most intervals.
// It draws the finest that covers the run and is no shorter than an interval, if possible a multiple of it.
type steps struct {
	lengths []int
	most    int
}

var allSteps = steps{[]int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 21600}, 200}

func sinceStart(aggs m) m { return allSteps.sinceStart(aggs) }

// sinceStart returns aggregations of a run's documents by time since its start, with aggs in each interval.
func (all steps) sinceStart(aggs m) m {
	out := m{
		"end": m{"max": m{"field": offsetField}},
		"ms":  m{"max": m{"field": "interval.ms"}},
	}
	for i, s := range all.lengths {
		within := m{"exists": m{"field": offsetField}}
		if i < len(all.lengths)-1 {
			within = m{"range": m{offsetField: m{"lt": s * 1000 * all.most}}}
		}
		out[fmt.Sprintf("s%d", s)] = m{"filter": within, "aggs": m{
			"h": m{"histogram": m{"field": offsetField, "interval": s * 1000, "min_doc_count": 0}, "aggs": aggs},
		}}
	}
	return out
}

// chooseStep picks a step for the run whose sinceStart aggregations are at path and makes a row for each interval: the
// field b is the bucket, t and t2 its start and end.
func chooseStep(path string) []m { return append(stepOf(path), stepRows(path)...) }

func stepOf(path string) []m { return allSteps.choose(path) }

func (all steps) choose(path string) []m {
	var even, any strings.Builder
	for _, s := range all.lengths {
		fits := fmt.Sprintf("%[1]s.end.value < %[2]d && %[3]d >= %[1]s.ms.value", path, s*1000*all.most, s*1000)
		fmt.Fprintf(&even, "%s && %d %% %s.ms.value == 0 ? %d : ", fits, s*1000, path, s)
		fmt.Fprintf(&any, "%s ? %d : ", fits, s)
	}
	return []m{calculate("step", even.String()+any.String()+fmt.Sprint(all.lengths[len(all.lengths)-1]))}
}

// stepRows makes a row for each interval of the picked step.
func stepRows(path string) []m {
	return []m{
		calculate("buckets", fmt.Sprintf("%[1]s.end ? %[1]s['s' + datum.step].h.buckets : []", path)),
		flatten("buckets", "b"),
		calculate("t", "datum.b.key"),
		calculate("t2", "datum.t + 1000 * datum.step"),
	}
}

// oneRun asks for the last started of the runs that the dashboard selects and its time range holds. Elasticsearch
// finds it first, by run and time alone: breadth_first then computes aggs of its documents only.
func oneRun(name, index string, aggs m, filters ...m) m {
	return selected(name, index, m{"size": 0, "aggs": m{"run": m{
		"terms": m{"field": "run.id", "size": 1, "shard_size": candidates, "collect_mode": "breadth_first",
			"order": m{"start": "desc"}},
		"aggs": with(with(named(aggs), "start", m{"min": m{"field": timeField}}), "first",
			m{"min": m{"field": offsetField}}),
	}}}, append([]m{inTime}, filters...)...)
}

// ofRun gives the axis of a chart of oneRun the run's title, or what else is at paths of the run, and when it began: a
// document's time less its time since the start.
func ofRun(s charts.Spec, paths ...string) charts.Spec {
	var names []string
	for _, p := range append([]string{".title.buckets[0].key"}, paths...) {
		names = append(names, "("+reply(runPath+p)+" || '')")
	}
	start := reply(runPath + ".start.value")
	s.Params = append(s.Params, m{"name": "began", "expr": start + " ? " + start + " - " +
		reply(runPath+".first.value") + " : NaN"}, m{"name": "run", "expr": strings.Join(names, " + ', ' + ")})
	return s
}

// ofHost is the path of oneHost's host in a run.
const ofHost = ".host.buckets[0].key"

// reply is pathExpr for signals, which have no row.
func reply(path string) string {
	return strings.ReplaceAll(pathExpr(path), "datum.", "(data('answer')[0] || {}).")
}

// candidates is the number of runs that each shard, which holds a month, offers as the latest.
const candidates = 2

func with(aggs m, name string, agg any) m {
	out := m{name: agg}
	maps.Copy(out, aggs)
	return out
}

// runEvents returns the events of the run in the panel's answer.
func runEvents(events string) *charts.Data {
	rows := eventRows("datum.hit._source.interval.offset_ms")
	return &charts.Data{
		Source: search("events", events, latestEvents(), inTime, noOutliers),
		Transform: slices.Concat(rows[:2], []m{
			calculate("run", "datum.hit._source.run && datum.hit._source.run.id"),
			// The lookup joins the reply, a single row, to every event. Its key can be any field with a known value:
			// timed_out is always false.
			calculate("same", "false"),
			{"lookup": "same", "from": m{"data": m{"name": "answer"}, "key": "timed_out",
				"fields": []string{"aggregations"}}},
			{"filter": "datum.run == " + pathExpr(runPath+".key") + " && isValid(datum.hit._source.interval)"},
		}, rows[2:]),
	}
}

func runHeatMap(histograms string) charts.Spec {
	return ofRun(charts.HeatMap{
		Axis: charts.OfRun, Drag: charts.Zoom,
		Data: charts.Data{
			Source: oneRun("answer", histograms, counted(octaves()), noSyncs),
			Transform: slices.Concat(listRows("aggregations.run.buckets", "r"), chooseStep("datum.r"),
				foldOctaves("b.")),
			Found: pathExpr(runPath+".n.value") + " > 0",
		},
	}.Spec())
}

// runPath is the path of oneRun's run in the reply.
const runPath = "aggregations.run.buckets[0]"

// field returns the field name of a percentile: p99_9 for p99.9.
func field(percentile string) string { return strings.ReplaceAll(percentile, ".", "_") }

// exactPercentiles returns aggregations for exact percentiles with their confidence limits and the SLA's limits. rows
// returns the object literals for qRows of the bucket at path.
func exactPercentiles(names []string) (aggs m, rows func(label, path string) string) {
	aggs = m{}
	for _, p := range names {
		f := field(p)
		for name, of := range map[string]string{"": "latency." + f, "_lower": "latency.ci." + f + ".lower",
			"_upper": "latency.ci." + f + ".upper", "_limit": "sla.limit." + f} {
			aggs[f+name] = m{"max": m{"field": of}}
		}
	}
	aggs["full"] = m{"filter": without(term("partial", true))}
	return aggs, func(label, path string) (rows string) {
		for _, p := range names {
			rows += fmt.Sprintf("{p: '%[1]s', v: %[2]s.value, lower: %[2]s_lower.value, upper: %[2]s_upper.value, "+
				"limit: %[2]s_limit.value, few: !(%[3]s.full.doc_count > 0)},", label+p, path+"."+field(p), path)
		}
		return rows
	}
}

// runPercentiles draws the exact percentiles of a run over all hosts, of all directions together or of one.
func runPercentiles(percentiles, events string) charts.Spec {
	aggs, rows := exactPercentiles(shownPercentiles)
	directions, of := fio.MetricDirections(), m{}
	for _, d := range directions {
		of[d] = m{"filter": term("fio.direction", d), "aggs": counted(aggs)}
	}
	run, names := pathExpr(runPath), "'"+strings.Join(directions, "', '")+"'"
	return ofRun(charts.Percentiles{
		Axis: charts.OfRun, Drag: charts.Zoom, Names: shownPercentiles, First: fio.All, Choice: &charts.Data{
			Source: m{"name": "answer"},
			Transform: []m{calculate("run", run), calculate("names", "["+names+"]"), flatten("names", "name"),
				{"filter": "datum.run && datum.run[datum.name].n.value > 0"}},
		},
		Data: charts.Data{
			Source: oneRun("answer", percentiles, of, oneOf("scope", fio.RunScope, fio.DirectionScope)),
			Transform: slices.Concat(listRows("aggregations.run.buckets", "r"),
				[]m{calculate("scope", "datum.r[direction]")}, chooseStep("datum.scope"),
				exactRows(rows("", "datum.b"))),
			Found: "(" + run + " && " + run + "[direction].n.value > 0)",
		},
		Events: runEvents(events),
	}.Spec())
}

// hostPercentiles draws the exact percentiles of a host: the first by name of those selected in the run.
func hostPercentiles(percentiles, events, direction string) charts.Spec {
	aggs, rows := exactPercentiles(shownPercentiles)
	return sinceStartOf(oneRun("answer", percentiles, oneHost(counted(aggs)), term("scope", fio.HostDirectionScope),
		term("fio.direction", direction)), runEvents(events), runPath+".host.buckets", shownPercentiles, nil,
		rows("", "datum.b"), ofHost)
}

// counted returns aggs by time since the run's start, and the number of I/Os.
func counted(aggs m) m { return with(sinceStart(aggs), "n", m{"sum": m{"field": "samples"}}) }

// oneHost asks for the first host of a run by name.
func oneHost(aggs m) m {
	return m{"host": m{"terms": m{"field": "host.name", "size": 1, "shard_size": 1, "collect_mode": "breadth_first",
		"order": m{"_key": "asc"}}, "aggs": aggs}}
}

func hostHeatMap(histograms, events string) charts.Spec {
	return ofRun(charts.HeatMap{
		Axis: charts.OfRun, Drag: charts.Zoom,
		Data: charts.Data{
			Source:    oneRun("answer", histograms, oneHost(counted(octaves()))),
			Transform: slices.Concat(listRows(runPath+".host.buckets", "r"), chooseStep("datum.r"), foldOctaves("b.")),
			Found:     pathExpr(runPath+".host.buckets[0].n.value") + " > 0",
		},
		Events: runEvents(events),
	}.Spec(), ofHost)
}

// hostFigures shows percentiles of all I/Os of a host in a run.
func hostFigures(histograms string) charts.Spec {
	rows := ""
	for _, p := range shownPercentiles {
		rows += fmt.Sprintf("{p: '%s', v: datum.d.p && datum.d.p.values['%s']},", p, percentKey(p))
	}
	of := func(direction string) m {
		return m{"filter": m{"term": m{"fio.direction": direction}}, "aggs": m{"n": m{"sum": m{"field": "samples"}},
			"p": m{"percentiles": m{"field": histogram, "percents": []float64{50, 95, 99, 99.9},
				"hdr": m{"number_of_significant_value_digits": figureDigits}}}}}
	}
	path := runPath + ".host.buckets"
	return ofRun(charts.Figures{Title: m{"signal": "run"}, Data: charts.Data{
		Source: oneRun("answer", histograms, oneHost(m{"read": of("read"), "write": of("write")}),
			oneOf("fio.direction", "read", "write")),
		Transform: slices.Concat(listRows(path, "h"), []m{{"fold": []string{"h.read", "h.write"}, "as": []string{"name",
			"d"}}}, qRows(rows),
			[]m{calculate("direction", "substring(datum.name, 2)"), calculate("n", "datum.d.n.value"), calculate("p",
				"datum.q.p"), calculate("v", "datum.q.v > 0 ? datum.q.v : null")}),
		Found: pathExpr(path+"[0]") + " != null",
	}}.Spec(), ofHost)
}

// kinds are fio's kinds of latency: submission, completion, total.
var kinds = []string{"slat", "clat", "lat"}

// eachKind returns aggs for each kind of latency.
func eachKind(aggs m) m {
	out := m{}
	for _, k := range kinds {
		out[k] = m{"filter": m{"term": m{"fio.kind": k}}, "aggs": aggs}
	}
	return out
}

// kindPercentiles draws p50 and p99 of each kind of latency.
func kindPercentiles(percentiles, events, direction string) charts.Spec {
	var names []string
	all := ""
	for _, p := range []string{"p50", "p99"} {
		for _, k := range kinds {
			names = append(names, k+" "+p)
		}
	}
	aggs, rows := exactPercentiles([]string{"p50", "p99"})
	for _, k := range kinds {
		all += rows(k+" ", "datum.b."+k)
	}
	return sinceStartOf(oneRun("answer", percentiles, counted(eachKind(aggs)), allHosts(direction)),
		runEvents(events), "aggregations.run.buckets", names,
		slices.Concat(charts.KindPale, charts.KindColors), all)
}

// sinceStartOf draws percentiles over the time since the run's start. rows are the object literals, by the bucket b,
// that yield the percentiles of these names. runs is the path of the run, or of its host, in the reply.
func sinceStartOf(source m, events *charts.Data, runs string, names, colors []string, rows string,
	paths ...string) charts.Spec {
	return ofRun(charts.Percentiles{
		Axis: charts.OfRun, Drag: charts.Zoom,
		Names:  names,
		Colors: colors,
		Data: charts.Data{
			Source:    source,
			Transform: slices.Concat(listRows(runs, "r"), chooseStep("datum.r"), exactRows(rows)),
			Found:     pathExpr(runs+"[0].n.value") + " > 0",
		},
		Events: events,
	}.Spec(), paths...)
}

// exactRows makes a row for each object literal of exactPercentiles.
func exactRows(rows string) []m {
	return append(qRows(rows), calculate("p", "datum.q.p"), calculate("v", "datum.q.v"), calculate("lower",
		"datum.q.lower"), calculate("upper", "datum.q.upper"), calculate("limit", "datum.q.limit"),
		calculate("few", "datum.q.few"))
}

// kindParts shows the mean of a whole run by kind. Weighting the intervals by their I/Os gives the mean of all I/Os.
func kindParts(percentiles string) charts.Spec {
	mean := m{"mean": m{"weighted_avg": m{"value": m{"field": "latency.mean"}, "weight": m{"field": "samples"}}}}
	path := runPath + ".direction.buckets"
	rows := append(listRows(path, "b"), calculate("direction", "datum.b.key"))
	for _, k := range kinds {
		rows = append(rows, calculate(k, "datum.b."+k+".mean.value"))
	}
	return charts.Parts{Data: charts.Data{
		Source: oneRun("answer", percentiles, m{"direction": m{"terms": m{"field": "fio.direction",
			"order": m{"_key": "asc"}}, "aggs": eachKind(mean)}}, term("scope", fio.DirectionScope)),
		Transform: rows,
		Found:     pathExpr(path+"[0]") + " != null",
	}}.Spec()
}

// allHosts matches the percentile documents of a direction over all hosts. Those of all directions together, and of
// syncs, a single one, have scope run.
func allHosts(direction string) m {
	scope := fio.DirectionScope
	if direction == fio.Sync.String() || direction == fio.All {
		scope = fio.RunScope
	}
	return m{"bool": m{"filter": []m{term("scope", scope), term("fio.direction", direction)}}}
}

// named returns aggs of a run, and its title, whose expression is runLabel.
func named(aggs m) m { return with(aggs, "title", m{"terms": m{"field": titleField, "size": 1}}) }

const runLabel = "(datum.r.title.buckets.length ? datum.r.title.buckets[0].key : datum.r.key)"

// overlay draws the latest of the selected runs over each other.
func overlay(percentiles, direction string) charts.Spec {
	aggs := m{}
	for _, p := range shownPercentiles {
		aggs[field(p)] = m{"max": m{"field": "latency." + field(p)}}
	}
	rows := slices.Concat(listRows("aggregations.run.buckets", "r"), chooseStep("datum.r"), []m{calculate("run",
		runLabel), calculate("id", "datum.r.key")})
	for _, p := range shownPercentiles {
		rows = append(rows, calculate(field(p), "datum.b."+field(p)+".value"))
	}
	return charts.Overlay{
		Names: shownPercentiles,
		First: "p99",
		Drag:  charts.Zoom,
		Click: addFilter(percentiles, "{term: {'run.id': datum.id}}", "datum.run"),
		Data: charts.Data{
			Source: selected("answer", percentiles, m{"size": 0, "aggs": m{"run": m{
				"terms": m{"field": "run.id", "size": comparedRuns, "order": m{"start": "desc"},
					"collect_mode": "breadth_first"},
				"aggs": with(named(sinceStart(aggs)), "start", m{"min": m{"field": timeField}}),
			}}}, inTime, allHosts(direction)),
			Transform: rows,
			Found:     pathExpr("aggregations.run.buckets[0]") + " != null",
		},
	}.Spec()
}

// comparedRuns is how many of the selected runs a chart shows at most, the latest ones.
const comparedRuns = 8

// change compares the latest of the selected runs with the latest of these that has the label baseline=true, else with
// the earliest of the time range.
func change(runs string) charts.Spec {
	aggs := named(m{"started": m{"max": m{"field": "run.start"}}})
	rows := ""
	for _, d := range []string{"read", "write"} {
		for _, f := range append([]string{"p50", "p99", "p99_9"}, fio.FigureNames(fio.OfComparison)...) {
			aggs[d+"_"+f] = m{"max": m{"field": "summary." + d + "." + f}}
			rows += fmt.Sprintf("{measure: '%s %s', more: %t, value: datum.r.%[4]s.value, base: datum.of.%[4]s.value},",
				d, strings.ReplaceAll(f, "_", "."), fio.FigureOf(f).Better == fio.Higher, d+"_"+f)
		}
	}
	of := func(size int, order string) m {
		return m{"run": m{"terms": m{"field": "run.id", "size": size, "order": m{"started": order}}, "aggs": aggs}}
	}
	all := of(comparedRuns, "desc")
	all["earliest"] = of(1, "asc")["run"]
	all["marked"] = m{"filter": term("run.labels", "baseline=true"), "aggs": of(1, "desc")}
	first := reply("aggregations.run.buckets[0]")
	two := fmt.Sprintf("%s ? true : %s ? %s.key != (%s || %s).key : false", reply("aggregations.run.buckets[1]"), first,
		first, reply("aggregations.marked.run.buckets[0]"), reply("aggregations.earliest.buckets[0]"))
	click := addFilter(runs, "{term: {'run.id': datum.id}}", "datum.run")
	return charts.Change{Click: click, Two: two, Data: charts.Data{
		Source: selected("answer", runs, m{"size": 0, "aggs": all}, inTime, noParts),
		Found:  pathExpr("aggregations.run.buckets[0]") + " != null",
		Transform: slices.Concat([]m{calculate("of", pathExpr("aggregations.marked.run.buckets[0]")+" || "+
			pathExpr("aggregations.earliest.buckets[0]"))}, listRows("aggregations.run.buckets", "r"), []m{
			calculate("run", runLabel),
			calculate("id", "datum.r.key"),
			calculate("started", "datum.r.started.value"),
			calculate("baseline", "datum.of.title.buckets.length ? datum.of.title.buckets[0].key : datum.of.key"),
		}, qRows(rows), []m{calculate("measure", "datum.q.measure"), calculate("more", "datum.q.more"),
			calculate("value", "datum.q.value"), calculate("base", "datum.q.base")}),
	}}.Spec()
}

// historyRuns is how many of the selected runs a chart of the history shows at most, the latest ones.
const historyRuns = 1000

// historyPercentiles are the percentiles in which `fiolat history` looks for changes.
var historyPercentiles = []string{"p50", "p99", "p99.9"}

// history plots percentiles of a direction of the selected runs by start time, and the change points that
// `fiolat history --store` stored.
func history(runs, events, direction string) charts.Spec {
	of := map[string]string{}
	for _, p := range historyPercentiles {
		of[p] = direction + "." + field(p)
	}
	return historyOf(runs, events, historyPercentiles, of, m{"bool": m{
		"filter":   term("fio.direction", direction),
		"must_not": term("change.metric", direction+" iops")}},
		fmt.Sprintf("substring(datum.metric, %d)", len(direction)+1), false)
}

// historyRates plots I/Os per second in the same way.
func historyRates(runs, events string) charts.Spec {
	names, of, metrics := fio.DirectionNames(), map[string]string{}, []string{}
	for _, d := range names {
		of[d] = d + ".iops"
		metrics = append(metrics, d+" iops")
	}
	return historyOf(runs, events, names, of, m{"terms": m{"change.metric": metrics}},
		"split(datum.metric, ' ')[0]", true)
}

// latestRuns asks for these fields of the selected runs that are complete and no parts.
func latestRuns(runs string, source any, fields []string) m {
	return selected("answer", runs, m{"size": historyRuns, "sort": []m{{timeField: "desc"}}, "_source": source,
		"docvalue_fields": fields}, inTime, term("run.status", "complete"), noParts)
}

// noParts leaves out the documents of parts.
var noParts = without(exists("run.part"))

// historyOf plots numbers of runs. fields maps the names of the numbers to their fields below summary. match selects
// the change points; name is the expression that maps a change point's metric to one of names.
func historyOf(runs, events string, names []string, fields map[string]string, match m, name string,
	rate bool) charts.Spec {
	asked := []string{"run.id", titleField, "run.start", "fio.workload", "fio.kind"}
	rows, limits := "", []string{}
	for _, n := range names {
		direction, number, _ := strings.Cut(fields[n], ".")
		asked = append(asked, "summary."+fields[n])
		limits = append(limits, "whole."+direction+".limits."+number)
		rows += fmt.Sprintf("{name: '%s', v: (datum.f['summary.%s'] || [null])[0], l: %s},", n, fields[n],
			pathExpr("hit._source."+limits[len(limits)-1]))
	}
	seriesOf := func(workload, kind string) string {
		return fmt.Sprintf("(join(%s || [], '; ') || 'workload unknown') + (%[2]s == 'clat' ? '' : ', kind=' + %[2]s)",
			workload, kind)
	}
	first := func(field string) string { return fmt.Sprintf("(datum.f['%s'] || [''])[0]", field) }
	hit := "datum.hit._source"
	return charts.History{
		Names: names, Rate: rate, Drag: charts.Zoom,
		Click: addFilter(runs, "{term: {'run.id': datum.id}}", "datum.run"),
		Data: charts.Data{
			Source: latestRuns(runs, limits, asked),
			Transform: slices.Concat(listRows("hits.hits", "hit"), []m{
				calculate("f", "datum.hit.fields"),
				calculate("t", "toNumber(toDate("+first("run.start")+"))"),
				calculate("id", first("run.id")),
				calculate("run", first(titleField)+" || datum.id"),
				calculate("series", seriesOf("datum.f['fio.workload']", first("fio.kind"))),
			}, qRows(rows), []m{calculate("name", "datum.q.name"), calculate("v", "datum.q.v"),
				calculate("low", pathExpr("q.l.low")), calculate("high", pathExpr("q.l.high"))}),
			Found: pathExpr("hits.hits[0]") + " != null",
		},
		Changes: charts.Data{
			Source: search("changes", events, m{"size": historyRuns, "sort": []m{{timeField: "desc"}},
				"_source": []string{timeField, "run.id", titleField, "fio.kind", "change.series",
					"change.metric", "change.before", "change.after", "message"}}, inTime,
				term("event.action", "change-point"), match),
			Transform: slices.Concat(listRows("hits.hits", "hit"), []m{
				// Joins the reply with the runs, a single row, to every change; see runEvents.
				calculate("same", "false"),
				{"lookup": "same", "from": m{"data": m{"name": "answer"}, "key": "timed_out",
					"fields": []string{"hits"}}, "as": []string{"runs"}},
				calculate("id", hit+".run.id"),
				calculate("kind", hit+".fio.kind"),
				calculate("of", "datum.runs.hits[indexof(pluck(datum.runs.hits, \"fields['run.id'][0]\"), datum.id)]"),
				{"filter": "datum.of && datum.of.fields['fio.kind'][0] == datum.kind"},
				calculate("t", "toNumber(toDate("+hit+"['@timestamp']))"),
				calculate("run", hit+".run.title || datum.id"),
				calculate("series", hit+".change.series"),
				calculate("metric", hit+".change.metric"),
				calculate("name", name),
				calculate("v", hit+".change.after"),
				calculate("way", hit+".change.after < "+hit+".change.before ? 'down' : 'up'"),
				calculate("text", hit+".message"),
			}),
		},
	}.Spec()
}
