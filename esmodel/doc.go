// Package esmodel defines the Elasticsearch documents of fiolat: how runs, intervals, probe results and events are
// encoded with stable ids and read back, their fields, the index templates, and the names of indices. It sends
// nothing. The packages below it talk to Elasticsearch:
//
//	client    connections, credentials, trust, retries, bulk requests, searches
//	indices   templates and mappings of a cluster; which process has a run; documents counted and deleted
//	delivery  documents sent or written to files, with an account of each; files loaded
//	stored    runs read back, listed, labelled, annotated and deleted
//
// Indices are PREFIX-run, PREFIX-histogram-YYYY.MM, PREFIX-percentiles-YYYY.MM, PREFIX-probe-YYYY.MM and
// PREFIX-event-YYYY.MM; the month is that of @timestamp in UTC.
//
// The id of a document is a hash of what identifies it, so sending it twice is harmless. No document holds a
// number that is not finite; a histogram with such weights is an error.
package esmodel
