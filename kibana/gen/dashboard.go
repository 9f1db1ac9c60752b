package main

import (
	"fmt"
	"slices"
)

// gridColumns is the width of Kibana's dashboard grid.
const gridColumns = 48

type grid struct {
	X int    `json:"x"`
	Y int    `json:"y"`
	W int    `json:"w"`
	H int    `json:"h"`
	I string `json:"i"`
}

type panel struct {
	Version    string      `json:"version"`
	Type       string      `json:"type"`
	PanelIndex string      `json:"panelIndex"`
	Grid       grid        `json:"gridData"`
	Title      string      `json:"title,omitempty"`
	Config     panelConfig `json:"embeddableConfig"`
}

// panelConfig holds what a panel shows, by value: Attributes of Lens and of links, or SavedVis of Vega. Title and
// description of the panel are those that a later Kibana shows.
type panelConfig struct {
	Enhancements enhancements `json:"enhancements"`
	Description  string       `json:"description,omitempty"`
	Attributes   any          `json:"attributes,omitempty"`
	SavedVis     *savedVis    `json:"savedVis,omitempty"`
}

// chart is what a panel shows, with the references that it needs. Its id names the panel within the bundle.
type chart struct {
	id, typ, title string
	refs           []Reference
	config         panelConfig
	open           []destination // see row
}

func (c chart) opens(to []destination) chart {
	c.open = to
	return c
}

type enhancements struct {
	DynamicActions *dynamicActions `json:"dynamicActions,omitempty"`
}

type dynamicActions struct {
	Events []actionEvent `json:"events"`
}

type actionEvent struct {
	EventID  string   `json:"eventId"`
	Triggers []string `json:"triggers"`
	Action   action   `json:"action"`
}

type action struct {
	FactoryID string      `json:"factoryId"`
	Name      string      `json:"name"`
	Config    linkOptions `json:"config"`
}

type linkOptions struct {
	UseCurrentFilters   bool `json:"useCurrentFilters"`
	UseCurrentDateRange bool `json:"useCurrentDateRange"`
	OpenInNewTab        bool `json:"openInNewTab"`
}

type links struct {
	Layout string `json:"layout"`
	Links  []link `json:"links"`
}

type link struct {
	Type            string      `json:"type"`
	ID              string      `json:"id"`
	Order           int         `json:"order"`
	Label           string      `json:"label"`
	DestinationName string      `json:"destinationRefName"`
	Options         linkOptions `json:"options"`
}

// control is a drop-down list above the panels.
type control struct {
	view     *view
	field    string
	title    string
	single   bool
	selected []string
}

type controlPanel struct {
	Order int          `json:"order"`
	Width string       `json:"width"`
	Grow  bool         `json:"grow"`
	Type  string       `json:"type"`
	Input controlInput `json:"explicitInput"`
}

type controlInput struct {
	ID           string   `json:"id"`
	FieldName    string   `json:"fieldName"`
	Title        string   `json:"title"`
	SingleSelect bool     `json:"singleSelect,omitempty"`
	Selected     []string `json:"selectedOptions"`
	Enhancements struct{} `json:"enhancements"`
}

type controlGroup struct {
	ControlStyle string `json:"controlStyle"`
	Chaining     string `json:"chainingSystem"`
	Ignore       text   `json:"ignoreParentSettingsJSON"`
	Panels       text   `json:"panelsJSON"`
}

type refreshInterval struct {
	Pause bool `json:"pause"`
	Value int  `json:"value"` // ms
}

// timeRange is what a dashboard sets in all of Kibana when it is opened, unless a link brings another.
type timeRange struct {
	Restore bool            `json:"timeRestore"`
	From    string          `json:"timeFrom"`
	To      string          `json:"timeTo"`
	Refresh refreshInterval `json:"refreshInterval"`
}

type dashboardAttributes struct {
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Version     int          `json:"version"`
	Options     text         `json:"optionsJSON"`
	Panels      text         `json:"panelsJSON"`
	Controls    controlGroup `json:"controlGroupInput"`
	Search      struct {
		JSON text `json:"searchSourceJSON"`
	} `json:"kibanaSavedObjectMeta"`
	timeRange
}

// dashboard is laid out in rows of panels of the same height.
type dashboard struct {
	id, title, description string
	label                  string // in the links between dashboards
	from                   string // start of the time range that opening it sets
	refresh                int    // ms; 0 is no automatic refresh
	controls               []control
	rows                   []row
}

