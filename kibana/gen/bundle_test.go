package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/internal/testkit"
	"fiolat/kibana"
	"fiolat/kibana/kibanatest"
)

var update = flag.Bool("update", false, "write the golden files anew")

var obj, list, str, at = kibanatest.Obj, kibanatest.List, kibanatest.Str, kibanatest.At

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// parsed is a bundle as Kibana reads it.
type parsed struct {
	space *kibanatest.Space
	asked map[*kibanatest.Object][]asked // by requests
}

// asked is a search of a panel as the bundle has it, before anything is filled in.
type asked struct {
	name, index string
	body        map[string]any
	context     bool // it takes the dashboard's filters and controls
}

func write(t testing.TB, prefix string) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, prefix); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func parse(t testing.TB, ndjson []byte) *parsed {
	t.Helper()
	space, err := kibanatest.Import(ndjson)
	if err != nil {
		t.Fatal(err)
	}
	return &parsed{space, map[*kibanatest.Object][]asked{}}
}

// eachPanel visits every panel of every dashboard.
func (b *parsed) eachPanel(f func(d *kibanatest.Object, p kibanatest.Panel)) {
	for _, d := range b.space.Of(typeDashboard) {
		for _, p := range b.space.Panels(d) {
			f(d, p)
		}
	}
}

// requests returns the searches of a panel. A Lens panel whose fields are not in the templates, or of another type than
// its operation takes, is an error.
func (b *parsed) requests(t *testing.T, o *kibanatest.Object) (out []asked) {
	t.Helper()
	if out, ok := b.asked[o]; ok {
		return out
	}
	for _, d := range vegaData(kibanatest.Spec(o)) {
		u := obj(d, "url")
		query, _ := json.Marshal(obj(u, "body", "query"))
		out = append(out, asked{str(d, "name"), str(u, "index"), obj(u, "body"),
			bytes.Count(query, []byte(`["%dashboard_context-`)) == 3})
	}
	if o.Type == typeLens {
		fields := func(pattern string) map[string]string { return fieldTypes[kindOfPattern(pattern)] }
		p, err := b.space.Lens(o, kibanatest.State{}, fields, time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", o.ID, err)
		}
		out = append(out, asked{"main", p.Request.Index, p.Request.Body, true})
	}
	b.asked[o] = out
	return out
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

// kindOfPattern is the kind of documents behind an index pattern; "" if it is none of the templates'.
func kindOfPattern(pattern string) esmodel.Kind {
	i := slices.IndexFunc(esmodel.Kinds, func(k esmodel.Kind) bool { return esmodel.Pattern("fio", k) == pattern })
	if i < 0 {
		return ""
	}
	return esmodel.Kinds[i]
}

// fieldTypes are the types of the fields that the index template of a kind names one by one, so that a data view has
// them before any document was written.
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
			case "term", "range", "match_phrase":
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

func eachAgg(body map[string]any, f func(typ string, agg map[string]any)) {
	for _, name := range keys(obj(body, "aggs")) {
		whole := obj(body, "aggs", name)
		for _, typ := range keys(whole) {
			if typ != "aggs" && typ != "meta" {
				f(typ, obj(whole, typ))
			}
		}
		eachAgg(whole, f)
	}
}

// TestReferences: all that an object names is in the file, and each control can be drawn.
func TestReferences(t *testing.T) {
	space := parse(t, write(t, "fio")).space
	for _, o := range space.Objects {
		for _, r := range o.References {
			if space.Find(r.Type, r.ID) == nil {
				t.Errorf("%s %s: %s %s is not in the file", o.Type, o.ID, r.Type, r.ID)
			}
		}
	}
	for _, d := range space.Of(typeDashboard) {
		ways := space.Links(d)
		for _, p := range space.Panels(d) {
			if ways = append(ways, p.Clicks...); p.Object == nil {
				t.Errorf("%s: panel %s has nothing by value", d.ID, p.Index)
			}
		}
		for _, w := range ways {
			if w.To == nil || w.CurrentFilters {
				t.Errorf("%s: %q leads to %v, with its filters: %v", d.ID, w.Label, w.To, w.CurrentFilters)
			}
		}
		for _, c := range space.Controls(d) {
			if c.View == nil || fieldTypes[kindOfPattern(kibanatest.Pattern(c.View))][c.Field] != "keyword" {
				t.Errorf("%s: %s cannot be chosen", d.ID, c.Field)
			}
		}
	}
}

// TestGeometry: the panels of a dashboard have titles of their own, lie in its grid, and beside each other.
func TestGeometry(t *testing.T) {
	for _, d := range parse(t, write(t, "fio")).space.Of(typeDashboard) {
		taken, titles := map[[2]int]string{}, map[string]bool{}
		for _, p := range list(d.Attributes, "panelsJSON") {
			index := str(p, "panelIndex")
			g := func(k string) int { f, _ := at(p, "gridData", k).(float64); return int(f) }
			if str(p, "gridData", "i") != index || g("x") < 0 || g("w") < 1 || g("h") < 1 || g("x")+g("w") > 48 ||
				titles[str(p, "title")] {
				t.Errorf("%s: panel %q, %q at %v", d.ID, index, str(p, "title"), at(p, "gridData"))
			}
			titles[str(p, "title")] = true
			for x := g("x"); x < g("x")+g("w"); x++ {
				for y := g("y"); y < g("y")+g("h"); y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: panels %q and %q overlap", d.ID, other, index)
					}
					taken[[2]int{x, y}] = index
				}
			}
		}
	}
}

