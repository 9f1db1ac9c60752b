package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/internal/testkit"
	"fiolat/kibana"
)

func TestSetupExport(t *testing.T) {
	var want bytes.Buffer
	if err := kibana.Write(&want, "lab"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ELASTICSEARCH_URL", "http://127.0.0.1:1") // nobody: an export asks no server
	t.Setenv("KIBANA_URL", "http://127.0.0.1:1")
	file := filepath.Join(t.TempDir(), "k.ndjson")
	code, stdout, stderr := fiolat(t, nil, "setup", "--index-prefix", "lab", "--export", file)
	got, err := os.ReadFile(file)
	if code != exitOK || err != nil || !bytes.Equal(got, want.Bytes()) || stdout != "" {
		t.Errorf("exit %d, %v, %d bytes, want %d; %s%s", code, err, len(got), want.Len(), stdout, stderr)
	}
	code, stdout, _ = fiolat(t, nil, "setup", "--index-prefix", "lab", "--export", "-")
	if code != exitOK || stdout != want.String() {
		t.Errorf("exit %d, %d bytes on standard output, want %d", code, len(stdout), want.Len())
	}
	for name, args := range map[string][]string{
		"another ending":     {"--export", filepath.Join(t.TempDir(), "k.json")},
		"a policy in a file": {"--export", file, "--delete-after", "30d"},
		"rules in a file":    {"--export", file, "--alert-rules"},
		"with a server":      {"--export", file, "--kibana", "http://localhost:5601"},
		"a bad prefix":       {"--export", file, "--index-prefix", "UPPER"},
		"a space of nothing": {"--space", "lab"},
		"rules of nothing":   {"--alert-rules"},
		"remove of nothing":  {"--remove"},
		"remove and make":    {"--kibana", "http://localhost:1", "--remove", "--alert-rules"},
		"remove of both":     {"--kibana", "http://localhost:1", "--remove", "--es", "http://localhost:1"},
		"a password":         {"--kibana", "http://u:hunter2@localhost:5601"},
		"no unit":            {"--es", "http://localhost:1", "--delete-after", "30"},
		"too soon":           {"--es", "http://localhost:1", "--delete-after", "1m"},
		"too late":           {"--es", "http://localhost:1", "--delete-after", "999999w"},
		"two ways":           {"--kibana", "http://localhost:1"},
	} {
		t.Setenv("KIBANA_URL", "")
		t.Setenv("ELASTICSEARCH_URL", "")
		if name == "two ways" {
			t.Setenv("KIBANA_USERNAME", "u")
			t.Setenv("KIBANA_API_KEY", "k")
		}
		if code, _, stderr := fiolat(t, nil, append([]string{"setup"}, args...)...); code != exitUsage ||
			strings.Contains(stderr, "hunter2") {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
	}
}

// TestSetupExportDirectory: the files are what setup sends to a cluster with all features.
func TestSetupExportDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new") + "/"
	es := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
	for _, to := range [][]string{{"--export", dir}, {"--es", es.URL}} {
		args := append([]string{"setup", "--delete-after", "30d"}, to...)
		if code, _, stderr := fiolat(t, nil, args...); code != exitOK {
			t.Fatal(stderr)
		}
	}
	same := func(file string, sent any) {
		t.Helper()
		var have any
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			err = json.Unmarshal(b, &have)
		}
		if err != nil || indices.Canonical(have) != indices.Canonical(sent) {
			t.Errorf("%s: %v\n%s\nwant %v", file, err, b, sent)
		}
	}
	for _, kind := range esmodel.Kinds {
		name := "fio-" + string(kind)
		same(name+".template.json", es.Template(name))
	}
	policy, minAge := indices.Policy(30 * 24 * time.Hour)
	same("fio.policy.json", policy)
	if minAge != "5270400s" { // 61 d
		t.Error(minAge)
	}
	var want bytes.Buffer
	got, err := os.ReadFile(filepath.Join(dir, "fio.kibana.ndjson"))
	if kibana.Write(&want, "fio") != nil || err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%v, %d bytes, want %d", err, len(got), want.Len())
	}
}

// TestSetupDeleteAfter: what setup says of the policy is in days, whatever the unit of the flag.
func TestSetupDeleteAfter(t *testing.T) {
	es := esmodeltest.New(t, esmodeltest.Options{Lifecycle: true})
	for _, step := range [][2]string{
		{"4w", "created    lifecycle policy fio: data is kept 28 to 59 days"},
		{"672h", "unchanged  lifecycle policy fio: data is kept 28 to 59 days"},
		{"90d", "updated    lifecycle policy fio: data is kept 90 to 121 days"},
		{"0", "updated    lifecycle policy fio: data is never deleted"},
	} {
		if code, _, stderr := fiolat(t, nil, "setup", "--es", es.URL, "--delete-after", step[0]); code != exitOK ||
			!strings.Contains(stderr, step[1]+"\n") {
			t.Errorf("%s: exit %d, %s", step[0], code, stderr)
		}
	}
}

// TestSetupShards: the ends of the numbers of shards that are taken.
func TestSetupShards(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shards string
		code   int
	}{{"0", exitUsage}, {"1", exitOK}, {"1024", exitOK}, {"1025", exitUsage}} {
		dir := t.TempDir()
		code, _, stderr := fiolat(t, nil, "setup", "--export", dir, "--shards", tt.shards)
		template, err := os.ReadFile(filepath.Join(dir, "fio-histogram.template.json"))
		if code != tt.code || (err == nil) != (tt.code == exitOK) {
			t.Fatalf("%s: exit %d, %v, %s", tt.shards, code, err, stderr)
		}
		said, want := stderr, "--shards "+tt.shards+": want 1 to 1024"
		if tt.code == exitOK {
			said, want = strings.ReplaceAll(string(template), " ", ""), `"number_of_shards":"`+tt.shards+`"`
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: want %s in\n%s", tt.shards, want, said)
		}
	}
}

