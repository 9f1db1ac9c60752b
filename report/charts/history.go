package charts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// History plots numbers of runs by their start time, and their change points.
type History struct {
	// Data has a row for each run and number, with the fields
	//
	//	t       ms since 1970 at which the run began
	//	series  shared by the runs that a line joins
	//	run     its name
	//	id      its id
	//	name    of the number, one of Names
	//	v       ns, or 1/s with Rate; null where the run has none
	//	low     lower confidence limit of v, null if unknown
	//	high    upper confidence limit
	Data  Data
	Names []string // in the order of the legend
	Rate  bool     // v is I/Os per second
	// Changes has a row for each change point, with the fields t, series, run, id, and
	//
	//	name  of the number whose level changed; if not in Names, a vertical rule marks it
	//	v     the new level
	//	way   up or down
	//	text  in words
	Changes Data
	Click   string // see Overlay
	Drag    Drag
	// Runs, if not nil, makes it a chart of one number of a series over its runs, at equal distances.
	Runs *RunAxis
}

// RunAxis places the runs of a series at equal distances. Rows of Data and of Changes then have i, the run's number
// from 1, text, in words, and v, low and high as above; those of Changes have label instead of v, and lie between two
// runs.
type RunAxis struct {
	N      int            // runs
	Labels map[int]string // of some runs, without quotes
	Share  bool           // v is a share, on a linear scale from 0
	// Levels has a row for each level, with the fields from, to and v; Notes one for each run with notes, with i, text.
	Levels, Notes Data
}

// Spec is the chart's specification.
func (c History) Spec() Spec {
	x := WallClock.channel("t", c.Drag)
	scale, _ := x["scale"].(M)
	if scale == nil {
		scale = M{}
		x["scale"] = scale
	}
	scale["padding"] = edge // the latest run lies at the end of the scale
	axis, words, unit := latencyAxis("latency"), Latency("datum.v"), "ns"
	if c.Rate {
		axis = M{"title": "I/Os per second", "labelOverlap": true, "values": steps(1e-3, 1e9), "format": "~s"}
		words, unit = "format(datum.v, '.4~s') + '/s'", "per second"
	}
	y := M{"field": "v", "type": "quantitative", "scale": M{"type": "log", "nice": false, "padding": edge},
		"axis": axis}
	if c.Runs != nil && c.Runs.Share {
		y["scale"], y["axis"] = M{"zero": true}, M{"title": nil, "format": "~%", "tickCount": 4}
	}
	low := maps.Clone(y)
	low["field"] = "low"
	color := M{"field": "name", "type": "nominal", "sort": c.Names, "scale": M{"domain": c.Names, "range": palette},
		"legend": M{"title": nil, "symbolOpacity": 1}}
	if c.Rate { // only the directions that there are
		delete(color["scale"].(M), "domain")
	}
	if c.Runs != nil {
		return c.overRuns(y, low)
	}
	values := []M{filter("datum.v > 0"), calculate("value", words), calculate("time", WallClock.words("datum.t"))}
	of := []M{tip("run", "nominal", "run"), tip("time", "nominal", "began"), tip("series", "nominal", "series")}
	names := "['" + strings.Join(c.Names, "', '") + "']"
	changes := func(drawn string) []M {
		return slices.Concat(c.Changes.Transform, []M{filter("indexof(" + names + ", datum.name) " + drawn),
			calculate("time", WallClock.words("datum.t"))})
	}
	change := append([]M{tip("text", "nominal", "change")}, of...)
	s := Spec{
		Schema:      schema,
		Description: "Numbers of runs over the start of these, and change points",
		Data:        c.Data.Source,
		Transform:   c.Data.Transform,
		Params:      clicked(c.Click, "symbol"),
		Layer: []Spec{
			{ // below the points, so that these get the mouse
				Data:      c.Changes.Source,
				Transform: changes("< 0"),
				Mark: M{"type": "rule", "clip": true, "strokeDash": []int{4, 3}, "strokeWidth": 2,
					"color": "#D36086"},
				Encoding: M{"x": x, "tooltip": change},
			},
			{
				Transform: values[:1],
				Mark:      M{"type": "line", "strokeWidth": 1, "opacity": 0.6, "clip": true},
				Encoding:  M{"x": x, "y": y, "color": color, "detail": M{"field": "series", "type": "nominal"}},
			},
			{ // also below the points
				Transform: []M{filter("datum.low > 0 && datum.high > 0")},
				Mark:      M{"type": "rule", "strokeWidth": 1, "opacity": 0.6, "clip": true},
				Encoding:  M{"x": x, "y": low, "y2": M{"field": "high"}, "color": color},
			},
			{
				Transform: values,
				Mark: M{"type": "point", "filled": true, "size": 30, "opacity": 1, "clip": true,
					"cursor": cursor(c.Click)},
				Encoding: M{"x": x, "y": y, "color": color, "tooltip": append([]M{tip("name", "nominal", "metric"),
					tip("value", "nominal", "value"), tip("v", "quantitative", unit)}, of...)},
			},
			{ // the new level
				Data:      M{"name": c.Changes.Source.(M)["name"]},
				Transform: changes(">= 0"),
				Mark: M{"type": "point", "filled": true, "size": 140, "opacity": 1, "clip": true, "stroke": "#D36086",
					"strokeWidth": 1.5, "cursor": cursor(c.Click)},
				Encoding: M{"x": x, "y": y, "color": color, "shape": M{"field": "way", "type": "nominal",
					"scale":  M{"domain": []string{"up", "down"}, "range": []string{"triangle-up", "triangle-down"}},
					"legend": nil}, "tooltip": change},
			},
		},
	}
	s.Layer = slices.Concat(s.Layer, []Spec{room(y)}, c.Data.noData(), c.Data.keepLegend(color, "point"))
	return c.Drag.on(s)
}

