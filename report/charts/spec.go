package charts

import (
	"embed"
	"fmt"
)

var (
	// JS holds vega.min.js, vega-lite.min.js and vega-interpreter.min.js in the folder js. A program that does not
	// use it does not contain it.
	//
	//go:embed js/*.js
	JS embed.FS
	// Versions lists the files of JS, and Licenses has their licences.
	//
	//go:embed js/VERSIONS
	Versions string
	//go:embed js/LICENSES
	Licenses string
)

// schema is the Vega-Lite version of the specifications.
const schema = "https://vega.github.io/schema/vega-lite/v5.json"

// M is a part of a specification. encoding/json sorts its keys.
type M = map[string]any

// Spec is a specification, or a layer of one.
type Spec struct {
	Schema      string `json:"$schema,omitempty"`
	Description string `json:"description,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       any    `json:"title,omitempty"`
	Width       any    `json:"width,omitempty"`
	Height      any    `json:"height,omitempty"`
	Data        any    `json:"data,omitempty"`
	Transform   []M    `json:"transform,omitempty"`
	Params      []M    `json:"params,omitempty"`
	Layer       []Spec `json:"layer,omitempty"`
	Mark        any    `json:"mark,omitempty"`
	Encoding    M      `json:"encoding,omitempty"`
	Resolve     M      `json:"resolve,omitempty"`
	Config      M      `json:"config,omitempty"`
}

// Data says where a chart's rows come from.
type Data struct {
	Source    any // Vega-Lite's data: {"name":...}, {"values":...}, {"url":...}
	Transform []M // computes the chart's fields from the source
	// Found is an expression over a row of the source before Transform. Where it is false, the chart says "no data";
	// "" for a chart that never does. It needs a source with a name.
	Found string
	Why   any // possible reason, shown below "no data": text, or {"expr":...}; nil for none
}

// anyTheme is a text colour that is readable on white and on black.
const anyTheme = "#7B8798"

// noData writes "no data" in the middle of the chart.
func (d Data) noData() []Spec { return d.says("no data") }

// says writes a text, and Why, in the middle of the chart where Found is false.
func (d Data) says(text string) []Spec {
	if d.Found == "" {
		return nil
	}
	words := func(text any, mark M) Spec {
		mark["type"], mark["color"], mark["tooltip"] = "text", anyTheme, nil
		return Spec{
			Data:      M{"name": d.Source.(M)["name"]},
			Transform: []M{filter("!(" + d.Found + ")")},
			Mark:      mark,
			Encoding: M{"x": M{"value": M{"expr": "width / 2"}}, "y": M{"value": M{"expr": "height / 2"}},
				"text": M{"value": text}},
		}
	}
	out := []Spec{words(text, M{"fontSize": 16})}
	if d.Why != nil {
		out = append(out, words(d.Why, M{"fontSize": 12, "dy": 22}))
	}
	return out
}

// keepLegend gives the scale of a colour an unnamed value where there is no data: Vega draws nothing at all of a chart
// with the legend of an empty scale. mark is the type of the layer, which the legend's symbols follow.
func (d Data) keepLegend(color M, mark string) []Spec {
	if d.Found == "" {
		return nil
	}
	color["legend"].(M)["symbolOpacity"] = M{"expr": "datum.value === '' ? 0 : 1"}
	return []Spec{{
		Data:      M{"name": d.Source.(M)["name"]},
		Transform: []M{filter("!(" + d.Found + ")"), calculate(color["field"].(string), "''")},
		Mark:      M{"type": mark, "opacity": 0, "tooltip": nil},
		Encoding:  M{"x": M{"value": -edge}, "y": M{"value": 0}, "color": color},
	}}
}

// Named is data that the page passes to the view by name, with all fields that the chart needs.
func Named(name string) Data { return Data{Source: M{"name": name}} }

// Rows is data that the specification holds.
func Rows(name string, rows []M) Data {
	if rows == nil {
		rows = []M{} // null is no data
	}
	return Data{Source: M{"name": name, "values": rows}}
}

// Axis is the origin of the times of rows.
type Axis int

// Times count from 1970, shown in UTC or the viewer's time zone, or from the start of the run. OfRun shows both: it
// needs the signals run, the run's name, and began, its start in ms since 1970.
const (
	WallClock Axis = iota
	SinceStart
	OfRun
)

// channel encodes a time in ms. With Zoom the scale is limited to the dragged part of the time, the signal zoom; with
// SetTime it is the time range, the signal span.
func (a Axis) channel(field string, d Drag) M {
	c := M{"field": field, "type": "temporal", "axis": M{"title": nil, "labelOverlap": true, "labelFlush": false,
		"labelSeparation": 6, "tickCount": 8,
		"format": M{"milliseconds": "%H:%M:%S.%L", "seconds": "%H:%M:%S", "minutes": "%H:%M",
			"hours": "%H:%M"}}}
	if a != WallClock {
		c = M{"field": field, "type": "quantitative", "scale": M{"nice": false, "zero": false},
			"axis": M{"title": "time since start", "labelOverlap": true, "labelFlush": false, "tickCount": 10,
				"labelExpr": elapsed("datum.value")}}
	}
	if a == OfRun {
		axis := c["axis"].(M)
		axis["title"] = M{"signal": "'time since the start of ' + run + ', and time of day'"}
		axis["labelExpr"] = "isFinite(began) ? [" + elapsed("datum.value") + ", " + timeOfDay("datum.value") + "] : ''"
	}
	if limits := map[Drag]string{Zoom: "zoom", SetTime: "span"}[d]; limits != "" {
		scale, _ := c["scale"].(M)
		if scale == nil {
			scale = M{}
			c["scale"] = scale
		}
		scale["domainMin"] = M{"expr": limits + " ? " + limits + "[0] : null"}
		scale["domainMax"] = M{"expr": limits + " ? " + limits + "[1] : null"}
		if d == SetTime {
			scale["nice"] = false
		}
	}
	return c
}

// words returns an expression that formats a time for a tooltip.
func (a Axis) words(expr string) string {
	if a == WallClock {
		return "timeFormat(" + expr + ", '%Y-%m-%d %H:%M:%S')"
	}
	if a == OfRun {
		return elapsed(expr) + " + ' (' + " + timeOfDay(expr) + " + ')'"
	}
	return elapsed(expr)
}

// timeOfDay returns an expression that formats milliseconds since the start of the run.
func timeOfDay(expr string) string { return "timeFormat(began + " + expr + ", '%H:%M:%S')" }

// elapsed returns an expression that formats milliseconds since the start as [days]d hh:mm:ss[.sss].
func elapsed(expr string) string {
	return fmt.Sprintf("(%[1]s >= 864e5 ? floor(%[1]s / 864e5) + 'd ' : '') + utcFormat(%[1]s, '%%H:%%M:%%S') + "+
		"substring(format(%[1]s %% 1e3 / 1e3, '.3~f'), 1)", expr)
}

// Latency returns an expression that formats nanoseconds in a suitable unit with three significant digits: 850 ns,
// 12.3 µs, 4.56 ms, 1.7 s.
func Latency(expr string) string {
	return fmt.Sprintf("(!isFinite(%[1]s) ? '' : "+
		"%[1]s < 1e3 ? format(%[1]s, '.3~r') + ' ns' : %[1]s < 1e6 ? format(%[1]s / 1e3, '.3~r') + ' "+
		"µs' : "+
		"%[1]s < 1e9 ? format(%[1]s / 1e6, '.3~r') + ' ms' : format(%[1]s / 1e9, '.3~r') + ' s')", expr)
}

// latencyAxis is a log axis of nanoseconds, labelled at 1, 2 and 5 of each decade as far as labels fit.
func latencyAxis(title string) M {
	return M{"title": title, "values": steps(1, 1e12), "labelOverlap": true, "labelExpr": Latency("datum.value")}
}

// steps are 1, 2 and 5 of each decade in [from, to).
func steps(from, to float64) (at []float64) {
	for decade := from; decade < to; decade *= 10 {
		at = append(at, decade, 2*decade, 5*decade)
	}
	return at
}

// change returns an expression that formats a ratio: as -12% or +150%, and from a third or three on as ÷4 or ×4.
func change(expr string) string {
	return fmt.Sprintf("(%[1]s >= 3 ? '×' + format(%[1]s, '.4~r') : %[1]s > 0 && 1 / %[1]s >= 3 ? '÷' + "+
		"format(1 / %[1]s, '.4~r') : format(%[1]s - 1, '+.3~p'))", expr)
}

func calculate(as, expr string) M { return M{"calculate": expr, "as": as} }

func filter(expr string) M { return M{"filter": expr} }

func tip(field, typ, title string) M { return M{"field": field, "type": typ, "title": title} }
