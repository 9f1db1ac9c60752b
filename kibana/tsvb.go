package kibana

import "fmt"

// The shape of TSVB's panels. Kibana matches results with ids by their beginnings, so
// no id may be the beginning of another one of its kind; ids are lower-case letters,
// digits and dashes.

type tsvbPercentile struct {
	ID         string  `json:"id"`
	Mode       string  `json:"mode"`
	Shade      float64 `json:"shade"`
	Value      float64 `json:"value"` // a number: a string finds nothing
	Percentile string  `json:"percentile"`
	Color      string  `json:"color"`
}

type tsvbMetric struct {
	ID          string           `json:"id"`
	Type        string           `json:"type"`
	Field       string           `json:"field"`
	Digits      int              `json:"numberOfSignificantValueDigits,omitempty"` // without them it is T-Digest
	Percentiles []tsvbPercentile `json:"percentiles,omitempty"`
}

type tsvbSeries struct {
	ID       string       `json:"id"`
	Label    string       `json:"label"`
	Color    string       `json:"color"`
	Palette  set          `json:"palette"`
	Filter   *query       `json:"filter,omitempty"`
	Split    string       `json:"split_mode"`
	Terms    string       `json:"terms_field,omitempty"`
	Size     string       `json:"terms_size,omitempty"`
	OrderBy  string       `json:"terms_order_by,omitempty"`
	OrderDir string       `json:"terms_direction,omitempty"`
	Metrics  []tsvbMetric `json:"metrics"`
	// The formatter and the template must be the same in all series of a panel, else
	// the axis shows raw numbers.
	Formatter      string `json:"formatter"`
	Template       string `json:"value_template"`
	ChartType      string `json:"chart_type"`
	LineWidth      int    `json:"line_width"`
	PointSize      int    `json:"point_size"`
	Fill           string `json:"fill"` // "0" in all series fits the axis to the data
	Stacked        string `json:"stacked"`
	SeparateAxis   int    `json:"separate_axis"`
	AxisPosition   string `json:"axis_position"`
	Override       int    `json:"override_index_pattern"`
	IndexRef       string `json:"series_index_pattern_ref_name,omitempty"`
	TimeField      string `json:"series_time_field,omitempty"`
	Interval       string `json:"series_interval,omitempty"`
	MaxBars        int    `json:"series_max_bars,omitempty"`
	DropLastBucket int    `json:"series_drop_last_bucket"`

	view *view // if it is not the panel's
}

type tsvbAnnotation struct {
	ID                  string `json:"id"`
	IndexRef            string `json:"index_pattern_ref_name"`
	TimeField           string `json:"time_field"`
	Query               query  `json:"query_string"`
	Fields              string `json:"fields"`
	Template            string `json:"template"`
	Icon                string `json:"icon"`
	Color               string `json:"color"`
	IgnoreGlobalFilters int    `json:"ignore_global_filters"`
	IgnorePanelFilters  int    `json:"ignore_panel_filters"`
}

type tsvbPanel struct {
	ID              string           `json:"id"`
	Type            string           `json:"type"`
	UseKibana       bool             `json:"use_kibana_indexes"`
	IndexRef        string           `json:"index_pattern_ref_name"`
	TimeField       string           `json:"time_field"`
	Interval        string           `json:"interval"`
	MaxBars         int              `json:"max_bars"`
	TimeRange       string           `json:"time_range_mode,omitempty"` // of all but time series, which else show the last bucket
	DropLastBucket  int              `json:"drop_last_bucket"`
	IsModelInvalid  bool             `json:"isModelInvalid"`
	AxisPosition    string           `json:"axis_position"`
	AxisFormatter   string           `json:"axis_formatter"`
	AxisScale       string           `json:"axis_scale"`
	ShowLegend      int              `json:"show_legend"`
	LegendPosition  string           `json:"legend_position"`
	TruncateLegend  int              `json:"truncate_legend"`
	MaxLinesLegend  int              `json:"max_lines_legend"`
	ShowGrid        int              `json:"show_grid"`
	TooltipMode     string           `json:"tooltip_mode"`
	Series          []tsvbSeries     `json:"series"`
	Annotations     []tsvbAnnotation `json:"annotations,omitempty"`
	BarColorRules   []set            `json:"bar_color_rules,omitempty"`
	BackgroundRules []set            `json:"background_color_rules,omitempty"`
	PivotID         string           `json:"pivot_id,omitempty"`
	PivotLabel      string           `json:"pivot_label,omitempty"`
	PivotRows       string           `json:"pivot_rows,omitempty"`

	view, events *view
}

// visState is the inside of a visualization.
type visState struct {
	Title  string `json:"title"`
	Type   string `json:"type"`
	Aggs   []any  `json:"aggs"`
	Params any    `json:"params"`
}

