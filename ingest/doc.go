// Package ingest is the room of what fio wrote. Paths come in; logs go out, grouped into runs, each matched with its
// job in fio's JSON and job files. It never changes a number of a log: pipeline repairs, shifts and merges.
//
// The packages below it read what it finds: fiolog the logs, fiojson fio's JSON, jobfile job files; source opens and
// decompresses.
package ingest
