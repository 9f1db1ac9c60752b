package charts

// Rate shows I/Os per second over time, as steps.
type Rate struct {
	// Data has rows in order of t with the fields
	//
	//	p  the line
	//	t  ms from which on v holds
	//	v  I/Os per second; null if unknown
	Data Data
	Axis Axis
}

// Spec is the chart's specification.
func (r Rate) Spec() Spec {
	return Spec{
		Schema: schema, Description: "I/Os per second over time",
		Data: r.Data.Source, Transform: r.Data.Transform, Mark: line("step-after"),
		Encoding: M{"x": r.Axis.channel("t", noDrag), "color": series(), "strokeDash": series(),
			"y": M{"field": "v", "type": "quantitative", "scale": M{"zero": true, "nice": 3}, "axis": M{"title": nil,
				"labelExpr": short, "tickCount": 3}}},
	}
}

// Spectrum shows latency over percentiles as HdrHistogram's plots do, with equal distances between 90 %, 99 %, 99.9 %
// and so on.
type Spectrum struct {
	// Data has rows with the fields
	//
	//	p  the line
	//	x  1/(1-q) for percentile 100 q, 1 or more
	//	v  ns, above 0
	Data Data
}

// Spec is the chart's specification.
func (s Spectrum) Spec() Spec {
	return Spec{
		Schema: schema, Description: "Latency over percentiles",
		Data: s.Data.Source, Transform: s.Data.Transform, Mark: line("linear"),
		Encoding: M{
			"x": M{"field": "x", "type": "quantitative", "scale": M{"type": "log", "nice": false},
				"axis": M{"title": nil, "labelOverlap": true,
					"values":    []float64{1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10},
					"labelExpr": "format(100 - 100 / datum.value, '.12~r') + '%'"}},
			"y": M{"field": "v", "type": "quantitative", "scale": M{"type": "log", "nice": false},
				"axis": latencyAxis("latency")},
			"color": series(), "strokeDash": series(),
		},
	}
}

// CDF shows the cumulative share of I/Os by latency.
type CDF struct {
	// Data has rows in order of v with the fields
	//
	//	p      the line
	//	v      ns, above 0
	//	share  of the I/Os that took at most v, 0 to 1
	Data Data
}

// Spec is the chart's specification.
func (c CDF) Spec() Spec {
	return Spec{
		Schema: schema, Description: "Share of I/Os by latency",
		Data: c.Data.Source, Transform: c.Data.Transform, Mark: line("linear"),
		Encoding: M{"x": latencyAcross("v"), "color": series(), "strokeDash": series(),
			"y": M{"field": "share", "type": "quantitative", "axis": M{"title": nil, "format": ".0%", "tickCount": 5}}},
	}
}

// Counts shows the number of I/Os in each bucket of a histogram.
type Counts struct {
	// Data has a row for each bucket, with the fields
	//
	//	p       the series
	//	lo, hi  edges of the bucket in ns, above 0
	//	n       I/Os
	//	base    lower end of the bar: not above the smallest n
	Data Data
}

// Spec is the chart's specification.
func (c Counts) Spec() Spec {
	return Spec{
		Schema: schema, Description: "I/Os by bucket of latency",
		Data: c.Data.Source, Transform: c.Data.Transform, Mark: M{"type": "rect", "clip": true},
		Encoding: M{"x": latencyAcross("lo"), "x2": M{"field": "hi"}, "color": series(),
			"y": M{"field": "n", "type": "quantitative", "scale": M{"type": "log", "nice": false},
				"axis": M{"title": nil, "labelExpr": short, "labelOverlap": true, "values": steps(1, 1e15)}},
			"y2": M{"field": "base"}},
	}
}

func latencyAcross(field string) M {
	return M{"field": field, "type": "quantitative", "scale": M{"type": "log", "nice": false},
		"axis": latencyAxis("")}
}

func line(interpolate string) M {
	return M{"type": "line", "interpolate": interpolate, "strokeWidth": 1.6, "strokeJoin": "round", "clip": true,
		"invalid": "break-paths-filter-domains"}
}

// short writes a tick as 20k, and 0 as that: with a format all ticks have the prefix of the largest.
const short = "format(datum.value, '~s')"

func series() M { return M{"field": "p", "type": "nominal", "legend": nil} }
