package kibanatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Reference names another object.
type Reference struct {
	Type, ID, Name string
}

// Object is a saved object, or what a panel of a dashboard has by value: its ID is then that of the panel.
type Object struct {
	Type, ID   string
	Attributes M
	References []Reference

	spec   M
	panels []any
	charts map[string]*Object // of a dashboard, by panel
}

// Ref returns the reference of that name, the zero value if there is none.
func (o *Object) Ref(name string) Reference {
	for _, r := range o.References {
		if r.Name == name {
			return r
		}
	}
	return Reference{}
}

// Title is the object's title.
func (o *Object) Title() string { return Str(o.Attributes, "title") }

// Space is a Kibana space after an import.
type Space struct {
	Objects []*Object
}

// Import reads an export. It fails if a data view is missing, as Kibana then imports nothing; other references may
// dangle (src/core/packages/saved-objects/import-export-server-internal/src/import/lib/validate_references.ts).
func Import(ndjson []byte) (*Space, error) {
	s := &Space{}
	for line := range bytes.Lines(ndjson) {
		var o struct {
			Object
			Exported *int `json:"exportedCount"`
		}
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, err
		}
		if o.Exported != nil {
			continue
		}
		if s.Find(o.Type, o.ID) != nil {
			return nil, fmt.Errorf("%s %s is there twice", o.Type, o.ID)
		}
		s.Objects = append(s.Objects, &o.Object)
	}
	for _, o := range s.Objects {
		for _, r := range o.References {
			if r.Type == "index-pattern" && s.Find(r.Type, r.ID) == nil {
				return nil, fmt.Errorf("%s %s: data view %s is missing", o.Type, o.ID, r.ID)
			}
		}
	}
	return s, nil
}

// Find returns the object of a type and id, nil if there is none.
func (s *Space) Find(typ, id string) *Object {
	for _, o := range s.Objects {
		if o.Type == typ && o.ID == id {
			return o
		}
	}
	return nil
}

// Of returns the objects of a type.
func (s *Space) Of(typ string) (out []*Object) {
	for _, o := range s.Objects {
		if o.Type == typ {
			out = append(out, o)
		}
	}
	return out
}

// Control is a drop-down list above the panels of a dashboard.
type Control struct {
	ID, Field, Title string
	View             *Object
	Preset           []string
}

// Controls returns the controls of a dashboard in their order. Their data views come from references
// (src/plugins/controls/common/options_list/options_list_persistable_state.ts).
func (s *Space) Controls(d *Object) (out []Control) {
	all := Obj(d.Attributes, "controlGroupInput", "panelsJSON")
	order := func(id string) float64 { f, _ := At(all, id, "order").(float64); return f }
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b string) int { return int(order(a) - order(b)) }) {
		c := Control{ID: id, Field: Str(all, id, "explicitInput", "fieldName"), Title: Str(all, id, "explicitInput",
			"title"),
			View: s.Find("index-pattern", d.Ref("controlGroup_"+id+":optionsListDataView").ID)}
		for _, v := range List(all, id, "explicitInput", "selectedOptions") {
			c.Preset = append(c.Preset, fmt.Sprint(v))
		}
		out = append(out, c)
	}
	return out
}

// State is what a user has set on a dashboard.
type State struct {
	Dashboard *Object
	Selected  map[string][]string // by the control's field
	From, To  time.Time
}

// Open opens a dashboard with the presets of its controls. The caller sets the time range.
func (s *Space) Open(d *Object, from, to time.Time) State {
	st := State{Dashboard: d, Selected: map[string][]string{}, From: from, To: to}
	for _, c := range s.Controls(d) {
		if len(c.Preset) > 0 {
			st.Selected[c.Field] = c.Preset
		}
	}
	return st
}

// Choose returns the state after the user has selected values in the control of a field.
func (st State) Choose(field string, values ...string) State {
	st.Selected = maps.Clone(st.Selected)
	st.Selected[field] = values
	return st
}

// Filters returns the filters of every panel: the selections of controls, joined by AND
// (src/plugins/controls/public/options_list/embeddable/options_list_embeddable.tsx: buildPhrasesFilter; all
// panels, whatever their data view: src/plugins/dashboard/public/dashboard_container/embeddable/integrations/
// controls/sync_dashboard_control_group.ts).
func (st State) Filters() (out []M) {
	for _, field := range slices.Sorted(maps.Keys(st.Selected)) {
		if values := st.Selected[field]; len(values) > 0 {
			should := []any{}
			for _, v := range values {
				should = append(should, M{"match_phrase": M{field: v}})
			}
			out = append(out, M{"bool": M{"should": should, "minimum_should_match": 1}})
		}
	}
	return out
}

// Panel is a panel of a dashboard, other than its links.
type Panel struct {
	Index  string
	Object *Object // nil if the panel has nothing by value
	Clicks []Way   // drilldowns of a click on a value
}

