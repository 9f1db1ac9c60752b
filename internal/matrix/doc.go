// Package matrix contains only tests. They compare fiolat's answers about real runs of fio, with many combinations of
// its options, with fio's own counts; docs/fio-options.md is what they found.
//
//	go test ./internal/matrix     the runs of testdata; with -update, writes the page and testdata/gaps.txt
//	make matrix                   runs of the fio that is installed, with options drawn at random
package matrix
