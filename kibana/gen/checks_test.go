package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/kibana"
	"fiolat/kibana/kibanatest"
)

// saved is an object as it stands in the file.
type saved struct {
	raw   map[string]any
	id    string
	typ   string
	attrs map[string]any
	refs  []Reference
	drawn map[string]any // spec, read once
}

// parsed is a bundle as Kibana reads it.
type parsed struct {
	space   *kibanatest.Space
	asked   map[*kibanatest.Object][]asked // by requests
	objects []*saved
	charts  []*saved // by value in panels of dashboards
	faults  []string // what the checks found, with the name of the check before it
	check   string
}

func (b *parsed) fault(o *saved, format string, args ...any) {
	where := ""
	if o != nil {
		where = o.typ + " " + o.id + ": "
	}
	b.faults = append(b.faults, b.check+": "+where+fmt.Sprintf(format, args...))
}

var obj, list, str, at = kibanatest.Obj, kibanatest.List, kibanatest.Str, kibanatest.At

// unpack is the JSON within a string, nil if it is none.
func unpack(v any) any {
	s, _ := v.(string)
	return kibanatest.Unpack(s)
}

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// spec is what a Vega panel draws.
func (o *saved) spec() map[string]any {
	if o.drawn == nil && o.typ == typeVisualization {
		o.drawn = obj(o.attrs, "params", "spec")
	}
	return o.drawn
}

func (o *saved) layers() map[string]any {
	if o.typ != typeLens {
		return nil
	}
	return obj(o.attrs, "state", "datasourceStates", "formBased", "layers")
}

func (o *saved) ref(name string) (Reference, bool) {
	for _, r := range o.refs {
		if r.Name == name {
			return r, true
		}
	}
	return Reference{}, false
}

func (b *parsed) find(typ, id string) *saved {
	for _, o := range b.objects {
		if o.typ == typ && o.id == id {
			return o
		}
	}
	return nil
}

// all are the objects, and the charts by value.
func (b *parsed) all() []*saved { return slices.Concat(b.objects, b.charts) }

// chart is what a panel of a dashboard has by value.
func (b *parsed) chart(d *saved, index string) *saved {
	for _, o := range b.charts {
		if o.id == index && o.raw["of"] == d.id {
			return o
		}
	}
	return nil
}

// kindOf is the kind of documents behind a data view.
func (b *parsed) kindOf(r Reference) (esmodel.Kind, bool) {
	v := b.find(typeDataView, r.ID)
	if v == nil {
		return "", false
	}
	return kindOfPattern(str(v.attrs, "title"))
}

func kindOfPattern(pattern string) (esmodel.Kind, bool) {
	for _, k := range esmodel.Kinds {
		if esmodel.Pattern("fio", k) == pattern {
			return k, true
		}
	}
	return "", false
}

// fieldTypes are the types of the fields that the index template of a kind names one
// by one, so that a data view has them before any document was written.
var fieldTypes = func() map[esmodel.Kind]map[string]string {
	all := map[esmodel.Kind]map[string]string{}
	for _, k := range esmodel.Kinds {
		types := map[string]string{"_index": "keyword"}
		t, err := esmodel.Template("fio", k, true, false)
		if err != nil {
			panic(err)
		}
		var walk func(prefix string, m map[string]any)
		walk = func(prefix string, m map[string]any) {
			for _, part := range []string{"properties", "fields"} {
				for name, f := range obj(m, part) {
					if typ := str(f, "type"); typ != "" && typ != "object" {
						types[prefix+name] = typ
					}
					walk(prefix+name+".", f.(map[string]any))
				}
			}
		}
		walk("", obj(t, "template", "mappings"))
		if k == esmodel.KindHistogram { // by its dynamic templates; missing ones add up to 0
			for n := range 40 {
				types[fmt.Sprintf("latency.octave.e%02d", n)] = "double"
			}
		}
		all[k] = types
	}
	return all
}()

func esType(kind esmodel.Kind, field string) string { return fieldTypes[kind][field] }

// bundleCheck is one of Kibana's ways to fail: silently more often than not.
type bundleCheck struct {
	name string
	run  func(b *parsed)
}