type row struct {
	height int
	charts []chart
	open   []destination // what a click on a value of these charts opens, filtered by it
}

// destination is a dashboard that a click opens, and its entry in Kibana's menu.
type destination struct {
	words string
	to    *dashboard
}

// object returns the saved object. all are the dashboards to link to, in order, this one included.
func (d *dashboard) object(all []*dashboard) Object {
	var refs []Reference
	nav := links{Layout: "horizontal"}
	for i, o := range all {
		// A link carries no filters along: Kibana would turn the controls' selections into filters that the other
		// dashboard's controls cannot change.
		l := link{Type: "dashboardLink", ID: fmt.Sprintf("l%d", i+1), Order: i, Label: o.label}
		l.DestinationName = "link_" + l.ID + "_dashboard"
		// Those that refresh have a time range of their own.
		l.Options.UseCurrentDateRange = d.refresh == 0 && o.refresh == 0
		nav.Links = append(nav.Links, l)
		refs = append(refs, Reference{typeDashboard, o.id, "nav:" + l.DestinationName})
	}
	panels := []panel{{Version: typeVersions[typeDashboard], Type: "links", PanelIndex: "nav", Grid: grid{0, 0,
		gridColumns, 3, "nav"}, Config: panelConfig{Attributes: nav}}}
	y := 3
	for _, r := range d.rows {
		for i, c := range r.charts {
			w := gridColumns / len(r.charts)
			p := panel{typeVersions[typeDashboard], c.typ, c.id, grid{i * w, y, w, r.height, c.id}, c.title, c.config}
			for _, ref := range c.refs {
				ref.Name = c.id + ":" + ref.Name
				refs = append(refs, ref)
			}
			open := slices.Concat(c.open, r.open)
			if len(open) > 0 {
				p.Config.Enhancements.DynamicActions = &dynamicActions{}
			}
			for i, o := range open {
				e := actionEvent{fmt.Sprintf("open%d", i+1), []string{"FILTER_TRIGGER"},
					action{"DASHBOARD_TO_DASHBOARD_DRILLDOWN", o.words, linkOptions{UseCurrentDateRange: true}}}
				p.Config.Enhancements.DynamicActions.Events = append(p.Config.Enhancements.DynamicActions.Events, e)
				refs = append(refs, Reference{typeDashboard, o.to.id, c.id +
					":drilldown:DASHBOARD_TO_DASHBOARD_DRILLDOWN:" + e.EventID + ":dashboardId"})
			}
			panels = append(panels, p)
		}
		y += r.height
	}
	// Kibana would warn of each value of a preset that no document has, such as sync in a run without syncs.
	several := slices.ContainsFunc(d.controls, func(c control) bool { return len(c.selected) > 1 })
	controls := map[string]controlPanel{}
	for i, c := range d.controls {
		id := fmt.Sprintf("c%d", i+1)
		selected := c.selected
		if selected == nil {
			selected = []string{}
		}
		controls[id] = controlPanel{i, "medium", true, "optionsListControl", controlInput{ID: id, FieldName: c.field,
			Title: c.title, SingleSelect: c.single, Selected: selected}}
		refs = append(refs, c.view.reference("controlGroup_"+id+":optionsListDataView"))
	}
	a := dashboardAttributes{
		Title: d.title, Description: d.description, Version: 1,
		timeRange: timeRange{true, d.from, "now", refreshInterval{d.refresh == 0, d.refresh}},
		Options: text{struct {
			UseMargins      bool `json:"useMargins"`
			SyncColors      bool `json:"syncColors"`
			SyncCursor      bool `json:"syncCursor"`
			SyncTooltips    bool `json:"syncTooltips"`
			HidePanelTitles bool `json:"hidePanelTitles"`
		}{true, true, true, false, false}},
		Panels: text{panels},
		Controls: controlGroup{"oneLine", "HIERARCHICAL", text{struct {
			Filters    bool `json:"ignoreFilters"`
			Query      bool `json:"ignoreQuery"`
			TimeRange  bool `json:"ignoreTimerange"`
			Validation bool `json:"ignoreValidations"`
		}{Validation: several}}, text{controls}},
	}
	a.Search.JSON = text{emptySearch}
	return object(typeDashboard, d.id, a, refs...)
}
