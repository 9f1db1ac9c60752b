package stored

import (
	"net/http"
	"strings"
	"testing"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
)

// TestNoteUnread: a note whose document cannot be read is not stored over what may be there, and never called stored.
func TestNoteUnread(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 4)); err != nil {
		t.Fatal(err)
	}
	found, err := FindRun(t.Context(), c, "fio", run.ID)
	if err != nil {
		t.Fatal(err)
	}
	notes := func() int {
		n := 0
		for _, d := range s.Docs("fio-event-*") {
			if strings.Contains(string(d.Source), "a spike") {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		name string
		bad  func(*http.Request) bool
	}{
		{"the note's document is not readable", func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/fio-event")
		}},
		{"the note is refused", func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/fio-event")
		}},
		{"whether the run is still there is not known", func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/fio-run/_doc")
		}},
	} {
		s.Inject(esmodeltest.Fault{Match: tt.bad, Times: -1, Status: 403, Type: "security_exception", Reason: "no"})
		created, err := Annotate(t.Context(), c, "fio", Note{Run: found, At: esmodeltest.At + 1e9, Offset: 1e9,
			Text: "a spike"})
		if err == nil || notes() != 0 {
			t.Errorf("%s: %v, %v, %d notes", tt.name, created, err, notes())
		}
		s.Heal()
	}
	created, err := Annotate(t.Context(), c, "fio", Note{Run: found, At: esmodeltest.At + 1e9, Offset: 1e9,
		Text: "a spike"})
	if err != nil || !created || notes() != 1 {
		t.Errorf("%v, %v, %d notes", created, err, notes())
	}
}