var attributeKeys = map[string][]string{
	typeDataView: {"title", "name", "timeFieldName", "allowNoIndex", "fields", "sourceFilters", "typeMeta",
		"fieldAttrs", "fieldFormatMap", "runtimeFieldMap", "type", "allowHidden"},
	typeLens:          {"type", "title", "description", "visualizationType", "state", "references"},
	typeVisualization: {"title", "description", "type", "params", "uiState", "data"},
	typeDashboard: {"title", "description", "kibanaSavedObjectMeta", "timeRestore", "timeFrom", "timeTo",
		"refreshInterval", "controlGroupInput", "panelsJSON", "optionsJSON", "hits", "version"},
	typeTag: {"name", "description", "color"},
}

// latestKnown is the newest version of each type that Kibana 8.12 takes.
var latestKnown = map[string]string{typeDataView: "8.0.0", typeDashboard: "8.9.0", typeTag: "8.0.0"}

var bundleChecks = []bundleCheck{
	{"versions", func(b *parsed) {
		for _, o := range b.objects {
			if str(o.raw, "coreMigrationVersion") != "8.8.0" {
				b.fault(o, "core version %v", o.raw["coreMigrationVersion"])
			}
			v := str(o.raw, "typeMigrationVersion")
			if v == "" || !atMost(v, latestKnown[o.typ]) {
				b.fault(o, "type version %q, want %s at most", v, latestKnown[o.typ])
			}
		}
	}},
	{"unique ids", func(b *parsed) {
		seen := map[string]bool{}
		for _, o := range b.objects {
			if seen[o.typ+":"+o.id] || o.id == "" {
				b.fault(o, "twice, or without an id")
			}
			seen[o.typ+":"+o.id] = true
		}
	}},
	{"titles", func(b *parsed) {
		prefix, seen := "", map[string]bool{}
		for _, o := range b.objects {
			title := cmp.Or(str(o.attrs, "name"), str(o.attrs, "title"))
			if o.typ == typeTag {
				prefix = title
			}
			if seen[title] {
				b.fault(o, "two objects are called %q", title)
			}
			seen[title] = true
			if o.typ == typeDashboard && !strings.HasPrefix(title, "["+prefix+"] ") ||
				o.typ == typeDataView && !strings.HasPrefix(title, prefix+" ") {
				b.fault(o, "%q does not begin with the prefix", title)
			}
		}
		b.eachDashboard(func(o *saved, panels []any) {
			seen := map[string]bool{}
			for _, p := range panels {
				if seen[str(p, "title")] {
					b.fault(o, "two panels are called %q", str(p, "title"))
				}
				seen[str(p, "title")] = true
			}
		})
	}},
	{"strings of JSON", func(b *parsed) {
		must := func(o *saved, v any, path ...string) {
			if s, ok := at(v, path...).(string); !ok || unpack(s) == nil {
				b.fault(o, "%s is not a string that holds JSON", strings.Join(path, "."))
			}
		}
		for _, o := range b.all() {
			switch o.typ {
			case typeDataView:
				for _, k := range []string{"fields", "sourceFilters", "typeMeta", "fieldAttrs", "fieldFormatMap",
					"runtimeFieldMap"} {
					must(o, o.attrs, k)
				}
			case typeLens:
				if _, ok := o.attrs["state"].(map[string]any); !ok || o.layers() == nil {
					b.fault(o, "state is not an object with layers")
				}
			case typeVisualization:
				must(o, o.attrs, "params", "spec")
				if obj(o.attrs, "uiState") == nil || obj(o.attrs, "data", "searchSource") == nil {
					b.fault(o, "uiState or data.searchSource is not an object")
				}
			case typeDashboard:
				must(o, o.attrs, "panelsJSON")
				must(o, o.attrs, "optionsJSON")
				must(o, o.attrs, "kibanaSavedObjectMeta", "searchSourceJSON")
				must(o, o.attrs, "controlGroupInput", "panelsJSON")
				must(o, o.attrs, "controlGroupInput", "ignoreParentSettingsJSON")
				if _, ok := o.attrs["refreshInterval"].(map[string]any); !ok && o.attrs["timeRestore"] == true {
					b.fault(o, "refreshInterval is not an object")
				}
			}
		}
	}},
	{"attributes", func(b *parsed) {
		for _, o := range b.all() {
			for _, k := range keys(o.attrs) {
				if !slices.Contains(attributeKeys[o.typ], k) {
					b.fault(o, "attribute %q", k)
				}
			}
			if str(o.attrs, "title") == "" && o.typ != typeTag {
				b.fault(o, "no title")
			}
			for _, k := range keys(obj(o.attrs, "controlGroupInput")) {
				if !slices.Contains([]string{"controlStyle", "chainingSystem", "ignoreParentSettingsJSON",
					"panelsJSON"}, k) {
					b.fault(o, "controlGroupInput.%s", k)
				}
			}
		}
	}},
	{"references resolve", func(b *parsed) {
		for _, o := range b.objects {
			for _, r := range o.refs {
				if b.find(r.Type, r.ID) == nil {
					b.fault(o, "%s %s is not in the file", r.Type, r.ID)
				}
			}
		}
	}},
	{"reference names", func(b *parsed) {
		for _, o := range b.objects {
			seen := map[string]bool{}
			for _, r := range o.refs {
				if seen[r.Name] {
					b.fault(o, "two references %q", r.Name)
				}
				seen[r.Name] = true
				if !used(o, r) {
					b.fault(o, "reference %q is not used", r.Name)
				}
			}
		}
	}},
	{"layers have references", func(b *parsed) {
		for _, o := range b.charts {
			var have []string
			for _, r := range o.refs {
				if id, ok := strings.CutPrefix(r.Name, "indexpattern-datasource-layer-"); ok && r.Type == typeDataView {
					have = append(have, id)
				}
			}
			slices.Sort(have)
			if o.typ == typeLens && !slices.Equal(have, keys(o.layers())) {
				b.fault(o, "layers %v, references for %v", keys(o.layers()), have)
			}
		}
	}},
	{"column order", func(b *parsed) {
		b.eachLayer(func(o *saved, _ string, l map[string]any) {
			var order []string
			metrics := false
			for _, c := range list(l, "columnOrder") {
				order = append(order, c.(string))
				bucketed, _ := at(l, "columns", c.(string), "isBucketed").(bool)
				if bucketed && metrics {
					b.fault(o, "bucket %v after metrics", c)
				}
				metrics = metrics || !bucketed
			}
			slices.Sort(order)
			if !slices.Equal(order, keys(obj(l, "columns"))) {
				b.fault(o, "columnOrder %v, columns %v", order, keys(obj(l, "columns")))
			}
		})
	}},
	{"accessors", func(b *parsed) {
		for _, o := range b.charts {
			vis := obj(o.attrs, "state", "visualization")
			layers := []any{vis}
			if o.typ == typeLens && vis["layers"] != nil {
				layers = list(vis, "layers")
			}
			for _, l := range layers {
				if o.typ != typeLens {
					continue
				}
				columns := obj(o.layers(), str(l, "layerId"), "columns")
				if columns == nil {
					b.fault(o, "layer %q is not there", str(l, "layerId"))
				}
				var names []string
				for _, k := range []string{"xAccessor", "yAccessor", "valueAccessor", "splitAccessor", "metricAccessor",
					"secondaryMetricAccessor", "breakdownByAccessor"} {
					if n := str(l, k); n != "" {
						names = append(names, n)
					}
				}
				for _, a := range list(l, "accessors") {
					names = append(names, a.(string))
				}
				for _, c := range list(l, "columns") {
					names = append(names, str(c, "columnId"))
				}
				for _, c := range list(l, "yConfig") {
					names = append(names, str(c, "forAccessor"))
				}
				if s := str(l, "sorting", "columnId"); s != "" {
					names = append(names, s)
				}
				if len(names) == 0 {
					b.fault(o, "nothing is drawn")
				}
				for _, n := range names {
					if columns[n] == nil {
						b.fault(o, "column %q is not in layer %q", n, str(l, "layerId"))
					}
				}
			}
		}
	}},
	{"order of terms", func(b *parsed) {
		b.eachColumn(func(o *saved, l, c map[string]any, _ esmodel.Kind) {
			if str(c, "operationType") != "terms" {
				return
			}
			by := obj(c, "params", "orderBy")
			if str(by, "type") == "alphabetical" {
				return
			}
			target := obj(l, "columns", str(by, "columnId"))
			p, isP := at(target, "params", "percentile").(float64)
			switch {
			case target == nil, target["isBucketed"] == true:
				b.fault(o, "ordered by %q, which is no metric", str(by, "columnId"))
			case isP && p != float64(int(p)), str(target, "operationType") == "last_value":
				b.fault(o, "cannot be ordered by %q", str(by, "columnId"))
			}
		})
	}},
	{"fields exist", func(b *parsed) {
		b.eachField(func(o *saved, kind esmodel.Kind, field string) {
			if esType(kind, field) == "" {
				b.fault(o, "field %q is not in the template of %s", field, kind)
			}
		})
	}},
	{"types of fields", func(b *parsed) {
		b.eachColumn(func(o *saved, _, c map[string]any, kind esmodel.Kind) {
			op, field := str(c, "operationType"), str(c, "sourceField")
			typ := esType(kind, field)
			number := slices.Contains([]string{"double", "long"}, typ)
			ok := false
			switch op {
			case "min", "max":
				ok = number || typ == "date" || typ == "histogram"
			case "percentile", "sum":
				ok = number || typ == "histogram"
			case "date_histogram":
				ok = typ == "date"
			case "terms":
				ok = typ == "keyword"
			case "last_value":
				ok = typ != "histogram" && esType(kind, str(c, "params", "sortField")) == "date"
			case "count":
				ok = field == "___records___"
			}
			if !ok {
				b.fault(o, "%s of %q, which is %q", op, field, typ)
			}
			if p, is := at(c, "params", "percentile").(float64); op == "percentile" && (!is || p < 0.0001 ||
				p > 99.9999) {
				b.fault(o, "percentile %v", at(c, "params", "percentile"))
			}
		})
	}},
	{"geometry", func(b *parsed) {
		b.eachDashboard(func(o *saved, panels []any) {
			taken := map[[2]int]string{}
			for _, p := range panels {
				if str(p, "gridData", "i") != str(p, "panelIndex") || str(p, "panelIndex") == "" {
					b.fault(o, "panel %q lies at %q", str(p, "panelIndex"), str(p, "gridData", "i"))
				}
				g := func(k string) int { f, _ := at(p, "gridData", k).(float64); return int(f) }
				if g("x") < 0 || g("w") < 1 || g("h") < 1 || g("x")+g("w") > 48 {
					b.fault(o, "panel %q is beside the grid", str(p, "panelIndex"))
				}
				for x := g("x"); x < g("x")+g("w"); x++ {
					for y := g("y"); y < g("y")+g("h"); y++ {
						if other := taken[[2]int{x, y}]; other != "" {
							b.fault(o, "panels %q and %q overlap", other, str(p, "panelIndex"))
							return
						}
						taken[[2]int{x, y}] = str(p, "panelIndex")
					}
				}
			}
		})
	}},
	{"panels", func(b *parsed) {
		b.eachDashboard(func(o *saved, panels []any) {
			for _, p := range panels {
				if str(p, "type") == "links" {
					continue
				}
				index, config := str(p, "panelIndex"), obj(p, "embeddableConfig")
				c := b.chart(o, index)
				switch {
				case c == nil:
					b.fault(o, "panel %q of type %q has nothing by value", index, str(p, "type"))
					continue
				case at(p, "panelRefName") != nil || at(config, "savedObjectId") != nil:
					b.fault(o, "panel %q is by reference", index)
				case c.typ == typeLens && str(c.attrs, "type") != typeLens:
					b.fault(o, "panel %q: attributes are of the type %q", index, str(c.attrs, "type"))
				}
				for _, k := range keys(config) {
					if !slices.Contains([]string{"enhancements", "description", "attributes", "savedVis"}, k) {
						b.fault(o, "panel %q: embeddableConfig.%s", index, k)
					}
				}
				// Kibana 9.4 takes them from the panel, 8.12 from the chart.
				if str(p, "title") != str(c.attrs, "title") ||
					str(config, "description") != str(c.attrs, "description") {
					b.fault(o, "panel %q and its chart have different titles or descriptions", index)
				}
				for _, e := range list(p, "embeddableConfig", "enhancements", "dynamicActions", "events") {
					name := str(p, "panelIndex") + ":drilldown:" + str(e, "action", "factoryId") + ":" + str(e,
						"eventId") + ":dashboardId"
					if r, ok := o.ref(name); !ok || r.Type != typeDashboard {
						b.fault(o, "no reference %q", name)
					}
				}
			}
		})
	}},
	{"links", func(b *parsed) {
		b.eachDashboard(func(o *saved, panels []any) {
			for _, p := range panels {
				for _, l := range list(p, "embeddableConfig", "attributes", "links") {
					name := str(p, "panelIndex") + ":" + str(l, "destinationRefName")
					if r, ok := o.ref(name); !ok || r.Type != typeDashboard {
						b.fault(o, "no reference %q", name)
					}
				}
			}
		})
	}},
	{"controls", func(b *parsed) {
		for _, o := range b.objects {
			if o.typ != typeDashboard {
				continue
			}
			controls := obj(o.attrs, "controlGroupInput", "panelsJSON")
			orders := map[float64]bool{}
			for id, c := range controls {
				order, _ := at(c, "order").(float64)
				orders[order] = true
				if str(c, "explicitInput", "id") != id {
					b.fault(o, "control %q calls itself %q", id, str(c, "explicitInput", "id"))
				}
				if r, ok := o.ref("controlGroup_" + id + ":optionsListDataView"); !ok || r.Type != typeDataView {
					b.fault(o, "control %q has no data view", id)
				}
				if at(c, "explicitInput", "dataViewId") != nil {
					b.fault(o, "control %q names a data view by id", id)
				}
			}
			for i := range len(controls) {
				if !orders[float64(i)] {
					b.fault(o, "no control %d of %d", i, len(controls))
				}
			}
		}
	}},
	{"vega", func(b *parsed) {
		for _, o := range b.charts {
			if o.typ != typeVisualization {
				continue
			}
			if !strings.HasPrefix(str(o.spec(), "$schema"), "https://vega.github.io/schema/vega-lite/v5") {
				b.fault(o, "$schema %q", str(o.spec(), "$schema"))
			}
			n := 0
			for _, u := range vegaURLs(o.spec()) {
				n++
				if u["%context%"] != nil || u["%timefield%"] != nil {
					b.fault(o, "a query beside the body's")
				}
				if _, ok := kindOfPattern(str(u, "index")); !ok {
					b.fault(o, "index %q", str(u, "index"))
				}
			}
			if n == 0 {
				b.fault(o, "asks for nothing")
			}
		}
	}},
	{"no aggregation below buckets of a histogram", func(b *parsed) {
		b.eachAggregation(func(o *saved, typ string, agg, whole map[string]any) {
			if field := str(agg, "field"); (typ == "range" || typ == "histogram") && field == histogram &&
				whole["aggs"] != nil {
				b.fault(o, "an aggregation below %s of %s", typ, field)
			}
		})
	}},
	{"one unit on an axis", func(b *parsed) {
		for _, o := range b.charts {
			for _, l := range list(o.attrs, "state", "visualization", "layers") {
				units := map[string]bool{}
				for _, a := range list(l, "accessors") {
					c := obj(o.layers(), str(l, "layerId"), "columns", a.(string))
					units[str(c, "params", "format", "id")+str(c, "params", "format", "params", "toUnit")+str(c,
						"params", "format", "params", "suffix")] = true
				}
				if o.typ == typeLens && len(units) > 1 {
					b.fault(o, "units %v on one axis", units)
				}
			}
		}
	}},
	{"forms of later versions", func(b *parsed) {
		later := map[string][]string{typeLens: {"version"}, typeDashboard: {"sections", "pinned_panels",
			"showApplySelections"}}
		for _, o := range b.all() {
			for _, k := range later[o.typ] {
				if o.attrs[k] != nil || obj(o.attrs, "controlGroupInput")[k] != nil {
					b.fault(o, "%s", k)
				}
			}
			for _, l := range list(o.attrs, "state", "visualization", "layers") {
				if at(l, "splitAccessors") != nil {
					b.fault(o, "splitAccessors")
				}
			}
		}
	}},
	{"one scope of percentile documents", func(b *parsed) {
		scope := regexp.MustCompile(`scope: "[a-z+]+"`)
		for _, o := range b.charts {
			for id := range o.layers() {
				r, _ := o.ref("indexpattern-datasource-layer-" + id)
				q := str(o.attrs, "state", "query", "query")
				if k, _ := b.kindOf(r); k == esmodel.KindPercentiles && len(scope.FindAllString(q, -1)) != 1 {
					b.fault(o, "%q picks no one scope", q)
				}
			}
			for _, u := range vegaURLs(o.spec()) {
				k, _ := kindOfPattern(str(u, "index"))
				whole, _ := json.Marshal(u["body"])
				if k == esmodel.KindPercentiles && bytes.Contains(whole, []byte(`"latency.`)) && !bytes.Contains(whole,
					[]byte(`":{"scope":`)) {
					b.fault(o, "a request picks no scope")
				}
			}
		}
	}},
	{"kinds of latency", func(b *parsed) {
		apart := map[string]bool{} // dashboards of charts that show each kind by itself
		b.eachDashboard(func(o *saved, _ []any) {
			chosen := false
			for _, c := range obj(o.attrs, "controlGroupInput", "panelsJSON") {
				kinds := slices.DeleteFunc(slices.Clone(list(c, "explicitInput", "selectedOptions")),
					func(kind any) bool { return kind == "sync" })
				chosen = chosen || str(c, "explicitInput", "fieldName") == "fio.kind" && len(kinds) == 1
			}
			for _, c := range b.charts {
				if c.raw["of"] != o.id {
					continue
				}
				for _, each := range b.kindsIn(c) {
					if each == chosen {
						b.fault(o, "%s: each kind for itself is %v, one chosen above is %v", c.id, each, chosen)
					}
					apart[o.id] = apart[o.id] || each
				}
			}
		})
	}},
	{"durations", func(b *parsed) {
		inNs := regexp.MustCompile(`^(latency\.(min|max|mean|stddev|p\d+|p99_9|ci\..*|limits\..*|value|expected)|` +
			`summary\.\w+\.(min|max|mean|stddev|p\d.*)|sla\.limit\..*|tail\.p99\.without)$`)
		for _, o := range b.objects {
			kind, ok := kindOfPattern(str(o.attrs, "title"))
			if o.typ != typeDataView || !ok {
				continue
			}
			for field := range fieldTypes[kind] {
				if id := str(o.attrs, "fieldFormatMap", field, "id"); inNs.MatchString(field) && id != "duration" {
					b.fault(o, "%s has the format %q", field, id)
				}
			}
		}
		b.eachColumn(func(o *saved, _, c map[string]any, _ esmodel.Kind) {
			if f := obj(c, "params", "format"); str(f, "id") == "duration" &&
				str(f, "params", "fromUnit") != "nanoseconds" {
				b.fault(o, "%s is in %s", str(c, "sourceField"), str(f, "params", "fromUnit"))
			}
		})
	}},
	{"no average of percentiles", func(b *parsed) {
		exact := regexp.MustCompile(`^(latency|summary\.\w+)\.(p\d|ci\.)`)
		b.eachColumn(func(o *saved, _, c map[string]any, _ esmodel.Kind) {
			if exact.MatchString(str(c, "sourceField")) && str(c, "operationType") != "max" {
				b.fault(o, "%s of %s", str(c, "operationType"), str(c, "sourceField"))
			}
		})
		b.eachAggregation(func(o *saved, typ string, agg, _ map[string]any) {
			if f := cmp.Or(str(agg, "field"), str(agg, "value", "field")); exact.MatchString(f) && typ != "max" {
				b.fault(o, "%s of %s", typ, f)
			}
		})
	}},
}

