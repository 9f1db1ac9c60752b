// Package report shows what pipeline and analysis found: as pages and pictures and, in report/render, as rows of text.
// It never concludes anything: a number that it shows was given to it, or
// is a percentile of a histogram that was.
//
// The page of a run has percentiles over time, a heat map, the percentile spectrum, the account and the origin of every
// number; others are of a history and of a curve.
//
// A Sink is a pipeline.Sink. It keeps the histograms of the finest split in columns, at first of one interval each.
// When these become too many for a page, it merges them in pairs, as often as needed. Percentiles are computed at the
// end from the merged histograms, so that a point is exact for all I/Os in the time that it covers:
//
//	Interval -> columns of histograms -> (halve) -> statistics -> data -> page
//
// The page never averages percentiles, never draws a line through time without I/O, and loads nothing: its
// Content-Security-Policy forbids network access. Names of hosts, jobs and labels are not trusted. Memory is bounded by
// columns and split, not by the run's length.
package report
