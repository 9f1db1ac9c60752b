package kibana

import (
	"fmt"
	"slices"
	"strings"

	"fiolat/internal/vegaspec"
)

type m = vegaspec.M

// search is data of Elasticsearch in a Vega panel.
func search(index, property string, body m) m {
	return m{"url": m{"index": index, "body": body}, "format": m{"property": property}}
}

// chosen lets Kibana add the dashboard's query, filters and controls to a search; its
// body has no query.
func chosen(data m) m {
	data["url"].(m)["%context%"] = true
	return data
}

// inRange lets Kibana add the dashboard's time range.
func inRange(data m) m {
	data["url"].(m)["%timefield%"] = timeField
	return data
}

func calculate(as, expr string) m { return m{"calculate": expr, "as": as} }

func flatten(field, as string) m { return m{"flatten": []string{field}, "as": []string{as}} }

// vega is a panel that a specification draws. Kibana's warnings are switched off: it
// lays them over a chart that has, say, no events to mark.
func vega(id, title, description string, spec vegaspec.Spec) Object {
	spec.Config = m{"kibana": m{"hideWarnings": true, "controlsLocation": "top"}}
	return visualization(id, title, description, "vega", struct {
		Spec text `json:"spec"`
	}{text{spec}})
}

// octaves are the sums of the octave counts of histogram documents; foldOctaves
// makes a row of each that the object at path holds.
func octaves() m {
	aggs := m{}
	for n := range vegaspec.Octaves {
		aggs[fmt.Sprintf("e%02d", n)] = m{"sum": m{"field": fmt.Sprintf("latency.octave.e%02d", n)}}
	}
	return aggs
}

func foldOctaves(path string) []m {
	var fields []string
	for n := range vegaspec.Octaves {
		fields = append(fields, fmt.Sprintf("%se%02d.value", path, n))
	}
	return []m{
		{"fold": fields, "as": []string{"name", "n"}},
		calculate("octave", fmt.Sprintf("toNumber(substring(datum.name, %d, %d))", len(path)+1, len(path)+3)),
	}
}

// liveHeatMap is over the dashboard's time range.
func liveHeatMap(histograms, events string) vegaspec.Spec {
	aggs := octaves()
	aggs["ms"] = m{"max": m{"field": "interval.ms"}}
	return vegaspec.HeatMap{
		Axis: vegaspec.WallClock,
		Data: vegaspec.Data{
			Source: inRange(chosen(search(histograms, "aggregations.t.buckets", m{"size": 0, "aggs": m{"t": m{
				"date_histogram": m{"field": timeField, "interval": m{"%autointerval%": maxBars}, "min_doc_count": 0,
					"extended_bounds": m{"min": m{"%timefilter%": "min"}, "max": m{"%timefilter%": "max"}}},
				"aggs": aggs,
			}}}))),
			// Elasticsearch does not say how long its buckets are: from one to the next.
			Transform: append([]m{
				calculate("t", "datum.key"),
				{"window": []m{{"op": "lag", "field": "t", "as": "before"}}, "sort": []m{{"field": "t"}}},
				calculate("step", "isValid(datum.before) ? datum.t - datum.before : 0"),
				{"joinaggregate": []m{{"op": "max", "field": "step", "as": "width"}}},
				calculate("t2", "datum.t + max(datum.width, datum.ms.value)"),
			}, foldOctaves("")...),
		},
		Events: &vegaspec.Data{
			Source:    inRange(search(events, "hits.hits", latestEvents)),
			Transform: eventRows("toNumber(toDate(datum._source['@timestamp']))"),
		},
	}.Spec()
}

// latestEvents are of all hosts, jobs and kinds of latency, whatever is chosen: what
// befell the cluster befell them all.
var latestEvents = m{"size": 10000, "sort": []m{{timeField: "desc"}}, "_source": []string{timeField, "run.id", "event.action", "message", offsetField}}

