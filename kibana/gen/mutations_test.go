package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/internal/testkit"
	"fiolat/kibana"
)

var update = flag.Bool("update", false, "write the golden files anew")

// alter sets the value at a path within an object, through strings that hold JSON;
// nil takes it away. f says what the value is to be, given what it is.
func alter(v any, f func(any) any, path ...string) any {
	if len(path) == 0 {
		return f(v)
	}
	switch c := v.(type) {
	case string:
		inner := alter(unpack(c), f, path...)
		b, err := marshal(inner)
		if err != nil {
			panic(err)
		}
		return string(b)
	case map[string]any:
		if e := alter(c[path[0]], f, path[1:]...); e != nil {
			c[path[0]] = e
		} else {
			delete(c, path[0])
		}
		return c
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(c) {
			panic("no element " + path[0])
		}
		c[i] = alter(c[i], f, path[1:]...)
		return c
	}
	panic("nothing at " + strings.Join(path, "."))
}

// edit is the bundle with a value of one object changed, or of the configuration of the panel with this index.
func edit(ndjson []byte, id, path string, f func(any) any) []byte {
	var out []byte
	found := false
	for line := range bytes.Lines(ndjson) {
		var o any
		if !found && bytes.Contains(line, []byte(id)) {
			if err := json.Unmarshal(line, &o); err != nil {
				panic(err)
			}
		}
		panel := slices.IndexFunc(list(o, "attributes", "panelsJSON"), func(p any) bool {
			return str(p, "panelIndex") == id
		})
		if panel >= 0 || str(o, "id") == id {
			found = true
			p := strings.Split(path, "/")
			if panel >= 0 {
				p = append([]string{"attributes", "panelsJSON", strconv.Itoa(panel), "embeddableConfig"}, p...)
			}
			var err error
			if line, err = marshal(alter(o, f, p...)); err != nil {
				panic(err)
			}
			line = append(line, '\n')
		}
		out = append(out, line...)
	}
	if !found {
		panic("no object " + id)
	}
	return out
}

func to(v any) func(any) any { return func(any) any { return v } }

var gone = to(nil)

// ref sets a key of the reference of this name.
func ref(name, key, value string) func(any) any {
	return func(l any) any {
		for _, r := range l.([]any) {
			if str(r, "name") == name {
				r.(map[string]any)[key] = value
			}
		}
		return l
	}
}

func appended(v any) func(any) any { return func(l any) any { return append(l.([]any), v) } }

