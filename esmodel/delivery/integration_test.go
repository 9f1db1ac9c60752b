//go:build integration

package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

// These tests need a real Elasticsearch:
//
//	eval "$(scripts/elasticsearch up)" && go test -tags integration ./esmodel
//
// With --security it prints FIOLAT_TEST_ES_CA, FIOLAT_TEST_ES_USER and
// FIOLAT_TEST_ES_PASSWORD_FILE, too. FIOLAT_TEST_ES_URL may name a full distribution
// as well, which has the histogram field type; then all tests run against it, too.
// Without a server they fail: a skipped test proves nothing.
func clusters(t *testing.T, f func(t *testing.T, c *client.Client, prefix string)) {
	configs := map[string]client.Config{"FIOLAT_TEST_ES": testServer(t)}
	if full := os.Getenv("FIOLAT_TEST_ES_URL"); full != "" {
		configs["FIOLAT_TEST_ES_URL"] = client.Config{Addresses: []string{full}}
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			cfg.MaxWait = 30 * time.Second
			c := testClient(t, cfg)
			prefix := fmt.Sprintf("t%x", rand.Uint64())
			t.Cleanup(func() { wipe(c, prefix) })
			f(t, c, prefix)
		})
	}
}

func testServer(t *testing.T) client.Config {
	cfg := client.Config{Addresses: []string{os.Getenv("FIOLAT_TEST_ES")}, Username: os.Getenv("FIOLAT_TEST_ES_USER")}
	if cfg.Addresses[0] == "" {
		t.Fatal(`set FIOLAT_TEST_ES to the URL of an Elasticsearch: eval "$(scripts/elasticsearch up)"`)
	}
	if ca := os.Getenv("FIOLAT_TEST_ES_CA"); ca != "" {
		cfg.CACert = []byte(mustRead(t, ca))
	}
	if file := os.Getenv("FIOLAT_TEST_ES_PASSWORD_FILE"); file != "" {
		cfg.Password = strings.TrimSpace(mustRead(t, file))
	}
	return cfg
}

// wipe removes everything of a prefix.
func wipe(c *client.Client, prefix string) {
	ctx := context.Background()
	var found map[string]any
	_ = c.Call(ctx, client.Request{Op: "list", Method: "GET", Path: "/" + prefix + "-*/_alias"}, &found)
	for name := range found {
		_ = c.Call(ctx, client.Request{Op: "wipe", Method: "DELETE", Path: client.Path(name)}, nil)
	}
	for _, k := range esmodel.Kinds {
		_ = c.Call(
			ctx,
			client.Request{Op: "wipe", Method: "DELETE", Path: "/_index_template/" + prefix + "-" + string(k)},
			nil,
		)
	}
	_ = c.Call(ctx, client.Request{Op: "wipe", Method: "DELETE", Path: "/_ilm/policy/" + prefix}, nil)
}

// stored are all documents of a prefix by index and id.
func storedDocs(t *testing.T, c *client.Client, prefix string) map[string]json.RawMessage {
	t.Helper()
	var reply struct {
		Hits struct {
			Hits []client.Hit `json:"hits"`
		} `json:"hits"`
	}
	if err := c.Call(
		t.Context(),
		client.Request{Op: "read all", Method: "POST", Path: "/" + prefix + "-*/_search?size=10000"},
		&reply,
	); err != nil {
		t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for _, h := range reply.Hits.Hits {
		out[h.Index+"/"+h.ID] = h.Source
	}
	return out
}

// saysStatus reports whether one of the documents is that of a run with this status.
func saysStatus(docs map[string]json.RawMessage, status esmodel.Status) bool {
	for _, doc := range docs {
		if strings.Contains(string(doc), `"status":"`+string(status)+`"`) {
			return true
		}
	}
	return false
}

func sameStored(t *testing.T, got, want map[string]json.RawMessage) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d documents, want %d", len(got), len(want))
	}
	for k, v := range want {
		if string(got[k]) != string(v) {
			t.Fatalf("%s is\n%.600s\nwant\n%.600s", k, got[k], v)
		}
	}
}

