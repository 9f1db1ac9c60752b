// Package chaos contains only tests. They run the whole program against a real
// Elasticsearch that is broken on purpose, and compare every document with those of
// an undisturbed run. docs/data/chaos.csv is what they measured.
//
//	go test -tags integration ./internal/chaos   short waits, for CI
//	make chaos                                   the full ones, and the table
package chaos
