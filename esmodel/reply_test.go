package esmodel

import (
	"encoding/json"
	"testing"
)

func TestParseReply(t *testing.T) {
	good := `{"took":3,"errors":true,"items":[{"index":{"_id":"a","status":201}},{"delete":{"_id":"b","status":404}},` +
		`{"create":{"_id":"c","status":400,"error":{"type":"t","reason":"r","caused_by":{"type":"u","reason":"s"}}}},{"index":{"_id":"d","status":500,"error":"plain"}}]}`
	items, err := parseReply([]byte(good), nil)
	if err != nil || len(items) != 4 {
		t.Fatalf("%v, %v", items, err)
	}
	if string(items[1].id) != "b" || items[1].status != 404 || items[2].cause.text() != "r: s" || items[3].cause.text() != "plain" {
		t.Errorf("%+v", items)
	}
	for _, bad := range []string{``, `{`, `[]`, `{"items":{}}`, `{"items":[{}]}`, `{"items":[{"index":{"_id":"a"}}]}`, `{"items":[{"update":{"_id":"a","status":200}}]}`,
		`{"items":[{"index":{"_id":"a","status":201},"delete":{"_id":"a","status":201}}]}`, `{"items":[{"index":{"_id":1,"status":201}}]}`, `{"items":[null]}`, `{"items":[{"index":{"_id":"a","status":99}}]}`} {
		if items, err := parseReply([]byte(bad), nil); err == nil {
			t.Errorf("%s is read as %v", bad, items)
		}
	}
}

// Whatever a server or a proxy sends: no panic, and what is believed to be an item
// has a status that HTTP has.
func FuzzParseReply(f *testing.F) {
	for _, s := range []string{`{"items":[{"index":{"_id":"a","status":201}}]}`, `{"items":[{"index":{"_id":"a","status":400,"error":{"type":"t","reason":"r"}}}]}`, `{"error":"x","status":429}`, `<html>`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := parseReply(data, nil)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON and was read", data)
		}
		for _, it := range items {
			if it.status < 100 || it.status > 599 {
				t.Fatalf("%q has status %d", data, it.status)
			}
			_ = it.cause.text()
		}
	})
}
