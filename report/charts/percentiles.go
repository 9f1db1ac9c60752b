package charts

import (
	"fmt"
	"maps"
	"slices"
)

// palette colours percentiles from calm to alarming and is safe for red-green colour blindness.
var palette = []string{"#54B399", "#6092C0", "#9170B8", "#DA8B45", "#D36086", "#A66F3A"}

// Percentiles shows percentiles over time, with a band for the sampling limits of each.
type Percentiles struct {
	// Data has a row for each time and percentile, also where there is no value, with the fields
	//
	//	t             ms
	//	p             its name: p50, p99.9
	//	v             its value, ns; null breaks the line, so that gaps show
	//	lower, upper  its confidence limits, ns; null where there is none
	//	limit         the SLA's limit for it, ns; null without one
	//	few           whether it is of a part of an interval or of few I/Os: no line goes there, and its point is pale
	//	n             with Merged: number of I/Os
	//	hosts         with Merged: number of their hosts, 0 if unknown
	Data   Data
	Names  []string // in the order of the legend
	Colors []string // of Names; nil for palette
	Axis   Axis
	Drag   Drag
	Events *Data // see events in heatmap.go; nil for none
	Limits *Data // rows with t, p and limit, if those of Data have no limit
	// Merged says that the percentiles are of merged histograms and have no confidence limits. Tooltips then show the
	// number of I/Os and of those above a percentile, and warn if these are too few.
	Merged bool
	// Choice has a row with a name for each direction to choose from; nil for none. Transform and Found of Data then
	// read the signal direction, which is First in the beginning.
	Choice *Data
	First  string
	// Ratio says that v is a ratio, not a latency.
	Ratio bool
	Title string
}

// fewAbove I/Os above a percentile are needed for a percentile of merged histograms.
const fewAbove = 10

// ofMerged returns an expression that says of how many I/Os a percentile is, and whether too few are above it.
func ofMerged() M {
	return calculate("confidence", fmt.Sprintf("format(datum.n, ',') + (datum.hosts ? ' of ' + datum.hosts + "+
		"(datum.hosts == 1 ? ' host' : ' hosts') : '') + (isNumber(toNumber(substring(datum.p, 1))) ? ', ' + "+
		"format(%[1]s, ',.0f') + ' above' + (%[1]s < %[2]d ? ': too few' : '') : '')",
		"(datum.n * (1 - toNumber(substring(datum.p, 1)) / 100))", fewAbove))
}

// Spec is the chart's specification.
func (c Percentiles) Spec() Spec {
	x := c.Axis.channel("t", c.Drag)
	axis, words := latencyAxis("latency"), Latency("datum.v")
	if c.Ratio {
		axis = M{"title": "times", "labelOverlap": true, "values": steps(1e-3, 1e6), "format": "~r"}
		words = "format(datum.v, '.3~r') + ' ×'"
	}
	y := func(field string) M {
		return M{"field": field, "type": "quantitative", "scale": M{"type": "log", "nice": false, "padding": edge},
			"axis": axis}
	}
	ci := calculate("confidence", "(isValid(datum.lower) ? "+Latency("datum.lower")+" : '?') + ' to ' + "+
		"(isValid(datum.upper) ? "+Latency("datum.upper")+" : 'unknown')")
	ciTip := tip("confidence", "nominal", "95 % sampling limits")
	if c.Merged {
		ci = ofMerged()
		ciTip = tip("confidence", "nominal", "I/Os")
	}
	value := tip("v", "quantitative", "ns")
	if c.Ratio {
		value = tip("v", "quantitative", "times")
	}
	colors := c.Colors
	if colors == nil {
		colors = palette
	}
	color := M{"field": "p", "type": "nominal", "sort": c.Names, "scale": M{"domain": c.Names, "range": colors},
		"legend": M{"title": nil, "symbolOpacity": 1}}
	s := Spec{
		Schema:      schema,
		Description: "Latency percentiles over time with bands for their 95 % sampling limits and the SLA's limits",
		Layer: []Spec{
			{ // the band, where both limits are known
				Transform: []M{calculate("low", "isValid(datum.upper) && !datum.few ? datum.lower : null")},
				Mark:      M{"type": "area", "opacity": 0.2, "clip": true},
				Encoding:  M{"x": x, "y": y("low"), "y2": M{"field": "upper"}, "color": color},
			},
			{ // the percentiles
				Transform: []M{calculate("drawn", "datum.few ? null : datum.v")},
				Mark:      M{"type": "line", "strokeWidth": 1.5, "clip": true},
				Encoding:  M{"x": x, "y": y("drawn"), "color": color},
			},
			{ // points carry the tooltips, and show values between two gaps
				Transform: []M{
					filter("isValid(datum.v)"),
					calculate("latency", words),
					ci,
					calculate("time", c.Axis.words("datum.t")+
						" + (datum.few ? ': part of an interval, or few I/Os' : '')"),
				},
				Mark: M{"type": "point", "filled": true, "size": 20, "opacity": 1, "clip": true},
				Encoding: M{"x": x, "y": y("v"), "color": color, "opacity": M{"condition": M{"test": "datum.few",
					"value": 0.25}, "value": 1}, "tooltip": []M{
					tip("p", "nominal", "percentile"), tip("latency", "nominal", "latency"),
					ciTip, value, tip("time", "nominal", "at")}},
			},
			{ // the SLA
				Transform: []M{filter("isValid(datum.limit)"), calculate("within",
					"'SLA: '+datum.p+' within '+"+Latency("datum.limit"))},
				Mark: M{"type": "line", "strokeDash": []int{6, 4}, "strokeWidth": 1.5, "clip": true},
				Encoding: M{"x": x, "y": y("limit"), "color": color, "tooltip": []M{tip("within", "nominal",
					"limit")}},
			},
		},
	}
	s.Data, s.Transform = c.Data.Source, c.Data.Transform
	if c.Choice != nil {
		s.Params = []M{direction(c.First)}
	}
	if c.Title != "" {
		s.Title = c.Title
	}
	if l := c.Limits; l != nil {
		limits := &s.Layer[3]
		limits.Data, limits.Transform = l.Source, slices.Concat(l.Transform, limits.Transform)
	}
	if c.Events != nil {
		s.Layer = append(s.Layer, events(*c.Events, c.Axis, c.Drag))
	}
	s.Layer = append(s.Layer, room(y("v")))
	if c.Choice != nil {
		s.Layer = append(s.Layer, c.Choice.choice())
	}
	s.Layer = append(s.Layer, c.Data.noData()...)
	return c.Drag.on(s)
}

