package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/internal/testkit"
	"fiolat/kibana/kibanatest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// large is what a search has to be small on.
var large = kibanatest.Size{
	Values: map[string]int{"host.name": 10000, "run.id": 500, "run.name": 500, "run.title": 500,
		"fio.job": 20, "fio.direction": 3,
		"fio.kind": 3, "probe.target": 50, "probe.operation": 8},
	Shards: 12, Quantum: time.Second, Lowest: 100, Highest: 10e9,
}

// The most that HDR may take, in bytes and structures.
const (
	mostOfRequest    = 16 << 20
	mostOfDashboard  = 64 << 20
	mostOfStructures = 400
)

// mostRequests is how many requests "One run" may make when it is opened: a search of each data of a Vega panel, one
// of each Lens chart, one of each control.
const mostRequests = 10

// asked is a search of a panel as the bundle has it, before anything is filled in.
type asked struct {
	name, index string
	body        map[string]any
	context     bool // it takes the dashboard's filters and controls
	timed       bool
}

func (b *parsed) requests(o *kibanatest.Object) (out []asked) {
	if out, ok := b.asked[o]; ok {
		return out
	}
	defer func() { b.asked[o] = out }()
	for _, d := range vegaData(kibanatest.Spec(o)) {
		u := obj(d, "url")
		query, _ := json.Marshal(obj(u, "body", "query"))
		out = append(out, asked{str(d, "name"), str(u, "index"), obj(u, "body"), inContext(query),
			bytes.Contains(query, []byte(`{"@timestamp":{"%timefilter%":true}}`))})
	}
	if o.Type == typeLens {
		fields := func(pattern string) map[string]string {
			kind, _ := kindOfPattern(pattern)
			return fieldTypes[kind]
		}
		p, err := b.space.Lens(o, kibanatest.State{}, fields, time.Minute)
		if err != nil {
			b.fault(nil, "%s: %v", o.ID, err)
			return nil
		}
		view := b.space.Find(typeDataView, o.Ref("indexpattern-datasource-layer-main").ID)
		out = append(out, asked{"main", p.Request.Index, p.Request.Body, true, str(view.Attributes,
			"timeFieldName") != ""})
	}
	return out
}

// inContext says whether a query takes the dashboard's query, filters and controls, all of it.
func inContext(query []byte) bool {
	n := 0
	for _, part := range []string{"must", "filter", "must_not"} {
		n += bytes.Count(query, fmt.Appendf(nil, `"%s":["%%dashboard_context-%[1]s_clause%%"`, part))
	}
	return n == 3
}

// vegaData are the data of a specification that are searches.
func vegaData(spec any) (out []map[string]any) {
	switch v := spec.(type) {
	case []any:
		for _, e := range v {
			out = append(out, vegaData(e)...)
		}
	case map[string]any:
		if obj(v, "url") != nil {
			return []map[string]any{v}
		}
		for _, k := range keys(v) {
			out = append(out, vegaData(v[k])...)
		}
	}
	return out
}

// eachPanel visits every panel of every dashboard.
func (b *parsed) eachPanel(f func(d *kibanatest.Object, p kibanatest.Panel)) {
	for _, d := range b.space.Of(typeDashboard) {
		for _, p := range b.space.Panels(d) {
			if p.Object != nil {
				f(d, p)
			}
		}
	}
}

var clickedField = regexp.MustCompile(`term: \{'([^']+)'`)

// clickable are the fields whose values a click on a panel passes on.
func clickable(o *kibanatest.Object) (out []string) {
	if spec := kibanatest.Spec(o); spec != nil {
		whole, _ := json.Marshal(spec["params"])
		for _, hit := range clickedField.FindAllStringSubmatch(string(whole), -1) {
			out = append(out, hit[1])
		}
		return out
	}
	for _, c := range obj(o.Attributes, "state", "datasourceStates", "formBased", "layers", "main", "columns") {
		if str(c, "operationType") == "terms" {
			out = append(out, str(c, "sourceField"))
		}
	}
	return out
}

// scopeOfRequest finds the scope of percentile documents that a search asks for.
var scopeOfRequest = regexp.MustCompile(`"scope":"([a-z+]+)"`)

