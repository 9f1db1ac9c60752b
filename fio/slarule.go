package fio

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// defaultOver is the default of SLARule.Over.
const defaultOver = 5 * time.Minute

// SLARule is a bound of a percentile, mean, max or iops over time. Its Text identifies it in output and documents.
type SLARule struct {
	Rule
	// Over is the longest window for a verdict.
	Over time.Duration
	// For is the number of consecutive broken intervals that make a breach, Lasting how long they must be together; 0
	// if not given.
	For     int
	Lasting time.Duration
}

// slaSyntaxError describes a rule that cannot be parsed.
type slaSyntaxError struct {
	Rule, Msg string
}

func (e *slaSyntaxError) Error() string {
	return fmt.Sprintf("%q: %s; a rule is METRIC < VALUE [over DURATION] [for N intervals|for DURATION], like %q, %q or %q",
		e.Rule, e.Msg, "read p99 < 5ms", "all p95 < 1s over 5m", "iops >= 10000")
}

// slaMetrics are those that an SLARule may be about.
var slaMetrics = Metrics{Names: FigureNames(OfSLA)}

var spacedUnit = regexp.MustCompile(`([0-9])\s+(ns|us|µs|ms|s|m|h)\b`) // 5 ms is 5ms

// ParseSLARule parses a rule, ignoring case and extra spaces. Durations are written as in Go
// and fio (500us, 5ms, 1.5s, 2m); rates are numbers.
func ParseSLARule(text string) (SLARule, error) {
	bad := func(format string, args ...any) (SLARule, error) {
		return SLARule{}, &slaSyntaxError{strings.TrimSpace(text), fmt.Sprintf(format, args...)}
	}
	spaced := spacedUnit.ReplaceAllString(strings.ToLower(text), "$1$2")
	bound, rest, err := slaMetrics.ParseRule(spaced, "over", "for")
	switch {
	case err != nil:
		return bad("%v", err)
	case bound.Threshold == 0:
		return bad("want a number of I/Os per second above 0")
	}
	r := SLARule{Rule: bound, Over: defaultOver}
	given := map[string]bool{}
	for len(rest) > 0 {
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
			if !r.Latency() {
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
			rest = rest[2:]
			if r.For == 0 {
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

// ParseSLARules parses several rules and joins their errors.
func ParseSLARules(texts []string) ([]SLARule, error) {
	var rules []SLARule
	var errs []error
	for _, text := range texts {
		r, err := ParseSLARule(text)
		rules, errs = append(rules, r), append(errs, err)
	}
	return rules, errors.Join(errs...)
}

// spell returns the canonical spelling.
func (r *SLARule) spell() string {
	value := strconv.FormatFloat(r.Threshold, 'f', -1, 64)
	if r.Latency() {
		value = Duration(r.Threshold)
	}
	text := fmt.Sprintf("%v %s %s", r.Metric, r.Operator(), value)
	if r.Over != defaultOver && r.Latency() {
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

// texts are the canonical spellings of rules; nil without any.
func texts(rules []SLARule) (out []string) {
	for i := range rules {
		out = append(out, rules[i].Text)
	}
	return out
}
