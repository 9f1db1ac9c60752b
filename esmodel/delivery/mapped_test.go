package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/esmodel/stored"
	"fiolat/fio"
)

// otherTemplate makes indices of a pattern with run.id as text.
func otherTemplate(t *testing.T, c *client.Client, pattern string) {
	t.Helper()
	body := esmodel.MustJSON(
		map[string]any{"index_patterns": []string{pattern}, "priority": 1000, "template": map[string]any{
			"mappings": map[string]any{
				"properties": map[string]any{
					"run": map[string]any{"properties": map[string]any{"id": map[string]any{"type": "text"}}},
				},
			},
		}},
	)
	if err := c.Call(
		t.Context(),
		client.Request{Method: http.MethodPut, Path: "/_index_template/other", Body: body},
		nil,
	); err != nil {
		t.Fatal(err)
	}
}

// Where another template maps run.id as text, nothing is written and nothing deleted,
// whether its indices are there already or would be made.
func TestMappingIsChecked(t *testing.T) {
	put := func(t *testing.T, c *client.Client, index string) {
		t.Helper()
		if err := c.Call(t.Context(), client.Request{Method: http.MethodPut, Path: "/" + index}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, act := range map[string]func(*testing.T, *client.Client) error{
		"ingest, index there": func(t *testing.T, c *client.Client) error {
			put(t, c, "fio-percentiles-2020.01")
			_, err := ingestRun(t.Context(), c, BulkConfig{}, esmodeltest.Run(),
				esmodeltest.Intervals(esmodeltest.Run(), 3))
			return err
		},
		"ingest, index not there": func(t *testing.T, c *client.Client) error {
			_, err := ingestRun(t.Context(), c, BulkConfig{}, esmodeltest.Run(),
				esmodeltest.Intervals(esmodeltest.Run(), 3))
			return err
		},
		"ingest, index of a month not there": func(t *testing.T, c *client.Client) error {
			otherTemplate(t, c, "fio-percentiles-2026.08") // in place of the one for all months
			_, err := ingestRun(t.Context(), c, BulkConfig{}, esmodeltest.Run(),
				esmodeltest.Intervals(esmodeltest.Run(), 3))
			return err
		},
		"delete": func(t *testing.T, c *client.Client) error {
			put(t, c, "fio-percentiles-2020.01")
			_, err := stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1")
			return err
		},
		"load": func(t *testing.T, c *client.Client) error {
			put(t, c, "fio-percentiles-2020.01")
			dir := t.TempDir()
			if _, err := dirRun(t, dir, "r/1", "", "g1", 3, nil); err != nil {
				t.Fatal(err)
			}
			_, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := standIn(t)
			otherTemplate(t, c, "fio-percentiles-*")
			err := act(t, c)
			var bad *indices.MappingError
			if !errors.As(err, &bad) || !strings.HasPrefix(bad.Index, "fio-percentiles-") ||
				!strings.Contains(err.Error(), "run.id is text where fiolat needs keyword") {
				t.Errorf("%v", err)
			}
			if n := len(s.Docs("fio-percentiles-*")); n != 0 {
				t.Errorf("%d documents were written", n)
			}
			for range s.Docs("fio-run") { // if there is one: it was marked before this was known
				if runStatus(t, s) != "partial" || ownerIn(t, s) != nil {
					t.Errorf("the run is %s, marked by %v", runStatus(t, s), ownerIn(t, s))
				}
			}
		})
	}
}

// An alias in place of a month's index is written through if its documents will be found, else nothing is sent.
func TestAlias(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name    string
		indices map[string]*bool
		want    string
	}{
		{"one index", map[string]*bool{"archive": nil}, ""},
		{"a write index", map[string]*bool{"archive": &yes, "older": nil}, ""},
		{"no write index", map[string]*bool{"archive": nil, "older": nil},
			"fio-percentiles-2026.08 is an alias without a write index, for archive, older: set is_write_index"},
		{"not for writing", map[string]*bool{"archive": &no}, "without a write index, for archive: set"},
		{"an index that searches leave out", map[string]*bool{"fio-percentiles-2026.08-000001": &yes},
			"fio-percentiles-2026.08 is an alias for fio-percentiles-2026.08-000001, which fiolat leaves out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			if _, err := indices.Setup(t.Context(), c, indices.SetupOptions{}); err != nil {
				t.Fatal(err)
			}
			for index, write := range tt.indices {
				s.Alias("fio-percentiles-2026.08", index, write)
			}
			for range 2 { // the second replaces the documents of the first
				_, err := ingestRun(t.Context(), c, BulkConfig{}, esmodeltest.Run(),
					esmodeltest.Intervals(esmodeltest.Run(), 3))
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
			}
			stored, others := len(s.Docs("archive")), len(s.Docs("fio-histogram-*"))
			if (stored > 0) != (tt.want == "") || (others > 0) != (tt.want == "") {
				t.Errorf("%d documents behind the alias, %d others", stored, others)
			}
		})
	}
}