// kindsIn says of each search of a chart for what is stored by kind of latency whether
// it takes each kind for itself.
func (b *parsed) kindsIn(o *saved) (each []bool) {
	byKind := []esmodel.Kind{esmodel.KindRun, esmodel.KindHistogram, esmodel.KindPercentiles}
	add := func(kind esmodel.Kind, itself bool) {
		if slices.Contains(byKind, kind) {
			each = append(each, itself)
		}
	}
	for id, l := range o.layers() {
		r, _ := o.ref("indexpattern-datasource-layer-" + id)
		kind, _ := b.kindOf(r)
		itself := false
		for _, c := range obj(l, "columns") {
			itself = itself || str(c, "operationType") == "terms" && str(c, "sourceField") == "fio.kind"
		}
		add(kind, itself)
	}
	for _, u := range vegaURLs(o.spec()) {
		if query, _ := json.Marshal(obj(u, "body", "query")); !inContext(query) { // no choice reaches it
			continue
		}
		kind, _ := kindOfPattern(str(u, "index"))
		fields := fieldsOf(u["body"])
		if slices.ContainsFunc(fields, func(f string) bool {
			return strings.HasPrefix(f, "latency.") ||
				strings.HasPrefix(f, "summary.") || strings.HasPrefix(f, "tail.")
		}) {
			add(kind, slices.Contains(fieldsOf(obj(u, "body")["aggs"]), "fio.kind"))
		}
	}
	return each
}