// Way leads from one dashboard to another.
type Way struct {
	Label          string
	To             *Object
	CurrentFilters bool
}

func (o *Object) list() []any {
	if o.panels == nil {
		o.panels = List(o.Attributes, "panelsJSON")
	}
	return o.panels
}

// Panels returns all panels but the links
// (src/plugins/dashboard/common/dashboard_container/persistable_state/dashboard_container_references.ts).
func (s *Space) Panels(d *Object) (out []Panel) {
	for _, p := range d.list() {
		if Str(p, "type") == "links" {
			continue
		}
		index := Str(p, "panelIndex")
		panel := Panel{Index: index, Object: d.chart(index, Str(p, "type"), Obj(p, "embeddableConfig"))}
		for _, e := range List(p, "embeddableConfig", "enhancements", "dynamicActions", "events") {
			name := index + ":drilldown:" + Str(e, "action", "factoryId") + ":" + Str(e, "eventId") + ":dashboardId"
			all, _ := At(e, "action", "config", "useCurrentFilters").(bool)
			panel.Clicks = append(panel.Clicks, Way{Str(e, "action", "name"), s.find(d.Ref(name)), all})
		}
		out = append(out, panel)
	}
	return out
}

// chart returns what a panel has by value: Lens in attributes, everything else in savedVis. References of a panel are
// those of its dashboard that begin with its index; Lens takes those of them that its attributes name
// (dashboard_container_references.ts: getReferencesForPanelId; x-pack/plugins/lens/common/embeddable_factory/index.ts:
// inject).
func (o *Object) chart(index, typ string, config M) *Object {
	if c, ok := o.charts[index]; ok {
		return c
	}
	var c *Object
	of := map[string]string{"lens": "attributes", "visualization": "savedVis"}[typ]
	if attributes := Obj(config, of); of != "" && attributes != nil {
		c = &Object{Type: typ, ID: index, Attributes: attributes}
		for _, r := range List(attributes, "references") {
			if found := o.Ref(index + ":" + Str(r, "name")); found.ID != "" {
				found.Name = Str(r, "name")
				c.References = append(c.References, found)
			}
		}
	}
	if o.charts == nil {
		o.charts = map[string]*Object{}
	}
	o.charts[index] = c
	return c
}

// Charts returns what the panels of all dashboards have of a type.
func (s *Space) Charts(typ string) (out []*Object) {
	for _, d := range s.Of("dashboard") {
		for _, p := range s.Panels(d) {
			if p.Object != nil && p.Object.Type == typ {
				out = append(out, p.Object)
			}
		}
	}
	return out
}

func (s *Space) find(r Reference) *Object { return s.Find(r.Type, r.ID) }

// Links returns the links on top of a dashboard
// (src/plugins/links/public/components/dashboard_link/dashboard_link_component.tsx).
func (s *Space) Links(d *Object) (out []Way) {
	for _, p := range d.list() {
		for _, l := range List(p, "embeddableConfig", "attributes", "links") {
			all, _ := At(l, "options", "useCurrentFilters").(bool)
			out = append(out, Way{Str(l, "label"), s.find(d.Ref(Str(p, "panelIndex") + ":" + Str(l,
				"destinationRefName"))), all})
		}
	}
	return out
}

// Pattern returns the index pattern of a data view.
func Pattern(view *Object) string { return Str(view.Attributes, "title") }

// Fields returns the types of an index pattern's fields, empty as long as no index matches
// (src/plugins/data_views/server/fetcher/lib/es_api.ts: _field_caps with allow_no_indices).
type Fields func(pattern string) map[string]string

// FieldsOf returns the types of a data view's fields: those of its indices, or those saved with it while no index has
// a field and the data view allows that (src/plugins/data_views/common/data_views/data_views.ts: refreshFieldSpecMap;
// its "more than 5" are the fields that Kibana adds to those of any index).
func FieldsOf(view *Object, fields Fields) map[string]string {
	found := fields(Pattern(view))
	mapped := slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(name string) bool { return name[0] != '_' })
	if mapped || At(view.Attributes, "allowNoIndex") != true {
		return found
	}
	saved := map[string]string{}
	for _, f := range List(view.Attributes, "fields") {
		if types := List(f, "esTypes"); At(f, "aggregatable") == true && len(types) > 0 {
			saved[Str(f, "name")], _ = types[0].(string)
		}
	}
	return saved
}

// Request is a search. Kibana sends it with ignore_unavailable, so that a missing index gives an empty reply
// (src/plugins/data/server/search/strategies/es_search/request_utils.ts).
type Request struct {
	Name  string // of the reply
	Index string
	Body  M
}

// Path returns the request's path and query, relative to Elasticsearch's address.
func (r Request) Path() string {
	return "/" + strings.TrimPrefix(r.Index, "/") + "/_search?ignore_unavailable=true&track_total_hits=true"
}
