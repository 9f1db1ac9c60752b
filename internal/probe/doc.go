// Package probe measures the slowdown of a file system as users perceive it: small operations at a fixed pace, each
// timed separately and compared with its usual time. The method is that of Kunkel and others, "Tracking
// User-Perceived I/O Slowdown via Probing" (2019).
//
//	probe.go      operations, samples, settings; Run for all targets
//	schedule.go   one target: a fixed schedule, and operations that may never end
//	stats.go      usual times and slowdowns
//	dir_linux.go  the files of a target: manifest, large file, pool, clean-up
//	status.go     the status file in a probe's directory
//
// The package touches nothing outside of the directory that it created, follows no symbolic links in it, overwrites
// no files of others, and starts no second operation on a file system that has not finished the first. An operation
// that hangs does not block the schedule: it is reported with a lower bound of its time. It prints nothing.
package probe
