package kibana

import (
	"bytes"
	"encoding/json"
)

// Reference is how an object names another one. Kibana rewrites ids here, and only
// here, when it has to import an object under another one.
type Reference struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Object is a saved object, a line of the export.
type Object struct {
	ID                   string      `json:"id"`
	Type                 string      `json:"type"`
	Attributes           any         `json:"attributes"`
	References           []Reference `json:"references"`
	CoreMigrationVersion string      `json:"coreMigrationVersion"`
	TypeMigrationVersion string      `json:"typeMigrationVersion"`
	Managed              bool        `json:"managed"`
}

// Types of saved objects.
const (
	typeDataView      = "index-pattern"
	typeLens          = "lens"
	typeVisualization = "visualization"
	typeDashboard     = "dashboard"
	typeTag           = "tag"
)

// coreVersion and typeVersions are what the attributes here are written for. An
// object without its type's version would be put through every migration since 6.x,
// some of which fail on what they do not know; one of a later version than the Kibana
// at hand is refused.
const coreVersion = "8.8.0"

var typeVersions = map[string]string{
	typeDataView:      "8.0.0",
	typeLens:          "8.9.0",
	typeVisualization: "8.5.0",
	typeDashboard:     "8.9.0",
	typeTag:           "8.0.0",
}

func object(typ, id string, attributes any, refs ...Reference) Object {
	if refs == nil {
		refs = []Reference{}
	}
	return Object{ID: id, Type: typ, Attributes: attributes, References: refs, CoreMigrationVersion: coreVersion,
		TypeMigrationVersion: typeVersions[typ]}
}

// text is a value that Kibana keeps as JSON within a string.
type text struct{ v any }

func (t text) MarshalJSON() ([]byte, error) {
	inner, err := marshal(t.v)
	if err != nil {
		return nil, err
	}
	return marshal(string(inner))
}

// marshal is JSON without the escapes that are for HTML, which would make the
// strings within strings unreadable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// query is Kibana's query language, KQL.
type query struct {
	Query    string `json:"query"`
	Language string `json:"language"`
}

func kql(q string) query { return query{q, "kuery"} }

// searchSource is what charts and dashboards keep of a search: none of their own.
type searchSource struct {
	SearchSourceJSON text `json:"searchSourceJSON"`
}

func emptySearch() searchSource {
	return searchSource{text{struct {
		Query  query `json:"query"`
		Filter []any `json:"filter"`
	}{kql(""), []any{}}}}
}

type set map[string]any

type tagAttributes struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Color       string `json:"color"`
}

// tagged puts a tag on charts and dashboards.
func tagged(tag Object, objects []Object) {
	for i := range objects {
		if o := &objects[i]; o.Type != typeDataView {
			o.References = append(o.References, Reference{typeTag, tag.ID, "tag-" + tag.ID})
		}
	}
}
