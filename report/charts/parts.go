package charts

// KindColors are the colours of slat, clat and lat, KindPale those of their p50.
var (
	KindColors = []string{"#2E8B6B", "#4A86C5", "#C9762B"}
	KindPale   = []string{"#6FC2A4", "#85B5E3", "#DFA76E"}
)

// Parts shows the parts of the mean latency: submission (slat) and completion (clat) end to end, the total (lat) as a
// tick across them, and the gap in words.
type Parts struct {
	// Data has a row for each direction, with the fields
	//
	//	direction        its name
	//	slat, clat, lat  mean latencies, ns; null where the kind has no samples
	Data Data
}

// Spec is the chart's specification. The gap needs lat and clat. Without slat, which many of fio's engines do not
// count, it is lat - clat, and the words say so.
func (c Parts) Spec() Spec {
	x := func(field string) M {
		return M{"field": field, "type": "quantitative", "axis": M{"title": "mean latency", "labelOverlap": true,
			"labelFlush": false, "labelExpr": Latency("datum.value")}}
	}
	y := M{"field": "direction", "type": "nominal", "axis": M{"title": nil}}
	kinds := []string{"slat", "clat"}
	s := Spec{
		Schema:      schema,
		Description: "Mean slat and clat end to end, beside the mean lat",
		Data:        c.Data.Source,
		Transform: append(append([]M(nil), c.Data.Transform...),
			calculate("sum", "(datum.slat || 0) + (datum.clat || 0)"),
			calculate("gap", "isValid(datum.lat) && isValid(datum.clat) ? datum.lat - datum.sum : null")),
		Layer: []Spec{
			{ // slat from 0, clat from the end of slat
				Transform: []M{
					{"fold": kinds, "as": []string{"kind", "mean"}},
					filter("isValid(datum.mean)"),
					calculate("from", "datum.kind == 'slat' ? 0 : datum.sum - datum.mean"),
					calculate("to", "datum.from + datum.mean"),
					calculate("latency", Latency("datum.mean")),
				},
				Mark: M{"type": "bar", "height": M{"band": 0.5}},
				Encoding: M{"y": y, "x": x("from"), "x2": M{"field": "to"},
					"color": M{"field": "kind", "type": "nominal", "scale": M{"domain": kinds,
						"range": KindColors[:2]}, "legend": M{"title": nil}},
					"tooltip": []M{tip("direction", "nominal", "direction"), tip("kind", "nominal", "kind"),
						tip("latency", "nominal", "mean"), tip("mean", "quantitative", "ns")}},
			},
			{ // lat
				Transform: []M{filter("isValid(datum.lat)"), calculate("latency", Latency("datum.lat"))},
				Mark:      M{"type": "tick", "thickness": 3, "color": KindColors[2]},
				Encoding: M{"y": y, "x": x("lat"),
					"tooltip": []M{tip("direction", "nominal", "direction"), tip("latency", "nominal", "mean lat"),
						tip("lat", "quantitative", "ns")}},
			},
			{ // the gap, above the bar
				Transform: []M{
					calculate("words", "!isValid(datum.lat) ? 'no lat' : !isValid(datum.clat) ? 'no clat' : "+
						"(isValid(datum.slat) ? 'lat − (slat + clat)' : 'no slat; lat − clat')"+
						" + ' = ' + (datum.gap < 0 ? '−' : '') + "+Latency("abs(datum.gap)")+" + ', ' + "+
						"format(datum.gap / datum.lat, '+.2%') + ' of lat'"),
				},
				Mark: M{"type": "text", "align": "left", "color": anyTheme},
				Encoding: M{"y": M{"field": "direction", "type": "nominal", "bandPosition": 0.12}, "x": M{"value": 4},
					"text": M{"field": "words", "type": "nominal"},
					"tooltip": []M{tip("direction", "nominal", "direction"), tip("words", "nominal", "gap"), tip("gap",
						"quantitative", "ns")}},
			},
		},
	}
	s.Layer = append(s.Layer, c.Data.noData()...)
	return s
}