// Setup makes what is missing, and then finds everything as it should be.
func TestEachServerSetup(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		first, err := indices.Setup(t.Context(), c, indices.SetupOptions{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		again, err := indices.Setup(t.Context(), c, indices.SetupOptions{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		versions, err := c.Versions(t.Context())
		if err != nil || len(versions) != 1 || strings.Count(versions[0], ".") != 2 {
			t.Errorf("versions %q, %v", versions, err)
		}
		t.Logf("%q, histogram %v, lifecycle %v, warnings %q", versions, first.Histogram, first.Lifecycle, first.Warnings)
		for i, it := range first.Items {
			if it.Action != "created" || again.Items[i].Action != "unchanged" {
				t.Errorf("%s %s: %s, then %s", it.Type, it.Name, it.Action, again.Items[i].Action)
			}
		}
		if len(first.Items) < len(esmodel.Kinds) || len(first.Warnings) == 0 == !first.Histogram {
			t.Errorf("%+v", first)
		}
		there, err := indices.Templates(t.Context(), c, prefix)
		if err != nil {
			t.Fatal(err)
		}
		typ := "object"
		if first.Histogram {
			typ = "histogram"
		}
		if got := indices.Canonical(there[prefix+"-histogram"].Template); !strings.Contains(got, `"histogram":{`) ||
			!strings.Contains(got, fmt.Sprintf(`"type":%q`, typ)) {
			t.Errorf("template is %s", got)
		}
	})
}

// A run that crosses a month: each document is there as it was made, mapped as the
// table says, and nothing else.
func TestEachServerIngest(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		run := esmodeltest.Run()
		intervals := esmodeltest.Intervals(run, 30)
		sink, err := ingestRun(
			t.Context(),
			c,
			BulkConfig{Prefix: prefix, FlushBytes: 64 << 10, GzipLevel: 1},
			run,
			intervals,
		)
		if err != nil {
			t.Fatal(err)
		}
		r := sink.Report()
		leaves, rows := 29*4, 30*5
		wantCounts(t, r, Counts{Made: int64(leaves + rows + 1), Indexed: int64(leaves + rows + 1)})
		before := storedDocs(t, c, prefix)
		if len(before) != leaves+rows+1 || !saysStatus(before, esmodel.StatusComplete) {
			t.Errorf("%d documents stored, want %d, or not complete", len(before), leaves+rows+1)
		}
		e := esmodel.NewEncoder(prefix, run)
		for _, q := range intervals {
			for i := range q.Leaves {
				doc, _ := e.Histogram(nil, q, &q.Leaves[i])
				key := e.Index(esmodel.KindHistogram, q) + "/" + string(e.ID(esmodel.LeafScope, q.Leaves[i].Dims, q))
				if string(before[key]) != string(doc) {
					t.Fatalf("%s is\n%.600s\nwant\n%.600s", key, before[key], doc)
				}
			}
			for i := range q.Rows {
				doc, _ := e.Percentiles(nil, q, &q.Rows[i])
				key := e.Index(esmodel.KindPercentiles, q) + "/" + string(e.ID(q.Rows[i].Scope, q.Rows[i].Dims, q))
				if string(before[key]) != string(doc) {
					t.Fatalf("%s is\n%.600s\nwant\n%.600s", key, before[key], doc)
				}
			}
		}

		t.Run("again", func(t *testing.T) {
			if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals); err != nil {
				t.Fatal(err)
			}
			sameStored(t, storedDocs(t, c, prefix), before)
		})
		t.Run("mapping", func(t *testing.T) { checkMapped(t, c, prefix) })
		t.Run("aggregations", func(t *testing.T) { checkAggregations(t, c, prefix, intervals) })
		t.Run("another generation", func(t *testing.T) {
			other := esmodeltest.Run()
			other.Generation, other.Interval = "g2", 2e9
			next := esmodeltest.Intervals(other, 7)
			s, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, other, next)
			if err != nil {
				t.Fatal(err)
			}
			after := storedDocs(t, c, prefix)
			if want := 6*4 + 7*5 + 1; len(after) != want {
				t.Errorf("%d documents left, want %d", len(after), want)
			}
			for k, v := range after {
				if !strings.Contains(string(v), `"generation":"g2"`) {
					t.Errorf("%s is left of another generation", k)
				}
			}
			if got, want := s.Report().Total().Deleted, int64(leaves+rows); got != want {
				t.Errorf("%d deleted, want %d", got, want)
			}
		})
	})
}

