package pipeline

import (
	"cmp"
	"time"

	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/internal/fiohist"
)

// Log is one log of a run with what its head says.
type Log struct {
	*ingest.Log
	// Hash is the hex SHA-256 of the file's size and first 64 KiB as stored.
	Hash string
	// Geometry is the log's own; zero if it has no record.
	Geometry fiohist.Geometry
	// Interval is log_hist_msec, and IntervalHow where it comes from.
	Interval    time.Duration
	IntervalHow string
	// Absolute says that the log's stamps count from 1970.
	Absolute bool
	// Start is the start of the log's job in ns from time zero, StartHow how it
	// was found.
	Start    int64
	StartHow string
	// Empty says that the log has no record at all.
	Empty bool
	// Repaired are the directions in which fio --client's damage is undone.
	Repaired [fiolog.Directions]bool
	// End is the end of the log's last I/O in ns from time zero, and Dirs what its
	// directions held; both are known after Process.
	End  int64
	Dirs [fiolog.Directions]LogDirection
}

// LogDirection is what one direction of a log turned out to hold.
type LogDirection struct {
	// Some says that it had I/O, None that fio's JSON counted none.
	Some, None bool
	// Holes are the times of which the log lost the records, in ns from time zero.
	Holes []Span
	// Limits are those of the log's JSON entry.
	Limits fiohist.Limits
}

// Compare says in which order logs are added up: by host, then by name.
func (l *Log) Compare(o *Log) int {
	return cmp.Or(cmp.Compare(l.Host, o.Host), cmp.Compare(l.LogName, o.LogName))
}

// Span is the time (From, To], in ns.
type Span struct{ From, To int64 }