// scopeHas says whether documents of the scope that a search asks for have a field: those of all hosts together have
// no host. The SLA's limits are of all hosts together on purpose, and so are not there for one.
func scopeHas(r asked, field string) bool {
	dimension := map[string]string{"host.name": "host", "fio.job": "job", "fio.log": "log",
		"fio.direction": "direction"}[field]
	body, _ := json.Marshal(r.body)
	scope := scopeOfRequest.FindSubmatch(body)
	return dimension == "" || scope == nil || r.name == "limits" || slices.Contains(strings.Split(string(scope[1]),
		"+"), dimension)
}

// clientChecks are what a user would see go wrong in Kibana, found with a model of its client.
var clientChecks = []bundleCheck{
	{"vega answers", func(b *parsed) {
		b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			if kibanatest.Spec(p.Object) == nil {
				return
			}
			now := time.Now()
			panel, err := kibanatest.Vega(p.Object, b.space.Open(d, now.Add(-time.Hour), now))
			if err != nil {
				b.fault(nil, "%s: %v", p.Object.ID, err)
				return
			}
			var answers []kibanatest.M
			for i := range panel.Requests {
				answers = append(answers, kibanatest.M{"answer": i})
			}
			if err = panel.Draw(answers); err != nil {
				b.fault(nil, "%s: %v", p.Object.ID, err)
			}
		})
	}},
	{"no data in words", func(b *parsed) {
		b.eachPanel(func(_ *kibanatest.Object, p kibanatest.Panel) {
			spec := kibanatest.Spec(p.Object)
			if spec == nil {
				return
			}
			whole, _ := json.Marshal(spec)
			if !strings.Contains(string(whole), `"text":{"value":"no data"}`) {
				b.fault(nil, "%s never says so", p.Object.ID)
			}
			for _, data := range vegaData(spec) {
				if data["format"] != nil {
					b.fault(nil, "%s: %s reads %v of a reply that may lack it", p.Object.ID, str(data, "name"),
						data["format"])
				}
			}
		})
	}},
	{"lens and vega", func(b *parsed) {
		for _, o := range b.space.Charts(typeVisualization) {
			if typ := str(o.Attributes, "type"); typ != "vega" {
				b.fault(nil, "%s is of the type %q", o.ID, typ)
			}
		}
	}},
	{"controls can be drawn", func(b *parsed) {
		for _, d := range b.space.Of(typeDashboard) {
			for _, c := range b.space.Controls(d) {
				kind, _ := kindOfPattern(kibanatest.Pattern(c.View))
				if !kibanatest.CanChoose(esType(kind, c.Field)) {
					b.fault(nil, "%s: %s is of the type %q", d.ID, c.Field, esType(kind, c.Field))
				}
			}
		}
	}},
	{"time ranges", func(b *parsed) {
		b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			for _, r := range b.requests(p.Object) {
				if !r.timed {
					b.fault(nil, "%s: %s of %s is of any time", d.ID, r.name, p.Object.ID)
				}
			}
			if d.Attributes["timeRestore"] != true || str(d.Attributes, "timeFrom") == "" {
				b.fault(nil, "%s has no time range", d.ID)
			}
		})
	}},
	{"presets of several values", func(b *parsed) {
		for _, d := range b.space.Of(typeDashboard) {
			ignored := at(d.Attributes, "controlGroupInput", "ignoreParentSettingsJSON", "ignoreValidations") == true
			for _, c := range b.space.Controls(d) {
				if len(c.Preset) > 1 && !ignored {
					b.fault(nil, "%s: %q warns of a value that no document has", d.ID, c.Title)
				}
			}
		}
	}},
	{"fields without an index", func(b *parsed) {
		none := func(string) map[string]string { return nil }
		b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			if p.Object.Type == typeLens {
				now := time.Now()
				st := b.space.Open(d, now.Add(-time.Hour), now)
				if _, err := b.space.Lens(p.Object, st, none, time.Minute); err != nil {
					b.fault(nil, "%s: %v", p.Object.ID, err)
				}
			}
		})
		for _, d := range b.space.Of(typeDashboard) {
			for _, c := range b.space.Controls(d) {
				if !kibanatest.CanChoose(kibanatest.FieldsOf(c.View, none)[c.Field]) {
					b.fault(nil, "%s: no %s to choose", d.ID, c.Field)
				}
			}
		}
		for _, v := range b.space.Of(typeDataView) {
			kind, _ := kindOfPattern(kibanatest.Pattern(v))
			for field, typ := range kibanatest.FieldsOf(v, none) {
				is := esType(kind, field)
				if typ != is && (typ != "double" || is != "long") { // both are numbers to Kibana
					b.fault(nil, "%s: %s is saved as %s, and is %q", v.ID, field, typ, is)
				}
			}
		}
	}},
	{"controls reach panels", func(b *parsed) {
		b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			for _, r := range b.requests(p.Object) {
				kind, _ := kindOfPattern(r.index)
				for _, c := range b.space.Controls(d) {
					if c.Field == "fio.job" && (p.Object.ID == "live-hosts" ||
						strings.HasPrefix(p.Object.ID, "live-tail-")) {
						continue // hosts have documents of all their jobs; the description says so
					}
					if r.context && (esType(kind, c.Field) == "" || !scopeHas(r, c.Field)) {
						b.fault(nil, "%s: %s of %s has no %s, which a control chooses", d.ID, r.name, p.Object.ID,
							c.Field)
					}
				}
			}
		})
	}},
	{"syncs apart", func(b *parsed) {
		direction := regexp.MustCompile(`"fio.direction":"\w+"`)
		kind := regexp.MustCompile(`"fio.kind":("sync"|\["probe","sync"\])|"scope":"host"`)
		b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			if !slices.ContainsFunc(b.space.Controls(d), func(c kibanatest.Control) bool {
				return slices.Contains(c.Preset, "sync")
			}) {
				return
			}
			for _, r := range b.requests(p.Object) {
				body, _ := json.Marshal(r.body)
				scope := scopeOfRequest.FindSubmatch(body)
				ofDirection := scope != nil && strings.Contains(string(scope[1]), "direction")
				if r.context && !ofDirection && !direction.Match(body) && !kind.Match(body) {
					b.fault(nil, "%s: %s of %s counts syncs with other I/Os", d.ID, r.name, p.Object.ID)
				}
			}
		})
	}},
	{"links bring nothing", func(b *parsed) {
		for _, d := range b.space.Of(typeDashboard) {
			now := time.Now()
			st := b.space.Open(d, now.Add(-time.Hour), now)
			for _, c := range b.space.Controls(d) {
				st = st.Choose(c.Field, "chosen")
			}
			for _, w := range b.space.Links(d) {
				if w.To == nil {
					b.fault(nil, "%s: %q leads nowhere", d.ID, w.Label)
				} else if next := b.space.Follow(st, w); len(next.Pills) > 0 {
					b.fault(nil, "%s: %q brings %v", d.ID, w.Label, next.Pills)
				}
			}
			for _, p := range b.space.Panels(d) {
				for _, w := range p.Clicks {
					if w.To != nil {
						if next := b.space.Follow(st, w); len(next.Pills) > 0 {
							b.fault(nil, "%s: %q brings %v", d.ID, w.Label, next.Pills)
						}
					}
				}
			}
		}
	}},
	{"clicks arrive", func(b *parsed) {
		b.eachPanel(func(_ *kibanatest.Object, p kibanatest.Panel) {
			fields := clickable(p.Object)
			for _, w := range p.Clicks {
				if len(fields) == 0 || w.To == nil {
					b.fault(nil, "%s: nothing to click for %q", p.Object.ID, w.Label)
					continue
				}
				for _, there := range b.space.Panels(w.To) {
					for _, r := range b.requests(there.Object) {
						kind, _ := kindOfPattern(r.index)
						for _, f := range fields {
							if r.context && esType(kind, f) == "" {
								b.fault(nil, "%s brings %s, which %s of %s has not", p.Object.ID, f, r.name,
									there.Object.ID)
							}
						}
					}
				}
			}
		})
	}},
	{"the same run", func(b *parsed) {
		b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			if !slices.Contains([]string{"fio-one-run", "fio-hosts", "fio-one-host", "fio-kinds"}, d.ID) {
				return
			}
			for _, r := range b.requests(p.Object) {
				if kind, _ := kindOfPattern(r.index); kind == esmodel.KindEvent {
					continue
				}
				aggs := obj(r.body, "aggs")
				by := fmt.Sprint(r.body["sort"])
				if r.body["size"] == 1.0 && by == "[map[run.start:desc]]" {
					continue // the document of the run that began last
				}
				if len(aggs) != 1 {
					b.fault(nil, "%s: %s is of several aggregations", p.Object.ID, r.name)
				}
				for _, name := range keys(aggs) {
					terms := obj(aggs, name, "terms")
					f := str(terms, "field")
					if f != "run.id" && f != titleField || terms["size"] != 1.0 || obj(terms, "order")["_key"] != nil {
						b.fault(nil, "%s: %s is not of one run: %v", p.Object.ID, r.name, terms)
					}
					for by := range obj(terms, "order") {
						of := obj(aggs, name, "aggs", by)
						if str(of, "min", "field") != timeField && str(of, "max", "field") != "run.start" {
							b.fault(nil, "%s: %s takes the run by %v", p.Object.ID, r.name, of)
						}
					}
				}
			}
		})
	}},
	{"requests of one run", func(b *parsed) {
		for _, d := range b.space.Of(typeDashboard) {
			if d.ID != "fio-one-run" {
				continue
			}
			n := len(b.space.Controls(d)) // each asks for its values (OptionsListEmbeddable: runOptionsListQuery)
			for _, p := range b.space.Panels(d) {
				n += len(b.requests(p.Object))
			}
			if n > mostRequests {
				b.fault(nil, "%s makes %d requests to Elasticsearch", d.ID, n)
			}
		}
	}},
	{"first screen", func(b *parsed) {
		for _, d := range b.space.Of(typeDashboard) {
			if d.ID != "fio-one-run" {
				continue
			}
			for _, p := range list(d.Attributes, "panelsJSON") {
				end := kibanatest.Below(at(p, "gridData", "y").(float64) + at(p, "gridData", "h").(float64))
				first := slices.Contains([]string{"run-findings", "run-percentiles", "run-map"}, str(p, "panelIndex"))
				if first && end > 800-kibanatest.Chrome {
					b.fault(nil, "%s: %s ends %v pixels below the controls", d.ID, str(p, "panelIndex"), end)
				}
			}
		}
	}},
	{"memory", func(b *parsed) {
		for _, d := range b.space.Of(typeDashboard) {
			sum := 0.0
			for _, p := range b.space.Panels(d) {
				if p.Object == nil {
					continue
				}
				for _, r := range b.requests(p.Object) {
					n, bytes := large.HDR(r.body)
					sum += bytes
					if bytes > mostOfRequest || n > mostOfStructures {
						b.fault(nil, "%s: %s holds %d HDR structures, %.0f MB", p.Object.ID, r.name, n, bytes/(1<<20))
					}
				}
			}
			if sum > mostOfDashboard {
				b.fault(nil, "%s holds %.0f MB of HDR", d.ID, sum/(1<<20))
			}
		}
	}},
	{"hosts by exact documents", func(b *parsed) {
		b.eachPanel(func(_ *kibanatest.Object, p kibanatest.Panel) {
			for _, r := range b.requests(p.Object) {
				eachAgg(r.body, func(typ string, agg, whole map[string]any) {
					if typ != "terms" || str(agg, "field") != "host.name" || agg["size"] == 1.0 {
						return
					}
					order := list(agg, "order")
					if order == nil {
						order = []any{agg["order"]}
					}
					for _, by := range order {
						by := keys(by.(map[string]any))[0]
						exact := obj(whole, "aggs", by, "max") != nil || obj(whole, "aggs", by, "filter") != nil ||
							str(whole, "aggs", by, "weighted_avg", "value", "field") == "tail.lift"
						if kind, _ := kindOfPattern(r.index); kind != esmodel.KindPercentiles || !exact {
							b.fault(nil, "%s: hosts by %v of %s", p.Object.ID, agg["order"], r.index)
						}
					}
				})
			}
		})
	}},
	{"drags and clicks", func(b *parsed) {
		b.eachPanel(func(_ *kibanatest.Object, p kibanatest.Panel) {
			spec := kibanatest.Spec(p.Object)
			if spec == nil {
				return
			}
			whole, _ := json.Marshal(spec["params"])
			sets := strings.Contains(string(whole), "kibanaSetTimeFilter")
			adds := strings.Contains(string(whole), "kibanaAddFilter")
			body, _ := json.Marshal(spec["layer"])
			overTime := strings.Contains(string(body), `"field":"t"`)
			if sets && len(p.Clicks) > 0 {
				b.fault(nil, "%s: a drag that sets the time range would also open a dashboard", p.Object.ID)
			}
			// A drilldown would follow the time range too: such a chart filters its own dashboard.
			if opens := len(p.Clicks) > 0; adds != opens && !(adds && sets) {
				const form = "%s: a click passes on a filter: %v; it opens %d dashboards"
				b.fault(nil, form, p.Object.ID, adds, len(p.Clicks))
			}
			if zooms := strings.Contains(string(whole), `"zoom"`); overTime && !sets && !zooms {
				b.fault(nil, "%s: a drag does nothing", p.Object.ID)
			}
		})
	}},
	{"tags", func(b *parsed) {
		for _, o := range b.space.Objects {
			if o.Type == typeDashboard {
				if !slices.ContainsFunc(o.References, func(r kibanatest.Reference) bool {
					return r.Type == typeTag &&
						r.Name == "tag-"+r.ID
				}) {
					b.fault(nil, "%s %s has none", o.Type, o.ID)
				}
			}
		}
	}},
	{"latest runs first", func(b *parsed) {
		all := b.space.Charts(typeLens)
		i := slices.IndexFunc(all, func(o *kibanatest.Object) bool { return o.ID == "compare-runs" })
		if i < 0 {
			return
		}
		o := all[i]
		by := str(o.Attributes, "state", "visualization", "sorting", "columnId")
		column := obj(o.Attributes, "state", "datasourceStates", "formBased", "layers", "main", "columns", by)
		order := list(o.Attributes, "state", "datasourceStates", "formBased", "layers", "main", "columnOrder")
		if str(column, "dataType") != "date" || str(column, "operationType") != "max" || str(column,
			"sourceField") != "run.start" || order[0] != "run" {
			b.fault(nil, "sorted by %v, columns %v", column, order)
		}
	}},
}

