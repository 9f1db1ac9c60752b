package charts

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// found is data that may have no rows, and says why; runs is another source.
var (
	found = Data{Source: M{"name": "points"}, Found: "length(data('points')) > 0", Why: "too short"}
	runs  = Data{Source: M{"name": "runs"}}
)

// charts are all charts, with data that may be missing where they can say so.
var charts = []any{
	Hosts{Data: found, What: "worst p99", Click: "datum.host"}, Figures{Data: found, Title: "t"},
	Differences{Data: found, Verdicts: []string{"same"}, Margin: 0.1},
	HeatMap{Data: found}, Members{Data: found}, HostMap{Data: found, Click: "datum.host"},
	History{Data: found, Names: []string{"p50"}, Changes: runs, Click: "datum.id"},
	Rate{Data: found}, Spectrum{Data: found}, CDF{Data: found}, Counts{Data: found},
	LoadCurve{Data: found, Names: []string{"p50"}, Choice: runs, Click: "datum.id"},
	Matrix{Data: found, Columns: "bs", Order: []string{"4k"}}, Parts{Data: found}, Sides{Data: found},
	Percentiles{Data: found, Names: []string{"p50"}}, Overlay{Data: found, Names: []string{"p50"}, Click: "datum.run"},
	Percentiles{Data: found, Names: []string{"p50"}, Merged: true}, TailMap{Data: found, Click: "datum.host"},
	Change{Data: found, Click: "datum.run", Two: "n > 1"}, Findings{Data: found},
}

// says is what a chart's comment says of the rows of its Data, by chart: the names of their fields.
func says(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			of, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := of.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if len(field.Names) == 0 || field.Names[0].Name != "Data" {
						continue
					}
					for line := range strings.Lines(field.Doc.Text()) {
						if m := regexp.MustCompile(`^\t(\w+(?:, \w+)*)  `).FindStringSubmatch(line); m != nil {
							out[of.Name.Name] = append(out[of.Name.Name], strings.Split(m[1], ", ")...)
						}
					}
				}
			}
			return true
		})
	}
	return out
}

// A view is a specification, or a layer of one, as a browser reads it.
type view struct {
	Schema      string `json:"$schema"`
	Description string
	Data        any
	Transform   []map[string]any
	Layer       []view
	Mark        any
	Encoding    map[string]any
}

// TestFields: a chart is drawn from the fields that its comment names, all of them, and from those that it computes of
// them; each part of it has a mark, in a place, and each scale a kind.
func TestFields(t *testing.T) {
	t.Parallel()
	named := says(t)
	seen := map[string]string{} // what the charts of a type show
	for _, c := range charts {
		name := reflect.TypeOf(c).Name()
		spec := reflect.ValueOf(c).MethodByName("Spec").Call(nil)[0].Interface()
		text, err := json.Marshal(spec)
		var v view
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		if seen[name] += string(text); err != nil || v.Schema != schema || v.Description == "" {
			t.Errorf("%s: schema %q, description %q, %v", name, v.Schema, v.Description, err)
		}
		known := slices.Concat(named[name], []string{"series", "id"})
		v.check(t, name, known)
		if strings.Contains(string(text), "no data") != !slices.Contains([]string{"Differences", "Members", "Rate",
			"Spectrum", "CDF", "Counts", "Matrix", "Sides"}, name) {
			t.Errorf("%s: no data and a reason: %s", name, text)
		}
	}
	for name, fields := range named {
		for _, f := range fields {
			if !regexp.MustCompile(`\bdatum\.` + f + `\b|"` + f + `"`).MatchString(seen[name]) {
				t.Errorf("%s does not show %s", name, f)
			}
		}
	}
}

// check looks at a view of rows with the fields known.
func (v *view) check(t *testing.T, name string, known []string) {
	t.Helper()
	if v.Data != nil && v.Schema == "" {
		known = nil // other rows
	}
	computed := regexp.MustCompile(`map\[as:(\w+)|as:\[?(\w+)(?: (\w+)\])?`)
	for _, m := range computed.FindAllStringSubmatch(fmt.Sprint(v.Transform), -1) {
		if known != nil {
			known = append(slices.Clip(known), m[1:]...)
		}
	}
	for i := range v.Layer {
		v.Layer[i].check(t, name, known)
	}
	if len(v.Layer) > 0 {
		return
	}
	if v.Mark == nil || len(v.Encoding) == 0 {
		t.Errorf("%s: a layer with the mark %v and the encoding %v", name, v.Mark, v.Encoding)
	}
	_, across := v.Encoding["x"]
	if _, up := v.Encoding["y"]; !across && !up {
		t.Errorf("%s: %v is nowhere", name, v.Mark)
	}
	for channel, of := range v.Encoding {
		c, one := of.(map[string]any)
		field, _ := c["field"].(string)
		if !one || field == "" {
			continue
		}
		if kinds := []any{"nominal", "quantitative", "temporal"}; !slices.Contains(kinds, c["type"]) &&
			!slices.Contains([]string{"x2", "y2"}, channel) {
			t.Errorf("%s: %s of %s is of the kind %v", name, channel, field, c["type"])
		}
		if known != nil && !slices.Contains(known, field) {
			t.Errorf("%s: %s is of %s, which no row has", name, channel, field)
		}
	}
}

