package delivery

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// ingestPart ingests a part of the run.
func ingestPart(t *testing.T, c *client.Client, part, generation string) error {
	run := esmodeltest.Run()
	run.Part, run.Generation = part, generation
	_, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 4))
	return err
}

// mergeParts does what a merge does with its sink, of the parts a and b in the generation of the same name.
func mergeParts(t *testing.T, c *client.Client) error {
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	run := esmodeltest.Run()
	run.Generation, run.Parts = "merged", []pipeline.Part{{Name: "a", Generation: "a"}, {Name: "b", Generation: "b"}}
	sink := NewSink(w, SinkOptions{RowsOnly: true})
	return sink.Close(t.Context(), drive(t.Context(), sink, run, esmodeltest.Intervals(run, 4)))
}

// parts returns a server with the parts a and b of the run.
func parts(t *testing.T) (*esmodeltest.Server, *client.Client) {
	t.Helper()
	s, c := standIn(t)
	for _, part := range []string{"a", "b"} {
		if err := ingestPart(t, c, part, part); err != nil {
			t.Fatal(err)
		}
	}
	return s, c
}

// A run is stored as a whole or in parts. What would store its I/Os twice is refused before anything is sent, and
// leaves what is there as it was; so it is if it is loaded.
func TestWholeBesideParts(t *testing.T) {
	whole := func(t *testing.T, c *client.Client) error {
		_, err := ingestRun(t.Context(), c, BulkConfig{}, esmodeltest.Run(), esmodeltest.Intervals(esmodeltest.Run(),
			4))
		return err
	}
	part := func(t *testing.T, c *client.Client) error { return ingestPart(t, c, "a", "a") }
	loadPart := func(t *testing.T, c *client.Client) error {
		dir := t.TempDir()
		if _, err := dirRun(t, dir, "r/1", "b", "b", 4, nil); err != nil {
			t.Fatal(err)
		}
		_, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
		return err
	}
	for name, tt := range map[string]struct {
		first, second func(*testing.T, *client.Client) error
		merged        bool
		says          string
	}{
		"a part after a whole":        {whole, part, false, "the run is stored as a whole"},
		"a loaded part after a whole": {whole, loadPart, false, "the run is stored as a whole"},
		"a whole after a part":        {part, whole, false, "the run is stored in 1 part (a)"},
		"a whole after a merge":       {part, whole, true, "the run is stored in 2 parts (a, b)"},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := standIn(t)
			if tt.merged {
				s, c = parts(t)
				if err := mergeParts(t, c); err != nil {
					t.Fatal(err)
				}
			} else if err := tt.first(t, c); err != nil {
				t.Fatal(err)
			}
			before := esmodeltest.Contents(s)
			err := tt.second(t, c)
			if !errors.As(err, new(*fio.ParseError)) || !strings.Contains(err.Error(), tt.says) ||
				!strings.Contains(err.Error(), "--run-id") || !strings.Contains(err.Error(), "fiolat delete r/1") {
				t.Errorf("%v", err)
			}
			esmodeltest.EqualContents(t, esmodeltest.Contents(s), before)
		})
	}
}

// wholeRun returns the status of the merged run, and whether it is marked.
func wholeRun(t *testing.T, s *esmodeltest.Server) (status string, marked bool) {
	t.Helper()
	for _, d := range s.Docs("fio-run") {
		if d.Fields["run.part"] == nil {
			var doc struct {
				Run   struct{ Status string }
				Owner *esmodel.Owner
			}
			if err := json.Unmarshal(d.Source, &doc); err != nil {
				t.Fatal(err)
			}
			return doc.Run.Status, doc.Owner != nil
		}
	}
	return "", false
}

