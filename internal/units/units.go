// Package units formats numbers for people.
package units

import (
	"math"
	"strconv"
)

// Divisors are the units of latencies in ns.
var Divisors = map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

// Latency formats ns with that many significant digits in the largest unit that it reaches: 12.3 us.
func Latency(ns float64, digits int) string {
	unit := "ns"
	for _, larger := range []string{"us", "ms", "s"} {
		if ns >= Divisors[larger] {
			unit = larger
		}
	}
	return strconv.FormatFloat(Round(ns/Divisors[unit], digits), 'f', -1, 64) + " " + unit
}

// Round rounds v to that many significant digits.
func Round(v float64, digits int) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-float64(digits-1))
	if v == 0 || unit >= 1 {
		return math.Round(v/max(unit, 1)) * max(unit, 1)
	}
	return math.Round(v/unit) / math.Round(1/unit) // 1/unit is an integer, unit itself is inexact
}

// Count formats a count with at most three decimals, which hides rounding errors.
func Count(n float64) string { return strconv.FormatFloat(math.Round(n*1e3)/1e3, 'f', -1, 64) }

// Grouped formats n as an integer with a comma for each thousand: 123,999.
func Grouped(n float64) string {
	s := strconv.FormatFloat(math.Round(n), 'f', -1, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percentile formats the number of a percentile, such as 99.9.
func Percentile(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }
