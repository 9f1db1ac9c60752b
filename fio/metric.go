package fio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metric is a figure of a run, or of a part of it.
type Metric struct {
	// Direction is one of MetricDirections; "" where none is given.
	Direction string
	// Name is p99 or another percentile, or the name of a Figure.
	Name string
	// Percentile is the number in a name such as p99.9; 0 for other names.
	Percentile float64
}

// Limits are the confidence limits of a figure; nil where there is none.
type Limits struct {
	Low  *float64 `json:"lower"`
	High *float64 `json:"upper"`
}

// PercentileMetric returns the metric of a percentile.
func PercentileMetric(direction string, p float64) Metric {
	return Metric{direction, "p" + strconv.FormatFloat(p, 'f', -1, 64), p}
}

// Latency reports whether the figure is in ns.
func (m Metric) Latency() bool { return m.Figure().Unit == Nanoseconds }

// Figure returns what is declared of the metric.
func (m Metric) Figure() Figure { return FigureOf(m.Name) }

func (m Metric) String() string { return strings.TrimSpace(m.Direction + " " + m.Name) }

// Metrics are those that can be asked for in one place: percentiles and Names.
type Metrics struct {
	Names   []string
	NoSyncs bool
}

// RunMetrics are the figures of a whole run.
var RunMetrics = Metrics{Names: FigureNames(OfRun)}

func (ms Metrics) directions() []string {
	if ms.NoSyncs {
		return RowDirections()
	}
	return MetricDirections()
}

// Parse reads "[DIRECTION] METRIC", such as "read p99" or "iops". Case and additional spaces do not matter.
func (ms Metrics) Parse(text string) (Metric, error) {
	var m Metric
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 1 && slices.Contains(ms.directions(), words[0]) {
		m.Direction, words = words[0], words[1:]
	}
	if len(words) == 1 {
		m.Name = words[0]
		if slices.Contains(ms.Names, m.Name) {
			return m, nil
		}
		number, ok := strings.CutPrefix(m.Name, "p")
		p, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", "."), 64)
		if ok && err == nil && p > 0 && p < 100 {
			return PercentileMetric(m.Direction, p), nil
		}
	}
	names := strings.Replace(List(ms.Names, "or"), "mib", "mib (MiB/s)", 1)
	return m, fmt.Errorf("%q: want %s METRIC, where METRIC is p99 or another percentile, %s", text, ms.Form(), names)
}

// Form describes the syntax of the direction.
func (ms Metrics) Form() string {
	all := ms.directions()
	names := append(DirectionNames(), All)
	return "[" + strings.Join(append(names, all[len(names):]...), "|") + "]"
}

// ParseMetric reads one of RunMetrics; the direction is All if none is given.
func ParseMetric(text string) (Metric, error) {
	m, err := RunMetrics.Parse(text)
	m.Direction = cmp.Or(m.Direction, All)
	return m, err
}

// Rule is a bound of a figure.
type Rule struct {
	Metric
	Bound
	// Text is the canonical spelling.
	Text string
}

// Bound is a threshold and its direction.
type Bound struct {
	// Above is true for > and >=, OrEqual for <= and >=.
	Above, OrEqual bool
	// Threshold is in ns for latencies.
	Threshold float64
}

// Met reports whether a value is within the bound.
func (b *Bound) Met(v float64) bool {
	switch {
	case v == b.Threshold:
		return b.OrEqual
	case b.Above:
		return v > b.Threshold
	}
	return v < b.Threshold
}

// Operator is <, <=, > or >=.
func (b *Bound) Operator() string {
	op := "<"
	if b.Above {
		op = ">"
	}
	if b.OrEqual {
		op += "="
	}
	return op
}

// maxLatency is the largest latency of a rule: its nanoseconds and multiples of them must fit into an int64.
const maxLatency = 1000 * time.Hour

// ErrNoBound is the error for the text of a rule that lacks one.
var ErrNoBound = errors.New("want METRIC < VALUE, such as 'read p99 < 1ms' or 'iops >= 10000'")

// ParseRule reads "METRIC < VALUE", such as "read p99 < 1ms", "sync max < 10 ms" or "iops >= 10000", up to one of the
// words in until, and returns those words that follow. <=, > and >= work, too. The value of a latency needs a unit. The
// direction is All if none is given. Text is left empty.
func (ms Metrics) ParseRule(text string, until ...string) (r Rule, rest []string, err error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return r, nil, ErrNoBound
	}
	metric, value := strings.TrimSpace(text[:at]), text[at+1:]
	r.Above = text[at] == '>'
	value, r.OrEqual = strings.CutPrefix(value, "=")
	if r.Metric, err = ms.Parse(metric); err != nil {
		return r, nil, err
	}
	r.Direction = cmp.Or(r.Direction, All)
	words := strings.Fields(strings.ToLower(value))
	end := slices.IndexFunc(words, func(w string) bool { return slices.Contains(until, w) })
	if end < 0 {
		end = len(words)
	}
	given := strings.Join(words[:end], " ")
	value = strings.Join(words[:end], "")
	if r.Latency() {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > maxLatency {
			return r, nil, fmt.Errorf("%q: want a duration with its unit, like 500us, 5ms or 1s, up to 1000h", given)
		}
		r.Threshold = float64(d)
	} else {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= 1e15) {
			return r, nil, fmt.Errorf("%q: want a number", given)
		}
		r.Threshold = v
	}
	return r, words[end:], nil
}

// ParseRule reads a rule about one of RunMetrics.
func ParseRule(text string) (Rule, error) {
	r, _, err := RunMetrics.ParseRule(text)
	if err != nil {
		return r, fmt.Errorf("%q: %w", text, err)
	}
	spelled := strconv.FormatFloat(r.Threshold, 'f', -1, 64)
	if r.Latency() {
		spelled = strings.ReplaceAll(time.Duration(r.Threshold).String(), "µs", "us")
	}
	r.Text = r.Metric.String() + " " + r.Operator() + " " + spelled
	return r, nil
}
