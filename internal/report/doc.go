// Package report makes one self-contained HTML page of a run: percentiles over time,
// a heat map, the percentile spectrum, the account and where every number came from.
//
// A Sink is a pipeline.Sink. It keeps the histograms of the finest split in columns
// of one quantum each; when these become too many for a page it adds up neighbours
// in pairs, bucket by bucket, as often as needed. At the end percentiles are taken
// from the added-up histograms, so that what a drawn point says is true of all I/Os
// in the time that it covers:
//
//	Quantum -> columns of histograms -> (halve) -> statistics -> data -> page
//
// It refuses to average percentiles, to draw a line through time without I/O, and to
// load anything: the page forbids itself the network. Names of hosts, jobs and labels
// are not trusted. Memory is bounded by columns and split, not by the run's length.
//
// It is called by the commands, and imports pipeline and below.
package report
