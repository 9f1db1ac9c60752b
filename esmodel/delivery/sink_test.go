package delivery

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

func runStatus(t *testing.T, s *esmodeltest.Server) string {
	t.Helper()
	docs := s.Docs("fio-run")
	if len(docs) != 1 {
		t.Fatalf("%d documents of runs", len(docs))
	}
	status, _ := docs[0].Fields["run.status"].(string)
	return status
}

// The document of the run is there before any other, says running, and complete
// only when all is done.
func TestStatusOfARun(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 3)
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{})
	if err := sink.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got := runStatus(t, s); got != "running" || len(s.Docs("*")) != 1 {
		t.Errorf("after Begin: %s, %d documents", got, len(s.Docs("*")))
	}
	for _, q := range intervals {
		if err := sink.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.End(t.Context(), esmodeltest.Summary(run, intervals)); err != nil {
		t.Fatal(err)
	}
	if got := runStatus(t, s); got != "complete" {
		t.Errorf("after End: %s", got)
	}
	if err := sink.Close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	// A pipeline that fails leaves a partial run.
	w, _ = NewBulkWriter(c, BulkConfig{})
	sink = NewSink(w, SinkOptions{})
	bad := errors.New("bad input")
	err = errors.Join(sink.Begin(t.Context(), run), sink.Interval(t.Context(), intervals[0]), bad)
	if err := sink.Close(t.Context(), err); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	if got := runStatus(t, s); got != "partial" {
		t.Errorf("after a failure: %s", got)
	}
}

// The same again changes nothing; another generation replaces the first, and only
// the first: other runs, other parts and what people noted stay.
func TestGenerations(t *testing.T) {
	s, c := standIn(t)
	ctx := t.Context()
	ingest := func(id, part, gen string, interval time.Duration, n int) Report {
		t.Helper()
		run := esmodeltest.Run()
		run.ID, run.Part, run.Generation, run.Interval = id, part, gen, int64(interval)
		sink, err := ingestRun(ctx, c, BulkConfig{}, run, esmodeltest.Intervals(run, n))
		if err != nil {
			t.Fatal(err)
		}
		return sink.Report()
	}
	note := `{"index":{"_index":"fio-event-2026.08","_id":"note"}}` + "\n" + `{"run":{"id":"a"},"message":"osd.12 ` +
		`down"}` + "\n"
	if err := c.Call(
		ctx,
		client.Request{Method: http.MethodPost, Path: "/_bulk", Body: []byte(note)},
		nil,
	); err != nil {
		t.Fatal(err)
	}
	ingest("a", "", "g1", time.Second, 9)
	ingest("c", "p1", "g1", time.Second, 9)
	ingest("c", "p2", "g1", time.Second, 9)
	ingest("b", "", "g1", time.Second, 9)
	before := esmodeltest.Contents(s)
	if r := ingest("a", "", "g1", time.Second, 9); r.Total().Deleted != 0 {
		t.Errorf("a second ingest deleted %d", r.Total().Deleted)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), before)

	r := ingest("a", "", "g2", 2*time.Second, 5)
	// 8 x 4 leaves and 9 x 5 rows before.
	if got, want := r.Total().Deleted, int64(8*4+9*5); got != want {
		t.Errorf("%d deleted, want %d", got, want)
	}
	after := esmodeltest.Contents(s)
	for k, v := range before {
		if strings.Contains(v, `"id":"a"`) && !strings.Contains(v, `"part"`) && !strings.Contains(v, "osd.12") {
			if strings.Contains(after[k], `"generation":"g1"`) {
				t.Errorf("%s is left", k)
			}
			continue
		}
		if after[k] != v {
			t.Errorf("%s changed", k)
		}
	}
	n := len(after)
	ingest("c", "p1", "g3", 3*time.Second, 3)
	left := esmodeltest.Contents(s)
	// Of a part there are no rows across hosts: 4 of 5.
	if want := n - (8*4 + 9*4) + 2*4 + 3*4; len(left) != want {
		t.Errorf("%d documents, want %d", len(left), want)
	}
}

// A run of another generation that is not complete leaves the old one alone.
func TestIncompleteGenerationDeletesNothing(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 9)); err != nil {
		t.Fatal(err)
	}
	before := slices.Sorted(maps.Keys(esmodeltest.Contents(s)))
	other := esmodeltest.Run()
	other.Generation, other.Start = "g2", run.Start+5e8
	s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, id string) (int, string, string) {
		if strings.Contains(index, "histogram-2026.09") {
			return 400, "x", "y"
		}
		return 0, "", ""
	}})
	_, err := ingestRun(t.Context(), c, BulkConfig{}, other, esmodeltest.Intervals(other, 9))
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) {
		t.Fatal(err)
	}
	after := esmodeltest.Contents(s)
	for _, k := range before {
		if after[k] == "" {
			t.Errorf("%s is gone", k)
		}
	}
	if got := runStatus(t, s); got != "partial" {
		t.Errorf("status %s", got)
	}
}

