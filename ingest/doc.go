// Package ingest finds what fio wrote below paths, and returns its logs, grouped into runs, each matched with its job
// in fio's JSON and job files. It never changes a number of a log: pipeline repairs, shifts and merges.
//
// The packages below it read what it finds: fiolog the logs, fiojson fio's JSON, jobfile job files; source opens and
// decompresses.
package ingest
