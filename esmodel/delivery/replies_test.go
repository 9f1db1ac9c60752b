package delivery

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// Whatever comes as a reply to a bulk request, whole, cut or of somebody else: each
// document has one outcome, and is counted as stored only if the reply says so of it.
func FuzzBulkReply(f *testing.F) {
	ids := []string{"one", "two", "three"}
	ok := `{"items":[{"index":{"_id":"one","status":201}},{"index":{"_id":"two","status":200}},` +
		`{"index":{"_id":"three","status":201}}]}`
	for _, s := range []string{
		ok, ok[:60], strings.Replace(ok, "200", "429", 1), strings.Replace(ok, `200`,
			`400,"error":{"type":"t","reason":"r"}`, 1), strings.Replace(ok, "two", "one", 1),
		strings.Replace(ok, "201", `403,"error":{"type":"cluster_block_exception"}`, 1), strings.Replace(ok, "200",
			"401", 1), `{"items":[]}`, `{"error":"x","status":429}`, `<html>`, "null", ok + ok,
	} {
		f.Add([]byte(s), uint16(200))
		f.Add([]byte(s), uint16(413))
	}
	var reply []byte
	var status int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.WriteHeader(status)
		w.Write(reply)
	}))
	f.Cleanup(srv.Close)
	c, err := client.New(client.Config{Addresses: []string{srv.URL}, MaxWait: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, code uint16) {
		reply, status = data, 200+int(code)%400
		if status == 204 || status == 304 {
			return // these have no body
		}
		w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, InFlight: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close(t.Context(), false)
		for _, id := range ids {
			if err := w.Add(t.Context(), "fio-event-2026.08", []byte(id), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		err = w.Flush(t.Context())
		n := w.Report().Total()
		if n.Made != 3 || n.Indexed+n.Refused+n.Lost != 3 || n.Lost > 0 && err == nil {
			t.Fatalf("%+v, %v", n, err)
		}
		if n.Indexed == 0 {
			return
		}
		var said struct {
			Items []map[string]struct {
				ID     string `json:"_id"`
				Status int    `json:"status"`
			}
		}
		if err := json.Unmarshal(data, &said); err != nil || status > 299 || len(said.Items) != 3 {
			t.Fatalf("%d indexed by status %d: %v", n.Indexed, status, err)
		}
		stored := int64(0)
		for i, it := range said.Items {
			for _, a := range it {
				if a.ID == ids[i] && a.Status/100 == 2 {
					stored++
				}
			}
		}
		if n.Indexed > stored {
			t.Fatalf("%d indexed, the reply says %d", n.Indexed, stored)
		}
	})
}

// What ends an ingest, or begins it, is asked again until the reply says it: a reply about
// something else, or about a part, is not taken for "there is nothing to delete".
func TestRepliesThatMislead(t *testing.T) {
	const nothing = `{"count":0,"_shards":{"total":3,"successful":2,"failed":0}}`
	tests := []struct {
		name, path string
		reply      func(body []byte) []byte
	}{
		{"a count that is none", "_count", func([]byte) []byte { return []byte(`{}`) }},
		{"a count without its shards", "_count", func([]byte) []byte { return []byte(`{"count":0}`) }},
		{"a count with a shard that has no node", "_count", func([]byte) []byte { return []byte(nothing) }},
		{"a refresh that was not done", "_refresh", nil},
		{"no point in time", "_pit", func([]byte) []byte { return []byte(`{}`) }},
		{"a search that finds nothing", "_search", func(b []byte) []byte {
			return regexp.MustCompile(`"hits":\[.*\],"total"`).ReplaceAll(b, []byte(`"hits":[],"total"`))
		}},
		{"deletions in another order, the first of which failed", "_bulk", func(b []byte) []byte {
			var reply struct {
				Items []json.RawMessage `json:"items"`
			}
			if !bytes.Contains(b, []byte(`{"delete"`)) || json.Unmarshal(b, &reply) != nil {
				return b
			}
			slices.Reverse(reply.Items)
			return esmodel.MustJSON(reply)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, c := standIn(t)
			run := esmodeltest.Run()
			if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 9)); err != nil {
				t.Fatal(err)
			}
			want := esmodeltest.Contents(s)
			run.Generation, run.Interval = "g2", 4e9
			if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 6)); err != nil {
				t.Fatal(err)
			}
			times := 2
			var struck, failed atomic.Int32
			item := func(index, id string) (int, string, string) {
				if _, stays := want[index+"/"+id]; stays || failed.Add(1) > 1 {
					return 0, "", ""
				}
				return 429, "es_rejected_execution_exception", ""
			}
			if tt.path == "_bulk" {
				times = -1
			} else {
				item = nil
			}
			status := 0
			if tt.reply == nil {
				status = 200 // and nothing is carried out
				struck.Add(1)
			}
			s.Inject(
				esmodeltest.Fault{
					Times:  times,
					Status: status,
					Item:   item,
					Match:  func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, tt.path) },
					Reply: func(b []byte) []byte {
						out := b
						if struck.Load() < 2 {
							out = tt.reply(b)
						}
						if !bytes.Equal(out, b) {
							struck.Add(1)
						}
						return out
					},
				},
			)
			ingested(t, c)
			if struck.Load() == 0 {
				t.Error("nothing was asked")
			}
			esmodeltest.EqualContents(t, esmodeltest.Contents(s), want)
		})
	}
}
