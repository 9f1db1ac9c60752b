package kibana

// view is a data view of the bundle.
type view struct {
	id      string
	pattern string
	name    string
	time    bool
	formats map[string]fieldFormat
	labels  map[string]string
}

// fieldFormat is how a field's numbers are printed.
type fieldFormat struct {
	ID     string `json:"id"`
	Params any    `json:"params"`
}

// milliseconds prints nanoseconds as milliseconds with three decimals, whole
// microseconds: Kibana has no smaller unit.
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
	Fields          string `json:"fields"`
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
		Fields: "[]", SourceFilters: "[]", TypeMeta: "{}", RuntimeFieldMap: "{}",
		FieldAttrs: text{attrs}, FieldFormatMap: text{formats},
	}
	if v.time {
		a.TimeFieldName = timeField
	}
	return object(typeDataView, v.id, a)
}

func (v *view) reference(name string) Reference { return Reference{typeDataView, v.id, name} }