// Complete is not believed but counted: documents that somebody else removed, or
// that other logs left under the same id, make the run partial.
func TestMismatchIsFound(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 9)
	w, err := NewBulkWriter(c, BulkConfig{FlushBytes: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{})
	err = sink.Begin(t.Context(), run)
	for _, q := range intervals {
		err = errors.Join(err, sink.Interval(t.Context(), q))
	}
	if err = errors.Join(err, w.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	victim := s.Docs("fio-histogram-*")[0]
	body := `{"delete":{"_index":"` + victim.Index + `","_id":"` + victim.ID + `"}}` + "\n"
	if err := c.Call(
		t.Context(),
		client.Request{Method: http.MethodPost, Path: "/_bulk", Body: []byte(body)},
		nil,
	); err != nil {
		t.Fatal(err)
	}
	err = sink.Close(t.Context(), sink.End(t.Context(), esmodeltest.Summary(run, intervals)))
	var mismatch *indices.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Found != mismatch.Made-1 || mismatch.Kind != esmodel.KindHistogram ||
		!strings.Contains(err.Error(), "another program deleted or replaced them; run again") {
		t.Errorf("error %v", err)
	}
	if got := runStatus(t, s); got != "partial" {
		t.Errorf("status %s", got)
	}
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, intervals); err != nil {
		t.Fatal(err)
	}
	_, err = ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 5))
	if !errors.As(err, &mismatch) || mismatch.Found <= mismatch.Made ||
		!strings.Contains(err.Error(), "other logs were ingested under the same --run-id") {
		t.Errorf("error %v", err)
	}
}

func TestBeginRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*pipeline.Run){
		"no start":    func(r *pipeline.Run) { r.StartKnown = false },
		"empty label": func(r *pipeline.Run) { r.Labels = map[string]string{"": "x"} },
		"dotty label": func(r *pipeline.Run) { r.Labels = map[string]string{"a..b": "x"} },
		"long label":  func(r *pipeline.Run) { r.Labels = map[string]string{"a": strings.Repeat("x", 513)} },
		"long id":     func(r *pipeline.Run) { r.ID = strings.Repeat("x", 513) },
		"long part":   func(r *pipeline.Run) { r.Part = strings.Repeat("x", 513) },
		"long name":   func(r *pipeline.Run) { r.Name = strings.Repeat("x", 513) },
		"broken id":   func(r *pipeline.Run) { r.ID = "a\xff" },
		"broken":      func(r *pipeline.Run) { r.Labels = map[string]string{"\xff": "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := standIn(t)
			run := esmodeltest.Run()
			spoil(run)
			var usage *fio.UsageError
			if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, nil); !errors.As(err, &usage) {
				t.Errorf("%v", err)
			}
			if n := len(s.Requests("")); n != 0 {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}

func TestPushInterval(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{})
	q := esmodeltest.Intervals(run, 2)[0]
	err = errors.Join(sink.Begin(t.Context(), run), sink.Interval(t.Context(), q), sink.Push(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Hour); len(s.Docs("fio-histogram-*")) != 4; {
		if time.Now().After(deadline) {
			t.Fatalf("%d documents arrived", len(s.Docs("*")))
		}
		time.Sleep(time.Millisecond)
	}
	sink.Close(context.Background(), nil)
}

// Deletes that meet faults, and a lost reply to one, end with the same documents.
func TestFaultsWhileDeleting(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 30)); err != nil {
		t.Fatal(err)
	}
	g := indices.Generation{RunKey: esmodel.RunKey{Run: run.ID, Kind: "clat"}, Generation: "other"}
	n := 0
	s.Inject(
		esmodeltest.Fault{LoseReply: true},
		esmodeltest.Fault{Status: 503},
		esmodeltest.Fault{Times: 3, Item: func(string, string) (int, string, string) {
			if n++; n%2 == 0 {
				return 429, "es_rejected_execution_exception", ""
			}
			return 0, "", ""
		}},
		esmodeltest.Fault{
			Times: 2,
			Reset: true,
			Match: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "_search") },
		},
	)
	if err := indices.Retire(t.Context(), c, whole, g, indices.Free, map[string]int64{}); err != nil {
		t.Fatal(err)
	}
	if left := len(s.Docs("*")); left != 1 {
		t.Errorf("%d documents left", left)
	}
	// Not without a user who may.
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 3)); err != nil {
		t.Fatal(err)
	}
	s.Inject(esmodeltest.Fault{Item: func(string, string) (int, string, string) {
		return 403, "security_exception", "action [indices:data/write/bulk[s]] is unauthorized for user [u], this " +
			"action is granted by the index privileges [create_doc,create,delete,index,write,all]"
	}})
	var no *client.ForbiddenError
	if err := indices.Retire(t.Context(), c, whole, g, indices.Free, map[string]int64{}); !errors.As(err, &no) ||
		no.Privilege != "delete" {
		t.Errorf("%v", err)
	}
}