func atMost(v, limit string) bool {
	var a, b [3]int
	if n, err := fmt.Sscanf(v, "%d.%d.%d", &a[0], &a[1], &a[2]); n != 3 || err != nil {
		return false
	}
	fmt.Sscanf(limit, "%d.%d.%d", &b[0], &b[1], &b[2])
	return slices.Compare(a[:], b[:]) <= 0
}

// used says whether something in the object takes the reference.
func used(o *saved, r Reference) bool {
	switch {
	case r.Type == "tag":
		return true
	case strings.HasPrefix(r.Name, "controlGroup_"):
		id, _, _ := strings.Cut(strings.TrimPrefix(r.Name, "controlGroup_"), ":")
		return obj(o.attrs, "controlGroupInput", "panelsJSON", id) != nil
	}
	panel, name, _ := strings.Cut(r.Name, ":")
	for _, p := range list(o.attrs, "panelsJSON") {
		if str(p, "panelIndex") != panel {
			continue
		}
		for _, e := range list(p, "embeddableConfig", "enhancements", "dynamicActions", "events") {
			if name == "drilldown:"+str(e, "action", "factoryId")+":"+str(e, "eventId")+":dashboardId" {
				return true
			}
		}
		for _, l := range list(p, "embeddableConfig", "attributes", "links") {
			if name == str(l, "destinationRefName") {
				return true
			}
		}
		for _, of := range list(p, "embeddableConfig", "attributes", "references") {
			if name == str(of, "name") {
				return true
			}
		}
	}
	return false
}

