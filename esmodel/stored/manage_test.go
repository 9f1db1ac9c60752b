package stored

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/delivery/deliverytest"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// TestFindRun: an id comes before a name, and that before the start of an id; what several runs have is an error.
func TestFindRun(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	for _, r := range []struct{ id, name string }{
		{"aaaaaaaa1", "x"}, {"aaaaaaaa2", "y"}, {"bbbbbbbb", "aaaaaaaa1"}, {"cccccccc", "bbbbbb"}, {"cccccc", "y"},
	} {
		run := esmodeltest.Run()
		run.ID, run.Name = r.id, r.name
		if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ name, want, err string }{
		{"aaaaaaaa1", "aaaaaaaa1", ""},
		{"x", "aaaaaaaa1", ""},
		{"bbbbbb", "cccccccc", ""},
		{"bbbbbbb", "bbbbbbbb", ""},
		{"cccccc", "cccccc", ""},
		{"ccccccc", "cccccccc", ""},
		{"y", "", "2 runs have the name"},
		{"aaaaaaaa", "", "2 runs have an id that begins with"},
		{"bbbbb", "", "there is no such run"},
		{"nobody", "", "there is no such run"},
	} {
		run, err := FindRun(t.Context(), c, "fio", tc.name)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
			}
		} else if err != nil || run.Run.ID != tc.want {
			t.Errorf("%s: %v, %v, want %s", tc.name, run, err, tc.want)
		}
	}
}

// TestWithoutParts: of a run that is there as a whole and in parts, only the whole is listed.
func TestWithoutParts(t *testing.T) {
	t.Parallel()
	var all []RunSummary
	for _, name := range []string{"m h1", "m ", "m h2", "p h1", "p h2", "w "} {
		var r RunSummary
		r.Run.ID, r.Run.Part, _ = strings.Cut(name, " ")
		all = append(all, r)
	}
	var got []string
	for _, r := range withoutParts(all) {
		got = append(got, r.Run.ID+" "+r.Run.Part)
	}
	if s := strings.Join(got, ", "); s != "m , p h1, p h2, w " {
		t.Errorf("%q", s)
	}
}

// TestDeleteAndIngest: a run is deleted, and nothing of another, and an ingest right after stores it again.
func TestDeleteAndIngest(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	ingest := func(id, part string) {
		t.Helper()
		run := esmodeltest.Run()
		run.ID, run.Part = id, part
		if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 40)); err != nil {
			t.Fatal(err)
		}
	}
	ingest("a", "")
	ingest("b", "1")
	ingest("b", "2")
	all, others := len(esmodeltest.DocumentsOf(s, "a")), len(esmodeltest.DocumentsOf(s, "b"))
	for range 2 {
		n, err := DeleteRun(t.Context(), c, "fio", "a")
		if err != nil {
			t.Fatal(err)
		}
		if sum := n[esmodel.KindRun] + n[esmodel.KindHistogram] + n[esmodel.KindPercentiles]; int(sum) != all {
			t.Errorf("%v deleted of %d", n, all)
		}
		if len(esmodeltest.DocumentsOf(s, "a")) != 0 || len(esmodeltest.DocumentsOf(s, "b")) != others {
			t.Error("not all of it is deleted, or of another run")
		}
		ingest("a", "")
		if now := len(esmodeltest.DocumentsOf(s, "a")); now != all {
			t.Errorf("%d documents after another ingest, had %d", now, all)
		}
	}
	if n, err := DeleteRun(t.Context(), c, "fio", "b"); err != nil || n[esmodel.KindRun] != 2 {
		t.Errorf("parts: %v, %v", n, err)
	}
}

