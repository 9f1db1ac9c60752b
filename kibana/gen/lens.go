package main

// column is a column of a Lens layer.
type column struct {
	id         string
	Label      string   `json:"label"`
	Custom     bool     `json:"customLabel"`
	DataType   string   `json:"dataType"`
	Operation  string   `json:"operationType"`
	Field      string   `json:"sourceField,omitempty"`
	IsBucketed bool     `json:"isBucketed"`
	Scale      string   `json:"scale"`
	Filter     *query   `json:"filter,omitempty"`
	TimeScale  string   `json:"timeScale,omitempty"`
	Params     any      `json:"params"`
	References []string `json:"references,omitempty"`
}

type columnFormat struct {
	ID     string       `json:"id"`
	Params formatParams `json:"params"`
}

type formatParams struct {
	Decimals int    `json:"decimals"`
	FromUnit string `json:"fromUnit,omitempty"`
	ToUnit   string `json:"toUnit,omitempty"`
	Compact  bool   `json:"compact,omitempty"`
	Suffix   string `json:"suffix,omitempty"`
}

var (
	latencyFormat = columnFormat{"duration", formatParams{Decimals: 3, FromUnit: "nanoseconds",
		ToUnit: "asMilliseconds", Compact: true}}
	wholeFormat = columnFormat{"number", formatParams{Decimals: 0}}
	bytesFormat = columnFormat{"bytes", formatParams{Decimals: 1}}
	timesFormat = columnFormat{"number", formatParams{Decimals: 2, Suffix: " ×"}}
)

type format struct {
	Format columnFormat `json:"format"`
}

// metric returns a column with one number; op is its name in Lens and Elasticsearch alike.
func metric(id, op, field, label string, f columnFormat) column {
	return column{id: id, Label: label, Custom: true, DataType: "number", Operation: op, Field: field, Scale: "ratio",
		Params: format{f}}
}

// perSecond divides by the length of the time bucket.
func (c column) perSecond() column {
	c.TimeScale = "s"
	return c
}

func percentile(id, field, label string, p float64, f columnFormat) column {
	c := metric(id, "percentile", field, label, f)
	c.Params = struct {
		Percentile float64      `json:"percentile"`
		Format     columnFormat `json:"format"`
	}{p, f}
	return c
}

// latest returns a column with the value of the last document by time; with several, all values of its field.
func latest(id, field, label string, several bool) column {
	return column{id: id, Label: label, Custom: true, DataType: "string", Operation: "last_value", Field: field,
		Scale:  "ordinal",
		Filter: &query{`"` + field + `": *`, "kuery"},
		Params: struct {
			SortField       string `json:"sortField"`
			ShowArrayValues bool   `json:"showArrayValues"`
		}{timeField, several}}
}

// date returns a column with a time; op is min or max. last_value would yield text and sort as text.
func date(id, op, field, label string) column {
	return column{id: id, Label: label, Custom: true, DataType: "date", Operation: op, Field: field, Scale: "ratio",
		Params: struct{}{}}
}

// allRecords is Lens's name for the documents themselves.
const allRecords = "___records___"

func records(id, label string) column {
	c := metric(id, "count", allRecords, label, wholeFormat)
	c.Params = struct {
		EmptyAsNull bool `json:"emptyAsNull"`
	}{true}
	return c
}

type orderBy struct {
	Type     string `json:"type"`
	ColumnID string `json:"columnId,omitempty"`
	Fallback *bool  `json:"fallback,omitempty"`
}

type termsParams struct {
	Size           int      `json:"size"`
	OrderBy        orderBy  `json:"orderBy"`
	OrderDirection string   `json:"orderDirection"`
	OtherBucket    bool     `json:"otherBucket"`
	MissingBucket  bool     `json:"missingBucket"`
	ParentFormat   set      `json:"parentFormat"`
	Include        []string `json:"include"`
	Exclude        []string `json:"exclude"`
	IncludeIsRegex bool     `json:"includeIsRegex"`
	ExcludeIsRegex bool     `json:"excludeIsRegex"`
}

// terms returns a column with the first size values of a field, in descending order of the column by, or in
// alphabetical order if by is "".
func terms(id, field, label string, size int, by string) column {
	p := termsParams{Size: size, OrderDirection: "desc", ParentFormat: set{"id": "terms"}, Include: []string{},
		Exclude: []string{},
		OrderBy: orderBy{Type: "column", ColumnID: by}}
	if by == "" {
		p.OrderDirection, p.OrderBy = "asc", orderBy{Type: "alphabetical", Fallback: new(bool)}
	}
	return column{id: id, Label: label, Custom: true, DataType: "string", Operation: "terms", Field: field,
		IsBucketed: true, Scale: "ordinal", Params: p}
}

// theRun returns the column of the last started of the runs that the dashboard selects. It needs the column start.
func theRun() column { return terms("run", titleField, "run", 1, "start") }

// start returns the column with the time of a run's first document, by which theRun sorts.
func start() column { return date(hiddenStart, "min", timeField, "began") }

// hiddenStart is a column that only selects the run; tables hide it.
const hiddenStart = "start"

// overTime returns a column of time buckets of a length that Kibana chooses. It keeps empty ones, so that gaps show.
func overTime(id string) column { return timeBuckets(id, timeField, "auto", true) }

// timeBuckets returns a column of time buckets of a length, with empty ones if empty is set.
func timeBuckets(id, label, length string, empty bool) column {
	return column{id: id, Label: label, Custom: label != timeField, DataType: "date", Operation: "date_histogram",
		Field: timeField, IsBucketed: true, Scale: "interval",
		Params: struct {
			Interval         string `json:"interval"`
			IncludeEmptyRows bool   `json:"includeEmptyRows"`
			DropPartials     bool   `json:"dropPartials"`
		}{length, empty, false}}
}

