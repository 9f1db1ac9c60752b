package charts

import "slices"

// Hosts ranks hosts by a latency, the worst first.
type Hosts struct {
	// Data has a row for each host and direction, with the fields
	//
	//	host       its name
	//	direction  read, write
	//	v          ns
	Data  Data
	What  string // what v is: "worst p99 of an interval"
	Click string // see Overlay
}

// Spec is the chart's specification.
func (c Hosts) Spec() Spec {
	color := M{"field": "direction", "type": "nominal", "scale": M{"range": palette}, "legend": M{"title": nil}}
	axis := latencyAxis(c.What)
	axis["labelFlush"] = false
	return Spec{
		Schema:      schema,
		Description: "Hosts by latency",
		Data:        c.Data.Source,
		Transform: append(append([]M(nil), c.Data.Transform...), filter("datum.v > 0"), calculate("latency",
			Latency("datum.v"))),
		Params: clicked(c.Click, "symbol"),
		Layer: slices.Concat([]Spec{{
			Mark: M{"type": "point", "filled": true, "size": 60, "opacity": 1, "cursor": cursor(c.Click)},
			Encoding: M{
				"y": M{"field": "host", "type": "nominal", "sort": M{"field": "v", "op": "max",
					"order": "descending"}, "axis": M{"title": nil, "grid": true}},
				"x": M{"field": "v", "type": "quantitative", "scale": M{"type": "log", "nice": false, "padding": edge},
					"axis": axis},
				"color": color,
				"tooltip": []M{tip("host", "nominal", "host"), tip("direction", "nominal", "direction"), tip("latency",
					"nominal", "latency"), tip("v", "quantitative", "ns")},
			},
		}}, c.Data.noData(), c.Data.keepLegend(color, "point")),
	}
}

// Figures prints percentiles as text, a line for each direction.
type Figures struct {
	// Data has a row for each direction and percentile, with the fields
	//
	//	direction  read, write
	//	p          its name: p50, p99.9
	//	v          ns
	//	n          number of I/Os
	Data  Data
	Title any // nil, text or {"signal":...}
}

// Spec is the chart's specification.
func (c Figures) Spec() Spec {
	return Spec{
		Schema:      schema,
		Description: "Latency percentiles in words",
		Data:        c.Data.Source,
		Transform: append(append([]M(nil), c.Data.Transform...), filter("isValid(datum.v)"), calculate("latency",
			Latency("datum.v"))),
		Layer: append([]Spec{{
			Mark: M{"type": "text", "fontSize": 18, "color": anyTheme},
			Encoding: M{
				"x": M{"field": "p", "type": "nominal", "sort": nil, "axis": M{"title": c.Title, "orient": "top",
					"labelAngle": 0, "domain": false, "ticks": false}},
				"y": M{"field": "direction", "type": "nominal", "axis": M{"title": nil, "domain": false,
					"ticks": false}},
				"text": M{"field": "latency", "type": "nominal"},
				"tooltip": []M{tip("direction", "nominal", "direction"), tip("p", "nominal", "percentile"),
					tip("latency", "nominal", "latency"),
					tip("v", "quantitative", "ns"), tip("n", "quantitative", "I/Os")},
			},
		}}, c.Data.noData()...),
	}
}
