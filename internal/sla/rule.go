package sla

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/internal/lazyregexp"
	"fiolat/internal/metric"
)

// defaultOver is the default of Rule.Over.
const defaultOver = 5 * time.Minute

// Rule is one SLA rule.
type Rule struct {
	// Text is the canonical spelling. It identifies the rule in output and documents.
	Text string
	// Direction is read, write, trim, or all; or sync, which is not among all.
	Direction string
	// Metric is p (a percentile), mean, max or iops.
	Metric string
	// Percentile belongs to the metric p; 0 < Percentile < 100.
	Percentile float64
	// Bound is in ns, or for iops in completions per second.
	metric.Bound
	// Over is the longest window for a verdict.
	Over time.Duration
	// For is the number of consecutive broken intervals that make a breach, Lasting how long they must be together; 0
	// if not given.
	For     int
	Lasting time.Duration
}

// syntaxError describes a rule that cannot be parsed.
type syntaxError struct {
	Rule, Msg string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%q: %s; a rule is [read|write|trim|all|sync] METRIC < VALUE [over DURATION] "+
		"[for N intervals|for DURATION], like %q, %q or %q",
		e.Rule, e.Msg, "read p99 < 5ms", "all p95 < 1s over 5m", "iops >= 10000")
}

var (
	operator   = lazyregexp.New(`\s*(<=|>=|<|>)\s*`)
	percentile = lazyregexp.New(`^p([0-9]{1,2}(?:[._][0-9]+)?)$`)
	spacedUnit = lazyregexp.New(`([0-9])\s+(ns|us|µs|ms|s|m|h)\b`) // 5 ms is 5ms
)

// parseRule parses a rule, ignoring case and extra spaces. Durations are written as in Go
// and fio (500us, 5ms, 1.5s, 2m); rates are numbers.
func parseRule(text string) (Rule, error) {
	bad := func(format string, args ...any) (Rule, error) {
		return Rule{}, &syntaxError{strings.TrimSpace(text), fmt.Sprintf(format, args...)}
	}
	r := Rule{Direction: fio.All, Over: defaultOver}
	unspaced := spacedUnit().ReplaceAllString(strings.ToLower(text), "$1$2")
	f := strings.Fields(operator().ReplaceAllString(unspaced, " $1 "))
	if len(f) > 0 && slices.Contains(fio.MetricDirections(), f[0]) {
		r.Direction, f = f[0], f[1:]
	}
	if len(f) < 3 {
		return bad("the rule is incomplete")
	}
	switch m := percentile().FindStringSubmatch(f[0]); {
	case m != nil:
		p, err := strconv.ParseFloat(strings.ReplaceAll(m[1], "_", "."), 64)
		if err != nil || !(p > 0 && p < 100) {
			return bad("%q: a percentile must be above 0 and below 100", f[0])
		}
		r.Metric, r.Percentile = "p", p
	case f[0] == "mean", f[0] == "max", f[0] == "iops":
		r.Metric = f[0]
	default:
		return bad("%q: want p99 or another percentile, mean, max or iops", f[0])
	}
	switch f[1] {
	case "<", "<=":
	case ">", ">=":
		r.Above = true
	default:
		return bad("%q: want <, <=, > or >=", f[1])
	}
	r.OrEqual = strings.HasSuffix(f[1], "=")
	if r.Metric == "iops" {
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil || !(v > 0 && v <= 1e15) {
			return bad("%q: want a number of I/Os per second", f[2])
		}
		r.Threshold = v
	} else {
		d, err := time.ParseDuration(f[2])
		if err != nil || d <= 0 || d > metric.MaxLatency {
			return bad("%q: want a duration with its unit, like 500us, 5ms or 1s, up to 1000h", f[2])
		}
		r.Threshold = float64(d)
	}
	given := map[string]bool{}
	for rest := f[3:]; len(rest) > 0; {
		word := rest[0]
		if len(rest) < 2 || given[word] {
			return bad("%q: repeated, or its value is missing", word)
		}
		given[word] = true
		switch word {
		case "over":
			d, err := time.ParseDuration(rest[1])
			if err != nil || d < time.Millisecond || d > 24*time.Hour {
				return bad("over %q: want a duration up to 24h, like 30s or 5m", rest[1])
			}
			if r.Metric == "iops" {
				return bad("over applies to latencies only: iops is an exact count")
			}
			r.Over, rest = d, rest[2:]
		case "for":
			d, notTime := time.ParseDuration(rest[1])
			n, notNumber := strconv.Atoi(rest[1])
			switch {
			case notNumber == nil && n >= 1 && n <= 1e6:
				r.For = n
			case notTime == nil && d >= time.Millisecond && d <= 24*time.Hour:
				r.Lasting = d
			default:
				return bad("for %q: want a number of intervals, or a duration up to 24h like 30s", rest[1])
			}
			if rest = rest[2:]; r.For == 0 {
				continue
			}
			if len(rest) > 0 && (rest[0] == "intervals" || rest[0] == "interval") {
				rest = rest[1:]
			}
		default:
			return bad("%q: want over or for", word)
		}
	}
	r.Text = r.spell()
	return r, nil
}

// ParseAll parses several rules and joins their errors.
func ParseAll(texts []string) ([]Rule, error) {
	var rules []Rule
	var errs []error
	for _, text := range texts {
		r, err := parseRule(text)
		rules, errs = append(rules, r), append(errs, err)
	}
	return rules, errors.Join(errs...)
}

// spell returns the canonical spelling.
func (r *Rule) spell() string {
	op := "<"
	if r.Above {
		op = ">"
	}
	if r.OrEqual {
		op += "="
	}
	value := strconv.FormatFloat(r.Threshold, 'f', -1, 64)
	if r.Metric != "iops" {
		value = Duration(r.Threshold)
	}
	text := fmt.Sprintf("%s %s %s %s", r.Direction, r.Name(), op, value)
	if r.Over != defaultOver && r.Metric != "iops" {
		text += " over " + Duration(float64(r.Over))
	}
	switch {
	case r.For > 0:
		text += fmt.Sprintf(" for %d intervals", r.For)
	case r.Lasting > 0:
		text += " for " + Duration(float64(r.Lasting))
	}
	return text
}

// Name returns the metric as written in a rule: p99.9, mean, max, iops.
func (r *Rule) Name() string {
	if r.Metric == "p" {
		return "p" + strconv.FormatFloat(r.Percentile, 'g', -1, 64)
	}
	return r.Metric
}

// Duration formats ns in the shortest spelling: 5ms, 1.5s, 5m.
func Duration(ns float64) string {
	s := time.Duration(ns).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return strings.ReplaceAll(s, "µs", "us")
}
