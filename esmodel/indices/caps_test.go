package indices

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// TestFieldCapsFailed: the reply of a server that cannot read shards of an index says which, and why.
func TestFieldCapsFailed(t *testing.T) {
	t.Parallel()
	const reply = `{"indices":["fio-run"],"failed_indices":1,"failures":[{"indices":["fio-percentiles-2026.01"],
		"failure":{"error":{"type":"no_shard_available_action_exception","reason":"no shard is active"}}}],"fields":{}}`
	caps := fieldCaps{needed: Every}
	if err := json.Unmarshal([]byte(reply), &caps); err != nil {
		t.Fatal(err)
	}
	want := "1 failed; fio-percentiles-2026.01: no_shard_available_action_exception: no shard is active"
	if err := caps.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// TestFieldCapsNotFound: a 404 to a pattern, to which Elasticsearch replies with no indices, comes from elsewhere.
func TestFieldCapsNotFound(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		s := esmodeltest.New(t, esmodeltest.Options{})
		c := testClient(t, client.Config{Addresses: []string{s.URL}})
		if is, err := CheckMappings(t.Context(), c, "fio", None, closed); err != nil || len(is.Seen) > 0 {
			t.Error("no indices:", is.Seen, err)
		}
		s.Inject(esmodeltest.Fault{
			Match:  func(r *http.Request) bool { return strings.Contains(r.URL.Path, "*") },
			Status: 404, Type: "index_not_found_exception", Reason: "no such index",
		})
		_, err := CheckMappings(t.Context(), c, "fio", None, closed)
		if err == nil || !strings.Contains(err.Error(), "404") {
			t.Error(err)
		}
	}
}
