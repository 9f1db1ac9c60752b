// Package fiohist is the mathematics of fio's latency histograms: where the
// buckets lie, how counts add up, and what a percentile of them is.
//
// It does no I/O and knows neither files nor time. It refuses to guess: a
// column count that no fio can have written is an error, and histograms of
// different grids are added only where one grid is a coarsening of the other.
// All latencies are nanoseconds; all counts are float64, because aligning
// records on a time grid shares I/Os out in fractions.
//
// It is called by ingest (geometry), pipeline (sums and percentiles), esmodel
// (bucket middles) and the report.
package fiohist