// layer is a layer of a Lens chart: a data view and columns, bucket columns first, in the order of their nesting.
type layer struct {
	id      string
	view    *view
	columns []column
}

type layerState struct {
	ColumnOrder         []string          `json:"columnOrder"`
	IncompleteColumns   struct{}          `json:"incompleteColumns"`
	Sampling            int               `json:"sampling"`
	IgnoreGlobalFilters bool              `json:"ignoreGlobalFilters"`
	Columns             map[string]column `json:"columns"`
}

type lensState struct {
	DatasourceStates struct {
		FormBased struct {
			Layers map[string]layerState `json:"layers"`
		} `json:"formBased"`
	} `json:"datasourceStates"`
	Visualization      any      `json:"visualization"`
	Query              query    `json:"query"`
	Filters            []any    `json:"filters"`
	InternalReferences []any    `json:"internalReferences"`
	AdHocDataViews     struct{} `json:"adHocDataViews"`
}

// lensAttributes has no version on purpose: its absence makes a later Kibana migrate the older format of the state.
// References name those that the dashboard has: Kibana takes no other.
type lensAttributes struct {
	Type              string      `json:"type"`
	Title             string      `json:"title"`
	Description       string      `json:"description"`
	VisualizationType string      `json:"visualizationType"`
	State             lensState   `json:"state"`
	References        []Reference `json:"references"`
}

// lens returns a Lens chart with one layer, of the documents that q finds.
func lens(id, title, description, kind, q string, l layer, visualization any) chart {
	st := layerState{Sampling: 1, Columns: map[string]column{}}
	for _, c := range l.columns {
		st.ColumnOrder = append(st.ColumnOrder, c.id)
		st.Columns[c.id] = c
		if c.Field != "" && c.Field != allRecords {
			l.view.use(c.Field, c.DataType)
		}
	}
	s := lensState{Visualization: visualization, Query: kql(q), Filters: []any{}, InternalReferences: []any{}}
	s.DatasourceStates.FormBased.Layers = map[string]layerState{l.id: st}
	refs := []Reference{l.view.reference("indexpattern-datasource-layer-" + l.id)}
	return chart{id: id, typ: typeLens, title: title, refs: refs, config: panelConfig{Description: description,
		Attributes: lensAttributes{typeLens, title, description, kind, s, refs}}}
}

type xyLayer struct {
	LayerID       string   `json:"layerId"`
	LayerType     string   `json:"layerType"`
	SeriesType    string   `json:"seriesType"`
	XAccessor     string   `json:"xAccessor"`
	SplitAccessor string   `json:"splitAccessor,omitempty"`
	Accessors     []string `json:"accessors"`
	Palette       set      `json:"palette"`
}

type xyVisualization struct {
	PreferredSeriesType string    `json:"preferredSeriesType"`
	Legend              legend    `json:"legend"`
	ValueLabels         string    `json:"valueLabels"`
	FittingFunction     string    `json:"fittingFunction"` // None shows gaps as gaps
	YLeftExtent         set       `json:"yLeftExtent"`
	YLeftScale          string    `json:"yLeftScale"`
	AxisTitles          axisFlags `json:"axisTitlesVisibilitySettings"`
	Layers              []xyLayer `json:"layers"`
}

type legend struct {
	IsVisible bool   `json:"isVisible"`
	Position  string `json:"position"`
}

type axisFlags struct {
	X      bool `json:"x"`
	YLeft  bool `json:"yLeft"`
	YRight bool `json:"yRight"`
}

// xy returns the visualization of a chart with axes; y are the columns drawn.
func xy(series, layerID, x, split string, y ...string) xyVisualization {
	return xyVisualization{
		PreferredSeriesType: series, Legend: legend{true, "right"}, ValueLabels: "hide", FittingFunction: "None",
		YLeftExtent: set{"mode": "full"}, YLeftScale: "linear", AxisTitles: axisFlags{X: false, YLeft: true},
		Layers: []xyLayer{{LayerID: layerID, LayerType: "data", SeriesType: series, XAccessor: x, SplitAccessor: split,
			Accessors: y,
			Palette:   set{"type": "palette", "name": "default"}}},
	}
}

func (v xyVisualization) log() xyVisualization {
	v.YLeftScale = "log"
	return v
}

type tableVisualization struct {
	LayerID   string        `json:"layerId"`
	LayerType string        `json:"layerType"`
	Columns   []tableColumn `json:"columns"`
	Sorting   *tableSort    `json:"sorting,omitempty"`
	Paging    struct {
		Enabled bool `json:"enabled"`
		Size    int  `json:"size"`
	} `json:"paging"`
}

type tableColumn struct {
	ColumnID  string `json:"columnId"`
	Alignment string `json:"alignment,omitempty"`
	Hidden    bool   `json:"hidden,omitempty"`
}

type tableSort struct {
	ColumnID  string `json:"columnId"`
	Direction string `json:"direction"`
}

// table shows all columns of a layer, in descending order of the column by.
func table(l layer, by string) tableVisualization {
	v := tableVisualization{LayerID: l.id, LayerType: "data", Sorting: &tableSort{by, "desc"}}
	v.Paging.Enabled, v.Paging.Size = true, 20
	for _, c := range l.columns {
		tc := tableColumn{ColumnID: c.id}
		if c.DataType == "number" {
			tc.Alignment = "right"
		}
		tc.Hidden = c.id == hiddenStart
		v.Columns = append(v.Columns, tc)
	}
	return v
}