// A run that is deleted while live writes it is deleted as a whole, whenever live sends the rest, and live says so.
func TestDeleteBesideLive(t *testing.T) {
	t.Parallel()
	for _, sent := range []int{0, 1, 30} { // intervals before it is deleted
		for _, late := range []bool{true, false} { // live ends after the deletion, or while it is at work
			s, c := clienttest.StandIn(t)
			run := esmodeltest.Run()
			run.Live = true
			w, err := delivery.NewBulkWriter(c, delivery.BulkConfig{FlushBytes: 1})
			if err != nil {
				t.Fatal(err)
			}
			sink := delivery.NewSink(w, delivery.SinkOptions{})
			intervals := esmodeltest.Intervals(run, 40)
			err = sink.Begin(t.Context(), run)
			for i := 0; err == nil && i < sent; i++ {
				err = sink.Interval(t.Context(), intervals[i])
			}
			if err != nil {
				t.Fatal(err)
			}
			rest := func() error {
				var err error
				for _, q := range intervals[sent:] {
					err = errors.Join(err, sink.Interval(t.Context(), q))
				}
				return sink.Close(t.Context(), errors.Join(err, sink.End(t.Context(), &pipeline.Summary{})))
			}
			var lost error
			cfg := client.Config{Addresses: []string{s.URL}}
			if !late { // when the documents are counted, all deleted
				var once sync.Once
				cfg.Transport = before(func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/_count") {
						once.Do(func() { lost = rest() })
					}
				})
			}
			if _, err = DeleteRun(t.Context(), testClient(t, cfg), "fio", run.ID); err != nil {
				t.Errorf("sent=%d, late=%v: %v", sent, late, err)
			}
			if late {
				lost = rest()
			}
			if left := esmodeltest.DocumentsOf(s, run.ID); len(left) > 0 || !errors.As(lost, new(*indices.MarkError)) {
				t.Errorf("sent=%d, late=%v: %d documents are left; live says: %v", sent, late, len(left), lost)
			}
		}
	}
}

// A run that another process has ingested again, completely, while it is being deleted, stays, also if the server is
// busy for a moment when the deletion looks whether it still has the run.
func TestDeleteTakenOver(t *testing.T) {
	t.Parallel()
	for _, busy := range []int{0, 1, 2} {
		s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
		c := testClient(t, client.Config{Addresses: []string{s.URL}})
		run := esmodeltest.Run()
		ingest := func() {
			_, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 9))
			if err != nil {
				t.Error(err)
			}
		}
		ingest()
		want := esmodeltest.Contents(s)
		searches := 0
		cfg := client.Config{Addresses: []string{s.URL}, Transport: before(func(r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/_pit") || r.Method != http.MethodPost {
				return
			}
			if searches++; searches == 2 { // the run is marked, and its documents are looked for
				ingest()
				s.Inject(esmodeltest.Fault{Times: busy, Status: 503, Match: func(r *http.Request) bool {
					return busy > 0 && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/_doc/")
				}})
			}
		})}
		_, err := DeleteRun(t.Context(), testClient(t, cfg), "fio", run.ID)
		if !errors.As(err, new(*indices.MarkError)) {
			t.Errorf("busy %d times: %v", busy, err)
		}
		esmodeltest.EqualContents(t, esmodeltest.Contents(s), want)
	}
}

// A run whose rollup was interrupted can be deleted.
func TestDeleteRolling(t *testing.T) {
	t.Parallel()
	for _, state := range []esmodel.RollUpState{esmodel.RollUpWriting, esmodel.RollUpCounted} {
		s, c := clienttest.StandIn(t)
		run := esmodeltest.Run()
		_, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 3))
		if err != nil {
			t.Fatal(err)
		}
		k := indices.NewMark(c, "fio", esmodel.KeyOf(run), func(found []byte) []byte {
			return esmodel.WithRollUp(found, state, esmodel.StatusRunning)
		})
		if err := k.Set(t.Context()); err != nil { // and its process dies
			t.Fatal(err)
		}
		_, err = DeleteRun(t.Context(), c, "fio", run.ID)
		if left := esmodeltest.DocumentsOf(s, run.ID); err != nil || len(left) > 0 {
			t.Errorf("%s: %v; %d documents are left", state, err, len(left))
		}
	}
}

