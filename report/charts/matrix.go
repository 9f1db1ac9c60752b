package charts

// Matrix has a bar for each setting, in groups.
type Matrix struct {
	// Data has a row for each setting, with the fields
	//
	//	row, column  its group, and its place in it
	//	v, text      the value
	//	name         of the setting
	Data    Data
	Columns string   // the option of the places in a group; "" if each has one
	Order   []string // of the columns
}

// Spec is the chart's specification.
func (c Matrix) Spec() Spec {
	color := M{"field": "column", "type": "nominal", "sort": c.Order, "scale": M{"domain": c.Order, "range": palette},
		"legend": M{"title": c.Columns}}
	if c.Columns == "" {
		color["legend"] = nil
		color["scale"] = M{"range": palette}
	}
	at := M{
		"x":       M{"field": "row", "type": "nominal", "sort": nil, "axis": M{"title": nil, "labelAngle": 0}},
		"xOffset": M{"field": "column", "type": "nominal", "sort": c.Order},
		"y":       M{"field": "v", "type": "quantitative", "axis": nil},
	}
	bar := M{"x": at["x"], "xOffset": at["xOffset"], "y": at["y"], "color": color,
		"tooltip": []M{tip("name", "nominal", "setting"), tip("text", "nominal", "value")}}
	text := M{"x": at["x"], "xOffset": at["xOffset"], "y": at["y"], "text": M{"field": "text", "type": "nominal"},
		"tooltip": M{"value": nil}}
	return Spec{Schema: schema, Description: "A figure of each setting", Height: 180, Width: "container",
		Data: c.Data.Source, Transform: c.Data.Transform,
		Layer: []Spec{
			{Mark: M{"type": "bar"}, Encoding: bar},
			{Mark: M{"type": "text", "dy": -8, "color": anyTheme}, Encoding: text},
		}}
}
