package indices

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// TestServerless: templates are stored without the settings that the cluster refuses by name, and it is said once.
func TestServerless(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true, Serverless: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 50 * time.Millisecond})
	r, err := Setup(t.Context(), c, SetupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "this cluster decides on the settings index.number_of_shards, index.auto_expand_replicas itself"
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], want) {
		t.Errorf("warnings %q", r.Warnings)
	}
	text := Canonical(s.Template("fio-histogram"))
	if strings.Contains(text, "number_of_shards") || !strings.Contains(text, `"codec"`) {
		t.Error(text)
	}
	if puts := s.Requests("PUT /_index_template/"); len(puts) != 10 {
		t.Errorf("%q, want 5 templates, each twice", puts)
	}
	// A 400 that names none of them is an error.
	s = esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	s.Inject(esmodeltest.Fault{Match: func(r *http.Request) bool { return r.Method == http.MethodPut }, Times: -1,
		Status: 400, Type: "illegal_argument_exception", Reason: "unknown setting [index.nosuch]"})
	c = testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 50 * time.Millisecond})
	if _, err := Setup(t.Context(), c, SetupOptions{}); err == nil || !strings.Contains(err.Error(), "index.nosuch") {
		t.Error(err)
	}
}

// TestHasHistogramOfGarbage: another reply than that of a simulation says nothing of the field type, and may pass.
func TestHasHistogramOfGarbage(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: time.Second, Pause: time.Millisecond})
	for _, garbage := range []string{`{}`, `[]`, `<html>`, `{"acknowledged":true}`} {
		s.Inject(esmodeltest.Fault{
			Match: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "_simulate") },
			Reply: func([]byte) []byte { return []byte(garbage) },
		})
		if has, err := HasHistogram(t.Context(), c); err != nil || !has {
			t.Errorf("%s: %v, %v", garbage, has, err)
		}
	}
}