func (c History) overRuns(y, low M) Spec {
	r := c.Runs
	at, labels := slices.Sorted(maps.Keys(r.Labels)), "''"
	for _, i := range at {
		labels = fmt.Sprintf("datum.value == %d ? '%s' : %s", i, r.Labels[i], labels)
	}
	x := M{"field": "i", "type": "quantitative", "scale": M{"domain": []float64{0.5, float64(r.N) + 0.5},
		"nice": false}, "axis": M{"title": nil, "grid": false, "values": at, "labelExpr": labels}}
	from := maps.Clone(x)
	from["field"] = "from"
	color := M{"field": "name", "type": "nominal", "legend": nil}
	text, pointer := tip("text", "nominal", "run"), cursor(c.Click)
	return Spec{
		Schema:      schema,
		Description: "A number of runs, and its change points",
		Height:      170,
		Data:        c.Data.Source,
		Layer: []Spec{
			{
				Data:     r.Levels.Source,
				Mark:     M{"type": "rule", "strokeWidth": 1.5, "opacity": 0.7},
				Encoding: M{"x": from, "x2": M{"field": "to"}, "y": y},
			},
			{
				Data: c.Changes.Source,
				Mark: M{"type": "rule", "strokeDash": []int{4, 3}, "strokeWidth": 2, "color": "#D36086",
					"cursor": pointer},
				Encoding: M{"x": x, "tooltip": text},
			},
			{
				Data: M{"name": c.Changes.Source.(M)["name"]},
				Mark: M{"type": "text", "dy": -6, "fontWeight": "bold", "color": "#D36086", "cursor": pointer},
				Encoding: M{"x": x, "y": M{"value": 0}, "text": M{"field": "label", "type": "nominal"},
					"tooltip": text},
			},
			{
				Transform: []M{filter("isValid(datum.low)")},
				Mark:      M{"type": "rule", "strokeWidth": 1, "opacity": 0.45},
				Encoding:  M{"x": x, "y": low, "y2": M{"field": "high"}, "color": color},
			},
			{
				Mark:     M{"type": "point", "filled": true, "size": 45, "opacity": 1, "cursor": pointer},
				Encoding: M{"x": x, "y": y, "color": color, "tooltip": text},
			},
			{
				Data: r.Notes.Source,
				Mark: M{"type": "point", "shape": "triangle-up", "filled": true, "size": 70, "opacity": 1,
					"color": "#D36086", "cursor": pointer},
				Encoding: M{"x": x, "y": M{"value": M{"expr": "height"}}, "tooltip": text},
			},
			widened(y, 1.02),
		},
	}
}