// An index that is deleted, and created by another template, between the check of its mapping and its first document
// makes no complete run.
func TestMappingIsCheckedAtTheEnd(t *testing.T) {
	s, c := standIn(t)
	late := &delayed{RoundTripper: http.DefaultTransport, match: func(r *http.Request) bool {
		return bulkOf(r, "percentiles")
	}, act: func() {
		otherTemplate(t, c, "fio-percentiles-*")
		for _, index := range []string{"fio-percentiles-2026.08", "fio-percentiles-2026.09"} {
			s.DropIndex(index)
			if err := c.Call(t.Context(), client.Request{Method: http.MethodPut, Path: "/" + index}, nil); err != nil {
				t.Error(err)
			}
		}
	}}
	run := esmodeltest.Run()
	_, err := ingestRun(t.Context(), testClient(t, client.Config{Addresses: []string{s.URL}, Transport: late}),
		BulkConfig{}, run, esmodeltest.Intervals(run, 9))
	if !late.acted.Load() || !errors.As(err, new(*indices.MappingError)) || runStatus(t, s) != "partial" {
		t.Errorf("%v; the run is %s", err, runStatus(t, s))
	}
}

// A query may find documents of other runs, by a normalizer say: what is deleted is what
// says itself that it is meant.
func TestOnlyWhatIsMeantIsDeleted(t *testing.T) {
	s, c := standIn(t)
	other := esmodeltest.Run()
	other.ID = "other"
	for _, run := range []string{"r/1", "other"} {
		r := esmodeltest.Run()
		r.ID = run
		if _, err := ingestRun(t.Context(), c, BulkConfig{}, r, esmodeltest.Intervals(r, 3)); err != nil {
			t.Fatal(err)
		}
	}
	theirs := esmodeltest.DocumentsOf(s, "other")
	everything := map[string]any{"match_all": map[string]any{}}
	g := indices.Generation{RunKey: esmodel.RunKey{Run: "r/1", Kind: "clat"}, Generation: "new"}
	deleted := map[string]int64{}
	if err := indices.DeleteFound(
		t.Context(),
		c,
		"delete",
		esmodel.AllIndices("fio"),
		everything,
		g.Other,
		indices.Free,
		deleted,
	); err != nil {
		t.Fatal(err)
	}
	if n := len(esmodeltest.DocumentsOf(s, "r/1")); n != 1 || len(deleted) == 0 ||
		len(esmodeltest.DocumentsOf(s, "other")) != len(theirs) {
		t.Errorf(
			"%d documents of the run, %d of the other where %d were",
			n,
			len(esmodeltest.DocumentsOf(s, "other")),
			len(theirs),
		)
	}
}

// A closed index hides what it holds: delete says so, and deletes nothing.
func TestDeleteWithAClosedIndex(t *testing.T) {
	s, c := standIn(t)
	ingested(t, c)
	before := esmodeltest.Contents(s)
	s.CloseIndex("fio-histogram-2026.08")
	if _, err := stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1"); !errors.Is(err,
		indices.ErrClosedIndex) {
		t.Errorf("%v", err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), before)
}

// A delete beside an ingest has the run, and the ingest says so; an interrupted one leaves the run partial.
func TestDeleteBesideIngest(t *testing.T) {
	s, c := standIn(t)
	intervals := esmodeltest.Intervals(esmodeltest.Run(), 9)
	sink, err := begin(t, c, BulkConfig{FlushBytes: 1})
	if err == nil {
		err = sink.Interval(t.Context(), intervals[0])
	}
	if err == nil {
		_, err = stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1")
	}
	if err != nil {
		t.Fatal(err)
	}
	err = finish(t.Context(), sink, esmodeltest.Run(), intervals[1:])
	if !errors.As(err, new(*indices.MarkError)) || len(s.Docs("*")) != 0 {
		t.Errorf("%v, %d documents", err, len(s.Docs("*")))
	}
	ingested(t, c)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	n := 0
	s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
		if n++; n == 5 {
			cancel(stop)
		}
		return 0, "", ""
	}})
	if _, err := stored.DeleteRun(ctx, c, esmodel.DefaultPrefix, "r/1"); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if runStatus(t, s) != "partial" || ownerIn(t, s) != nil {
		t.Errorf("half deleted it is %s, marked by %v", runStatus(t, s), ownerIn(t, s))
	}
	s.Heal()
	if _, err := stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1"); err != nil || len(s.Docs("*")) != 0 {
		t.Errorf("%v, %d documents are left", err, len(s.Docs("*")))
	}
}

// A note that is written while its run is deleted, at whatever point, does not remain, and whoever writes it learns it.
func TestAnnotateBesideDelete(t *testing.T) {
	scans := func(r *http.Request) bool { // all indices, after the marks
		return strings.HasSuffix(r.URL.Path, "/_pit") && strings.Contains(r.URL.Path, "histogram")
	}
	for name, tt := range map[string]struct {
		inNote bool // the delete runs while the note is held up; else the note is written while the delete is
		match  func(*http.Request) bool
	}{
		"the note comes late": {true, func(r *http.Request) bool { return r.Method == http.MethodPut }},
		"the run is marked":   {false, scans},
		"what is left is counted": {false, func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/_count")
		}},
		"the document of the run is next": {false, func() func(r *http.Request) bool {
			counts := 0
			return func(r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/_count") {
					counts++
				}
				return counts == len(esmodel.Kinds) && bulkOf(r, "run")
			}
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := standIn(t)
			ingested(t, c)
			run, err := stored.FindRun(t.Context(), c, esmodel.DefaultPrefix, "r/1")
			if err != nil {
				t.Fatal(err)
			}
			late := &delayed{RoundTripper: http.DefaultTransport, match: tt.match}
			held := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: late})
			remove := func(c *client.Client) func() {
				return func() {
					if _, err := stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1"); err != nil {
						t.Error(err)
					}
				}
			}
			annotate := func(c *client.Client) func() {
				return func() {
					note := stored.Note{Run: run, At: esmodeltest.At, Text: "late"}
					if _, err := stored.Annotate(t.Context(), c, esmodel.DefaultPrefix, note); err == nil {
						t.Error("noted")
					}
				}
			}
			if tt.inNote {
				late.act = remove(c)
				annotate(held)()
			} else {
				late.act = annotate(c)
				remove(held)()
			}
			if !late.acted.Load() {
				t.Fatal("nothing was held up")
			}
			if n := len(s.Docs("*")); n != 0 {
				t.Errorf("%d documents are left", n)
			}
		})
	}
}

// Without a document of the run its other documents are deleted all the same.
func TestDeleteOfOrphans(t *testing.T) {
	s, c := standIn(t)
	for _, part := range []string{"a", "b"} {
		run := esmodeltest.Run()
		run.Part = part
		if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 3)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range s.Docs("fio-run") {
		if err := c.Call(
			t.Context(),
			client.Request{
				Method: http.MethodPost,
				Path:   "/_bulk",
				Body:   []byte(`{"delete":{"_index":"fio-run","_id":"` + d.ID + `"}}` + "\n"),
			},
			nil,
		); err != nil {
			t.Fatal(err)
		}
	}
	deleted, err := stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1")
	if err != nil || deleted[esmodel.KindRun] != 0 || deleted[esmodel.KindHistogram] == 0 || len(s.Docs("*")) != 0 {
		t.Errorf("%v, %v; %d documents are left", deleted, err, len(s.Docs("*")))
	}
}

// What load sends retires nothing that its files do not account for, whatever somebody has
// written into the document of the run.
func TestLoadOfAnEditedRun(t *testing.T) {
	tests := []struct {
		name  string
		edit  func(run, counts map[string]any)
		alone bool // only the run's document is loaded
		bad   bool
	}{
		{"not edited", func(_, _ map[string]any) {}, false, false},
		{"not edited, alone", func(_, _ map[string]any) {}, true, false},
		{"another generation", func(run, _ map[string]any) { run["generation"] = "g9" }, false, true},
		{"another generation, alone", func(run, _ map[string]any) { run["generation"] = "g9" }, true, true},
		{
			"no documents",
			func(_, counts map[string]any) { counts["histogram"], counts["percentiles"] = 0, 0 },
			true,
			true,
		},
		{"another generation of no documents", func(run, counts map[string]any) {
			run["generation"], counts["histogram"], counts["percentiles"] = "g9", 0, 0
		}, true, true},
		{"another generation of no documents, with them", func(run, counts map[string]any) {
			run["generation"], counts["histogram"], counts["percentiles"] = "g9", 0, 0
		}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			ingested(t, c)
			before := esmodeltest.Contents(s)
			dir := t.TempDir()
			if _, err := dirRun(t, dir, "r/1", "", "g1", 9, nil); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, "fio-run.r%2F1.ndjson")
			action, text, _ := strings.Cut(mustRead(t, name), "\n")
			var doc map[string]any
			if err := json.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatal(err)
			}
			tt.edit(doc["run"].(map[string]any), doc["account"].(map[string]any)["documents"].(map[string]any))
			if err := os.WriteFile(name, []byte(action+"\n"+string(esmodel.MustJSON(doc))+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			files := []string{dir}
			if tt.alone {
				files = []string{name}
			}
			_, err := Load(t.Context(), c, files, LoadOptions{})
			var mismatch *indices.MismatchError
			var fault *fio.ParseError
			if bad := errors.As(err, &mismatch) || errors.As(err, &fault); bad != tt.bad || err != nil && !tt.bad {
				t.Errorf("%v", err)
			}
			if got := runStatus(t, s); tt.bad && got == "complete" && len(files) == 1 && !tt.alone ||
				!tt.bad && got != "complete" {
				t.Errorf("the run is %s", got)
			}
			after := esmodeltest.Contents(s)
			for _, m := range []map[string]string{before, after} {
				maps.DeleteFunc(m, func(k, _ string) bool { return strings.HasPrefix(k, "fio-run/") })
			}
			esmodeltest.EqualContents(t, after, before)
		})
	}
}

// Files of other settings, or logs, than a complete run has, without all of their documents, change nothing: it was
// ingested again since they were spooled. Others of its documents leave it complete.
func TestLoadIntoACompleteRun(t *testing.T) {
	for name, tt := range map[string]struct {
		generation string
		without    string // the beginning of a file's name
		wrong      bool
	}{
		"its own, without its document":   {"g1", "fio-run", false},
		"other, all":                      {"g2", "none", false},
		"other, without its document":     {"g2", "fio-run", true},
		"other, without its histograms":   {"g2", "fio-histogram", true},
		"other, without one month of two": {"g2", "fio-percentiles-2026.08", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := standIn(t)
			ingested(t, c)
			before := esmodeltest.Contents(s)
			dir := t.TempDir()
			if _, err := dirRun(t, dir, "r/1", "", tt.generation, 9, nil); err != nil {
				t.Fatal(err)
			}
			for _, file := range list(t, dir) {
				if strings.HasPrefix(file, tt.without) {
					if err := os.Remove(filepath.Join(dir, file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			wrote := false
			s.Inject(esmodeltest.Fault{Times: -1, Match: func(r *http.Request) bool {
				wrote = wrote || strings.HasSuffix(r.URL.Path, "/_bulk")
				return false
			}})
			_, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
			fault := errors.As(err, new(*fio.ParseError))
			if fault != tt.wrong || !tt.wrong && err != nil || wrote == tt.wrong {
				t.Errorf("%v; written: %v", err, wrote)
			}
			if runStatus(t, s) != "complete" || ownerIn(t, s) != nil {
				t.Errorf("the run is %s, marked by %v", runStatus(t, s), ownerIn(t, s))
			}
			if tt.wrong || tt.generation == "g1" {
				esmodeltest.EqualContents(t, esmodeltest.Contents(s), before)
			}
		})
	}
}

// Who may delete and not write deletes all the same, the document of the run first.
func TestDeleteWithoutWriting(t *testing.T) {
	s, c := standIn(t)
	ingested(t, c)
	first := true
	s.Inject(esmodeltest.Fault{Item: func(string, string) (int, string, string) { // once: the mark
		return 403, "security_exception", "unauthorized for user [d], this action is granted by the index privileges " +
			"[create_index,index,write,all]"
	}}, esmodeltest.Fault{Times: 1, Item: func(index, _ string) (int, string, string) {
		if first = first && index != "fio-run"; first {
			t.Errorf("the document of the run does not go first, but one of %s", index)
		}
		return 0, "", ""
	}})
	deleted, err := stored.DeleteRun(t.Context(), c, esmodel.DefaultPrefix, "r/1")
	if err != nil || deleted[esmodel.KindRun] != 1 || len(s.Docs("*")) != 0 {
		t.Errorf("%v, %v; %d documents are left", deleted, err, len(s.Docs("*")))
	}
}