// A merged run is partial before anything of a part is sent, until it is merged again.
func TestPartAfterMerge(t *testing.T) {
	for name, write := range map[string]func(*testing.T, *client.Client) error{
		"ingested again":         func(t *testing.T, c *client.Client) error { return ingestPart(t, c, "a", "other") },
		"in the same generation": func(t *testing.T, c *client.Client) error { return ingestPart(t, c, "a", "a") },
		"a new part":             func(t *testing.T, c *client.Client) error { return ingestPart(t, c, "new", "new") },
		"loaded": func(t *testing.T, c *client.Client) error {
			dir := t.TempDir()
			if _, err := dirRun(t, dir, "r/1", "b", "b", 4, nil); err != nil {
				t.Fatal(err)
			}
			_, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := parts(t)
			if err := mergeParts(t, c); err != nil {
				t.Fatal(err)
			}
			if status, _ := wholeRun(t, s); status != "complete" {
				t.Fatalf("merged, and %s", status)
			}
			first := ""
			late := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: &delayed{
				RoundTripper: http.DefaultTransport,
				match:        func(r *http.Request) bool { return bulkOf(r, "histogram") },
				act:          func() { first, _ = wholeRun(t, s) },
			}})
			if err := write(t, late); err != nil {
				t.Fatal(err)
			}
			if status, marked := wholeRun(t, s); first != "partial" || status != "partial" || marked {
				t.Errorf("%q when the first leaves were sent, then %s, marked: %v", first, status, marked)
			}
			err := mergeParts(t, c)
			if status, _ := wholeRun(t, s); name != "ingested again" && (err != nil || status != "complete") {
				t.Errorf("merged again: %s, %v", status, err)
			}
		})
	}
}

// A part that is ingested again while its run is merged, at whatever point, leaves no complete run.
func TestMergeBesideIngest(t *testing.T) {
	for name, match := range map[string]func(*http.Request) bool{
		"marks the run":   func(r *http.Request) bool { return bulkOf(r, "run") },
		"sends documents": func(r *http.Request) bool { return bulkOf(r, "percentiles") },
		"counts":          func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_count") },
		"ends the run":    func(r *http.Request) bool { return r.ContentLength > 3000 && bulkOf(r, "run") },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := parts(t)
			held := &delayed{RoundTripper: http.DefaultTransport, match: match}
			held.act = func() {
				if err := ingestPart(t, c, "a", "other"); err != nil {
					t.Error(err)
				}
			}
			err := mergeParts(t, testClient(t, client.Config{Addresses: []string{s.URL}, Transport: held}))
			var fault *fio.ParseError
			if !held.acted.Load() || !errors.As(err, &fault) && !errors.As(err, new(*indices.MarkError)) {
				t.Errorf("merge: %v", err)
			}
			if status, marked := wholeRun(t, s); status != "partial" || marked {
				t.Errorf("the run is %s, marked: %v", status, marked)
			}
		})
	}
}

// The documents of a merge that are loaded after a part was ingested again leave no complete run; together with
// those of its parts they do.
func TestLoadOfAMerge(t *testing.T) {
	dir := t.TempDir()
	for _, part := range []string{"a", "b"} {
		if _, err := dirRun(t, dir, "r/1", part, part, 4, nil); err != nil {
			t.Fatal(err)
		}
	}
	out, err := NewDirWriter(dir, "fio")
	if err != nil {
		t.Fatal(err)
	}
	run := esmodeltest.Run()
	run.Generation, run.Parts = "merged", []pipeline.Part{{Name: "a", Generation: "a"}, {Name: "b", Generation: "b"}}
	sink := NewSink(out, SinkOptions{RowsOnly: true})
	if err = sink.Close(t.Context(), drive(t.Context(), sink, run, esmodeltest.Intervals(run, 4))); err != nil {
		t.Fatal(err)
	}
	s, c := standIn(t)
	if _, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if status, _ := wholeRun(t, s); status != "complete" {
		t.Errorf("loaded with its parts: %s", status)
	}
	if err := ingestPart(t, c, "a", "other"); err != nil {
		t.Fatal(err)
	}
	merged, err := filepath.Glob(filepath.Join(dir, "fio-*.r%2F1.ndjson"))
	if err != nil || len(merged) < 2 {
		t.Fatal(merged, err)
	}
	_, err = Load(t.Context(), c, merged, LoadOptions{})
	if status, marked := wholeRun(t, s); err == nil || status != "partial" || marked {
		t.Errorf("%v; the run is %s, marked: %v", err, status, marked)
	}
}