// scope finds the scope of percentile documents that a search asks for.
var scope = regexp.MustCompile(`"scope":"([a-z+]+)"`)

// scopeHas says whether documents of the scope that a search asks for have a field: those of all hosts together have
// no host. The SLA's limits are of all hosts together on purpose, and so are not there for one.
func (r *asked) scopeHas(field string) bool {
	dimension := map[string]string{"host.name": "host", "fio.job": "job", "fio.log": "log",
		"fio.direction": "direction"}[field]
	body, _ := json.Marshal(r.body)
	of := scope.FindSubmatch(body)
	return dimension == "" || of == nil || r.name == "limits" || slices.Contains(strings.Split(string(of[1]), "+"),
		dimension)
}

// TestFields: what panels and data views name is in the templates, no panel averages percentiles, and what a control
// chooses is there in all panels of its dashboard.
func TestFields(t *testing.T) {
	b := parse(t, write(t, "fio"))
	exact := regexp.MustCompile(`^(latency|summary\.\w+)\.(p\d|ci\.)`)
	b.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
		for _, r := range b.requests(t, p.Object) {
			types := fieldTypes[kindOfPattern(r.index)]
			for _, name := range fieldsOf(r.body) {
				if types[name] == "" {
					t.Errorf("%s: %q is not in the template of %s", p.Object.ID, name, r.index)
				}
			}
			eachAgg(r.body, func(typ string, agg map[string]any) {
				if f := cmp.Or(str(agg, "field"), str(agg, "value", "field")); exact.MatchString(f) && typ != "max" {
					t.Errorf("%s: %s of %s", p.Object.ID, typ, f)
				}
			})
			for _, c := range b.space.Controls(d) {
				if c.Field == "fio.job" && (p.Object.ID == "live-hosts" ||
					strings.HasPrefix(p.Object.ID, "live-tail-")) {
					continue // hosts have documents of all their jobs; the description says so
				}
				if r.context && (types[c.Field] == "" || !r.scopeHas(c.Field)) {
					t.Errorf("%s: %s of %s has no %s, which a control chooses", d.ID, r.name, p.Object.ID, c.Field)
				}
			}
		}
	})
	inNs := regexp.MustCompile(`^(latency\.(min|max|mean|stddev|p\d+|p99_9|ci\..*|limits\..*|value|expected)|` +
		`summary\.\w+\.(min|max|mean|stddev|p\d.*)|sla\.limit\..*|tail\.p99\.without)$`)
	for _, v := range b.space.Of(typeDataView) {
		types := fieldTypes[kindOfPattern(kibanatest.Pattern(v))]
		for _, name := range append(keys(obj(v.Attributes, "fieldFormatMap")), str(v.Attributes, "timeFieldName")) {
			if name != "" && types[name] == "" {
				t.Errorf("%s: no field %q", v.ID, name)
			}
		}
		for name := range types {
			if id := str(v.Attributes, "fieldFormatMap", name, "id"); inNs.MatchString(name) && id != "duration" {
				t.Errorf("%s: %s has the format %q", v.ID, name, id)
			}
		}
	}
}

