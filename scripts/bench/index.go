package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	pythonClient = "elasticsearch==8.19.1"
	esPort       = "BENCH_ES_PORT" // environment variable of the server's port; default 9290
)

//go:embed parallel_bulk.py
var parallelBulk []byte

// posting is a real Elasticsearch and documents to post to it.
type posting struct {
	b     *bench
	url   string
	files []string // *.ndjson
	bytes int64
	docs  int64
	run   []string // arguments of fiolat ingest for the same documents
}

// newPosting starts a server and makes documents. The caller must call down.
func newPosting(ctx context.Context, b *bench) (p *posting, down func(), err error) {
	set, err := b.set()
	if err != nil {
		return nil, nil, err
	}
	p = &posting{b: b}
	stop, err := p.up(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	p.run = append([]string{"--run-id", "bench", "--start", "2026-03-01T12:00:00Z", "--by", "direction,log",
		"--interval", "1s", "--log-format", "json"}, set.plain...)
	dir := filepath.Join(b.dir, "documents")
	if _, err = output(ctx, append([]string{b.fiolat, "ingest", "--output", dir}, p.run...)...); err != nil {
		return nil, nil, err
	}
	if p.files, err = filepath.Glob(filepath.Join(dir, "*.ndjson")); err != nil {
		return nil, nil, err
	}
	for _, name := range p.files {
		var n int
		if n, err = lines(name); err != nil {
			return nil, nil, err
		}
		p.docs += int64(n / 2)
	}
	p.bytes = size(p.files)
	fmt.Fprintf(os.Stderr, "%d documents, %d MB\n", p.docs, p.bytes>>20)
	_, err = output(ctx, b.fiolat, "setup", "--es", p.url)
	return p, stop, err
}

// up starts a server. The caller must call down.
func (p *posting) up(ctx context.Context) (down func(), err error) {
	port := cmp.Or(os.Getenv(esPort), "9290")
	// The server must stop even if the context has ended.
	down = func() {
		_, _ = output(context.WithoutCancel(ctx), "scripts/elasticsearch", "down", "--port", port)
	}
	p.url = "http://127.0.0.1:" + port
	if _, err = output(ctx, "scripts/elasticsearch", "up", "--port", port); err != nil {
		down()
		return nil, err
	}
	return down, nil
}

// sends returns a contender that fills an empty server with the documents.
func (p *posting) sends(name string, args ...string) contender {
	return contender{name: name, args: args, docs: p.docs, before: p.empty, after: p.arrived,
		env: []string{"ELASTICSEARCH_URL=" + p.url}}
}

// refresh is the path of the request that makes documents searchable.
const refresh = "/fio-*/_refresh"

// posts returns the bare poster as a contender. With seen it also waits until its documents are searchable.
func (p *posting) posts(name string, seen bool) contender {
	args := []string{p.b.self, "post", "-url", p.url}
	if seen {
		return p.sends(name, append(append(args, "-refresh", refresh), p.files...)...)
	}
	c := p.sends(name, append(args, p.files...)...)
	c.after = func(stdout string) error {
		return errors.Join(p.call(context.Background(), http.MethodPost, refresh, nil), p.arrived(stdout))
	}
	return c
}

// index compares fiolat with plain senders of the same documents to the same server, from an empty server until all
// are searchable. Meanwhile fiolat also reads the logs, makes the documents and verifies each of them and the run; the
// others send documents that are already made. The poster that does not wait shows the cost of making them searchable.
func index(ctx context.Context, b *bench) ([]result, error) {
	p, down, err := newPosting(ctx, b)
	if err != nil {
		return nil, err
	}
	defer down()
	python, err := venv(ctx)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(b.dir, "parallel_bulk.py")
	if err = os.WriteFile(script, parallelBulk, 0o600); err != nil {
		return nil, err
	}
	if err = p.warm(ctx); err != nil {
		return nil, err
	}
	bare := p.posts("bare _bulk poster in Go, 4 x 4 MiB", true)
	bare.want = timesAs(0.9)
	unseen := p.posts("the same, but its documents not yet found by searches", false)
	helper := p.sends("Python's helpers.parallel_bulk", append([]string{python, script, p.url}, p.files...)...)
	helper.want = func(r result, _ []result) (string, bool) { return "more than 1 times", r.ratio > 1 }
	return b.more(2).race(ctx, p.sends("fiolat ingest", append([]string{b.fiolat, "ingest"}, p.run...)...), bare,
		unseen, helper)
}

// warm warms up the server's JIT compiler.
func (p *posting) warm(ctx context.Context) error {
	for range 3 {
		c := p.posts("warm up", false)
		if _, err := p.b.time(ctx, &c); err != nil {
			return err
		}
	}
	return nil
}

// empty removes all documents and keeps what setup makes: the templates and the index of runs.
func (p *posting) empty(ctx context.Context) error {
	var indices []struct{ Index string }
	if err := p.call(ctx, http.MethodGet, "/_cat/indices/fio-*?format=json", &indices); err != nil {
		return err
	}
	for _, ix := range indices {
		if err := p.call(ctx, http.MethodDelete, "/"+ix.Index, nil); err != nil {
			return err
		}
	}
	return p.call(ctx, http.MethodPut, "/fio-run", nil)
}

// arrived checks that all documents are searchable.
func (p *posting) arrived(string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var count struct{ Count int64 }
	err := p.call(ctx, http.MethodGet, "/fio-*/_count", &count)
	if err == nil && count.Count != p.docs {
		err = fmt.Errorf("%d documents are in Elasticsearch, want %d", count.Count, p.docs)
	}
	return err
}

func (p *posting) call(ctx context.Context, method, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, bytes.TrimSpace(data))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// venv returns the interpreter of a Python virtual environment with Elasticsearch's client. It makes the environment if
// needed.
func venv(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "fiolat", "bench-venv")
	python, stamp := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "fiolat-pins")
	if made, readErr := os.ReadFile(stamp); readErr == nil && string(made) == pythonClient {
		return python, nil
	}
	base := cmp.Or(os.Getenv("PYTHON"), "python3")
	for _, args := range [][]string{{base, "-m", "venv", "--clear", dir}, {python, "-m", "pip", "install", "--quiet",
		"--disable-pip-version-check", pythonClient}} {
		if _, err = output(ctx, args...); err != nil {
			return "", err
		}
	}
	// Written last, so that an interrupted installation is repeated.
	return python, os.WriteFile(stamp, []byte(pythonClient), 0o600)
}
