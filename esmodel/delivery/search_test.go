package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// searchQuery finds the percentile documents of testRun, latest first.
func searchQuery(prefix string, size int) client.SearchRequest {
	return client.SearchRequest{
		Index:    esmodel.Indices(prefix, esmodel.KindPercentiles) + ",absent-*,absent",
		Query:    map[string]any{"term": map[string]any{"run.id": "r/1"}},
		Sort:     []any{map[string]any{"@timestamp": "desc"}, map[string]any{"scope": "asc"}},
		PageSize: size,
	}
}

// sorted says whether hits come in the order of searchQuery.
func sorted(t *testing.T, hits []client.Hit) {
	t.Helper()
	last, lastScope := "", ""
	for _, h := range hits {
		d := esmodeltest.Decode(t, h.Source)
		at, scope := d["@timestamp"].(string), d["scope"].(string)
		if last != "" && (at > last || at == last && scope < lastScope) {
			t.Fatalf("%s %s comes after %s %s", at, scope, last, lastScope)
		}
		last, lastScope = at, scope
	}
}

func search(t *testing.T, c *client.Client, r client.SearchRequest) []client.Hit {
	t.Helper()
	var hits []client.Hit
	n, err := client.Search(t.Context(), c, r, func(h client.Hit) error { hits = append(hits, h); return nil })
	if err != nil || int(n) != len(hits) {
		t.Fatalf("%d hits, %d said, %v", len(hits), n, err)
	}
	return hits
}

// nthSearch matches the n-th search from now on.
func nthSearch(n int) func(*http.Request) bool {
	var searches atomic.Int32
	return func(r *http.Request) bool { return isSearch(r) && searches.Add(1) == int32(n) }
}

func isSearch(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "_search") }

func TestSearch(t *testing.T) {
	t.Parallel()
	s, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 7)); err != nil {
		t.Fatal(err)
	}
	all := search(t, c, searchQuery("fio", 0))
	if len(all) != 35 {
		t.Fatalf("%d documents, want 7 quanta of 5", len(all))
	}
	sorted(t, all)
	if n := len(s.Requests("_pit")); n%2 != 0 {
		t.Errorf("%d requests about points in time: one is still open", n)
	}
	instead := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
	}
	failed := instead(
		`"failed":0`,
		`"failed":1,"failures":[{"reason":{"type":"circuit_breaking_exception","reason":"too much"}}]`,
	)
	tests := []struct {
		name  string
		size  int
		fault esmodeltest.Fault
		want  string // of the error; "": all is found
	}{
		{name: "pages", size: 3},
		{name: "a page of one", size: 1},
		{name: "a last page that is full", size: 7},
		{name: "a shard fails once", size: 3, fault: esmodeltest.Fault{Reply: failed}},
		{
			name:  "a shard fails always",
			size:  3,
			fault: esmodeltest.Fault{Times: -1, Reply: failed},
			want:  "1 of 1 shards could not answer: circuit_breaking_exception too much",
		},
		{
			name:  "time-out",
			size:  3,
			fault: esmodeltest.Fault{Times: -1, Reply: instead(`,"hits":{`, `,"timed_out":true,"hits":{`)},
			want:  "timed out",
		},
		{name: "busy once", size: 3, fault: esmodeltest.Fault{Status: 429, Type: "es_rejected_execution_exception"}},
		{
			name:  "refused",
			size:  3,
			fault: esmodeltest.Fault{Status: 404, Type: "some_exception", Reason: "gone"},
			want:  "some_exception: gone",
		},
		{
			name:  "no longer known to the server, before anything was found",
			size:  3,
			fault: esmodeltest.Fault{Times: 2, Status: 404, Type: "search_context_missing_exception"},
		},
		{
			name:  "never known to the server",
			size:  3,
			fault: esmodeltest.Fault{Times: -1, Status: 404, Type: "search_context_missing_exception"},
			want:  "lost an open search",
		},
		{
			name:  "no longer known to the server after the first page",
			size:  3,
			fault: esmodeltest.Fault{Match: nthSearch(2), Status: 404, Type: "search_context_missing_exception"},
			want:  "the server lost an open search, perhaps because it restarted; run again",
		},
		{
			name:  "no hits at all",
			size:  3,
			fault: esmodeltest.Fault{Times: -1, Reply: func([]byte) []byte { return []byte(`{"_shards":{}}`) }},
			want:  "has no hits",
		},
		{
			name:  "half a reply",
			size:  3,
			fault: esmodeltest.Fault{Times: -1, Reply: func(b []byte) []byte { return b[:len(b)/2] }},
			want:  "cannot be read",
		},
		{
			name:  "a reply that is too long",
			size:  30,
			fault: esmodeltest.Fault{Reply: func([]byte) []byte { return bytes.Repeat([]byte(" "), 64<<20+1) }},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 100 * time.Millisecond})
			defer s.Heal()
			if tt.fault.Reply != nil || tt.fault.Status != 0 {
				if tt.fault.Match == nil {
					tt.fault.Match = isSearch
				}
				s.Inject(tt.fault)
			}
			var hits []client.Hit
			n, err := client.Search(
				t.Context(),
				c,
				searchQuery("fio", tt.size),
				func(h client.Hit) error { hits = append(hits, h); return nil },
			)
			if open := len(s.Requests("_pit")); open%2 != 0 {
				t.Errorf("%d requests about points in time: one is still open", open)
			}
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("%v, want %q", err, tt.want)
				}
				return
			}
			if err != nil || n != int64(len(all)) ||
				!slices.EqualFunc(
					hits,
					all,
					func(a, b client.Hit) bool { return a.ID == b.ID && bytes.Equal(a.Source, b.Source) },
				) {
				t.Errorf("%v; %d documents, %d in one page", err, n, len(all))
			}
		})
	}
	stop := errors.New("enough")
	if n, err := client.Search(
		t.Context(),
		c,
		searchQuery("fio", 5),
		func(client.Hit) error { return stop },
	); !errors.Is(err, stop) ||
		n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if none := search(t, c, client.SearchRequest{Index: "absent-*,absent"}); len(none) != 0 {
		t.Errorf("%d documents in an index that does not exist", len(none))
	}
}

// While somebody writes, a search goes on seeing what there was.
func TestSearchSeesOneState(t *testing.T) {
	t.Parallel()
	_, c := standIn(t)
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 7)
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, intervals); err != nil {
		t.Fatal(err)
	}
	n, err := client.Search(t.Context(), c, searchQuery("fio", 2), func(h client.Hit) error {
		again := *run
		again.Generation = fmt.Sprint("of ", h.ID)
		_, err := ingestRun(t.Context(), c, BulkConfig{}, &again, intervals[:3])
		return err
	})
	if err != nil || n != 35 {
		t.Errorf("%d documents, %v", n, err)
	}
}
