// Package pipeline turns the records of many logs into latency over time. Logs of ingest, or documents read back, come
// in; a run, its intervals and its summary go out to a Sink. It never writes or prints.
//
//	logs       one log: its head, damage by fio --client, when its I/Os completed, what fio's totals have beyond it
//	intervals  the common time grid: distributing I/Os over it, and adding up all logs by leaf and scope
//	plan       a run read from logs: start times, grid, and rounds in which all logs advance together
//	live       a run followed through fio's status documents
//	replay     a run read from storage
//
// Nothing is guessed or smoothed over. A record that contradicts its log's head is an error with file and line. A
// client/server log is repaired only on proof. What fio counted and no log holds is restored only if it fits the logs
// bucket by bucket. The Account shows where every I/O went.
package pipeline
