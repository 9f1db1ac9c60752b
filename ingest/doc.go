// Package ingest finds fio's logs below paths, groups them into runs, and matches each log with its job in fio's JSON
// and job files.
//
// The packages below it read what it finds: fiolog the logs, fiojson fio's JSON, jobfile job files; source opens and
// decompresses. None of them repairs, shifts or merges; pipeline does.
package ingest