// checkMapped compares every mapped field with the table.
func checkMapped(t *testing.T, c *client.Client, prefix string) {
	var reply map[string]struct {
		Mappings map[string]any `json:"mappings"`
	}
	if err := c.Call(
		t.Context(),
		client.Request{Op: "mapping", Method: "GET", Path: "/" + prefix + "-*/_mapping"},
		&reply,
	); err != nil {
		t.Fatal(err)
	}
	for index, m := range reply {
		kind, _ := esmodel.KindOf(prefix, index)
		for name, typ := range esmodeltest.LeafTypes(m.Mappings) {
			if name == "latency.histogram" && typ == "object" {
				typ = "histogram"
			}
			if typ == "object" {
				continue // stored only
			}
			f, ok := esmodel.FieldOf(kind, name)
			want := f.Type
			if want == "closed" || strings.HasSuffix(name, ".at_least") {
				want = "keyword"
			}
			if !ok || want != typ {
				t.Errorf("%s: %s is %s, table says %q %v", index, name, typ, want, ok)
			}
		}
	}
}

// checkAggregations: _doc_count makes terms count I/Os, octaves add up to the
// samples, and the sums are those of the intervals.
func checkAggregations(t *testing.T, c *client.Client, prefix string, intervals []*pipeline.Interval) {
	samples := map[string]float64{}
	for _, q := range intervals {
		for _, l := range q.Leaves {
			samples[l.Dims.Host] += l.Hist.Sum()
		}
	}
	var reply struct {
		Aggregations struct {
			Hosts struct {
				Buckets []struct {
					Key     string
					Count   int64 `json:"doc_count"`
					Samples struct{ Value float64 }
				}
			}
		}
	}
	err := c.Call(
		t.Context(),
		client.Request{Op: "aggregate", Method: "POST", Path: "/" + prefix + "-histogram-*/_search", Body: []byte(
			`{"size":0,"aggs":{"hosts":{"terms":{"field":"host.name"},` +
				`"aggs":{"samples":{"sum":{"field":"samples"}}}}}}`,
		)},
		&reply,
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Aggregations.Hosts.Buckets) != 2 {
		t.Errorf("%+v", reply)
	}
	for _, b := range reply.Aggregations.Hosts.Buckets {
		// Each of a host's two leaves is rounded for itself.
		if math.Abs(float64(b.Count)-samples[b.Key]) > 2 ||
			math.Abs(b.Samples.Value-samples[b.Key]) > 1e-6*samples[b.Key] {
			t.Errorf("%s: %d I/Os, samples %v, want %v", b.Key, b.Count, b.Samples.Value, samples[b.Key])
		}
	}
	// Labels, options and settings can be searched for.
	for _, q := range []string{`{"term":{"labels.b.c":"2"}}`, `{"term":{"fio.options.bs":"4k"}}`,
		`{"term":{"fio.options.a.b":"1"}}`, `{"term":{"settings.align":""}}`,
		`{"range":{"summary.all.p99":{"gt":0}}}`, `{"term":{"account.documents.made":267}}`} {
		var n struct{ Count int }
		if err := c.Call(
			t.Context(),
			client.Request{
				Op:     "count",
				Method: "POST",
				Path:   "/" + prefix + "-run/_count",
				Body:   []byte(`{"query":` + q + `}`),
			},
			&n,
		); err != nil ||
			n.Count != 1 {
			t.Errorf("%s finds %d: %v", q, n.Count, err)
		}
	}
}