// direction is the signal that choice sets.
func direction(first string) M {
	return M{"name": "direction", "value": first, "on": []M{{"events": "@directions_marks:click",
		"update": "datum.name"}}}
}

// choice writes the names of directions above the chart, to be clicked.
func (d Data) choice() Spec {
	return Spec{
		Name: "directions", Data: d.Source,
		Transform: append(slices.Clip(d.Transform),
			calculate("letters", "length(datum.name) + 4"),
			M{"window": []M{{"op": "sum", "field": "letters", "as": "to"}}, "frame": []any{nil, 0}},
			calculate("words", "(datum.name == direction ? '● ' : '○ ') + datum.name")),
		Mark: M{"type": "text", "align": "left", "baseline": "bottom", "fontSize": 12, "color": anyTheme,
			"cursor": "pointer", "tooltip": nil},
		Encoding: M{"x": M{"value": M{"expr": "(datum.to - datum.letters) * 7"}}, "y": M{"value": -4},
			"text": M{"field": "words", "type": "nominal"}},
	}
}

// edge is the padding of scales in pixels.
const edge = 6

// room widens the scale by a tenth above and below the values, which keeps it valid if all values are equal.
func room(y M) Spec { return widened(y, 1.1) }

// widened widens the scale by a factor above and below the values.
func widened(y M, by float64) Spec {
	lowest, highest := maps.Clone(y), M{"field": "highest"}
	lowest["field"] = "lowest"
	return Spec{
		Transform: []M{
			filter("datum.v > 0"),
			{"aggregate": []M{{"op": "min", "field": "v", "as": "lowest"}, {"op": "max", "field": "v",
				"as": "highest"}}},
			calculate("lowest", fmt.Sprint("datum.lowest / ", by)),
			calculate("highest", fmt.Sprint("datum.highest * ", by)),
		},
		Mark:     M{"type": "rule", "opacity": 0, "tooltip": nil},
		Encoding: M{"x": M{"value": -edge}, "y": lowest, "y2": highest}, // outside the plot, away from the mouse
	}
}

// Overlay shows one percentile of several runs over the time since the start of each.
type Overlay struct {
	// Data has a row for each run and time, with the fields
	//
	//	t    ms since the run's start
	//	run  its name
	//	p50, p99, ...  ns; null where there is none; names as in Names, with _ for the dot
	Data  Data
	Names []string // percentiles to choose from: p50, p99.9
	First string   // the one shown initially
	Drag  Drag
	Click string // expression that a click on a run evaluates over its row; "" for none
	Title string
}