// Of two runs in a folder one is deleted while it is loaded: nothing is left of it, and the other is whole, as far as
// the files hold it.
func TestLoadBesideDelete(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at      string // requests of which the nth comes when both runs are marked
		nth     int32
		without bool // the files lack the documents of the runs themselves
	}{{"/_bulk", 4, false}, {"/_bulk", 4, true}, {"/_count", 1, false}} {
		for _, gone := range []string{"a", "b"} {
			dir := t.TempDir()
			for _, id := range []string{"a", "b"} {
				w, err := delivery.NewDirWriter(dir, "fio")
				if err != nil {
					t.Fatal(err)
				}
				run := esmodeltest.Run()
				run.ID = id
				_, err = deliverytest.Into(t.Context(), w, delivery.SinkOptions{}, run, esmodeltest.Intervals(run, 4))
				if name := filepath.Join(dir, "fio-run."+id+".ndjson"); err == nil && tt.without {
					err = os.Remove(name)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			load := func(s *esmodeltest.Server, f before) error {
				cfg := client.Config{Addresses: []string{s.URL}, Transport: f}
				_, err := delivery.Load(t.Context(), testClient(t, cfg), []string{dir},
					delivery.LoadOptions{Bulk: delivery.BulkConfig{InFlight: 1, FlushBytes: 16 << 10}})
				return err
			}
			calm, _ := clienttest.StandIn(t)
			if err := load(calm, func(*http.Request) {}); err != nil {
				t.Fatal(err)
			}
			want := esmodeltest.Contents(calm)
			for _, d := range esmodeltest.DocumentsOf(calm, gone) {
				delete(want, d.Index+"/"+d.ID)
			}
			s, c := clienttest.StandIn(t)
			var n atomic.Int32
			if err := load(s, func(r *http.Request) {
				if strings.HasSuffix(r.URL.Path, tt.at) && n.Add(1) == tt.nth {
					if _, err := DeleteRun(t.Context(), c, "fio", gone); err != nil {
						t.Error(err)
					}
				}
			}); !errors.As(err, new(*indices.MarkError)) {
				t.Errorf("%s is deleted at %s: %v", gone, tt.at, err)
			}
			esmodeltest.EqualContents(t, esmodeltest.Contents(s), want)
		}
	}
}

// before is called with each request.
type before func(*http.Request)

func (f before) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return http.DefaultTransport.RoundTrip(r)
}

