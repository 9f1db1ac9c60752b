package charts

import "fmt"

// Drag is the effect of a drag over a chart over time.
type Drag int

// A drag has no effect (noDrag), sets Kibana's time range (SetTime), or makes the chart show only that part of the
// time until a double click (Zoom). SetTime needs the signal span: the time range, two times in ms, or null.
const (
	noDrag Drag = iota
	SetTime
	Zoom
)

// farEnough is the minimum length of a drag in pixels; a shorter one is a click.
const farEnough = 5

// on adds the signals of a drag to a chart whose time scale is x, and a layer that highlights the dragged area.
//
// Vega-Lite has no event for the end of a drag. But it copies other properties of a parameter, here "on", into Vega's
// signal (vega/vega-lite src/compile/parameter.ts).
func (d Drag) on(s Spec) Spec {
	if d == noDrag {
		return s
	}
	far := fmt.Sprintf("drag && abs(drag[1] - drag[0]) >= %d", farEnough)
	from, to := "time(invert('x', min(drag[0], drag[1])))", "time(invert('x', max(drag[0], drag[1])))"
	done := M{"name": "picked", "value": nil, "on": []M{
		{"events": "window:mouseup", "update": fmt.Sprintf("%s ? [kibanaSetTimeFilter(%s, %s), now()] : null", far,
			from, to)},
	}}
	if d == Zoom {
		from, to = "invert('x', min(drag[0], drag[1]))", "invert('x', max(drag[0], drag[1]))"
		done = M{"name": "zoom", "value": nil, "on": []M{
			{"events": "window:mouseup", "update": fmt.Sprintf("%s ? [%s, %s] : zoom", far, from, to)},
			{"events": "dblclick", "update": "null"},
		}}
	}
	inside := "x() >= 0 && x() <= width && y() >= 0 && y() <= height"
	s.Params = append(s.Params, M{"name": "drag", "value": nil, "on": []M{
		{"events": "mousedown", "update": inside + " ? [x(), x()] : null"},
		{"events": "[mousedown, window:mouseup] > window:mousemove", "update": "drag ? [drag[0], clamp(x(), 0, " +
			"width)] : null"},
		{"events": M{"signal": done["name"]}, "update": "null"},
	}}, done)
	s.Layer = append(s.Layer, Spec{
		Data: M{"name": "dragged", "values": []M{{}}},
		Mark: M{"type": "rect", "color": "#69707D", "tooltip": nil, "opacity": M{"expr": far + " ? 0.2 : 0"}},
		Encoding: M{"x": M{"value": M{"expr": "drag ? drag[0] : 0"}}, "x2": M{"value": M{"expr": "drag ? drag[1] : 0"}},
			"y": M{"value": 0}, "y2": M{"value": M{"expr": "height"}}},
	})
	return s
}

// clicked evaluates an expression on a click on a mark of a type, over the row of that mark.
func clicked(expr, mark string) []M {
	if expr == "" {
		return nil
	}
	return []M{{"name": "clicked", "value": nil, "on": []M{{"events": mark + ":click", "update": "datum ? [" + expr +
		", now()] : null"}}}}
}

func cursor(click string) any {
	if click == "" {
		return nil
	}
	return "pointer"
}
