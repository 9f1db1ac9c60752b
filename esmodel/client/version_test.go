package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
)

func TestVersions(t *testing.T) {
	const (
		tooOld = "the server is Elasticsearch 8.11.4, which is too old: before 8.12 it counts at most 2 million I/Os"
		newer  = "Elasticsearch 10.0.0 is newer than the supported 8.12 to 9.x"
	)
	for _, k := range []struct {
		name              string
		nodes             []string
		fault             int // HTTP status, in place of the versions
		wantErr, wantWarn string
	}{
		{name: "oldest", nodes: []string{"8.12.0"}},
		{name: "8.19", nodes: []string{"8.19.0"}},
		{name: "newest", nodes: []string{"9.99.1-SNAPSHOT"}},
		{name: "counts of 32 bits", nodes: []string{"8.11.4"}, wantErr: tooOld},
		{name: "7.x", nodes: []string{"7.17.9"}, wantErr: "the server is Elasticsearch 7.17.9, which is too old"},
		{name: "one node of three is old", nodes: []string{"8.19.0", "8.11.4", "8.19.0"}, wantErr: tooOld},
		{name: "newer", nodes: []string{"10.0.0"}, wantWarn: newer},
		{name: "one node is newer", nodes: []string{"10.0.0", "9.5.3"}, wantWarn: newer},
		{name: "old and newer", nodes: []string{"10.0.0", "8.11.4"}, wantErr: tooOld},
		{name: "not a version", nodes: []string{"many"}},
		{name: "no privilege", nodes: []string{"8.11.4"}, fault: http.StatusForbidden},
		{name: "Serverless has no nodes", nodes: []string{"8.11.0"}, fault: http.StatusGone},
	} {
		t.Run(k.name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{Versions: k.nodes})
			if k.fault != 0 {
				s.Inject(esmodeltest.Fault{Status: k.fault,
					Match: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/_nodes") }})
			}
			c := testClient(t, Config{Addresses: []string{s.URL}})
			for call, warn := range []string{k.wantWarn, ""} { // a warning comes once, an error each time
				warnings, err := c.CheckVersion(t.Context())
				if k.wantErr == "" && err != nil || k.wantErr != "" && (err == nil ||
					!strings.HasPrefix(err.Error(), k.wantErr) || !strings.Contains(err.Error(), "--output DIR")) {
					t.Errorf("call %d: error %v, want %q", call, err, k.wantErr)
				}
				if k.wantErr != "" {
					continue
				}
				said := strings.Join(warnings, "; ")
				if (warn == "") != (said == "") || !strings.HasPrefix(said, warn) {
					t.Errorf("call %d: %q, want %q", call, said, warn)
				}
			}
			if n := len(s.Requests("/_nodes")); n != 1 {
				t.Errorf("it asked %d times", n)
			}
		})
	}
}

// What is not a supported Elasticsearch is told by the name that it gives itself.
func TestOtherServersAreNotElasticsearch(t *testing.T) {
	const proxy = "a proxy removes the header"
	for _, k := range []struct{ name, info, want string }{
		{"another program", "<html>", proxy},
		{"a proxy", `{"version":{"number":"8.19.0","build_flavor":"default"}}`, proxy},
		{"OpenSearch", `{"version":{"distribution":"opensearch","number":"2.1.0"}}`, "the server is OpenSearch 2.1.0"},
		{"before the header", `{"version":{"number":"7.10.2"}}`, "the server is Elasticsearch 7.10.2, which"},
		{"forged", `{"version":{"distribution":"a\nb secret","number":"1"}}`, `the server is a\nb *** 1`},
	} {
		t.Run(k.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					fmt.Fprint(w, k.info)
					return
				}
				fmt.Fprint(w, `{}`)
			}))
			defer srv.Close()
			c := testClient(t, Config{Addresses: []string{srv.URL}, Username: "u", Password: "secret"})
			err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil)
			if err == nil || !strings.Contains(err.Error(), k.want) || !strings.Contains(err.Error(), "--output DIR") {
				t.Errorf("%v, want %q", err, k.want)
			}
		})
	}
}