// eventRows make the rows that a chart wants of hits, t being the time.
func eventRows(t string) []m {
	return []m{
		calculate("t", t),
		calculate("what", "datum._source.event && datum._source.event.action || 'event'"),
		calculate("text", "datum._source.message || ''"),
	}
}

// steps are the lengths, in seconds, of the intervals in which time since a run's
// start is cut. A panel asks for all of them, each as far as maxSteps of it reach,
// and draws the finest that the whole run fits in and that its quanta fill evenly:
// the request cannot know how long the run is, and no interval must be too many.
var steps = []int{1, 5, 30, 60, 300, 1800, 21600}

const maxSteps = 200

// sinceStart are aggregations of a run's documents by time since its start, with
// aggs in each interval.
func sinceStart(aggs m) m {
	out := m{
		"end": m{"max": m{"field": offsetField}},
		"ms":  m{"max": m{"field": "interval.ms"}},
	}
	for i, s := range steps {
		within := m{"exists": m{"field": offsetField}}
		if i < len(steps)-1 {
			within = m{"range": m{offsetField: m{"lt": s * 1000 * maxSteps}}}
		}
		out[fmt.Sprintf("s%d", s)] = m{"filter": within, "aggs": m{
			"h": m{"histogram": m{"field": offsetField, "interval": s * 1000, "min_doc_count": 0}, "aggs": aggs},
		}}
	}
	return out
}

// chooseStep makes rows of the intervals of the step that suits the run that the
// object at path is about: the field b is the bucket, t and t2 its start and end.
func chooseStep(path string) []m {
	var even, any strings.Builder
	for _, s := range steps {
		fits := fmt.Sprintf("%[1]s.end.value < %[2]d && %[3]d >= %[1]s.ms.value", path, s*1000*maxSteps, s*1000)
		fmt.Fprintf(&even, "%s && %d %% %s.ms.value == 0 ? %d : ", fits, s*1000, path, s)
		fmt.Fprintf(&any, "%s ? %d : ", fits, s)
	}
	last := fmt.Sprint(steps[len(steps)-1])
	return []m{
		calculate("step", even.String()+any.String()+last),
		calculate("buckets", path+"['s' + datum.step].h.buckets"),
		flatten("buckets", "b"),
		calculate("t", "datum.b.key"),
		calculate("t2", "datum.t + 1000 * datum.step"),
	}
}

// oneRun asks for the run, of those that the dashboard chooses, with the latest
// document in the index.
func oneRun(index string, aggs m) m {
	return chosen(search(index, "aggregations.run.buckets", m{"size": 0, "aggs": m{"run": m{
		"terms": m{"field": "run.id", "size": 1, "order": m{"latest": "desc"}},
		"aggs":  with(aggs, "latest", m{"max": m{"field": timeField}}),
	}}}))
}

func with(aggs m, name string, agg any) m {
	out := m{name: agg}
	for k, v := range aggs {
		out[k] = v
	}
	return out
}

// runEvents are the events of the run that a panel over index shows.
func runEvents(index, events string) *vegaspec.Data {
	return &vegaspec.Data{
		Source: search(events, "hits.hits", latestEvents),
		Transform: append([]m{
			calculate("run", "datum._source.run && datum._source.run.id"),
			{"lookup": "run", "from": m{"data": oneRun(index, nil), "key": "key", "fields": []string{"key"}}, "as": []string{"shown"}},
			{"filter": "isValid(datum.shown) && isValid(datum._source.interval)"},
		}, eventRows("datum._source.interval.offset_ms")...),
	}
}

func runHeatMap(histograms, events string) vegaspec.Spec {
	return vegaspec.HeatMap{
		Axis:   vegaspec.SinceStart,
		Data:   vegaspec.Data{Source: oneRun(histograms, sinceStart(octaves())), Transform: append(chooseStep("datum"), foldOctaves("b.")...)},
		Events: runEvents(histograms, events),
	}.Spec()
}

