// Package sla evaluates SLA rules such as "read p99 < 5ms".
//
// A Judge receives the histogram of one scope, interval by interval, and returns a verdict for each rule: ok, broken,
// or unknown if there are too few I/Os. As long as that cannot be told, the window is extended backwards. A Watch turns
// consecutive verdicts into breaches and recoveries.
//
// The package does not use the clock.
package sla