// Each way to break the bundle that Kibana would punish, silently more often than
// not, and the check that must find it.
var mutations = []struct {
	name, check string
	id, path    string
	f           func(any) any
}{
	{"no type version", "versions", "fio-live", "typeMigrationVersion", gone},
	{"a type version of a later Kibana", "versions", "fio-live", "typeMigrationVersion", to("10.3.0")},
	{"a core version of a later Kibana", "versions", "fio-runs", "coreMigrationVersion", to("8.9.0")},
	{"a links object with a version", "versions", "fio-live", "type", to("links")},
	{"two objects of one id", "unique ids", "fio-kinds", "id", to("fio-live")},
	{"references are missing", "lines", "fio-live", "references", gone},
	{"searchSourceJSON is an object", "strings of JSON", "fio-live",
		"attributes/kibanaSavedObjectMeta/searchSourceJSON", func(v any) any { return unpack(v) }},
	{"panelsJSON is a list", "strings of JSON", "fio-live", "attributes/panelsJSON",
		func(v any) any { return unpack(v) }},
	{"optionsJSON is an object", "strings of JSON", "fio-live", "attributes/optionsJSON",
		func(v any) any { return unpack(v) }},
	{"the controls are an object", "strings of JSON", "fio-live", "attributes/controlGroupInput/panelsJSON",
		func(v any) any { return unpack(v) }},
	{"spec is an object", "strings of JSON", "live-heatmap", "savedVis/params/spec",
		func(v any) any { return unpack(v) }},
	{"the field formats are an object", "strings of JSON", "fio-percentiles", "attributes/fieldFormatMap",
		func(v any) any { return unpack(v) }},
	{"the field labels are an object", "strings of JSON", "fio-runs", "attributes/fieldAttrs",
		func(v any) any { return unpack(v) }},
	{"no runtime fields", "strings of JSON", "fio-runs", "attributes/runtimeFieldMap", gone},
	{"Lens state is a string", "strings of JSON", "live-iops", "attributes/state", func(v any) any {
		b,
			_ := marshal(v)
		return string(b)
	}},
	{"an attribute that 8.x does not know", "attributes", "fio-live", "attributes/pinned_panels", to([]any{})},
	{"a key in a visualization", "attributes", "live-read", "savedVis/tags", to([]any{})},
	{"a data view that is missing", "references resolve", "fio-live", "references",
		ref("live-iops:indexpattern-datasource-layer-main", "id", "fio-hist")},
	{"a dashboard that is missing", "references resolve", "fio-live", "references/5/id", to("fio-nothing")},
	{"two references of a name", "reference names", "fio-live", "references/6/name", to("nav:link_l1_dashboard")},
	{"a reference that nobody uses", "reference names", "fio-live", "references",
		appended(map[string]any{"type": "index-pattern", "id": "fio-runs", "name": "spare"})},
	{"a layer without a reference", "layers have references", "fio-live", "references",
		ref("live-iops:indexpattern-datasource-layer-main", "name", "live-iops:indexpattern-datasource-layer-other")},
	{"a column that is not in the order", "column order", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columnOrder", to([]any{"direction", "time"})},
	{"a column in the order that is not there", "column order", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columnOrder", appended("p99")},
	{"a metric before a bucket", "column order", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columnOrder", to([]any{"direction", "iops", "time"})},
	{"x is no column", "accessors", "live-iops", "attributes/state/visualization/layers/0/xAccessor", to("date")},
	{"a split by no column", "accessors", "live-iops", "attributes/state/visualization/layers/0/splitAccessor",
		to("host")},
	{"y is no column", "accessors", "live-iops", "attributes/state/visualization/layers/0/accessors/0", to("p99")},
	{"a chart of no layer", "accessors", "live-iops", "attributes/state/visualization/layers/0/layerId",
		to("second")},
	{"a table of no column", "accessors", "compare-runs", "attributes/state/visualization/columns/0/columnId",
		to("id")},
	{"sorted by no column", "accessors", "compare-runs", "attributes/state/visualization/sorting/columnId",
		to("id")},
	{"terms by a column that is not there", "order of terms", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/host/params/orderBy/columnId", to("p95")},
	{"terms by a bucket", "order of terms", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/host/params/orderBy/columnId",
		to("direction")},
	{"terms by p99.9", "order of terms", "slowdown-targets",
		"attributes/state/datasourceStates/formBased/layers/main/columns/target/params/orderBy/columnId", to("tail")},
	{"a formula alone", "formulas have parts", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columns/iops/operationType", to("formula")},
	{"a formula whose part is missing", "formulas have parts", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columns/iops/references", to([]any{"iopsX0"})},
	{"a field that no template has", "fields exist", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/p99/sourceField", to("latency.p98")},
	{"a control on a field that is not there", "fields exist", "fio-live",
		"attributes/controlGroupInput/panelsJSON/c1/explicitInput/fieldName", to("run")},
	{"a Vega field that is not there", "fields exist", "live-heatmap",
		"savedVis/params/spec/layer/0/data/url/body/aggs/of/aggs/t/aggs/e10/sum/field", to("octave.e10")},
	{"a time field that is not there", "fields exist", "live-heatmap",
		"savedVis/params/spec/layer/0/data/url/%timefield%", to("time")},
	{"a pattern of no template", "fields exist", "fio-events", "attributes/title", to("fio-events-*")},
	{"terms of a number", "types of fields", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/host/sourceField", to("latency.p99")},
	{"the last value of a histogram", "types of fields", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columns/iops",
		to(map[string]any{"operationType": "last_value", "sourceField": "latency.histogram", "isBucketed": false,
			"params": map[string]any{"sortField": "@timestamp"}})},
	{"the deviation of a histogram", "types of fields", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columns/iops",
		to(map[string]any{"operationType": "standard_deviation", "sourceField": "latency.histogram",
			"isBucketed": false})},
	{"the maximum of a word", "types of fields", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/p99/sourceField", to("host.name")},
	{"p100", "types of fields", "slowdown-targets",
		"attributes/state/datasourceStates/formBased/layers/main/columns/p95/params/percentile", to(100.0)},
	{"a static value that is a number", "static values", "live-iops",
		"attributes/state/datasourceStates/formBased/layers/main/columns/iops",
		to(map[string]any{"operationType": "static_value", "isBucketed": false, "params": map[string]any{"value": 5}})},
	{"a panel that lies elsewhere", "geometry", "fio-live", "attributes/panelsJSON/1/gridData/i", to("p9")},
	{"a panel beside the grid", "geometry", "fio-live", "attributes/panelsJSON/2/gridData/w", to(25)},
	{"a panel on another", "geometry", "fio-live", "attributes/panelsJSON/2/gridData/x", to(20)},
	{"a panel of another type", "panels", "fio-live", "attributes/panelsJSON/1/type", to("lens")},
	{"a panel by reference", "panels", "fio-live", "attributes/panelsJSON/1/panelRefName", to("panel_1")},
	{"a panel with a title of its own", "panels", "fio-live", "attributes/panelsJSON/1/title", to("Reads")},
	{"Lens without a type", "panels", "live-iops", "attributes/type", gone},
	{"two panels of a title", "titles", "fio-live", "attributes/panelsJSON/2/title", to("Read latency percentiles")},
	{"a title that a bundle of another prefix has", "titles", "fio-live", "attributes/title", to("Live")},
	{"two data views of a name", "titles", "fio-events", "attributes/name", to("fio runs")},
	{"a drilldown to nowhere", "panels", "fio-compare",
		"attributes/panelsJSON/1/embeddableConfig/enhancements/dynamicActions/events/0/eventId", to("e1")},
	{"a link to nowhere", "links", "fio-live", "attributes/panelsJSON/0/embeddableConfig/attributes/links/0/" +
		"destinationRefName", to("link_l99_dashboard")},
	{"a control of another name", "controls", "fio-live", "attributes/controlGroupInput/panelsJSON/c1/explicitInput/id",
		to("c9")},
	{"a control with a data view by id", "controls", "fio-live",
		"attributes/controlGroupInput/panelsJSON/c1/explicitInput/dataViewId", to("fio-runs")},
	{"a gap in the order of controls", "controls", "fio-live", "attributes/controlGroupInput/panelsJSON/c1/order",
		to(9)},
	{"a control without a data view", "controls", "fio-live", "references",
		func(v any) any { l := v.([]any); return append(l[:len(l)-2:len(l)-2], l[len(l)-1]) }},
	{"a query beside the dashboard's", "vega", "live-heatmap",
		"savedVis/params/spec/layer/0/data/url/body/query",
		to(map[string]any{"match_all": map[string]any{}})},
	{"no schema", "vega", "live-heatmap", "savedVis/params/spec/$schema", gone},
	{"an index of no template", "vega", "live-heatmap", "savedVis/params/spec/layer/0/data/url/index",
		to("fio-hist-*")},
	{"percentiles below ranges of a histogram", "no aggregation below buckets of a histogram", "live-heatmap",
		"savedVis/params/spec/layer/0/data/url/body/aggs/of/aggs/t",
		to(map[string]any{"range": map[string]any{"field": "latency.histogram",
			"ranges": []any{map[string]any{"to": 1000}}},
			"aggs": map[string]any{"n": map[string]any{"sum": map[string]any{"field": "samples"}}}})},
	{"two units on one axis", "one unit on an axis", "slowdown-observed",
		"attributes/state/datasourceStates/formBased/layers/main/columns/value/params/format/params/toUnit",
		to("asSeconds")},
	{"a version in Lens", "forms of later versions", "live-iops", "attributes/version", to(2)},
	{"sections", "forms of later versions", "fio-live", "attributes/sections", to([]any{})},
	{"a key of later controls", "forms of later versions", "fio-live",
		"attributes/controlGroupInput/showApplySelections", to(true)},
	{"several splits", "forms of later versions", "live-iops",
		"attributes/state/visualization/layers/0/splitAccessors", to([]any{"direction"})},
	{"every scope at once in Lens", "one scope of percentile documents", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/only/params/filters/0/input/query", to("")},
	{"every scope at once in Vega", "one scope of percentile documents", "compare-read",
		"savedVis/params/spec/data/url/body/aggs/scope/filter",
		to(map[string]any{"match_all": map[string]any{}})},
	{"kinds added up in Lens", "kinds of latency", "kinds-read-figures",
		"attributes/state/datasourceStates/formBased/layers/main/columns/kind/sourceField", to("fio.job")},
	{"kinds added up in Vega", "kinds of latency", "kinds-parts",
		"savedVis/params/spec/data/url/body/aggs/run/aggs/scope/aggs/direction/aggs",
		to(map[string]any{"lat": map[string]any{"max": map[string]any{"field": "latency.max"}}})},
	{"kinds side by side where one is chosen", "kinds of latency", "fio-kinds",
		"attributes/controlGroupInput/panelsJSON/c1/explicitInput",
		to(map[string]any{"id": "c1", "fieldName": "fio.kind", "title": "Latency", "selectedOptions": []any{"clat"},
			"enhancements": map[string]any{}})},
	{"no kind chosen", "kinds of latency", "fio-live",
		"attributes/controlGroupInput/panelsJSON/c5/explicitInput/selectedOptions", to([]any{})},
	{"syncs in a heat map", "syncs apart", "live-heatmap",
		"savedVis/params/spec/layer/0/data/url/body/aggs/of/filter",
		to(map[string]any{"match_all": map[string]any{}})},
	{"syncs in a Lens chart", "syncs apart", "live-iops", "attributes/state/query/query", to("")},
	{"syncs in a table of runs", "syncs apart", "run-summary", "attributes/state/query/query",
		to("not run.part: *")},
	{"a link that brings what is chosen", "links bring nothing", "fio-one-run",
		"attributes/panelsJSON/0/embeddableConfig/attributes/links/2/options/useCurrentFilters", to(true)},
	{"a click that brings what is chosen", "links bring nothing", "fio-compare",
		"attributes/panelsJSON/1/embeddableConfig/enhancements/dynamicActions/events/1/action/config/useCurrentFilters",
		to(true)},
	{"a weighted average of percentiles in Vega", "no average of percentiles", "kinds-parts",
		"savedVis/params/spec/data/url/body/aggs/run/aggs/scope/aggs/direction/aggs/lat/aggs/mean/" +
			"weighted_avg/value/field", to("latency.p99")},
	{"an average of percentiles in Lens", "no average of percentiles", "run-jobs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/p99/operationType", to("average")},
	// What was wrong in earlier bundles, as a user of Kibana sees it.
	{"data without names", "vega answers", "run-percentiles", "savedVis/params/spec", func(v any) any {
		return alter(alter(v, gone, "data", "name"), gone, "layer", "4", "data", "name")
	}},
	{"two data of a name", "vega answers", "live-read", "savedVis/params/spec/layer/4/data/name",
		to("answer")},
	{"a script error where there is no data", "no data in words", "run-percentiles",
		"savedVis/params/spec/data/format", to(map[string]any{"property": "aggregations.run.buckets"})},
	{"an empty chart", "no data in words", "live-hosts", "savedVis/params/spec/layer/1", gone},
	{"TSVB", "lens and vega", "live-read", "savedVis/type", to("metrics")},
	{"an error without an index", "fields without an index", "fio-runs", "attributes/allowNoIndex", to(false)},
	{"a field that is not saved", "fields without an index", "fio-events", "attributes/fields", to("[]")},
	{"a field of another type", "fields without an index", "fio-events", "attributes/fields/0/esTypes/0", to("double")},
	{"a field to choose that is not saved", "fields without an index", "fio-percentiles-of-run",
		"attributes/fields/1/name", to("other")},
	{"a control on a field that is flattened", "controls can be drawn", "fio-compare",
		"attributes/controlGroupInput/panelsJSON/c4/explicitInput/fieldName", to("settings")},
	{"a job control where documents are of all jobs", "controls reach panels", "fio-one-host",
		"attributes/controlGroupInput/panelsJSON/c2/explicitInput/fieldName", to("fio.job")},
	{"a host control where documents are of all hosts", "controls reach panels", "fio-overlaid",
		"attributes/controlGroupInput/panelsJSON/c1/explicitInput/fieldName", to("host.name")},
	{"a control that empties panels", "controls reach panels", "fio-one-run",
		"attributes/controlGroupInput/panelsJSON/c1/explicitInput/fieldName", to("fio.direction")},
	{"a click that empties panels", "clicks arrive", "compare-runs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/name/sourceField", to("fio.workload")},
	{"a figure of all runs", "the same run", "run-account",
		"attributes/state/datasourceStates/formBased/layers/main/columns/run/params/size", to(20)},
	{"a figure of another run", "the same run", "run-account",
		"attributes/state/datasourceStates/formBased/layers/main/columns/run/params/orderBy/columnId", to("logs")},
	{"a chart of another run", "the same run", "run-percentiles",
		"savedVis/params/spec/data/url/body/aggs/run/aggs/start",
		to(map[string]any{"max": map[string]any{"field": "@timestamp"}})},
	{"a figure of the time range", "the same run", "fio-hosts", "references",
		ref("run-jobs:indexpattern-datasource-layer-main", "id", "fio-percentiles")},
	{"one more control", "requests of one run", "fio-one-run", "attributes/controlGroupInput/panelsJSON/c3",
		to(map[string]any{"order": 2, "explicitInput": map[string]any{"id": "c3", "fieldName": "host.name"}})},
	{"a map below the first screen", "first screen", "fio-one-run", "attributes/panelsJSON/3/gridData/h", to(14)},
	{"percentiles of each host over time", "memory", "live-read",
		"savedVis/params/spec/data/url/body/aggs/of/aggs/t/aggs",
		func(v any) any {
			return map[string]any{"host": map[string]any{"terms": map[string]any{"field": "host.name", "size": 10},
				"aggs": v}}
		}},
	{"3 digits over time", "memory", "live-read",
		"savedVis/params/spec/data/url/body/aggs/of/aggs/t/aggs/p/percentiles/hdr/" +
			"number_of_significant_value_digits", to(3)},
	{"more time buckets", "memory", "live-read",
		"savedVis/params/spec/data/url/body/aggs/of/aggs/t/date_histogram/interval/%autointerval%", to(100)},
	{"figures of every run that there is", "memory", "host-figures",
		"savedVis/params/spec/data/url/body/aggs/run/terms/collect_mode", gone},
	{"hosts by a percentile of histograms", "memory", "live-hosts",
		"savedVis/params/spec/data/url/body/aggs/of/aggs/host/aggs/p99",
		to(map[string]any{"percentiles": map[string]any{"field": "latency.histogram", "percents": []any{99},
			"hdr": map[string]any{"number_of_significant_value_digits": 2}}})},
	{"hosts by their documents", "hosts by exact documents", "live-hosts",
		"savedVis/params/spec/data/url/body/aggs/of/aggs/host/terms/order",
		to(map[string]any{"_count": "desc"})},
	{"ten years for all of Kibana", "time ranges", "fio-one-run", "attributes/timeRestore", to(true)},
	{"a stored range that is not set", "time ranges", "fio-one-run", "attributes/timeFrom", to("now-10y")},
	{"a control of the time range", "time ranges", "fio-one-host", "references", func(v any) any {
		for _, r := range v.([]any) {
			if str(r, "name") == "controlGroup_c2:optionsListDataView" {
				r.(map[string]any)["id"] = "fio-percentiles"
			}
		}
		return v
	}},
	{"a warning of syncs in every run without", "presets of several values", "fio-live",
		"attributes/controlGroupInput/ignoreParentSettingsJSON/ignoreValidations", to(false)},
	{"a duration as a plain number", "durations", "fio-percentiles", "attributes/fieldFormatMap",
		func(v any) any { return strings.Replace(v.(string), "latency.ci.p99.lower", "latency.p90", 1) }},
	{"a drag that sets a time range that nobody follows", "drags and clicks", "run-heatmap",
		"savedVis/params/spec/params",
		to([]any{map[string]any{"name": "x", "update": "kibanaSetTimeFilter(1, 2)"}})},
	{"a click that passes on nothing", "drags and clicks", "run-hosts",
		"savedVis/params/spec/params", gone},
	{"a dashboard without a tag", "tags", "fio-one-run", "references", ref("tag-fio-tag", "name", "other")},
	{"runs by a date that is text", "latest runs first", "compare-runs",
		"attributes/state/datasourceStates/formBased/layers/main/columns/started/operationType", to("last_value")},
	{"an average of percentiles in Vega", "no average of percentiles", "run-percentiles",
		"savedVis/params/spec/data/url/body/aggs/run/aggs/read/aggs/s1/aggs/h/aggs/p99",
		to(map[string]any{"avg": map[string]any{"field": "latency.p99"}})},
}

func TestEachCheckFindsWhatItIsFor(t *testing.T) {
	testkit.NotRaced(t)
	whole := write(t, "fio")
	tested := map[string]bool{}
	for _, c := range mutations {
		t.Run(c.name, func(t *testing.T) {
			tested[c.check] = true
			broken := whole
			if c.name == "terms by p99.9" { // a column to order by that Kibana cannot order by
				broken = edit(broken, c.id, "attributes/state/datasourceStates/formBased/layers/main/columns/tail",
					to(map[string]any{"operationType": "percentile", "isBucketed": false, "label": "tail",
						"sourceField": "probe.slowdown", "params": map[string]any{"percentile": 99.9}}))
				broken = edit(broken, c.id, "attributes/state/datasourceStates/formBased/layers/main/columnOrder",
					appended("tail"))
				if f := parse(broken).faults; len(f) > 0 {
					t.Fatal(f)
				}
			}
			broken = edit(broken, c.id, c.path, c.f)
			if bytes.Equal(broken, whole) {
				t.Fatal("nothing changed")
			}
			for _, f := range parse(broken, c.check).faults {
				if strings.HasPrefix(f, c.check+": ") {
					return
				}
			}
			t.Errorf("%q does not find it; all: %q", c.check, parse(broken).faults)
		})
	}
	for _, c := range slices.Concat(bundleChecks, clientChecks) {
		if !tested[c.name] {
			t.Errorf("nothing shows that the check %q finds anything", c.name)
		}
	}
}

func TestLines(t *testing.T) {
	testkit.NotRaced(t)
	whole := write(t, "fio")
	for name, broken := range map[string][]byte{
		"pretty-printed": bytes.Replace(whole, []byte(`{"id":"fio-live",`), []byte("{\n\"id\":\"fio-live\","),
			1),
		"cut short":   whole[:len(whole)-30],
		"a line less": whole[bytes.IndexByte(whole, '\n')+1:],
	} {
		if f := strings.Join(parse(broken).faults, "\n"); !strings.Contains(f, "lines: ") {
			t.Errorf("%s: %q", name, f)
		}
	}
}

// The embedded bundle is, for each prefix, what is made for that prefix.
func TestEmbedded(t *testing.T) {
	for _, prefix := range []string{"fio", "lab", "bench-2_x.7", "0", "run", "a-histogram-b"} {
		var embedded bytes.Buffer
		if err := kibana.Write(&embedded, prefix); err != nil {
			t.Fatal(err)
		}
		el, wl := strings.SplitAfter(embedded.String(), "\n"), strings.SplitAfter(string(write(t, prefix)), "\n")
		if len(el) != len(wl) {
			t.Fatalf("%s: %d embedded lines, want %d (make docs embeds them)", prefix, len(el), len(wl))
		}
		for i := range wl {
			if el[i] != wl[i] {
				t.Fatalf("%s: line %d is embedded as (make docs embeds it anew)\n%s\nand is now\n%s", prefix, i+1, el[i],
					wl[i])
			}
		}
	}
}

// Bundles of two prefixes can be in one space: no id, no title and no index in common.
func TestPrefix(t *testing.T) {
	seen := map[string]bool{}
	other := write(t, "bench_2-x")
	for _, bundle := range [][]byte{write(t, "fio"), other} {
		for _, o := range parse(bundle, "titles").objects {
			for _, name := range []string{o.typ + o.id, cmp.Or(str(o.attrs, "name"), str(o.attrs, "title"))} {
				if seen[name] {
					t.Errorf("%s is in both", name)
				}
				seen[name] = true
			}
		}
	}
	if bytes.Contains(other, []byte("fio-")) {
		i := bytes.Index(other, []byte("fio-"))
		t.Errorf("the other prefix: ...%s", other[max(0, i-100):i+50])
	}
}
