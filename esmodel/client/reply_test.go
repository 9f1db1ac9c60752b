package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParseReply(t *testing.T) {
	good := `{"took":3,"errors":true,"items":[{"index":{"_id":"a","status":201}},{"delete":{"_id":"b","status":404}},` +
		`{"create":{"_id":"c","status":400,"error":{"type":"t","reason":"r","caused_by":{"type":"u","reason":"s"}}}},` +
		`{"index":{"_id":"d","status":500,"error":"plain"}}]}`
	items, err := parseReply([]byte(good), nil)
	if err != nil || len(items) != 4 {
		t.Fatalf("%v, %v", items, err)
	}
	if string(items[1].id) != "b" || items[1].Status != 404 || items[2].cause.text() != "r: s" ||
		items[3].cause.text() != "plain" {
		t.Errorf("%+v", items)
	}
	for _, bad := range []string{``, `{`, `[]`, `{"items":{}}`, `{"items":[{}]}`,
		`{"items":[{"index":{"_id":"a"}}]}`, `{"items":[{"upsert":{"_id":"a","status":200}}]}`,
		`{"items":[{"index":{"_id":"a","status":201},"delete":{"_id":"a","status":201}}]}`,
		`{"items":[{"index":{"_id":1,"status":201}}]}`, `{"items":[null]}`,
		`{"items":[{"index":{"_id":"a","status":99}}]}`} {
		if items, err := parseReply([]byte(bad), nil); err == nil {
			t.Errorf("%s is read as %v", bad, items)
		}
	}
}

// Whatever a server or a proxy sends: no panic, and what is believed to be an item
// has a status that HTTP has.
func FuzzParseReply(f *testing.F) {
	for _, s := range []string{`{"items":[{"index":{"_id":"a","status":201}}]}`,
		`{"items":[{"index":{"_id":"a","status":400,"error":{"type":"t","reason":"r"}}}]}`,
		`{"error":"x","status":429}`, `<html>`} {
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
			if it.Status < 100 || it.Status > 599 {
				t.Fatalf("%q has status %d", data, it.Status)
			}
			_ = it.cause.text()
		}
	})
}

// allStored says yes only where reading the reply says the same of each document.
func FuzzAllStored(f *testing.F) {
	for _, s := range []string{
		`{"items":[]}`,
		`{"items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":200}}]}`,
		`{"items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":200}}]} `,
		`{"items":[{"index":{"_id":"a","status":201}}]}`,
		`{"items":[{"index":{"_id":"b","status":201}},{"index":{"_id":"a","status":200}}]}`,
		`{"items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":202}}]}`,
		`{"items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":429}}]}`,
		`{"items":[{"index":{"_id":"a","status":201}}{"index":{"_id":"b","status":200}}]}`,
		`{"items":[{"create":{"_id":"a","status":201}},{"index":{"_id":"b","status":200}}]}`,
		`{"error":"x","items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":200}}]}`,
	} {
		f.Add(s)
	}
	id := func(i int) []byte { return []byte{"ab"[i]} }
	f.Fuzz(func(t *testing.T, reply string) {
		if !allStored([]byte(reply), 2, id) {
			return
		}
		items, err := parseReply([]byte(reply), nil)
		if err != nil || len(items) != 2 {
			t.Fatalf("%q is read as %v, %v", reply, items, err)
		}
		for n, it := range items {
			if !bytes.Equal(it.id, id(n)) || it.Status/100 != 2 {
				t.Errorf("%q: %+v", reply, it)
			}
		}
	})
}

func TestAllStored(t *testing.T) {
	reply := `{"items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":200}}]}`
	if !allStored([]byte(reply), 2, func(i int) []byte { return []byte{"ab"[i]} }) {
		t.Error("an ordinary reply is not taken for what it is")
	}
}

// BenchmarkReply reads the ordinary reply to a request of 700 documents.
//
//	go test -run '^$' -bench BenchmarkReply ./esmodel
func BenchmarkReply(b *testing.B) {
	var ids [][]byte
	var items []string
	for i := range 700 {
		id := fmt.Sprintf("%022d", i)
		ids = append(ids, []byte(id))
		items = append(items, `{"index":{"_id":"`+id+`","status":201}}`)
	}
	reply := []byte(`{"items":[` + strings.Join(items, ",") + `]}`)
	b.Run("how=compared", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !allStored(reply, len(ids), func(i int) []byte { return ids[i] }) {
				b.Fatal("not taken for what it is")
			}
		}
	})
	b.Run("how=decoded", func(b *testing.B) {
		b.ReportAllocs()
		var dst []BulkItem
		for b.Loop() {
			var err error
			if dst, err = parseReply(reply, dst[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