func (b *parsed) eachLayer(f func(o *saved, id string, l map[string]any)) {
	for _, o := range b.charts {
		for _, id := range keys(o.layers()) {
			f(o, id, obj(o.layers(), id))
		}
	}
}

func (b *parsed) eachColumn(f func(o *saved, l, c map[string]any, kind esmodel.Kind)) {
	b.eachLayer(func(o *saved, id string, l map[string]any) {
		r, _ := o.ref("indexpattern-datasource-layer-" + id)
		kind, _ := b.kindOf(r)
		for _, c := range keys(obj(l, "columns")) {
			f(o, l, obj(l, "columns", c), kind)
		}
	})
}

func (b *parsed) eachDashboard(f func(o *saved, panels []any)) {
	for _, o := range b.objects {
		if o.typ == typeDashboard {
			f(o, list(o.attrs, "panelsJSON"))
		}
	}
}

// eachAggregation visits the aggregations of Vega panels.
func (b *parsed) eachAggregation(f func(o *saved, typ string, agg, whole map[string]any)) {
	for _, o := range b.charts {
		for _, u := range vegaURLs(o.spec()) {
			eachAgg(obj(u, "body"), func(typ string, agg, whole map[string]any) { f(o, typ, agg, whole) })
		}
	}
}

func eachAgg(body map[string]any, f func(typ string, agg, whole map[string]any)) {
	for _, name := range keys(obj(body, "aggs")) {
		whole := obj(body, "aggs", name)
		for _, typ := range keys(whole) {
			if typ != "aggs" && typ != "meta" {
				f(typ, obj(whole, typ), whole)
			}
		}
		eachAgg(whole, f)
	}
}