type visualizationAttributes struct {
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Version     int          `json:"version"`
	UIState     string       `json:"uiStateJSON"`
	Search      searchSource `json:"kibanaSavedObjectMeta"`
	VisState    text         `json:"visState"`
}

func visualization(id, title, description, typ string, params any, refs ...Reference) Object {
	return object(typeVisualization, id, visualizationAttributes{title, description, 1, "{}", emptySearch(),
		text{visState{title, typ, []any{}, params}}}, refs...)
}

const (
	// liveDigits and figureDigits are HDR's significant digits: two are within 1 % of
	// the exact percentile, three within 0.5 %, but three over many times and series
	// take more memory than a small node has.
	liveDigits   = 2
	figureDigits = 3
	// maxBars is the largest number of time buckets of a panel with HDR.
	maxBars = 100

	inMilliseconds = "ns,ms,3"
)

// tsvb is a panel of a type over a data view.
func tsvb(id, typ string, v *view, series ...tsvbSeries) tsvbPanel {
	p := tsvbPanel{
		ID: id, Type: typ, UseKibana: true, view: v, TimeField: timeField, Interval: ">=1s", MaxBars: maxBars,
		AxisPosition: "left", AxisFormatter: "number", AxisScale: "normal",
		ShowLegend: 1, LegendPosition: "right", TruncateLegend: 1, MaxLinesLegend: 1, ShowGrid: 1, TooltipMode: "show_all", Series: series,
	}
	if typ != "timeseries" {
		p.TimeRange = "entire_time_range"
	}
	return p
}

// line is a series of a chart in milliseconds.
func line(id, label, color string, m tsvbMetric) tsvbSeries {
	return tsvbSeries{ID: id, Label: label, Color: color, Palette: set{"type": "palette", "name": "default"}, Split: "everything", Metrics: []tsvbMetric{m},
		Formatter: inMilliseconds, Template: "{{value}} ms", ChartType: "line", LineWidth: 1, PointSize: 1, Fill: "0", Stacked: "none", AxisPosition: "right"}
}

// of keeps only some documents of a series.
func (s tsvbSeries) of(q string) tsvbSeries {
	k := kql(q)
	s.Filter = &k
	return s
}

// by splits a series into the size largest values of a field by its metric.
func (s tsvbSeries) by(field string, size int) tsvbSeries {
	s.Split, s.Terms, s.Size, s.OrderBy, s.OrderDir = "terms", field, fmt.Sprint(size), s.Metrics[0].ID, "desc"
	return s
}

// over takes a series from another data view than the panel's.
func (s tsvbSeries) over(v *view) tsvbSeries {
	s.view, s.Override, s.TimeField, s.Interval, s.MaxBars = v, 1, timeField, ">=1s", maxBars
	return s
}

// hdr is percentiles of a field by HDR.
func hdr(id, field string, digits int, values ...float64) tsvbMetric {
	m := tsvbMetric{ID: id, Type: "percentile", Field: field, Digits: digits}
	for i, v := range values {
		m.Percentiles = append(m.Percentiles, tsvbPercentile{ID: fmt.Sprintf("q%03.0f", v*10), Mode: "line", Shade: 0.2, Value: v, Color: colors[i%len(colors)]})
	}
	return m
}

// byHost makes a table of a row for each host.
func (p tsvbPanel) byHost() tsvbPanel {
	p.PivotID, p.PivotLabel, p.PivotRows = "host.name", "host", "50"
	return p
}

var colors = []string{"#54B399", "#6092C0", "#9170B8", "#DA8B45"}

// slaColor is that of limits, eventColor that of what happened.
const (
	slaColor   = "#CC5642"
	eventColor = "#D36086"
)

// object numbers references as Kibana does: the panel, series over another data
// view, annotations.
func (p tsvbPanel) object(id, title, description string) Object {
	var refs []Reference
	name := func(v *view) string {
		n := fmt.Sprintf("metrics_%d_index_pattern", len(refs))
		refs = append(refs, v.reference(n))
		return n
	}
	p.IndexRef = name(p.view)
	for i := range p.Series {
		if v := p.Series[i].view; v != nil {
			p.Series[i].IndexRef = name(v)
		}
	}
	if p.events != nil {
		p.Annotations = []tsvbAnnotation{{ID: "events", IndexRef: name(p.events), TimeField: timeField, Query: kql(""), Fields: "message,event.action",
			Template: "{{message}}", Icon: "fa-flag", Color: eventColor, IgnoreGlobalFilters: 1, IgnorePanelFilters: 1}}
	}
	return visualization(id, title, description, "metrics", p, refs...)
}
