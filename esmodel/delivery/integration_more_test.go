//go:build integration

package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
)

// Deletes name the version that was seen: one that was overwritten since stays.
func TestEachServerDeletesSpareOverwritten(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		run := esmodeltest.Run()
		intervals := esmodeltest.Intervals(run, 4)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals); err != nil {
			t.Fatal(err)
		}
		before := len(storedDocs(t, c, prefix))
		var first client.Hit
		deleted := map[string]int64{}
		g := indices.Generation{RunKey: esmodel.RunKey{Run: run.ID, Kind: "clat"}, Generation: "another"}
		err := c.Scan(t.Context(), client.ScanRequest{
			Op: "test", Indices: indices.Scope{Prefix: prefix}.Names(), Query: g.Query(false), Size: 7,
			Fields: map[string]any{"_source": false, "seq_no_primary_term": true},
		}, func(page []client.Hit) error {
			if first.ID == "" {
				first = page[0]
				body := fmt.Sprintf(
					"{\"index\":{\"_index\":%q,\"_id\":%q}}\n{\"run\":{\"id\":\"r/1\",\"generation\":\"another\"}}\n",
					first.Index,
					first.ID,
				)
				if err := c.Call(
					t.Context(),
					client.Request{Op: "overwrite", Method: http.MethodPost, Path: "/_bulk", Body: []byte(body)},
					nil,
				); err != nil {
					return err
				}
			}
			return indices.DeleteHits(t.Context(), c, "delete", page, false, indices.Free, deleted)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := indices.Refresh(t.Context(), c, indices.Scope{Prefix: prefix}, nil); err != nil {
			t.Fatal(err)
		}
		docs := storedDocs(t, c, prefix)
		sum := int64(0)
		for _, n := range deleted {
			sum += n
		}
		if docs[first.Index+"/"+first.ID] == nil || len(docs) != 2 || sum != int64(before-2) {
			t.Errorf("%d left of %d, %d deleted", len(docs), before, sum)
		}
	})
}

// Names that people type are no reason for Elasticsearch to refuse anything.
func TestEachServerHostileNames(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		run := esmodeltest.Run()
		run.Name, run.Part = strings.Repeat("ü", 256), "p\x00\n\"\\"
		run.Labels = map[string]string{
			"a.b.c": "\xff", "a": strings.Repeat("y", 512), "a b": "", "ü-_/@:": "x", "_id": "y", "a.b": "z",
		}
		if err := esmodel.CheckLabels(run.Labels); err != nil {
			t.Fatal(err)
		}
		entry := &run.Metas[0].Entries[0]
		for _, k := range []string{" ", ".", "a.b.c", "a..b", "\x1b[31m", "_id", strings.Repeat("k", 200)} {
			entry.Options[k] = strings.Repeat("ö", 4000)
		}
		run.Logs[0].Host, run.Logs[0].Job = strings.Repeat("h", 40000), "\u2028<script>"
		intervals := esmodeltest.Intervals(run, 3)
		for _, q := range intervals {
			for i := range q.Leaves {
				q.Leaves[i].Dims.Host += strings.Repeat("ä", 10000) + "\x00"
				q.Leaves[i].Dims.Log = "a/b\\c\".log"
			}
		}
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals); err != nil {
			t.Fatal(err)
		}
	})
}

// A first contact with everything at once: of two ingests of the same run one has it, and
// the other says so.
func TestEachServerTwoAtOnce(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() {
				run := esmodeltest.Run()
				_, err := ingestRun(
					t.Context(),
					c,
					BulkConfig{Prefix: prefix, FlushBytes: 32 << 10},
					run,
					esmodeltest.Intervals(run, 50),
				)
				errs <- err
			}()
		}
		a, b := <-errs, <-errs
		if err := cmp.Or(a, b); a != nil && b != nil || err != nil && !errors.As(err, new(*indices.MarkError)) {
			t.Errorf("%v, %v", a, b)
		}
		if n := len(storedDocs(t, c, prefix)); n != 49*4+50*5+1 {
			t.Errorf("%d documents", n)
		}
	})
}