// vegaURLs are all requests of a specification: Kibana takes each "data" with an
// object as its url for one, wherever it stands.
func vegaURLs(spec any) (out []map[string]any) {
	switch v := spec.(type) {
	case []any:
		for _, e := range v {
			out = append(out, vegaURLs(e)...)
		}
	case map[string]any:
		for _, k := range keys(v) {
			if u := obj(v[k], "url"); k == "data" && u != nil {
				out = append(out, u)
				continue
			}
			out = append(out, vegaURLs(v[k])...)
		}
	}
	return out
}

// eachField visits every field that the bundle names, with the kind of documents
// that it is asked of.
func (b *parsed) eachField(f func(o *saved, kind esmodel.Kind, field string)) {
	for _, o := range b.objects {
		if o.typ != typeDataView {
			continue
		}
		kind, ok := kindOfPattern(str(o.attrs, "title"))
		if !ok {
			b.fault(o, "pattern %q is not one of the templates", str(o.attrs, "title"))
		}
		if t := str(o.attrs, "timeFieldName"); t != "" {
			f(o, kind, t)
		}
		for _, k := range []string{"fieldFormatMap", "fieldAttrs"} {
			for _, name := range keys(obj(o.attrs, k)) {
				f(o, kind, name)
			}
		}
	}
	inKQL := regexp.MustCompile(`([\w@.]+)"?:`)
	b.eachLayer(func(o *saved, id string, l map[string]any) {
		r, _ := o.ref("indexpattern-datasource-layer-" + id)
		kind, _ := b.kindOf(r)
		for _, hit := range inKQL.FindAllStringSubmatch(str(o.attrs, "state", "query", "query"), -1) {
			f(o, kind, hit[1])
		}
	})
	b.eachColumn(func(o *saved, _, c map[string]any, kind esmodel.Kind) {
		if s := str(c, "sourceField"); s != "" && s != "___records___" {
			f(o, kind, s)
		}
		if s := str(c, "params", "sortField"); s != "" {
			f(o, kind, s)
		}
		for _, hit := range inKQL.FindAllStringSubmatch(str(c, "filter", "query"), -1) {
			f(o, kind, hit[1])
		}
	})
	for _, o := range b.all() {
		for id, c := range obj(o.attrs, "controlGroupInput", "panelsJSON") {
			r, _ := o.ref("controlGroup_" + id + ":optionsListDataView")
			kind, _ := b.kindOf(r)
			f(o, kind, str(c, "explicitInput", "fieldName"))
		}
		for _, u := range vegaURLs(o.spec()) {
			kind, _ := kindOfPattern(str(u, "index"))
			for _, name := range fieldsOf(u["body"]) {
				f(o, kind, name)
			}
		}
	}
}

