// Package diagnose finds what percentiles of a run do not show: which host, job or log makes the tail, which is
// slower than its peers, what happened when, and how loaded the devices were.
//
// peers reads each interval once and keeps a few numbers for each host, job and log; timeline keeps their summed
// histogram. Both merge neighbouring intervals of long runs, so memory is bounded. Both run in one goroutine, so the
// result does not depend on how other work is split.
//
// All latencies are in ns, all times in ns from the run's start, all percentiles from 0 to 100.
package diagnose