// TestManageRuns: runs are found by what the filter says, or by id or name; a note is
// one document; a run is deleted with all that is of it, through refusals that pass,
// and nothing else is.
func TestManageRuns(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	for _, r := range []struct{ id, name, part, env string }{
		{"a", "one", "", "x"}, {"b", "two", "", "y"}, {"c", "two", "", "y"}, {"p", "parts", "h1", "x"}, {"p",
			"parts", "h2", "x"},
	} {
		run := esmodeltest.Run()
		run.ID, run.Name, run.Part, run.Labels = r.id, r.name, r.part, map[string]string{"env": r.env}
		if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 4)); err != nil {
			t.Fatal(err)
		}
	}
	if err := indices.Refresh(t.Context(), c, indices.Scope{Prefix: "fio"}, nil); err != nil {
		t.Fatal(err)
	}
	ids := func(f RunFilter) string {
		t.Helper()
		runs, err := ListRuns(t.Context(), c, "fio", f)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range runs {
			out = append(out, r.Run.ID+r.Run.Part)
		}
		return strings.Join(out, " ")
	}
	for want, f := range map[string]RunFilter{
		"a b c ph1 ph2": {},
		"a ph1 ph2":     {Labels: map[string]string{"env": "x"}},
		"":              {Labels: map[string]string{"env": "z"}},
	} {
		if got := ids(f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	if ids(RunFilter{Since: "2026-09-01"}) != "" || ids(RunFilter{Until: "2026-09-01", Since: "2026-08-31"}) == "" {
		t.Error("the runs are not found by when they began")
	}

	var usage *fio.UsageError
	var fault *fio.ParseError
	if _, err := FindRun(t.Context(), c, "fio", "two"); !errors.As(err, &usage) ||
		!strings.Contains(usage.Hint, "b, c") {
		t.Errorf("two runs of one name: %v", err)
	}
	if _, err := FindRun(t.Context(), c, "fio", "nobody"); !errors.As(err, &fault) {
		t.Errorf("no such run: %v", err)
	}
	run, err := FindRun(t.Context(), c, "fio", "one")
	if err != nil || run.Run.ID != "a" {
		t.Fatal(run, err)
	}
	for i, want := range []bool{true, false} {
		if created, err := Annotate(
			t.Context(),
			c,
			"fio",
			Note{Run: run, At: esmodeltest.At + 1e9, Offset: 1e9, Text: "n"},
		); err != nil ||
			created != want {
			t.Errorf("note %d is new: %v, want %v (%v)", i, created, want, err)
		}
	}
	notes := s.Docs("fio-event-*")
	if len(notes) != 1 || notes[0].Index != "fio-event-2026.08" {
		t.Fatalf("%d notes, want 1 in August", len(notes))
	}
	for _, name := range esmodeltest.FieldNames(notes[0].Source) {
		if _, ok := esmodel.FieldOf(esmodel.KindEvent, name); !ok {
			t.Errorf("a note has %s, which is not in the table", name)
		}
	}

	others := len(s.Docs("*")) - len(esmodeltest.DocumentsOf(s, "a"))
	there, err := CountRun(t.Context(), c, "fio", "a")
	if err != nil || there[esmodel.KindRun] != 1 || there[esmodel.KindEvent] != 1 ||
		there[esmodel.KindHistogram] == 0 ||
		there[esmodel.KindPercentiles] == 0 {
		t.Fatalf("%v %v", there, err)
	}
	s.Inject(esmodeltest.Fault{Status: 429, Times: 2})
	deleted, err := DeleteRun(t.Context(), c, "fio", "a")
	if err != nil || deleted.String() != there.String() {
		t.Errorf("deleted %v, want %v (%v)", deleted, there, err)
	}
	if n := len(esmodeltest.DocumentsOf(s, "a")); n != 0 || len(s.Docs("*")) != others {
		t.Errorf("%d documents are left of it, %d of others where %d were", n, len(s.Docs("*")), others)
	}
	if left, err := CountRun(t.Context(), c, "fio", "a"); err != nil || left.String() != "none" {
		t.Error(left, err)
	}
	if deleted, err = DeleteRun(t.Context(), c, "fio", "p"); err != nil || deleted[esmodel.KindRun] != 2 {
		t.Errorf("the parts of a run: deleted %v, %v", deleted, err)
	}
}

// What a shard did not count is asked for again, and never taken for none.
func TestCountOfAllShards(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 100 * time.Millisecond})
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 4)); err != nil {
		t.Fatal(err)
	}
	want, err := CountRun(t.Context(), c, "fio", run.ID)
	if err != nil || want[esmodel.KindHistogram] == 0 {
		t.Fatal(want, err)
	}
	fault := esmodeltest.Fault{
		Match: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "_count") },
		Reply: func([]byte) []byte {
			return []byte(
				`{"count":0,"_shards":{"total":1,"failed":1,"failures":[` +
					`{"reason":{"type":"circuit_breaking_exception","reason":"too much"}}]}}`,
			)
		},
	}
	s.Inject(fault)
	if got, err := CountRun(t.Context(), c, "fio", run.ID); err != nil || got.String() != want.String() {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	fault.Times = -1
	s.Inject(fault)
	if got, err := CountRun(t.Context(), c, "fio", run.ID); err == nil ||
		!strings.Contains(err.Error(), "1 of 1 shards could not answer: circuit_breaking_exception too much") {
		t.Errorf("%v, %v, want no count", got, err)
	}
}

// A count without a refresh would tell old documents, or none: it is an error.
func TestCountWithoutRefresh(t *testing.T) {
	s, c := clienttest.StandIn(t)
	s.Inject(esmodeltest.Fault{Times: -1, Status: http.StatusBadRequest, Match: func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/_refresh")
	}})
	if n, err := CountRun(t.Context(), c, "fio", "a"); err == nil {
		t.Errorf("counted %v", n)
	}
}

// What arrives while a run is being deleted is deleted, too, in up to three more rounds.
func TestDeleteOfWhatArrives(t *testing.T) {
	for rounds, bad := range map[int]bool{3: false, 4: true} {
		s, c := clienttest.StandIn(t)
		run := esmodeltest.Run()
		_, err := ingestRun(t.Context(), c, delivery.BulkConfig{}, run, esmodeltest.Intervals(run, 2))
		if err != nil {
			t.Fatal(err)
		}
		s.Inject(esmodeltest.Fault{Times: rounds, Match: func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, "histogram") && strings.HasSuffix(r.URL.Path, "/_count")
		}, Reply: func([]byte) []byte { return []byte(`{"count":1,"_shards":{"total":1,"successful":1}}`) }})
		_, err = DeleteRun(t.Context(), c, "fio", run.ID)
		if (err != nil) != bad {
			t.Errorf("documents arrive in %d rounds: %v", rounds, err)
		}
	}
}
