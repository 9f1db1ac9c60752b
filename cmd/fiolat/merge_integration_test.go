//go:build integration

package main

import (
	"fmt"
	"os"
	"testing"
)

// What merge guarantees, of the real Elasticsearch.
func TestServerMerge(t *testing.T) {
	es := server(t)
	for name, run := range partedRuns(t) {
		t.Run(name, func(t *testing.T) {
			prefix := fmt.Sprintf("merge-%s-%d", name, os.Getpid())
			t.Cleanup(func() { wipe(t, es, prefix) })
			mergeParts(t, es, prefix, run)
		})
	}
}

// The same of syncs, which fiolat live stores as a kind of their own.
func TestServerMergeSyncs(t *testing.T) {
	es := server(t)
	prefix := fmt.Sprintf("syncs-%d", os.Getpid())
	t.Cleanup(func() { wipe(t, es, prefix) })
	mergeSyncs(t, es, prefix)
}
