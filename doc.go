// Package fiolat turns the latency histograms that fio logs into latency over time.
//
// Pipeline is all of it in one call. The packages below are its parts, each usable by itself:
//
//	fio       the words that all share: directions, kinds of latency, errors; fio/fiohist has fio's buckets
//	ingest    finds logs, fio's JSON and job files, and reads them
//	pipeline  a run and its intervals; pipeline/plan reads one from logs, pipeline/live follows one
//	esmodel   documents for Elasticsearch; esmodel/delivery sends them
package fiolat
