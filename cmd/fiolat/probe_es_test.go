//go:build integration && linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A probe into a real Elasticsearch: each document is there, and what the dashboard
// asks for can be asked.
func TestProbeIntoRealElasticsearch(t *testing.T) {
	es, dir := server(t), t.TempDir()
	prefix := fmt.Sprintf("it-probe-%d", os.Getpid())
	t.Cleanup(func() {
		var indices map[string]any
		ask(t, "GET", es+"/"+prefix+"-*", "", &indices)
		for name := range indices {
			ask(t, "DELETE", es+"/"+name, "", nil)
		}
		ask(t, "DELETE", es+"/_index_template/"+prefix+"-*", "", nil)
	})
	code, _, stderr := fiolat(t, nil, append(quick, "--es", es, "--index-prefix", prefix, "--quiet", "--label", "rack=7", dir)...)
	if code != exitOK || !strings.Contains(stderr, " 0 refused, 0 spooled, 0 lost") {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	var docs []json.RawMessage
	for _, d := range documents(t, es, prefix+"-probe-*") {
		docs = append(docs, d)
	}
	checkProbeDocs(t, docs, dir)
	var found struct {
		Aggregations struct {
			Operations struct {
				Buckets []struct {
					Key             string
					Worst, Expected struct{ Value float64 }
				}
			}
		}
	}
	ask(t, "POST", es+"/"+prefix+"-probe-*/_search", `{"size":0,"query":{"exists":{"field":"probe.slowdown"}},"aggs":{
		"operations":{"terms":{"field":"probe.operation"},"aggs":{
			"worst":{"max":{"field":"probe.slowdown"}},"expected":{"max":{"field":"latency.expected"}}}}}}`, &found)
	if n := len(found.Aggregations.Operations.Buckets); n != 6 {
		t.Fatalf("%d operations", n)
	}
	for _, b := range found.Aggregations.Operations.Buckets {
		if b.Worst.Value < 1 || b.Expected.Value <= 0 {
			t.Errorf("%+v", b)
		}
	}
}
