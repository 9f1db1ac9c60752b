package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSearchPage: what is wrong with a reply may pass, what is wrong with a document in it does not.
func TestSearchPage(t *testing.T) {
	const page = `{"_shards":{"total":1,"successful":1},"hits":{"hits":[` +
		`{"_index":"i","_id":"a","_source":{"n":1}},{"_index":"i","_id":"b","_source":{"n":2,"more":[3]}}]}}`
	for _, c := range []struct {
		name      string
		from, to  string
		want      string
		temporary bool
	}{
		{"as it should be", "", "", "", false},
		{"a document with another type", `"n":2`, `"n":"2"`, "i/b: the document cannot be read", false},
		{"no document", `{"n":1}`, `[]`, "i/a: the document cannot be read", false},
		{"a document that is not JSON", `"n":2`, `"n":2x`, "the reply cannot be read", true},
		{"another type where a shard failed", page,
			strings.NewReplacer(`"successful":1`, `"successful":0`, `1}}`, `""}}`).Replace(page),
			"1 of 1 shards", true},
		{"a shard failed, in two lines", `"successful":1`,
			`"successful":0,"failures":[{"reason":{"type":"t","reason":"a\nb"}}]`, `t a\nb`, true},
		{"a shard failed", `"successful":1`, `"successful":0`, "1 of 1 shards", true},
		{"cut off", `}]}}`, `}]`, "the reply cannot be read", true},
		{"hits with another type", `"_id":"a"`, `"_id":7`, "the reply cannot be read", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got searchPage[struct {
				N int `json:"n"`
			}]
			data := strings.Replace(page, c.from, c.to, 1)
			if (data == page) != (c.from == "") {
				t.Fatal("nothing was replaced")
			}
			err := got.read([]byte(data))
			if c.want == "" {
				if err != nil || len(got.Hits.Hits) != 2 || got.Hits.Hits[1].Source.N != 2 {
					t.Fatalf("%v, %+v", err, got)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if temporary := (*TemporaryError)(nil); errors.As(err, &temporary) != c.temporary {
				t.Errorf("temporary is %v, want %v: %v", !c.temporary, c.temporary, err)
			}
		})
	}
}

// TestPagesShort: a page that lacks documents which the search has found is asked for again.
func TestPagesShort(t *testing.T) {
	replies := []string{`{"_index":"i","_id":"a"}`, `{"_index":"i","_id":"a"},{"_index":"i","_id":"b"}`}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		fmt.Fprintf(w, `{"_shards":{"total":1,"successful":1},"hits":{"total":{"value":2},"hits":[%s]}}`, replies[0])
		replies = replies[1:]
	}))
	defer srv.Close()
	c := testClient(t, Config{Addresses: []string{srv.URL}})
	n := 0
	err := Pages(t.Context(), c, ScanRequest{Op: "test"}, &PIT{}, func(page []Found[struct{}]) error {
		n += len(page)
		return nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d documents, %v", n, err)
	}
}
