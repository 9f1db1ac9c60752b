//go:build integration

package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// TestServerPages runs the pages that have commands with the URL of an Elasticsearch, all of their commands in their
// order, under an index prefix for each page.
func TestServerPages(t *testing.T) {
	t.Parallel()
	es := server(t)
	pages := 0
	for _, page := range readPages(t) {
		if !slices.ContainsFunc(page.commands, func(c pageCommand) bool { return c.server }) {
			continue
		}
		pages++
		prefix := fmt.Sprintf("pages-%d-%d", os.Getpid(), pages)
		t.Run(page.name, func(t *testing.T) {
			t.Parallel()
			w := newPageWorld(t)
			w.es, w.prefix = es, prefix
			t.Cleanup(func() { wipe(t, es, w.prefix) })
			w.env = append(w.env, "FIOLAT_INDEX_PREFIX="+w.prefix)
			for i, name := range []string{"nightly-1", "nightly-2"} {
				dir := []string{"runs/yesterday", "runs/today"}[i]
				text := "fiolat ingest --start mtime --es http://localhost:9200 --label series=nightly --run-name " +
					name + " " + dir
				w.run(t, pageCommand{at: name, text: text, server: true})
			}
			for _, c := range page.commands {
				w.run(t, c)
			}
		})
	}
	if pages < 3 {
		t.Errorf("only %d pages have commands for a server", pages)
	}
}

// TestServerQuickstart is TestQuickstartOn80Columns for the commands with the URL of an Elasticsearch.
func TestServerQuickstart(t *testing.T) {
	t.Parallel()
	w := newPageWorld(t)
	w.es = server(t)
	prefix := fmt.Sprintf("quickstart-%d", os.Getpid())
	t.Cleanup(func() { wipe(t, w.es, prefix) })
	w.env = append(w.env, "FIOLAT_INDEX_PREFIX="+prefix)
	w.quickstart(t)
}
