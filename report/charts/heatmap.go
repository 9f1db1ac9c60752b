package charts

import "slices"

// Octaves is the number of octave counts that a histogram document can have: e00 to e39.
const Octaves = 40

// HeatMap shows the number of I/Os by time and latency.
type HeatMap struct {
	// Data has a row for each time and non-empty octave, with the fields
	//
	//	t, t2   start and end of the time, ms
	//	octave  N of [2^N, 2^(N+1)) ns; 0 is [0, 2)
	//	n       I/Os, above 0
	Data Data
	// Finer says that rows can have any height: they have lo and hi, in ns above 0, instead of octave.
	Finer  bool
	Axis   Axis
	Drag   Drag
	Events *Data // see events; nil for none
	Title  string
}

// Spec is the heat map's specification. The colour scale is logarithmic, so that a single slow I/O shows among
// thousands of fast ones.
func (h HeatMap) Spec() Spec {
	heights := []M{
		calculate("lo", "datum.octave == 0 ? 1 : pow(2, datum.octave)"),
		calculate("hi", "pow(2, datum.octave + 1)"),
	}
	if h.Finer {
		heights = nil
	}
	s := Spec{
		Schema:      schema,
		Description: "Heat map: I/Os by time and latency, octaves of nanoseconds",
		Layer: []Spec{{
			Data: h.Data.Source,
			Transform: slices.Concat(h.Data.Transform, []M{filter("datum.n > 0")}, heights, []M{
				calculate("latency", Latency("datum.lo")+" + ' to ' + "+Latency("datum.hi")),
				calculate("time", h.Axis.words("datum.t")),
			}),
			Mark: M{"type": "rect", "clip": true},
			Encoding: M{
				"x":  h.Axis.channel("t", h.Drag),
				"x2": M{"field": "t2"},
				"y": M{"field": "lo", "type": "quantitative", "scale": M{"type": "log", "base": 2, "nice": false},
					"axis": latencyAxis("latency")},
				"y2": M{"field": "hi"},
				"color": M{"field": "n", "type": "quantitative", "scale": M{"type": "log", "domainMin": 1,
					"clamp": true, "scheme": "viridis"}, "legend": M{"title": "I/Os", "format": "~s"}},
				"tooltip": []M{tip("n", "quantitative", "I/Os"), tip("latency", "nominal", "latency"), tip("time",
					"nominal", "from")},
			},
		}},
	}
	if h.Title != "" {
		s.Title = h.Title
	}
	if h.Events != nil {
		s.Layer = append(s.Layer, events(*h.Events, h.Axis, h.Drag))
	}
	s.Layer = append(s.Layer, h.Data.noData()...)
	return h.Drag.on(s)
}

// events marks each event with a vertical rule and a tooltip. Its rows have the fields
//
//	t     ms
//	what  the kind of event: breach, recovery, note
//	text  in words
func events(d Data, a Axis, h Drag) Spec {
	return Spec{
		Data:      d.Source,
		Transform: append(append([]M(nil), d.Transform...), calculate("time", a.words("datum.t"))),
		Mark:      M{"type": "rule", "clip": true, "strokeDash": []int{4, 3}, "strokeWidth": 2, "color": "#D36086"},
		Encoding: M{
			"x": a.channel("t", h),
			"tooltip": []M{tip("text", "nominal", "event"), tip("what", "nominal", "kind"), tip("time", "nominal",
				"at")},
		},
	}
}

// Members shows a measure of each host, or of the like, over time: a row of cells for each.
type Members struct {
	// Data has a row for each cell, with the fields
	//
	//	t, t2   start and end of the time, ms
	//	i, i2   upper and lower edge; the first member is from 0 to 1
	//	c       the measure on a scale from 0 to 1; -1 if nothing completed
	Data Data
	Axis Axis
}

// stalledColor is of cells in which nothing completed.
const stalledColor = "#D55E00"

// Spec is the chart's specification.
func (m Members) Spec() Spec {
	return Spec{
		Schema: schema, Description: "A measure of each host over time",
		Data: m.Data.Source, Transform: m.Data.Transform, Mark: M{"type": "rect", "clip": true},
		Encoding: M{
			"x": m.Axis.channel("t", noDrag), "x2": M{"field": "t2"},
			"y": M{"field": "i", "type": "quantitative", "scale": M{"nice": false, "zero": false},
				"axis": M{"title": nil, "grid": false, "ticks": false, "labelFontSize": 10,
					"labelExpr": "labels[floor(datum.value)]"}},
			"y2": M{"field": "i2"},
			"color": M{"condition": M{"test": "datum.c < 0", "value": stalledColor}, "field": "c",
				"type": "quantitative", "legend": nil},
		},
	}
}

// HostMap shows p99 of each host over time, the hosts in natural order, and where nothing completed.
type HostMap struct {
	// Data has a row for each host and time, with the fields
	//
	//	host   its name
	//	t, t2  start and end of the time, ms
	//	v      the highest p99 of an interval in that time, ns; null where nothing completed
	//	n      I/Os
	//	idle   intervals in which the host's jobs ran and nothing completed
	Data  Data
	Axis  Axis
	Drag  Drag
	Click string // see Overlay
	Title any    // of the axis of hosts: nil, text or {"signal":...}
}

// Spec is the chart's specification. A cell with intervals of both kinds has a stripe.
func (c HostMap) Spec() Spec {
	cells := func(test string, height float64, color M) Spec {
		return Spec{
			Transform: []M{filter(test)},
			Mark:      M{"type": "rect", "clip": true, "height": M{"band": height}, "cursor": cursor(c.Click)},
			Encoding: M{
				"x":  c.Axis.channel("t", c.Drag),
				"x2": M{"field": "t2"},
				"y": M{"field": "host", "type": "nominal", "sort": M{"field": "place", "op": "min"},
					"axis": M{"title": c.Title, "labelOverlap": true}},
				"color": color,
				"tooltip": []M{tip("host", "nominal", "host"), tip("p99", "nominal", "p99"),
					tip("v", "quantitative", "ns"), tip("n", "quantitative", "I/Os"),
					tip("idle", "quantitative", "intervals without a completion"),
					tip("time", "nominal", "from")},
			},
		}
	}
	stalled := M{"value": stalledColor}
	s := Spec{
		Schema: schema, Description: "p99 of each host over time, and where nothing completed",
		Data: c.Data.Source, Params: clicked(c.Click, "rect"),
		Transform: slices.Concat(c.Data.Transform, []M{
			// Numbers of ten digits sort as text.
			calculate("padded", "replace(replace(datum.host, regexp('([0-9]+)', 'g'), '000000000$1'), "+
				"regexp('0*([0-9]{10})', 'g'), '$1')"),
			{"window": []M{{"op": "dense_rank", "as": "place"}}, "sort": []M{{"field": "padded"}}},
			calculate("time", c.Axis.words("datum.t")),
			calculate("p99", "isValid(datum.v) ? "+Latency("datum.v")+" : 'nothing completed'"),
		}),
		Layer: []Spec{
			cells("datum.n > 0", 1, M{"field": "v", "type": "quantitative", "scale": M{"type": "log",
				"scheme": "viridis"}, "legend": M{"title": "p99", "labelExpr": Latency("datum.value")}}),
			cells("datum.idle > 0 && !(datum.n > 0)", 1, stalled),
			cells("datum.idle > 0 && datum.n > 0", 0.5, stalled),
		},
	}
	s.Layer = append(s.Layer, c.Data.noData()...)
	return c.Drag.on(s)
}
