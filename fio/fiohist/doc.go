// Package fiohist implements the mathematics of fio's latency histograms: bucket
// edges, sums and percentiles.
//
// It does no I/O. A column count that no fio can have written is an error, and
// histograms of different geometries are added only if one is a coarsening of the
// other. Latencies are in nanoseconds. Counts are float64, because aligning records on
// a time grid distributes I/Os in fractions.
package fiohist