// An index set read-only in mid-run is waited for.
func TestEachServerReadOnly(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		run := esmodeltest.Run()
		intervals := esmodeltest.Intervals(run, 6)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals); err != nil {
			t.Fatal(err)
		}
		before := storedDocs(t, c, prefix)
		block := func(on bool) {
			body := fmt.Sprintf(`{"index.blocks.write":%v}`, on)
			if err := c.Call(
				context.Background(),
				client.Request{
					Op:     "block",
					Method: http.MethodPut,
					Path:   "/" + prefix + "-percentiles-2026.08/_settings",
					Body:   []byte(body),
				},
				nil,
			); err != nil {
				t.Error(err)
			}
		}
		block(true)
		time.AfterFunc(2*time.Second, func() { block(false) })
		s, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals)
		if err != nil || s.Report().Retried == 0 {
			t.Fatalf("%v, %d retried", err, s.Report().Retried)
		}
		sameStored(t, storedDocs(t, c, prefix), before)
	})
}

// The histogram type's own rules, and percentiles asked of it, on a full cluster.
func TestEachServerHistogramType(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		has, err := indices.HasHistogram(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if !has {
			t.Log(
				"this cluster has no histogram type: set FIOLAT_TEST_ES_URL to a full distribution for the rest of " +
					"this test",
			)
			return
		}
		run := esmodeltest.Run()
		intervals := esmodeltest.Intervals(run, 10)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals); err != nil {
			t.Fatal(err)
		}
		var reply struct {
			Aggregations struct {
				P struct{ Values map[string]float64 }
			}
		}
		err = c.Call(
			t.Context(),
			client.Request{Op: "aggregate", Method: "POST", Path: "/" + prefix + "-histogram-*/_search", Body: []byte(
				`{"size":0,"aggs":{"p":{"percentiles":{"field":"latency.histogram","percents":[50,99],` +
					`"hdr":{"number_of_significant_value_digits":3}}}}}`,
			)},
			&reply,
		)
		if err != nil {
			t.Fatal(err)
		}
		var all []float64
		for _, q := range intervals {
			for _, l := range q.Leaves {
				l.Hist.Each(func(i int, w float64) {
					for range int(w + 0.5) {
						all = append(all, run.Geometry.Middle(i))
					}
				})
			}
		}
		slices.Sort(all)
		if got, want := reply.Aggregations.P.Values["50.0"], all[len(all)/2]; math.Abs(got-want) > 0.1*want {
			t.Errorf("p50 is %v, want about %v", got, want)
		}
	})
}

// A search in pages sees each document once and in order, however small its pages.
func TestEachServerSearch(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		run := esmodeltest.Run()
		if _, err := ingestRun(
			t.Context(),
			c,
			BulkConfig{Prefix: prefix},
			run,
			esmodeltest.Intervals(run, 7),
		); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, 5, 35, 36} {
			hits := search(t, c, searchQuery(prefix, size))
			sorted(t, hits)
			ids := map[string]bool{}
			for _, h := range hits {
				ids[h.ID] = true
			}
			if len(hits) != 35 || len(ids) != 35 {
				t.Errorf("pages of %d: %d hits of %d documents, want 35", size, len(hits), len(ids))
			}
		}
		r := searchQuery(prefix, 0)
		r.Source = []string{"run.id", "fio.*"}
		for _, h := range search(t, c, r) {
			if d := esmodeltest.Decode(t, h.Source); len(d) != 2 || d["fio"] == nil {
				t.Fatalf("fields %s", h.Source)
			}
		}
		if none := search(t, c, client.SearchRequest{Index: "absent-*,absent"}); len(none) != 0 {
			t.Errorf("%d documents in an index that does not exist", len(none))
		}
		// An index that cannot sort by the field is an error, not a hole.
		if err := c.Call(
			t.Context(),
			client.Request{
				Op:     "make",
				Method: http.MethodPut,
				Path:   "/" + prefix + "-odd",
				Body:   []byte(`{"mappings":{"properties":{"@timestamp":{"type":"text"}}}}`),
			},
			nil,
		); err != nil {
			t.Fatal(err)
		}
		r = searchQuery(prefix, 0)
		r.Index, r.Query = r.Index+","+prefix+"-odd", nil
		if _, err := client.Search(t.Context(), c, r, func(client.Hit) error { return nil }); err == nil {
			t.Error("a shard that could not answer was left out")
		}
		var stats struct {
			All struct {
				Total struct {
					Search struct {
						Contexts int `json:"open_contexts"`
					} `json:"search"`
				} `json:"total"`
			} `json:"_all"`
		}
		if err := c.Call(
			t.Context(),
			client.Request{Op: "stats", Method: http.MethodGet, Path: "/" + prefix + "-*/_stats/search"},
			&stats,
		); err != nil {
			t.Fatal(err)
		}
		if n := stats.All.Total.Search.Contexts; n != 0 {
			t.Errorf("%d points in time are still open", n)
		}
	})
}
