package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// history measures fiolat history over a thousand nightly runs in Elasticsearch and counts the requests.
func history(ctx context.Context, b *bench) ([]result, error) {
	const runs, most = 1000, 10
	p := &posting{b: b}
	down, err := p.up(ctx)
	if err != nil {
		return nil, err
	}
	defer down()
	_, err = output(ctx, b.fiolat, "ingest", "--es", p.url, "--run-id", "pattern", "testdata/fio/randrw")
	if err != nil {
		return nil, err
	}
	name := filepath.Join(b.dir, "history.ndjson")
	if err = p.nights(ctx, name, runs); err != nil {
		return nil, err
	}
	if _, err = output(ctx, b.self, "post", "-url", p.url, "-refresh", refresh, name); err != nil {
		return nil, err
	}
	server, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	var requests atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		requests.Add(1)
		r.SetURL(server)
	}}
	counting := httptest.NewServer(proxy)
	defer counting.Close()
	return b.race(ctx, contender{
		name: fmt.Sprintf("fiolat history, %d runs in Elasticsearch, at most %d requests", runs, most),
		args: []string{b.fiolat, "history", "--es", counting.URL, "--label", "series=nightly", "--format", "json"},
		before: func(context.Context) error {
			requests.Store(0)
			return nil
		},
		after: func(stdout string) error {
			if n := requests.Load(); n < 1 || n > most {
				return fmt.Errorf("%d requests, want at most %d", n, most)
			}
			return allRuns(stdout, runs)
		},
		want: func(r result, _ []result) (string, bool) {
			return "at most 5 s and 256 MB", r.wall <= 5*time.Second && r.highest <= 256
		},
	})
}

// nights writes documents of runs derived from the stored one: latencies vary by 5 % (one standard deviation) and are
// 20 % higher from the 701st run on.
func (p *posting) nights(ctx context.Context, name string, runs int) error {
	var found struct {
		Hits struct {
			Hits []struct {
				Source json.RawMessage `json:"_source"`
			}
		}
	}
	for _, step := range []struct{ method, path string }{
		{http.MethodPost, refresh}, {http.MethodGet, "/fio-run/_search?q=run.id:pattern"},
	} {
		if err := p.call(ctx, step.method, step.path, &found); err != nil {
			return err
		}
	}
	if len(found.Hits.Hits) != 1 {
		return fmt.Errorf("%d documents of the run, want 1", len(found.Hits.Hits))
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	out := json.NewEncoder(f)
	draw := rand.New(rand.NewPCG(1, 1))
	for i := range runs {
		var doc map[string]any
		if err := json.Unmarshal(found.Hits.Hits[0].Source, &doc); err != nil {
			return err
		}
		id := fmt.Sprintf("night-%04d", i)
		start := time.Date(2023, 1, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, i).Format(time.RFC3339)
		run := doc["run"].(map[string]any)
		run["id"], run["name"], run["start"], run["labels"] = id, id, start, []string{"series=nightly"}
		doc["@timestamp"], doc["labels"] = start, map[string]string{"series": "nightly"}
		factor := math.Exp(0.05 * draw.NormFloat64())
		if i >= 700 {
			factor *= 1.2
		}
		for _, whole := range doc["whole"].(map[string]any) {
			index := whole.(map[string]any)["index"].([]any)
			for k, bucket := range index { // 64 buckets are a factor of 2
				index[k] = min(max(math.Round(bucket.(float64)+64*math.Log2(factor)), 0), 1855)
			}
		}
		for _, line := range []any{map[string]any{"index": map[string]string{"_index": "fio-run", "_id": id}}, doc} {
			if err := out.Encode(line); err != nil {
				return err
			}
		}
	}
	return f.Close()
}

// allRuns checks that each series of a history has so many runs.
func allRuns(stdout string, runs int) error {
	f, err := os.Open(stdout)
	if err != nil {
		return err
	}
	defer f.Close()
	in := json.NewDecoder(f)
	for n := 0; ; n++ {
		var series struct{ Runs []json.RawMessage }
		switch err := in.Decode(&series); {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return err
		case len(series.Runs) != runs:
			return fmt.Errorf("a series of %d runs, want %d", len(series.Runs), runs)
		}
	}
}