func TestSetupKibana(t *testing.T) {
	testkit.NotRaced(t)
	var bundle bytes.Buffer
	if err := kibana.Write(&bundle, "fio"); err != nil {
		t.Fatal(err)
	}
	objects := bytes.Count(bundle.Bytes(), []byte("\n")) - 1
	var seen, others []string
	status := 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/_import") {
			seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
		} else {
			others = append(others, r.Method+" "+r.URL.Path)
		}
		if status != 200 {
			w.WriteHeader(status)
			return
		}
		switch path := r.URL.Path; {
		case path == "/api/status":
			io.WriteString(w, `{"version":{"number":"9.2.0"}}`)
		case strings.HasPrefix(path, "/api/spaces/space/"):
			io.WriteString(w, `{"id":"`+strings.TrimPrefix(path, "/api/spaces/space/")+`"}`)
		case strings.HasSuffix(path, "/_find"):
			io.WriteString(w, `{"total":1,"saved_objects":[{"type":"dashboard","id":"fio-live"}]}`)
		case strings.HasSuffix(path, "/_bulk_delete"):
			io.WriteString(w, `{"statuses":[{"type":"dashboard","id":"fio-live","success":true}]}`)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(path, "/api/alerting/rule/"):
			io.WriteString(w, `{"id":"`+path[strings.LastIndexByte(path, '/')+1:]+`"}`)
		default:
			io.WriteString(w, `{"success":true,"successCount":`+strconv.Itoa(objects)+`}`)
		}
	}))
	defer s.Close()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("aHVudGVyMg==\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ELASTICSEARCH_URL", "")

	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"alone", nil, []string{"--kibana", s.URL}, "/api/saved_objects/_import "},
		{"by environment, into a space", map[string]string{"KIBANA_URL": s.URL, "KIBANA_SPACE": "lab"}, nil,
			"/s/lab/api/saved_objects/_import "},
		{"Elasticsearch's credentials", nil, []string{"--kibana", s.URL, "--es-api-key-file", key},
			"/api/saved_objects/_import ApiKey aHVudGVyMg=="},
		{"its own credentials", map[string]string{"KIBANA_USERNAME": "u", "KIBANA_PASSWORD": "p"}, []string{"--kibana",
			s.URL, "--es-api-key-file", key}, "/api/saved_objects/_import Basic dTpw"},
		{"its own key", map[string]string{"KIBANA_API_KEY": "aHVudGVyMg=="}, []string{"--kibana", s.URL},
			"/api/saved_objects/_import ApiKey aHVudGVyMg=="},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			seen = nil
			code, _, stderr := fiolat(t, nil, append([]string{"setup"}, c.args...)...)
			if code != exitOK || len(seen) != 1 || seen[0] != c.want || !strings.Contains(stderr,
				"objects into Kibana") || strings.Contains(stderr, "aHVudGVyMg") {
				t.Errorf("exit %d, %q\n%s", code, seen, stderr)
			}
		})
	}
	t.Run("with Elasticsearch", func(t *testing.T) {
		es := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
		seen = nil
		code, _, stderr := fiolat(t, nil, "setup", "--es", es.URL, "--kibana", s.URL)
		if code != exitOK || len(seen) != 1 || !strings.Contains(stderr, "index template fio-event") {
			t.Errorf("exit %d, %q\n%s", code, seen, stderr)
		}
	})
	t.Run("alert rules", func(t *testing.T) {
		others = nil
		code, _, stderr := fiolat(t, nil, "setup", "--kibana", s.URL, "--space", "lab", "--alert-rules")
		if code != exitOK || !strings.Contains(stderr, "3 alert rules") || !strings.Contains(strings.Join(others, "\n"),
			"POST /s/lab/api/alerting/rule/") {
			t.Errorf("exit %d, %q\n%s", code, others, stderr)
		}
	})
	t.Run("remove", func(t *testing.T) {
		es := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
		t.Setenv("ELASTICSEARCH_URL", es.URL)
		seen = nil
		code, _, stderr := fiolat(t, nil, "setup", "--kibana", s.URL, "--remove")
		if code != exitOK || len(seen) != 0 || !strings.Contains(stderr, "1 objects and 0 alert rules") ||
			len(es.Requests("")) != 0 {
			t.Errorf("exit %d, %q\n%s", code, seen, stderr)
		}
	})
	t.Run("refused", func(t *testing.T) {
		status = 401
		code, _, stderr := fiolat(t, nil, "setup", "--kibana", s.URL)
		if code != exitIncomplete || !strings.Contains(stderr, "requires authentication") {
			t.Errorf("exit %d\n%s", code, stderr)
		}
	})
}

// TestServerless: all that is done with a run works where a cluster refuses settings of templates, nodes and policies.
func TestServerless(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Serverless: true})
	spool := t.TempDir()
	for _, args := range [][]string{
		{"setup"}, {"ingest", "-q", "-o", spool, "--run-id", "one", "--by", "direction,host", real + "/cluster"},
		{"runs"}, {"runs", "--size"}, {"percentiles", "one"}, {"label", "one", "a=b"},
		{"annotate", "--at", "+1s", "one", "a note"},
		{"rollup", "--interval", "10s", "one"}, {"delete", "--yes", "one"}, {"runs"},
	} {
		code, stdout, stderr := fiolat(t, nil, append([]string{args[0], "--es", s.URL, "--max-wait", "5s"},
			args[1:]...)...)
		if code != exitOK {
			t.Errorf("%s: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	if n := len(s.Docs("fio-*")); n != 0 {
		t.Errorf("%d documents are left", n)
	}
}
