package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
)

// undisturbed is what an ingest leaves behind if nothing goes wrong.
func undisturbed(t *testing.T, intervals int) map[string]string {
	s, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, intervals)); err != nil {
		t.Fatal(err)
	}
	return esmodeltest.Contents(s)
}

// Whatever happens on the way, in the end each document is there once, as it was
// made, and the account says so.
func TestFaultsThatPass(t *testing.T) {
	want := undisturbed(t, 20)
	reply := func(f func([]byte) []byte) esmodeltest.Fault { return esmodeltest.Fault{Times: 2, Reply: f} }
	every := func(n int64) func(string, string) (int, string, string) {
		var count atomic.Int64
		return func(string, string) (int, string, string) {
			if count.Add(1)%n == 0 {
				return 429, "es_rejected_execution_exception", "queue capacity"
			}
			return 0, "", ""
		}
	}
	tests := []struct {
		name  string
		fault esmodeltest.Fault
	}{
		{"connection reset", esmodeltest.Fault{Times: 3, Reset: true}},
		{"reply lost after storing", esmodeltest.Fault{Times: 3, LoseReply: true}},
		{"429 of the request", esmodeltest.Fault{Times: 3, Status: 429, Type: "es_rejected_execution_exception"}},
		{"503 of the request", esmodeltest.Fault{Times: 3, Status: 503, Type: "unavailable"}},
		{"500 of the request", esmodeltest.Fault{Status: 500}},
		{"502 without a body of ours", esmodeltest.Fault{Times: 2, Status: 502}},
		{"429 of documents", esmodeltest.Fault{Times: 4, Item: every(3)}},
		{"read-only index", esmodeltest.Fault{Times: 3, Item: func(string, string) (int, string, string) {
			return 403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)]"
		}}},
		{"short reply", reply(func(b []byte) []byte { return b[:len(b)/2] })},
		{"empty reply", reply(func([]byte) []byte { return nil })},
		{
			"reply about fewer documents",
			reply(func([]byte) []byte { return []byte(`{"items":[{"index":{"_id":"x","status":201}}]}`) }),
		},
		{
			"reply about other documents",
			reply(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"_id":"`), []byte(`"_id":"x`)) }),
		},
		{
			"reply without a status",
			reply(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"status":`), []byte(`"state":`)) }),
		},
		{"reply that is not JSON", reply(func([]byte) []byte { return []byte("<html>proxy</html>") })},
		{"slow", esmodeltest.Fault{Times: 2, Delay: 300 * time.Millisecond}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			esmodeltest.NoLeak(t)
			s, c := standIn(t)
			t.Cleanup(s.CloseClientConnections)
			run := esmodeltest.Run()
			intervals := esmodeltest.Intervals(run, 20)
			w, err := NewBulkWriter(c, BulkConfig{FlushBytes: 64 << 10, GzipLevel: 1})
			if err != nil {
				t.Fatal(err)
			}
			sink := NewSink(w, SinkOptions{})
			if err := sink.Begin(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			s.Inject(tt.fault)
			for _, q := range intervals {
				if err := sink.Interval(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			if err := sink.Close(t.Context(), sink.End(t.Context(), esmodeltest.Summary(run, intervals))); err != nil {
				t.Fatal(err)
			}
			esmodeltest.EqualContents(t, esmodeltest.Contents(s), want)
			r := sink.Report()
			wantCounts(t, r, Counts{Made: int64(len(want)), Indexed: int64(len(want))})
			if tt.fault.Delay == 0 && r.Retried == 0 {
				t.Error("nothing was sent again: did the fault strike?")
			}
			c.Close()
			s.Close()
		})
	}
}

// A server that answers too late is asked again.
func TestTimeoutOfARequest(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	var waits []client.Wait
	c := testClient(
		t,
		client.Config{
			Addresses: []string{s.URL},
			Timeout:   2 * time.Second,
			MaxWait:   time.Hour,
			OnWait:    func(w client.Wait) { waits = append(waits, w) },
		},
	)
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(esmodeltest.Fault{Delay: time.Hour})
	w.Add(t.Context(), "fio-event-2026.08", []byte("a"), []byte(`{}`))
	if err := w.Flush(t.Context()); err != nil || len(s.Docs("*")) != 1 {
		t.Fatalf("%v, %d documents", err, len(s.Docs("*")))
	}
	w.Close(t.Context(), false)
	if len(waits) == 0 || !strings.Contains(waits[0].Err.Error(), "no answer within 2s") {
		t.Errorf("%+v", waits)
	}
}

