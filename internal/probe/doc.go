// Package probe measures what users feel of a file system: small operations at a
// fixed pace, each timed by itself, compared with how long they usually take. The
// method is that of Kunkel and others, "Tracking User-Perceived I/O Slowdown via
// Probing" (2019).
//
//	probe.go      operations, samples, settings; a process with all its targets
//	schedule.go   one target: a fixed schedule, and operations that may never end
//	stats.go      what is usual, and how much slower it is than that
//	dir_linux.go  the files of a target: manifest, large file, pool, clean-up
//	status.go     what a probe leaves in its directory for others to read
//
// The package refuses to touch anything outside of the directory it made, to
// follow symlinks, to write over files that are not its own, and to start a second
// operation on a file system that has not ended the first. It never waits for an
// operation: what hangs is reported as lasting at least so long.
//
// It is called by fiolat probe; esmodel makes its documents. It prints nothing.
package probe
