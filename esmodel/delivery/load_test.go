package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"

	"bufio"

	"fiolat/esmodel/esmodeltest"
)

const eventLine = `{"index":{"_index":"fio-event-2026.08","_id":"`

func TestLoadLines(t *testing.T) {
	tests := []struct {
		name string
		text string
		docs int
		torn string // its line
		bad  string // part of the error
	}{
		{"plain", eventLine + "a\"}}\n{}\n" + eventLine + "b\"}}\n{\"x\":1}\n", 2, "", ""},
		{"no last newline", eventLine + "a\"}}\n{}", 1, "", ""},
		{"refused before", eventLine + "a\"},\"_error\":{\"status\":400,\"reason\":\"r\"}}\n{}\n", 1, "", ""},
		{"CRLF and empty lines", "\n" + eventLine + "a\"}}\r\n{}\r\n\r\n", 1, "", ""},
		{"document cut off", eventLine + "a\"}}\n{}\n" + eventLine + "b\"}}\n{\"x\":", 1, "4", ""},
		{"document missing", eventLine + "a\"}}\n{}\n" + eventLine + "b\"}}\n", 1, "3", ""},
		{"action cut off", eventLine + "a\"}}\n{}\n" + eventLine[:20], 1, "3", ""},
		{"not an action", "{\"x\":1}\n{}\n", 0, "", "1: this is not an action line"},
		{
			"delete",
			`{"delete":{"_index":"fio-event-2026.08","_id":"a"}}` + "\n{}\n",
			0,
			"",
			"1: this is not an action line",
		},
		{
			"routing",
			`{"index":{"_index":"fio-event-2026.08","_id":"a","routing":"x"}}` + "\n{}\n",
			0,
			"",
			"1: this is not an action line",
		},
		{"not a document", eventLine + "a\"}}\n[]\n", 0, "", "2: this is not a document"},
		{"two documents", eventLine + "a\"}}\n{} {}\n", 0, "", "2: this is not a document"},
		{
			"other index",
			`{"index":{"_index":"secrets","_id":"a"}}` + "\n{}\n",
			0,
			"",
			`1: index "secrets" does not have the prefix "fio"`,
		},
		{"two actions", eventLine + "a\"}} {}\n{}\n", 0, "", "1: this is not an action line"},
		{"more than an action", eventLine + "a\"}}]\n{}\n", 0, "", "1: this is not an action line"},
		{
			"nested 10,000 deep",
			eventLine + "a\"}}\n" + strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001) + "\n",
			0,
			"",
			"2: this is not a document",
		},
		{"no id", `{"index":{"_index":"fio-event-2026.08"}}` + "\n{}\n", 0, "", "1: this is not an action line"},
		{"binary", "\x00\x01\x02\n\x03\n", 0, "", "1: this is not an action line"},
		{"empty", "", 0, "", " it is empty: what was to be in it is lost; delete it, and run the ingest again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			file := filepath.Join(t.TempDir(), "f.ndjson")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Load(t.Context(), c, []string{file}, LoadOptions{})
			var torn *tornError
			switch {
			case tt.bad != "":
				if err == nil || !strings.Contains(err.Error(), file+":"+tt.bad) {
					t.Errorf("error %v, want %s", err, tt.bad)
				}
			case tt.torn != "":
				if !errors.As(err, &torn) || len(r.Torn) != 1 || r.Torn[0] != file+":"+tt.torn {
					t.Errorf("%v, torn %q", err, r.Torn)
				}
			case err != nil:
				t.Error(err)
			}
			if n := len(s.Docs("*")); n != tt.docs {
				t.Errorf("%d documents, want %d", n, tt.docs)
			}
		})
	}
}