// Requests that a server does not answer in time are sent again in halves, and waited for twice as long: a server that
// is slow for its size, or as such, gets each document in the end.
func TestSlowServer(t *testing.T) {
	for name, fault := range map[string]esmodeltest.Fault{
		"with large requests": {Times: -1, Delay: time.Hour, Match: func(r *http.Request) bool {
			return r.ContentLength > 10_000
		}},
		"always": {Times: -1, Delay: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
			c := testClient(t, client.Config{Addresses: []string{s.URL}, Timeout: 100 * time.Millisecond,
				MaxWait: time.Minute, Pause: time.Millisecond})
			w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, FlushBytes: 64 << 10, InFlight: 1, GzipLevel: -1})
			if err != nil {
				t.Fatal(err)
			}
			s.Inject(fault)
			const docs = 24
			for i := range docs {
				doc := fmt.Sprintf(`{"n":%d,"x":%q}`, i, strings.Repeat("y", 4000))
				err := w.Add(t.Context(), "fio-event-2026.08", fmt.Appendf(nil, "id%d", i), []byte(doc))
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Flush(t.Context()), w.Close(t.Context(), false)); err != nil {
				t.Error(err)
			}
			if n := len(s.Docs("*")); n != docs {
				t.Errorf("%d of %d documents", n, docs)
			}
		})
	}
}

// 413 halves a request until it passes; a document that is too large alone is kept.
func TestTooLargeIsSplit(t *testing.T) {
	s, c := standIn(t)
	dir := t.TempDir()
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, SpoolDir: dir, GzipLevel: -1})
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(
		esmodeltest.Fault{
			Times:  -1,
			Status: 413,
			Type:   "too_large",
			Match:  func(r *http.Request) bool { return r.ContentLength > 1000 },
		},
	)
	big := fmt.Sprintf(`{"x":%q}`, strings.Repeat("y", 2000))
	for i := range 50 {
		doc := fmt.Sprintf(`{"n":%d}`, i)
		if i == 17 {
			doc = big
		}
		if err := w.Add(t.Context(), "fio-event-2026.08", fmt.Appendf(nil, "id%d", i), []byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush(t.Context())
	w.Close(t.Context(), false)
	r := w.Report()
	wantCounts(t, r, Counts{Made: 50, Indexed: 49, Refused: 1})
	if len(s.Docs("*")) != 49 ||
		!strings.Contains(mustRead(t, r.RefusedFile), `"_id":"id17"},"_error":{"status":413,`) {
		t.Errorf("%d documents, %+v", len(s.Docs("*")), r)
	}
}

// What a server does not take is not sent again and again. A connection that is closed says nothing about sizes: the
// same request is sent again.
func TestSizesOfRequests(t *testing.T) {
	const full = 64 << 10
	large := func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/_bulk") && r.ContentLength > full/3
	}
	for _, tt := range []struct {
		name    string
		fault   esmodeltest.Fault
		refused int  // requests at most, of those that the fault strikes
		halved  bool // while the fault is there
	}{
		{"413", esmodeltest.Fault{Times: -1, Status: 413, Match: large}, 5, true},
		{"closed connection", esmodeltest.Fault{Times: 3, Reset: true, Match: large}, 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var lengths []int64
				struck := 0
				match := tt.fault.Match
				tt.fault.Match = func(r *http.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					if match(r) {
						struck++
					}
					return match(r)
				}
				c := testClient(t, client.Config{Addresses: []string{s.URL},
					Transport: seen{inProcess{s.Config.Handler}, func(r *http.Request) {
						mu.Lock()
						defer mu.Unlock()
						lengths = append(lengths, r.ContentLength)
					}}})
				w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, GzipLevel: -1, InFlight: 1, FlushBytes: full})
				if err != nil {
					t.Fatal(err)
				}
				made := int64(0)
				send := func(bytes int) (largest int64) {
					lengths = nil
					doc := fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("y", 900))
					for range bytes / 1000 {
						made++
						id := fmt.Appendf(nil, "id%d", made)
						if err := w.Add(t.Context(), "fio-event-2026.08", id, doc); err != nil {
							t.Fatal(err)
						}
					}
					if err := w.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
					return slices.Max(lengths)
				}
				s.Inject(tt.fault)
				send(5 * full)
				if tt.fault.Times > 0 {
					s.Heal()
				}
				if got := send(5 * full); got > full/3 == tt.halved {
					t.Errorf("then the largest request has %d bytes", got)
				}
				if struck > tt.refused && tt.halved {
					t.Errorf("%d requests were refused, want at most %d", struck, tt.refused)
				}
				w.Close(t.Context(), false)
				wantCounts(t, w.Report(), Counts{Made: made, Indexed: made})
			})
		})
	}
}

