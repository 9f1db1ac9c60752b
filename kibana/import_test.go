package kibana

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
)

// stub plays Kibana's import: it looks at a request as Kibana does and answers as it
// is told; a real Kibana cannot be had in a test.
func stub(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, objects []map[string]any)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("kbn-xsrf") == "" {
			http.Error(w, `{"statusCode":400,"error":"Bad Request","message":"Request must contain a kbn-xsrf header."}`, 400)
			return
		}
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/api/saved_objects/_import") || r.URL.RawQuery != "overwrite=true" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		file, header, err := r.FormFile("file")
		if err != nil || !strings.HasSuffix(header.Filename, ".ndjson") {
			http.Error(w, `{"statusCode":400,"error":"Bad Request","message":"Invalid file extension"}`, 400)
			return
		}
		b, err := io.ReadAll(file)
		if err != nil {
			t.Error(err)
		}
		var objects []map[string]any
		for line := range strings.Lines(string(b)) {
			var o map[string]any
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Errorf("%v in %s", err, line)
			}
			if o["exportedCount"] == nil {
				objects = append(objects, o)
			}
		}
		answer(w, r, objects)
	}))
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// all is Kibana's answer to an import of everything.
func all(w http.ResponseWriter, objects []map[string]any, overwrite bool) {
	var results []map[string]any
	for _, o := range objects {
		results = append(results, map[string]any{"type": o["type"], "id": o["id"], "overwrite": overwrite})
	}
	reply(w, 200, map[string]any{"success": true, "successCount": len(objects), "successResults": results, "warnings": []any{}})
}

