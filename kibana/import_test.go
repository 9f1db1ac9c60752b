package kibana

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/fio"
)

// kibanaStub plays Kibana: it looks at requests as Kibana does; a real one cannot be had in
// a test. Each rule names the file of elastic/kibana that it was read in.
type kibanaStub struct {
	*httptest.Server
	t       *testing.T
	version string
	// answer is to an import; nil imports everything.
	answer func(w http.ResponseWriter, r *http.Request, objects []map[string]any)
	// refuse is the status for requests of some other path.
	refuse map[string]int

	mu       sync.Mutex
	objects  []map[string]any // with "space"
	rules    map[string]map[string]any
	requests []string
}

func stub(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, objects []map[string]any)) *kibanaStub {
	t.Helper()
	k := &kibanaStub{t: t, version: "9.2.0", answer: answer, rules: map[string]map[string]any{}}
	k.Server = httptest.NewServer(k)
	t.Cleanup(k.Close)
	return k
}

func (k *kibanaStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fault := func(status int, format string, args ...any) {
		reply(w, status, map[string]any{"statusCode": status, "error": http.StatusText(status),
			"message": fmt.Sprintf(format, args...)})
	}
	// src/core/packages/http/server-internal/src/lifecycle_handlers.ts
	if r.Method != http.MethodGet && r.Header.Get("kbn-xsrf") == "" {
		fault(400, "Request must contain a kbn-xsrf header.")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/kibana") // server.basePath, in some tests
	space := "default"
	if rest, ok := strings.CutPrefix(path, "/s/"); ok { // of any name: elastic/kibana#67164
		space, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	k.requests = append(k.requests, r.Method+" "+space+" "+path)
	for prefix, status := range k.refuse {
		if strings.HasPrefix(path, prefix) {
			fault(status, "refused")
			return
		}
	}
	rule, isRule := strings.CutPrefix(path, "/api/alerting/rule/")
	switch {
	case r.Method == "GET" && path == "/api/status": // src/core/packages/status/server-internal/src/routes/status.ts
		body := map[string]any{"status": map[string]any{"overall": map[string]any{"level": "available"}}}
		if k.version != "" {
			body["version"] = map[string]any{"number": k.version}
		}
		reply(w, 200, body)
	// x-pack/platform/plugins/shared/spaces/server/routes/api/external/get.ts
	case r.Method == "GET" && strings.HasPrefix(path, "/api/spaces/space/"):
		if id := path[len("/api/spaces/space/"):]; id == "perf-lab" || id == "other" {
			reply(w, 200, map[string]any{"id": id, "name": "Performance", "disabledFeatures": []any{}})
		} else {
			fault(404, "Not Found")
		}
	case r.Method == "POST" && path == "/api/saved_objects/_import":
		k.imports(w, r, space)
	case r.Method == "GET" && path == "/api/saved_objects/_find":
		k.find(w, r, space)
	case r.Method == "POST" && path == "/api/saved_objects/_bulk_delete":
		k.remove(w, r, space)
	// x-pack/platform/plugins/shared/alerting/server/routes/rule/apis/create/create_rule_route.ts
	case r.Method == "POST" && isRule:
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil ||
			r.Header.Get("Content-Type") != "application/json" {
			fault(400, "body")
		} else if bad := badRule(rule, body); bad != "" {
			fault(400, "%s", bad)
		} else if k.rules[rule] != nil { // of whatever space
			fault(409, "Saved object [alert/%s] conflict", rule)
		} else {
			body["id"], body["space"] = rule, space
			k.rules[rule] = body
			reply(w, 200, body)
		}
	// x-pack/platform/plugins/shared/alerting/server/routes/rule/apis/get/get_rule_route.ts and .../update
	case r.Method == "GET" && isRule && k.rules[rule] != nil:
		reply(w, 200, k.rules[rule])
	case r.Method == "PUT" && isRule && k.rules[rule] != nil:
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fault(400, "body")
			return
		}
		if bad := badUpdate(body); bad != "" {
			fault(400, "%s", bad)
			return
		}
		maps.Copy(k.rules[rule], body)
		reply(w, 200, k.rules[rule])
	// x-pack/platform/plugins/shared/alerting/server/routes/rule/apis/delete/delete_rule_route.ts
	case r.Method == "DELETE" && isRule:
		if k.rules[rule] == nil || k.rules[rule]["space"] != space {
			fault(404, "Saved object [alert/%s] not found", rule)
			return
		}
		delete(k.rules, rule)
		w.WriteHeader(http.StatusNoContent)
	default:
		k.t.Errorf("%s %s", r.Method, r.URL)
		fault(404, "Not Found")
	}
}

// imports is src/core/packages/saved-objects/server-internal/src/routes/import.ts.
func (k *kibanaStub) imports(w http.ResponseWriter, r *http.Request, space string) {
	if r.URL.RawQuery != "overwrite=true" {
		k.t.Error(r.URL)
	}
	file, header, err := r.FormFile("file")
	if err != nil || !strings.HasSuffix(header.Filename, ".ndjson") {
		http.Error(w, `{"statusCode":400,"error":"Bad Request","message":"Invalid file extension"}`, 400)
		return
	}
	b, err := io.ReadAll(file)
	if err != nil {
		k.t.Error(err)
	}
	var objects []map[string]any
	for line := range strings.Lines(string(b)) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			k.t.Errorf("%v in %s", err, line)
		}
		if o["exportedCount"] == nil {
			objects = append(objects, o)
		}
	}
	if k.answer != nil {
		k.answer(w, r, objects)
		return
	}
	// src/core/packages/saved-objects/import-export-server-internal/src/import/lib/check_conflicts.ts
	// and check_origin_conflicts.ts: what another space has under that id comes under a new one,
	// with the id asked for as its origin, and is found again by that.
	replaced := 0
	for _, o := range objects {
		o["space"] = space
		at := slices.IndexFunc(k.objects, func(p map[string]any) bool {
			return p["space"] == space && p["type"] == o["type"] && (p["id"] == o["id"] || p["originId"] == o["id"])
		})
		switch {
		case at >= 0:
			replaced++
		case slices.ContainsFunc(k.objects, func(p map[string]any) bool {
			return p["type"] == o["type"] &&
				p["id"] == o["id"]
		}):
			o["originId"], o["id"] = o["id"], fmt.Sprintf("new-%d", len(k.objects))
			k.objects = append(k.objects, o)
		default:
			k.objects = append(k.objects, o)
		}
	}
	all(w, objects, replaced > 0)
}

