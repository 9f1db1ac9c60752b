package pipeline

import (
	"cmp"
	"time"

	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/internal/fiohist"
)

// Log is one log of a run, with what is known from its head.
type Log struct {
	*ingest.Log
	// Hash is the hex SHA-256 of the file's size and first 64 KiB as stored.
	Hash string
	// Geometry is the log's own; zero if it has no record.
	Geometry fiohist.Geometry
	// Interval is log_hist_msec; IntervalHow names its source.
	Interval    time.Duration
	IntervalHow string
	// Absolute is set if the log's stamps count from 1970.
	Absolute bool
	// Start is the start of the log's job in ns from time zero; StartHow names its source.
	Start    int64
	StartHow string
	// Empty is set if the log has no record.
	Empty bool
	// Repaired are the directions in which damage by fio --client is undone.
	Repaired [fiolog.Directions]bool
	// End is the end of the log's last I/O in ns from time zero; Dirs describes its directions.
	// Both are known only after Process.
	End  int64
	Dirs [fiolog.Directions]LogDirection
}

// LogDirection describes one direction of a log.
type LogDirection struct {
	// HasIO is set if it had I/O, KnownIdle if fio's JSON counted none.
	HasIO, KnownIdle bool
	// Holes are the times whose records the log lost, in ns from time zero.
	Holes []Span
	// Limits are those of the log's JSON entry.
	Limits fiohist.Limits
}

// Compare defines the order in which logs are added up: by host, then by name.
func (l *Log) Compare(o *Log) int {
	return cmp.Or(cmp.Compare(l.Host, o.Host), cmp.Compare(l.LogName, o.LogName))
}

// Span is the time (From, To], in ns.
type Span struct{ From, To int64 }
