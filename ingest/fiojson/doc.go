// Package fiojson reads what fio prints with --output-format=json or json+: jobs, their options, totals and bins. It
// also describes what the latencies mean with each I/O engine.
package fiojson
