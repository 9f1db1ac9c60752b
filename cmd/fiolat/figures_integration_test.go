//go:build integration

package main

import (
	"fmt"
	"testing"
)

// TestServerStoredRates is TestRates from Elasticsearch.
func TestServerStoredRates(t *testing.T) {
	es := server(t)
	const prefix = "rates"
	defer wipe(t, es, prefix)
	n := 0
	compareRates(t, 20, []string{"figures/*", "fio/*"}, func(dir, _ string) map[string][]string {
		n++
		id, stored := fmt.Sprintf("rates-%d", n), []string{"--es", es, "--index-prefix", prefix}
		args := append([]string{"ingest", "--run-id", id, "--by", "direction,job", dir}, stored...)
		if code, _, stderr := fiolat(t, nil, args...); code != 0 {
			t.Fatalf("%s: %s", dir, stderr)
		}
		return map[string][]string{"Elasticsearch": append(stored, id)}
	})
}
