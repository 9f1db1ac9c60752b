// Package esmodel is everything that fiolat knows of Elasticsearch: what the
// documents of a run look like, which templates their indices need, and how they
// get there without one being lost.
//
//	document.go rundoc.go   quanta and runs to documents with stable ids
//	sla.go event.go         verdicts in them; breaches, recoveries and notes
//	probe.go                samples and reports of a probe to documents
//	fields.go template.go   the table of fields, index templates, fiolat setup
//	client.go retry.go      one place for credentials, time-outs and patience
//	bulk.go deliver.go flow.go  bulk requests, accounting by document, spool
//	dir.go load.go          the same documents as files, and files sent again
//	sink.go retire.go       a run from its first document to its last clean-up
//	search.go stored.go     documents, and whole runs, read back
//	manage.go               runs listed, noted on, and deleted
//
// Indices are PREFIX-run, PREFIX-histogram-YYYY.MM, PREFIX-percentiles-YYYY.MM,
// PREFIX-probe-YYYY.MM and PREFIX-event-YYYY.MM; the month is that of @timestamp in
// UTC. Supported are Elasticsearch 8.19 and 9.2 and what is compatible with them,
// with or without the histogram field type and lifecycle management; which of the
// two a cluster has is found by asking it, never by its version.
//
// A document counts as stored only when Elasticsearch said so for that very
// document. Ids are hashes of what a document is about, so sending one twice is
// harmless, and everything that is in doubt is sent again.
//
// The package refuses to guess: it does not follow redirects, does not talk to
// servers that are not Elasticsearch, never writes NaN, and does not use the
// client's own BulkIndexer, which reports success after documents were refused,
// after the network failed and after an unreadable reply. It prints nothing.
//
// It is called by the commands; it imports pipeline and internal/probe.
package esmodel
