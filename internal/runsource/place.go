package runsource

import (
	"os"
	"path/filepath"
)

// Place is where a run is.
type Place int

// The places of runs.
const (
	InLogs      Place = iota // log files on this host
	InDirectory              // documents that fiolat ingest --output wrote
	Stored                   // in Elasticsearch, if anywhere
)

// Locate returns where the run is that an argument names. Files come before runs in Elasticsearch.
func Locate(name string) Place {
	if documents, err := filepath.Glob(filepath.Join(name, "*-run.*.ndjson")); err == nil && len(documents) > 0 {
		return InDirectory
	}
	if _, err := os.Stat(name); err == nil || name == "-" {
		return InLogs
	}
	if matches, err := filepath.Glob(name); err != nil || len(matches) > 0 {
		return InLogs
	}
	return Stored
}