// field is the field of a percentile: p99.9 is p99_9.
func field(percentile string) string { return strings.ReplaceAll(percentile, ".", "_") }

// exactly asks for exact percentiles with their confidence limits and the SLA's limits;
// rows are, for Vega, those of the bucket at path.
func exactly(names []string) (aggs m, rows func(label, path string) string) {
	aggs = m{}
	for _, p := range names {
		f := field(p)
		for name, of := range map[string]string{"": "latency." + f, "_lower": "latency.ci." + f + ".lower", "_upper": "latency.ci." + f + ".upper", "_limit": "sla.limit." + f} {
			aggs[f+name] = m{"max": m{"field": of}}
		}
	}
	return aggs, func(label, path string) (rows string) {
		for _, p := range names {
			rows += fmt.Sprintf("{p: '%[1]s', v: %[2]s.value, lower: %[2]s_lower.value, upper: %[2]s_upper.value, limit: %[2]s_limit.value},", label+p, path+"."+field(p))
		}
		return rows
	}
}

// runPercentiles are the exact percentiles of all hosts' I/Os of a direction.
func runPercentiles(percentiles, events, direction string) vegaspec.Spec {
	aggs, rows := exactly(shownPercentiles)
	return sinceStartOf(percentiles, events, direction, shownPercentiles, nil, aggs, rows("", "datum.b"))
}

// kinds are fio's latencies: submission, completion, total.
var kinds = []string{"slat", "clat", "lat"}

// eachKind asks for the same of each kind of latency.
func eachKind(aggs m) m {
	out := m{}
	for _, k := range kinds {
		out[k] = m{"filter": m{"term": m{"fio.kind": k}}, "aggs": aggs}
	}
	return out
}

// kindPercentiles are those of each kind of latency.
func kindPercentiles(percentiles, events, direction string) vegaspec.Spec {
	var names []string
	all := ""
	for _, p := range []string{"p50", "p99"} {
		for _, k := range kinds {
			names = append(names, k+" "+p)
		}
	}
	aggs, rows := exactly([]string{"p50", "p99"})
	for _, k := range kinds {
		all += rows(k+" ", "datum.b."+k)
	}
	return sinceStartOf(percentiles, events, direction, names, slices.Concat(vegaspec.KindPale, vegaspec.KindColors), eachKind(aggs), all)
}

// sinceStartOf draws the percentiles of these names, which aggs ask for and rows make
// of the bucket b, over the time since the run's start.
func sinceStartOf(percentiles, events, direction string, names, colors []string, aggs m, rows string) vegaspec.Spec {
	return vegaspec.Percentiles{
		Axis:   vegaspec.SinceStart,
		Names:  names,
		Colors: colors,
		Data: vegaspec.Data{
			Source: oneRun(percentiles, m{"scope": m{"filter": allHosts(direction), "aggs": sinceStart(aggs)}}),
			Transform: append(chooseStep("datum.scope"),
				calculate("rows", "["+strings.TrimSuffix(rows, ",")+"]"),
				flatten("rows", "q"),
				calculate("p", "datum.q.p"), calculate("v", "datum.q.v"),
				calculate("lower", "datum.q.lower"), calculate("upper", "datum.q.upper"), calculate("limit", "datum.q.limit")),
		},
		Events: runEvents(percentiles, events),
	}.Spec()
}

// kindParts are the means of a whole run by kind: each interval's counts as much as
// it has I/Os, which is the mean of them all.
func kindParts(percentiles string) vegaspec.Spec {
	mean := m{"mean": m{"weighted_avg": m{"value": m{"field": "latency.mean"}, "weight": m{"field": "samples"}}}}
	rows := []m{calculate("directions", "datum.scope.direction.buckets"), flatten("directions", "b"), calculate("direction", "datum.b.key")}
	for _, k := range kinds {
		rows = append(rows, calculate(k, "datum.b."+k+".mean.value"))
	}
	return vegaspec.Parts{Data: vegaspec.Data{
		Source: oneRun(percentiles, m{"scope": m{
			"filter": m{"term": m{"scope": "direction"}},
			"aggs":   m{"direction": m{"terms": m{"field": "fio.direction", "order": m{"_key": "asc"}}, "aggs": eachKind(mean)}},
		}}),
		Transform: rows,
	}}.Spec()
}

