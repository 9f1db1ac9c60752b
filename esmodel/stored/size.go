package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
)

// Size is the space that a run takes in Elasticsearch.
type Size struct {
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"` // without replicas
}

// share is the part of an index that belongs to a run.
type share struct {
	index, run string
	documents  int64
	length     float64 // of all its documents as JSON, estimated
}

// Sizes estimates the sizes of all runs, by run.id. Elasticsearch reports the bytes of an index, not of a run
// in it. They are divided among the runs by the number of their documents and the mean length of a sample of
// each run's.
func Sizes(ctx context.Context, c *client.Client, prefix string) (map[string]Size, error) {
	indices := esmodel.Index(prefix, esmodel.KindRun, 0) + "," + esmodel.AllIndices(prefix)
	bytes, err := storeBytes(ctx, c, indices)
	if err != nil {
		return nil, err
	}
	of, err := shares(ctx, c, indices)
	return divide(bytes, of), err
}

// live is the part of an index's bytes that is not of deleted documents, which Elasticsearch keeps until it merges.
func live(bytes, count, deleted int64) int64 {
	if deleted == 0 {
		return bytes
	}
	return int64(float64(bytes) * float64(count) / float64(count+deleted))
}

// storeBytes returns the bytes of the primary shards of each index, without those of deleted documents.
func storeBytes(ctx context.Context, c *client.Client, indices string) (map[string]int64, error) {
	var reply struct {
		Indices map[string]struct {
			Primaries struct {
				Docs  struct{ Count, Deleted int64 }
				Store struct {
					Bytes int64 `json:"size_in_bytes"`
				}
			} `json:"primaries"`
		} `json:"indices"`
	}
	// IndicesStatsRequest has no parameters for missing indices.
	err := c.Call(ctx, client.Request{Op: "read the sizes of indices", Method: http.MethodGet,
		Path: "/" + indices + "/_stats/docs,store?ignore_unavailable=true&allow_no_indices=true"}, &reply)
	out := map[string]int64{}
	for name, i := range reply.Indices {
		out[name] = live(i.Primaries.Store.Bytes, i.Primaries.Docs.Count, i.Primaries.Docs.Deleted)
	}
	return out, err
}

// sharesPage is the number of shares in a page, sampled the number of documents sampled for each.
const sharesPage, sampled = 50, 10

func shares(ctx context.Context, c *client.Client, indices string) (out []share, err error) {
	runs := map[string]any{"size": sharesPage, "sources": []any{
		map[string]any{"index": map[string]any{"terms": map[string]any{"field": "_index"}}},
		map[string]any{"run": map[string]any{"terms": map[string]any{"field": "run.id"}}}}}
	search := map[string]any{
		"size": 0,
		"query": map[string]any{"function_score": map[string]any{
			"random_score": map[string]any{"seed": 1, "field": "_seq_no"}}},
		"aggs": map[string]any{"runs": map[string]any{"composite": runs, "aggs": map[string]any{
			// The doc_count of a bucket would be the sum of _doc_count.
			"documents": map[string]any{"value_count": map[string]any{"field": "run.id"}},
			// The fields files and jobs would make the page long.
			"some": map[string]any{"top_hits": map[string]any{"size": sampled,
				"_source": map[string]any{"excludes": []string{"files", "jobs"}}}}}}},
	}
	for { //nolint:endless // each page begins after the one before
		var reply sharesReply
		request := client.Request{Op: "count the documents of runs", Body: esmodel.MustJSON(search),
			API: esapi.SearchRequest{Index: []string{indices}, IgnoreUnavailable: new(true), AllowNoIndices: new(true)}}
		if err = c.Call(ctx, request, &reply); err != nil {
			return nil, err
		}
		for _, b := range reply.Aggregations.Runs.Buckets {
			s := share{index: b.Key.Index, run: b.Key.Run, documents: b.Documents.Value}
			hits := b.Some.Hits.Hits
			for _, h := range hits {
				s.length += float64(len(h.Source)) / float64(len(hits)) * float64(s.documents)
			}
			out = append(out, s)
		}
		next := reply.Aggregations.Runs.After
		if next == nil {
			return out, nil
		}
		if before, ok := runs["after"].(json.RawMessage); ok && bytes.Equal(before, next) {
			return nil, fmt.Errorf("%s: the reply to a request for the next page is the same page", request.Op)
		}
		runs["after"] = next
	}
}

type sharesReply struct {
	client.ShardsReply
	Aggregations struct {
		Runs struct {
			After   json.RawMessage `json:"after_key"`
			Buckets []struct {
				Key       struct{ Index, Run string }
				Documents struct{ Value int64 }
				Some      struct {
					Hits struct{ Hits []client.Hit }
				}
			}
		}
	}
}

// divide divides the bytes of each index among its shares.
func divide(bytes map[string]int64, all []share) map[string]Size {
	length := map[string]float64{}
	for _, s := range all {
		length[s.index] += s.length
	}
	out := map[string]Size{}
	for _, s := range all {
		size := out[s.run]
		size.Documents += s.documents
		size.Bytes += int64(math.Round(float64(bytes[s.index]) * s.length / length[s.index]))
		out[s.run] = size
	}
	return out
}
