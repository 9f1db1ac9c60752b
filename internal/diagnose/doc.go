// Package diagnose says what a run's latencies show beyond percentiles: which host, job or log makes the tail, who
// is slower than its peers, what happened when, and how loaded the devices were.
//
// peers sees each quantum once and keeps a few numbers for each host, job and log; timeline keeps the histogram of
// all of them together. Both fold neighbouring quanta when a run is long, so memory does not grow with it. What they
// report does not depend on how the work was split over goroutines, because there is only one.
//
// All latencies are in ns, all times in ns from the run's start, all percentiles from 0 to 100.
package diagnose