// find is src/core/packages/saved-objects/server-internal/src/routes/find.ts.
func (k *kibanaStub) find(w http.ResponseWriter, r *http.Request, space string) {
	q := r.URL.Query()
	per, _ := strconv.Atoi(q.Get("per_page"))
	page, _ := strconv.Atoi(q.Get("page"))
	if per*page > 10000 || per < 1 || page < 1 || len(q["type"]) == 0 {
		reply(w, 400, map[string]any{"statusCode": 400, "message": "Result window is too large"})
		return
	}
	found := []map[string]any{}
	for _, o := range k.objects {
		if o["space"] == space && slices.Contains(q["type"], o["type"].(string)) {
			found = append(found, o)
		}
	}
	reply(w, 200, map[string]any{"page": page, "per_page": per, "total": len(found),
		"saved_objects": found[min((page-1)*per, len(found)):min(page*per, len(found))]})
}

// remove is src/core/packages/saved-objects/server-internal/src/routes/bulk_delete.ts and, of
// what is shared, api-server-internal/src/lib/apis/bulk_delete.ts.
func (k *kibanaStub) remove(w http.ResponseWriter, r *http.Request, space string) {
	var asked []map[string]any
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Content-Type") != "application/json" {
		reply(w, 400, map[string]any{"statusCode": 400, "message": "body"})
		return
	}
	var statuses []map[string]any
	for _, a := range asked {
		if len(a) != 2 {
			k.t.Errorf("%v: only type and id are taken", a)
		}
		at := slices.IndexFunc(k.objects, func(o map[string]any) bool {
			return o["space"] == space && o["type"] == a["type"] && o["id"] == a["id"]
		})
		switch {
		case at < 0:
			a["success"], a["error"] = false, map[string]any{"statusCode": 404, "message": "not found"}
		case k.objects[at]["shared"] != nil:
			a["success"], a["error"] = false, map[string]any{"statusCode": 400,
				"message": "Unable to delete saved object id: x that exists in multiple namespaces, use the " +
					"\"force\" option to delete all saved objects"}
		default:
			a["success"] = true
			k.objects = slices.Delete(k.objects, at, at+1)
		}
		statuses = append(statuses, a)
	}
	reply(w, 200, map[string]any{"statuses": statuses})
}

// names are the objects of a space.
func (k *kibanaStub) names(space string) (out []string) {
	for _, o := range k.objects {
		if o["space"] == space {
			out = append(out, fmt.Sprint(o["type"], " ", o["id"]))
		}
	}
	return out
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
	reply(w, 200, map[string]any{"success": true, "successCount": len(objects), "successResults": results,
		"warnings": []any{}})
}

