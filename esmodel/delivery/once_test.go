package delivery

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/ingest"
	"fiolat/pipeline"
)

// TestReadOnceByLogs: what came through a pipe stays while another process that took the run over is not complete, as
// it cannot be read again; what was read from files goes.
func TestReadOnceByLogs(t *testing.T) {
	for name, tt := range map[string]struct {
		paths []string
		kept  bool
	}{
		"files":          {[]string{"a.log", "b.log"}, false},
		"a pipe":         {[]string{"-"}, true},
		"a file, a pipe": {[]string{"a.log", "-"}, true},
	} {
		s, c := standIn(t)
		begin := func(run *pipeline.Run) *Sink {
			w, err := NewBulkWriter(c, BulkConfig{})
			if err != nil {
				t.Fatal(err)
			}
			sink := NewSink(w, SinkOptions{})
			if err := sink.Begin(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			return sink
		}
		run := esmodeltest.Run()
		run.Logs = run.Logs[:len(tt.paths)]
		for i, path := range tt.paths {
			l := *run.Logs[i]
			l.Log = new(*l.Log)
			l.Source = &ingest.Source{Path: path, Base: path}
			run.Logs[i] = &l
		}
		first := begin(run)
		other, theirs := otherSettings()
		second := begin(other)
		lost := finish(t.Context(), first, run, esmodeltest.Intervals(run, 9))
		n := len(s.Docs("fio-histogram-*"))
		if (n > 0) != tt.kept || !errors.As(lost, new(*indices.MarkError)) {
			t.Errorf("%s: %d documents, %v; want them kept: %t", name, n, lost, tt.kept)
		}
		if err := finish(t.Context(), second, other, theirs); err != nil {
			t.Error(err)
		}
	}
}

// TestLoadedFiles: only a file of which every document was sent is called loaded.
func TestLoadedFiles(t *testing.T) {
	const good, torn, bad = eventLine + "a\"}}\n{}\n", eventLine + "b\"}}\n{\"x\":", "no action\n{}\n"
	for name, tt := range map[string]struct {
		files []string
		want  []string
	}{
		"all":              {[]string{good, good}, []string{"0.ndjson", "1.ndjson"}},
		"the second broke": {[]string{good, bad}, nil},
		"the first broke":  {[]string{bad, good}, nil},
		"one is torn":      {[]string{good, torn}, []string{"0.ndjson", "1.ndjson"}},
	} {
		_, c := standIn(t)
		dir := t.TempDir()
		for i, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, string(rune('0'+i))+".ndjson"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
		var got []string
		for _, f := range r.Loaded {
			got = append(got, filepath.Base(f))
		}
		if !slices.Equal(got, tt.want) || (err == nil) != (name == "all") {
			t.Errorf("%s: %v loaded, %v; want %s", name, got, err, strings.Join(tt.want, " "))
		}
	}
}
