// Package pipeline turns the records of many logs into one picture of latency
// over time:
//
//	logs -> head -> place -> align -> merge -> rows -> Sink
//	        what must   when did   which     leaves   percentiles
//	        be known    the I/Os   quantum?  of --by  per scope
//	        first       happen?
//
// All logs advance together in rounds: a pool of workers reads each log up to a
// common time and adds its records to that log's own open quanta; then one
// goroutine adds the quanta that every log has passed up in a fixed order (logs
// within a host, then hosts, each sorted) and hands them to the Sink, while the
// workers are already at the next round. Memory is the logs open and the quanta in
// flight, and the bytes that come out do not depend on the number of workers.
//
// It refuses to guess and to smooth over: a record that contradicts what its log's
// head said is an error with file and line; a client/server log is repaired only
// on proof; what fio counted and no log holds is restored only if it fits the
// logs bucket by bucket; and the Account says where every I/O went.
//
// It starts goroutines only in run.go and in Plan.start; a single log that would
// leave cores idle is read and parsed ahead by ingest's. It is called by the
// commands and imports ingest and internal/fiohist.
package pipeline