func imported(t *testing.T, c Config) (*Result, error) {
	t.Helper()
	if c.HTTP == nil {
		var err error
		if c.HTTP, err = esmodel.HTTPClient(esmodel.Config{Timeout: 20 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	return Import(t.Context(), c, "fio")
}

func TestImport(t *testing.T) {
	objects := len(Bundle("fio"))
	for _, c := range []struct {
		name    string
		space   string
		base    string // of Kibana's path
		answer  func(w http.ResponseWriter, r *http.Request, objects []map[string]any)
		objects int
		fault   []string // all of these in the error
	}{
		{name: "success", objects: objects, answer: func(w http.ResponseWriter, r *http.Request, o []map[string]any) {
			if r.URL.Path != "/api/saved_objects/_import" {
				t.Error(r.URL.Path)
			}
			all(w, o, false)
		}},
		{name: "a space and a base path", space: "perf-lab", base: "/kibana/", objects: objects, answer: func(w http.ResponseWriter, r *http.Request, o []map[string]any) {
			if r.URL.Path != "/kibana/s/perf-lab/api/saved_objects/_import" {
				t.Error(r.URL.Path)
			}
			all(w, o, false)
		}},
		{name: "the default space", space: "default", objects: objects, answer: func(w http.ResponseWriter, r *http.Request, o []map[string]any) {
			if r.URL.Path != "/api/saved_objects/_import" {
				t.Error(r.URL.Path)
			}
			all(w, o, false)
		}},
		{name: "partial failure", answer: func(w http.ResponseWriter, _ *http.Request, o []map[string]any) {
			reply(w, 200, map[string]any{"success": false, "successCount": len(o) - 1, "errors": []any{
				map[string]any{"type": "lens", "id": "fio-live-iops", "meta": map[string]any{"title": "I/Os per second"}, "error": map[string]any{"type": "unknown", "message": "state:\x1b[31m bad", "statusCode": 422}}}})
		}, fault: []string{fmt.Sprintf("imported %d of %d objects", objects-1, objects), `lens fio-live-iops (I/Os per second): unknown: state:\x1b[31m bad`}},
		{name: "missing references", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 200, map[string]any{"success": false, "successCount": 0, "errors": []any{
				map[string]any{"type": "lens", "id": "fio-live-iops", "meta": map[string]any{"title": "I/Os per second"}, "error": map[string]any{"type": "missing_references",
					"references": []any{map[string]any{"type": "index-pattern", "id": "fio-histograms"}}}}}})
		}, fault: []string{"imported nothing", "fio-live-iops", "missing_references, index-pattern fio-histograms"}},
		{name: "a conflict, though results are listed", answer: func(w http.ResponseWriter, _ *http.Request, o []map[string]any) {
			reply(w, 200, map[string]any{"success": false, "successCount": len(o) - 1, "successResults": []any{map[string]any{"id": "x"}}, "errors": []any{
				map[string]any{"type": "dashboard", "id": "fio-live", "error": map[string]any{"type": "conflict"}}}})
		}, fault: []string{"imported nothing", "dashboard fio-live"}},
		{name: "success, but of fewer", answer: func(w http.ResponseWriter, _ *http.Request, o []map[string]any) {
			reply(w, 200, map[string]any{"success": true, "successCount": len(o) - 2})
		}, fault: []string{fmt.Sprintf("imported %d of %d", objects-2, objects)}},
		{name: "401", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 401, map[string]any{"statusCode": 401, "error": "Unauthorized", "message": "Unauthorized"})
		}, fault: []string{"asks who we are (401)", "KIBANA_API_KEY"}},
		{name: "403", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 403, map[string]any{"statusCode": 403, "error": "Forbidden", "message": "Unable to bulk_create dashboard"})
		}, fault: []string{"does not let this user import (403): Unable to bulk_create dashboard", "saved objects"}},
		{name: "no such space", space: "nowhere", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 404, map[string]any{"statusCode": 404, "error": "Not Found", "message": "Not Found"})
		}, fault: []string{`no space "nowhere"`}},
		{name: "no such path", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) { http.NotFound(w, nil) },
			fault: []string{"no Kibana", "base path"}},
		{name: "a login page", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			w.Header().Set("Location", "https://sso.example/login?next=secret")
			w.WriteHeader(302)
		}, fault: []string{"redirects to https://sso.example/login;", "not sent there"}},
		{name: "not JSON", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			io.WriteString(w, "<html>hello</html>")
		},
			fault: []string{"answers 200, but not as Kibana's import does"}},
		{name: "JSON of something else", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 200, map[string]any{"tagline": "You Know, for Search"})
		},
			fault: []string{"not as Kibana's import does"}},
		{name: "not ready", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			http.Error(w, "Kibana server is not ready yet", http.StatusServiceUnavailable)
		},
			fault: []string{"not ready (503)"}},
		{name: "a newer object", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 422, map[string]any{"statusCode": 422, "message": "belongs to a more recent version of Kibana"})
		}, fault: []string{"refuses the import with 422: belongs to a more recent version", "8.12"}},
		{name: "a proxy", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			http.Error(w, "<html>", http.StatusBadGateway)
		},
			fault: []string{"answers 502, and not as Kibana does"}},
		{name: "cut off", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"success":true`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, fault: []string{"cannot reach Kibana", "unexpected EOF"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stub(t, c.answer)
			res, err := imported(t, Config{URL: s.URL + c.base, Space: c.space})
			if c.fault == nil {
				if err != nil || res.Objects != c.objects {
					t.Fatalf("%+v, %v", res, err)
				}
				return
			}
			var ie *ImportError
			if !errors.As(err, &ie) {
				t.Fatalf("%+v, %v", res, err)
			}
			for _, f := range c.fault {
				if !strings.Contains(err.Error(), f) {
					t.Errorf("no %q in %q", f, err)
				}
			}
		})
	}
}

// A second import replaces what the first one made.
func TestImportIsIdempotent(t *testing.T) {
	there := map[string]bool{}
	s := stub(t, func(w http.ResponseWriter, _ *http.Request, objects []map[string]any) {
		again := len(there) > 0
		for _, o := range objects {
			there[fmt.Sprint(o["type"], o["id"])] = true
		}
		all(w, objects, again)
	})
	for i, replaced := range []int{0, len(Bundle("fio"))} {
		res, err := imported(t, Config{URL: s.URL})
		if err != nil || res.Replaced != replaced || len(there) != len(Bundle("fio")) {
			t.Errorf("import %d: %+v, %v; %d objects are there", i+1, res, err, len(there))
		}
	}
}

func TestCredentials(t *testing.T) {
	for _, c := range []struct {
		name string
		c    Config
		url  string // with its user
		want string
	}{
		{"none", Config{}, "", ""},
		{"user", Config{Username: "u", Password: "hunter2"}, "", "Basic dTpodW50ZXIy"},
		{"user in the address", Config{}, "u:hunter2@", "Basic dTpodW50ZXIy"},
		{"API key", Config{APIKey: "hunter2"}, "", "ApiKey hunter2"},
		{"service token", Config{ServiceToken: "hunter2"}, "", "Bearer hunter2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stub(t, func(w http.ResponseWriter, r *http.Request, _ []map[string]any) {
				if got := r.Header.Get("Authorization"); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				reply(w, 400, map[string]any{"message": "you said " + r.Header.Get("Authorization") + " hunter2"})
			})
			c.c.URL = strings.Replace(s.URL, "http://", "http://"+c.url, 1)
			_, err := imported(t, c.c)
			if err == nil || c.want != "" && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error is %v", err)
			}
			for _, shown := range []string{fmt.Sprint(c.c), fmt.Sprintf("%+v %#v", c.c, c.c)} {
				if strings.Contains(shown, "hunter2") {
					t.Errorf("shown: %s", shown)
				}
			}
		})
	}
}

func TestImportTrouble(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	_, err := imported(t, Config{URL: "http://u:hunter2@" + strings.TrimPrefix(down.URL, "http://")})
	if err == nil || !strings.Contains(err.Error(), "cannot reach Kibana") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("nobody listens: %v", err)
	}
	for _, bad := range []Config{{URL: "localhost:5601"}, {URL: "ftp://x"}, {URL: "http://u:hunter2@x:y"}, {URL: "http://x", Space: "My Space"}, {URL: "http://x", Space: "../x"}} {
		_, err := imported(t, bad)
		var usage *UsageError
		if !errors.As(err, &usage) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Import(ctx, Config{URL: down.URL, HTTP: http.DefaultClient}, "fio"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	if _, err := imported(t, Config{URL: tls.URL}); esmodel.Trust(err) == nil {
		t.Errorf("a certificate of nobody we know: %v", err)
	}
	trusting, err := esmodel.HTTPClient(esmodel.Config{CACert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := imported(t, Config{URL: tls.URL, HTTP: trusting}); err == nil || !strings.Contains(err.Error(), "no Kibana at https://") {
		t.Errorf("its authority is trusted: %v", err)
	}
}
