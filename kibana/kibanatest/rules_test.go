package kibanatest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

var from = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// object is a line of an export.
func object(typ, id string, attributes any, refs ...Reference) string {
	list := []M{}
	for _, r := range refs {
		list = append(list, M{"type": r.Type, "id": r.ID, "name": r.Name})
	}
	b, err := json.Marshal(M{"type": typ, "id": id, "attributes": attributes, "references": list})
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func asText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// chart is a Vega panel of a specification.
func chart(spec M) *Object {
	return &Object{Type: "visualization", ID: "v", Attributes: M{"type": "vega", "params": M{"spec": asText(spec)}}}
}

// data is a search of a specification.
func data(name string, url M) M {
	d := M{"url": url}
	if name != "" {
		d["name"] = name
	}
	return d
}

// src/plugins/data/common/search/aggs/utils/date_interval_utils and es_query_parser.ts: _roundInterval.
func TestRoundInterval(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Millisecond: "100ms", 501 * time.Millisecond: "1s", 5 * time.Second: "1s", 6 * time.Second: "5s",
		18 * time.Second: "30s",
		time.Minute:      "1m", 3*time.Minute + 1: "5m", time.Hour: "1h",
		12 * time.Hour: "12h", 10 * 24 * time.Hour: "1w",
		50 * 24 * time.Hour: "1y",
	} {
		if got := RoundInterval(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for interval, want := range map[string]time.Duration{"100ms": 100 * time.Millisecond, "30s": 30 * time.Second,
		"1w": 7 * 24 * time.Hour} {
		if got := Length(interval); got != want {
			t.Errorf("%s: %v", interval, got)
		}
	}
}

// es_query_parser.ts and vega_parser.ts: what becomes of a specification's searches.
func TestVegaSearches(t *testing.T) {
	st := State{Selected: map[string][]string{"run.id": {"a", "b"}}, Pills: []M{{"term": M{"host.name": "h"}}},
		From: from, To: from.Add(50 * time.Minute)}
	histogram := func(interval any) M {
		return M{"size": 0, "aggs": M{"t": M{"date_histogram": M{"field": "@timestamp", "interval": interval,
			"extended_bounds": M{"min": M{"%timefilter%": "min"}, "max": M{"%timefilter%": "max"}}}}}}
	}
	spec := func(d M) M { return M{"$schema": "s", "data": d} }
	for _, tt := range []struct {
		name string
		spec M
		want string // in the first search, or the error
	}{
		{"no schema", M{"data": data("d", M{"index": "i"})}, "no $schema"},
		{"a query beside the context", spec(data("d", M{"%context%": true, "body": M{"query": M{}}})),
			"must not be used"},
		{"a query beside the time field", spec(data("d", M{"%timefield%": "t", "body": M{"query": M{}}})),
			"must not be used"},
		{"two sources", spec(M{"url": M{"body": M{}}, "values": []int{}}), "more than one of"},
		{"pills and controls are joined by AND", spec(data("d", M{"%context%": true, "body": M{}})),
			`"filter":[{"term":{"host.name":"h"}},` +
				`{"bool":{"minimum_should_match":1,"should":[{"match_phrase":{"run.id":"a"}},` +
				`{"match_phrase":{"run.id":"b"}}]}}]`},
		{"a query of its own stays", spec(data("d", M{"body": M{"query": M{"match_all": M{}}}})),
			`"query":{"match_all":{}}`},
		{"without the context there are no filters", spec(data("d", M{"%timefield%": "t", "body": M{}})),
			`{"query":{"range":{"t":{"format":"strict_date_optional_time",` +
				`"gte":"2026-01-01T12:00:00.000Z","lte":"2026-01-01T12:50:00.000Z"}}}}`},
		{"both", spec(data("d", M{"%context%": true, "%timefield%": "t", "body": M{}})), `"must":[{"range":{"t":`},
		{"as many buckets as asked for", spec(data("d", M{"body": histogram(M{"%autointerval%": 500})})),
			`"fixed_interval":"5s"`},
		{"50 buckets", spec(data("d", M{"body": histogram(M{"%autointerval%": true})})), `"calendar_interval":"1m"`},
		{"no number of buckets", spec(data("d", M{"body": histogram(M{"%autointerval%": "many"})})),
			"must be either true or a number"},
		{"an interval of its own", spec(data("d", M{"body": histogram("30s")})), `"fixed_interval":"30s"`},
		{"the ends of the time range", spec(data("d", M{"body": histogram("30s")})),
			`"extended_bounds":{"max":1767271800000,"min":1767268800000}`},
		{"neither end", spec(data("d",
			M{"body": M{"aggs": M{"a": M{"max": M{"missing": M{"%timefilter%": "now"}}}}}})), "must be min or max"},
		{"of a layer", M{"$schema": "s", "layer": []M{{"data": data("d", M{"index": "deep", "body": M{}})}}}, "{}"},
		{"of a lookup", M{"$schema": "s", "transform": []M{{"lookup": "k", "from": M{"data": data("d",
			M{"body": M{"size": 7}})}}}}, `{"size":7}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Vega(chart(tt.spec), st)
			got := ""
			if err != nil {
				got = err.Error()
			} else if len(p.Requests) == 1 {
				got = asText(p.Requests[0].Body)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// es_query_parser.ts: populateData assigns answers by name.
func TestVegaAnswers(t *testing.T) {
	for _, tt := range []struct {
		names []string
		fails bool
	}{
		{[]string{""}, false}, {[]string{"a", "b"}, false}, {[]string{"a", ""}, false},
		{[]string{"", ""}, true}, {[]string{"a", "a"}, true}, {[]string{"a", "", ""}, true},
	} {
		layers := []M{}
		for i, name := range tt.names {
			layers = append(layers, M{"data": data(name, M{"index": fmt.Sprint(i), "body": M{}})})
		}
		p, err := Vega(chart(M{"$schema": "s", "layer": layers}), State{})
		if err != nil {
			t.Fatal(err)
		}
		var answers []M
		for _, r := range p.Requests {
			answers = append(answers, M{"of": r.Index})
		}
		if err = p.Draw(answers); (err != nil) != tt.fails {
			t.Errorf("data named %q: %v", tt.names, err)
		}
		for i, layer := range List(p.Spec, "layer") {
			if of := At(layer, "data", "values", "of"); !tt.fails && of != fmt.Sprint(i) {
				t.Errorf("data named %q: number %d has the answer of %v", tt.names, i, of)
			}
		}
	}
}

func view(id, pattern, timeField string) string {
	return object("index-pattern", id, M{"title": pattern, "timeFieldName": timeField})
}

// board is a dashboard with a control, a link and a panel that can be clicked.
func board(id, to string, all bool, preset ...string) string {
	controls := asText(M{
		"c2": M{"order": 1, "explicitInput": M{"fieldName": "fio.kind", "selectedOptions": preset}},
		"c1": M{"order": 0, "explicitInput": M{"fieldName": "run.id"}},
	})
	options := M{"useCurrentFilters": all}
	panels := asText([]M{
		{"type": "links", "panelIndex": "nav", "embeddableConfig": M{"attributes": M{"links": []M{{"label": "there",
			"destinationRefName": "l1", "options": options}}}}},
		{"type": "lens", "panelIndex": "p1",
			"embeddableConfig": M{"attributes": M{"references": []M{{"name": "layer"}, {"name": "dangles"}}},
				"enhancements": M{"dynamicActions": M{"events": []M{
					{"eventId": "e1", "action": M{"factoryId": "D", "name": "open", "config": options}}}}}}},
		{"type": "lens", "panelIndex": "p2"},
	})
	return object("dashboard", id, M{"controlGroupInput": M{"panelsJSON": controls}, "panelsJSON": panels},
		Reference{"dashboard", to, "nav:l1"}, Reference{"index-pattern", "v", "p1:layer"},
		Reference{"index-pattern", "v", "p2:layer"},
		Reference{"dashboard", to, "p1:drilldown:D:e1:dashboardId"}, Reference{"index-pattern", "v",
			"controlGroup_c1:optionsListDataView"},
		Reference{"index-pattern", "v", "controlGroup_c2:optionsListDataView"})
}

// validate_references.ts: an import fails as a whole where a data view is missing, and not where a chart is.
func TestImport(t *testing.T) {
	tag := object("tag", "l", M{}, Reference{"index-pattern", "v", "of"})
	for name, c := range map[string]struct{ ndjson, fails string }{
		"all there":           {view("v", "i", "") + tag + board("d", "d", false), ""},
		"a data view missing": {tag, "data view v is missing"},
		"an object twice":     {view("v", "i", "") + view("v", "i", ""), "there twice"},
		"no JSON":             {"{", "unexpected end"},
		"with its summary":    {view("v", "i", "") + `{"exportedCount":1}` + "\n", ""},
	} {
		if _, err := Import([]byte(c.ndjson)); (err == nil) != (c.fails == "") || err != nil &&
			!strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
	}
}

// Dashboards: controls in order and with their presets; what a link and a click bring along.
func TestDashboards(t *testing.T) {
	s, err := Import([]byte(view("v", "i", "") + board("a", "b", false, "clat") + board("b", "a", true, "lat")))
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Find("dashboard", "a"), s.Find("dashboard", "b")
	if c := s.Controls(a); len(c) != 2 || c[0].Field != "run.id" || c[1].Field != "fio.kind" ||
		fmt.Sprint(c[1].Preset) != "[clat]" || c[0].View == nil {
		t.Errorf("controls %+v", c)
	}
	if p := s.Panels(a); len(p) != 2 || p[0].Object == nil || p[1].Object != nil || len(p[0].Clicks) != 1 ||
		p[0].Clicks[0].To != b || fmt.Sprint(p[0].Object.References) != "[{index-pattern v layer}]" ||
		s.Panels(a)[0].Object != p[0].Object {
		t.Errorf("panels %+v", p)
	}
	st := s.Open(a, from, from.Add(time.Hour)).Choose("run.id", "r")
	clicked := M{"term": M{"host.name": "h"}}
	for _, w := range []Way{s.Links(a)[0], s.Panels(a)[0].Clicks[0]} {
		if next := s.Follow(st, w, clicked); len(next.Pills) != 1 || next.Dashboard != b ||
			fmt.Sprint(next.Selected["fio.kind"]) != "[lat]" || next.Selected["run.id"] != nil {
			t.Errorf("%s of a: %+v", w.Label, next)
		}
	}
	// The way back brings the preset of b as a filter, which the control of a cannot change: nothing is both.
	st = s.Open(b, from, from.Add(time.Hour))
	for _, w := range []Way{s.Links(b)[0], s.Panels(b)[0].Clicks[0]} {
		filters := asText(s.Follow(st, w).Filters())
		if !strings.Contains(filters, `{"fio.kind":"lat"}`) || !strings.Contains(filters, `{"fio.kind":"clat"}`) {
			t.Errorf("%s of b: %s", w.Label, filters)
		}
	}
}

// form_based/to_expression.ts and operations/definitions: the search of a Lens layer.
func TestLens(t *testing.T) {
	column := func(op, field string, bucket bool, params M) M {
		return M{"operationType": op, "sourceField": field, "isBucketed": bucket, "params": params}
	}
	fields := func(string) map[string]string {
		return map[string]string{"host.name": "keyword", "latency.p99": "double", "at": "date", "h": "histogram"}
	}
	host := func(by string, more M) M {
		params := M{"size": 5, "orderBy": M{"columnId": by}, "orderDirection": "desc"}
		for k, v := range more {
			params[k] = v
		}
		return column("terms", "host.name", true, params)
	}
	p99 := column("max", "latency.p99", false, nil)
	for _, tt := range []struct {
		name      string
		timeField string
		columns   M
		order     []string
		want      string
	}{
		{"buckets are nested, metrics innermost", "", M{"h": host("m", nil), "m": p99}, []string{"h", "m"},
			`"aggs":{"0":{"aggs":{"1":{"max":{"field":"latency.p99"}}},` +
				`"terms":{"field":"host.name","order":{"1":"desc"},"shard_size":25,"size":5}}}`},
		{"ordered by a count", "", M{"h": host("n", nil), "n": column("count", "___records___", false, nil)},
			[]string{"h", "n"}, `"order":{"_count":"desc"}`},
		{"ordered by p99", "", M{"h": host("m", nil), "m": column("percentile", "h", false, M{"percentile": 99})},
			[]string{"h", "m"}, `"order":{"1":"desc"}`},
		{"not by p99.9", "", M{"h": host("m", nil), "m": column("percentile", "h", false, M{"percentile": 99.9})},
			[]string{"h", "m"}, `"order":{"_key":"desc"}`},
		{"not by a last value", "", M{"h": host("m", nil), "m": column("last_value", "host.name", false,
			M{"sortField": "at"})}, []string{"h", "m"}, `"order":{"_key":"desc"}`},
		{"documents without the field, beside others", "", M{"h": host("m", M{"otherBucket": true,
			"missingBucket": true}), "m": p99}, []string{"h", "m"}, `"missing":"__missing__"`},
		{"and not without", "", M{"h": host("m", M{"missingBucket": true}), "m": p99}, []string{"h", "m"},
			`"terms":{"field":"host.name","order":{"1":"desc"},"shard_size":25,"size":5}`},
		{"the time range of a data view with a time field", "at", M{"m": p99}, []string{"m"}, `{"range":{"at":{`},
		{"none without", "", M{"m": p99}, []string{"m"}, `"filter":[{"bool":{"filter":[]}}]`},
		{"a time bucket of one unit is the calendar's", "", M{"t": column("date_histogram", "at", true,
			M{"interval": "1h"}), "m": p99}, []string{"t", "m"}, `"calendar_interval":"1h"`},
		{"auto is the caller's", "", M{"t": column("date_histogram", "at", true, M{"interval": "auto"}), "m": p99},
			[]string{"t", "m"}, `"fixed_interval":"2000ms"`},
		{"last value of one", "", M{"m": column("last_value", "host.name", false, M{"sortField": "at"})},
			[]string{"m"}, `"top_metrics"`},
		{"last values of several", "", M{"m": column("last_value", "host.name", false, M{"sortField": "at",
			"showArrayValues": true})}, []string{"m"}, `"top_hits"`},
		{"a field that no index has", "", M{"m": column("max", "gone", false, nil)}, []string{"m"},
			`field "gone" was not found`},
		{"the last value of a histogram", "", M{"m": column("last_value", "h", false, M{"sortField": "at"})},
			[]string{"m"}, "is of the wrong type"},
		{"the sum of words", "", M{"m": column("sum", "host.name", false, nil)}, []string{"m"}, "is of the wrong type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attributes := M{"state": M{"query": M{"query": ""},
				"datasourceStates": M{"formBased": M{"layers": M{"main": M{"columnOrder": tt.order,
					"columns": tt.columns}}}}}}
			s, err := Import([]byte(view("v", "i", tt.timeField) + object("lens", "l", attributes,
				Reference{"index-pattern", "v", "indexpattern-datasource-layer-main"})))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if p, err := s.Lens(s.Find("lens", "l"), State{From: from, To: from.Add(time.Hour)}, fields,
				2*time.Second); err != nil {
				got = err.Error()
			} else {
				got = asText(p.Request.Body)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	s, err := Import([]byte(view("v", "i", "") + object("lens", "l",
		M{"state": M{"datasourceStates": M{"formBased": M{"layers": M{"main": M{}}}}}})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Lens(s.Find("lens", "l"), State{}, fields, 0); err == nil || !strings.Contains(err.Error(),
		"no data view") {
		t.Errorf("a layer without a reference: %v", err)
	}
}

func TestKQL(t *testing.T) {
	for q, want := range map[string]string{
		"":                        `{"bool":{"filter":[]}}`,
		`scope: "host+direction"`: `{"bool":{"filter":[{"match_phrase":{"scope":"host+direction"}}]}}`,
		"not run.part: * and a: b": `{"bool":{"filter":[` +
			`{"bool":{"must_not":{"exists":{"field":"run.part"}}}},{"match_phrase":{"a":"b"}}]}}`,
		"something that is no field": "",
	} {
		got, err := KQL(q)
		if (err != nil) != (want == "") || err == nil && asText(got) != want {
			t.Errorf("%q: %v, %v", q, got, err)
		}
	}
}

// data_views.ts: refreshFieldSpecMap.
func TestFieldsOf(t *testing.T) {
	saved := `[{"name":"a","esTypes":["keyword"],"aggregatable":true},` +
		`{"name":"b","esTypes":["text"],"aggregatable":false}]`
	for _, tt := range []struct {
		name  string
		allow bool
		found map[string]string
		want  string
	}{
		{"no index", true, nil, "map[a:keyword]"},
		{"an index without a mapping", true, map[string]string{"_id": "_id", "_index": "_index"}, "map[a:keyword]"},
		{"an index", true, map[string]string{"_id": "_id", "c": "date"}, "map[_id:_id c:date]"},
		{"no index, which is an error", false, nil, "map[]"},
	} {
		v := &Object{Attributes: M{"title": "i", "allowNoIndex": tt.allow, "fields": saved}}
		got := FieldsOf(v, func(string) map[string]string { return tt.found })
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestCanChoose(t *testing.T) {
	for typ, want := range map[string]bool{"keyword": true, "boolean": true, "flattened": false, "histogram": false,
		"double": false, "": false} {
		if CanChoose(typ) != want {
			t.Errorf("%q: %v", typ, !want)
		}
	}
}

// The structures of HDR that a search holds.
func TestMemory(t *testing.T) {
	z := Size{Values: map[string]int{"host.name": 1000}, Shards: 12, Quantum: time.Second, Lowest: 100, Highest: 10e9}
	p := M{"p": M{"percentiles": M{"field": "h", "hdr": M{"number_of_significant_value_digits": 2.0}}}}
	hosts := func(more M) M {
		terms := M{"field": "host.name", "size": 10.0}
		for k, v := range more {
			terms[k] = v
		}
		return M{"aggs": M{"host": M{"terms": terms, "aggs": p}}}
	}
	for _, tt := range []struct {
		name string
		body M
		want int
	}{
		{"one figure, of each month", M{"aggs": p}, 12},
		{"no HDR", M{"aggs": M{"m": M{"max": M{"field": "h"}}}}, 0},
		{"every host there is", hosts(nil), 12000},
		{"those that are returned", hosts(M{"collect_mode": "breadth_first", "shard_size": 20.0}), 240},
		{"every host, where it is what orders them", hosts(M{"collect_mode": "breadth_first", "shard_size": 20.0,
			"order": M{"p": "desc"}}), 12000},
		{"filters", M{"aggs": M{"f": M{"filters": M{"filters": M{"a": M{}, "b": M{}}}, "aggs": p}}}, 24},
		{"time buckets lie in one month each",
			M{"aggs": M{"t": M{"date_histogram": M{"interval": M{"%autointerval%": 50.0}}, "aggs": p}}}, 350},
	} {
		n, bytes := z.HDR(tt.body)
		if n != tt.want || bytes != float64(n)*z.structure(2) {
			t.Errorf("%s: %d of %.0f bytes, want %d", tt.name, n, bytes, tt.want)
		}
	}
	if two, three := z.structure(2), z.structure(3); three/two != 8 || three < 0.1e6 || three > 0.26e6 {
		t.Errorf("%v and %v bytes", two, three)
	}
}
