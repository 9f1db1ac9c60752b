package fio

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Divisors are the units of latencies in ns.
var Divisors = map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

// Unit returns the largest unit that ns reaches; "ns" for less.
func Unit(ns float64) string {
	unit := "ns"
	for _, larger := range []string{"us", "ms", "s"} {
		if ns >= Divisors[larger] {
			unit = larger
		}
	}
	return unit
}

// Latency formats ns with that many significant digits in the largest unit that it reaches: 12.3 us.
func Latency(ns float64, digits int) string {
	unit := Unit(ns)
	return Digits(ns/Divisors[unit], digits) + " " + unit
}

// Micro spells the unit us at the end of a text as µs.
func Micro(text string) string {
	if number, ok := strings.CutSuffix(text, "us"); ok {
		return number + "µs"
	}
	return text
}

// places is the maximum number of decimals of each unit: to the nanosecond, but three for ns.
var places = map[string]int{"ns": 3, "us": 3, "ms": 6, "s": 9}

// LatencyIn formats ns in a unit, without it, with about four significant digits and at most as many decimals as
// places allows.
func LatencyIn(ns float64, unit string) string {
	v := ns / Divisors[unit]
	decimals := Decimals(v)
	if v > 0 && v < 1 {
		decimals = 3 - int(math.Floor(math.Log10(v)))
	}
	return strconv.FormatFloat(v, 'f', min(decimals, places[unit]), 64)
}

// Decimals is the number of decimals that leaves about four significant digits.
func Decimals(v float64) int {
	switch {
	case v >= 1000 || v == 0:
		return 0
	case v >= 100:
		return 1
	case v >= 10:
		return 2
	}
	return 3
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

// Clock formats a time in ms from the run's start, such as 0:40 or 1:02:03.500.
func Clock(ms int64) string {
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	s := fmt.Sprintf("%02d", ms/1000%60)
	if ms%1000 != 0 {
		s = strings.TrimRight(fmt.Sprintf("%06.3f", float64(ms%60000)/1000), "0")
	}
	if h := ms / 3600000; h > 0 {
		return fmt.Sprintf("%s%d:%02d:%s", sign, h, ms/60000%60, s)
	}
	return fmt.Sprintf("%s%d:%s", sign, ms/60000, s)
}

// Number formats v with about four significant digits, and integers from 1000 on.
func Number(v float64) string { return strconv.FormatFloat(v, 'f', Decimals(v), 64) }

// Digits formats v with at most that many significant digits, never with an exponent.
func Digits(v float64, digits int) string { return strconv.FormatFloat(Round(v, digits), 'f', -1, 64) }

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

// Several formats a number of things: 1 run, 1,234 runs, 2 intervals, 2 breaches.
func Several[N int | float64](n N, thing string) string {
	stem, latin := strings.CutSuffix(thing, "um")
	switch {
	case n == 1:
	case latin:
		thing = stem + "a"
	case strings.HasSuffix(thing, "ch"):
		thing += "es"
	default:
		thing += "s"
	}
	return Grouped(float64(n)) + " " + thing
}

// Natural compares names such that their numbers are in order: osd3 is before osd12.
func Natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the length of the number that s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// RunName names a run to people: its name, if it has one, and its id, of one that is a hash the first 8 digits.
func RunName(id, name string) string { return Printable(runName(id, name, 8)) }

// RunTitle names a run in documents: its start, in UTC and unless that is zero, its name, and its id, of one that is a
// hash the first 6 digits.
func RunTitle(id, name string, start time.Time) string {
	title := runName(id, name, 6)
	if !start.IsZero() {
		title = start.UTC().Format("2006-01-02 15:04 ") + title
	}
	return title
}

func runName(id, name string, digits int) string {
	if _, err := hex.DecodeString(id); err == nil && len(id) == 32 {
		id = id[:digits]
	}
	if name == "" || name == id {
		return id
	}
	return name + " " + id
}

// Some joins the first few names, and counts the others.
func Some(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}