func TestLoadFindsFiles(t *testing.T) {
	_, c := standIn(t)
	dir := t.TempDir()
	var usage *fio.UsageError
	if _, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); !errors.As(err, &usage) {
		t.Error(err)
	}
	if _, err := Load(t.Context(), c, nil, LoadOptions{}); !errors.As(err, &usage) {
		t.Error(err)
	}
	if _, err := Load(t.Context(), c, []string{filepath.Join(dir, "none")}, LoadOptions{}); !errors.Is(err,
		os.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range []string{"a.ndjson", ".hidden.ndjson", "b.txt", ".c.ndjson.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(eventLine+name+"\"}}\n{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil || len(r.Loaded) != 1 ||
		r.Total().Indexed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Half of a run's files: what is there is sent, and the run is not called complete.
func TestLoadOfHalfARun(t *testing.T) {
	s, c := standIn(t)
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r/1", "", "g1", 9, nil); err != nil {
		t.Fatal(err)
	}
	var half []string
	for _, n := range list(t, dir) {
		if !strings.Contains(n, "histogram-2026.09") {
			half = append(half, filepath.Join(dir, n))
		}
	}
	r, err := Load(t.Context(), c, half, LoadOptions{})
	var mismatch *indices.MismatchError
	if !errors.As(err, &mismatch) || len(r.Complete) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := runStatus(t, s); got != "partial" {
		t.Errorf("status %s", got)
	}
	if r, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil || len(r.Complete) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
}

// Interrupted while its first request is stored and not yet answered: the run is partial, as
// documents of other settings may be there, and nobody's.
func TestLoadInterrupted(t *testing.T) {
	for name, known := range map[string]bool{"other settings": true, "unknown run": false} {
		t.Run(name, func(t *testing.T) { loadInterrupted(t, known) })
	}
}

func loadInterrupted(t *testing.T, known bool) {
	s, c := standIn(t)
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r/1", "", "g2", 9, nil); err != nil {
		t.Fatal(err)
	}
	if known {
		ingested(t, c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Inject(esmodeltest.Fault{Times: -1, Reply: func(reply []byte) []byte {
		if bytes.Count(reply, []byte(`"index"`)) > 1 { // not the mark's
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
		return reply
	}})
	if _, err := Load(ctx, c, []string{dir}, LoadOptions{}); err == nil {
		t.Fatal("not interrupted")
	}
	if got := runStatus(t, s); got != "partial" || ownerIn(t, s) != nil {
		t.Errorf("the run is %s, marked by %v", got, ownerIn(t, s))
	}
	if _, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := runStatus(t, s); got != "complete" || ownerIn(t, s) != nil {
		t.Errorf("in the end the run is %s, marked by %v", got, ownerIn(t, s))
	}
}

// A file that another process has put in the place of the one that was loaded stays, and is not sent half.
func TestLoadOfAReplacedFile(t *testing.T) {
	for name, tt := range map[string]struct {
		match func(*http.Request) bool
		bad   bool
	}{
		"before it is sent": {func(r *http.Request) bool { return bulkOf(r, "run") }, true},
		"before the run is done": {func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/_count")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := standIn(t)
			dir := t.TempDir()
			if _, err := dirRun(t, dir, "r/1", "", "g1", 3, nil); err != nil {
				t.Fatal(err)
			}
			var all string
			for _, file := range list(t, dir) {
				all += mustRead(t, filepath.Join(dir, file))
			}
			spool := filepath.Join(dir, "fio-spool.r%2F1.ndjson")
			if err := os.WriteFile(spool, []byte(all), 0o600); err != nil {
				t.Fatal(err)
			}
			late := &delayed{RoundTripper: http.DefaultTransport, match: tt.match, act: func() {
				err := errors.Join(os.WriteFile(spool+"2", []byte(all), 0o600), os.Rename(spool+"2", spool))
				if err != nil {
					t.Error(err)
				}
			}}
			c := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: late})
			r, err := Load(t.Context(), c, []string{spool}, LoadOptions{})
			if (err != nil) != tt.bad || !late.acted.Load() {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(spool); err != nil || len(r.Removed) > 0 {
				t.Errorf("%v, removed %q", err, r.Removed)
			}
		})
	}
}

// A document of a run that is not taken is not called complete.
func TestLoadRunNotTaken(t *testing.T) {
	for name, status := range map[string]int{"busy": 429, "refused": 400} {
		t.Run(name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
			c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: -1})
			dir := t.TempDir()
			if _, err := dirRun(t, dir, "r/1", "", "g1", 3, nil); err != nil {
				t.Fatal(err)
			}
			sent := false
			s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
				if sent = sent || index != "fio-run"; sent && index == "fio-run" {
					return status, "x", "y"
				}
				return 0, "", ""
			}})
			r, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
			if err == nil || len(r.Complete) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
			s.Heal()
			r, err = Load(t.Context(), c, []string{dir}, LoadOptions{})
			if err != nil || len(r.Complete) != 1 {
				t.Errorf("again: %+v, %v", r, err)
			}
		})
	}
}