// Spec is the overlay's specification, with a drop-down list of the percentiles.
func (c Overlay) Spec() Spec {
	x := SinceStart.channel("t", c.Drag)
	y := M{"field": "v", "type": "quantitative", "scale": M{"type": "log", "nice": false, "padding": edge},
		"axis": latencyAxis("latency")}
	color := M{"field": "run", "type": "nominal", "legend": M{"title": nil, "symbolOpacity": 1}}
	s := Spec{
		Schema:      schema,
		Description: "One latency percentile of several runs over the time since the start of each",
		Data:        c.Data.Source,
		Params: []M{{"name": "percentile", "value": c.First, "bind": M{"input": "select", "options": c.Names,
			"name": "percentile "}}},
		Transform: append(append([]M(nil), c.Data.Transform...),
			calculate("v", "datum[replace(percentile, '.', '_')]")),
		Layer: []Spec{
			{Mark: M{"type": "line", "strokeWidth": 1.5, "clip": true}, Encoding: M{"x": x, "y": y, "color": color}},
			{
				Transform: []M{filter("isValid(datum.v)"), calculate("latency", "percentile+' '+"+Latency("datum.v")),
					calculate("time", SinceStart.words("datum.t"))},
				Mark: M{"type": "point", "filled": true, "size": 20, "opacity": 1, "clip": true,
					"cursor": cursor(c.Click)},
				Encoding: M{"x": x, "y": y, "color": color, "tooltip": []M{
					tip("run", "nominal", "run"), tip("latency", "nominal", "latency"), tip("v", "quantitative", "ns"),
					tip("time", "nominal", "at")}},
			},
		},
	}
	s.Layer = slices.Concat(s.Layer, []Spec{room(y)}, c.Data.noData(), c.Data.keepLegend(color, "point"))
	s.Params = append(s.Params, clicked(c.Click, "symbol")...)
	if c.Title != "" {
		s.Title = c.Title
	}
	return c.Drag.on(s)
}

// Change shows by which factor measures of runs differ from those of a baseline: a column for each run.
type Change struct {
	// Data has a row for each run and measure, with the fields
	//
	//	run       its name
	//	started   ms since 1970
	//	baseline  the baseline's name
	//	measure   "read p99"
	//	more      whether more of it is better
	//	value     null rows are left out; ns, unless more of it is better
	//	base      the baseline's value
	Data  Data
	Click string // see Overlay
	Two   string // expression of signals: whether there is a run beside the baseline
}

// Colours of what is worse and of what is better than a baseline.
const worse, better = "#D55E00", "#0072B2"

// Spec is the chart's specification.
func (c Change) Spec() Spec {
	x := M{"field": "run", "type": "nominal", "sort": M{"field": "started", "op": "min"},
		"axis": M{"title": nil, "orient": "top", "labelAngle": 0, "labelPadding": 30,
			"labelLimit": M{"expr": "bandwidth('x') - 3"},
			// a title's date, time and name, below each other
			"labelExpr": "test(regexp('^[0-9-]{10} [0-9:]{5} '), datum.label) ? [substring(datum.label, 0, 10), " +
				"substring(datum.label, 11, 16), substring(datum.label, 17)] : datum.label"}}
	y := M{"field": "measure", "type": "nominal", "sort": nil, "axis": M{"title": nil}}
	tips := []M{tip("run", "nominal", "run"), tip("baseline", "nominal", "baseline"), tip("measure", "nominal",
		"measure"), tip("words", "nominal", "change"), tip("value", "quantitative", "value"), tip("base",
		"quantitative", "baseline's")}
	shown := M{"expr": "two ? 1 : 0"}
	alone := c.Data
	alone.Found, alone.Why = "two || !("+c.Data.Found+")", "one run is chosen: choose more, or a longer time range"
	return Spec{
		Schema:      schema,
		Description: "Change of runs against a baseline",
		Data:        c.Data.Source,
		Transform: append(slices.Clip(c.Data.Transform),
			filter("two && isValid(datum.value) && isValid(datum.base) && datum.base > 0"),
			calculate("good", "clamp(log(max(datum.value / datum.base, 1e-6)) * (datum.more ? 2.5 : -2.5), -1, 1)"),
			calculate("words", change("(datum.value / datum.base)")),
			calculate("figure", "datum.more ? format(datum.value, '.3~s') : "+Latency("datum.value")),
			calculate("short", "datum.run == datum.baseline ? datum.figure : datum.words"),
			calculate("text", "datum.run == datum.baseline ? datum.figure : datum.figure + ', ' + datum.words")),
		Layer: append([]Spec{
			{
				Mark: M{"type": "rect", "cursor": cursor(c.Click)},
				Encoding: M{"x": x, "y": y, "tooltip": tips,
					"color": M{"field": "good", "type": "quantitative",
						"scale": M{"domain": []float64{-1, 0, 1}, "range": []string{worse, "#8B95A5", better},
							"interpolate": "rgb"},
						"legend": M{"title": nil, "values": []int{-1, 0, 1}, "gradientOpacity": shown,
							"labelOpacity": shown,
							"labelExpr": "datum.value < 0 ? 'worse' : " +
								"datum.value > 0 ? 'better' : 'as the baseline'"}},
				},
			},
			{
				Mark: M{"type": "text", "color": "white", "fontSize": 11, "cursor": cursor(c.Click)},
				Encoding: M{"x": x, "y": y, "tooltip": tips, "text": M{"field": "text", "type": "nominal",
					"condition": M{"test": "bandwidth('x') < 115", "field": "short", "type": "nominal"}}},
			},
		}, append(c.Data.noData(), alone.says("nothing to compare with")...)...),
		Params: append(clicked("datum.id ? "+c.Click+" : null", "*"), M{"name": "two", "expr": c.Two}),
	}
}
