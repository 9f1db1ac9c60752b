package charts

// Differences shows by how much parts of two runs, such as their hosts, differ: a point for each, with its limits.
type Differences struct {
	// Data has a row for each part, with the fields
	//
	//	part     its name
	//	v        ratio, above 0
	//	low      lower confidence limit of v, null if unknown
	//	high     upper confidence limit
	//	verdict  one of Verdicts
	//	text     in words
	Data     Data
	Verdicts []string // in the order of the legend
	Margin   float64  // the change, as a share, that the chart covers at least
}

// Spec is the chart's specification.
func (c Differences) Spec() Spec {
	x := M{"field": "part", "type": "nominal", "sort": nil, "axis": M{"title": nil, "labelOverlap": true,
		"labelLimit": 120}}
	y := func(field string) M {
		return M{"field": field, "type": "quantitative", "scale": M{"type": "log", "nice": false, "padding": edge},
			"axis": M{"title": nil, "labelExpr": "datum.value == 1 ? 'same' : " + change("datum.value")}}
	}
	color := M{"field": "verdict", "type": "nominal", "scale": M{"domain": c.Verdicts, "range": palette},
		"legend": M{"title": nil, "symbolOpacity": 1}}
	return Spec{Schema: schema, Description: "By how much parts of two runs differ", Height: 200, Width: "container",
		Data: c.Data.Source, Transform: c.Data.Transform,
		Layer: []Spec{
			{Mark: M{"type": "rule", "strokeDash": []int{4, 3}, "opacity": 0.6, "color": anyTheme},
				Encoding: M{"y": M{"datum": 1, "type": "quantitative"}}},
			{Mark: M{"type": "rule", "opacity": 0}, Encoding: M{"y": M{"datum": 1 - c.Margin, "type": "quantitative"},
				"y2": M{"datum": 1 + c.Margin}}},
			{Transform: []M{filter("datum.low > 0 && datum.high > 0")}, Mark: M{"type": "rule", "strokeWidth": 1.5},
				Encoding: M{"x": x, "y": y("low"), "y2": M{"field": "high"}, "color": color}},
			{Mark: M{"type": "point", "filled": true, "size": 50, "opacity": 1}, Encoding: M{"x": x, "y": y("v"),
				"color": color, "tooltip": []M{tip("text", "nominal", "change")}}},
		}}
}