// Documents that are refused again are counted; those of runs stay unsent.
func TestLoadRefused(t *testing.T) {
	s, c := standIn(t)
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r/1", "", "g1", 3, nil); err != nil {
		t.Fatal(err)
	}
	s.Inject(
		esmodeltest.Fault{
			Times: 2,
			Item: func(index, id string) (int, string, string) { // the mark, and the documents
				if strings.Contains(index, "histogram") {
					return 400, "x", "y"
				}
				return 0, "", ""
			},
		},
	)
	r, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || r.Total().Refused != 8 || runStatus(t, s) != "partial" ||
		r.RefusedFile != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 3))
}

// TestLoadStopsAtWhatIsNotTaken: the first document that cannot be taken ends the reading of its file.
func TestLoadStopsAtWhatIsNotTaken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.ndjson")
	if err := os.WriteFile(file, []byte(eventLine+"a\"}}\n{}\n"+eventLine+"b\"}}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &loader{prefix: "fio", read: map[string]fs.FileInfo{}}
	full := errors.New("full")
	var ids []string
	if err := l.file(file, func(_, id string, _ []byte) error {
		ids = append(ids, id)
		return full
	}); !errors.Is(err, full) || !slices.Equal(ids, []string{"a"}) {
		t.Errorf("%v after %q, want %v after a", err, ids, full)
	}
}

// TestLoadWithoutScope: where the indices of a run cannot be told, load of its files without its document says why.
func TestLoadWithoutScope(t *testing.T) {
	s, c := standIn(t)
	ingested(t, c)
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r/1", "", "g1", 9, nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range list(t, dir) {
		if strings.HasPrefix(file, "fio-run") {
			if err := os.Remove(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sent := false
	s.Inject(esmodeltest.Fault{Times: 1, Status: 400, Type: "x", Reason: "no mappings now",
		Match: func(r *http.Request) bool {
			sent = sent || bulkOf(r, "histogram")
			return sent && strings.HasSuffix(r.URL.Path, "/_field_caps")
		}})
	if _, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "no mappings now") {
		t.Errorf("%v", err)
	}
}

// The server is away: nothing is lost, it lies in its files.
func TestLoadServerAway(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: -1})
	dir := t.TempDir()
	if _, err := dirRun(t, dir, "r", "", "g1", 3, nil); err != nil {
		t.Fatal(err)
	}
	s.Inject(esmodeltest.Fault{Times: -1, Status: 503})
	r, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
	var away *client.UnavailableError
	if n := r.Total(); !errors.As(err, &away) || n.Lost != 0 || n.Spooled != n.Made {
		t.Errorf("%+v, %v", n, err)
	}
}

// Any bytes as a spool: no panic, and what is taken for a document is one.
func FuzzLines(f *testing.F) {
	f.Add([]byte(eventLine + "a\"}}\n{}\n"))
	f.Add([]byte(eventLine + "a\"},\"_error\":{}}\n{\"a\":[1,2]}"))
	f.Add([]byte("\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &esmodel.Lines{R: bufio.NewReaderSize(bytes.NewReader(data), 16), File: "f"}
		var back []byte
		for {
			line, whole, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, line...)
			if whole {
				back = append(back, '\n')
			}
			_ = json.Valid(line)
		}
		if !bytes.Equal(back, data) {
			t.Fatalf("%q read back as %q", data, back)
		}
		if want := int64(bytes.Count(data, []byte("\n"))); in.N < want || in.N > want+1 {
			t.Fatalf("%d lines in %q", in.N, data)
		}
	})
}

