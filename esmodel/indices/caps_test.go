package indices

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestFieldCapsFailed: the reply of a server that cannot read shards of an index says which, and why.
func TestFieldCapsFailed(t *testing.T) {
	t.Parallel()
	const reply = `{"indices":["fio-run"],"failed_indices":1,"failures":[{"indices":["fio-percentiles-2026.01"],
		"failure":{"error":{"type":"no_shard_available_action_exception","reason":"no shard is active"}}}],"fields":{}}`
	var caps fieldCaps
	if err := json.Unmarshal([]byte(reply), &caps); err != nil {
		t.Fatal(err)
	}
	want := "1 failed; fio-percentiles-2026.01: no_shard_available_action_exception: no shard is active"
	if err := caps.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