// The map of hosts of a run of 30 days stays within the buckets that a search may have (search.max_buckets).
func TestBucketsOfTheMap(t *testing.T) {
	last := len(mapSteps.lengths) - 1
	if n := mapHosts * (last*mapSteps.most + 30*24*3600/mapSteps.lengths[last]); n > 65536 {
		t.Errorf("%d buckets", n)
	}
}

// The memory that HDR takes, as docs/kibana.md prints it.
func TestMemoryTable(t *testing.T) {
	testkit.NotRaced(t)
	b := parse(write(t, "fio"))
	var table strings.Builder
	table.WriteString("| dashboard | panel | HDR structures | digits | MB |\n|---|---|---:|---:|---:|\n")
	digits := regexp.MustCompile(`"number_of_significant_value_digits":(\d)`)
	for _, d := range b.space.Of(typeDashboard) {
		sum := 0.0
		for _, p := range b.space.Panels(d) {
			for _, r := range b.requests(p.Object) {
				n, bytes := large.HDR(r.body)
				if sum += bytes; n > 0 {
					body, _ := json.Marshal(r.body)
					fmt.Fprintf(&table, "| %s | %s | %d | %s | %.1f |\n", d.Title(), p.Object.Title(), n,
						digits.FindSubmatch(body)[1], bytes/(1<<20))
				}
			}
		}
		if sum > 0 {
			fmt.Fprintf(&table, "| %s | **all** | | | %.1f |\n", d.Title(), sum/(1<<20))
		}
	}
	samePart(t, "../../docs/kibana.md", "memory", table.String())
}

// samePart compares the part of a page between <!-- name --> and <!-- /name --> with what it should be; -update
// writes it.
func samePart(t *testing.T, page, name, want string) {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of %s", page, name)
	}
	if *update {
		if err = os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if was != want {
		t.Errorf("%s has another table (-update writes it anew):\n%s", page, want)
	}
}