// Any bytes as a file to load: no panic; what is sent stands in the file, each
// document after its action line; and every line is sent or named.
func FuzzLoad(f *testing.F) {
	run := `{"index":{"_index":"fio-run","_id":"` + esmodel.RunDocID(
		"r",
		"",
		"clat",
	) + `"}}` + "\n" + `{"run":{"id":"r","status":"partial"},"fio":{"kind":"clat"}}` + "\n"
	for _, s := range []string{
		eventLine + "a\"}}\n{}\n", eventLine + "a\"},\"_error\":{\"status\":400}}\n{\"a\":[1,2]}", "\n\n{", run,
		run + eventLine + "b\"}}\n{\"x\":",
		strings.Replace(run, "partial", "complete", 1), eventLine + "a\"}} \r\n {} \r\n",
		eventLine + "\\u0000\"}}\n{\"\xff\":1e999}\n", `{"index":{"_index":"fio-event-2026.13",` +
			`"_id":"x"}}` + "\n{}",
	} {
		f.Add([]byte(s))
	}
	var sent [][2][]byte // Load ends before it is looked at
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		body, _ := io.ReadAll(r.Body)
		if !strings.HasSuffix(r.URL.Path, "_bulk") {
			io.WriteString(w, `{"id":"x","count":0,"hits":{"hits":[]}}`)
			return
		}
		lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
		var items []string
		for i := 0; i < len(lines); i += 2 {
			lines[i] = bytes.Replace(lines[i], []byte(`{"create":`), []byte(`{"index":`), 1) // of events
			sent = append(sent, [2][]byte(lines[i:i+2]))
			var a actionLine
			if err := json.Unmarshal(lines[i], &a); err != nil {
				panic(err)
			}
			items = append(items, `{"index":{"status":200,"_id":`+string(esmodel.MustJSON(a.Index.ID))+`}}`)
		}
		io.WriteString(w, `{"items":[`+strings.Join(items, ",")+`]}`)
	}))
	f.Cleanup(srv.Close)
	c, err := client.New(client.Config{Addresses: []string{srv.URL}, MaxWait: -1})
	if err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(f.TempDir(), "f.ndjson")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		sent = nil
		r, err := Load(t.Context(), c, []string{file}, LoadOptions{Bulk: BulkConfig{NoTemplates: true, InFlight: 1}})
		var lines [][]byte
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				lines = append(lines, line)
			}
		}
		runs := 0
		for _, s := range sent {
			var got, want actionLine
			if err := json.Unmarshal(s[0], &got); err != nil {
				t.Fatal(err)
			}
			found := false
			for i := 0; i+1 < len(lines) && !found; i++ {
				found = json.Unmarshal(lines[i], &want) == nil && want.Index != nil && *want.Index == *got.Index &&
					(bytes.Equal(s[1], lines[i+1]) || got.Index.Index == "fio-run")
			}
			if !found {
				t.Fatalf("sent, and not in the file: %q", s)
			}
			if got.Index.Index == "fio-run" {
				runs++
			}
		}
		if n := r.Total(); n.Made != n.Indexed || n.Made != int64(len(sent)) {
			t.Fatalf("%+v, %d were sent", n, len(sent))
		}
		var torn *tornError
		switch {
		case runs > 0: // of several documents of a run the last is sent
		case err == nil && len(lines) != 2*len(sent), errors.As(err, &torn) && (len(lines)-1)/2 != len(sent):
			t.Fatalf("%v, but of %d lines %d documents were sent", err, len(lines), len(sent))
		}
	})
}
