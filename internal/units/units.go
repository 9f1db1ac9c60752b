// Package units formats numbers for people, as package fio does.
package units

import "fiolat/fio"

// Divisors are fio.Divisors.
var Divisors = fio.Divisors

// Latency is fio.Latency.
func Latency(ns float64, digits int) string { return fio.Latency(ns, digits) }

// Round is fio.Round.
func Round(v float64, digits int) float64 { return fio.Round(v, digits) }

// Count is fio.Count.
func Count(n float64) string { return fio.Count(n) }

// Grouped is fio.Grouped.
func Grouped(n float64) string { return fio.Grouped(n) }

// Percentile is fio.Percentile.
func Percentile(p float64) string { return fio.Percentile(p) }
