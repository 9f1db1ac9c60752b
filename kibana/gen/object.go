package main

import (
	"bytes"
	"encoding/json"
)

// Reference names another object. When Kibana has to import an object under a new id, it rewrites the id here and
// nowhere else.
type Reference struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Object is a saved object, one line of the export.
type Object struct {
	ID                   string      `json:"id"`
	Type                 string      `json:"type"`
	Attributes           any         `json:"attributes"`
	References           []Reference `json:"references"`
	CoreMigrationVersion string      `json:"coreMigrationVersion"`
	TypeMigrationVersion string      `json:"typeMigrationVersion"`
	Managed              bool        `json:"managed"`
}

// Types of saved objects, and of panels.
const (
	typeDataView      = "index-pattern"
	typeLens          = "lens"
	typeVisualization = "visualization"
	typeDashboard     = "dashboard"
	typeTag           = "tag"
)

// coreVersion and typeVersions are the versions of the attributes' format. Kibana applies every migration since 6.x to
// an object without a type version, some of which fail on newer attributes. It refuses an object of a version later
// than its own.
const coreVersion = "8.8.0"

var typeVersions = map[string]string{
	typeDataView:  "8.0.0",
	typeDashboard: "8.9.0",
	typeTag:       "8.0.0",
}

func object(typ, id string, attributes any, refs ...Reference) Object {
	if refs == nil {
		refs = []Reference{}
	}
	return Object{ID: id, Type: typ, Attributes: attributes, References: refs, CoreMigrationVersion: coreVersion,
		TypeMigrationVersion: typeVersions[typ]}
}

// text is a value that Kibana stores as a string of JSON.
type text struct{ v any }

func (t text) MarshalJSON() ([]byte, error) {
	inner, err := marshal(t.v)
	if err != nil {
		return nil, err
	}
	return marshal(string(inner))
}

// marshal is json.Marshal without HTML escaping, which would make nested strings unreadable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// query is a query in KQL, Kibana's query language.
type query struct {
	Query    string `json:"query"`
	Language string `json:"language"`
}

func kql(q string) query { return query{q, "kuery"} }

// searchSource is the saved search of a chart or dashboard, always empty here.
type searchSource struct {
	Query  query `json:"query"`
	Filter []any `json:"filter"`
}

var emptySearch = searchSource{kql(""), []any{}}

type set map[string]any

type tagAttributes struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Color       string `json:"color"`
}

// tagged adds a tag to all objects except data views.
func tagged(tag Object, objects []Object) {
	for i := range objects {
		if o := &objects[i]; o.Type != typeDataView {
			o.References = append(o.References, Reference{typeTag, tag.ID, "tag-" + tag.ID})
		}
	}
}
