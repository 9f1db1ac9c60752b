package vegaspec

import (
	"embed"
	"fmt"
)

// JS are vega.min.js, vega-lite.min.js and vega-interpreter.min.js below "js", with
// VERSIONS and LICENSES.
//
//go:embed js
var JS embed.FS

// schema names the version of Vega-Lite that the specifications are written for.
const schema = "https://vega.github.io/schema/vega-lite/v5.json"

// M is a part of a specification; encoding/json writes its keys in order.
type M = map[string]any

// Spec is a specification, or a layer of one.
type Spec struct {
	Schema      string `json:"$schema,omitempty"`
	Description string `json:"description,omitempty"`
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
	Source    any // what Vega-Lite calls data: {"name":...}, {"values":...}, {"url":...}
	Transform []M // makes the chart's fields of what the source returns
	// Found says, as an expression over a row of the source before Transform, whether there is
	// anything to draw; the chart says "no data" where it is false. "" for a chart that never says so.
	// The source needs a name.
	Found string
	Why   string // what that may be for, below "no data"
}

// anyTheme is the colour of words that are read on white and on black.
const anyTheme = "#7B8798"

// noData writes "no data" in the middle of the chart.
func (d Data) noData() []Spec {
	if d.Found == "" {
		return nil
	}
	words := func(text string, mark M) Spec {
		mark["type"], mark["color"], mark["tooltip"] = "text", anyTheme, nil
		return Spec{
			Data:      M{"name": d.Source.(M)["name"]},
			Transform: []M{filter("!(" + d.Found + ")")},
			Mark:      mark,
			Encoding: M{"x": M{"value": M{"expr": "width / 2"}}, "y": M{"value": M{"expr": "height / 2"}},
				"text": M{"value": text}},
		}
	}
	out := []Spec{words("no data", M{"fontSize": 16})}
	if d.Why != "" {
		out = append(out, words(d.Why, M{"fontSize": 12, "dy": 22}))
	}
	return out
}

// Named is data that the page passes to the view by that name, already with the
// fields that the chart wants.
func Named(name string) Data { return Data{Source: M{"name": name}} }

// Axis says what the times of the rows count from.
type Axis int

// Since 1970 in UTC or the viewer's zone, and since the start of the run.
const (
	WallClock Axis = iota
	SinceStart
)

// channel encodes a time; title is null where a panel's title says it all. A chart with a drag shows
// the part of the time that was dragged over.
func (a Axis) channel(field string, d Drag) M {
	c := M{"field": field, "type": "temporal", "axis": M{"title": nil, "labelOverlap": true, "labelFlush": false,
		"labelSeparation": 6, "tickCount": 8,
		"format": M{"milliseconds": "%H:%M:%S.%L", "seconds": "%H:%M:%S", "minutes": "%H:%M",
			"hours": "%H:%M"}}}
	if a == SinceStart {
		c = M{"field": field, "type": "quantitative", "scale": M{"nice": false, "zero": false},
			"axis": M{"title": "time since start", "labelOverlap": true, "labelFlush": false, "tickCount": 10,
				"labelExpr": elapsed("datum.value")}}
	}
	if d == Zoom {
		scale, _ := c["scale"].(M)
		if scale == nil {
			scale = M{}
			c["scale"] = scale
		}
		scale["domainMin"], scale["domainMax"] = M{"expr": "zoom ? zoom[0] : null"}, M{"expr": "zoom ? zoom[1] : null"}
	}
	return c
}

// words is the expression of a time in a tooltip.
func (a Axis) words(expr string) string {
	if a == WallClock {
		return "timeFormat(" + expr + ", '%Y-%m-%d %H:%M:%S')"
	}
	return elapsed(expr)
}

// elapsed is the expression of milliseconds since the start as [days]d hh:mm:ss[.sss].
func elapsed(expr string) string {
	return fmt.Sprintf("(%[1]s >= 864e5 ? floor(%[1]s / 864e5) + 'd ' : '') + utcFormat(%[1]s, '%%H:%%M:%%S') + "+
		"substring(format(%[1]s %% 1e3 / 1e3, '.3~f'), 1)", expr)
}

// latency is the expression of nanoseconds in the unit that suits them, to three
// digits: 850 ns, 12.3 µs, 4.56 ms, 1.7 s.
func latency(expr string) string {
	return fmt.Sprintf("(%[1]s < 1e3 ? format(%[1]s, '.3~r') + ' ns' : %[1]s < 1e6 ? format(%[1]s / 1e3, '.3~r') + ' "+
		"µs' : "+
		"%[1]s < 1e9 ? format(%[1]s / 1e6, '.3~r') + ' ms' : format(%[1]s / 1e9, '.3~r') + ' s')", expr)
}

// latencyAxis is a log axis of nanoseconds, labelled at 1, 2 and 5 of each decade as
// far as there is room.
func latencyAxis(title string) M {
	return M{"title": title, "values": steps(1, 1e12), "labelOverlap": true, "labelExpr": latency("datum.value")}
}

// steps are 1, 2 and 5 of each decade in [from, to).
func steps(from, to float64) (at []float64) {
	for decade := from; decade < to; decade *= 10 {
		at = append(at, decade, 2*decade, 5*decade)
	}
	return at
}

// change is an expression that prints a ratio: as -12% or +150%, and beyond a third and three as ÷4 or ×4.
func change(expr string) string {
	return fmt.Sprintf("(%[1]s >= 3 ? '×' + format(%[1]s, '.4~r') : %[1]s > 0 && 1 / %[1]s >= 3 ? '÷' + "+
		"format(1 / %[1]s, '.4~r') : format(%[1]s - 1, '+.3~p'))", expr)
}

func calculate(as, expr string) M { return M{"calculate": expr, "as": as} }

func filter(expr string) M { return M{"filter": expr} }

// tip is a line of a tooltip.
func tip(field, typ, title string) M { return M{"field": field, "type": typ, "title": title} }
