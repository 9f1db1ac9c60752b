package charts

// Sides shows the runs of two groups side by side: a dot for each run, in two columns for each figure, as a ratio to
// the first group's mean.
type Sides struct {
	// Data has a row for each run and figure, and one for each mean, with the fields
	//
	//	x      place: the figure's number, and within it from 0 to 1
	//	v      ratio, above 0
	//	color  of the group
	//	mean   whether it is the mean of a group
	Data Data
}

// Spec is the chart's specification. The page sets its parameters: texts of the figures, lines and values of the axis,
// and its extent.
func (c Sides) Spec() Spec {
	across := M{"domain": []any{0, M{"expr": "length(figures)"}}, "nice": false}
	x := M{"field": "x", "type": "quantitative", "scale": across,
		"axis": M{"title": nil, "grid": false, "ticks": false, "values": M{"expr": "places"},
			"labelExpr": "figures[floor(datum.value)]", "labelLineHeight": 14}}
	y := M{"field": "v", "type": "quantitative", "scale": M{"type": "log", "nice": false,
		"domain": []any{M{"expr": "extent[0]"}, M{"expr": "extent[1]"}}},
		"axis": M{"title": nil, "values": M{"expr": "ratios"}, "labelExpr": "datum.value == 1 ? 'mean of A' : " +
			change("datum.value")}}
	color := M{"field": "color", "type": "nominal", "scale": nil}
	params := []M{{"name": "extent", "value": []float64{0.9, 1.1}}}
	for _, name := range []string{"figures", "places", "ratios"} {
		params = append(params, M{"name": name, "value": []any{}})
	}
	return Spec{Schema: schema, Description: "Figures of the runs of two groups",
		Data: c.Data.Source, Transform: c.Data.Transform, Params: params,
		Layer: []Spec{
			{Transform: []M{filter("datum.mean")}, Mark: M{"type": "tick", "orient": "horizontal", "size": 16,
				"thickness": 2}, Encoding: M{"x": x, "y": y, "color": color}},
			{Transform: []M{filter("!datum.mean")}, Mark: M{"type": "point", "filled": true, "size": 55,
				"opacity": 0.75, "cursor": "pointer"}, Encoding: M{"x": x, "y": y, "color": color}},
		}}
}