// TestAccessors: what a Lens chart draws are columns of its layer.
func TestAccessors(t *testing.T) {
	named := regexp.MustCompile(`"(?:\w*[aA]ccessor|columnId)":"([^"]+)"|"accessors":\[([^]]*)\]`)
	for _, o := range parse(t, write(t, "fio")).space.Charts(typeLens) {
		columns := obj(o.Attributes, "state", "datasourceStates", "formBased", "layers", "main", "columns")
		drawn, _ := json.Marshal(obj(o.Attributes, "state", "visualization"))
		found := named.FindAllStringSubmatch(string(drawn), -1)
		for _, hit := range found {
			for name := range strings.SplitSeq(hit[1]+strings.ReplaceAll(hit[2], `"`, ""), ",") {
				if columns[name] == nil {
					t.Errorf("%s draws %q, columns are %v", o.ID, name, keys(columns))
				}
			}
		}
		if len(found) == 0 {
			t.Errorf("%s draws nothing", o.ID)
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
		for _, o := range parse(t, bundle).space.Objects {
			for _, name := range []string{o.Type + o.ID, cmp.Or(str(o.Attributes, "name"), o.Title())} {
				if seen[name] {
					t.Errorf("%s is there twice", name)
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

// The map of hosts of a run of 30 days stays within the buckets that a search may have (search.max_buckets).
func TestBucketsOfTheMap(t *testing.T) {
	last := len(mapSteps.lengths) - 1
	if n := mapHosts * (last*mapSteps.most + 30*24*3600/mapSteps.lengths[last]); n > 65536 {
		t.Errorf("%d buckets", n)
	}
}

// large is what a search has to be small on.
var large = kibanatest.Size{
	Values: map[string]int{"host.name": 10000, "run.id": 500, "run.name": 500, "run.title": 500,
		"fio.job": 20, "fio.direction": 3,
		"fio.kind": 3, "probe.target": 50, "probe.operation": 8},
	Shards: 12, Interval: time.Second, Lowest: 100, Highest: 10e9,
}

// The most that HDR may take, in bytes and structures.
const (
	mostOfRequest    = 16 << 20
	mostOfDashboard  = 64 << 20
	mostOfStructures = 400
)

// The memory that HDR takes, as docs/kibana.md prints it, is within its limits.
func TestMemoryTable(t *testing.T) {
	testkit.NotRaced(t)
	b := parse(t, write(t, "fio"))
	var table strings.Builder
	table.WriteString("| dashboard | panel | HDR structures | digits | MB |\n|---|---|---:|---:|---:|\n")
	digits := regexp.MustCompile(`"number_of_significant_value_digits":(\d)`)
	for _, d := range b.space.Of(typeDashboard) {
		sum := 0.0
		for _, p := range b.space.Panels(d) {
			for _, r := range b.requests(t, p.Object) {
				n, bytes := large.HDR(r.body)
				if sum += bytes; n > 0 {
					body, _ := json.Marshal(r.body)
					fmt.Fprintf(&table, "| %s | %s | %d | %s | %.1f |\n", d.Title(), p.Object.Title(), n,
						digits.FindSubmatch(body)[1], bytes/(1<<20))
				}
				if bytes > mostOfRequest || n > mostOfStructures {
					t.Errorf("%s: %s holds %d HDR structures, %.0f MB", p.Object.ID, r.name, n, bytes/(1<<20))
				}
			}
		}
		if sum > 0 {
			fmt.Fprintf(&table, "| %s | **all** | | | %.1f |\n", d.Title(), sum/(1<<20))
		}
		if sum > mostOfDashboard {
			t.Errorf("%s holds %.0f MB of HDR", d.ID, sum/(1<<20))
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
