package charts

import (
	"fmt"
	"slices"
)

// TailMap is a map of hosts over time that shows which had more than their share of the slow I/Os. The host with the
// highest lift comes first.
type TailMap struct {
	// Data has a row for each host and time, with the fields
	//
	//	host      its name
	//	whole     its lift over the whole time shown, by which hosts are sorted
	//	t, t2     start and end of the time, ms
	//	v         its lift in that time: its share of all I/Os above the p99 of all hosts, over its share of all I/Os
	//	expected  its share of all I/Os, 0 to 1
	//	without   the highest p99 of the other hosts in an interval of that time, ns; or null
	//	n         I/Os
	Data  Data
	Axis  Axis
	Drag  Drag
	Click string // see Overlay
}

// Colours of a lift below 0.77, from there to 1.3, and from 1.3, 2, 4 and 8 on, for white and for black backgrounds.
var (
	liftSteps  = []float64{0.77, 1.3, 2, 4, 8}
	liftColors = []string{"#5B9BD5", "#8B95A5", "#E5C44D", "#EE9339", "#DB4E2D", "#A0185A"}
)

// Spec is the chart's specification.
func (c TailMap) Spec() Spec {
	s := Spec{
		Schema:      schema,
		Description: "Hosts over time: share of the I/Os above p99, over the share of all I/Os",
		Params:      clicked(c.Click, "rect"),
		Layer: []Spec{{
			Data: c.Data.Source,
			Transform: slices.Concat(c.Data.Transform, []M{
				filter("isValid(datum.v) && datum.n > 0"),
				calculate("time", c.Axis.words("datum.t")),
				calculate("other", "isValid(datum.without) ? "+Latency("datum.without")+" : 'not known'"),
			}),
			Mark: M{"type": "rect", "clip": true, "cursor": cursor(c.Click)},
			Encoding: M{
				"x":  c.Axis.channel("t", c.Drag),
				"x2": M{"field": "t2"},
				"y": M{"field": "host", "type": "nominal", "sort": M{"field": "whole", "op": "max",
					"order": "descending"}, "axis": M{"title": nil, "labelOverlap": true}},
				"color": M{"field": "v", "type": "quantitative", "scale": M{"type": "threshold", "domain": liftSteps,
					"range": liftColors}, "legend": M{"title": "times its share", "labelOverlap": false}},
				"tooltip": []M{tip("host", "nominal", "host"), shaped("v", "times its share", ".3~r"),
					shaped("expected", "share of all I/Os", ".3~p"), tip("n", "quantitative", "I/Os"),
					tip("other", "nominal", "p99 without it"), tip("time", "nominal", "from")},
			},
		}},
	}
	s.Layer = append(s.Layer, c.Data.noData()...)
	return c.Drag.on(s)
}

// shaped returns a line of a tooltip with a formatted number.
func shaped(field, title, format string) M {
	out := tip(field, "quantitative", title)
	out["format"] = format
	return out
}

// Findings prints sentences below each other, as many as fit.
type Findings struct {
	// Data has a row for each sentence, with the fields
	//
	//	rank        0 for the first
	//	about       one of findingColors
	//	text        the sentence
	//	omitted     number of sentences without a row
	//	counted     when I/Os count, in words, or ''
	Data Data
}

// findingColors has what findings are about, with the colour of the bar before them.
var findingColors = [][2]string{
	{"run", anyTheme}, {"slow", "#EE9339"}, {"stall", "#DB4E2D"}, {"period", "#EE9339"}, {"ended", "#DB4E2D"},
	{"concurrency", "#8B95A5"}, {"nothing", "#2E8B6B"},
}

// FindingColor returns the colour of findings about something, "" for what Findings does not know.
func FindingColor(about string) string {
	for _, f := range findingColors {
		if f[0] == about {
			return f[1]
		}
	}
	return ""
}

// Line height and letter width of the sentences in pixels.
const (
	lineHeight  = 16
	letterWidth = "6.4"
)

// Spec is the chart's specification. It wraps lines between words, which Vega cannot do.
func (c Findings) Spec() Spec {
	wrapped := "replace(datum.text, regexp('(.{1,' + max(floor((width - 24) / " + letterWidth +
		"), 30) + '})( +|$)', 'g'), '$1\\n')"
	var about, colors []string
	for _, f := range findingColors {
		about, colors = append(about, f[0]), append(colors, f[1])
	}
	pixels := func(field string) M { return M{"field": field, "type": "quantitative", "scale": nil} }
	return Spec{
		Schema:      schema,
		Description: "Findings in words, the worst first",
		Data:        c.Data.Source,
		Transform: slices.Concat(c.Data.Transform, []M{
			calculate("words", "trim("+wrapped+")"),
			calculate("lines", "length(split(datum.words, '\\n')) + 0.5"),
			{"window": []M{{"op": "sum", "field": "lines", "as": "below"}}, "frame": []any{nil, 0},
				"sort": []M{{"field": "rank"}}},
			calculate("from", "(datum.below - datum.lines) * "+fmt.Sprint(lineHeight)),
			calculate("to", "(datum.below - 0.5) * "+fmt.Sprint(lineHeight)),
			calculate("hidden", "datum.to > height - 16 ? 1 : 0"),
			{"joinaggregate": []M{{"op": "sum", "field": "hidden", "as": "more"}}},
		}),
		Layer: append([]Spec{
			{
				Transform: []M{filter("!datum.hidden")},
				Mark:      M{"type": "rect", "x": 2, "width": 4},
				Encoding: M{"y": pixels("from"), "y2": M{"field": "to"},
					"color": M{"field": "about", "type": "nominal", "legend": nil,
						"scale": M{"domain": about, "range": colors}}},
			},
			{
				Transform: []M{filter("!datum.hidden")},
				Mark: M{"type": "text", "align": "left", "baseline": "top", "fontSize": 12, "lineHeight": lineHeight,
					"lineBreak": "\n", "color": anyTheme},
				Encoding: M{"x": M{"value": 14}, "y": pixels("from"), "text": M{"field": "words", "type": "nominal"},
					"tooltip": []M{tip("text", "nominal", "finding"), tip("about", "nominal", "about")}},
			},
			{
				Transform: []M{filter("datum.rank == 0 && datum.more + datum.omitted > 0")},
				Mark: M{"type": "text", "align": "left", "baseline": "bottom", "fontSize": 12, "fontStyle": "italic",
					"color": anyTheme, "tooltip": nil},
				Encoding: M{"x": M{"value": 14}, "y": M{"value": M{"expr": "height"}},
					"text": M{"value": M{"expr": "datum.more + datum.omitted + ' more: see fiolat diagnose'"}}},
			},
			{
				Transform: []M{filter("datum.rank == 0 && datum.counted")},
				Mark: M{"type": "text", "align": "right", "baseline": "bottom", "fontSize": 12, "fontStyle": "italic",
					"color": anyTheme, "tooltip": nil},
				Encoding: M{"x": M{"value": M{"expr": "width"}}, "y": M{"value": M{"expr": "height"}},
					"text": M{"field": "counted", "type": "nominal"}},
			},
		}, c.Data.noData()...),
	}
}
