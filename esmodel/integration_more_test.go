//go:build integration

package esmodel

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Deletes name the version that was seen: one that was overwritten since stays.
func TestIntegrationDeletesSpareOverwritten(t *testing.T) {
	clusters(t, func(t *testing.T, c *Client, prefix string) {
		run := testRun()
		quanta := testQuanta(run, 4)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, quanta); err != nil {
			t.Fatal(err)
		}
		before := len(stored(t, c, prefix))
		var first hit
		deleted := map[string]int64{}
		g := generation{run.ID, "", "another"}
		err := c.scan(t.Context(), "test", patterns(prefix), g.query(false), 7, func(page []hit) error {
			if first.ID == "" {
				first = page[0]
				body := fmt.Sprintf("{\"index\":{\"_index\":%q,\"_id\":%q}}\n{\"run\":{\"id\":\"r/1\",\"generation\":\"another\"}}\n", first.Index, first.ID)
				if err := c.Call(t.Context(), Request{Op: "overwrite", Method: http.MethodPost, Path: "/_bulk", Body: []byte(body)}, nil); err != nil {
					return err
				}
			}
			return c.deleteHits(t.Context(), page, deleted)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.refresh(t.Context(), prefix, nil); err != nil {
			t.Fatal(err)
		}
		docs := stored(t, c, prefix)
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
func TestIntegrationHostileNames(t *testing.T) {
	clusters(t, func(t *testing.T, c *Client, prefix string) {
		run := testRun()
		run.Name, run.Part = strings.Repeat("ü", 20000), "p\x00\n\"\\"
		run.Labels = map[string]string{"a.b.c": "\xff", "a": strings.Repeat("y", 40000), "a b": "", "ü-_/@:": "x", "_id": "y", "a.b": "z"}
		if err := CheckLabels(run.Labels); err != nil {
			t.Fatal(err)
		}
		entry := &run.Metas[0].Entries[0]
		for _, k := range []string{" ", ".", "a.b.c", "a..b", "\x1b[31m", "_id", strings.Repeat("k", 200)} {
			entry.Options[k] = strings.Repeat("ö", 4000)
		}
		run.Logs[0].Host, run.Logs[0].Job = strings.Repeat("h", 40000), "\u2028<script>"
		quanta := testQuanta(run, 3)
		for _, q := range quanta {
			for i := range q.Leaves {
				q.Leaves[i].Dims.Host += strings.Repeat("ä", 10000) + "\x00"
				q.Leaves[i].Dims.Log = "a/b\\c\".log"
			}
		}
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, quanta); err != nil {
			t.Fatal(err)
		}
	})
}

// A first contact with everything at once: two ingests of the same run do no harm.
func TestIntegrationTwoAtOnce(t *testing.T) {
	clusters(t, func(t *testing.T, c *Client, prefix string) {
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() {
				run := testRun()
				_, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix, FlushBytes: 32 << 10}, run, testQuanta(run, 50))
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := len(stored(t, c, prefix)); n != 49*4+50*5+1 {
			t.Errorf("%d documents", n)
		}
	})
}

// An index set read-only in mid-run is waited for.
func TestIntegrationReadOnly(t *testing.T) {
	clusters(t, func(t *testing.T, c *Client, prefix string) {
		run := testRun()
		quanta := testQuanta(run, 6)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, quanta); err != nil {
			t.Fatal(err)
		}
		before := stored(t, c, prefix)
		block := func(on bool) {
			body := fmt.Sprintf(`{"index.blocks.write":%v}`, on)
			if err := c.Call(context.Background(), Request{Op: "block", Method: http.MethodPut, Path: "/" + prefix + "-percentiles-2026.08/_settings", Body: []byte(body)}, nil); err != nil {
				t.Error(err)
			}
		}
		block(true)
		time.AfterFunc(2*time.Second, func() { block(false) })
		s, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, quanta)
		if err != nil || s.Report().Retried == 0 {
			t.Fatalf("%v, %d retried", err, s.Report().Retried)
		}
		sameStored(t, stored(t, c, prefix), before)
	})
}

// The histogram type's own rules, and percentiles asked of it, on a full cluster.
func TestIntegrationHistogramType(t *testing.T) {
	clusters(t, func(t *testing.T, c *Client, prefix string) {
		has, err := c.hasHistogram(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !has {
			t.Log("this cluster has no histogram type: set FIOLAT_TEST_ES_URL to a full distribution for the rest of this test")
			return
		}
		run := testRun()
		quanta := testQuanta(run, 10)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, quanta); err != nil {
			t.Fatal(err)
		}
		var reply struct {
			Aggregations struct {
				P struct{ Values map[string]float64 }
			}
		}
		err = c.Call(t.Context(), Request{Op: "aggregate", Method: "POST", Path: "/" + prefix + "-histogram-*/_search", Body: []byte(
			`{"size":0,"aggs":{"p":{"percentiles":{"field":"latency.histogram","percents":[50,99],"hdr":{"number_of_significant_value_digits":3}}}}}`)}, &reply)
		if err != nil {
			t.Fatal(err)
		}
		var all []float64
		for _, q := range quanta {
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
