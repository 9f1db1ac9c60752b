// Package metric reads the names of a run's figures, such as "read p99", and rules about them, such as
// "read p99 < 1ms".
package metric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/internal/lazyregexp"
)

// Metric is one figure of a whole run.
type Metric struct {
	// Direction is read, write, trim, sync or all.
	Direction string
	// Name is p99 or another percentile, min, mean or max (ns), iops, mib (MiB/s), concurrency, samples or seconds.
	Name string
	// Percentile is the number in a name such as p99.9; 0 for other names.
	Percentile float64
}

// Directions are those a Metric may have.
var Directions = fio.MetricDirections()

// rates are the names of figures that are not latencies.
var rates = []string{"iops", "mib", "concurrency", "samples", "seconds"}

// MaxLatency is the largest latency of a rule: its nanoseconds and multiples of them must fit into an int64.
const MaxLatency = 1000 * time.Hour

// form describes the syntax of a Metric.
const form = "[read|write|trim|all|sync] METRIC, where METRIC is p99 or another percentile, min, mean, max, iops, " +
	"mib (MiB/s), concurrency, samples or seconds"

// Parse reads "[DIRECTION] METRIC", such as "read p99" or "iops"; the direction is all if none is given.
func Parse(text string) (Metric, error) {
	m := Metric{Direction: fio.All}
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 1 && slices.Contains(Directions, words[0]) {
		m.Direction, words = words[0], words[1:]
	}
	if len(words) != 1 {
		return m, fmt.Errorf("%q: want %s", text, form)
	}
	m.Name = words[0]
	if slices.Contains(rates, m.Name) || slices.Contains([]string{"min", "mean", "max"}, m.Name) {
		return m, nil
	}
	number, ok := strings.CutPrefix(m.Name, "p")
	p, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", "."), 64)
	if !ok || err != nil || !(p > 0 && p < 100) {
		return m, fmt.Errorf("%q: want %s", text, form)
	}
	m.Percentile, m.Name = p, "p"+strconv.FormatFloat(p, 'f', -1, 64)
	return m, nil
}

// Latency reports whether the figure is in ns.
func (m Metric) Latency() bool { return !slices.Contains(rates, m.Name) }

func (m Metric) String() string { return m.Direction + " " + m.Name }

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

var operator = lazyregexp.New(`^(.*?)\s*(<=|>=|<|>)\s*(.*)$`)

// ParseRule reads "METRIC < VALUE", such as "read p99 < 1ms", "sync max < 10 ms" or "iops >= 10000". <=, > and >=
// work, too. The value of a latency needs a unit.
func ParseRule(text string) (r Rule, err error) {
	parts := operator().FindStringSubmatch(text)
	if parts == nil {
		return r, fmt.Errorf("%q: want METRIC < VALUE, such as 'read p99 < 1ms' or 'iops >= 10000'", text)
	}
	if r.Metric, err = Parse(parts[1]); err != nil {
		return r, err
	}
	r.Above, r.OrEqual = parts[2][0] == '>', strings.HasSuffix(parts[2], "=")
	value := strings.ReplaceAll(parts[3], " ", "")
	spelled := value
	if r.Latency() {
		d, bad := time.ParseDuration(value)
		if bad != nil || d <= 0 || d > MaxLatency {
			return r, fmt.Errorf("%q: %q: want a duration with its unit, like 500us, 5ms or 1s, up to 1000h", text,
				parts[3])
		}
		r.Threshold, spelled = float64(d), strings.ReplaceAll(d.String(), "µs", "us")
	} else if v, bad := strconv.ParseFloat(value, 64); bad == nil && v >= 0 && v <= 1e15 {
		r.Threshold = v
	} else {
		return r, fmt.Errorf("%q: %q: want a number", text, parts[3])
	}
	r.Text = r.Metric.String() + " " + parts[2] + " " + spelled
	return r, nil
}
