package fiolat_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat"
	"fiolat/esmodel/client"
	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/kibana"
	"fiolat/pipeline"
	"fiolat/pipeline/live"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// TestZeroValues: the zero value of each public configuration is its default, or refused with an error that says what
// is missing.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	const logs = "testdata/fio/epoch"
	_, es := clienttest.StandIn(t)
	redirects := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	defer redirects.Close()
	writeTo := func(o delivery.SinkOptions) error {
		w, err := delivery.NewDirWriter(t.TempDir(), "")
		if err != nil {
			return err
		}
		sink := delivery.NewSink(w, o)
		return sink.Close(t.Context(), fiolat.Pipeline(t.Context(), plan.Config{Settings: fio.Defaults()}, sink, logs))
	}
	of := map[string][]struct {
		name string
		do   func() error
		want string // in the error; "": there is none
	}{
		"pipeline/plan.Config": {{"no settings", func() error {
			return fiolat.Pipeline(t.Context(), plan.Config{}, pipeline.Discard{}, logs)
		}, "begin with fio.Defaults()"}, {"defaults", func() error {
			return fiolat.Pipeline(t.Context(), plan.Config{Settings: fio.Defaults()}, pipeline.Discard{}, logs)
		}, ""}},
		"pipeline/live.Config": {{"nothing", func() error {
			_, err := live.New(live.Config{}, pipeline.Discard{})
			return err
		}, "the interval must be given"}, {"only an interval", func() error {
			_, err := live.New(live.Config{Settings: fio.Settings{Interval: time.Second}}, pipeline.Discard{})
			return err
		}, "begin with fio.Defaults()"}},
		"pipeline/replay.Options": {{"all of the run", func() error {
			run := &pipeline.Run{Settings: fio.Defaults(), Interval: 1e9}
			none := func(context.Context, func(replay.Leaf) error) error { return nil }
			r := replay.Part(&replay.Stored{Run: run}, none)
			_, err := r.Process(t.Context(), replay.Options{}, pipeline.Discard{})
			return err
		}, ""}},
		"ingest.DiscoverOptions": {{"histogram logs", func() error {
			_, err := ingest.Discover([]string{logs}, ingest.DiscoverOptions{})
			return err
		}, ""}},
		"ingest/fiolog.ReaderOptions": {{"a histogram log", func() error {
			f, err := os.Open(logs + "/epoch_clat_hist.1.log")
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err = fiolog.NewReader(f, "log", fiolog.ReaderOptions{}).Next(); errors.Is(err, io.EOF) {
				t.Error("no records")
			}
			return err
		}, ""}},
		"esmodel/client.Config": {{"no address", func() error {
			_, err := client.New(client.Config{})
			return err
		}, "no address of Elasticsearch"}},
		"esmodel/delivery.BulkConfig": {{"defaults", func() error {
			w, err := delivery.NewBulkWriter(es, delivery.BulkConfig{})
			if err == nil {
				err = w.Close(t.Context(), true)
			}
			return err
		}, ""}},
		"esmodel/delivery.SinkOptions": {{"all documents", func() error {
			return writeTo(delivery.SinkOptions{})
		}, ""}},
		"esmodel/delivery.LoadOptions": {{"no files", func() error {
			_, err := delivery.Load(t.Context(), es, nil, delivery.LoadOptions{})
			return err
		}, "no files"}},
		"esmodel/indices.SetupOptions": {{"defaults", func() error {
			_, err := indices.Setup(t.Context(), es, indices.SetupOptions{})
			return err
		}, ""}},
		"kibana.Config": {{"no address", func() error {
			_, err := kibana.Import(t.Context(), kibana.Config{}, "")
			return err
		}, "the address of Kibana is not the URL of a server"}, {"no HTTP client", func() error {
			_, err := kibana.Import(t.Context(), kibana.Config{URL: redirects.URL}, "")
			return err
		}, "redirects to"}},
	}
	for config, cases := range of {
		for _, tt := range cases {
			switch err := tt.do(); {
			case err == nil && tt.want != "", err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: %s: %v, want %q", config, tt.name, err, tt.want)
			}
		}
	}
	notImported := []string{"analysis", "report", "internal", "scripts", "testdata", "cmd", "esmodeltest"}
	declared := regexp.MustCompile(`(?m)^type ([A-Z]\w*)?(Config|Options) struct`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && slices.Contains(notImported, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			name := filepath.Dir(path) + "." + string(m[1]) + string(m[2])
			// What plan.Prepare makes of its own configuration is not for callers.
			if of[name] == nil && name != "pipeline/logs.Config" {
				t.Errorf("%s is not tried", name)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
