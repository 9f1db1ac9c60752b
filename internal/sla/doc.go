// Package sla judges latencies against promises: "read p99 < 5ms".
//
// A Rule is read from one line of text. A Judge is fed the histogram of one scope,
// quantum by quantum, and says of each rule whether it is kept, broken, or whether
// there are too few I/Os to tell: a percentile whose confidence interval straddles
// the threshold proves nothing, and then the window is widened backwards. A Watch
// makes of the verdicts in a row what is worth waking somebody for: a breach and its
// recovery.
//
// It knows nothing of logs, documents or alerts, keeps no clock, and imports the
// histogram's mathematics alone.
package sla
