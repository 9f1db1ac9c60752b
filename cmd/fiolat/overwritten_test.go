package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fiolat/esmodel/esmodeltest"
)

// What a killed ingest has sent may reach Elasticsearch after the next one has stored its documents. That one finds
// too few of its own, and takes the logs once more. Logs from a pipe it cannot.
func TestOverwritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		times    int // that documents are overwritten before they are counted
		pipe     bool
		code     int
		complete string
	}{
		"once":            {1, false, exitOK, "complete"},
		"once, a pipe":    {1, true, exitIncomplete, "partial"},
		"again and again": {9, false, exitIncomplete, "partial"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := esmodeltest.New(t, esmodeltest.Options{})
			var counted sync.Mutex
			times := tt.times
			to, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			forward := httputil.NewSingleHostReverseProxy(to)
			late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "histogram") && strings.HasSuffix(r.URL.Path, "/_count") {
					counted.Lock()
					if times--; times >= 0 {
						overwrite(t, s)
					}
					counted.Unlock()
				}
				forward.ServeHTTP(w, r)
			}))
			defer late.Close()
			log := real + "/gaps/gaps_clat_hist.1.log"
			if tt.pipe {
				log = filepath.Join(t.TempDir(), "gaps_clat_hist.1.log")
				if err := syscall.Mkfifo(log, 0o600); err != nil {
					t.Fatal(err)
				}
				go func() {
					if f, err := os.OpenFile(log, os.O_WRONLY, 0); err == nil {
						f.Write(goodLog(t))
						f.Close()
					}
				}()
			}
			code, _, stderr := fiolat(t, nil, "ingest", "--es", late.URL, "--output", t.TempDir(), "--run-id", "r",
				"--start", "2026-01-01T00:00:00Z", log)
			unfinished(t, s, tt.complete)
			again := strings.Count(stderr, "it is ingested once more")
			if code != tt.code || again != map[bool]int{false: 1}[tt.pipe] ||
				tt.code != exitOK && !strings.Contains(stderr, "replaced them; run again") {
				t.Errorf("exit %d, want %d\n%s", code, tt.code, stderr)
			}
			for _, d := range s.Docs("fio-histogram-*") {
				if tt.code == exitOK && fmt.Sprint(d.Fields["run.generation"]) == "late" {
					t.Errorf("%s is of the other ingest", d.ID)
				}
			}
		})
	}
}

// overwrite stores a histogram anew as one of another generation.
func overwrite(t *testing.T, s *esmodeltest.Server) {
	docs := s.Docs("fio-histogram-*")
	if len(docs) == 0 {
		t.Error("no documents to overwrite")
		return
	}
	d := docs[0]
	source := bytes.ReplaceAll(d.Source, fmt.Appendf(nil, "%q", d.Fields["run.generation"]), []byte(`"late"`))
	body := fmt.Sprintf("{\"index\":{\"_index\":%q,\"_id\":%q}}\n%s\n", d.Index, d.ID, source)
	res, err := http.Post(s.URL+"/_bulk?refresh=true", "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
}