// A document that the mapping refuses is counted, named and kept; the run is
// partial, and when the mapping takes it the file finishes the run.
func TestEachServerRefused(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		if _, err := indices.Setup(t.Context(), c, indices.SetupOptions{Prefix: prefix}); err != nil {
			t.Fatal(err)
		}
		run := esmodeltest.Run()
		intervals := esmodeltest.Intervals(run, 8)
		dir := t.TempDir()
		w, err := NewBulkWriter(c, BulkConfig{Prefix: prefix, SpoolDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		bad := &badWriter{BulkWriter: w}
		s := NewSink(bad, SinkOptions{Prefix: prefix})
		err = s.Close(t.Context(), drive(t.Context(), s, run, intervals))
		var incomplete *IncompleteError
		if !errors.As(err, &incomplete) {
			t.Fatalf("error %v", err)
		}
		// A run that is not complete ends without a refresh.
		refresh := client.Request{Op: "refresh", Method: "POST", Path: "/" + prefix + "-run/_refresh"}
		if err := c.Call(t.Context(), refresh, nil); err != nil {
			t.Fatal(err)
		}
		r := s.Report()
		if r.Total().Refused != 1 || len(r.Refusals) != 1 || r.Refusals[0].Status != 400 ||
			r.Refusals[0].ID != bad.id || !saysStatus(storedDocs(t, c, prefix), esmodel.StatusPartial) {
			t.Errorf("%+v, or not partial", r)
		}
		t.Log(err)
		kept := mustRead(t, r.RefusedFile)
		if !strings.Contains(kept, bad.id) || !strings.Contains(kept, `"_error":{"status":400,`) {
			t.Errorf("kept %s", kept)
		}
		// Repaired by hand, it can be loaded, and that completes the run.
		if err := os.WriteFile(
			r.RefusedFile,
			[]byte(strings.ReplaceAll(kept, `"not a number"`, "1")),
			0o600,
		); err != nil {
			t.Fatal(err)
		}
		l, err := Load(t.Context(), c, []string{dir}, LoadOptions{Prefix: prefix})
		if err != nil || len(l.Complete) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		docs := storedDocs(t, c, prefix)
		if got := string(
			docs[prefix+"-run/"+esmodel.RunDocID(run.ID, "", "clat")],
		); !strings.Contains(got, `"status":"complete"`) ||
			len(docs) != 7*4+8*5+1 {
			t.Errorf("%d documents, run %s", len(docs), got)
		}
	})
}

// badWriter spoils the tenth document.
type badWriter struct {
	*BulkWriter
	n  int
	id string
}

func (b *badWriter) Make(ctx context.Context, index string, id []byte, doc Appender) error {
	if b.n++; b.n == 10 {
		b.id = string(id)
		text, err := doc(nil)
		if err != nil {
			return err
		}
		doc = prebuilt([]byte(strings.Replace(string(text), `"samples":`, `"samples":"not a number","was":`, 1)))
	}
	return b.BulkWriter.Make(ctx, index, id, doc)
}

// The same documents by way of a directory.
func TestEachServerLoadDirectory(t *testing.T) {
	clusters(t, func(t *testing.T, c *client.Client, prefix string) {
		run := esmodeltest.Run()
		intervals := esmodeltest.Intervals(run, 12)
		dir := filepath.Join(t.TempDir(), "out")
		w, err := NewDirWriter(dir, prefix)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSink(w, SinkOptions{Prefix: prefix})
		if err := s.Close(t.Context(), drive(t.Context(), s, run, intervals)); err != nil {
			t.Fatal(err)
		}
		l, err := Load(t.Context(), c, []string{dir}, LoadOptions{Prefix: prefix})
		if err != nil || len(l.Complete) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		loaded := storedDocs(t, c, prefix)
		if _, err := ingestRun(t.Context(), c, BulkConfig{Prefix: prefix}, run, intervals); err != nil {
			t.Fatal(err)
		}
		sameStored(t, loaded, storedDocs(t, c, prefix))
	})
}