// fieldsOf are the fields that a request's body names.
func fieldsOf(body any) (out []string) {
	switch v := body.(type) {
	case []any:
		for _, e := range v {
			out = append(out, fieldsOf(e)...)
		}
	case map[string]any:
		for _, k := range keys(v) {
			switch k {
			case "field":
				out = append(out, str(v, k))
			case "exists":
				out = append(out, str(v, k, "field"))
			case "term", "range":
				out = append(out, keys(obj(v, k))...)
			case "sort":
				for _, e := range list(v, k) {
					out = append(out, keys(e.(map[string]any))...)
				}
			case "_source", "docvalue_fields":
				for _, e := range list(v, k) {
					name := e.(string)
					if top, _, _ := strings.Cut(name, "."); k != "_source" || top != "whole" && top != "diagnosis" {
						out = append(out, name) // those two are not mapped
					}
				}
			default:
				out = append(out, fieldsOf(v[k])...)
			}
		}
	}
	return out
}

// parse reads a bundle as Kibana's import does, and runs the checks.
func parse(ndjson []byte) *parsed {
	b := &parsed{check: "lines", asked: map[*kibanatest.Object][]asked{}}
	for i, line := range bytes.Split(bytes.TrimSuffix(ndjson, []byte("\n")), []byte("\n")) {
		var raw map[string]any
		if err := json.Unmarshal(line, &raw); err != nil {
			b.fault(nil, "line %d: %v", i+1, err)
			continue
		}
		if n, ok := raw["exportedCount"]; ok {
			if n != float64(i) {
				b.fault(nil, "the last line counts %v of %d objects", n, i)
			}
			continue
		}
		o := &saved{raw: raw, id: str(raw, "id"), typ: str(raw, "type"), attrs: obj(raw, "attributes")}
		refs, _ := json.Marshal(raw["references"])
		if json.Unmarshal(refs, &o.refs) != nil || o.refs == nil {
			b.fault(o, "no references")
		}
		b.objects = append(b.objects, o)
	}
	b.eachDashboard(func(d *saved, panels []any) {
		for _, p := range panels {
			config, index := obj(p, "embeddableConfig"), str(p, "panelIndex")
			o := &saved{raw: map[string]any{"of": d.id}, id: index, typ: str(p, "type")}
			switch o.typ {
			case typeLens:
				o.attrs = obj(config, "attributes")
			case typeVisualization:
				o.attrs = obj(config, "savedVis")
			}
			if o.attrs == nil || o.typ == "links" {
				continue
			}
			for _, r := range list(o.attrs, "references") {
				if of, ok := d.ref(index + ":" + str(r, "name")); ok {
					of.Name = str(r, "name")
					o.refs = append(o.refs, of)
				}
			}
			b.charts = append(b.charts, o)
		}
	})
	b.check = "import"
	var err error
	if b.space, err = kibanatest.Import(ndjson); err != nil {
		b.fault(nil, "%v", err)
	}
	checks := bundleChecks
	if b.space != nil {
		checks = slices.Concat(checks, clientChecks)
	}
	for _, c := range checks {
		b.check = c.name
		c.run(b)
	}
	return b
}

func write(t testing.TB, prefix string) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, prefix); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestBundleIsValid(t *testing.T) {
	b := parse(write(t, "fio"))
	for _, f := range b.faults {
		t.Error(f)
	}
	count := map[string]int{}
	for _, o := range b.all() {
		count[o.typ]++
	}
	if count[typeDataView] != 5 || count[typeDashboard] != 12 || count[typeTag] != 1 || count[typeLens] < 10 ||
		count[typeVisualization] < 15 {
		t.Errorf("%v", count)
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
		for _, o := range parse(bundle).objects {
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
