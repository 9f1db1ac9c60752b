// Package pipeline says what a run is, what comes out of it, and what takes that: Run, Quantum, Summary, Sink. The
// packages
// below it turn the records of many logs into one picture of latency over time:
//
//	logs    one log: its head, its damage, when its I/Os completed, what it lacks of fio's totals
//	quanta  the common time grid: sharing I/Os out over it, and adding up the quanta of all logs by leaf and scope
//	plan    a run read from logs: starts, grid, and rounds in which all logs advance together
//	live    a run followed by fio's status documents
//	replay  a run that was stored
//
// It refuses to guess and to smooth over: a record that contradicts what its log's
// head said is an error with file and line; a client/server log is repaired only
// on proof; what fio counted and no log holds is restored only if it fits the
// logs bucket by bucket; and the Account says where every I/O went.
package pipeline