// A server that is restarted in the middle of a deletion has lost the search for what is to be deleted.
func TestSearchLostWhileDeleting(t *testing.T) {
	testkit.NotRaced(t)
	s, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 220)); err != nil {
		t.Fatal(err)
	}
	there, pits := len(s.Docs("*")), len(s.Requests("_pit"))
	s.Inject(esmodeltest.Fault{Match: nthSearch(2), Status: 404, Type: "search_context_missing_exception"})
	deleted := map[string]int64{}
	g := indices.Generation{RunKey: esmodel.RunKey{Run: run.ID, Kind: "clat"}, Generation: "other"}
	if err := indices.Retire(t.Context(), c, whole, g, indices.Free, deleted); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, n := range deleted {
		total += n
	}
	pits = len(s.Requests("_pit")) - pits
	if left := len(s.Docs("*")); left != 1 || total != int64(there-1) || pits != 4 {
		t.Errorf("%d of %d documents left, %d deleted, %d requests about points in time", left, there, total, pits)
	}
}

// A user without the privilege "maintenance" refreshes by the way of bulk requests.
func TestRefreshWithoutPrivilege(t *testing.T) {
	s, c := standIn(t)
	s.Inject(
		esmodeltest.Fault{
			Times:  -1,
			Status: 403,
			Type:   "security_exception",
			Match:  func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "_refresh") },
		},
	)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 9)); err != nil {
		t.Fatal(err)
	}
	run.Generation, run.Interval = "g2", 4e9
	sink, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 3))
	if err != nil || sink.Report().Total().Deleted == 0 {
		t.Fatalf("%v, %+v", err, sink.Report().Total())
	}
	if n := len(s.Docs("*")); n != 2*4+3*5+1 {
		t.Errorf("%d documents", n)
	}
}

func TestClampedIsWarnedOf(t *testing.T) {
	_, c := standIn(t)
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 2)
	intervals[0].Leaves[0].Hist.Add(5, 1<<33)
	sink, err := ingestRun(t.Context(), c, BulkConfig{}, run, intervals)
	if r := sink.Report(); err != nil || r.Clamped != 1 || len(r.Warnings) != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}

// The end of a run that is interrupted says by what, and nothing else: Close does the rest.
func TestEndInterrupted(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 3)
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{})
	err = sink.Begin(t.Context(), run)
	for _, q := range intervals {
		err = errors.Join(err, sink.Interval(t.Context(), q))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if err := sink.End(ctx, esmodeltest.Summary(run, intervals)); !errors.Is(err, why) ||
		err.Error() != why.Error() {
		t.Errorf("End returns %q", err)
	}
	if err := sink.Close(ctx, why); !errors.Is(err, why) || runStatus(t, s) != "partial" {
		t.Errorf("%v; the run is %s", err, runStatus(t, s))
	}
}

// What is lost is said once.
func TestLostTo(t *testing.T) {
	taken, other := &indices.MarkError{}, errors.New("x")
	for _, tt := range []struct {
		name        string
		stored, err error
		want        []error
	}{
		{"stored", nil, other, []error{other}},
		{"not stored", other, other, []error{other}},
		{"lost meanwhile", taken, other, []error{other, taken}},
		{"known to be lost", taken, taken, []error{taken}},
	} {
		got := []error{lostTo(tt.stored, tt.err)}
		if joined, ok := got[0].(interface{ Unwrap() []error }); ok {
			got = joined.Unwrap()
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestRunIsFound: once a run is stored, searches find its document as complete, without waiting for a refresh.
func TestRunIsFound(t *testing.T) {
	_, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 2)); err != nil {
		t.Fatal(err)
	}
	var found struct{ Count int }
	err := c.Call(t.Context(), client.Request{Op: "count", Method: "POST", Path: "/fio-run/_count",
		Body: []byte(`{"query":{"term":{"run.status":"complete"}}}`)}, &found)
	if err != nil || found.Count != 1 {
		t.Errorf("%d, %v", found.Count, err)
	}
}

// TestEventNotTaken: an event that cannot be added ends the interval with that error.
func TestEventNotTaken(t *testing.T) {
	_, c := standIn(t)
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSink(w, SinkOptions{Prefix: "fio"})
	run := esmodeltest.Run()
	if err = s.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	rules, err := fio.ParseSLARules([]string{"read p99 < 5ms"})
	if err != nil {
		t.Fatal(err)
	}
	if err = w.Close(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	broken := sla.Verdict{Rule: &rules[0], Status: sla.Broken, Value: 7e6, Known: true}
	only := &pipeline.Interval{Changes: []pipeline.Change{{Scope: "direction", Dims: fio.Dims{Direction: "read"},
		Change: sla.Change{Rule: &rules[0], Breach: true, End: 1e9, First: broken, Last: broken}}}}
	if err = s.Interval(t.Context(), only); !errors.Is(err, errClosed) {
		t.Errorf("%v, want %v", err, errClosed)
	}
}