// seen calls a function for each request.
type seen struct {
	http.RoundTripper
	each func(*http.Request)
}

func (s seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.each(r)
	return s.RoundTripper.RoundTrip(r)
}

// A wrong password is said once; a missing privilege for the documents need not be one for that of the run.
func TestForbiddenIsNotTriedAgain(t *testing.T) {
	const reason = "action [indices:data/write/bulk[s]] is unauthorized for user [bob] with effective roles [r] on " +
		"indices [fio-run], this action is granted by the index privileges [index,write,all]"
	for _, tt := range []struct {
		name  string
		fault esmodeltest.Fault
		want  client.ForbiddenError
	}{
		{"401", esmodeltest.Fault{Times: -1, Status: 401, Type: "security_exception",
			Reason: "unable to authenticate user [bob]"}, client.ForbiddenError{Status: 401, User: "bob"}},
		{"403", esmodeltest.Fault{Times: -1, Status: 403, Type: "security_exception", Reason: reason},
			client.ForbiddenError{Status: 403, User: "bob", Level: "index", Privilege: "index"}},
		{"403 of documents", esmodeltest.Fault{Times: -1, Item: func(string, string) (int, string,
			string) {
			return 403, "security_exception", reason
		}}, client.ForbiddenError{Status: 403, User: "bob",
			Level: "index", Privilege: "index"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			run := esmodeltest.Run()
			dir := t.TempDir()
			w, err := NewBulkWriter(c, BulkConfig{SpoolDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			sink := NewSink(w, SinkOptions{})
			if err := sink.Begin(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			s.Inject(tt.fault)
			before := len(s.Requests("_bulk"))
			var no *client.ForbiddenError
			intervals := esmodeltest.Intervals(run, 3)
			err = nil
			for _, q := range intervals {
				err = errors.Join(err, sink.Interval(t.Context(), q))
			}
			err = sink.Close(t.Context(), errors.Join(err, sink.End(t.Context(), esmodeltest.Summary(run, intervals))))
			if !errors.As(err, &no) || no.User != tt.want.User || no.Privilege != tt.want.Privilege ||
				no.Level != tt.want.Level ||
				no.Status != tt.want.Status {
				t.Fatalf("%+v: %v", no, err)
			}
			want := 2
			if tt.want.Status == http.StatusUnauthorized {
				want = 1
			}
			if n := len(s.Requests("_bulk")) - before; n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
			if n := sink.Report().Total(); n.Spooled != n.Made || n.Made == 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestRefusedIsCountedNamedAndKept(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	intervals := esmodeltest.Intervals(run, 10)
	dir := t.TempDir()
	w, err := NewBulkWriter(c, BulkConfig{SpoolDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{})
	n := 0
	if err := sink.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	s.Inject(esmodeltest.Fault{Item: func(index, id string) (int, string, string) {
		if n++; n%20 == 7 {
			return 400, "document_parsing_exception", "bad \x1b[31m\"field\" of " + id
		}
		return 0, "", ""
	}})
	for _, q := range intervals {
		if err := sink.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	err = sink.Close(t.Context(), sink.End(t.Context(), esmodeltest.Summary(run, intervals)))
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || strings.ContainsAny(err.Error(), "\x1b") ||
		!strings.Contains(err.Error(), "4 refused") {
		t.Fatalf("error %v", err)
	}
	r := sink.Report()
	made := int64(9*4 + 10*5 + 1)
	wantCounts(t, r, Counts{Made: made, Indexed: made - 4, Refused: 4})
	if lines := strings.Count(mustRead(t, r.RefusedFile), "\n"); lines != 8 {
		t.Errorf("%d lines kept", lines)
	}
	if st, _ := os.Stat(r.RefusedFile); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	if got := runStatus(t, s); got != "partial" {
		t.Errorf("status %s", got)
	}
	// Running again finishes the job, and takes away what was kept.
	want := undisturbed(t, 10)
	if _, err := ingestRun(t.Context(), c, BulkConfig{SpoolDir: dir}, run, intervals); err != nil {
		t.Fatal(err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), want)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Documents from many goroutines, each acknowledged exactly once.
func TestManyGoroutinesAdd(t *testing.T) {
	s, c := standIn(t)
	w, err := NewBulkWriter(c, BulkConfig{FlushBytes: 4 << 10})
	if err == nil {
		err = w.Open(t.Context(), esmodeltest.Run())
	}
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for g := range 8 {
		go func() {
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				err = w.Add(
					t.Context(),
					fmt.Sprintf("fio-event-2026.%02d", 1+i%12),
					fmt.Appendf(nil, "%d-%d", g, i),
					fmt.Appendf(nil, `{"n":%d}`, i),
				)
				if i%50 == 0 {
					err = errors.Join(err, w.Push(t.Context()))
				}
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context(), false)
	wantCounts(t, w.Report(), Counts{Made: 1600, Indexed: 1600})
	for _, d := range s.Docs("*") {
		if d.Writes != 1 {
			t.Errorf("%s was written %d times", d.ID, d.Writes)
		}
	}
	if created := s.Requests("PUT /fio-event-"); len(created) != 12 {
		t.Errorf("12 indices were created by %d requests", len(created))
	}
}

// However slow the server is, the writer holds no more than BulkConfig says, and it
// keeps its promise without leaving anything behind.
func TestMemoryIsBoundedWhileTheServerIsSlow(t *testing.T) {
	const flush, inFlight, docs = 16 << 10, 4, 2000
	doc := fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("y", 1000))
	for _, tt := range []struct {
		name  string
		level int
		fault esmodeltest.Fault
	}{
		{"slow", -1, esmodeltest.Fault{Times: -1, Delay: 3 * time.Millisecond}},
		{"slow, compressed", 1, esmodeltest.Fault{Times: -1, Delay: 3 * time.Millisecond}},
		{"slow and full", -1, esmodeltest.Fault{Times: 12, Delay: 3 * time.Millisecond, Status: 429}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			s.Inject(tt.fault)
			w, err := NewBulkWriter(
				c,
				BulkConfig{NoTemplates: true, FlushBytes: flush, InFlight: inFlight, GzipLevel: tt.level},
			)
			if err != nil {
				t.Fatal(err)
			}
			most := int64(0)
			for i := range docs {
				if err := w.Add(t.Context(), "fio-event-2026.08", fmt.Appendf(nil, "id%05d", i), doc); err != nil {
					t.Fatal(err)
				}
				n := w.Report().Total()
				most = max(most, (n.Made-n.Indexed)*n.Bytes/n.Made) // all are of one size
			}
			if most > (inFlight+1)*flush {
				t.Errorf("held %d bytes, want at most %d", most, (inFlight+1)*flush)
			}
			if most < 2*flush {
				t.Errorf("held %d bytes: was the server slow?", most)
			}
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantCounts(t, w.Report(), Counts{Made: docs, Indexed: docs})
			for range inFlight + 1 {
				if b := <-w.free; cap(b.raw) > 2*flush {
					t.Errorf("a batch kept %d bytes", cap(b.raw))
				}
			}
			w.Close(t.Context(), false)
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	var next time.Duration
	c := testClient(
		t,
		client.Config{
			Addresses: []string{s.URL},
			MaxWait:   10 * time.Second,
			OnWait:    func(w client.Wait) { next = w.Next },
		},
	)
	s.Inject(esmodeltest.Fault{Status: 429, RetryAfter: "1"})
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Add(t.Context(), "fio-event-2026.08", []byte("a"), []byte("{}"))
	w.Close(t.Context(), false)
	if next != time.Second || w.Report().Total().Indexed != 1 {
		t.Errorf("waited %v; %+v", next, w.Report().Total())
	}
}

func TestBulkConfigIsChecked(t *testing.T) {
	_, c := standIn(t)
	for _, cfg := range []BulkConfig{{Prefix: "UP"}, {FlushBytes: -1}, {FlushBytes: 1 << 30}, {InFlight: 1000},
		{GzipLevel: 10}} {
		var usage *fio.UsageError
		if _, err := NewBulkWriter(c, cfg); !errors.As(err, &usage) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// TestCompressionOfRequests: over a network requests are compressed, to this machine they are not, unless it is said.
func TestCompressionOfRequests(t *testing.T) {
	_, c := standIn(t)
	for _, tt := range []struct {
		local       bool
		level, want int
	}{{true, 0, 0}, {false, 0, defaultGzipLevel}, {false, -1, -1}, {true, 6, 6}} {
		c.Local = tt.local
		w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, GzipLevel: tt.level})
		if err != nil {
			t.Fatal(err)
		}
		if w.cfg.GzipLevel != tt.want {
			t.Errorf("%+v: level %d", tt, w.cfg.GzipLevel)
		}
		if err := w.Close(t.Context(), true); err != nil {
			t.Error(err)
		}
	}
}