// TestOptions: what an option adds to a chart, and that it is not there without the option.
func TestOptions(t *testing.T) {
	t.Parallel()
	events := Data{Source: M{"name": "events"}}
	axis := &RunAxis{N: 3, Labels: map[int]string{1: "a", 3: "c"}, Levels: runs, Notes: events}
	for _, tt := range []struct {
		name    string
		on, off Spec
		has     []string // the first of these is not there without it
	}{
		{"events on a heat map", HeatMap{Data: runs, Events: &events}.Spec(), HeatMap{Data: runs}.Spec(),
			[]string{`"name":"events"`, `"field":"what"`}},
		{"a heat map of any heights", HeatMap{Data: runs}.Spec(), HeatMap{Data: runs, Finer: true}.Spec(),
			[]string{"datum.octave"}},
		{"a title", HeatMap{Data: runs, Title: "a day"}.Spec(), HeatMap{Data: runs}.Spec(),
			[]string{`"title":"a day"`}},
		{"a zoom", HeatMap{Data: runs, Drag: Zoom}.Spec(), HeatMap{Data: runs, Drag: SetTime}.Spec(),
			[]string{`"name":"zoom"`, "zoom[0]", `"update":"null"`}},
		{"a time range", TailMap{Data: runs, Drag: SetTime}.Spec(), TailMap{Data: runs}.Spec(),
			[]string{"kibanaSetTimeFilter", "span[1]", `"name":"dragged"`}},
		{"a click", Hosts{Data: runs, Click: "open(datum.host)"}.Spec(), Hosts{Data: runs}.Spec(),
			[]string{"symbol:click", "open(datum.host)", `"cursor":"pointer"`}},
		{"a click on a history", History{Data: runs, Changes: events, Click: "datum.id"}.Spec(),
			History{Data: runs, Changes: events}.Spec(), []string{"symbol:click", `"cursor":"pointer"`}},
		{"rates", History{Data: runs, Changes: events, Rate: true}.Spec(), History{Data: runs, Changes: events}.Spec(),
			[]string{"I/Os per second", "+ '/s'", `"title":"per second"`}},
		{"a legend", History{Data: runs, Changes: events, Names: []string{"p9"}}.Spec(), History{Data: runs,
			Changes: events, Names: []string{"p9"}, Rate: true}.Spec(), []string{`"domain":["p9"]`}},
		{"equal distances", History{Data: runs, Changes: events, Runs: axis}.Spec(), History{Data: runs,
			Changes: events}.Spec(), []string{`"domain":[0.5,3.5]`, "datum.value == 1 ? 'a'", "datum.value == 3 ? 'c'",
			`"values":[1,3]`, `"field":"from"`, `"field":"to"`, `"field":"label"`, `"field":"low"`}},
		{"a share", History{Data: runs, Changes: events, Runs: &RunAxis{Share: true, Levels: runs, Notes: events}}.
			Spec(), History{Data: runs, Changes: events, Runs: axis}.Spec(), []string{`"format":"~%"`}},
		{"ratios", Percentiles{Data: runs, Ratio: true}.Spec(), Percentiles{Data: runs}.Spec(),
			[]string{`"title":"times"`, "' ×'"}},
		{"latencies", Percentiles{Data: runs}.Spec(), Percentiles{Data: runs, Ratio: true}.Spec(),
			[]string{`"title":"latency","values"`}},
		{"events over time", Percentiles{Data: runs, Events: &events}.Spec(), Percentiles{Data: runs}.Spec(),
			[]string{`"name":"events"`}},
		{"limits of their own", Percentiles{Data: runs, Limits: &events}.Spec(), Percentiles{Data: runs}.Spec(),
			[]string{`"name":"events"`}},
		{"a choice", Percentiles{Data: runs, Choice: &events, First: "write"}.Spec(), Percentiles{Data: runs}.Spec(),
			[]string{`"name":"direction"`, `"value":"write"`}},
		{"colours", Percentiles{Data: runs, Colors: []string{"#123456"}}.Spec(), Percentiles{Data: runs}.Spec(),
			[]string{`"range":["#123456"]`}},
		{"a title over time", Percentiles{Data: runs, Title: "p99"}.Spec(), Percentiles{Data: runs}.Spec(),
			[]string{`"title":"p99"`}},
		{"the whole run", LoadCurve{Data: runs, X: "IOPS", Loads: []M{{"x": 7}}, Rule: []M{{"v": 8}}}.Spec(),
			LoadCurve{Data: runs, Choice: events}.Spec(), []string{`"title":"IOPS"`, `"values":[{"x":7}]`,
				`"values":[{"v":8}]`, `"field":"low"`, "datum.knee", `"field":"order"`, `"field":"text"`}},
		{"a legend of columns", Matrix{Data: runs, Columns: "bs", Order: []string{"4k"}}.Spec(),
			Matrix{Data: runs}.Spec(), []string{`"legend":{"title":"bs"}`, `"domain":["4k"]`}},
		{"a reason", HostMap{Data: found}.Spec(), HostMap{Data: Data{Source: found.Source, Found: found.Found}}.Spec(),
			[]string{`"value":"too short"`}},
		{"a run beside the start", Rate{Data: runs, Axis: OfRun}.Spec(), Rate{Data: runs, Axis: SinceStart}.Spec(),
			[]string{"time of day", "began + "}},
	} {
		on, err := json.Marshal(tt.on)
		off, err2 := json.Marshal(tt.off)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		unescape := strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&")
		with, without := unescape.Replace(string(on)), unescape.Replace(string(off))
		for _, has := range tt.has {
			if !strings.Contains(with, has) {
				t.Errorf("%s: no %s in %s", tt.name, has, with)
			}
		}
		if strings.Contains(without, tt.has[0]) {
			t.Errorf("%s: %s without it in %s", tt.name, tt.has[0], without)
		}
	}
}