func imported(t *testing.T, c Config) (*Result, error) {
	t.Helper()
	if c.HTTP == nil {
		var err error
		if c.HTTP, err = client.HTTPClient(client.Config{Timeout: 20 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	return Import(t.Context(), c, "fio")
}

func TestImport(t *testing.T) {
	objects := len(fioObjects(t))
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
		{name: "a space and a base path", space: "perf-lab", base: "/kibana/", objects: objects,
			answer: func(w http.ResponseWriter, r *http.Request, o []map[string]any) {
				if r.URL.Path != "/kibana/s/perf-lab/api/saved_objects/_import" {
					t.Error(r.URL.Path)
				}
				all(w, o, false)
			}},
		{name: "the default space", space: "default", objects: objects, answer: func(w http.ResponseWriter,
			r *http.Request, o []map[string]any) {
			if r.URL.Path != "/api/saved_objects/_import" {
				t.Error(r.URL.Path)
			}
			all(w, o, false)
		}},
		{name: "partial failure", answer: func(w http.ResponseWriter, _ *http.Request, o []map[string]any) {
			reply(w, 200, map[string]any{"success": false, "successCount": len(o) - 1, "errors": []any{
				map[string]any{"type": "lens", "id": "fio-live-iops", "meta": map[string]any{"title": "I/Os per " +
					"second"}, "error": map[string]any{"type": "unknown", "message": "state:\x1b[31m bad",
					"statusCode": 422}}}})
		}, fault: []string{fmt.Sprintf("imported %d of %d objects", objects-1, objects),
			`lens fio-live-iops (I/Os per second): unknown: state:\x1b[31m bad`}},
		{name: "missing references", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 200, map[string]any{"success": false, "successCount": 0, "errors": []any{
				map[string]any{"type": "lens", "id": "fio-live-iops", "meta": map[string]any{"title": "I/Os per " +
					"second"}, "error": map[string]any{"type": "missing_references",
					"references": []any{map[string]any{"type": "index-pattern", "id": "fio-histograms"}}}}}})
		}, fault: []string{"imported none of", "fio-live-iops", "missing_references, index-pattern fio-histograms"}},
		{name: "a conflict, though results are listed", answer: func(w http.ResponseWriter, _ *http.Request,
			o []map[string]any) {
			reply(w, 200, map[string]any{"success": false, "successCount": len(o) - 1,
				"successResults": []any{map[string]any{"id": "x"}}, "errors": []any{
					map[string]any{"type": "dashboard", "id": "fio-live",
						"error": map[string]any{"type": "conflict"}}}})
		}, fault: []string{"imported none of", "dashboard fio-live"}},
		{name: "success, but of fewer", answer: func(w http.ResponseWriter, _ *http.Request, o []map[string]any) {
			reply(w, 200, map[string]any{"success": true, "successCount": len(o) - 2})
		}, fault: []string{fmt.Sprintf("imported %d of %d", objects-2, objects)}},
		{name: "401", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 401, map[string]any{"statusCode": 401, "error": "Unauthorized", "message": "Unauthorized"})
		}, fault: []string{"requires authentication (401)", "KIBANA_API_KEY"}},
		{name: "403", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 403, map[string]any{"statusCode": 403, "error": "Forbidden",
				"message": "Unable to bulk_create dashboard"})
		}, fault: []string{"does not let this user do that (403): Unable to bulk_create dashboard", "saved objects"}},
		{name: "no such space", space: "nowhere", answer: func(http.ResponseWriter, *http.Request, []map[string]any) {
			t.Error("imported into a space that is not there")
		}, fault: []string{`no space "nowhere"`, "Stack Management"}},
		{name: "no such path", answer: func(w http.ResponseWriter, _ *http.Request,
			_ []map[string]any) {
			http.NotFound(w, nil)
		},
			fault: []string{"no Kibana", "base path"}},
		{name: "a login page", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			w.Header().Set("Location", "https://sso.example/login?next=secret")
			w.WriteHeader(302)
		}, fault: []string{"redirects to https://sso.example/login;", "not sent there"}},
		{name: "not JSON", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			io.WriteString(w, "<html>hello</html>")
		},
			fault: []string{"to the import is not Kibana's"}},
		{name: "JSON of something else", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 200, map[string]any{"tagline": "You Know, for Search"})
		},
			fault: []string{"to the import is not Kibana's"}},
		{name: "not ready", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			http.Error(w, "Kibana server is not ready yet", http.StatusServiceUnavailable)
		},
			fault: []string{"not ready (503)"}},
		{name: "a newer object", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			reply(w, 422, map[string]any{"statusCode": 422, "message": "belongs to a more recent version of Kibana"})
		}, fault: []string{"refuses with 422: belongs to a more recent version"}},
		{name: "a proxy", answer: func(w http.ResponseWriter, _ *http.Request, _ []map[string]any) {
			http.Error(w, "<html>", http.StatusBadGateway)
		},
			fault: []string{"(status 502) is not Kibana's"}},
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
	for i, replaced := range []int{0, len(fioObjects(t))} {
		res, err := imported(t, Config{URL: s.URL})
		if err != nil || res.Replaced != replaced || len(there) != len(fioObjects(t)) {
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
	for _, bad := range []Config{{URL: "localhost:5601"}, {URL: "ftp://x"}, {URL: "http://u:hunter2@x:y"},
		{URL: "http://x", Space: "My Space"}, {URL: "http://x", Space: "../x"}} {
		_, err := imported(t, bad)
		var usage *fio.UsageError
		if !errors.As(err, &usage) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Import(ctx, Config{URL: down.URL, HTTP: http.DefaultClient}, "fio"); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	if _, err := imported(t, Config{URL: tls.URL}); client.Trust(err) == nil {
		t.Errorf("a certificate of nobody we know: %v", err)
	}
	trusting, err := client.HTTPClient(client.Config{
		CACert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := imported(t, Config{URL: tls.URL, HTTP: trusting}); err == nil || !strings.Contains(err.Error(),
		"no Kibana at https://") {
		t.Errorf("its authority is trusted: %v", err)
	}
}
