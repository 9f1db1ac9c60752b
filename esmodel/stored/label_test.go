package stored

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
)

// labelsOf are the labels of each document of a kind of run R: key=value, by commas.
func labelsOf(t *testing.T, s *esmodeltest.Server, pattern string) []string {
	t.Helper()
	seen := map[string]bool{}
	for _, d := range s.Docs(pattern) {
		var doc struct {
			Run    struct{ Labels []string }
			Labels map[string]string
		}
		if err := json.Unmarshal(d.Source, &doc); err != nil {
			t.Fatal(err)
		}
		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(doc.Labels)) {
			pairs = append(pairs, k+"="+doc.Labels[k])
		}
		if !slices.Equal(pairs, doc.Run.Labels) {
			t.Errorf("%s: labels %v, run.labels %v", d.ID, pairs, doc.Run.Labels)
		}
		seen[strings.Join(pairs, ",")] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// TestLabel: labels of a run change in its documents and its events, through refusals that pass, and no others do. A
// repeated ingest keeps labels and the name, and then its intervals have them.
func TestLabel(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	ingest := func(id, name string, labels map[string]string) {
		t.Helper()
		run := esmodeltest.Run()
		run.ID, run.Name, run.Named, run.Labels = id, name, name != "folder", labels
		if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 4)); err != nil {
			t.Fatal(err)
		}
	}
	label := func(set map[string]string, remove ...string) string {
		t.Helper()
		changed, err := Label(t.Context(), c, "fio", "a", Labels{set, remove})
		if err != nil {
			t.Fatal(err)
		}
		return changed.String()
	}
	ingest("a", "given", map[string]string{"env": "x", "old": "1"})
	ingest("b", "folder", map[string]string{"env": "y"})
	run, err := FindRun(t.Context(), c, "fio", "a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		note := Note{Run: run, At: esmodeltest.At + i, Offset: i, Text: "n"}
		if _, err := Annotate(t.Context(), c, "fio", note); err != nil {
			t.Fatal(err)
		}
	}
	others := esmodeltest.DocumentsOf(s, "b")

	s.Inject(esmodeltest.Fault{ // the first bulk request, which changes the run
		Times:  1,
		Match:  func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "_bulk") },
		Status: http.StatusTooManyRequests,
	})
	if got := label(map[string]string{"env": "z", "new": "2"}, "old"); got != "1 of run, 3 of event" {
		t.Errorf("changed %s", got)
	}
	if got := label(map[string]string{"env": "z", "new": "2"}, "old"); got != "none" {
		t.Errorf("again: changed %s", got)
	}
	for pattern, want := range map[string]string{
		"fio-run": "env=y|env=z,new=2", "fio-event-*": "env=z,new=2", "fio-histogram-*": "env=x,old=1|env=y",
	} {
		if got := strings.Join(labelsOf(t, s, pattern), "|"); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	if now := esmodeltest.DocumentsOf(s, "b"); len(now) != len(others) {
		t.Errorf("another run has %d documents, had %d", len(now), len(others))
	}

	ingest("a", "folder", map[string]string{"third": "3"})
	for pattern, want := range map[string]string{
		"fio-run": "env=y|env=z,new=2,third=3", "fio-histogram-*": "env=y|env=z,new=2,third=3",
		"fio-percentiles-*": "env=y|env=z,new=2,third=3",
	} {
		if got := strings.Join(labelsOf(t, s, pattern), "|"); got != want {
			t.Errorf("after another ingest, %s: %s, want %s", pattern, got, want)
		}
	}
	if run, err = FindRun(t.Context(), c, "fio", "given"); err != nil || run.Run.ID != "a" {
		t.Errorf("its name is not kept: %v", err)
	}
	ingest("a", "other", map[string]string{"env": "last"})
	if run, err = FindRun(t.Context(), c, "fio", "other"); err != nil || run.Labels["env"] != "last" ||
		run.Labels["third"] != "3" {
		t.Errorf("a name and a label given anew: %v, %v", run, err)
	}
	if got := label(nil, "env", "new", "third"); got != "1 of run, 3 of event" ||
		labelsOf(t, s, "fio-event-*")[0] != "" {
		t.Errorf("without any: %s, %q", got, labelsOf(t, s, "fio-event-*"))
	}

	var usage *fio.UsageError
	noField := Labels{Set: map[string]string{"a..b": "1"}}
	if _, err := Label(t.Context(), c, "fio", "a", noField); !errors.As(err, &usage) {
		t.Errorf("a key that is no field: %v", err)
	}
}

// TestLabelDeleted: a run that is deleted after it was found by its name is no run without changes.
func TestLabelDeleted(t *testing.T) {
	c := testClient(t, client.Config{Addresses: []string{esmodeltest.New(t, esmodeltest.Options{}).URL}})
	_, err := Label(t.Context(), c, "fio", "a", Labels{Set: map[string]string{"a": "b"}})
	if err == nil || !strings.Contains(err.Error(), "deleted meanwhile") {
		t.Error(err)
	}
}

// Labelling that an error ends leaves the run as it was.
func TestLabelRefused(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 2)); err != nil {
		t.Fatal(err)
	}
	before := string(s.Docs("fio-run")[0].Source)
	isPIT := func(r *http.Request) bool { // of the search for events, after that for the documents of the run
		return strings.HasPrefix(r.URL.Path, "/fio-event") && strings.HasSuffix(r.URL.Path, "_pit")
	}
	s.Inject(esmodeltest.Fault{Match: isPIT, Status: http.StatusBadRequest, Type: "some_exception"})
	var refused *client.RefusedError
	one := Labels{Set: map[string]string{"a": "1"}}
	if _, err := Label(t.Context(), c, "fio", run.ID, one); !errors.As(err, &refused) {
		t.Errorf("%v, want that it is refused", err)
	}
	if after := string(s.Docs("fio-run")[0].Source); after != before {
		t.Errorf("the document of the run is\n%s, was\n%s", after, before)
	}
}

func TestShorten(t *testing.T) {
	a, b := "0123456789abcdef0123456789abcdef", "0123456789abcdee0123456789abcdef"
	c, d := "aaaaaaaa89abcdef0123456789abcdef", "bbbbbbbb89abcdef0123456789abcdef"
	got := shorten([]string{b, a, c, d, "nightly-7-of-november"}, map[string]bool{"aaaaaaaa": true})
	want := map[string]string{a: a[:16], b: b[:16], c: "aaaaaaaa8", d: "bbbbbbbb",
		"nightly-7-of-november": "nightly-7-of-november"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
