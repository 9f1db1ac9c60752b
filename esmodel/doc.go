// Package esmodel says what fiolat's documents look like: how runs, quanta, probes and
// events become documents with stable ids and how they are read back, the fields and index
// templates, and the names of indices. It sends nothing. What talks to Elasticsearch is in
// the packages below it:
//
//	client    connections, credentials, trust, retries, bulk requests, searches
//	indices   templates and mappings in a cluster; documents counted and deleted
//	claim     which process may write the documents of a run
//	delivery  documents to Elasticsearch or into files, what became of each, load
//	stored    runs read back, listed, noted on and deleted
//
// Indices are PREFIX-run, PREFIX-histogram-YYYY.MM, PREFIX-percentiles-YYYY.MM,
// PREFIX-probe-YYYY.MM and PREFIX-event-YYYY.MM; the month is that of @timestamp in UTC.
//
// Ids are hashes of what a document is about, so sending one twice is harmless. A number
// that is not finite is an error and in no document.
package esmodel
