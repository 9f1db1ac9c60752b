package vegaspec

import "slices"

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
	// Its transform may read the signal direction, one of Directions.
	Data       Data
	Names      []string
	Directions []string
	Click      string // see Overlay
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
	words := []M{calculate("latency", latency("datum.v")), calculate("load", "format(datum.x, ',.4~r') + ' ' + load")}
	points := []M{drawn, calculate("lx", "log(datum.x)"), calculate("lv", "log(datum.v)"),
		{"aggregate": []M{{"op": "count", "as": "runs"}, {"op": "mean", "field": "lx", "as": "lx"},
			{"op": "mean", "field": "lv", "as": "lv"}, {"op": "mean", "field": "flight", "as": "flight"}},
			"groupby": []string{"series", "setting", "p"}},
		calculate("x", "exp(datum.lx)"), calculate("v", "exp(datum.lv)")}
	tips := []M{tip("p", "nominal", "percentile"), tip("latency", "nominal", "latency"), tip("v", "quantitative", "ns"),
		tip("load", "nominal", "load"), tip("x", "quantitative", "x"), tip("setting", "nominal", "setting")}
	choice := func(name, first string, options []string) M {
		return M{"name": name, "value": first, "bind": M{"input": "select", "options": options, "name": name + " "}}
	}
	return Spec{
		Schema:      schema,
		Description: "Latency percentiles against load, of runs and of their settings",
		Data:        c.Data.Source,
		Params: append([]M{choice("direction", c.Directions[0], c.Directions),
			choice("load", rate, []string{rate, bytes})}, clicked("datum.id ? "+c.Click+" : null", "symbol")...),
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
			room(y),
		}, c.Data.noData()),
	}
}
