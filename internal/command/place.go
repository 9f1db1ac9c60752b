package command

import (
	"os"
	"path/filepath"
)

// Place is where a run is.
type Place int

// The places, in the order in which they are looked at.
const (
	InLogs      Place = iota // files that are here
	InDirectory              // documents that fiolat ingest --output wrote
	Stored                   // in Elasticsearch, if anywhere
)

// Locate says where the run is that an argument of a command names: what is here comes first.
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