// allHosts are the percentile documents of a direction's I/Os as a whole.
func allHosts(direction string) m {
	return m{"bool": m{"filter": []m{{"term": m{"scope": "direction"}}, {"term": m{"fio.direction": direction}}}}}
}

// runLabel names a run in a legend: by its name, and by enough of its id to tell two
// of a name apart.
const runLabel = "(length(datum.name.buckets) ? datum.name.buckets[0].key + ' ' : '') + substring(datum.key, 0, 8)"

var runName = m{"terms": m{"field": "run.name", "size": 1}}

// overlay lays the latest chosen runs over each other.
func overlay(percentiles, direction string) vegaspec.Spec {
	aggs := m{}
	for _, p := range shownPercentiles {
		aggs[field(p)] = m{"max": m{"field": "latency." + field(p)}}
	}
	rows := append(chooseStep("datum"), calculate("run", runLabel))
	for _, p := range shownPercentiles {
		rows = append(rows, calculate(field(p), "datum.b."+field(p)+".value"))
	}
	return vegaspec.Overlay{
		Names: shownPercentiles,
		First: "p99",
		Data: vegaspec.Data{
			Source: chosen(search(percentiles, "aggregations.scope.run.buckets", m{"size": 0, "aggs": m{"scope": m{
				"filter": allHosts(direction),
				"aggs": m{"run": m{
					"terms": m{"field": "run.id", "size": comparedRuns, "order": m{"latest": "desc"}},
					"aggs":  with(with(sinceStart(aggs), "latest", m{"max": m{"field": timeField}}), "name", runName),
				}},
			}}})),
			Transform: rows,
		},
	}.Spec()
}

// comparedRuns is how many runs a chart shows at most: the latest of the chosen.
const comparedRuns = 8

// change compares the latest chosen runs with the earliest of them.
func change(runs string) vegaspec.Spec {
	aggs := m{"started": m{"max": m{"field": "run.start"}}, "name": runName}
	rows := ""
	for _, d := range []string{"read", "write"} {
		for _, f := range []string{"p50", "p99", "p99_9", "mean", "iops"} {
			aggs[d+"_"+f] = m{"max": m{"field": "summary." + d + "." + f}}
			rows += fmt.Sprintf("{measure: '%s %s', value: datum.%s_%s.value},", d, strings.ReplaceAll(f, "_", "."), d, f)
		}
	}
	return vegaspec.Change{Data: vegaspec.Data{
		Source: chosen(search(runs, "aggregations.whole.run.buckets", m{"size": 0, "aggs": m{"whole": m{
			"filter": m{"bool": m{"must_not": []m{{"exists": m{"field": "run.part"}}}}},
			"aggs":   m{"run": m{"terms": m{"field": "run.id", "size": comparedRuns, "order": m{"started": "desc"}}, "aggs": aggs}},
		}}})),
		Transform: []m{
			calculate("run", runLabel),
			calculate("started", "datum.started.value"),
			calculate("rows", "["+strings.TrimSuffix(rows, ",")+"]"),
			flatten("rows", "q"),
			calculate("measure", "datum.q.measure"),
			calculate("value", "datum.q.value"),
			{"window": []m{{"op": "first_value", "field": "value", "as": "base"}, {"op": "first_value", "field": "run", "as": "baseline"}},
				"frame": []any{nil, nil}, "groupby": []string{"measure"}, "sort": []m{{"field": "started"}}},
		},
	}}.Spec()
}
