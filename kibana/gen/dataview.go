package main

import (
	"maps"
	"slices"
)

// view is a data view of the bundle.
type view struct {
	id      string
	pattern string
	name    string
	time    bool
	formats map[string]fieldFormat
	labels  map[string]string
	used    map[string]string // type of each field that a chart or control uses: string, number or date
}

// use records that a chart or control uses a field, typ being Kibana's type.
func (v *view) use(field, typ string) {
	if v.used == nil {
		v.used = map[string]string{}
	}
	v.used[field] = typ
}

// savedField is a field that is saved with a data view. Kibana reads a data view's fields from its indices, and falls
// back on the saved ones while there is no index and AllowNoIndex is set. Without them Lens would then show an error
// in place of "No results found".
type savedField struct {
	Name         string   `json:"name"`
	Type         string   `json:"type"`
	ESTypes      []string `json:"esTypes"`
	Searchable   bool     `json:"searchable"`
	Aggregatable bool     `json:"aggregatable"`
	DocValues    bool     `json:"readFromDocValues"`
}

// esTypes maps Kibana's types to Elasticsearch types that Kibana reads as such.
var esTypes = map[string]string{"string": "keyword", "number": "double", "date": "date"}

// savedFields returns the used fields and the time field, by which Lens finds the last value.
func (v *view) savedFields() (out []savedField) {
	v.use(timeField, "date")
	for _, name := range slices.Sorted(maps.Keys(v.used)) {
		typ := v.used[name]
		out = append(out, savedField{name, typ, []string{esTypes[typ]}, true, true, true})
	}
	return out
}

type fieldFormat struct {
	ID     string `json:"id"`
	Params any    `json:"params"`
}

// milliseconds prints nanoseconds as milliseconds with three decimals, that is to the microsecond: Kibana has no
// smaller unit.
var milliseconds = fieldFormat{"duration", struct {
	InputFormat            string `json:"inputFormat"`
	OutputFormat           string `json:"outputFormat"`
	OutputPrecision        int    `json:"outputPrecision"`
	ShowSuffix             bool   `json:"showSuffix"`
	UseShortSuffix         bool   `json:"useShortSuffix"`
	IncludeSpaceWithSuffix bool   `json:"includeSpaceWithSuffix"`
}{"nanoseconds", "asMilliseconds", 3, true, true, true}}

type dataViewAttributes struct {
	Title           string `json:"title"`
	Name            string `json:"name"`
	TimeFieldName   string `json:"timeFieldName,omitempty"`
	AllowNoIndex    bool   `json:"allowNoIndex"` // no error before the first run
	Fields          text   `json:"fields"`
	SourceFilters   string `json:"sourceFilters"`
	TypeMeta        string `json:"typeMeta"`
	FieldAttrs      text   `json:"fieldAttrs"`
	FieldFormatMap  text   `json:"fieldFormatMap"`
	RuntimeFieldMap string `json:"runtimeFieldMap"`
}

func (v *view) object() Object {
	attrs := map[string]set{}
	for field, label := range v.labels {
		attrs[field] = set{"customLabel": label}
	}
	formats := v.formats
	if formats == nil {
		formats = map[string]fieldFormat{}
	}
	a := dataViewAttributes{
		Title: v.pattern, Name: v.name, AllowNoIndex: true,
		Fields: text{v.savedFields()}, SourceFilters: "[]", TypeMeta: "{}", RuntimeFieldMap: "{}",
		FieldAttrs: text{attrs}, FieldFormatMap: text{formats},
	}
	if v.time {
		a.TimeFieldName = timeField
	}
	return object(typeDataView, v.id, a)
}

func (v *view) reference(name string) Reference { return Reference{typeDataView, v.id, name} }
