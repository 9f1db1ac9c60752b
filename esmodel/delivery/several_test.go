package delivery

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
)

// TestLoadOfSeveralRuns: of several runs that are loaded, one of which is deleted meanwhile, only its documents go.
func TestLoadOfSeveralRuns(t *testing.T) {
	for _, gone := range []string{"a", "b", "c"} {
		s, _ := standIn(t)
		dir := t.TempDir()
		for _, id := range []string{"a", "b", "c"} {
			if _, err := dirRun(t, dir, id, "", "g1", 3, nil); err != nil {
				t.Fatal(err)
			}
		}
		late := &delayed{RoundTripper: http.DefaultTransport, match: func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/_count") // all documents are there
		}, act: func() {
			id := esmodel.RunDocID(gone, "", esmodeltest.Run().Kind.String())
			r, err := http.Post(s.URL+"/_bulk", "application/x-ndjson", //nolint:noctx // of this test
				strings.NewReader(`{"delete":{"_index":"fio-run","_id":"`+id+"\"}}\n"))
			if err != nil {
				t.Error(err)
				return
			}
			r.Body.Close() //nolint:errcheck // nothing was written
		}}
		c := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: late})
		_, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
		if !late.acted.Load() || !errors.As(err, new(*indices.MarkError)) {
			t.Errorf("%s is deleted: %v", gone, err)
		}
		for _, id := range []string{"a", "b", "c"} {
			if n := len(esmodeltest.DocumentsOf(s, id)); (n == 0) != (id == gone) {
				t.Errorf("%s is deleted: %s has %d documents", gone, id, n)
			}
		}
	}
}
