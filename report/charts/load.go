package charts

import (
	"maps"
	"slices"
)

// LoadCurve plots latency against load: a point for each setting, a line through those of a series, and a dot for
// each run.
type LoadCurve struct {
	// Data has a row for each run and percentile, with the fields
	//
	//	run      its name
	//	setting  shared by the runs of a point
	//	series   shared by the points of a line
	//	p        the percentile, one of Names
	//	v        ns; null where the run has none
	//	iops     I/Os per second
	//	flight   I/Os in flight, by which the points of a line are sorted
	//	bs       bytes of an I/O; null if unknown
	//
	// Its transform may read the signal direction, one of Choice, which is First in the beginning; see Percentiles.
	Data   Data
	Names  []string
	Choice Data
	First  string
	Click  string // see Overlay
	// X, if not "", is the title of the axis of the load, and the rows of Data are points and not runs: instead of
	// run, setting, iops, flight and bs they have the fields
	//
	//	x          the load
	//	order      of the points of a line
	//	low, high  confidence limits of v; null where there are none
	//	knee       whether the point has a ring
	//	text       in words
	X string
	// Loads has a row for each point: x and v of its highest percentile, and text, its load.
	Loads []M
	// Rule has a row for each horizontal line, with the fields v and text; nil for none.
	Rule []M
}

// Spec is the chart's specification. A point is the geometric mean of its runs, as in fiolat curve.
func (c LoadCurve) Spec() Spec {
	const rate, bytes = "IOPS", "MiB/s"
	x := M{"field": "x", "type": "quantitative", "scale": M{"zero": true},
		"axis": M{"title": "load: IOPS or MiB/s, as chosen above", "format": "~s",
			"labelOverlap": true, "labelFlush": false}}
	y := M{"field": "v", "type": "quantitative", "scale": M{"type": "log", "nice": false, "padding": edge},
		"axis": latencyAxis("latency")}
	color := M{"field": "p", "type": "nominal", "sort": c.Names, "scale": M{"domain": c.Names, "range": palette},
		"legend": M{"title": nil, "symbolOpacity": 1}}
	drawn := filter("datum.v > 0 && datum.x > 0")
	if c.X != "" {
		x["axis"] = M{"title": c.X, "tickCount": 8, "labelExpr": short, "labelOverlap": true, "labelFlush": false}
		low := maps.Clone(y)
		low["field"] = "low"
		return Spec{
			Schema:      schema,
			Description: "Latency percentiles against load",
			Height:      360,
			Data:        c.Data.Source,
			Transform:   append(slices.Clip(c.Data.Transform), drawn),
			Layer: append([]Spec{
				{
					Transform: []M{filter("isValid(datum.low)")},
					Mark:      M{"type": "rule", "strokeWidth": 1.5},
					Encoding:  M{"x": x, "y": low, "y2": M{"field": "high"}, "color": color},
				},
				{
					Mark: M{"type": "line", "strokeWidth": 2},
					Encoding: M{"x": x, "y": y, "color": color,
						"order": M{"field": "order", "type": "quantitative"}},
				},
				{
					Transform: []M{filter("datum.knee")},
					Mark:      M{"type": "point", "size": 200, "strokeWidth": 2, "tooltip": nil},
					Encoding:  M{"x": x, "y": y, "color": color},
				},
				{
					Mark:     M{"type": "point", "filled": true, "size": 60, "opacity": 1},
					Encoding: M{"x": x, "y": y, "color": color, "tooltip": tip("text", "nominal", "point")},
				},
				{
					Data: Rows("loads", c.Loads).Source,
					Mark: M{"type": "text", "dy": -12, "color": anyTheme},
					Encoding: M{"x": x, "y": y, "text": M{"field": "text", "type": "nominal"},
						"tooltip": M{"value": nil}},
				},
			}, append(level(c.Rule, y), room(y))...),
		}
	}
	words := []M{calculate("latency", Latency("datum.v")), calculate("load", "format(datum.x, ',.4~r') + ' ' + load")}
	points := []M{drawn, calculate("lx", "log(datum.x)"), calculate("lv", "log(datum.v)"),
		{"aggregate": []M{{"op": "count", "as": "runs"}, {"op": "mean", "field": "lx", "as": "lx"},
			{"op": "mean", "field": "lv", "as": "lv"}, {"op": "mean", "field": "flight", "as": "flight"}},
			"groupby": []string{"series", "setting", "p"}},
		calculate("x", "exp(datum.lx)"), calculate("v", "exp(datum.lv)")}
	tips := []M{tip("p", "nominal", "percentile"), tip("latency", "nominal", "latency"), tip("v", "quantitative", "ns"),
		tip("load", "nominal", "load"), tip("x", "quantitative", "x"), tip("setting", "nominal", "setting")}
	return Spec{
		Schema:      schema,
		Description: "Latency percentiles against load, of runs and of their settings",
		Data:        c.Data.Source,
		Params: append([]M{direction(c.First), {"name": "load", "value": rate, "bind": M{"input": "select",
			"options": []string{rate, bytes}, "name": "load "}}},
			clicked("datum.id ? "+c.Click+" : null", "symbol")...),
		Transform: append(slices.Clip(c.Data.Transform), calculate("x",
			"load == '"+bytes+"' ? (datum.bs ? datum.iops * datum.bs / 1048576 : null) : datum.iops")),
		Layer: slices.Concat([]Spec{
			{
				Transform: points,
				Mark:      M{"type": "line", "strokeWidth": 1.5, "opacity": 0.7},
				Encoding: M{"x": x, "y": y, "color": color, "detail": M{"field": "series", "type": "nominal"},
					"order": M{"field": "flight", "type": "quantitative"}},
			},
			{
				Transform: slices.Concat(points, words),
				Mark:      M{"type": "point", "filled": false, "size": 130, "strokeWidth": 1.5},
				Encoding: M{"x": x, "y": y, "color": color, "tooltip": append([]M{tip("runs", "quantitative",
					"runs")}, tips...)},
			},
			{
				Transform: append([]M{drawn}, words...),
				Mark: M{"type": "point", "filled": true, "size": 24, "opacity": 1,
					"cursor": cursor(c.Click)},
				Encoding: M{"x": x, "y": y, "color": color, "tooltip": append([]M{tip("run", "nominal", "run")},
					tips...)},
			},
			room(y), c.Choice.choice(),
		}, c.Data.noData()),
	}
}

// level draws a dashed line with its text at each row's v.
func level(rows []M, y M) []Spec {
	if rows == nil {
		return nil
	}
	data := Rows("levels", rows).Source
	return []Spec{
		{Data: data, Mark: M{"type": "rule", "strokeDash": []int{6, 4}, "color": "#D36086"}, Encoding: M{"y": y}},
		{
			Data: data,
			Mark: M{"type": "text", "align": "left", "dx": 6, "dy": -8, "color": "#D36086",
				"opacity": M{"expr": "width < 400 ? 0 : 1"}}, // no room for words
			Encoding: M{"x": M{"value": 0}, "y": y, "text": M{"field": "text", "type": "nominal"}},
		},
	}
}
